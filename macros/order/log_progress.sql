{#
    The columns of the model `log_positions`, without what it has counted.

    Returns:
        A mapping name -> type.
#}
{% macro log_positions_columns() %}
    {{ return({
        'kafka_topic': 'string',
        'record_topic': 'string',
        'kafka_partition': 'int',
        'log': 'string',
        'epoch': 'int',
        'highest': 'struct<epoch: int, position: string, place: string, ms: bigint>',
        'latest': 'struct<position: string, place: string, server: string, ms: bigint, recorded_at: timestamp>',
        'clock_ms': 'bigint',
        'last_offset': 'bigint',
        'began': 'struct<kafka_timestamp: timestamp, kafka_offset: bigint, position: string, batch_id: bigint>',
    }) }}
{% endmacro %}


{#
    How far a partition has come in a log.

    Returns:
        Aggregates over rows of the change log that have a place in a log and are no
        duplicates: highest, latest, clock_ms, last_offset, and the record that was the
        first (began).
#}
{% macro log_progress() -%}
        max(struct(
            {{ changefold.epoch_of('change_sequence') }} as epoch,
            log_position.position as position,
            log_position.place as place,
            coalesce(unix_millis(committed_at), 0) as ms
        )) as highest,
        max_by({{ changefold.place_in_log() }}, kafka_offset) as latest,
        max({{ changefold.clock_ms() }}) as clock_ms,
        max(kafka_offset) as last_offset,
        min_by(
            struct(kafka_timestamp, kafka_offset, log_position.position, batch_id),
            kafka_offset
        ) as began
{%- endmacro %}


{#
    How far the partitions have come in each log and epoch: what the model `log_positions`
    has counted, and later batches of the change log.

    Arguments:
        change_log: its relation, or none.
        is_rebuilt: whether the log was read anew in this run, so that nothing is counted.

    Returns:
        A `select`: kafka_topic, record_topic, kafka_partition, log, epoch, and the
        columns of `log_progress`.
#}
{% macro _progress(change_log, is_rebuilt) -%}
    {%- set counted = none if is_rebuilt else changefold.built_relation('log_positions') -%}
            select
                {%- if counted %}
                kafka_topic,
                record_topic,
                kafka_partition,
                log,
                epoch,
                highest,
                latest,
                clock_ms,
                last_offset,
                began
            from {{ counted }}
                {%- else %}
                {%- for name, type in changefold.log_positions_columns().items() %}
                cast(null as {{ type }}) as {{ name }}{{ ',' if not loop.last }}
                {%- endfor %}
            where false
                {%- endif %}
            {%- if change_log %}
            union all
            select
                kafka_topic,
                record_topic,
                kafka_partition,
                log_position.log as log,
                {{ changefold.epoch_of('change_sequence') }} as epoch,
                {{ changefold.log_progress() }}
            from {{ change_log }}
            where
                {{ changefold.is_of_protocols(['debezium', 'canal_json']) }}
                and log_position.position is not null
                and not is_duplicate
                and {{ changefold.is_of_later_batch(changefold.counted_epochs(is_rebuilt).batches) }}
            group by all
            {%- endif %}
{%- endmacro %}


{#
    What `log_positions` has counted: by topic, batches (the last one); by topic and log,
    epochs (the highest one).
#}
{% macro counted_epochs(is_rebuilt) %}
    {%- set found = {'batches': {}, 'epochs': {}} -%}
    {%- set counted = none if is_rebuilt else changefold.built_relation('log_positions') -%}
    {%- if counted -%}
        {%- for row in adapter.query_once(
            'select kafka_topic, log, max(batch_id) as batch_id, max(epoch) as epoch from '
            ~ counted ~ ' group by all',
            changefold.snapshot_id(counted)
        ) -%}
            {%- do found.batches.update({row.kafka_topic: row.batch_id}) -%}
            {%- do found.epochs.update({(row.kafka_topic, row.log): row.epoch}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(found) }}
{% endmacro %}


{#
    How far the partitions have come in each log.

    Arguments:
        change_log: as for `_progress`.
        is_rebuilt: likewise.

    Returns:
        A `select`: kafka_topic, record_topic, kafka_partition, log, highest, latest,
        clock_ms, last_offset.
#}
{% macro reached_positions(change_log, is_rebuilt) -%}
        select
            kafka_topic,
            record_topic,
            kafka_partition,
            log,
            max(highest) as highest,
            max_by(latest, last_offset) as latest,
            max(clock_ms) as clock_ms,
            max(last_offset) as last_offset
        from ({{ changefold._progress(change_log, is_rebuilt) }})
        group by kafka_topic, record_topic, kafka_partition, log
{%- endmacro %}


{#
    When the epochs of each log began, but for the first, as the records in Kafka have it.
    Each partition shows it between two of its records; spans that overlap are one begin.

    Arguments:
        change_log: as for `_progress`.
        is_rebuilt: likewise.

    Returns:
        A `select`: begun_topic, begun_log, and begins, an array of spans: later than since,
        not later than up_to.
#}
{% macro begun_epochs(change_log, is_rebuilt) -%}
        select
            kafka_topic as begun_topic,
            log as begun_log,
            aggregate(
                array_sort(collect_list(struct(up_to, since))),
                cast(array() as array<struct<up_to: timestamp, since: timestamp>>),
                (begins, span) -> if(
                    exists(begins, begin -> span.since < begin.up_to),
                    begins,
                    array_append(begins, span)
                )
            ) as begins
        from (
            select
                kafka_topic,
                log,
                epoch,
                min(began.kafka_timestamp) as up_to,
                max(max(latest.recorded_at)) over (
                    partition by kafka_topic, record_topic, kafka_partition, log
                    order by epoch
                    rows between unbounded preceding and 1 preceding
                ) as since
            from ({{ changefold._progress(change_log, is_rebuilt) }})
            group by kafka_topic, record_topic, kafka_partition, log, epoch
        )
        where epoch > 0 and since < up_to
        group by kafka_topic, log
{%- endmacro %}
