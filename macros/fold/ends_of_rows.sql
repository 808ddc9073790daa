{#
    The states that rows went through: one for each event, and one more where a DDL or a
    snapshot ended all rows of the table, or of a partition, while the row was there.

    Arguments:
        events: name of a relation: of_row, change_sequence, is_deleted, kafka_partition,
            kafka_offset, event_index, table_ends (what ended all rows of the table, an
            array), and payload (op, commit_ts, batch_id, image, known_hash,
            unknown_columns, before_hashes).
        of_row: names of the columns that tell a row.
        fold: what `fold_state` returned.

    Returns:
        A `select`: those columns without table_ends, is_ddl (whether such an end made the
        state), and row_hash (null where the row is not there).
#}
{% macro ends_of_rows(events, of_row, fold) -%}
    {%- if not fold.ends_rows -%}
    select
        {{ of_row | join(',\n        ') }},
        change_sequence,
        is_deleted,
        false as is_ddl,
        payload,
        {{ changefold._hash_of_row() }} as row_hash,
        kafka_partition,
        kafka_offset,
        event_index
    from {{ events }}
    {%- else -%}
    with

    followed as (

        select
            *,
            from_json(
                if(
                    cardinality(filter(
                        table_ends, table_end -> table_end.partition_changes is not null
                    )) > 0,
                    payload.image,
                    null
                ),
                'map<string, string>'
            ) as texts,
            lead(change_sequence) over (
                partition by {{ of_row | join(', ') }}
                order by
                    change_sequence asc,
                    is_deleted desc,
                    kafka_partition asc,
                    kafka_offset asc,
                    event_index asc
            ) as next_sequence
        from {{ events }}

    ),

    -- The first thing that ended all rows of the table, or of its partition, while the row
    -- was there.
    met as (

        select
            *,
            array_min(filter(
                table_ends,
                table_end -> not is_deleted
                and if(
                    table_end.ended_by = 'snapshot',
                    table_end.end_sequence > change_sequence,
                    table_end.end_sequence >= change_sequence
                )
                and coalesce(table_end.kept_up_to < next_sequence, true)
                and coalesce(
                    {{ changefold.is_in_partitions('table_end.partition_changes', 'texts') }}, true
                )
            )) as row_end
        from followed

    ),

    states as (

        select
            *,
            explode(array_compact(array(
                struct(change_sequence, is_deleted, false as is_ddl, payload),
                if(
                    row_end is null,
                    null,
                    struct(
                        row_end.end_sequence as change_sequence,
                        true as is_deleted,
                        true as is_ddl,
                        struct(
                            row_end.ended_by as op,
                            cast(null as bigint) as commit_ts,
                            cast(null as bigint) as batch_id,
                            cast(null as string) as image,
                            cast(null as bigint) as known_hash,
                            cast(null as array<string>) as unknown_columns,
                            cast(null as array<bigint>) as before_hashes
                        ) as payload
                    )
                )
            ))) as state
        from met

    )

    select
        {{ of_row | join(',\n        ') }},
        state.*,
        {{ changefold._hash_of_row('state.') }} as row_hash,
        kafka_partition,
        kafka_offset,
        event_index
    from states
    {%- endif -%}
{%- endmacro %}


{# What tells the values of a row from others: null where it is not there. #}
{% macro _hash_of_row(of_state='') -%}
if(
            {{ of_state }}is_deleted,
            null,
            coalesce(
                {{ of_state }}payload.known_hash,
                xxhash64(if(row_copy > 0, row_key, {{ of_state }}payload.image))
            )
        )
{%- endmacro %}
