{#
    The wall-clock time that a change sequence stands for.

    Arguments:
        change_sequence: expression: a TSO of 20 digits; milliseconds of 13 digits, a
            point and an offset; or a position, `@` and milliseconds of 13 digits.

    Returns:
        An expression of type timestamp, to the millisecond.
#}
{% macro sequence_timestamp(change_sequence) -%}
    timestamp_millis(case
        when contains({{ change_sequence }}, '@')
            then cast(left(split_part({{ change_sequence }}, '@', 2), 13) as bigint)
        when substr({{ change_sequence }}, 14, 1) = '.'
            then cast(left({{ change_sequence }}, 13) as bigint)
        else shiftright(try_cast(left({{ change_sequence }}, 20) as bigint), 18)
    end)
{%- endmacro %}
