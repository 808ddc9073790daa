{{ config(severity='warn') }}

{#
    The generated models, a row for each life of a table that they show; one without a name
    keeps the list from being empty.
#}
{%- set rows = ["('', '', '', '', array(''))"] -%}
{%- for node in (graph.nodes.values() if execute else [])
    if node.resource_type == 'model'
    and node.config.get('lives') -%}
    {%- set names = [] -%}
    {%- for name in node.columns -%}
        {%- do names.append(sql_text(node.config.get('source_names', {}).get(name, name))) -%}
    {%- endfor -%}
    {%- for life in node.config.get('lives') -%}
        {%- do rows.append(
            '(' ~ sql_text(node.config.get('topic'))
            ~ ', ' ~ sql_text(life.table_uid)
            ~ ', ' ~ sql_text(life.key_since or '')
            ~ ', ' ~ sql_text(node.name)
            ~ ', cast(array(' ~ names | join(', ') ~ ') as array<string>))'
        ) -%}
    {%- endfor -%}
{%- endfor %}

with

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

models as (

    select
        kafka_topic,
        table_uid,
        key_since,
        model_name,
        model_columns
    from
        values
        {{ rows | join(',\n        ') }}
            as model_list (
                kafka_topic, table_uid, key_since, model_name, model_columns
            )

),

-- A table that is gone needs no model any more.
live_tables as (

    select
        table_schemas.kafka_topic,
        table_schemas.table_uid,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.columns,
        folded_tables.key_since
    from table_schemas
    inner join {{ ref('folded_tables') }} as folded_tables
        on
            table_schemas.kafka_topic = folded_tables.kafka_topic
            and table_schemas.table_uid = folded_tables.table_uid
            and folded_tables.to_sequence = '~'
    where
        table_schemas.valid_to_sequence is null
        and not table_schemas.is_dropped

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
            and live_tables.table_uid = models.table_uid
            and live_tables.key_since = models.key_since

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
