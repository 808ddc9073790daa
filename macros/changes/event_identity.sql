{#
    What makes two events the same event, delivered twice.

    A change: same topic, table, commit, operation and row images. A DDL: same topic,
    commit, table and statement. A source without commit timestamps tells the commit by
    the position in its log, or by its time. The position in Kafka is no part of it, nor
    is the time at which the message was built. Any other message is itself only. The model
    compares it among events of one `log_order`: the time of a commit belongs to it.

    Returns:
        An expression of type string over the columns of the staging models: two hashes of
        64 bits, 128 together.
#}
{% macro event_identity() -%}
    {%- set parts -%}
                kafka_topic,
                event_kind,
                coalesce(source_database, ''),
                coalesce(source_table, ''),
                coalesce(op, ''),
                coalesce(
                    cast(commit_ts as string),
                    substring_index(source_position, '#', 1),
                    cast(committed_at as string),
                    ''
                ),
                coalesce(before, ''),
                coalesce(after, ''),
                coalesce(ddl_sql, '')
    {%- endset -%}
    case
        when event_kind in ('row', 'ddl')
            then concat(
                if(contains(source_position, '#'), '#', ''),
                hex(xxhash64(1, {{ parts }})),
                '/',
                hex(xxhash64(2, {{ parts }})),
                if(
                    contains(source_position, '#'),
                    '#' || substring_index(source_position, '#', -2),
                    ''
                )
            )
        else
            concat_ws(
                '/', kafka_topic, record_topic, kafka_partition, kafka_offset, event_index
            )
    end
{%- endmacro %}


{#
    How the rows of the change log lie in a file: by table, those of a table by the time of
    their commit. One number, which Spark sorts without comparing rows: a hash of the table
    before 44 bits of milliseconds; of SQL Server of the commit's LSN, as its times move with
    daylight saving. The same for events that are equal.

    Returns:
        An expression of type bigint.
#}
{% macro log_order() -%}
    shiftleft(pmod(xxhash64(source_database, source_table), 524288), 44)
    + pmod(
        if(
            connector = 'sqlserver' and log_position is not null,
            shiftleft(
                cast(conv(substr(log_position.position, 1, 8), 16, 10) as bigint), 32
            ) | cast(conv(substr(log_position.position, 10, 8), 16, 10) as bigint),
            coalesce(unix_millis(committed_at), 0)
        ),
        17592186044416
    )
{%- endmacro %}
