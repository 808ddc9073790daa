{{ config(materialized='ephemeral') }}

with

-- A binlog whose row image is not FULL, or a changefeed that selects columns, leaves
-- some out. The first and the last rows that name the same columns tell it exactly,
-- where no statement of their millisecond is between.
named_columns as (

    select
        kafka_topic,
        source_database,
        source_table,
        explode(array(first_sequence, last_sequence)) as since_sequence,
        transform(json_object_keys(column_types), name -> lower(name)) as named
    from {{ ref('row_schemas') }}
    where column_types not like '%"connect.%'

),

declared_topics as (

    {{ declared_topics_rows() }}

),

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

columns_left_out as (

    select
        named_columns.kafka_topic,
        named_columns.source_database,
        named_columns.source_table,
        table_schemas.table_uid,
        named_columns.since_sequence,
        not startswith(declared_topics.protocol, 'ticdc_') as is_unchanged,
        filter(
            table_schemas.columns,
            described -> described.is_in_rows
            and not array_contains(named_columns.named, lower(described.name))
        ).name as columns_left_out
    from named_columns
    inner join declared_topics
        on named_columns.kafka_topic = declared_topics.kafka_topic
    inner join table_schemas
        on
            named_columns.kafka_topic = table_schemas.kafka_topic
            and named_columns.source_database = table_schemas.source_database
            and named_columns.source_table = table_schemas.source_table
            and named_columns.since_sequence
            > coalesce(table_schemas.valid_from_sequence, '')
            and (
                table_schemas.ddl_sql is null
                or {{ moment_of('named_columns.since_sequence') }}
                > {{ moment_of("coalesce(table_schemas.valid_from_sequence, '')") }}
            )
            and named_columns.since_sequence
            <= coalesce(table_schemas.valid_to_sequence, '~')
            and not table_schemas.is_dropped

)

select * from columns_left_out
where size(columns_left_out) > 0
