{#
    An operation: gives all published tables a tag of that name, at the state that readers
    see now. The state stays for as long as the tag does: `as_of` reads it by its name.

    Arguments:
        name: of the tag, e.g. month_end_2026_11.
        retain_days: after how many days Iceberg may remove it, when snapshots expire;
            without it never.
        replace: whether the tag may be there already, and moves.

    Raises:
        A compiler error if nothing is published, or a table has the tag already.
#}
{% macro tag_published(name, retain_days=none, replace=false) %}
    {%- if name is not string or not modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', name)
        or name.startswith('published') -%}
        {{ exceptions.raise_compiler_error(
            '`tag_published`: expected letters, digits and _ in `name`, and no name that begins'
            ~ ' with `published`, got `' ~ name ~ '`'
        ) }}
    {%- endif -%}
    {%- if retain_days is not none and (retain_days is not integer or retain_days < 1) -%}
        {{ exceptions.raise_compiler_error(
            '`tag_published`: expected a whole number of days in `retain_days`, got `' ~ retain_days ~ '`'
        ) }}
    {%- endif -%}
    {%- do changefold.lock_warehouse() -%}
    {%- set slot = changefold._slot_of_readers('tag_published') -%}
    {%- set tables = [] -%}
    {%- for node in changefold.published_nodes()
        if node.config.materialized != 'view' and changefold.published_snapshot(changefold.built_by(node), slot) -%}
        {%- do tables.append(changefold.built_by(node)) -%}
    {%- endfor -%}
    {%- for relation in tables if not replace and name in adapter.table_references(relation) -%}
        {{ exceptions.raise_compiler_error(
            '`tag_published`: ' ~ relation ~ ' has a tag `' ~ name ~ '` already; `replace: true` moves it'
        ) }}
    {%- endfor -%}
    {%- for relation in tables -%}
        {%- do run_query(
            'alter table ' ~ relation ~ ' create or replace tag ' ~ adapter.quote(name) ~ ' as of version '
            ~ changefold.published_snapshot(relation, slot)
            ~ (' retain ' ~ retain_days ~ ' days' if retain_days else '')
        ) -%}
    {%- endfor -%}
    {{ log('Tagged ' ~ tables | length ~ ' tables as ' ~ name, info=True) }}
{% endmacro %}


{#
    An operation: shows readers what was published before, all tables at once. The next
    build that passes its tests is published again.

    Raises:
        A compiler error if nothing was published before, or not all of it is kept.
#}
{% macro roll_back_published() %}
    {%- do changefold.lock_warehouse() -%}
    {%- do changefold._slot_of_readers('roll_back_published') -%}
    {%- set run = changefold.published_run() -%}
    {%- if 'previous' not in adapter.table_references(run) -%}
        {{ exceptions.raise_compiler_error(
            '`roll_back_published`: nothing is kept of what was published before'
        ) }}
    {%- endif -%}
    {%- do run_query(
        'alter table ' ~ run ~ ' create or replace tag published as of version '
        ~ adapter.table_references(run)['previous']
    ) -%}
    {%- do run_query('alter table ' ~ run ~ ' drop tag previous') -%}
    {{ log('Readers see what was published before, in ' ~ run.without_identifier(), info=True) }}
{% endmacro %}


{# The slot that readers see, or a sentence that names the operation if there is none. #}
{% macro _slot_of_readers(operation) %}
    {%- set slot = changefold.published_slot() if var('published_schema') else '' -%}
    {%- if not slot -%}
        {{ exceptions.raise_compiler_error(
            '`' ~ operation ~ '`: nothing is published yet; set the var `published_schema` and run'
            ~ ' `dbt build`'
        ) }}
    {%- endif -%}
    {{ return(slot) }}
{% endmacro %}
