{{ config(materialized='view', reads={'change_log': {'event_kind': ['invalid']}}) }}

with

change_log as (

    select * from {{ ref('change_log') }}
    where event_kind = 'invalid'

),

quarantined as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        kafka_timestamp,
        error_class,
        error_path,
        error_message,
        source_database,
        source_table,
        key,
        value,
        parser_version,
        quarantined_at,
        replays,
        batch_id,
        ingested_at
    from change_log

)

select * from quarantined
