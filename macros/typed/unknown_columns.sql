{#
    The columns of a row whose value no message told and nobody can compute: of a row that
    was written before a DDL and held after it, those that the DDL gave such values.

    Arguments:
        moments: mapping from a column to pairs (change sequence of the DDL, of the one that
            dropped the column or none).

    Returns:
        An expression of type array<string> on written_sequence and held_at; null where
        all values are known.
#}
{% macro unknown_columns(moments={}) -%}
    {%- set entries = [] -%}
    {%- for column, spans in moments.items() -%}
        {%- for since, until in spans -%}
            {%- set met = "written_sequence <= '" ~ since ~ "' and held_at > '" ~ since ~ "'" -%}
            {%- set is_held = " and held_at <= '" ~ until ~ "'" if until else '' -%}
            {%- do entries.append('if(' ~ met ~ is_held ~ ', ' ~ sql_text(column) ~ ', null)') -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if not entries -%}
        {{ return('cast(null as array<string>)') }}
    {%- endif -%}
    nullif(
        array_distinct(array_compact(array({{ entries | join(', ') }}))),
        cast(array() as array<string>)
    )
{%- endmacro %}


{#
    How many versions of a history have no known value, by the column.

    Arguments:
        columns: names of the columns whose values may be unknown.

    Returns:
        An aggregate of type map<string, bigint> on _cdc_unknown_columns; null without
        such a column.
#}
{% macro unknown_values(columns=[]) -%}
    {%- set counts = [] -%}
    {%- for column in columns -%}
        {%- do counts.append(
            sql_text(column) ~ ', count_if(array_contains(_cdc_unknown_columns, '
            ~ sql_text(column) ~ '))'
        ) -%}
    {%- endfor -%}
    {%- if not counts -%}
        {{ return('cast(null as map<string, bigint>)') }}
    {%- endif -%}
    map_filter(map({{ counts | join(', ') }}), (name, versions) -> versions > 0)
{%- endmacro %}
