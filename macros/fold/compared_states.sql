{#
    States of rows, each with whether it is another than the one before it.

    Two images that were written under the same columns are compared by their hash. Where a
    DDL changed the columns in between, the earlier one is brought under the columns of the
    later one first: a row that is read again after an ADD COLUMN is the row that was there.

    Arguments:
        states: name of a relation: of_row, kafka_topic, table_uid, row_copy,
            change_sequence, is_deleted, before_hashes (see the macro), row_hash (null where the
            row is not there), payload (image, unknown_columns).
        of_row: names of the columns that tell a row, with commas between.
        fold: what `fold_state` returned.

    Returns:
        A `select`: of_row, change_sequence, is_deleted, row_hash, payload, is_new_state,
        disagreement (see `_disagreement`).
#}
{% macro compared_states(states, of_row, fold) -%}
    {%- set kept = of_row ~ ', change_sequence, is_deleted, row_hash, payload' -%}
    {%- if not fold.changes_columns -%}
    with

    followed as (

        select
            *,
            lag(row_hash) over states_of_row as met_hash,
            lag(change_sequence) over states_of_row as met_sequence,
            lag(if(
                payload.op = 'r' or payload.unknown_columns is not null, null, row_hash
            )) over states_of_row as comparable_hash
        from {{ states }}
        window states_of_row as (partition by {{ of_row }} order by change_sequence)

    )

    select
        {{ kept }},
        row_hash is distinct from met_hash as is_new_state,
        {{ changefold._disagreement('met_hash', 'met_sequence', 'comparable_hash') }} as disagreement
    from followed
    {%- else -%}
    with

    moments_of_tables as (

        {{ changefold.moments_of_tables() }}

    ),

    changed_tables as (

        select
            kafka_topic,
            table_uid,
            collect_list(valid_from_sequence) as changed_at
        from {{ ref('changefold', 'table_schemas') }}
        where schema_version > 1
        group by kafka_topic, table_uid

    ),

    followed as (

        select
            *,
            lag(struct(
                row_hash,
                change_sequence,
                payload.image,
                payload.op,
                payload.unknown_columns
            )) over (
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
            ) as ddls,
            if(
                before.op = 'r'
                or before.unknown_columns is not null
                or before.change_sequence <> rtrim('~', before.change_sequence)
                or exists(
                    changed_at,
                    since -> since >= before.change_sequence and since < change_sequence
                ),
                null,
                before.row_hash
            ) as comparable_hash
        from followed
        left join moments_of_tables
            on
                followed.kafka_topic = moments_of_tables.kafka_topic
                and followed.table_uid = moments_of_tables.table_uid
        left join changed_tables
            on
                followed.kafka_topic = changed_tables.kafka_topic
                and followed.table_uid = changed_tables.table_uid

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
        ) as is_new_state,
        {{ changefold._disagreement(
            'before.row_hash', 'before.change_sequence', 'comparable_hash'
        ) }} as disagreement
    from brought
    {%- endif -%}
{%- endmacro %}


{#
    How the row that a change met is another than the change says.

    Not compared is a row that a snapshot read, whose numbers may have other digits than in a
    log (a FLOAT of MySQL), one that was written under other columns or that a DDL has moved, and
    one of which some values are unknown; nor an insert that the source may have put in the
    place of a row in the same millisecond, and what ended in the batch of Canal that has the
    change.

    Arguments:
        met_hash: an expression: the hash of the row that it met; null where there was none.
        met_sequence: an expression: since when it was as it met it.
        comparable_hash: as met_hash; null as well where the row is not compared.

    Returns:
        An expression of type string: `update_of_no_row`, `delete_of_no_row`,
        `insert_of_a_row`, `before_differs`; null where they agree, or can't be compared.
#}
{% macro _disagreement(met_hash, met_sequence, comparable_hash) -%}
case
            when before_hashes is null then null
            when cardinality(before_hashes) = 0
                then if(
                    {{ comparable_hash }} <> row_hash
                    and not {{ changefold.is_millisecond('change_sequence') }},
                    'insert_of_a_row',
                    null
                )
            when
                {{ met_hash }} is null
                and {{ changefold.are_of_one_batch('change_sequence', met_sequence) }}
                then null
            when {{ met_hash }} is null
                then if(is_deleted, 'delete_of_no_row', 'update_of_no_row')
            when not array_contains(before_hashes, {{ comparable_hash }})
                then 'before_differs'
        end
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
                to_charset,
                wire_form
            ))) as column_moments
        from {{ ref('changefold', 'column_moments') }}
        group by kafka_topic, table_uid
{%- endmacro %}
