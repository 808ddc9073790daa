{#
    The DDLs that the generated models act on, with a reason where a model could only
    note that its text does not tell the rows.

    Returns:
        A `select`: kafka_topic, ddl_sequence, reason (empty where all is known).
#}
{% macro ddls_of_models() -%}
    {%- set rows = [] -%}
    {%- for node in (graph.nodes.values() if execute else [])
        if node.resource_type == 'model' and node.config.get('source_table') -%}
        {%- set unknown = node.config.meta.get('needs_snapshot') or {} -%}
        {%- for sequence in (changefold.sequences_in(node.raw_code) + unknown.keys() | list) | unique -%}
            {%- do rows.append(
                '(' ~ sql_text(node.config.get('topic'))
                ~ ', ' ~ sql_text(sequence)
                ~ ', ' ~ sql_text(unknown.get(sequence, '')) ~ ')'
            ) -%}
        {%- endfor -%}
    {%- endfor %}
    select
        kafka_topic,
        ddl_sequence,
        max(reason) as reason
    from
        values
        {{ rows | sort | join(',\n        ') or "('', '', '')" }}
            as ddls (kafka_topic, ddl_sequence, reason)
    group by kafka_topic, ddl_sequence
{%- endmacro %}
