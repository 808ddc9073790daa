-- `pruned_rows` reads it. depends_on: {{ source('retention', 'pruned_messages') }}
with

balance as (

    select * from {{ ref('balance') }}

),

watermarks as (

    select * from {{ ref('watermarks') }}

),

-- A raw table that another tool fills may have grown since this run read it.
raw_messages as (

    {% for topic in declared_topics() %}
        select
            {{ sql_text(topic.name) }} as kafka_topic,
            {{ record_topic(topic) }} as record_topic,
            partition as kafka_partition,
            offset as kafka_offset,
            {{ (not topic.files) | string | lower }} as may_have_grown
        from {{ source('raw', topic.name) }}
        {% if not loop.last %}
            union all
        {% endif %}
    {% else %}
        select
            cast(null as string) as kafka_topic,
            cast(null as string) as record_topic,
            cast(null as int) as kafka_partition,
            cast(null as bigint) as kafka_offset,
            false as may_have_grown
        where false
    {% endfor %}

),

left_over as (

    select
        raw_messages.kafka_topic,
        raw_messages.record_topic,
        raw_messages.kafka_partition,
        count(*) as messages
    from raw_messages
    left join watermarks
        on
            raw_messages.kafka_topic = watermarks.kafka_topic
            and raw_messages.record_topic = watermarks.record_topic
            and raw_messages.kafka_partition = watermarks.kafka_partition
    where
        not raw_messages.may_have_grown
        or raw_messages.kafka_offset <= watermarks.last_offset
    group by
        raw_messages.kafka_topic,
        raw_messages.record_topic,
        raw_messages.kafka_partition

),

pruned as (

    {{ pruned_rows() }}

),

gathered as (

    select * from left_over
    union all
    select
        kafka_topic,
        record_topic,
        kafka_partition,
        messages
    from pruned
    where messages > 0

),

counted as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        sum(messages) as messages_landed
    from gathered
    group by kafka_topic, record_topic, kafka_partition

),

compared as (

    select
        coalesce(balance.kafka_topic, counted.kafka_topic) as kafka_topic,
        coalesce(balance.record_topic, counted.record_topic) as record_topic,
        coalesce(balance.kafka_partition, counted.kafka_partition)
            as kafka_partition,
        coalesce(counted.messages_landed, 0) as messages_landed,
        coalesce(balance.messages_read, 0) as messages_read,
        coalesce(balance.events, 0) as events,
        coalesce(
            balance.applied
            + balance.filtered
            + balance.duplicates
            + balance.beyond_cut
            + balance.pending
            + balance.quarantined
            + balance.control,
            0
        ) as placed_events
    from balance
    full outer join counted
        on
            balance.kafka_topic = counted.kafka_topic
            and balance.record_topic = counted.record_topic
            and balance.kafka_partition = counted.kafka_partition

)

select * from compared
where
    messages_read <> messages_landed
    or events <> placed_events
    or events < messages_read
