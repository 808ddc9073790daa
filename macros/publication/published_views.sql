{#
    The views for readers that stand for view models: the same statements, on the views
    that stand for what these read.

    Arguments:
        results: what dbt knows of the nodes that ran, in the order in which they read each
            other.
        names: mapping from each published relation, as SQL, to the one for readers.

    Returns:
        A list of mappings: relation, description, sql.
#}
{% macro views_of_models(results, names) %}
    {%- set views = [] -%}
    {%- for result in results
        if result.node.resource_type == 'model' and result.node.config.materialized == 'view' -%}
        {%- set name = changefold.built_by(result.node) | string -%}
        {%- if name in names -%}
            {%- set sql = namespace(text=result.node.compiled_code) -%}
            {%- for built, shown in names.items() -%}
                {%- set sql.text = sql.text | replace(built, shown | string) -%}
            {%- endfor -%}
            {%- do views.append({
                'relation': names[name], 'description': result.node.description, 'sql': sql.text,
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(views) }}
{% endmacro %}


{#
    The view for readers on a table. It has both of its states; the one that does not hold
    meets no row of `published_run`, and Spark does not read it.

    `published_run` stands first: Spark loads it before the tags of a table, once for a
    whole statement. A tag that holds then is moved by the build after the next only.

    Arguments:
        node: of the graph, whose table it is.
        next_slot: the state that will hold, `a` or `b`; the view has its columns, and of
            the other state what that has of them.

    Returns:
        A mapping: relation, description, sql.
#}
{% macro view_of_table(node, next_slot) %}
    {%- set relation = changefold.built_by(node) -%}
    {%- set columns = changefold._columns_of_slot(relation, next_slot) -%}
    {%- set selects = [] -%}
    {%- for slot in ['a', 'b'] if changefold.published_snapshot(relation, slot) -%}
        {%- set known = columns if slot == next_slot else changefold._columns_of_slot(relation, slot) -%}
        {%- set expressions = [] -%}
        {%- for name, type in columns.items() -%}
            {%- set quoted = adapter.quote(name) -%}
            {%- set column = 'states.' ~ quoted if name in known else 'null' -%}
            {%- do expressions.append(
                column if known.get(name) == type else 'try_cast(' ~ column ~ ' as ' ~ type ~ ') as ' ~ quoted
            ) -%}
        {%- endfor -%}
        {%- do selects.append(
            'select\n    ' ~ expressions | join(',\n    ')
            ~ '\nfrom ' ~ changefold.published_run() ~ " version as of 'published' as run"
            ~ '\ninner join ' ~ relation ~ " version as of 'published_" ~ slot ~ "' as states"
            ~ "\n    on run.slot = '" ~ slot ~ "'"
        ) -%}
    {%- endfor -%}
    {{ return({
        'relation': changefold.shown_for(node),
        'description': node.description,
        'sql': selects | join('\nunion all\n'),
    }) }}
{% endmacro %}


{# Name and type of each column of a table in one of its published states. #}
{% macro _columns_of_slot(relation, slot) %}
    {%- set columns = {} -%}
    {%- for column in adapter.get_column_schema_from_query(
        'select * from ' ~ relation ~ " version as of 'published_" ~ slot ~ "' limit 0"
    ) -%}
        {%- do columns.update({column.name: column.dtype}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{% endmacro %}


{# The view that tells readers at which cut the tables are. #}
{% macro _view_of_cuts() %}
    {%- set run = changefold.published_run() -%}
    {{ return({
        'relation': run.incorporate(path={'identifier': 'published_cuts'}),
        'description': 'One row per topic: the cut at which all tables of this schema are, the run of'
            ~ ' dbt that built them, and when they were published.',
        'sql': 'select cut.kafka_topic, cut.cut_at, cut.cut_sequence, run_id, published_at\nfrom '
            ~ run ~ " version as of 'published' lateral view explode(cuts) as cut",
    }) }}
{% endmacro %}


{# What tells one definition of a view for readers from another. #}
{% macro _digest(view) %}
    {{ return(local_md5(view.sql ~ '\n' ~ view.description)) }}
{% endmacro %}


{# Whether a view for readers has this definition already. #}
{% macro _is_written(view) %}
    {{ return(
        adapter.view_properties(view.relation).get('changefold.definition') == changefold._digest(view)
    ) }}
{% endmacro %}


{# Writes a view for readers, unless it has this definition already. #}
{% macro _write_view(view) %}
    {%- if not changefold._is_written(view) -%}
        {%- do run_query(
            'create or replace view ' ~ view.relation ~ ' comment ' ~ sql_text(view.description)
            ~ " tblproperties ('changefold.definition' = '" ~ changefold._digest(view) ~ "') as\n"
            ~ view.sql
        ) -%}
    {%- endif -%}
{% endmacro %}


{# Drops the views for readers whose models are gone: they would stay at an old cut. #}
{% macro _drop_unpublished(shown) %}
    {%- set schema = changefold.published_schema() -%}
    {%- for row in run_query('show views in ' ~ adapter.quote(schema)).rows if not row[2] -%}
        {%- set view = api.Relation.create(schema=schema, identifier=row[1]) -%}
        {%- if view | string not in shown and row[1] != 'published_cuts'
            and 'changefold.definition' in adapter.view_properties(view) -%}
            {%- do run_query('drop view ' ~ view) -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}
