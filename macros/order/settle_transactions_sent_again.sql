{#
    Marks the changes of Debezium's transactions that were sent again under another order
    (`is_duplicate`).

    A connector that is restarted in a transaction begins behind what it had recorded, and
    counts `total_order` from there. So equal events of different orders are one that was
    sent again, or several: rows of one COPY of PostgreSQL have one LSN, events of a
    compressed transaction of MySQL one position. As many are changes as one sending brought.

    Within a sending of a transaction the order grows with the time at which the message was
    built, so a lower one behind it is of the next. Where that time tells nothing, the same
    partition does, or a second in Kafka, as a restart takes longer. In a compressed transaction
    a restart may begin between two that are equal: where different events have the position,
    all orders are changes.

    Arguments:
        relation: relation of the change log, after what is new was appended.
        is_rebuilt: whether it was read anew in this run.
#}
{% macro settle_transactions_sent_again(relation, is_rebuilt) %}
    {%- if changefold.is_of_protocols(['debezium']) != 'false' -%}
        {%- set arrived = changefold.is_of_later_batch(
            changefold.counted_epochs(is_rebuilt).batches
        ) -%}
        {%- set spans = run_query(
            'select kafka_topic, cast(min(committed_at) as string) as since,'
            ~ ' cast(max(committed_at) as string) as until from ' ~ relation
            ~ ' where ' ~ changefold._has_transaction_order() ~ ' and ' ~ arrived
            ~ ' and not is_duplicate group by kafka_topic'
        ).rows -%}
        {%- if spans -%}
            {%- set sent = changefold._sent_in_transactions(relation, arrived, spans) -%}
            {%- if run_query(
                'select event from (' ~ sent ~ ') where not is_duplicate group by event'
                ~ ' having min(transaction_order) < max(transaction_order) limit 1'
            ).rows -%}
                {%- do run_query(changefold._merge_repeated(relation, sent)) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Condition: the message told the order of the event in its transaction. #}
{% macro _has_transaction_order() -%}
    identity >= '#' and identity < '$'
{%- endmacro %}


{#
    Events whose order in their transaction is told: those that are new, and those of their
    times.

    Arguments:
        relation: relation of the change log.
        arrived: condition: the event came since the last run.
        spans: rows: kafka_topic, since, until (first and last commit that is new). A commit
            of SQL Server may be told an hour later after a change of daylight saving.

    Returns:
        A `select`: what tells the message, event (the same when it is sent again), and
        position (where several events of MySQL may lie).
#}
{% macro _sent_in_transactions(relation, arrived, spans) -%}
    select
            kafka_topic,
            record_topic,
            kafka_partition,
            kafka_offset,
            event_index,
            kafka_timestamp,
            coalesce(emitted_at, kafka_timestamp) as emitted_at,
            op,
            is_duplicate,
            {{ arrived }} as is_new,
            substring_index(identity, '#', 2) as event,
            cast(split_part(identity, '#', 3) as bigint) as transaction_order,
            split_part(identity, '#', 4) as transaction_id,
            if(connector = 'mysql', log_position.position, identity) as position
        from {{ relation }}
        where
            {{ changefold._has_transaction_order() }}
            and (
                {{ arrived }}
                {%- for row in spans %}
                or (
                    kafka_topic = {{ sql_text(row.kafka_topic) }}
                    and committed_at between
                        timestamp'{{ row.since }}' - interval 2 hours
                        and timestamp'{{ row.until }}' + interval 2 hours
                )
                {%- endfor %}
            )
{%- endmacro %}


{#
    The statement that marks what is new and was sent before under another order.

    Arguments:
        relation: relation of the change log.
        sent: what `_sent_in_transactions` returned.

    Returns:
        A `merge` statement.
#}
{% macro _merge_repeated(relation, sent) -%}
    {%- set place = ['kafka_topic', 'record_topic', 'kafka_partition', 'kafka_offset', 'event_index'] -%}
    {%- set in_delivery -%}
        partition by kafka_topic, transaction_id
                order by emitted_at, kafka_timestamp, transaction_order, kafka_partition, kafka_offset
    {%- endset -%}
merge into {{ relation }} as log
using (
    with

    sent as (

        {{ sent }}

    ),

    -- What Kafka's producer sends twice is one message.
    distinct_messages as (

        select
            *,
            row_number() over (
                partition by event, transaction_order, emitted_at
                order by is_duplicate, kafka_timestamp, kafka_partition, kafka_offset
            ) as copy
        from sent

    ),

    followed as (

        select
            *,
            lag(
                struct(
                    record_topic, kafka_partition, kafka_timestamp, emitted_at, transaction_order
                )
            ) over ({{ in_delivery }}) as previous,
            min(event) over same_position < max(event) over same_position as has_others
        from distinct_messages
        where copy = 1
        window same_position as (partition by kafka_topic, position, op)

    ),

    in_sendings as (

        select
            *,
            count_if(
                transaction_order <= previous.transaction_order
                and (
                    emitted_at > previous.emitted_at
                    or kafka_timestamp > previous.kafka_timestamp + interval 1 second
                    or (
                        record_topic = previous.record_topic
                        and kafka_partition = previous.kafka_partition
                    )
                )
            ) over ({{ in_delivery }}) as sending
        from followed

    ),

    counted as (

        select
            *,
            count(*) over (partition by event, sending) as of_sending,
            row_number() over (
                partition by event, is_duplicate
                order by
                    is_new,
                    emitted_at,
                    kafka_timestamp,
                    transaction_order,
                    kafka_partition,
                    kafka_offset
            ) as nth
        from in_sendings

    ),

    judged as (

        select
            *,
            max(of_sending) over (partition by event) as changes
        from counted

    )

    select
        {{ place | join(',
        ') }}
    from judged
    where is_new and not is_duplicate and not has_others and nth > changes
) as repeated
on
    {%- for column in place %}
    {{ 'and ' if not loop.first }}log.{{ column }} = repeated.{{ column }}
    {%- endfor %}
when matched then update set
    log.is_duplicate = true
    {%- for column in changefold.columns_of_first_deliveries() %},
    log.{{ column }} = null
    {%- endfor %}
{%- endmacro %}
