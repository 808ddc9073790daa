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
        {%- set known = changefold.counted_epochs(is_rebuilt).epochs -%}
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
    {%- set batches = changefold.counted_epochs(is_rebuilt).batches -%}
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
        from measured

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
    {%- for of_log, epoch in changefold.counted_epochs(is_rebuilt).epochs.items() if epoch > 0 -%}
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
            {{ changefold.place_in_log() }} as own
        from {{ change_log }}
        where
            {{ changefold.is_of_protocols(['debezium', 'canal_json']) }}
            and log_position.position is not null
            and {{ changefold.is_of_later_batch(changefold.counted_epochs(is_rebuilt).batches) }}

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
    log before them (`highest`), and the highest time of a change (`clock_ms`); and whether
    they lie below it (`is_lower`), or in a past that the topic never had.
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

    ),

    measured as (

        select
            *,
            greatest(
                max(struct(epoch, own.position, own.place, own.ms)) over (
                    {{ changefold._in_turn() }} rows between unbounded preceding and 1 preceding
                ),
                reached.highest
            ) as highest,
            greatest(
                max({{ changefold.clock_ms() }}) over ({{ changefold._in_turn() }}),
                reached.clock_ms
            ) as clock_ms
        from counted

    )

    select
        *,
        coalesce(
            highest.epoch = epoch
            and struct(own.position, own.place) < struct(highest.position, highest.place),
            false
        ) as is_lower,
        not is_in_turn or {{ changefold._is_of_the_past() }} as is_of_the_past
    from measured
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
{% macro place_in_log() -%}
    struct(
                log_position.position as position,
                log_position.place as place,
                log_position.server as server,
                coalesce(unix_millis(committed_at), 0) as ms,
                kafka_timestamp as recorded_at
            )
{%- endmacro %}


{# The time of a change, if it can be one: no snapshot's, nor far ahead of the record's. #}
{% macro clock_ms() -%}
    if(
                op = 'r'
                or committed_at > kafka_timestamp + interval 1 day,
                null,
                unix_millis(committed_at)
            )
{%- endmacro %}
