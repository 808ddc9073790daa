{#
    A TIME column, a duration beyond a day: text with as many digits behind the second as
    the column has. Debezium always sends six.

    Arguments:
        value: expression, the column's text.
        digits: number of digits behind the second.

    Returns:
        An expression of type string.
#}
{% macro mysql_time(value, digits) -%}
    {%- if changefold.wire_form() != 'connect' -%}
        {{ return(value) }}
    {%- elif digits == 0 -%}
        {{ return("regexp_replace(" ~ value ~ ", '[.][0-9]*$', '')") }}
    {%- endif -%}
    regexp_replace({{ value }}, '([.][0-9]{{ "{" ~ digits ~ "}" }})[0-9]*$', '$1')
{%- endmacro %}
