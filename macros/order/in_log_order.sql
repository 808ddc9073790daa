{#
    Puts changes of Debezium and Canal that a run has appended where they lie in their log.

    A connector reads one log and writes what it reads, so within a partition the order of
    first deliveries is that of the log, whatever clocks and positions say. A change
    stands at the highest position that its partition has reached, and the highest place
    within it, which sets partitions beside each other. That is its own but for these:

    | A change whose position is lower | its place |
    | --- | --- |
    | follows another one, of another server or, if none is told, a minute later; or was read by a whole snapshot | in a new epoch, at its own position |
    | of a known log, and committed before the highest one: a past that was never seen | at its own position |
    | all others: the transaction was open when a snapshot began, no position is known | behind what its partition has brought |

    An epoch is the log's: what other partitions have recorded since it began belongs to it,
    too. Its time is never before that of the changes before it. Rows that a snapshot read have
    their own, and it moves no other; so has a time a day or more after the record's.

    Most changes lie at their own position, where they were appended, so a build looks at
    narrow columns and writes only the others; where an epoch begins it looks twice. After a
    kill, the next build does.

    Arguments:
        relation: relation of the change log.
        is_rebuilt: whether it was read anew in this run.
#}
{% macro settle_order(relation, is_rebuilt) %}
    {%- if changefold.is_of_protocols(['debezium', 'canal_json']) != 'false' -%}
        {%- set known = changefold._counted_epochs(is_rebuilt).epochs -%}
        {%- set begun = changefold._settle_places(
            relation, is_rebuilt, changefold.begun_epochs(none, is_rebuilt)
        ) -%}
        {%- for row in begun if row.epoch > known.get((row.kafka_topic, row.log), 0) -%}
            {%- if loop.first -%}
                {%- do changefold._settle_places(
                    relation, is_rebuilt, changefold.begun_epochs(relation, is_rebuilt)
                ) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{#
    Writes the changes whose place is another than where they stand.

    Arguments:
        relation: relation of the change log.
        is_rebuilt: whether it was read anew in this run.
        begun: what `begun_epochs` returned.

    Returns:
        A list of rows, one per log of a topic: kafka_topic, log, epoch (the highest one).
#}
{% macro _settle_places(relation, is_rebuilt, begun) %}
    {%- set in_order = changefold.in_log_order(relation, is_rebuilt, begun) -%}
    {%- set found = run_query(
        'select kafka_topic, log, max(epoch) as epoch, count_if(is_moved) as moved'
        ~ ' from (' ~ in_order ~ ') group by all'
    ).rows -%}
    {%- set place = ['record_topic', 'kafka_partition', 'kafka_offset', 'event_index'] -%}
    {%- set topics = found | selectattr('moved') | map(attribute='kafka_topic') | unique -%}
    {%- set batches = changefold._counted_epochs(is_rebuilt).batches -%}
    {%- for kafka_topic in topics -%}
        {%- call statement('settle_places') -%}
merge into {{ relation }} as log
using (
    select
        {{ place | join(', ') }},
        settled_sequence
    from (

        {{ in_order }}

    )
    where kafka_topic = {{ sql_text(kafka_topic) }} and is_moved
) as settled
on
    log.kafka_topic = {{ sql_text(kafka_topic) }}
    and log.batch_id > {{ batches.get(kafka_topic, -1) }}
    {%- for column in place %}
    and log.{{ column }} = settled.{{ column }}
    {%- endfor %}
when matched then update set log.change_sequence = settled.settled_sequence
        {%- endcall -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{#
    Changes that came since the last run, in the order of their log.

    Arguments:
        change_log: its relation.
        is_rebuilt: whether it was read anew in this run.
        begun: what `begun_epochs` returned.

    Returns:
        A `select`: the columns that tell which change it is, log, epoch, settled_sequence,
        and is_moved, whether it stands at another one.
#}
{% macro in_log_order(change_log, is_rebuilt, begun) -%}
    with

    reached as (

        {{ changefold.reached_positions(none, is_rebuilt) }}

    ),

    begun as (

        {{ begun }}

    ),

    followed as (

        {{ changefold._followed(change_log, 'reached', 'begun', is_rebuilt) }}

    ),

    measured as (

        {{ changefold._measured('followed') }}

    ),

    judged as (

        select
            *,
            coalesce(
                highest.epoch = epoch
                and struct(own.position, own.place) < struct(highest.position, highest.place),
                false
            ) as is_lower,
            not is_in_turn or {{ changefold._is_of_the_past() }} as is_of_the_past
        from measured

    ),

    settled as (

        select
            *,
            {{ changefold.log_sequence(
                'epoch',
                'if(is_lower and not is_of_the_past, highest.position, own.position)',
                "if(" ~ changefold.is_of_snapshot('own.position') ~ " and not is_lower, own.ms, null)",
                'if(is_lower and not is_of_the_past, highest.place, own.place)',
                'kafka_partition',
                'kafka_offset',
                "if(op = 'r' or is_of_the_past, own.ms, greatest(own.ms, clock_ms))",
            ) }} as settled_sequence
        from judged

    )

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        event_index,
        log,
        epoch,
        settled_sequence,
        settled_sequence <> change_sequence as is_moved
    from settled
{%- endmacro %}


{#
    The sequence at which a change of Debezium or Canal is appended to the log: its own
    position, in the epoch that its log was in after the last run.

    Returns:
        An expression of type string over the columns of the staging models. Where no place
        in a log is known, it is the sequence of the staging model.
#}
{% macro appended_sequence() -%}
    {%- set is_rebuilt = changefold.read_positions() is none -%}
    {%- set epochs = [] -%}
    {%- for of_log, epoch in changefold._counted_epochs(is_rebuilt).epochs.items() if epoch > 0 -%}
        {%- do epochs.append(
            'when kafka_topic = ' ~ sql_text(of_log[0]) ~ ' and log_position.log = '
            ~ sql_text(of_log[1]) ~ ' then ' ~ epoch
        ) -%}
    {%- endfor -%}
    {%- set own_ms = 'coalesce(unix_millis(committed_at), 0)' -%}
    if(
            log_position is null,
            change_sequence,
            {{ changefold.log_sequence(
                'case ' ~ epochs | join(' ') ~ ' else 0 end' if epochs else '0',
                'log_position.position',
                'if(' ~ changefold.is_of_snapshot('log_position.position') ~ ', ' ~ own_ms ~ ', null)',
                'log_position.place',
                'kafka_partition',
                'kafka_offset',
                own_ms,
            ) }}
        )
{%- endmacro %}


{#
    Changes that came since the last run, with what their partition brought of the log
    before them (`previous`), and whether they take part: nothing follows from a duplicate,
    nor from what came late, from a file after its successor or from quarantine. What is
    joined has a row per partition and log: unless it is broadcast, a log is one task.
#}
{% macro _followed(change_log, reached, begun, is_rebuilt) -%}
    with

    arrived as (

        select
            kafka_topic,
            record_topic,
            kafka_partition,
            kafka_offset,
            event_index,
            connector,
            op,
            is_duplicate,
            committed_at,
            kafka_timestamp,
            change_sequence,
            log_position.log,
            {{ changefold._place_in_log() }} as own
        from {{ change_log }}
        where
            {{ changefold.is_of_protocols(['debezium', 'canal_json']) }}
            and log_position.position is not null
            and {{ changefold.is_of_later_batch(changefold._counted_epochs(is_rebuilt).batches) }}

    ),

    joined as (

        select /*+ broadcast({{ reached }}, {{ begun }}) */
            arrived.*,
            begun.begins,
            struct(
                reached.highest as highest,
                reached.latest as latest,
                reached.clock_ms as clock_ms
            ) as reached,
            not is_duplicate
            and coalesce(arrived.kafka_offset > reached.last_offset, true) as is_in_turn
        from arrived
        left join {{ reached }} as reached
            on
                arrived.kafka_topic = reached.kafka_topic
                and arrived.record_topic = reached.record_topic
                and arrived.kafka_partition = reached.kafka_partition
                and arrived.log = reached.log
        left join {{ begun }} as begun
            on
                arrived.kafka_topic = begun.begun_topic
                and arrived.log = begun.begun_log

    )

    select
        *,
        coalesce(lag(own) over ({{ changefold._in_turn() }}), reached.latest) as previous
    from joined
{%- endmacro %}


{#
    Changes with their epoch, the highest position that their partition has reached in the
    log before them (`highest`), and the highest time of a change (`clock_ms`).
#}
{% macro _measured(followed) -%}
    with

    counted as (

        select
            * except (previous, begins),
            greatest(
                coalesce(
                    size(filter(begins, begin -> begin.up_to <= own.recorded_at)), 0
                ),
                if(
                    is_in_turn,
                    coalesce(reached.highest.epoch, 0) + cast(
                        count_if({{ changefold._is_of_another_server() }}) over (
                            {{ changefold._in_turn() }}
                        ) as int
                    ),
                    0
                )
            ) as epoch
        from {{ followed }}

    )

    select
        *,
        greatest(
            max(struct(epoch, own.position, own.place, own.ms)) over (
                {{ changefold._in_turn() }} rows between unbounded preceding and 1 preceding
            ),
            reached.highest
        ) as highest,
        greatest(
            max({{ changefold._clock_ms() }}) over ({{ changefold._in_turn() }}),
            reached.clock_ms
        ) as clock_ms
    from counted
{%- endmacro %}


{#
    Whether a `log_position.position` is one in the source's log: where none is known, it
    is a time.

    Arguments:
        position: expression.

    Returns:
        A condition.
#}
{% macro is_position(position) -%}
    {{ position }} rlike '^[0-9a-f]'
{%- endmacro %}


{# Whether a `log_position.position` is that of a row which a whole snapshot read. #}
{% macro is_of_snapshot(position) -%}
    {{ return(position ~ " like '%.0'") }}
{%- endmacro %}


{#
    The window in which a partition brought the changes of a log. All that is told over it
    takes one sort, as its columns are no expressions.
#}
{% macro _in_turn() -%}
    partition by kafka_topic, record_topic, kafka_partition, log, is_in_turn
                order by kafka_offset
{%- endmacro %}


{#
    Condition: another server wrote the change than the one before it, and counts anew. A
    whole snapshot reads at a position that is not below what was sent before. Below one lie
    only transactions of PostgreSQL, which were open then.
#}
{% macro _is_of_another_server() -%}
    is_in_turn
                    and own.position < previous.position
                    and {{ changefold.is_position('own.position') }}
                    and (
                        {{ changefold.is_of_snapshot('own.position') }}
                        or if(
                            {{ changefold.is_of_snapshot('previous.position') }},
                            connector <> 'postgresql',
                            coalesce(
                                own.server <> previous.server, own.ms > previous.ms + 60000
                            )
                        )
                    )
{%- endmacro %}


{# Condition: the change is of a past that the topic never had, and lies before the rest. #}
{% macro _is_of_the_past() -%}
    coalesce(
                highest.epoch = epoch
                and own.position < highest.position
                and {{ changefold.is_position('own.position') }}
                and not {{ changefold.is_of_snapshot('own.position') }}
                and not {{ changefold.is_of_snapshot('highest.position') }}
                and own.ms < highest.ms,
                false
            )
{%- endmacro %}


{# Where a change of Debezium lies, who wrote it and when, and when it was recorded. #}
{% macro _place_in_log() -%}
    struct(
                log_position.position as position,
                log_position.place as place,
                log_position.server as server,
                coalesce(unix_millis(committed_at), 0) as ms,
                kafka_timestamp as recorded_at
            )
{%- endmacro %}


{# The time of a change, if it can be one: no snapshot's, nor far ahead of the record's. #}
{% macro _clock_ms() -%}
    if(
                op = 'r'
                or committed_at > kafka_timestamp + interval 1 day,
                null,
                unix_millis(committed_at)
            )
{%- endmacro %}


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
        max_by({{ changefold._place_in_log() }}, kafka_offset) as latest,
        max({{ changefold._clock_ms() }}) as clock_ms,
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
                and {{ changefold.is_of_later_batch(changefold._counted_epochs(is_rebuilt).batches) }}
            group by all
            {%- endif %}
{%- endmacro %}


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


{#
    What `log_positions` has counted: by topic, batches (the last one); by topic and log,
    epochs (the highest one).
#}
{% macro _counted_epochs(is_rebuilt) %}
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
    Events with `counts_again`: whether an event that equals an earlier one is another
    change.

    Canal tells of no change where it lies in the log, and of its time only the second in
    which its statement began: equal rows may be as many changes. When it sends its log
    again, times go back: what equals an earlier event then is that one. Not so without a
    key, where a long statement may have written equal rows.

    Arguments:
        events: name of a relation with the columns of the staging models.

    Returns:
        A `select`: those columns and counts_again.
#}
{% macro known_again(events) -%}
    {%- set is_of_canal = changefold.is_of_protocols(['canal_json']) -%}
    {%- if is_of_canal == 'false' -%}
    select
        *,
        false as counts_again
    from {{ events }}
    {%- else -%}
    {%- set is_rebuilt = changefold.read_positions() is none -%}
    with

    reached as (

        {{ changefold.reached_positions(
            none if is_rebuilt else changefold.built_relation('change_log'), is_rebuilt
        ) }}

    )

    select
        events.*,
        events.{{ is_of_canal }}
        and (events.event_kind = 'row' or events.event_type = 'TRUNCATE')
        and coalesce(
            events.event_kind = 'row' and events.primary_key is null
            or unix_millis(events.committed_at) >= greatest(
                max({{ changefold._clock_ms() }}) over (
                    partition by
                        events.kafka_topic, events.record_topic, events.kafka_partition
                    order by events.kafka_offset
                    range between unbounded preceding and 1 preceding
                ),
                reached.clock_ms
            ),
            true
        ) as counts_again
    from {{ events }} as events
    left join reached
        on
            events.kafka_topic = reached.kafka_topic
            and events.record_topic = reached.record_topic
            and events.kafka_partition = reached.kafka_partition
            and reached.log = 'canal'
    {%- endif -%}
{%- endmacro %}
