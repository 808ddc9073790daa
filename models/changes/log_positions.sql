{{ config(reads={'change_log': {
    'event_kind': [] if is_of_protocols(['debezium', 'canal_json']) == 'false' else ['row', 'ddl'],
}}) }}

with

previous as (

    {{ previous_rows(dict(
        log_positions_columns(), batch_id='bigint', cut_sequence='string'
    )) }}

),

arrived as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        log_position.log,
        {{ epoch_of('change_sequence') }} as epoch,
        {{ log_progress() }},
        max(batch_id) as batch_id,
        cast(null as string) as cut_sequence
    from {{ ref('change_log') }}
    where
        {{ is_of_protocols(['debezium', 'canal_json']) }}
        and log_position is not null
        and not is_duplicate
        and {{ is_newly_arrived() }}
    group by all

),

gathered as (

    select * from arrived
    union all
    select * from previous

),

log_positions as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        log,
        epoch,
        max(highest) as highest,
        max_by(latest, last_offset) as latest,
        max(clock_ms) as clock_ms,
        max(last_offset) as last_offset,
        min_by(began, began.kafka_offset) as began,
        max(max(batch_id)) over (partition by kafka_topic) as batch_id,
        cast(null as string) as cut_sequence
    from gathered
    group by kafka_topic, record_topic, kafka_partition, log, epoch

)

select * from log_positions
