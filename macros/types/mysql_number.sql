{#
    A number column. Null where the text is no number of that type.

    Arguments:
        value: expression, the column's text.
        type: Spark type.

    Returns:
        An expression of that type. Digits go straight to the type: no float between.
#}
{% macro mysql_number(value, type) -%}
    try_cast({{ value }} as {{ type }})
{%- endmacro %}
