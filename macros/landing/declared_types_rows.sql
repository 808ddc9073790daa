{#
    The column types that the var `topics` declares for messages that name the rest of
    the type. Those of Debezium the decoder has taken into account.

    Returns:
        A `select`: kafka_topic, source_database, source_table, column_types (a map from
        column to type).
#}
{% macro declared_types_rows() -%}
    {%- set rows = [] -%}
    {%- for topic in declared_topics() if topic.protocol != 'debezium' -%}
        {%- for table, types in topic.types.items() -%}
            {%- set name = table.split('.', 1) -%}
            {%- for column, type in types.items() -%}
                {%- do rows.append(
                    '(' ~ sql_text(topic.name) ~ ', ' ~ sql_text(name[0]) ~ ', '
                    ~ sql_text(name[1]) ~ ', ' ~ sql_text(column) ~ ', '
                    ~ sql_text(type) ~ ')'
                ) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor %}
    select
        kafka_topic,
        source_database,
        source_table,
        map_from_entries(collect_list(struct(source_column, source_type)))
            as column_types
    from
        values
        {{ rows | join(',\n        ') or "('', '', '', '', '')" }}
            as declared (
                kafka_topic, source_database, source_table, source_column, source_type
            )
    group by kafka_topic, source_database, source_table
{%- endmacro %}
