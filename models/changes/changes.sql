{{ config(materialized='view') }}

with

change_log as (

    select * from {{ ref('change_log') }}
    where
        event_kind = 'row'
        and not is_duplicate

),

resolved_cuts as (

    select * from {{ ref('resolved_cuts') }}

),

-- Without its schema a change can not be read.
undescribed as (

    select
        kafka_topic,
        source_database,
        source_table,
        schema_version
    from {{ ref('schema_versions') }}
    where table_schema is null

),

-- Strictly below: a change with the watermark's own timestamp may still come.
resolved as (

    select change_log.*
    from change_log
    inner join resolved_cuts on change_log.kafka_topic = resolved_cuts.kafka_topic
    left anti join undescribed
        on
            change_log.kafka_topic = undescribed.kafka_topic
            and change_log.source_database = undescribed.source_database
            and change_log.source_table = undescribed.source_table
            and change_log.schema_version = undescribed.schema_version
    where
        change_log.commit_ts is null
        or change_log.change_sequence < resolved_cuts.cut_sequence

),

changes as (

    select
        ---------- change
        source_database,
        source_table,
        schema_version,
        op,
        change_sequence,
        commit_ts,
        committed_at,
        emitted_at,

        ---------- payload
        {{ before_image('before', 'after') }} as before,
        after,
        before as before_sent,
        unavailable_columns,
        connector,
        primary_key,
        column_types,

        ---------- position
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        event_index,
        kafka_timestamp,
        batch_id,
        ingested_at
    from resolved

)

select * from changes
