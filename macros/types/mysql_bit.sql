{#
    A BIT column: an unsigned number. TiCDC's Avro encoding writes one of 64 bits with the
    highest bit set as a negative number; Debezium sends binary digits, and of BIT(1) a
    boolean.

    Arguments:
        value: expression, the column's text.
        type: Spark type.

    Returns:
        An expression of that type.
#}
{% macro mysql_bit(value, type) -%}
    {%- if changefold.wire_form() == 'connect' -%}
        {{ return(
            'try_cast(conv(case ' ~ value ~ " when 'true' then '1' when 'false' then '0' else "
            ~ value ~ ' end, 2, 10) as ' ~ type ~ ')'
        ) }}
    {%- endif -%}
    try_cast(if(
        {{ value }} like '-%',
        try_cast({{ value }} as decimal(20, 0)) + 18446744073709551616BD,
        try_cast({{ value }} as decimal(20, 0))
    ) as {{ type }})
{%- endmacro %}
