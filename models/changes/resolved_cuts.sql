with

declared as (

    {{ declared_topics_rows() }}

),

previous as (

    {{ previous_rows({'kafka_topic': 'string', 'cut_ts': 'bigint'}) }}

),

watermarks as (

    select * from {{ ref('watermarks') }}

),

-- Nothing from the oldest change on whose schema has not come yet. The cut never goes
-- back: where that change came late, it stays.
pending as (

    select
        kafka_topic,
        min(first_sequence) as first_sequence
    from {{ ref('schema_versions') }}
    where
        table_schema is null
        and {{ is_held_by_pending() }}
    group by kafka_topic

),

-- A partition that has sent nothing yet counts: it may still send anything. One that
-- was added later holds the cut where it is: what lies below had all been sent.
partitions as (

    select
        declared.kafka_topic,
        declared.protocol,
        declared.partitions,
        explode(sequence(0, declared.partitions - 1)) as kafka_partition
    from declared

),

cuts as (

    select
        partitions.kafka_topic,
        partitions.protocol,
        partitions.partitions,
        count(distinct watermarks.kafka_partition) as partitions_seen,
        if(
            count(watermarks.watermark_ts)
            = partitions.partitions * count(distinct watermarks.record_topic),
            min(watermarks.watermark_ts),
            max(previous.cut_ts)
        ) as cut_ts,
        min_by(
            partitions.kafka_partition,
            coalesce(watermarks.watermark_ts, 0)
        ) as slowest_partition,
        max(watermarks.watermark_ts) as newest_watermark_ts,
        coalesce(sum(watermarks.last_offset - watermarks.contiguous_offset), 0)
            as messages_behind_a_gap,
        coalesce(max(watermarks.batch_id), 0) as batch_id
    from partitions
    left join watermarks
        on
            partitions.kafka_topic = watermarks.kafka_topic
            and partitions.kafka_partition = watermarks.kafka_partition
    left join previous on partitions.kafka_topic = previous.kafka_topic
    group by partitions.kafka_topic, partitions.protocol, partitions.partitions

),

held as (

    select
        cuts.* except (cut_ts),
        pending.first_sequence as pending_since_sequence,
        if(
            cast(pending.first_sequence as bigint) < cuts.cut_ts,
            greatest(cast(pending.first_sequence as bigint), previous.cut_ts),
            cuts.cut_ts
        ) as cut_ts
    from cuts
    left join pending on cuts.kafka_topic = pending.kafka_topic
    left join previous on cuts.kafka_topic = previous.kafka_topic

),

resolved as (

    select
        kafka_topic,
        protocol,
        partitions,
        partitions_seen,
        cut_ts,
        lpad(cast(cut_ts as string), 20, '0') as cut_sequence,
        {{ tso_timestamp('cut_ts') }} as cut_at,
        slowest_partition,
        {{ tso_timestamp('newest_watermark_ts') }} as newest_watermark_at,
        messages_behind_a_gap,
        pending_since_sequence,
        batch_id
    from held

)

select * from resolved
