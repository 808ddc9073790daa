{{ config(reads={'change_log': {
    'event_kind': [] if is_of_protocols(['debezium', 'canal_json']) == 'false' else ['row', 'ddl', 'schema_change'],
}}) }}

with

previous as (

    {{ previous_rows({
        'kafka_topic': 'string',
        'record_topic': 'string',
        'kafka_partition': 'int',
        'log': 'string',
        'highest': 'struct<epoch: int, position: string, place: string, ms: bigint, is_read: boolean>',
        'latest': 'struct<position: string, place: string, server: string, ms: bigint, is_read: boolean>',
        'clock_ms': 'bigint',
        'last_offset': 'bigint',
        'epoch_began': 'struct<epoch: int, kafka_offset: bigint, position: string, batch_id: bigint>',
        'batch_id': 'bigint',
        'cut_sequence': 'string',
    }) }}

),

arrived as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        log_position.log,
        {{ log_progress() }},
        max_by(
            named_struct(
                'epoch', {{ epoch_of('change_sequence') }},
                'kafka_offset', kafka_offset,
                'position', log_position.position,
                'batch_id', batch_id
            ),
            named_struct(
                'epoch', {{ epoch_of('change_sequence') }},
                'kafka_offset', -kafka_offset
            )
        ) as epoch_began,
        max(batch_id) as batch_id,
        cast(null as string) as cut_sequence
    from {{ ref('change_log') }}
    where
        {{ is_of_protocols(['debezium', 'canal_json']) }}
        and log_position is not null
        and not is_duplicate
        and {{ is_newly_arrived() }}
    group by kafka_topic, record_topic, kafka_partition, log_position.log

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
        max(highest) as highest,
        max_by(latest, last_offset) as latest,
        max(clock_ms) as clock_ms,
        max(last_offset) as last_offset,
        max_by(
            epoch_began,
            named_struct(
                'epoch', epoch_began.epoch,
                'kafka_offset', -epoch_began.kafka_offset
            )
        ) as epoch_began,
        max(max(batch_id)) over (partition by kafka_topic) as batch_id,
        cast(null as string) as cut_sequence
    from gathered
    group by kafka_topic, record_topic, kafka_partition, log

)

select * from log_positions
