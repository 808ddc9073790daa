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

judged as (

    select
        *,
        {{ refusing_rule() }} as refused_by
    from change_log

),

-- Strictly below: a change with the watermark's own timestamp may still come.
resolved as (

    select judged.*
    from judged
    inner join resolved_cuts on judged.kafka_topic = resolved_cuts.kafka_topic
    left anti join undescribed
        on
            judged.kafka_topic = undescribed.kafka_topic
            and judged.source_database = undescribed.source_database
            and judged.source_table = undescribed.source_table
            and judged.schema_version = undescribed.schema_version
            and judged.refused_by is null
    where
        judged.commit_ts is null
        or judged.change_sequence < resolved_cuts.cut_sequence

),

resolved_changes as (

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
        ingested_at,

        ---------- filter
        refused_by
    from resolved

)

select * from resolved_changes
