{#
    The wall-clock time of a TiDB timestamp (TSO): its upper bits are milliseconds.

    Arguments:
        tso: expression of type bigint.

    Returns:
        An expression of type timestamp, to the millisecond. Never order by it: the
        lower 18 bits, which tell apart commits of one millisecond, are gone.
#}
{% macro tso_timestamp(tso) -%}
    timestamp_millis(shiftright({{ tso }}, 18))
{%- endmacro %}
