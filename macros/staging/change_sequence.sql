{#
    The one value by which the changes of a TiCDC topic are ordered.

    With the TiDB extension: the commit timestamp. Without: the millisecond of the
    commit and, within it, the offset, which orders the changes of one partition only; or
    the batch and its partitions one after the other. Digits are padded, so that the text
    sorts like the number.

    Arguments:
        commit_ts: expression, TSO or null.
        es_ms: expression, epoch milliseconds.
        kafka_partition: expression.
        kafka_offset: expression.
        batch_ms: expression, epoch milliseconds of the batch that brought the change;
            null where the offset decides.

    Returns:
        An expression of type string.
#}
{% macro change_sequence(commit_ts, es_ms, kafka_partition, kafka_offset, batch_ms) -%}
    coalesce(
        lpad(cast({{ commit_ts }} as string), 20, '0'),
        concat(
            lpad(cast({{ es_ms }} as string), 13, '0'),
            '.',
            coalesce(concat(
                lpad(cast({{ batch_ms }} as string), 13, '0'),
                lpad(cast({{ kafka_partition }} as string), 5, '0')
            ), ''),
            lpad(cast({{ kafka_offset }} as string), 19, '0')
        )
    )
{%- endmacro %}
