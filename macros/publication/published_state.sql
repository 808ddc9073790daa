{#
    Publishes nodes that were built and tested; see `publish`. Nothing is written where
    readers have these states and definitions already.

    Arguments:
        nodes: of `published_nodes`.
        results: what dbt knows of the nodes that ran.

    Raises:
        A compiler error that names a table which is not in Iceberg's format.
#}
{% macro publish_nodes(nodes, results) %}
    {%- set run = changefold.published_run() -%}
    {%- do run_query('create schema if not exists ' ~ run.without_identifier()) -%}
    {%- do run_query(
        'create table if not exists ' ~ run ~ ' (slot string, run_id string, published_at timestamp,'
        ~ ' cuts array<struct<kafka_topic: string, cut_at: timestamp, cut_sequence: string>>)'
        ~ ' using iceberg'
    ) -%}
    {%- if 'published' not in adapter.table_references(run) -%}
        {%- do run_query('insert into ' ~ run ~ " values ('', null, null, array())") -%}
        {%- do run_query('alter table ' ~ run ~ ' create tag published') -%}
    {%- endif -%}
    {%- set slot = changefold.published_slot() -%}
    {%- set next_slot = 'a' if slot == 'b' else 'b' -%}
    {%- set names = {} -%}
    {%- set is_stale = namespace(any=false) -%}
    {%- for node in nodes -%}
        {%- set relation = changefold.built_by(node) -%}
        {%- do names.update({relation | string: changefold.shown_for(node)}) -%}
        {%- if node.config.materialized != 'view'
            and changefold.published_snapshot(relation, slot) != changefold.published_snapshot(relation) -%}
            {%- set is_stale.any = true -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set views = changefold.views_of_models(results, names) -%}
    {%- for view in views if not changefold._is_written(view) -%}{%- set is_stale.any = true -%}{%- endfor -%}
    {%- if not is_stale.any -%}
        {{ log('Published nothing: nothing is new', info=True) }}
        {{ return('') }}
    {%- endif -%}
    {#- What is kept from before is about to be overwritten, table by table. -#}
    {%- set previous = adapter.table_references(run).get('published') -%}
    {%- do run_query('alter table ' ~ run ~ ' drop tag if exists previous') -%}
    {%- for node in nodes if node.config.materialized != 'view' -%}
        {%- set relation = changefold.built_by(node) -%}
        {%- if changefold.published_snapshot(relation, next_slot) != changefold.published_snapshot(relation) -%}
            {%- do run_query(
                'alter table ' ~ relation ~ ' create or replace tag published_' ~ next_slot
            ) -%}
            {%- do changefold._write_view(changefold.view_of_table(node, next_slot)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for view in views -%}{%- do changefold._write_view(view) -%}{%- endfor -%}
    {%- do changefold._write_view(changefold._view_of_cuts()) -%}
    {%- do run_query(
        'insert overwrite ' ~ run ~ " select '" ~ next_slot ~ "', " ~ sql_text(invocation_id)
        ~ ', current_timestamp(), array_sort(collect_list(struct(kafka_topic, cut_at, cut_sequence)))'
        ~ ' from ' ~ changefold.built_relation('resolved_cuts')
    ) -%}
    {%- do run_query('alter table ' ~ run ~ ' create or replace tag published') -%}
    {%- if slot -%}
        {%- do run_query('alter table ' ~ run ~ ' create tag previous as of version ' ~ previous) -%}
    {%- endif -%}
    {%- do changefold._drop_unpublished(names.values() | map('string') | list) -%}
    {{ log('Published ' ~ nodes | length ~ ' tables and views in ' ~ run.without_identifier(), info=True) }}
{% endmacro %}


{# The schema that readers ask, named as dbt names custom schemas. #}
{% macro published_schema() %}
    {{ return(generate_schema_name(var('published_schema'), none) | trim) }}
{% endmacro %}


{# The table of one row that tells which state of the tables is published. #}
{% macro published_run() %}
    {{ return(api.Relation.create(schema=changefold.published_schema(), identifier='published_run')) }}
{% endmacro %}


{# The relation that a node of the graph builds. #}
{% macro built_by(node) %}
    {{ return(api.Relation.create(schema=node.schema, identifier=node.alias)) }}
{% endmacro %}


{# The view that readers ask for a node of the graph. #}
{% macro shown_for(node) %}
    {{ return(api.Relation.create(schema=changefold.published_schema(), identifier=node.alias)) }}
{% endmacro %}


{#
    Which of the two states readers see.

    Returns:
        `a` or `b`; empty before the first publication.
#}
{% macro published_slot() %}
    {%- set run = changefold.published_run() -%}
    {%- if 'published' not in (adapter.table_references(run) or {}) -%}
        {{ return('') }}
    {%- endif -%}
    {{ return(run_query('select slot from ' ~ run ~ " version as of 'published'").rows[0][0]) }}
{% endmacro %}


{#
    The snapshot of a table that a slot holds for readers, or the newest one.

    Arguments:
        relation: a table.
        slot: `a` or `b`; the newest snapshot without one.

    Returns:
        A number; none if the slot holds none.

    Raises:
        A compiler error if the table is not in Iceberg's format.
#}
{% macro published_snapshot(relation, slot=none) %}
    {%- set references = adapter.table_references(relation) -%}
    {%- if references is none -%}
        {{ exceptions.raise_compiler_error(
            'var `published_schema`: ' ~ relation ~ ' is no Iceberg table, so no state of it can'
            ~ ' be kept for readers; set `file_format: iceberg`'
        ) }}
    {%- endif -%}
    {{ return(references.get('main' if slot is none else 'published_' ~ slot)) }}
{% endmacro %}
