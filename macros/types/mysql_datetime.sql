{#
    A DATETIME column: a wall clock without a zone. Null for zero dates.

    Arguments:
        value: expression, the column's text.

    Returns:
        An expression of type timestamp_ntz.
#}
{% macro mysql_datetime(value) -%}
    try_cast({{ value }} as timestamp_ntz)
{%- endmacro %}
