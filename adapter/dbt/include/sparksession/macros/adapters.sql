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


{# Text as a SQL literal. dbt-spark escapes quotes but not backslashes. #}
{% macro sql_text(text) -%}
    '{{ (text | string) | replace('\\', '\\\\') | replace("'", "\\'") }}'
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


{% macro sparksession__create_view_as(relation, sql) -%}
  create or replace view {{ relation }}
  {%- set contract_config = config.get('contract') -%}
  {%- if contract_config.enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  {{ comment_clause() }}
  as
    {{ sql }}
{% endmacro %}


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
