{#
    How many ends of all rows of a table a change lies behind. A row with a DDL's own
    sequence was there before it, one with a snapshot's own is of that snapshot.

    Arguments:
        texts: the row, an expression of type map<string, string>: ends of partitions that it
            was in count too. By default they don't.

    Returns:
        An expression of type int, on table_ends (an array, or null) and change_sequence.
#}
{% macro ends_before(texts=none) -%}
coalesce(size(filter(
                table_ends,
                table_end -> coalesce({{
                    changefold.is_in_partitions('table_end.partition_changes', texts)
                    if texts else 'table_end.partition_changes is null'
                }}, true)
                and if(
                    table_end.ended_by = 'snapshot',
                    table_end.end_sequence <= change_sequence,
                    table_end.end_sequence < change_sequence
                )
            )), 0)
{%- endmacro %}
