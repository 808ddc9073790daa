{#
    Events of rows, with the ends of rows whose key was changed put among the other events
    of the old key. Canal sends an UPDATE of a key to the partition of the new key only, so
    no offset tells which of the two was first.

    Canal converts and sends a batch at once. The changes of a key within a batch begin
    and end a row in turn: where it begins though it had not ended, an UPDATE to another
    key has ended it before. Such an end is left out, as the next row begins at once. One
    that is left over ended the last row, after all other changes of the batch. What a
    batch alone does not tell is whether its first row followed another one: that is what
    the batches before it tell, or the table.

    Arguments:
        events: name of a relation: of_row, is_move (the row ended because its key was
            changed), table_ends (what ended all rows of the table, an array), and what
            `values_not_sent` takes.
        of_row: names of the columns that tell a row.
        fold: what `fold_state` returned.

    Returns:
        A `select`: the columns of the relation but is_move.
#}
{% macro moves_between_partitions(events, of_row, fold) -%}
    {%- set kept -%}
        {{ of_row | join(',\n        ') }},
        is_deleted,
        kafka_partition,
        kafka_offset,
        event_index,
        lacks_values,
        unavailable_columns,
        table_ends
    {%- endset %}
    {%- if changefold.has_unordered_moves(fold) == 'false' %}
    select
        {{ kept }},
        payload,
        change_sequence
    from {{ events }}
    {%- else -%}
    {%- set life = 'partition by ' ~ of_row | join(', ') ~ ', ends_before' -%}
    with

    batches as (

        select
            *,
            payload.op,
            {{ changefold.position_of('change_sequence') }} as batch,
            coalesce(size(filter(
                table_ends, table_end -> table_end.end_sequence < change_sequence
            )), 0) as ends_before
        from {{ events }}
        where {{ changefold.has_unordered_moves(fold) }}

    ),

    told as (

        {{ changefold._rows_left_by_batches('batches', life) }}

    )

    select
        {{ kept }},
        payload,
        change_sequence
    from {{ events }}
    where not {{ changefold.has_unordered_moves(fold) }}
    union all
    select
        {{ kept }},
        struct(
            payload.op,
            payload.commit_ts,
            payload.batch_id,
            payload.image,
            payload.known_hash,
            payload.unknown_columns,
            if(
                moves > 0 and last_op is not null and (is_move or op = 'c'),
                null,
                payload.before_hashes
            ) as before_hashes
        ) as payload,
        if(
            is_move and last_op is not null,
            {{ changefold.behind_position('change_sequence') }},
            change_sequence
        ) as change_sequence
    from told
    where
        not is_move
        or last_op is null
        or not coalesce(is_there, false)
    {%- endif -%}
{%- endmacro %}


{#
    Events of keys, with what the other events of their batch tell of an end by a move: see
    `moves_between_partitions`.

    Arguments:
        batches: name of a relation: batch, is_move, is_deleted, op, change_sequence,
            event_index, and the columns of life.
        life: a `partition by` of the columns that tell a row between two ends of its table.

    Returns:
        A `select`: those columns, moves (how many such ends the batch has), last_op (of its last
        event that is no such end; null without one) and is_there (whether the row is there
        after the batch; null if nothing tells), among others.
#}
{% macro _rows_left_by_batches(batches, life) -%}
    with

    following as (

        select
            *,
            op = 'c' and not is_move and not lag(is_deleted, 1, true) over (
                {{ life }}, batch, is_move
                order by change_sequence, event_index
            ) as begins_anew,
            if(is_move, null, struct(change_sequence, event_index, op)) as own_change
        from {{ batches }}

    ),

    counted as (

        select
            *,
            min(own_change) over ({{ life }}, batch).op as first_op,
            max(own_change) over ({{ life }}, batch).op as last_op,
            count_if(is_move) over ({{ life }}, batch) as moves,
            count_if(is_move) over ({{ life }}, batch)
            - count_if(begins_anew) over ({{ life }}, batch) as other_moves
        from following

    ),

    -- Null: it is there after the batch if it was there before.
    left_over as (

        select
            *,
            case
                when last_op is null or last_op = 'd' then false
                when other_moves <= 0 then true
                when other_moves > 1 or first_op <> 'c' then false
            end as is_left
        from counted

    )

    select
        *,
        last_value(is_left) ignore nulls over ({{ life }} order by batch) as is_there
    from left_over
{%- endmacro %}
