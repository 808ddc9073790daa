{#
    States of rows without the deletes that end a row which an insert of the same commit has
    replaced: what the insert wrote stays.

    Such a delete follows an insert that met a row. The image before does not tell: of
    PostgreSQL it may have the key only, and zeros. An insert and such a delete leave the key
    as it was, whichever row went; so what was met is known from before all those pairs.

    Arguments:
        states: name of a relation: a key's state at each change sequence, with the
            next one's (next_is_deleted, following_sequence) and before_hashes.
        keys_sql: expressions of the key's columns.

    Returns:
        A `select` of the relation's columns, before_hashes null where such a delete follows an
        insert, and what the macro compared, if a topic is of Debezium: the sequences of others
        tell no such positions.
#}
{% macro without_ends_of_before(states, keys_sql) -%}
    {%- set key = 'partition by ' ~ keys_sql ~ ' order by change_sequence' -%}
    {%- if changefold.is_of_protocols(['debezium']) == 'false' %}
    select * from {{ states }}
    {%- else %}
    with

    inserted as (

        select
            *,
            coalesce(
                payload.op = 'c'
                and next_is_deleted
                and {{ changefold.has_commit_position('change_sequence') }}
                and {{ changefold.moment_of('change_sequence') }} = {{ changefold.moment_of('following_sequence') }},
                false
            ) as is_deleted_in_commit
        from {{ states }}

    ),

    paired as (

        select
            *,
            lag(is_deleted_in_commit, 1, false) over ({{ key }}) and not is_ddl
                as ends_an_insert
        from inserted

    ),

    told as (

        select
            *,
            last_value(
                if(is_deleted_in_commit or ends_an_insert, null, not is_deleted), true
            ) over ({{ key }}) as met_a_row
        from paired

    )

    select
        * except (before_hashes),
        if(is_deleted_in_commit, null, before_hashes) as before_hashes
    from told
    where not (ends_an_insert and coalesce(met_a_row, false))
    {%- endif %}
{%- endmacro %}
