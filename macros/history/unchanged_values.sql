{#
    The images of rows, with the values that a change did not send because it did not
    change them: PostgreSQL leaves out long values that it keeps apart (TOAST), and
    Debezium says of which columns it knows nothing.

    Such a column has the value that the row had before, from the last change that sent
    it or, in an increment, from the row's version in the table. A row that was deleted
    leaves none to the next one of its key.

    Arguments:
        images: name of a relation, as `row_images` returns, and row_key: a struct of the
            key's values.
        columns: names of the table's columns.
        texts: names of those that may be left out and are kept as they came.
        bytes: names of those that may be left out and are kept as bytes.
        key_columns: names of the columns that identify a row.

    Returns:
        A `select`: the columns of `row_images`.
#}
{% macro unchanged_values(images, columns, texts, bytes, key_columns) -%}
    {%- if not execute or not changefold.changes_lack_values() -%}
    select * from {{ images }}
    {%- else %}
    with

    told as (

        select
            image,
            is_deleted,
            is_ddl,
            op,
            change_sequence,
            written_sequence,
            held_at,
            unavailable_columns,
            commit_ts,
            batch_id,
            kafka_partition,
            kafka_offset,
            event_index,
            row_key,
            coalesce(from_json(unavailable_columns, 'array<string>'), array()) as missing,
            false as is_existing
        from {{ images }}
        {%- if changefold.is_increment() %}
        union all
        select
            struct(
                {%- for column in columns %}
                {% if column in bytes -%}
                decode(history.{{ changefold.quoted(column) }}, 'ISO-8859-1')
                {%- elif column in texts -%}
                history.{{ changefold.quoted(column) }}
                {%- else -%}
                cast(null as string)
                {%- endif %} as {{ changefold.quoted(column) }}{{ ',' if not loop.last }}
                {%- endfor %}
            ) as image,
            false as is_deleted,
            false as is_ddl,
            history._cdc_op as op,
            history._cdc_valid_from_sequence as change_sequence,
            history._cdc_valid_from_sequence as written_sequence,
            history._cdc_valid_from_sequence as held_at,
            cast(null as string) as unavailable_columns,
            history._cdc_commit_ts as commit_ts,
            history._cdc_batch_id as batch_id,
            -1 as kafka_partition,
            -1 as kafka_offset,
            0 as event_index,
            struct(
                {%- for column in key_columns %}
                history.{{ changefold.quoted(column) }}{{ ',' if not loop.last }}
                {%- endfor %}
            ) as row_key,
            cast(array() as array<string>) as missing,
            true as is_existing
        from {{ this }} as history
        -- Those after it come again as changes.
        where
            ({{ changefold.may_be_touched() }})
            and history._cdc_valid_from_sequence < {{ sql_text(changefold.history_state().first_unapplied) }}
        {%- endif %}

    ),

    filled as (

        select
            * except (image),
            struct(
                {%- for column in columns %}
                {%- set name = changefold.quoted(column) %}
                {%- set sent = (config.get('source_names') or {}).get(column, column) %}
                {% if column not in texts and column not in bytes -%}
                image.{{ name }}
                {%- else -%}
                if(
                    array_contains(missing, {{ sql_text(sent) }}),
                    last_value(if(
                        array_contains(missing, {{ sql_text(sent) }}),
                        null,
                        struct(if(is_deleted, null, image.{{ name }}) as value)
                    ), true) over (
                        partition by row_key
                        order by change_sequence, kafka_offset, event_index
                    ).value,
                    image.{{ name }}
                )
                {%- endif %} as {{ name }}{{ ',' if not loop.last }}
                {%- endfor %}
            ) as image
        from told

    )

    select * except (row_key, missing, is_existing) from filled
    where not is_existing
    {%- endif -%}
{%- endmacro %}
