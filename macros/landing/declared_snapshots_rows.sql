{#
    The snapshots of TiDB's tables that the var `topics` declares.

    Returns:
        A `select`: kafka_topic, source_database, source_table, snapshot_sequence.
#}
{% macro declared_snapshots_rows() -%}
    {%- set rows = [] -%}
    {%- for topic in changefold.declared_topics() if topic.protocol != 'debezium' -%}
        {%- for table, commit_ts in topic.snapshots.items() -%}
            {%- do rows.append(
                '(' ~ changefold.declared_table(topic, table) ~ ", '" ~ '%020d' | format(commit_ts) ~ "')"
            ) -%}
        {%- endfor -%}
    {%- endfor %}
    select
        kafka_topic,
        source_database,
        source_table,
        snapshot_sequence
    from
        values
        {{ rows | join(',\n        ') or "('', '', '', '')" }}
            as declared (kafka_topic, source_database, source_table, snapshot_sequence)
    where kafka_topic <> ''
{%- endmacro %}


{#
    Of the tables that Debezium reads, when snapshots began that the var `topics` declares to
    be of all rows.

    Returns:
        A `select`: kafka_topic, source_database, source_table, earliest and latest (both
        inclusive; null for all).
#}
{% macro declared_readings_rows() -%}
    {%- set rows = [] -%}
    {%- for topic in changefold.declared_topics() if topic.protocol == 'debezium' -%}
        {%- for table, span in topic.snapshots.items() -%}
            {%- set times = ['null', 'null'] if span == 'all'
                else ["timestamp'" ~ span[0] ~ "'", "timestamp'" ~ span[1] ~ "'"] -%}
            {%- do rows.append(
                '(' ~ changefold.declared_table(topic, table) ~ ', ' ~ times | join(', ') ~ ')'
            ) -%}
        {%- endfor -%}
    {%- endfor %}
    select
        kafka_topic,
        source_database,
        source_table,
        cast(earliest as timestamp) as earliest,
        cast(latest as timestamp) as latest
    from
        values
        {{ rows | join(',\n        ') or "('', '', '', null, null)" }}
            as declared (kafka_topic, source_database, source_table, earliest, latest)
{%- endmacro %}
