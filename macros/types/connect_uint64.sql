{#
    An unsigned number of 64 bits: BIGINT UNSIGNED, declared as `connect.uint64`. Debezium
    writes one from 2^63 on as a negative number, unless `bigint.unsigned.handling.mode`
    is `precise`.

    Arguments:
        value: expression, the number as text.

    Returns:
        An expression of type decimal(20, 0).
#}
{% macro connect_uint64(value) -%}
    cast(
        try_cast({{ value }} as decimal(20, 0))
        + if({{ value }} like '-%', 18446744073709551616BD, 0BD)
        as decimal(20, 0)
    )
{%- endmacro %}
