{#
    The wall-clock time that a change sequence stands for.

    Arguments:
        change_sequence: expression: a TSO of 20 digits, or milliseconds of 13 digits,
            a point and an offset.

    Returns:
        An expression of type timestamp, to the millisecond.
#}
{% macro sequence_timestamp(change_sequence) -%}
    if(
        substr({{ change_sequence }}, 14, 1) = '.',
        timestamp_millis(cast(left({{ change_sequence }}, 13) as bigint)),
        timestamp_millis(shiftright(try_cast(left({{ change_sequence }}, 20) as bigint), 18))
    )
{%- endmacro %}
