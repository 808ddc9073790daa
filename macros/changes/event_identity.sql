{#
    What makes two events the same event, delivered twice.

    A change: same topic, table, commit, operation and row images. A DDL: same topic,
    commit, table and statement. A source without commit timestamps tells the commit by
    the position in its log, or by its time. The position in Kafka is no part of it, nor
    is the time at which the message was built. Any other message is itself only.

    Returns:
        An expression of type string (md5) over the columns of the staging models.
#}
{% macro event_identity() -%}
    case
        when event_kind in ('row', 'ddl')
            then md5(to_json(struct(
                kafka_topic,
                event_kind,
                source_database,
                source_table,
                op,
                coalesce(
                    cast(commit_ts as string),
                    source_position,
                    cast(committed_at as string)
                ) as commit,
                before,
                after,
                ddl_sql
            )))
        else
            concat_ws(
                '/', kafka_topic, record_topic, kafka_partition, kafka_offset, event_index
            )
    end
{%- endmacro %}
