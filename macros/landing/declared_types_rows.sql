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
            {%- for column, type in types.items() -%}
                {%- do rows.append(
                    '(' ~ changefold.declared_table(topic, table) ~ ', '
                    ~ sql_text(column) ~ ', ' ~ sql_text(type) ~ ')'
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
