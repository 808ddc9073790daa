{#
    An instant of Kafka Connect (`ZonedTimestamp`), which the decoder writes in UTC.

    Arguments:
        value: expression, such as `2024-02-29 12:00:00.500000Z`.

    Returns:
        An expression of type timestamp, to the microsecond.
#}
{% macro connect_instant(value) -%}
    try_cast({{ value }} as timestamp)
{%- endmacro %}
