{#
    A DATE column. Null for what no calendar has, such as 0000-00-00.

    Arguments:
        value: expression, the column's text.

    Returns:
        An expression of type date.
#}
{% macro mysql_date(value) -%}
    try_cast({{ value }} as date)
{%- endmacro %}
