{{ config(severity='warn') }}

{#
    The generated models of tables that are there, as this run has them, a row each; one
    without a name keeps the list from being empty.
#}
{%- set rows = ["('', '', '', '', array(''))"] -%}
{%- for node in (graph.nodes.values() if execute else [])
    if node.resource_type == 'model'
    and node.name.startswith('scd2_')
    and node.config.get('source_table')
    and not (node.config.get('names_over_time') or [{}])[-1].get('until') -%}
    {%- set names = [] -%}
    {%- for name in node.columns -%}
        {%- do names.append(sql_text(node.config.get('source_names', {}).get(name, name))) -%}
    {%- endfor -%}
    {%- do rows.append(
        '(' ~ sql_text(node.config.get('topic'))
        ~ ', ' ~ sql_text(node.config.get('source_database'))
        ~ ', ' ~ sql_text(node.config.get('source_table'))
        ~ ', ' ~ sql_text(node.name)
        ~ ', cast(array(' ~ names | join(', ') ~ ') as array<string>))'
    ) -%}
{%- endfor %}

with

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

models as (

    select
        kafka_topic,
        source_database,
        source_table,
        model_name,
        model_columns
    from
        values
        {{ rows | join(',\n        ') }}
            as model_list (
                kafka_topic, source_database, source_table, model_name, model_columns
            )

),

-- A table that is gone needs no model any more.
live_tables as (

    select
        kafka_topic,
        source_database,
        source_table,
        columns
    from table_schemas
    where
        valid_to_sequence is null
        and not is_dropped

),

compared as (

    select
        live_tables.kafka_topic,
        live_tables.source_database,
        live_tables.source_table,
        models.model_name,
        filter(
            live_tables.columns,
            described -> described.is_in_rows
            and not array_contains(
                coalesce(models.model_columns, array('')), described.name
            )
        ) as missing_columns
    from live_tables
    left join models
        on
            live_tables.kafka_topic = models.kafka_topic
            and live_tables.source_database = models.source_database
            and live_tables.source_table = models.source_table

),

missing as (

    select
        kafka_topic,
        source_database,
        source_table,
        model_name,
        transform(missing_columns, described -> described.name) as missing_columns,
        if(model_name is null, 'no model', 'columns are missing') as problem
    from compared
    where
        model_name is null
        or size(missing_columns) > 0

)

select * from missing
