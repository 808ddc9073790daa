{#
    The column types that the var `topics` declares. They win over what messages name.

    Returns:
        A `select`: kafka_topic, source_database, source_table, column_types (a map from
        column to type).
#}
{% macro declared_types_rows() -%}
    {%- set rows = [] -%}
    {%- for topic in changefold.declared_topics() -%}
        {%- for table, types in topic.types.items() -%}
            {#- A connector names the schema too, and the topic may name that otherwise. -#}
            {%- set is_connector = topic.protocol == 'debezium' -%}
            {%- set name = table.rsplit('.', 1) if is_connector else table.split('.', 1) -%}
            {%- set database = topic.databases.get(name[0], name[0]) -%}
            {%- for column, type in types.items() -%}
                {%- do rows.append(
                    '(' ~ sql_text(topic.name) ~ ', ' ~ sql_text(database) ~ ', '
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
