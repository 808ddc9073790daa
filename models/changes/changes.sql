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

-- Strictly below: a change with the watermark's own timestamp may still come.
resolved as (

    select change_log.*
    from change_log
    inner join resolved_cuts on change_log.kafka_topic = resolved_cuts.kafka_topic
    where
        change_log.commit_ts is null
        or change_log.change_sequence < resolved_cuts.cut_sequence

),

changes as (

    select
        ---------- change
        source_database,
        source_table,
        op,
        change_sequence,
        commit_ts,
        committed_at,
        emitted_at,

        ---------- payload
        {{ before_image('before', 'after') }} as before,
        after,
        before as before_sent,
        primary_key,
        column_types,

        ---------- position
        kafka_topic,
        kafka_partition,
        kafka_offset,
        event_index,
        kafka_timestamp,
        batch_id,
        ingested_at
    from resolved

)

select * from changes
