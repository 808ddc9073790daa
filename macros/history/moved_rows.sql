{#
    Whether a change of a key may stand in another partition than the changes of the old
    key, so that no offset tells which of them was first: in a topic of several partitions
    that Canal fills by the new key (`canal.mq.partitionHash`).

    Returns:
        A bool.
#}
{% macro moves_are_unordered() %}
    {%- set topic = changefold.topic_of_model() -%}
    {{ return(
        topic and topic.protocol == 'canal_json' and topic.partitions > 1
        and '_cdc_copy' not in config.get('key_columns')
    ) }}
{% endmacro %}


{#
    The ends of rows whose key was changed, put among the other changes of the old key.

    Canal converts and sends a batch at once. The changes of a key within a batch begin
    and end a row in turn: where it begins though it had not ended, an UPDATE to another
    key has ended it before. Such an end is left out, as the next row begins at once. One
    that is left over ended the last row, after all other changes of the batch. What a
    batch alone does not tell is whether its first row followed another one: that is what
    the batches before it tell, or the table.

    Arguments:
        keyed: name of a relation: is_move (the row ended because its key was changed),
            and what `row_images` knows of a change.
        key_texts: expressions of the key's columns.
        ended_at: change sequences of the DDLs that end every row.

    Returns:
        A `select` of the relation's columns, and ends_if_new: a row ended if the table
        does not have it from before all these changes.
#}
{% macro placed_moves(keyed, key_texts, ended_at) -%}
    {%- set ends = [] -%}
    {%- for sequence in ended_at -%}{%- do ends.append("'" ~ sequence ~ "'") -%}{%- endfor -%}
    {%- set life = 'partition by ' ~ key_texts | join(', ') ~ ', ends_before' -%}
    with

    batches as (

        select
            *,
            {{ changefold.position_of('change_sequence') }} as batch,
            size(filter(array({{ ends | join(', ') }}), ended -> ended < change_sequence))
                as ends_before
        from {{ keyed }}

    ),

    told as (

        {{ changefold.rows_left_by_batches('batches', life) }}

    )

    select
        * except (
            change_sequence, batch, ends_before, begins_anew, own_change, first_op,
            last_op, other_moves, is_left, is_there
        ),
        if(
            is_move and last_op is not null,
            {{ changefold.behind_position('change_sequence') }},
            change_sequence
        )
            as change_sequence,
        is_move and is_there is null and ends_before = 0 as ends_if_new
    from told
    where
        not is_move
        or last_op is null
        or not coalesce(is_there, false)
{%- endmacro %}


{#
    Events of keys, with what the other events of their batch tell of an end by a move: see
    `placed_moves`.

    Arguments:
        batches: name of a relation: batch, is_move, is_deleted, op, change_sequence,
            event_index, and the columns of life.
        life: a `partition by` of the columns that tell a row between two ends of its table.

    Returns:
        A `select`: those columns, and last_op (of the batch's last event that is no such
        end; null without one) and is_there (whether the row is there after the batch; null
        if nothing tells), among others.
#}
{% macro rows_left_by_batches(batches, life) -%}
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
