{#
    A column that stays text.

    Arguments:
        value: expression, the column's text.

    Returns:
        An expression of type string.
#}
{% macro mysql_text(value) -%}
    {{ value }}
{%- endmacro %}
