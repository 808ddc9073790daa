{#
    Changes of rows, those that came without a schema read by the types that other messages
    of their table told.

    Arguments:
        changes: name of a relation: after, before_sent, column_types and connector as of
            `changes`, read_as as of `folded_tables`, and others.
        fold: what `fold_state` returned.

    Returns:
        A `select` of the relation's columns and unread_columns: of the row after, those whose
        values are none of their type, which it does not have any more; null for none.
#}
{% macro rows_without_types(changes, fold) -%}
    {%- if not fold.lacks_types -%}
    select
        *,
        cast(null as array<string>) as unread_columns
    from {{ changes }}
    {%- else -%}
    {%- set of_row -%}
        if(contains(column_types, '"connect.untyped"'), read_as, null)
    {%- endset -%}
    with

    read as (

        select
            *,
            {{ function('changefold', 'read_untyped') }}(after, column_types, {{ of_row }}, connector)
                as after_read,
            {{ function('changefold', 'read_untyped') }}(before_sent, column_types, {{ of_row }}, connector)
                as before_read
        from {{ changes }}

    )

    select
        * except (after, before_sent, after_read, before_read),
        after_read as after,
        before_read as before_sent,
        nullif(
            array_except(json_object_keys(after), json_object_keys(after_read)), array()
        ) as unread_columns
    from read
    {%- endif -%}
{%- endmacro %}
