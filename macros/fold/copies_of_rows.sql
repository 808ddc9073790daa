{#
    Events of rows, with a number for each of equal rows of a table without a key: a row that
    is there three times has the copies 1, 2 and 3.

    An insert adds the next copy, a delete takes the last one; the changes of one moment
    count together. A delete of a row that is not there ends none, as in a topic that begins
    in the middle. It is kept as copy -1 with the op `missed`, as are changes that lack the
    key: where all rows of the table are known, the row was there in another form.

    Arguments:
        events: name of a relation: of_row, row_copy (0 for a row with a key, -1 for one that
            lacks it, the number for a version that was met, null for a change to be counted),
            change_sequence, is_deleted, is_move, kafka_partition, kafka_offset, event_index, lacks_values,
            unavailable_columns, payload, table_ends (what ended all rows of the table, an
            array).
        of_row: names of the columns that tell a row from those that differ from it.
        fold: what `fold_state` returned.

    Returns:
        A `select` of those columns, row_copy never null.
#}
{% macro copies_of_rows(events, of_row, fold) -%}
    {%- set of_life = of_row + ['ends_before'] -%}
    {%- set carried = [
        'kafka_partition', 'kafka_offset', 'event_index', 'lacks_values',
        'unavailable_columns', 'payload', 'table_ends',
    ] -%}
    {%- set columns = of_row + ['row_copy', 'change_sequence', 'is_deleted', 'is_move'] -%}
    {%- set last = 'struct(' ~ carried | join(', ') ~ '), struct(kafka_offset, kafka_partition, event_index)' -%}
    {%- set lowest -%}
        least(0, min(copies_added_since) over (
                partition by {{ of_life | join(', ') }}
                order by change_sequence
            ))
    {%- endset -%}
    {%- if not fold.lacks_keys -%}
    select
        {{ (columns + carried) | join(',\n        ') }}
    from {{ events }}
    {%- else -%}
    with

    {% if fold.ends_partitions -%}
    -- What ended is the same row as one that is there, so its values are known.
    pictured as (

        select
            *,
            from_json(
                max(payload.image) over (partition by {{ of_row | join(', ') }}),
                'map<string, string>'
            ) as texts
        from {{ events }}
        where row_copy is null or row_copy > 0

    ),

    {% endif -%}
    lives as (

        select
            *,
            {{ changefold.ends_before('texts' if fold.ends_partitions else none) }} as ends_before
        from {{ 'pictured' if fold.ends_partitions else events }}
        where row_copy is null or row_copy > 0

    ),

    moments as (

        select
            {{ of_life | join(',\n            ') }},
            change_sequence,
            sum(if(is_deleted, -1, 1)) as copies_added,
            max_by({{ last }}) filter (where is_deleted) as last_end,
            max_by({{ last }}) filter (where not is_deleted) as last_begin
        from lives
        group by {{ of_life | join(', ') }}, change_sequence

    ),

    summed as (

        select
            *,
            sum(copies_added) over (
                partition by {{ of_life | join(', ') }}
                order by change_sequence
            ) as copies_added_since
        from moments

    ),

    -- A count that would fall below zero stays there.
    counted as (

        select
            *,
            {{ lowest }} as lowest,
            copies_added_since - {{ lowest }} as copies
        from summed

    ),

    compared as (

        select
            *,
            lag(copies, 1, 0) over (
                partition by {{ of_life | join(', ') }}
                order by change_sequence
            ) as copies_before,
            lowest < lag(lowest, 1, 0) over (
                partition by {{ of_life | join(', ') }}
                order by change_sequence
            ) as is_missed
        from counted

    ),

    numbered as (

        select
            {{ of_row | join(',\n            ') }},
            row_copy,
            change_sequence,
            row_copy > 0 and copies < copies_before as is_deleted,
            false as is_move,
            if(row_copy < 0 or copies < copies_before, last_end, last_begin) as event
        from compared
            lateral view
            explode(concat(
                if(
                    copies = copies_before,
                    array(),
                    sequence(
                        cast(least(copies, copies_before) + 1 as int),
                        cast(greatest(copies, copies_before) as int)
                    )
                ),
                if(is_missed, array(-1), array())
            )) as row_copy

    )

    select
        {{ (columns + carried) | join(',\n        ') }}
    from {{ events }}
    where row_copy <= 0
    union all
    select
        {{ columns | join(',\n        ') }},
        event.* except (payload, table_ends),
        struct(
            if(row_copy < 0, 'missed', event.payload.op) as op,
            event.payload.commit_ts,
            event.payload.batch_id,
            event.payload.image,
            event.payload.known_hash,
            event.payload.unknown_columns,
            event.payload.before_hashes
        ) as payload,
        event.table_ends
    from numbered
    {%- endif -%}
{%- endmacro %}
