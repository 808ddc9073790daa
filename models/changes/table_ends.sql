{{ config(compared=true) }}

with

folded_tables as (

    select * from {{ ref('folded_tables') }}

),

declared_snapshots as (

    {{ declared_snapshots_rows() }}

),

-- A source at rest is read again at the same position, later.
snapshot_positions as (

    select
        kafka_topic,
        source_database,
        source_position,
        array_sort(array_distinct(flatten(collect_list(begun_at)))) as begun_at,
        flatten(collect_list(completed_at)) as completed_at,
        min(first_sequence) as first_sequence
    from {{ ref('snapshot_passes') }}
    group by kafka_topic, source_database, source_position

),

-- The first row stands for the first begin.
snapshot_begins as (

    select
        kafka_topic,
        source_database,
        source_position,
        completed_at,
        begin_sequence
    from snapshot_positions
        lateral view
        explode(
            concat(array(first_sequence), slice(begun_at, 2, cardinality(begun_at)))
        ) as begin_sequence

),

followed_begins as (

    select
        *,
        lead(begin_sequence) over (
            partition by kafka_topic, source_database, source_position
            order by begin_sequence
        ) as next_sequence
    from snapshot_begins

),

snapshots as (

    select
        kafka_topic,
        source_database,
        source_position,
        begin_sequence,
        exists(
            completed_at,
            completed -> completed >= begin_sequence
            and coalesce(completed < next_sequence, true)
        ) as is_complete
    from followed_begins

),

snapshots_in_turn as (

    select
        *,
        lag(is_complete) over (
            partition by kafka_topic, source_database
            order by begin_sequence
        ) as was_complete
    from snapshots

),

-- No event tells what was deleted between a snapshot that was interrupted and the next.
-- Rows without a key that a snapshot reads again are told from others by nothing.
snapshots_that_replace as (

    select
        folded_tables.kafka_topic,
        folded_tables.table_uid,
        snapshots.begin_sequence as snapshot_sequence,
        concat({{ position_of('snapshots.begin_sequence') }}, '~') as kept_up_to
    from snapshots_in_turn as snapshots
    inner join folded_tables
        on
            snapshots.kafka_topic = folded_tables.kafka_topic
            and snapshots.source_database = folded_tables.source_database
            and snapshots.begin_sequence > folded_tables.from_sequence
            and snapshots.begin_sequence <= folded_tables.to_sequence
    left join {{ ref('snapshot_passes') }} as passes
        on
            snapshots.kafka_topic = passes.kafka_topic
            and snapshots.source_position = passes.source_position
            and folded_tables.source_database = passes.source_database
            and folded_tables.source_table = passes.source_table
    where
        snapshots.is_complete
        and (
            not snapshots.was_complete
            or (
                cardinality(folded_tables.key_columns) = 0
                and passes.last_sequence >= snapshots.begin_sequence
            )
        )

),

-- What ends every row of a table that was there before, or those of partitions. A
-- row that a snapshot read has the sequence of a declared one, or lies at the
-- position of the other.
table_ends as (

    select
        kafka_topic,
        table_uid,
        valid_from_sequence as end_sequence,
        valid_from_sequence as kept_up_to,
        'ddl' as ended_by,
        if(
            row_effect = 'close_all'
            or array_contains(partition_changes.is_partitioned_side, false),
            null,
            partition_changes
        ) as partition_changes
    from {{ ref('table_schemas') }}
    where row_effect = 'close_all' or cardinality(partition_changes) > 0
    union all
    select
        kafka_topic,
        from_table_uid as table_uid,
        moved_at as end_sequence,
        moved_at as kept_up_to,
        'ddl' as ended_by,
        null as partition_changes
    from {{ ref('row_moves') }}
    where from_table_uid = to_table_uid
    union all
    select
        folded_tables.kafka_topic,
        folded_tables.table_uid,
        declared_snapshots.snapshot_sequence as end_sequence,
        declared_snapshots.snapshot_sequence as kept_up_to,
        'snapshot' as ended_by,
        null as partition_changes
    from declared_snapshots
    inner join folded_tables
        on
            declared_snapshots.kafka_topic = folded_tables.kafka_topic
            and declared_snapshots.source_database = folded_tables.source_database
            and declared_snapshots.source_table = folded_tables.source_table
            and declared_snapshots.snapshot_sequence > folded_tables.from_sequence
            and declared_snapshots.snapshot_sequence <= folded_tables.to_sequence
    inner join {{ ref('resolved_cuts') }} as resolved_cuts
        on
            declared_snapshots.kafka_topic = resolved_cuts.kafka_topic
            and declared_snapshots.snapshot_sequence < resolved_cuts.cut_sequence
    union all
    select
        kafka_topic,
        table_uid,
        snapshot_sequence as end_sequence,
        kept_up_to,
        'snapshot' as ended_by,
        null as partition_changes
    from snapshots_that_replace

)

select * from table_ends
