{#
    Changes of rows, and the rows that a DDL has moved to other keys or tables, as changes
    just behind it. They are the versions that it ended, brought under the columns after it.
    A row of which no message tells the new key is left out: `needs_snapshot` names the table.

    Arguments:
        told: name of a relation, as `rows_with_news` takes.
        fold: what `fold_state` returned.

    Returns:
        A `select` of the relation's columns.
#}
{% macro with_moved_rows(told, fold) -%}
    {%- if not fold.moves_before -%}
    select * from {{ told }}
    {%- else -%}
    with

    moments_of_tables as (

        {{ changefold.moments_of_tables() }}

    ),

    left_rows as (

        select
            versions.*,
            moves.to_table_uid,
            moves.moved_at,
            tables.key_columns,
            tables.column_defaults,
            tables.lacks_keys,
            tables.decimal_columns,
            nullif(
                filter(
                    moments.column_moments,
                    moment -> moment.since >= versions.from_sequence
                    and moment.since <= moves.moved_at
                ),
                array()
            ) as ddls,
            from_json(versions.image, 'map<string, string>') as texts
        from {{ this }} as versions
        inner join {{ ref('changefold', 'row_moves') }} as moves
            on
                versions.kafka_topic = moves.kafka_topic
                and versions.table_uid = moves.from_table_uid
                and versions.to_sequence = moves.moved_at
        inner join {{ ref('changefold', 'folded_tables') }} as tables
            on
                moves.kafka_topic = tables.kafka_topic
                and moves.to_table_uid = tables.table_uid
                and moves.moved_at = tables.from_sequence
        left join moments_of_tables as moments
            on
                versions.kafka_topic = moments.kafka_topic
                and versions.table_uid = moments.table_uid
        where
            {{ changefold.is_behind_moves(fold, 'versions', 'to_sequence') }}
            and versions.from_sequence < versions.to_sequence
            and versions.ended_by = 'ddl'

    ),

    moved as (

        select
            *,
            if(
                ddls is null,
                texts,
                {{ function('changefold', 'row_after_ddls') }}(texts, to_json(ddls))
            ) as moved_texts,
            filter(
                ddls,
                ddl -> ddl.value_accuracy = 'unknown' or ddl.to_charset is not null
            ).to_name as names_in_doubt
        from left_rows

    ),

    told_moved as (

        select
            *,
            nullif(
                array_union(
                    coalesce(unknown_columns, array()),
                    coalesce(array_except(names_in_doubt, map_keys(moved_texts)), array())
                ),
                array()
            ) as still_unknown,
            {{ changefold.has_key('moved_texts') }} as has_key,
            {{ changefold.key_of_row('moved_texts') }} as moved_key
        from moved

    )

    select * from {{ told }}
    union all
    select
        kafka_topic,
        to_table_uid as table_uid,
        moved_key as row_key,
        if(has_key, 0, null) as row_copy,
        concat(moved_at, '~') as change_sequence,
        false as is_deleted,
        false as is_move,
        -1 as kafka_partition,
        -1 as kafka_offset,
        0 as event_index,
        {{ fold.lacks_values | lower }} as lacks_values,
        to_json(still_unknown) as unavailable_columns,
        true as is_news,
        struct(
            if(to_table_uid = table_uid and moved_key = row_key, 'u', 'c') as op,
            commit_ts,
            batch_id,
            if(ddls is null, image, to_json(moved_texts)) as image,
            cast(null as bigint) as known_hash,
            still_unknown as unknown_columns,
            cast(null as array<bigint>) as before_hashes
        ) as payload
    from told_moved
    where
        not has_key
        or forall(key_columns, name -> try_element_at(moved_texts, name) is not null)
    {%- endif -%}
{%- endmacro %}
