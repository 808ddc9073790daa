{#
    Whether one statement may move rows to keys that others leave: the source tells of each
    row its end and its begin, one row after the other, and one commit of a key may so begin
    a row before it ends the one that was there.

    Returns:
        A bool.
#}
{% macro keys_may_shift() %}
    {%- set topic = changefold.topic_of_model() -%}
    {{ return(
        topic and topic.protocol == 'debezium' and '_cdc_copy' not in config.get('key_columns')
    ) }}
{% endmacro %}


{#
    States of rows without the deletes that end a row which an upsert of the same commit has
    replaced: what the upsert wrote stays.

    Such a delete is told by its image before: one of its values is not that of the row
    that stands there. Where all are equal, it is one if the insert before it met a row. An
    insert and such a delete leave the key as it was, whichever row went; so what was met
    is known from before all those pairs.

    Arguments:
        states: name of a relation: a key's state at each change sequence, with the
            next one's (next_is_deleted, following_sequence).
        columns: names of the table's columns.
        keys_sql: expressions of the key's columns.

    Returns:
        A `select` of the relation's columns, and what the macro compared.
#}
{% macro without_ends_of_before(states, columns, keys_sql) -%}
    {%- set key = 'partition by ' ~ keys_sql ~ ' order by change_sequence' -%}
    with

    commits as (

        select
            *,
            not is_deleted
            and next_is_deleted
            and {{ changefold.has_commit_position('change_sequence') }}
            and {{ changefold.moment_of('change_sequence') }} = {{ changefold.moment_of('following_sequence') }}
                as is_deleted_in_commit
        from {{ states }}

    ),

    paired as (

        select
            *,
            lag(if(is_deleted_in_commit, payload, null)) over ({{ key }}) as written_before
        from commits

    ),

    compared as (

        select
            *,
            written_before is not null
            and not is_ddl
            and (
                false
                {%- for column in columns %}
                {%- set name = changefold.quoted(column) %}
                or (
                    payload.record.{{ name }} is not null
                    and not (payload.record.{{ name }} <=> written_before.record.{{ name }})
                )
                {%- endfor %}
            ) as ends_another,
            coalesce(written_before.op = 'c', false) and not is_ddl as ends_an_insert
        from paired

    ),

    told as (

        select
            *,
            last_value(
                case
                    when ends_another then true
                    when is_deleted_in_commit or ends_an_insert then null
                    else not is_deleted
                end,
                true
            ) over ({{ key }}) as met_a_row
        from compared

    )

    select * from told
    where not ends_another and not (ends_an_insert and coalesce(met_a_row, false))
{%- endmacro %}
