{#
    Events of rows, with the ends of rows whose key was changed put among the other events
    of the old key. Canal sends an UPDATE of a key to the partition of the new key only, so
    no offset tells which of the two was first.

    The rule is that of `placed_moves`, over all tables.

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
        table_ends,
        payload
    {%- endset %}
    {%- if changefold.has_unordered_moves(fold) == 'false' %}
    select
        {{ kept }},
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

        {{ changefold.rows_left_by_batches('batches', life) }}

    )

    select
        {{ kept }},
        change_sequence
    from {{ events }}
    where not {{ changefold.has_unordered_moves(fold) }}
    union all
    select
        {{ kept }},
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
