{#
    Condition: the message lies beyond what `watermarks` has read without a hole.

    Returns:
        A condition on kafka_topic, record_topic, kafka_partition, kafka_offset and batch_id. Where no
        partition of a topic has a hole, only later batches can: their literal keeps the
        files of the past shut.
#}
{% macro is_beyond_contiguous() -%}
    {%- set positions = changefold.counted_positions() if execute and not flags.FULL_REFRESH else [] -%}
    {%- if not positions -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set read = [] -%}
    {%- set batches = changefold.counted_batches() -%}
    {%- for row in positions -%}
        {%- do read.append(
            '(kafka_topic = ' ~ sql_text(row.kafka_topic)
            ~ ' and record_topic = ' ~ sql_text(row.record_topic)
            ~ ' and kafka_partition = ' ~ row.kafka_partition
            ~ ' and kafka_offset <= ' ~ row.contiguous_offset ~ ')'
        ) -%}
        {%- if row.contiguous_offset < row.last_offset -%}
            {%- do batches.update({row.kafka_topic: 0}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(
        '(' ~ changefold.is_of_later_batch(batches) ~ ' and not (' ~ read | join(' or ') ~ '))'
    ) }}
{%- endmacro %}
