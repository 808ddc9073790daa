with

declared as (

    {{ declared_topics_rows() }}

),

previous as (

    {{ previous_rows({
        'kafka_topic': 'string',
        'record_topic': 'string',
        'kafka_partition': 'int',
        'first_offset': 'bigint',
        'contiguous_offset': 'bigint',
        'last_offset': 'bigint',
        'watermark_ts': 'bigint',
        'last_timestamp': 'timestamp',
        'first_table': 'struct<source_database: string, source_table: string>',
        'last_table': 'struct<source_database: string, source_table: string>',
        'batch_id': 'bigint',
    }) }}

),

events as (

    select * from {{ ref('change_log') }}
    where {{ is_beyond_contiguous() }}

),

-- By table first: Spark has to sort all rows to find the least or greatest struct.
arrived_by_table as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        if(event_kind = 'row', struct(source_database, source_table), null)
            as own_table,
        min(kafka_offset) as first_offset,
        max(kafka_offset) as last_offset,
        count_if(event_index = 0) as messages,
        max(watermark_ts) as watermark_ts,
        max(kafka_timestamp) as last_timestamp,
        max(batch_id) as batch_id
    from events
    group by
        kafka_topic,
        record_topic,
        kafka_partition,
        if(event_kind = 'row', struct(source_database, source_table), null)

),

arrived as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        min(first_offset) as first_offset,
        max(last_offset) as last_offset,
        sum(messages) as messages,
        max(watermark_ts) as watermark_ts,
        max(last_timestamp) as last_timestamp,
        min(own_table) as first_table,
        max(own_table) as last_table,
        max(batch_id) as batch_id
    from arrived_by_table
    group by kafka_topic, record_topic, kafka_partition

),

-- Offsets follow each other: where one is missing, messages are fewer than places.
counted as (

    select
        arrived.*,
        coalesce(previous.contiguous_offset, arrived.first_offset - 1) as island_start,
        declared.is_gapless
        and arrived.messages
        <> arrived.last_offset
        - coalesce(previous.contiguous_offset, arrived.first_offset - 1) as has_hole
    from arrived
    inner join declared on arrived.kafka_topic = declared.kafka_topic
    left join previous
        on
            arrived.kafka_topic = previous.kafka_topic
            and arrived.record_topic = previous.record_topic
            and arrived.kafka_partition = previous.kafka_partition

),

-- Only there messages are put in order: up to the hole, offset minus rank is the same.
ranked as (

    select
        events.kafka_topic,
        events.record_topic,
        events.kafka_partition,
        events.kafka_offset,
        events.watermark_ts,
        counted.island_start,
        events.kafka_offset - row_number() over (
            partition by
                events.kafka_topic,
                events.record_topic,
                events.kafka_partition
            order by events.kafka_offset
        ) as island
    from events
    inner join counted
        on
            counted.has_hole
            and events.event_index = 0
            and events.kafka_topic = counted.kafka_topic
            and events.record_topic = counted.record_topic
            and events.kafka_partition = counted.kafka_partition

),

-- A watermark behind a hole promises nothing: what is missing may lie below it.
before_hole as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        max(kafka_offset) as contiguous_offset,
        max(watermark_ts) as watermark_ts
    from ranked
    where island = island_start
    group by kafka_topic, record_topic, kafka_partition

),

gathered as (

    select
        counted.kafka_topic,
        counted.record_topic,
        counted.kafka_partition,
        counted.first_offset,
        if(counted.has_hole, before_hole.contiguous_offset, counted.last_offset)
            as contiguous_offset,
        counted.last_offset,
        if(counted.has_hole, before_hole.watermark_ts, counted.watermark_ts)
            as watermark_ts,
        counted.last_timestamp,
        counted.first_table,
        counted.last_table,
        counted.batch_id
    from counted
    left join before_hole
        on
            counted.kafka_topic = before_hole.kafka_topic
            and counted.record_topic = before_hole.record_topic
            and counted.kafka_partition = before_hole.kafka_partition
    union all
    select
        kafka_topic,
        record_topic,
        kafka_partition,
        first_offset,
        contiguous_offset,
        last_offset,
        watermark_ts,
        last_timestamp,
        first_table,
        last_table,
        batch_id
    from previous

),

watermarks as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        min(first_offset) as first_offset,
        max(contiguous_offset) as contiguous_offset,
        max(last_offset) as last_offset,
        max(watermark_ts) as watermark_ts,
        {{ tso_timestamp('max(watermark_ts)') }} as watermark_at,
        max(last_timestamp) as last_timestamp,
        min(first_table) as first_table,
        max(last_table) as last_table,
        max(batch_id) as batch_id
    from gathered
    group by kafka_topic, record_topic, kafka_partition

)

select * from watermarks
