{{ config(
    materialized='row_fold',
    partition_by=['is_open'],
    sorted_by='kafka_topic, table_uid, row_key',
) }}
-- `fold_state` asks these how far they are.
-- depends_on: {{ ref('change_log') }}
-- depends_on: {{ ref('resolved_cuts') }}
-- depends_on: {{ ref('column_moments') }}
-- depends_on: {{ ref('table_schemas') }}
-- depends_on: {{ ref('schema_versions') }}
-- depends_on: {{ ref('row_moves') }}

{%- set key_columns = ['kafka_topic', 'table_uid', 'row_key'] %}
{%- set row_columns = key_columns + ['row_copy'] %}
{%- set of_row = row_columns | join(', ') %}
{%- set fold = fold_state() %}
{%- set text_before %}coalesce(
                        try_element_at(texts_before, name), try_element_at(texts, name)
                    ){% endset %}
{%- set whole_before %}if(
                op = 'd',
                texts,
                map_concat(
                    map_filter(
                        texts,
                        (name, text) -> not map_contains_key(texts_before, name)
                    ),
                    texts_before
                )
            ){% endset %}

with

-- Of a table that goes on, what is new, and what follows it.
changes as (

    select
        *,
        {{ is_new_to_fold(fold) }} as is_news
    from {{ ref('changes') }}
    where {{ is_since_news(fold) }}

),

-- The changes, with the table that bore the name then.
of_tables as (

    select
        folded_tables.kafka_topic,
        folded_tables.table_uid,
        folded_tables.key_columns,
        folded_tables.column_defaults,
        folded_tables.lacks_values,
        folded_tables.lacks_keys,
        folded_tables.tells_row_before,
        folded_tables.decimal_columns,
        folded_tables.read_as,
        folded_tables.columns_left_out,
        folded_tables.keeps_left_out,
        changes.change_sequence,
        changes.op,
        changes.after,
        changes.before_sent,
        changes.column_types,
        changes.connector,
        changes.unavailable_columns,
        changes.commit_ts,
        changes.batch_id,
        changes.kafka_partition,
        changes.kafka_offset,
        changes.event_index,
        changes.is_news
    from changes
    inner join {{ ref('folded_tables') }} as folded_tables
        on
            changes.kafka_topic = folded_tables.kafka_topic
            and changes.source_database = folded_tables.source_database
            and changes.source_table = folded_tables.source_table
            and changes.change_sequence > folded_tables.from_sequence
            and changes.change_sequence <= folded_tables.to_sequence
            and {{ is_in_this_pass(fold) }}

),

read_rows as (

    {{ rows_without_types('of_tables', fold) }}

),

with_texts as (

    select
        *,
        from_json(coalesce(row_after, row_before), 'map<string, string>') as texts,
        from_json(if(op = 'u', row_before, null), 'map<string, string>')
            as texts_before
    from read_rows

),

-- A row before an UPDATE may have what changed only; one after it too, without the key,
-- where the binlog's row image is MINIMAL.
keyed as (

    select
        *,
        {{ has_key('texts') }} as has_key,
        not coalesce(
            forall(key_columns, name -> map_contains_key(texts, name)), false
        ) as lacks_its_key,
        {{ columns_left_out('texts', is_unchanged=true) }} as unchanged_columns,
        {{ columns_left_out('texts', is_unchanged=false) }} as untold_columns,
        {{ key_of_row('texts') }} as key_after,
        if(
            {{ has_key('texts') }},
            to_json(transform(
                key_columns,
                name -> {{ text_in_key('name', text_before) }}
            )),
            {{ key_of_whole_row(whole_before) }}
        ) as key_before
    from with_texts

),

ends_of_tables as (

    select
        kafka_topic,
        table_uid,
        collect_list(struct(end_sequence, kept_up_to, ended_by, partition_changes))
            as table_ends
    from {{ ref('table_ends') }}
    where {{ fold.ends_rows | lower }}
    group by kafka_topic, table_uid

),

-- An UPDATE of the key ends one row and begins another; without a key, each does.
split as (

    select
        *,
        event_op = 'd' as is_deleted,
        has_key and event_op = 'd' and op = 'u' as is_move
    from keyed
        lateral view
        explode(case
            when lacks_its_key then array('missed')
            when op = 'u' and (not has_key or key_before <> key_after)
                then array('d', 'c')
            else array(op)
        end) as event_op

),

changed_rows as (

    select
        split.kafka_topic,
        split.table_uid,
        case
            when split.lacks_its_key then to_json(array(md5(to_json(split.texts))))
            when split.is_deleted then split.key_before
            else split.key_after
        end as row_key,
        case
            when split.lacks_its_key then -1
            when split.has_key then 0
        end as row_copy,
        split.change_sequence,
        split.is_deleted,
        split.is_move,
        split.kafka_partition,
        split.kafka_offset,
        split.event_index,
        split.lacks_values,
        if(
            split.unchanged_columns is null,
            split.unavailable_columns,
            to_json(split.unchanged_columns)
        ) as unavailable_columns,
        split.is_news,
        struct(
            split.event_op as op,
            split.commit_ts,
            split.batch_id,
            if(split.is_deleted, null, split.row_after) as image,
            cast(null as bigint) as known_hash,
            if(
                split.is_deleted,
                null,
                coalesce(split.unread_columns, nullif(split.untold_columns, array()))
            ) as unknown_columns,
            {{ before_hashes() }} as before_hashes
        ) as payload
    from split

),

