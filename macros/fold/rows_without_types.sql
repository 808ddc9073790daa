{#
    Changes of rows, those that came without a schema read by the types that other messages
    of their table told.

    Arguments:
        changes: name of a relation: after, before_sent, column_types and connector as of
            `changes`, read_as as of `folded_tables`, and others.
        fold: what `fold_state` returned.

    Returns:
        A `select` of the relation's columns, row_after, row_before (JSON, as `after` and
        `before_sent`) and unread_columns: those whose values are none of their type, which
        row_after does not have; null for none.
#}
{% macro rows_without_types(changes, fold) -%}
    {%- if not fold.lacks_types -%}
    select
        *,
        after as row_after,
        before_sent as row_before,
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
                as row_after,
            {{ function('changefold', 'read_untyped') }}(before_sent, column_types, {{ of_row }}, connector)
                as row_before
        from {{ changes }}

    )

    select
        *,
        nullif(
            array_except(json_object_keys(after), json_object_keys(row_after)), array()
        ) as unread_columns
    from read
    {%- endif -%}
{%- endmacro %}
