{#
    How many ends of all rows of a table a change lies behind. A row with a DDL's own
    sequence was there before it, one with a snapshot's own is of that snapshot.

    Returns:
        An expression of type int, on table_ends (an array of end_sequence and ended_by, or
        null) and change_sequence.
#}
{% macro ends_before() -%}
coalesce(size(filter(
                table_ends,
                table_end -> table_end.partition_changes is null
                and if(
                    table_end.ended_by = 'snapshot',
                    table_end.end_sequence <= change_sequence,
                    table_end.end_sequence < change_sequence
                )
            )), 0)
{%- endmacro %}
