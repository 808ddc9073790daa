{#
    States of rows, each with whether it is another than the one before it.

    Two images that were written under the same columns are compared by their hash. Where a
    DDL changed the columns in between, the earlier one is brought under the columns of the
    later one first: a row that is read again after an ADD COLUMN is the row that was there.

    Arguments:
        states: name of a relation: of_row, kafka_topic, table_uid, row_copy,
            change_sequence, is_deleted, row_hash (null where the row is not there), payload
            (image).
        of_row: names of the columns that tell a row, with commas between.
        fold: what `fold_state` returned.

    Returns:
        A `select`: of_row, change_sequence, is_deleted, row_hash, payload, is_new_state.
#}
{% macro compared_states(states, of_row, fold) -%}
    {%- set kept = of_row ~ ', change_sequence, is_deleted, row_hash, payload' -%}
    {%- if not fold.changes_columns -%}
    select
        {{ kept }},
        row_hash is distinct from lag(row_hash) over (
            partition by {{ of_row }}
            order by change_sequence
        ) as is_new_state
    from {{ states }}
    {%- else -%}
    with

    moments_of_tables as (

        {{ changefold.moments_of_tables() }}

    ),

    followed as (

        select
            *,
            lag(struct(row_hash, change_sequence, payload.image)) over (
                partition by {{ of_row }}
                order by change_sequence
            ) as before
        from {{ states }}

    ),

    -- Without a key, equal rows have one hash, whatever columns they were written under.
    met as (

        select
            followed.*,
            if(
                row_hash is null or before.row_hash is null or row_copy > 0,
                null,
                nullif(
                    filter(
                        column_moments,
                        moment -> moment.since >= before.change_sequence
                        and moment.since < change_sequence
                    ),
                    array()
                )
            ) as ddls
        from followed
        left join moments_of_tables
            on
                followed.kafka_topic = moments_of_tables.kafka_topic
                and followed.table_uid = moments_of_tables.table_uid

    ),

    brought as (

        select
            *,
            {{ function('changefold', 'row_after_ddls') }}(
                if(ddls is null, null, from_json(before.image, 'map<string, string>')),
                to_json(ddls)
            ) as row_before
        from met

    )

    select
        {{ kept }},
        if(
            ddls is null,
            row_hash is distinct from before.row_hash,
            {{ changefold._told_values('row_before') }}
            <> {{ changefold._told_values("from_json(payload.image, 'map<string, string>')") }}
        ) as is_new_state
    from brought
    {%- endif -%}
{%- endmacro %}


{# The values of a row, to be compared: a null and a column that it does not have are one. #}
{% macro _told_values(texts) -%}
    array_sort(filter(map_entries({{ texts }}), entry -> entry.value is not null))
{%- endmacro %}


{#
    The DDLs that changed columns, by table.

    Returns:
        A `select`: kafka_topic, table_uid, column_moments (an array of structs, in order).
#}
{% macro moments_of_tables() -%}
    select
            kafka_topic,
            table_uid,
            array_sort(collect_list(struct(
                since,
                kind,
                from_name,
                to_name,
                from_type,
                to_type,
                default_value,
                value_accuracy,
                wire_form
            ))) as column_moments
        from {{ ref('changefold', 'column_moments') }}
        group by kafka_topic, table_uid
{%- endmacro %}
