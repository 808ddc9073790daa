{{ config(
    enabled=var('row_versions', false),
    partition_by=['is_open'],
) }}

with

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

-- Not folded yet: rows without a key; those that a DDL moves to other keys, or ends by
-- their partition; those of which changes lack values; keys that leave their partition.
lacking_values as (

    select
        table_schemas.kafka_topic,
        table_schemas.table_uid
    from table_schemas
    inner join {{ ref('source_tables') }} as source_tables
        on
            table_schemas.kafka_topic = source_tables.kafka_topic
            and table_schemas.source_database = source_tables.source_database
            and table_schemas.source_table = source_tables.source_table
    where source_tables.unavailable_until is not null

),

tables as (

    select
        table_schemas.kafka_topic,
        table_schemas.table_uid
    from table_schemas
    left anti join lacking_values
        on
            table_schemas.kafka_topic = lacking_values.kafka_topic
            and table_schemas.table_uid = lacking_values.table_uid
    where not {{ has_unordered_moves() }}
    group by table_schemas.kafka_topic, table_schemas.table_uid
    having
        bool_and(
            cardinality(table_schemas.key_columns) > 0 and not table_schemas.key_changed
        )
        and bool_and(table_schemas.row_effect not in ('rekey', 'partition'))

),

-- A row up to the sequence of a DDL has the table's name and key before it.
versions_of_tables as (

    select
        table_schemas.kafka_topic,
        table_schemas.table_uid,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.key_columns,
        coalesce(table_schemas.valid_from_sequence, '') as since,
        coalesce(table_schemas.valid_to_sequence, '~') as up_to
    from table_schemas
    inner join tables
        on
            table_schemas.kafka_topic = tables.kafka_topic
            and table_schemas.table_uid = tables.table_uid
    where not table_schemas.is_dropped

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
snapshots_that_replace as (

    select
        kafka_topic,
        source_database,
        begin_sequence as snapshot_sequence,
        concat({{ position_of('begin_sequence') }}, '~') as up_to
    from snapshots_in_turn
    where is_complete and not was_complete

),

-- What ends every row of a table that was there before. A row that a snapshot read has
-- the sequence of a declared one, or lies at the position of the other.
events_of_tables as (

    select
        kafka_topic,
        table_uid,
        valid_from_sequence as ended_at,
        valid_from_sequence as up_to,
        'ddl' as ended_by
    from table_schemas
    where row_effect = 'close_all'
    union all
    select
        versions_of_tables.kafka_topic,
        versions_of_tables.table_uid,
        declared_snapshots.snapshot_sequence as ended_at,
        declared_snapshots.snapshot_sequence as up_to,
        'snapshot' as ended_by
    from declared_snapshots
    inner join versions_of_tables
        on
            declared_snapshots.kafka_topic = versions_of_tables.kafka_topic
            and declared_snapshots.source_database = versions_of_tables.source_database
            and declared_snapshots.source_table = versions_of_tables.source_table
            and declared_snapshots.snapshot_sequence > versions_of_tables.since
            and declared_snapshots.snapshot_sequence <= versions_of_tables.up_to
    inner join {{ ref('resolved_cuts') }} as resolved_cuts
        on
            declared_snapshots.kafka_topic = resolved_cuts.kafka_topic
            and declared_snapshots.snapshot_sequence < resolved_cuts.cut_sequence
    union all
    select
        versions_of_tables.kafka_topic,
        versions_of_tables.table_uid,
        snapshots_that_replace.snapshot_sequence as ended_at,
        snapshots_that_replace.up_to,
        'snapshot' as ended_by
    from snapshots_that_replace
    inner join versions_of_tables
        on
            snapshots_that_replace.kafka_topic = versions_of_tables.kafka_topic
            and snapshots_that_replace.source_database
            = versions_of_tables.source_database
            and snapshots_that_replace.snapshot_sequence > versions_of_tables.since
            and snapshots_that_replace.snapshot_sequence <= versions_of_tables.up_to

),

ends_of_tables as (

    select
        kafka_topic,
        table_uid,
        collect_list(struct(ended_at, ended_by, up_to)) as ends
    from events_of_tables
    group by kafka_topic, table_uid

),

-- The changes, with the table that bore the name then.
changes as (

    select
        versions_of_tables.kafka_topic,
        versions_of_tables.table_uid,
        versions_of_tables.key_columns,
        changes.change_sequence,
        changes.op,
        changes.after,
        changes.commit_ts,
        changes.batch_id,
        changes.kafka_partition,
        changes.kafka_offset,
        changes.event_index,
        from_json(coalesce(changes.after, changes.before_sent), 'map<string, string>')
            as texts,
        from_json(
            if(changes.op = 'u', changes.before_sent, null), 'map<string, string>'
        ) as texts_before
    from {{ ref('changes') }} as changes
    inner join versions_of_tables
        on
            changes.kafka_topic = versions_of_tables.kafka_topic
            and changes.source_database = versions_of_tables.source_database
            and changes.source_table = versions_of_tables.source_table
            and changes.change_sequence > versions_of_tables.since
            and changes.change_sequence <= versions_of_tables.up_to

),

-- A row before an UPDATE may have what changed only.
keyed as (

    select
        *,
        to_json(transform(key_columns, name -> try_element_at(texts, name)))
            as key_after,
        to_json(transform(
            key_columns,
            name -> coalesce(
                try_element_at(texts_before, name), try_element_at(texts, name)
            )
        )) as key_before
    from changes

),

-- An UPDATE of the key ends one row and begins another.
events as (

    select
        kafka_topic,
        table_uid,
        if(event_op = 'd', key_before, key_after) as row_key,
        change_sequence,
        event_op as op,
        if(event_op = 'd', null, after) as image,
        commit_ts,
        batch_id,
        kafka_partition,
        kafka_offset,
        event_index
    from keyed
        lateral view
        explode(if(op = 'u' and key_before <> key_after, array('d', 'c'), array(op)))
        as event_op

),

followed as (

    select
        *,
        lead(change_sequence) over (
            partition by kafka_topic, table_uid, row_key
            order by
                change_sequence asc,
                op = 'd' desc,
                kafka_partition,
                kafka_offset asc,
                event_index asc
        ) as next_sequence
    from events

),

-- After the first end there is no row.
met as (

    select
        followed.*,
        if(
            followed.op = 'd',
            null,
            array_min(filter(
                ends_of_tables.ends,
                met_end -> if(
                    met_end.ended_by = 'snapshot',
                    met_end.ended_at > followed.change_sequence,
                    met_end.ended_at >= followed.change_sequence
                )
                and coalesce(met_end.up_to < followed.next_sequence, true)
            ))
        ) as row_end
    from followed
    left join ends_of_tables
        on
            followed.kafka_topic = ends_of_tables.kafka_topic
            and followed.table_uid = ends_of_tables.table_uid

),

-- The states that a row went through; null where there is none.
states as (

    select
        kafka_topic,
        table_uid,
        row_key,
        kafka_partition,
        kafka_offset,
        event_index,
        state.*,
        if(state.image is null, null, xxhash64(state.image)) as row_hash
    from met
        lateral view
        explode(filter(
            array(
                named_struct(
                    'change_sequence', change_sequence,
                    'is_of_row', true,
                    'op', op,
                    'image', image,
                    'commit_ts', commit_ts,
                    'batch_id', batch_id
                ),
                if(
                    row_end is null,
                    null,
                    named_struct(
                        'change_sequence', row_end.ended_at,
                        'is_of_row', false,
                        'op', row_end.ended_by,
                        'image', cast(null as string),
                        'commit_ts', cast(null as bigint),
                        'batch_id', cast(null as bigint)
                    )
                )
            ),
            each_state -> each_state is not null
        )) as state

),

-- At each sequence the last one counts; a DELETE goes before an upsert, as two rows
-- that exchange their keys send both.
ordered as (

    select
        *,
        lead(change_sequence) over (
            partition by kafka_topic, table_uid, row_key
            order by
                change_sequence asc,
                is_of_row desc,
                image is null desc,
                kafka_offset,
                kafka_partition asc,
                event_index asc
        ) as later_sequence
    from states

),

last_states as (

    select
        *,
        lead(image is null) over (
            partition by kafka_topic, table_uid, row_key
            order by change_sequence
        ) as next_is_end,
        lead(change_sequence) over (
            partition by kafka_topic, table_uid, row_key
            order by change_sequence
        ) as following_sequence
    from ordered
    where later_sequence is null or change_sequence < later_sequence

),

-- A commit of Debezium may begin a key before it ends the row that had it. The DELETE
-- behind an INSERT that met a row ended that row: an INSERT and such a DELETE leave the
-- key as it was, so what was met is known from before all those pairs.
inserted as (

    select
        *,
        coalesce(
            op = 'c'
            and next_is_end
            and {{ has_commit_position('change_sequence') }}
            and {{ moment_of('change_sequence') }}
            = {{ moment_of('following_sequence') }},
            false
        ) as is_deleted_in_commit
    from last_states

),

paired as (

    select
        *,
        is_of_row
        and lag(is_deleted_in_commit, 1, false) over (
            partition by kafka_topic, table_uid, row_key
            order by change_sequence
        ) as ends_an_insert
    from inserted

),

told as (

    select
        *,
        last_value(
            if(is_deleted_in_commit or ends_an_insert, null, image is not null)
        ) ignore nulls over (
            partition by kafka_topic, table_uid, row_key
            order by change_sequence
        ) as met_a_row
    from paired

),

-- Without commit timestamps, a DELETE and an upsert of one millisecond are the two
-- halves of one change of a key. A state equal to the one before is no new version.
compared as (

    select
        *,
        not(row_hash <=> lag(row_hash) over (
            partition by kafka_topic, table_uid, row_key
            order by change_sequence
        )) as is_new_state
    from told
    where
        not (ends_an_insert and coalesce(met_a_row, false))
        and not coalesce(
            op = 'd'
            and not next_is_end
            and {{ is_millisecond('change_sequence') }}
            and {{ moment_of('change_sequence') }}
            = {{ moment_of('following_sequence') }},
            false
        )

),

bounded as (

    select
        *,
        lead(change_sequence) over (
            partition by kafka_topic, table_uid, row_key
            order by change_sequence
        ) as to_sequence,
        lead(op) over (
            partition by kafka_topic, table_uid, row_key
            order by change_sequence
        ) as ended_by
    from compared
    where is_new_state

),

row_versions as (

    select
        ---------- version
        kafka_topic,
        table_uid,
        row_key,
        change_sequence as from_sequence,
        to_sequence,
        to_sequence is null as is_open,

        ---------- time
        {{ sequence_timestamp('change_sequence') }} as valid_from,
        if(
            to_sequence is null,
            null,
            greatest(
                {{ sequence_timestamp('change_sequence') }},
                {{ sequence_timestamp('to_sequence') }}
            )
        ) as valid_to,

        ---------- change
        op,
        if(ended_by in ('c', 'r'), 'u', ended_by) as ended_by,
        commit_ts,
        batch_id,

        ---------- row
        image,
        row_hash
    from bounded
    where image is not null

)

select * from row_versions
