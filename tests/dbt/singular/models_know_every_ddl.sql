{{ config(severity='warn') }}

with

known as (

    {{ ddls_of_models() }}

),

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

unwritten as (

    select
        table_schemas.kafka_topic,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.valid_from_sequence,
        table_schemas.ddl_sql
    from table_schemas
    left anti join known
        on
            table_schemas.kafka_topic = known.kafka_topic
            and table_schemas.valid_from_sequence = known.ddl_sequence
    where cardinality(table_schemas.partition_changes) > 0

)

select * from unwritten
