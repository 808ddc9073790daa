{#
    Events of rows, with the values that a change did not send because it did not change
    them: PostgreSQL leaves out long values that it keeps apart (TOAST).

    Such a column has the value that the row had before, from the last change that sent it.
    The image is then written anew, its columns in the order of the last one that was sent
    whole, so that an equal row has an equal image. A value that no change has sent is in
    no image, and named.

    Arguments:
        events: name of a relation: of_row, change_sequence, is_deleted, kafka_partition,
            kafka_offset, event_index, unavailable_columns (JSON), lacks_values (whether a
            change of the table has some), table_ends (what ended all rows of the table, an
            array), and payload (op, commit_ts, batch_id, image).
        of_row: names of the columns that tell a row, those of its table first.

    Returns:
        A `select`: those columns without unavailable_columns and lacks_values; payload with
        unknown_columns.
#}
{% macro values_not_sent(events, of_row) -%}
    {%- set of_event = of_row + ['change_sequence', 'is_deleted', 'kafka_partition', 'kafka_offset', 'event_index'] -%}
    {%- if not execute or not changefold.some_values_lack() %}
    select
        {{ of_event | join(',\n        ') }},
        table_ends,
        {{ changefold._complete_payload() }}
    from {{ events }}
    {%- else %}
    with

    lacking as (

        select
            *,
            from_json(payload.image, 'map<string, string>') as texts,
            coalesce(from_json(unavailable_columns, 'array<string>'), array())
                as missing
        from {{ events }}
        where lacks_values

    ),

    filled as (

        {{ changefold._values_from_before('lacking', of_row, of_event) }}

    ),

    in_order as (

        select
            *,
            last_value(
                if(is_deleted or cardinality(missing) > 0, null, map_keys(texts))
            ) ignore nulls over (
                partition by {{ of_row | join(', ') }}
                order by change_sequence, kafka_offset, event_index
            ) as names
        from lacking

    ),

    completed as (

        select
            in_order.*,
            map_concat(
                in_order.texts,
                coalesce(filled.texts, cast(map() as map<string, string>))
            ) as all_texts
        from in_order
        left join filled
            on {% for column in of_event %}in_order.{{ column }} = filled.{{ column }}{{ ' and ' if not loop.last }}{% endfor %}

    )

    select
        {{ of_event | join(',\n        ') }},
        table_ends,
        {{ changefold._complete_payload() }}
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
            nullif(array_except(missing, map_keys(all_texts)), array())
                as unknown_columns
        ) as payload
    from completed
    {%- endif %}
{%- endmacro %}


{# What a change tells that sent all values. #}
{% macro _complete_payload() -%}
    struct(
            payload.op,
            payload.commit_ts,
            payload.batch_id,
            payload.image,
            payload.known_hash,
            cast(null as array<string>) as unknown_columns
        ) as payload
{%- endmacro %}


{#
    Of each event that lacks values, those that the last event of the row before it has
    sent: texts, a map by the name of the column.
#}
{% macro _values_from_before(lacking, of_row, of_event) -%}
    {%- set of_table = of_row[:-1] -%}
    with

    lacking_columns as (

        select distinct
            {{ of_table | join(',\n            ') }},
            name
        from {{ lacking }}
            lateral view explode(missing) as name

    ),

    told as (

        select
            {%- for column in of_event %}
            lacking.{{ column }},
            {%- endfor %}
            lacking_columns.name,
            array_contains(lacking.missing, lacking_columns.name) as is_missing,
            last_value(if(
                lacking.is_deleted or array_contains(lacking.missing, lacking_columns.name),
                null,
                struct(try_element_at(lacking.texts, lacking_columns.name) as text)
            )) ignore nulls over (
                partition by lacking.{{ of_row | join(', lacking.') }}, lacking_columns.name
                order by lacking.change_sequence, lacking.kafka_offset, lacking.event_index
            ) as known
        from {{ lacking }} as lacking
        inner join lacking_columns
            on {% for column in of_table %}lacking.{{ column }} = lacking_columns.{{ column }}{{ ' and ' if not loop.last }}{% endfor %}

    )

    select
        {{ of_event | join(',\n        ') }},
        map_from_entries(collect_list(struct(name, known.text))) as texts
    from told
    where is_missing and known is not null
    group by {{ of_event | join(', ') }}
{%- endmacro %}
