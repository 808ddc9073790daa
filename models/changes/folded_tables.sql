{{ config(enabled=var('row_versions', false)) }}

with

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

-- Not folded yet: rows without a key; those that a DDL moves to other keys, or ends by
-- their partition.
tables as (

    select
        kafka_topic,
        table_uid
    from table_schemas
    group by kafka_topic, table_uid
    having
        bool_and(cardinality(key_columns) > 0 and not key_changed)
        and bool_and(row_effect not in ('rekey', 'partition'))

),

lacking_values as (

    select distinct
        table_schemas.kafka_topic,
        table_schemas.table_uid
    from table_schemas
    inner join {{ ref('source_tables') }} as source_tables
        on
            table_schemas.kafka_topic = source_tables.kafka_topic
            and table_schemas.source_database = source_tables.source_database
            and table_schemas.source_table = source_tables.source_table
    where source_tables.unavailable_until is not null

),

-- A row up to the sequence of a DDL has the table's name and key before it.
folded_tables as (

    select
        table_schemas.kafka_topic,
        table_schemas.table_uid,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.key_columns,
        lacking_values.table_uid is not null as lacks_values,
        coalesce(table_schemas.valid_from_sequence, '') as from_sequence,
        coalesce(table_schemas.valid_to_sequence, '~') as to_sequence
    from table_schemas
    inner join tables
        on
            table_schemas.kafka_topic = tables.kafka_topic
            and table_schemas.table_uid = tables.table_uid
    left join lacking_values
        on
            table_schemas.kafka_topic = lacking_values.kafka_topic
            and table_schemas.table_uid = lacking_values.table_uid
    where not table_schemas.is_dropped

)

select * from folded_tables
