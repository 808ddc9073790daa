{{ config(materialized='view') }}

with

change_log as (

    select * from {{ ref('change_log') }}
    where
        event_kind = 'row'
        and not is_duplicate
        and {{ refusing_rule() }} is null

),

schema_versions as (

    select * from {{ ref('schema_versions') }}
    where table_schema is null

),

pending as (

    select
        change_log.kafka_topic,
        change_log.record_topic,
        change_log.kafka_partition,
        change_log.kafka_offset,
        change_log.source_database,
        change_log.source_table,
        change_log.schema_version,
        concat_ws(
            ' ',
            'A DDL or BOOTSTRAP with version',
            change_log.schema_version,
            'of',
            concat(change_log.source_database, '.', change_log.source_table)
        ) as waits_for,
        timestampdiff(second, change_log.ingested_at, current_timestamp()) / 3600
            as waiting_hours,
        change_log.op,
        change_log.change_sequence,
        change_log.committed_at,
        change_log.before,
        change_log.after,
        change_log.batch_id,
        change_log.ingested_at
    from change_log
    inner join schema_versions
        on
            change_log.kafka_topic = schema_versions.kafka_topic
            and change_log.source_database = schema_versions.source_database
            and change_log.source_table = schema_versions.source_table
            and change_log.schema_version = schema_versions.schema_version

)

select * from pending