told as (

    {{ with_moved_rows('changed_rows', fold) }}

),

-- All rows or, of a table that goes on, those of which something is new, since then.
with_news as (

    {{ rows_with_news('told', key_columns, fold) }}

),

events as (

    select
        with_news.*,
        filter(
            ends_of_tables.table_ends,
            table_end -> table_end.end_sequence >= with_news.since
        ) as table_ends
    from with_news
    left join ends_of_tables
        on
            with_news.kafka_topic = ends_of_tables.kafka_topic
            and with_news.table_uid = ends_of_tables.table_uid

),

counted as (

    {{ copies_of_rows('events', key_columns, fold) }}

),

placed as (

    {{ moves_between_partitions('counted', row_columns, fold) }}

),

completed as (

    {{ values_not_sent('placed', row_columns, fold) }}

),

-- The states that a row went through, also that it was not there.
states as (

    {{ ends_of_rows('completed', row_columns, fold) }}

),

-- At each sequence the last one counts; a DELETE goes before an upsert, as two rows
-- that exchange their keys send both. What the row was before, the DELETE tells.
ordered as (

    select
        *,
        lead(change_sequence) over its_events as later_sequence,
        lag(struct(change_sequence, payload.before_hashes)) over its_events as earlier
    from states
    window its_events as (
        partition by {{ of_row }}
        order by
            change_sequence asc,
            is_ddl asc,
            is_deleted desc,
            kafka_offset asc,
            kafka_partition asc,
            event_index asc
    )

),

last_states as (

    select
        *,
        if(
            earlier.change_sequence = change_sequence,
            earlier.before_hashes,
            payload.before_hashes
        ) as before_hashes,
        lead(is_deleted) over (
            partition by {{ of_row }}
            order by change_sequence
        ) as next_is_deleted,
        lead(change_sequence) over (
            partition by {{ of_row }}
            order by change_sequence
        ) as following_sequence
    from ordered
    where later_sequence is null or change_sequence < later_sequence

),

in_turn as (

    {{ without_ends_of_before('last_states', of_row) }}

),

-- Without commit timestamps, a DELETE and an upsert of one millisecond are the two
-- halves of one change of a key.
paired as (

    select * from in_turn
    where
        not coalesce(
            is_deleted
            and not is_ddl
            and not next_is_deleted
            and {{ is_millisecond('change_sequence') }}
            and {{ moment_of('change_sequence') }}
            = {{ moment_of('following_sequence') }},
            false
        )

),

-- A state equal to the one before is no new version, unless it was another in between.
compared as (

    {{ compared_states('paired', of_row, fold) }}

),

bounded as (

    select
        *,
        if(
            row_copy < 0 or is_deleted,
            change_sequence,
            lead(change_sequence) over (
                partition by {{ of_row }}
                order by change_sequence
            )
        ) as to_sequence,
        if(
            row_copy < 0 or is_deleted,
            payload.op,
            lead(payload.op) over (
                partition by {{ of_row }}
                order by change_sequence
            )
        ) as next_op
    from compared
    where is_new_state or row_copy < 0 or disagreement is not null

),

row_versions as (

    select
        ---------- version
        bounded.kafka_topic,
        bounded.table_uid,
        bounded.row_key,
        if(bounded.is_deleted, -1, bounded.row_copy) as row_copy,
        bounded.change_sequence as from_sequence,
        bounded.to_sequence,
        bounded.to_sequence is null as is_open,

        ---------- time
        {{ sequence_timestamp('bounded.change_sequence') }} as valid_from,
        if(
            bounded.to_sequence is null,
            null,
            greatest(
                {{ sequence_timestamp('bounded.change_sequence') }},
                {{ sequence_timestamp('bounded.to_sequence') }}
            )
        ) as valid_to,

        ---------- change
        bounded.payload.op,
        if(bounded.next_op in ('c', 'r'), 'u', bounded.next_op) as ended_by,
        bounded.payload.commit_ts,
        bounded.payload.batch_id,

        ---------- row
        bounded.payload.image,
        bounded.payload.unknown_columns,
        bounded.row_hash,
        bounded.disagreement,
        folded_tables.key_since,

        ---------- fold
        cast({{ fold.number }} as bigint) as folded_batch,
        if(bounded.to_sequence is null, null, cast({{ fold.number }} as bigint))
            as ended_batch,
        bounded.payload.known_hash is not null as is_known
    from bounded
    inner join {{ ref('folded_tables') }} as folded_tables
        on
            bounded.kafka_topic = folded_tables.kafka_topic
            and bounded.table_uid = folded_tables.table_uid
            and bounded.change_sequence > folded_tables.from_sequence
            and bounded.change_sequence <= folded_tables.to_sequence
    where not bounded.is_deleted or bounded.disagreement is not null

),

folded_versions as (

    {{ with_voided_versions('row_versions', 'told', key_columns, fold) }}

)

select * from folded_versions
