{{ config(severity='warn') }}

with

change_log as (

    select * from {{ ref('change_log') }}
    where {{ is_of_protocols(['debezium']) }}

),

declared_types as (

    {{ declared_types_rows() }}

),

-- The decoder says so of a column whose value it left as it came.
untyped as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        source_database,
        source_table,
        explode(map_keys(map_filter(
            from_json(column_types, 'map<string, string>'),
            (source_column, source_type) -> source_type = 'connect.untyped'
        ))) as source_column
    from change_log
    where
        event_kind = 'row'
        and error_class is not null

)

select
    untyped.record_topic,
    untyped.kafka_partition,
    untyped.source_database,
    untyped.source_table,
    untyped.source_column,
    declared_types.column_types[untyped.source_column] as declared_type,
    count(*) as changes,
    min(untyped.kafka_offset) as first_offset
from untyped
inner join declared_types
    on
        untyped.kafka_topic = declared_types.kafka_topic
        and untyped.source_database = declared_types.source_database
        and untyped.source_table = declared_types.source_table
where map_contains_key(declared_types.column_types, untyped.source_column)
group by all
