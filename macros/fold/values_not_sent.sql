{#
    Events of rows, with the values that a change did not send because it did not change
    them: PostgreSQL leaves out long values that it keeps apart (TOAST), a binlog whose row
    image is not FULL some columns, or all that did not change.

    Such a column has the value that the row had before, from the last change that sent it.
    The image is then written anew, its columns in the order of the last one that was sent
    whole, so that an equal row has an equal image. A value that no change of the row has
    sent since it began is in no image, and named.

    Arguments:
        events: name of a relation: of_row, change_sequence, is_deleted, kafka_partition,
            kafka_offset, event_index, unavailable_columns (JSON), lacks_values (whether a
            change of the table has some), table_ends (what ended all rows of the table, an
            array), and payload (op, commit_ts, batch_id, image, known_hash, unknown_columns,
            before_hashes).
        of_row: names of the columns that tell a row.
        fold: what `fold_state` returned.

    Returns:
        A `select`: those columns without unavailable_columns and lacks_values.
#}
{% macro values_not_sent(events, of_row, fold) -%}
    {%- set of_event = of_row + ['change_sequence', 'is_deleted', 'kafka_partition', 'kafka_offset', 'event_index'] -%}
    {%- if not fold.lacks_values %}
    select
        {{ of_event | join(',\n        ') }},
        table_ends,
        payload
    from {{ events }}
    {%- else %}
    with

    lacking as (

        select
            *,
            from_json(payload.image, 'map<string, string>') as texts,
            coalesce(from_json(unavailable_columns, 'array<string>'), array())
                as missing,
            {{ changefold.ends_before() }} as ends_before
        from {{ events }}
        where lacks_values

    ),

    -- What a row may need to know, and the order of columns in its images.
    in_order as (

        select
            *,
            flatten(collect_set(missing) over (partition by {{ of_row | join(', ') }}))
                as needed,
            last_value(
                if(is_deleted or cardinality(missing) > 0, null, map_keys(texts))
            ) ignore nulls over (
                partition by {{ of_row | join(', ') }}
                order by change_sequence, kafka_offset, event_index
            ) as names
        from lacking

    ),

    by_column as (

        select
            *,
            array_contains(missing, name) and not is_deleted as is_missing
        from in_order
            lateral view outer explode(array_distinct(needed)) as name

    ),

    told as (

        select
            *,
            if(is_missing, last_value(if(
                is_missing,
                null,
                struct(
                    try_element_at(texts, name) as text,
                    is_deleted,
                    not coalesce(map_contains_key(texts, name), false)
                    or coalesce(array_contains(payload.unknown_columns, name), false)
                        as is_unknown,
                    change_sequence as since
                )
            )) ignore nulls over (
                partition by {{ of_row | join(', ') }}, ends_before, name
                order by change_sequence, kafka_offset, event_index
            ), null) as known
        from by_column

    ),

    {% if fold.changes_columns -%}
    moments_of_tables as (

        {{ changefold.moments_of_tables() }}

    ),

    -- What a DDL has made of the column since the value was told.
    altered as (

        select
            told.*,
            try_element_at(
                filter(
                    moments_of_tables.column_moments,
                    moment -> name in (moment.from_name, moment.to_name)
                    and moment.since >= known.since
                    and moment.since < change_sequence
                ),
                -1
            ) as altered_by
        from told
        left join moments_of_tables
            on
                told.kafka_topic = moments_of_tables.kafka_topic
                and told.table_uid = moments_of_tables.table_uid

    ),

    {% endif -%}
    -- A row that ended leaves no value to the next one of its key, nor does one that is
    -- unknown itself.
    followed as (

        select
            *,
            {%- if fold.changes_columns %}
            if(altered_by is null, known.text, altered_by.default_value) as known_text,
            not known.is_deleted and if(
                altered_by is null,
                not known.is_unknown,
                altered_by.kind = 'added' and altered_by.value_accuracy = 'exact'
            ) as is_known
        from altered
            {%- else %}
            known.text as known_text,
            not (known.is_deleted or known.is_unknown) as is_known
        from told
            {%- endif %}

    ),

    completed as (

        select
            {{ of_event | join(',\n            ') }},
            any_value(table_ends) as table_ends,
            any_value(payload) as payload,
            any_value(missing) as missing,
            any_value(names) as names,
            map_concat(
                any_value(texts),
                map_from_entries(
                    collect_list(struct(name, known_text)) filter (where is_known)
                )
            ) as all_texts
        from followed
        group by {{ of_event | join(', ') }}

    )

    select
        {{ of_event | join(',\n        ') }},
        table_ends,
        payload
    from {{ events }}
    where not lacks_values
    union all
    select
        {{ of_event | join(',\n        ') }},
        table_ends,
        struct(
            payload.op,
            payload.commit_ts,
            payload.batch_id,
            if(
                cardinality(missing) = 0,
                payload.image,
                to_json(map_from_entries(transform(
                    array_union(
                        array_intersect(coalesce(names, array()), map_keys(all_texts)),
                        map_keys(all_texts)
                    ),
                    name -> struct(name, try_element_at(all_texts, name))
                )))
            ) as image,
            payload.known_hash,
            nullif(
                array_union(
                    array_except(missing, map_keys(all_texts)),
                    coalesce(payload.unknown_columns, array())
                ),
                array()
            ) as unknown_columns,
            payload.before_hashes
        ) as payload
    from completed
    {%- endif %}
{%- endmacro %}
