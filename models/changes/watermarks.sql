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

messages as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        max(watermark_ts) as watermark_ts,
        max(kafka_timestamp) as last_timestamp,
        min(struct(source_database, source_table)) filter (where event_kind = 'row')
            as first_table,
        max(struct(source_database, source_table)) filter (where event_kind = 'row')
            as last_table,
        max(batch_id) as batch_id
    from {{ ref('change_log') }}
    where {{ is_beyond_contiguous() }}
    group by kafka_topic, record_topic, kafka_partition, kafka_offset

),

-- Offsets follow each other, so offset minus rank is the same up to the first hole.
ranked as (

    select
        messages.*,
        declared.is_gapless,
        messages.kafka_offset - row_number() over (
            partition by
                messages.kafka_topic,
                messages.record_topic,
                messages.kafka_partition
            order by messages.kafka_offset
        ) as island,
        coalesce(
            previous.contiguous_offset,
            min(messages.kafka_offset) over (
                partition by
                    messages.kafka_topic,
                    messages.record_topic,
                    messages.kafka_partition
            ) - 1
        ) as island_start
    from messages
    inner join declared on messages.kafka_topic = declared.kafka_topic
    left join previous
        on
            messages.kafka_topic = previous.kafka_topic
            and messages.record_topic = previous.record_topic
            and messages.kafka_partition = previous.kafka_partition

),

-- A watermark behind a hole promises nothing: what is missing may lie below it.
read as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        last_timestamp,
        first_table,
        last_table,
        batch_id,
        if(not is_gapless or island = island_start, kafka_offset, null)
            as contiguous_offset,
        if(not is_gapless or island = island_start, watermark_ts, null)
            as watermark_ts
    from ranked

),

gathered as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset as first_offset,
        contiguous_offset,
        kafka_offset as last_offset,
        watermark_ts,
        last_timestamp,
        first_table,
        last_table,
        batch_id
    from read
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
