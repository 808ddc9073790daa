{{ config(materialized='view') }}

with

change_log as (

    select * from {{ ref('change_log') }}
    where
        event_kind = 'row'
        and not is_duplicate
        and coalesce(op <> 'r', true)

),

resolved_cuts as (

    select * from {{ ref('resolved_cuts') }}

),

hourly as (

    select
        kafka_topic,
        record_topic,
        date_trunc('hour', emitted_at) as emitted_hour,
        count(*) as changes,
        percentile(unix_millis(emitted_at) - unix_millis(committed_at), 0.5)
            as median_lag_ms,
        percentile(unix_millis(emitted_at) - unix_millis(committed_at), 0.99)
            as p99_lag_ms,
        max(unix_millis(emitted_at) - unix_millis(committed_at)) as max_lag_ms,
        max(emitted_at) as last_emitted_at
    from change_log
    where emitted_at is not null
    group by kafka_topic, record_topic, date_trunc('hour', emitted_at)

),

topic_lag as (

    select
        hourly.kafka_topic,
        hourly.record_topic,
        hourly.emitted_hour,
        hourly.changes,
        hourly.median_lag_ms,
        hourly.p99_lag_ms,
        hourly.max_lag_ms,
        unix_millis(hourly.last_emitted_at) - unix_millis(resolved_cuts.cut_at)
            as cut_lag_ms
    from hourly
    inner join resolved_cuts on hourly.kafka_topic = resolved_cuts.kafka_topic

)

select * from topic_lag
