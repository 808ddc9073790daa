{#
    A function node: checks that the session knows the function and that Spark
    declares the return type which the yml states. Registration itself belongs to
    the opening of the session, because `dbt run` builds no function nodes.
#}
{% materialization function, adapter='sparksession', supported_languages=['sql', 'python'] %}
    {%- set nulls = [] -%}
    {%- for argument in model.arguments -%}
        {%- do nulls.append('cast(null as ' ~ argument.data_type ~ ')') -%}
    {%- endfor -%}
    {%- call statement('main', fetch_result=True) -%}
        select
            typeof({{ model.name }}({{ nulls | join(', ') }})) as declared,
            typeof(cast(null as {{ model.returns.data_type }})) as expected
    {%- endcall -%}
    {%- set types = load_result('main').table.rows[0] -%}
    {%- if types[0] != types[1] -%}
        {{ exceptions.raise_compiler_error(
            "function `" ~ model.name ~ "`: expected it to return `" ~ types[1]
            ~ "` as its yml says, but it is registered with `" ~ types[0] ~ "`"
        ) }}
    {%- endif -%}
    {{ return({'relations': [this.incorporate(type='function')]}) }}
{% endmaterialization %}


{#
    Text as a SQL literal. dbt-spark escapes quotes but not backslashes. And Spark puts a
    value in the place of `${env:PATH}`, even inside a literal.
#}
{% macro sql_text(text) -%}
    '{{ (text | string) | replace('\\', '\\\\') | replace("'", "\\'") | replace('${', '$\\{') }}'
{%- endmacro %}


{% macro sparksession__comment_clause() %}
    {%- if config.get('persist_docs', {}).get('relation') and model.description %}
    comment {{ sql_text(model.description) }}
    {%- endif -%}
{% endmacro %}


{#
    Column comments of a table, all in one statement: dbt-spark runs one for each.
#}
{% macro sparksession__alter_column_comment(relation, column_dict) %}
    {%- for name, column in column_dict.items() if column.description %}
        {%- do run_query(
            'alter table ' ~ relation ~ ' alter column ' ~ adapter.quote(name)
            ~ ' comment ' ~ sql_text(column.description)
        ) -%}
    {%- endfor %}
{% endmacro %}


{#
    A view, written again only when its statement or description has changed: a build
    without new data leaves the catalog alone.
#}
{% materialization view, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='view') -%}
    {%- set existing = load_cached_relation(this) -%}
    {{ run_hooks(pre_hooks) }}
    {%- set definition = local_md5([
        compiled_code, model.description, model.columns | string
    ] | join('\n')) -%}
    {%- if existing is not none and existing.type == 'view'
        and adapter.view_properties(relation).get('changefold.definition') == definition -%}
        {%- do store_raw_result(name='main', message='SKIP unchanged', code='SKIP', rows_affected='0') -%}
    {%- else -%}
        {%- if existing is not none and existing.type != 'view' -%}
            {%- do adapter.drop_relation(existing) -%}
        {%- endif -%}
        {%- if config.get('contract').enforced -%}
            {%- do get_assert_columns_equivalent(compiled_code) -%}
        {%- endif -%}
        {%- call statement('main') -%}
            create or replace view {{ relation }}
            {{ comment_clause() }}
            tblproperties ('changefold.definition' = '{{ definition }}')
            as
            {{ compiled_code }}
        {%- endcall -%}
    {%- endif -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{# A seed, loaded again only when its file or its configuration has changed. #}
{% materialization seed, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {{ run_hooks(pre_hooks) }}
    {%- set rows = load_agate_table() -%}
    {%- do store_result('agate_table', response='OK', agate_table=rows) -%}
    {%- set definition = local_md5(
        model.checksum.checksum ~ model.config | string ~ model.description
    ) -%}
    {%- if not flags.FULL_REFRESH
        and adapter.table_properties(relation).get('changefold.definition') == definition -%}
        {%- do store_raw_result(name='main', message='SKIP unchanged', code='SKIP', rows_affected='0') -%}
    {%- else -%}
        {%- set types = config.get('column_types', {}) -%}
        {%- set selected = [] -%}
        {%- for name in rows.column_names -%}
            {%- do selected.append(
                'cast(' ~ adapter.quote(name) ~ ' as '
                ~ types.get(name, adapter.convert_type(rows, loop.index0)) ~ ') as '
                ~ adapter.quote(name)
            ) -%}
        {%- endfor -%}
        {%- set literals = [] -%}
        {%- for row in rows.rows -%}
            {%- do literals.append('(' ~ adapter.literals(row) | join(', ') ~ ')') -%}
        {%- endfor -%}
        {%- call statement('main') -%}
            create or replace table {{ relation }}
            {{ file_format_clause() }}
            {{ comment_clause() }}
            tblproperties ('changefold.definition' = '{{ definition }}')
            as
            select {{ selected | join(', ') }}
            from values {{ literals | join(', ') }}
            as seed ({% for name in rows.column_names %}{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %})
        {%- endcall -%}
    {%- endif -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{# A table from SQL or, for a Python model, from the frame that it returns. #}
{% macro sparksession__create_table_as(temporary, relation, compiled_code, language='sql') -%}
    {%- if language == 'python' -%}
{{ compiled_code }}
df = model(dbtObj(spark.table), spark)
if not hasattr(df, "writeTo"):
    df = spark.createDataFrame(df)
df.writeTo("{{ relation }}").using("{{ config.get('file_format', 'iceberg') }}").createOrReplace()
    {%- else -%}
        {{ spark__create_table_as(temporary, relation, compiled_code, language) }}
    {%- endif -%}
{%- endmacro %}


{# Quoted names for the columns of a relation. #}
{% macro sparksession__drop_relation(relation) -%}
  {% call statement('drop_relation', auto_begin=False) -%}
    drop {{ relation.type or 'table' }} if exists {{ relation }}
  {%- endcall %}
{% endmacro %}
