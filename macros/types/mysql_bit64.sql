{#
    A BIT column of 64 bits: an unsigned number. TiCDC's Avro encoding writes one with the
    highest bit set as a negative number.

    Arguments:
        value: expression, the column's text.

    Returns:
        An expression of type decimal(20, 0).
#}
{% macro mysql_bit64(value) -%}
    try_cast(if(
        {{ value }} like '-%',
        try_cast({{ value }} as decimal(20, 0)) + 18446744073709551616BD,
        try_cast({{ value }} as decimal(20, 0))
    ) as decimal(20, 0))
{%- endmacro %}
