{#
    All messages of the topics of a protocol, in one shape.

    Arguments:
        protocol: name of a protocol, as in the var `topics`.

    Returns:
        A `select`: kafka_topic, kafka_partition, kafka_offset, kafka_timestamp, value,
        batch_id (null where another tool fills the raw table). No row, if the var
        `topics` has no topic of the protocol.
#}
{% macro raw_messages(protocol) -%}
    {%- set selects = [] -%}
    {%- for topic in declared_topics() if topic.protocol == protocol -%}
        {%- set selected -%}
    select
        {{ sql_text(topic.name) }} as kafka_topic,
        partition as kafka_partition,
        offset as kafka_offset,
        timestamp as kafka_timestamp,
        value,
        {{ 'batch_id' if topic.files else 'cast(null as bigint) as batch_id' }}
    from {{ source('raw', topic.name) }}
        {%- endset -%}
        {%- do selects.append(selected) -%}
    {%- endfor -%}
    {%- if not selects -%}
        {%- set empty -%}
    select
        cast(null as string) as kafka_topic,
        cast(null as int) as kafka_partition,
        cast(null as bigint) as kafka_offset,
        cast(null as timestamp) as kafka_timestamp,
        cast(null as binary) as value,
        cast(null as bigint) as batch_id
    where false
        {%- endset -%}
        {%- do selects.append(empty) -%}
    {%- endif -%}
    {{ selects | join('\n    union all\n') }}
{%- endmacro %}
