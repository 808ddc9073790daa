{#
    Condition: the message lies beyond what was counted as read without a hole.

    Returns:
        A condition on kafka_topic, kafka_partition and kafka_offset, with one literal
        bound for each partition, so that files of the past are not opened.
#}
{% macro is_beyond_contiguous() -%}
    {%- if not execute or flags.FULL_REFRESH or not snapshot_id(this) -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set rows = adapter.query_once(
        'select kafka_topic, kafka_partition, contiguous_offset from ' ~ this,
        snapshot_id(this)
    ) -%}
    {%- set conditions = [] -%}
    {%- set known = [] -%}
    {%- for row in rows -%}
        {%- set partition = 'kafka_topic = ' ~ sql_text(row.kafka_topic)
            ~ ' and kafka_partition = ' ~ row.kafka_partition -%}
        {%- do conditions.append(
            '(' ~ partition ~ ' and kafka_offset > ' ~ row.contiguous_offset ~ ')'
        ) -%}
        {%- do known.append('(' ~ partition ~ ')') -%}
    {%- endfor -%}
    {%- if not known -%}
        {{ return('true') }}
    {%- endif -%}
    {%- do conditions.append('not (' ~ known | join(' or ') ~ ')') -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}
