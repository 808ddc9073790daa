{{ config(severity='warn') }}

with

folded_tables as (

    select * from {{ ref('folded_tables') }}
    where read_as is not null

),

unread as (

    select
        folded_tables.kafka_topic,
        folded_tables.source_database,
        folded_tables.source_table,
        row_versions.from_sequence,
        explode(array_intersect(
            row_versions.unknown_columns, json_object_keys(folded_tables.read_as)
        )) as source_column
    from {{ ref('row_versions') }} as row_versions
    inner join folded_tables
        on
            row_versions.kafka_topic = folded_tables.kafka_topic
            and row_versions.table_uid = folded_tables.table_uid
            and row_versions.from_sequence > folded_tables.from_sequence
            and row_versions.from_sequence <= folded_tables.to_sequence
    where
        row_versions.unknown_columns is not null
        and (
            row_versions.is_open
            or row_versions.from_sequence < row_versions.to_sequence
        )

)

select
    unread.kafka_topic,
    unread.source_database,
    unread.source_table,
    unread.source_column,
    count(*) as versions,
    min_by(changes.kafka_partition, changes.change_sequence) as first_partition,
    min_by(changes.kafka_offset, changes.change_sequence) as first_offset
from unread
inner join {{ ref('changes') }} as changes
    on
        unread.kafka_topic = changes.kafka_topic
        and unread.source_database = changes.source_database
        and unread.source_table = changes.source_table
        and unread.from_sequence = changes.change_sequence
group by
    unread.kafka_topic,
    unread.source_database,
    unread.source_table,
    unread.source_column
