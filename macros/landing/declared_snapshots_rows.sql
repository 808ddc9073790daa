{#
    The snapshots that the var `topics` declares.

    Returns:
        A `select`: kafka_topic, source_database, source_table, snapshot_sequence.
#}
{% macro declared_snapshots_rows() -%}
    {%- set rows = [] -%}
    {%- for topic in changefold.declared_topics() -%}
        {%- for table, commit_ts in topic.snapshots.items() -%}
            {%- set name = table.split('.', 1) -%}
            {%- do rows.append(
                '(' ~ sql_text(topic.name) ~ ', ' ~ sql_text(name[0]) ~ ', '
                ~ sql_text(name[1]) ~ ", '" ~ '%020d' | format(commit_ts) ~ "')"
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
{%- endmacro %}
