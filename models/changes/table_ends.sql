{{ config(compared=true) }}

with

folded_tables as (

    select * from {{ ref('folded_tables') }}

),

declared_snapshots as (

    {{ declared_snapshots_rows() }}

),

readings as (

    select * from {{ ref('snapshot_readings') }}

),

-- No event tells what was deleted between a snapshot that was interrupted and the next.
-- Rows without a key that a snapshot reads again are told from others by nothing.
snapshots_that_replace as (

    select
        folded_tables.kafka_topic,
        folded_tables.table_uid,
        readings.begin_sequence as snapshot_sequence,
        concat({{ position_of('readings.begin_sequence') }}, '~') as kept_up_to
    from readings
    inner join folded_tables
        on
            readings.kafka_topic = folded_tables.kafka_topic
            and readings.source_database = folded_tables.source_database
            and readings.source_table = folded_tables.source_table
            and readings.begin_sequence > folded_tables.from_sequence
            and readings.begin_sequence <= folded_tables.to_sequence
    where
        readings.is_complete
        and (
            readings.follows_interrupted
            or readings.is_declared
            or folded_tables.lacks_keys
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
