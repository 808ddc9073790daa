{#
    Marks the changes of Canal's batches that were sent again (`is_duplicate`).

    Where Kafka does not take a batch as a whole, Canal goes back to its beginning, and
    sends it again as the next one: with the next `id`, and perhaps with more behind it. So
    in each partition that both have reached, one of the two begins with the other.

    The source may have made equal changes twice as well, such as a flag that goes 0, 1, 0, 1.
    Rows with a key decide: one that the first batch brought and left there can not come once
    more, nor can one go that it took away, unless what is new in another partition may have
    undone that before. Then all that is equal was sent again, rows
    without a key too. Where no row decides, and in a batch with a DDL that may end rows,
    they are further changes; but for one whose time tells it already (`known_again`): then
    its DDLs, too, belong to the first sending.

    Arguments:
        relation: relation of the change log, after what is new was appended.
        is_rebuilt: whether it was read anew in this run.
#}
{% macro settle_batches_sent_again(relation, is_rebuilt) %}
    {%- if changefold.is_of_protocols(['canal_json']) != 'false' -%}
        {%- set arrived = changefold.is_of_later_batch(
            changefold.counted_epochs(is_rebuilt).batches
        ) -%}
        {%- set begins = run_query(
            'select kafka_topic, min(log_position.position) as position from ' ~ relation
            ~ ' where ' ~ changefold._has_batch() ~ ' and ' ~ arrived ~ ' group by all'
        ).rows -%}
        {%- if begins -%}
            {%- set sent = changefold._sent_in_batches(relation, arrived, begins) -%}
            {%- set repeated = changefold._repeated_batches('paired') -%}
            {%- if run_query(
                'with paired as (' ~ sent ~ ') select * from (' ~ repeated ~ ') limit 1'
            ).rows -%}
                {%- do run_query(changefold._merge_sent_again(relation, sent)) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# Condition: the event is of Canal, and its batch has a number. #}
{% macro _has_batch() -%}
    {{ changefold.is_of_protocols(['canal_json']) }}
            and event_kind in ('row', 'ddl')
            and log_position.place <> ''
{%- endmacro %}


{#
    Events of Canal that are new, and those of ten minutes before them, each with the one at
    the same place (`nth`) of the batch before and of the batch behind it in its partition.

    Arguments:
        relation: relation of the change log.
        arrived: condition: the event came since the last run.
        begins: rows: kafka_topic, position (the first one that is new).

    Returns:
        A `select`: what tells the event but for its rows, is_new, run (how often the server had begun
        to number anew), batch (counted in the run), nth, met (the identity of the event in the batch
        before; null without one), and is_met_again (whether the next batch has one).
#}
{% macro _sent_in_batches(relation, arrived, begins) -%}
    {%- set partition = 'kafka_topic, record_topic, kafka_partition' -%}
    with

    sent as (

        select
            *,
            {{ arrived }} as is_new,
            log_position.place as number
        from {{ relation }}
        where
            {{ changefold._has_batch() }}
            and (
                {{ arrived }}
                {%- for row in begins %}
                {%- set first_ms = [row.position[1:] | int - 600000, 0] | max %}
                or (
                    kafka_topic = {{ sql_text(row.kafka_topic) }}
                    and log_position.position >= 'm{{ '%013d' % first_ms }}'
                )
                {%- endfor %}
            )

    ),

    followed as (

        select
            *,
            lag(number) over (partition by {{ partition }} order by kafka_offset, event_index)
                as number_before
        from sent

    ),

    in_runs as (

        select
            *,
            count_if(number < number_before) over (
                partition by {{ partition }} order by kafka_offset, event_index
            ) as run
        from followed

    ),

    numbered as (

        select
            *,
            dense_rank() over (partition by kafka_topic, run order by number) as batch,
            row_number() over (
                partition by {{ partition }}, run, number order by kafka_offset, event_index
            ) as nth
        from in_runs

    ),

    beside as (

        select
            *,
            lag(struct(batch, identity)) over same_place as earlier,
            lead(batch) over same_place as later
        from numbered
        window same_place as (partition by {{ partition }}, run, nth order by batch)

    )

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        event_index,
        event_type,
        source_database,
        source_table,
        op,
        identity,
        is_duplicate,
        is_new,
        log_position,
        ddl_sql,
        run,
        batch,
        nth,
        if(earlier.batch = batch - 1, earlier.identity, null) as met,
        coalesce(later = batch + 1, false) as is_met_again
    from beside
{%- endmacro %}


{#
    Batches of which one begins with the other in each partition that both have reached. With
    a DDL that may end rows, or that comes with the second one only, they are such only where
    the time of the second tells it: what came before the DDL, and what behind, a whole batch
    tells.

    Arguments:
        paired: name of a relation: what `_sent_in_batches` returned.

    Returns:
        A `select`: kafka_topic, run, batch (that of the second), is_known_again (whether its
        time tells it).
#}
{% macro _repeated_batches(paired) -%}
    select
            kafka_topic,
            run,
            batch,
            is_known_again
        from (
            select
                kafka_topic,
                run,
                batch,
                count(met) > 0 and count_if(met <> identity) = 0 as is_alike,
                count_if(is_duplicate and met is not null) > 0 as is_known_again,
                count_if(op is null and met is null) as new_ddls,
                sum(count_if({{ changefold._may_end_rows() }})) over (
                    partition by kafka_topic, run order by batch
                    rows between 1 preceding and current row
                ) as ddls
            from {{ paired }}
            group by kafka_topic, run, batch
        )
        where is_alike and (is_known_again or (ddls = 0 and new_ddls = 0))
{%- endmacro %}


{# Condition: the event is a DDL that may end rows. #}
{% macro _may_end_rows() -%}
    event_type not in ('INSERT', 'UPDATE', 'DELETE', 'CREATE', 'CINDEX', 'DINDEX')
                    or ddl_sql ilike '%replace%'
{%- endmacro %}


{#
    The statement that marks what was sent again. What is new in such a batch takes the
    position of the first sending: together they are the batch. A DDL stands before its rows.

    Arguments:
        relation: relation of the change log.
        sent: what `_sent_in_batches` returned.

    Returns:
        A `merge` statement.
#}
{% macro _merge_sent_again(relation, sent) -%}
    {%- set place = ['kafka_topic', 'record_topic', 'kafka_partition', 'kafka_offset', 'event_index'] -%}
merge into {{ relation }} as log
using (
    with

    paired as (

        {{ sent }}

    ),

    repeated as (

        {{ changefold._repeated_batches('paired') }}

    ),

    -- A batch, and what is new in the next one that begins alike: what rows were and became.
    rows_changed as (

        select
            paired.*,
            repeated.batch as second,
            paired.batch = repeated.batch as is_second,
            sent.primary_key,
            from_json(sent.after, 'map<string, string>') as texts,
            from_json(sent.before, 'map<string, string>') as texts_before
        from paired
        inner join repeated
            on
                paired.kafka_topic = repeated.kafka_topic
                and paired.run = repeated.run
                and paired.batch in (repeated.batch - 1, repeated.batch)
        inner join {{ relation }} as sent
            on
                {%- for column in place %}
                {{ 'and ' if not loop.first }}paired.{{ column }} = sent.{{ column }}
                {%- endfor %}
        where paired.batch < repeated.batch or paired.met is null

    ),

    images as (

        select
            *,
            array(
                struct(
                    case op
                        when 'd' then to_json(texts_before)
                        when 'u' then {{ changefold.row_before_changed_columns() }}
                    end as image,
                    -1 as change
                ),
                struct(to_json(texts) as image, 1 as change)
            ) as changes
        from rows_changed

    ),

    brought_by_partition as (

        select
            kafka_topic,
            run,
            second,
            source_database,
            source_table,
            changed.image,
            record_topic,
            kafka_partition,
            sum(if(is_second, 0, changed.change)) as brought,
            sum(if(is_met_again and not is_second, changed.change, 0)) as brought_again,
            sum(if(is_second, changed.change, 0)) as brought_new,
            bool_or(is_met_again and not is_second) as is_met
        from images
            lateral view explode(changes) as changed
        where primary_key is not null and changed.image is not null
        group by all

    ),

    -- What is new stands behind what is equal in its partition, in others perhaps before it.
    left_by_batch as (

        select
            kafka_topic,
            run,
            second,
            sum(brought) as brought,
            sum(brought_again + if(is_met, 0, brought_new)) as brought_again
        from brought_by_partition
        group by kafka_topic, run, second, source_database, source_table, image

    ),

    sent_again as (

        select
            kafka_topic,
            run,
            second as batch
        from left_by_batch
        where brought * brought_again > 0
        union
        select
            kafka_topic,
            run,
            second as batch
        from rows_changed
        where is_duplicate and is_met_again and not is_second
        union
        select
            kafka_topic,
            run,
            batch
        from repeated
        where is_known_again

    ),

    numbered_sendings as (

        select
            paired.kafka_topic,
            paired.run,
            paired.batch,
            max(log_position.position) as position,
            count_if(max(sent_again.batch) is null) over (
                partition by paired.kafka_topic, paired.run order by paired.batch
            ) as first_sending
        from paired
        left join sent_again
            on
                paired.kafka_topic = sent_again.kafka_topic
                and paired.run = sent_again.run
                and paired.batch = sent_again.batch
        group by paired.kafka_topic, paired.run, paired.batch

    ),

    batches as (

        select
            *,
            first_value(position) over (
                partition by kafka_topic, run, first_sending order by batch
            ) as first_position
        from numbered_sendings

    ),

    sendings as (

        select
            paired.*,
            batches.first_position,
            row_number() over (
                partition by
                    paired.kafka_topic,
                    record_topic,
                    kafka_partition,
                    paired.run,
                    first_sending,
                    nth,
                    identity
                order by paired.batch
            ) > 1 as is_repeated
        from paired
        inner join batches
            on
                paired.kafka_topic = batches.kafka_topic
                and paired.run = batches.run
                and paired.batch = batches.batch

    )

    select
        {{ place | join(',
        ') }},
        first_position,
        is_repeated
    from sendings
    where
        is_new
        and not is_duplicate
        and (is_repeated or log_position.position > first_position)
) as again
on
    {%- for column in place %}
    {{ 'and ' if not loop.first }}log.{{ column }} = again.{{ column }}
    {%- endfor %}
when matched and again.is_repeated then update set
    log.is_duplicate = true
    {%- for column in changefold.columns_of_first_deliveries() %},
    log.{{ column }} = null
    {%- endfor %}
when matched then update set
    log.log_position = named_struct(
        'log', log.log_position.log,
        'position', again.first_position,
        'place', if(log.op is null, '', log.log_position.place),
        'server', log.log_position.server
    )
{%- endmacro %}
