{{ config(materialized='view', published=false) }}

with

row_versions as (

    select
        *,
        {{ has_filter() }} as is_filtered
    from {{ ref('row_versions') }}
    where
        disagreement is not null
        and ended_by is distinct from 'void'

),

folded_tables as (

    select * from {{ ref('folded_tables') }}

),

-- Since then all rows of a table are known. A change before may have met one that is
-- older than the topic.
beginnings as (

    select
        kafka_topic,
        source_database,
        source_table,
        valid_from_sequence as since_sequence
    from {{ ref('table_schemas') }}
    where
        row_effect = 'close_all'
        or (
            schema_version = 1
            and valid_from_sequence = rtrim('~', valid_from_sequence)
        )
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        begin_sequence as since_sequence
    from {{ ref('snapshot_readings') }}
    where is_complete

),

known_tables as (

    select
        kafka_topic,
        source_database,
        source_table,
        min(since_sequence) as since_sequence
    from beginnings
    group by kafka_topic, source_database, source_table

),

tables_in_doubt as (

    select
        kafka_topic,
        source_database,
        source_table,
        min(since_sequence) as since_sequence
    from {{ ref('needs_snapshot') }}
    where cleared_sequence is null
    group by kafka_topic, source_database, source_table

),

found as (

    select
        row_versions.kafka_topic,
        folded_tables.source_database,
        folded_tables.source_table,
        row_versions.disagreement as kind,
        row_versions.from_sequence,
        row_versions.row_key,
        row_versions.is_filtered
    from row_versions
    inner join folded_tables
        on
            row_versions.kafka_topic = folded_tables.kafka_topic
            and row_versions.table_uid = folded_tables.table_uid
            and row_versions.from_sequence > folded_tables.from_sequence
            and row_versions.from_sequence <= folded_tables.to_sequence

),

counted as (

    select
        found.kafka_topic,
        found.source_database,
        found.source_table,
        found.kind,
        count(*) as changes,
        min(found.from_sequence) as first_sequence,
        max(found.from_sequence) as last_sequence,
        min_by(found.row_key, found.from_sequence) as first_row_key,
        bool_or(found.is_filtered) as is_filtered
    from found
    left join known_tables
        on
            found.kafka_topic = known_tables.kafka_topic
            and found.source_database = known_tables.source_database
            and found.source_table = known_tables.source_table
    where
        found.kind in ('before_differs', 'insert_of_a_row')
        or found.from_sequence > known_tables.since_sequence
    group by
        found.kafka_topic, found.source_database, found.source_table, found.kind

),

disagreements as (

    select
        counted.kafka_topic,
        counted.source_database,
        counted.source_table,
        counted.kind,
        counted.changes,
        counted.first_sequence,
        counted.last_sequence,
        counted.first_row_key,
        counted.is_filtered
        or coalesce(tables_in_doubt.since_sequence <= counted.last_sequence, false)
            as is_in_doubt
    from counted
    left join tables_in_doubt
        on
            counted.kafka_topic = tables_in_doubt.kafka_topic
            and counted.source_database = tables_in_doubt.source_database
            and counted.source_table = tables_in_doubt.source_table

)

select * from disagreements
