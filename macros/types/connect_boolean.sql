{#
    A boolean column of Kafka Connect.

    Arguments:
        value: expression, `true` or `false`.

    Returns:
        An expression of type boolean.
#}
{% macro connect_boolean(value) -%}
    try_cast({{ value }} as boolean)
{%- endmacro %}
