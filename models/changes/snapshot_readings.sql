{{ config(materialized='view') }}

with

snapshot_passes as (

    select * from {{ ref('snapshot_passes') }}

),

ended_snapshots as (

    select
        kafka_topic,
        collect_list(struct(
            source_database,
            source_position,
            ended.change_sequence,
            ended.sent_at
        )) as snapshot_ends
    from snapshot_passes
        lateral view explode(ended_at) as ended
    group by kafka_topic

),

-- A source at rest is read again at the same position, later. The first row stands for
-- the first begin; of a table of one row each reading has one row, marked as its last.
begins as (

    select
        *,
        explode(if(
            rows_read = cardinality(completed_at),
            completed_at,
            concat(
                array(struct(
                    first_sequence as change_sequence,
                    try_element_at(begun_at, 1).sent_at as sent_at
                )),
                slice(begun_at, 2, cardinality(begun_at))
            )
        )) as first_row
    from snapshot_passes

),

followed_begins as (

    select
        *,
        lag(first_row) over (
            partition by kafka_topic, source_database, source_table
            order by first_row.change_sequence
        ) as row_before,
        lead(first_row) over (
            partition by kafka_topic, source_database, source_table
            order by first_row.change_sequence
        ) as next_row,
        lead(first_row.change_sequence) over (
            partition by kafka_topic, source_database, source_table, source_position
            order by first_row.change_sequence
        ) as next_sequence
    from begins

),

with_ends as (

    select
        followed_begins.*,
        coalesce(ended_snapshots.snapshot_ends, array()) as snapshot_ends
    from followed_begins
    left join ended_snapshots
        on followed_begins.kafka_topic = ended_snapshots.kafka_topic

),

-- A connector that marks no table's last row tells by the end of the whole snapshot
-- that it has read those of which it sent rows. Of the logs of several databases only
-- the time is one.
judged as (

    select
        kafka_topic,
        source_database,
        source_table,
        source_position,
        first_row.change_sequence as begin_sequence,
        first_row.sent_at as begun_at,
        exists(
            completed_at,
            completed -> completed.change_sequence >= first_row.change_sequence
            and coalesce(completed.change_sequence < next_sequence, true)
        )
        or exists(
            snapshot_ends,
            ended -> ended.source_database = source_database
            and ended.source_position = source_position
            and ended.change_sequence >= first_row.change_sequence
            and coalesce(ended.change_sequence < next_sequence, true)
        ) as is_complete,
        row_before is not null as is_again,
        next_row is null as is_latest,
        exists(
            snapshot_ends,
            ended -> if(
                ended.source_database = source_database,
                ended.change_sequence >= row_before.change_sequence
                and ended.change_sequence < first_row.change_sequence,
                ended.sent_at >= row_before.sent_at
                and ended.sent_at < first_row.sent_at
            )
        ) as has_end_before,
        filter(
            snapshot_ends,
            ended -> if(
                ended.source_database = source_database,
                ended.change_sequence >= first_row.change_sequence,
                ended.sent_at >= first_row.sent_at
            )
        ) as ends_behind
    from with_ends

),

declared as (

    {{ declared_readings_rows() }}

),

snapshot_readings as (

    select
        judged.kafka_topic,
        judged.source_database,
        judged.source_table,
        judged.source_position,
        judged.begin_sequence,
        judged.begun_at,
        judged.is_complete,
        coalesce(judged.is_again and not judged.has_end_before, false)
            as follows_interrupted,
        coalesce(
            declared.kafka_topic is not null
            and (
                declared.earliest is null
                or judged.begun_at between declared.earliest and declared.latest
            ),
            false
        ) as is_declared,
        judged.is_latest
        and cardinality(judged.ends_behind) > 0
        and not exists(
            judged.ends_behind, ended -> ended.source_position = judged.source_position
        ) as is_given_up
    from judged
    left join declared
        on
            judged.kafka_topic = declared.kafka_topic
            and judged.source_database = declared.source_database
            and judged.source_table = declared.source_table

)

select * from snapshot_readings
