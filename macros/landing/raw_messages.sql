{#
    All messages of the topics of a protocol, in one shape. Those of the quarantine that
    wait for being read again are there once more.

    Arguments:
        protocol: name of a protocol, as in the var `topics`.

    Returns:
        A `select`: kafka_topic, record_topic, kafka_partition, kafka_offset,
        kafka_timestamp, of Debezium key, declared_types (JSON: what the topic declares
        as `types`), declared_options (likewise: what `parse_debezium` takes beside them),
        declared_databases and has_watermarks, value, batch_id (null where another tool
        fills the raw table). No row, if the var `topics` has no topic of the protocol.
#}
{% macro raw_messages(protocol) -%}
    {%- set selects = [] -%}
    {%- for topic in changefold.declared_topics() if topic.protocol == protocol -%}
        {%- set selected -%}
    select
        {{ sql_text(topic.name) }} as kafka_topic,
        {{ changefold.record_topic(topic) }} as record_topic,
        partition as kafka_partition,
        offset as kafka_offset,
        timestamp as kafka_timestamp,
        {%- if protocol == 'debezium' %}
        key,
        {{ sql_text(tojson(topic.types)) if topic.types else 'cast(null as string)' }} as declared_types,
        {{ changefold.declared_options(topic) }} as declared_options,
        {{ changefold.declared_databases(topic) }} as declared_databases,
        {{ topic.has_watermarks | string | lower }} as has_watermarks,
        {%- endif %}
        value,
        {{ 'batch_id' if topic.is_landed else 'cast(null as bigint) as batch_id' }}
    from {{ source('raw', topic.name) }}
        {%- endset -%}
        {%- do selects.append(selected) -%}
        {%- if changefold.requested_counts().get(topic.name) -%}
            {%- set again -%}
    select
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        kafka_timestamp,
        {%- if protocol == 'debezium' %}
        key,
        {{ sql_text(tojson(topic.types)) if topic.types else 'cast(null as string)' }} as declared_types,
        {{ changefold.declared_options(topic) }} as declared_options,
        {{ changefold.declared_databases(topic) }} as declared_databases,
        {{ topic.has_watermarks | string | lower }} as has_watermarks,
        {%- endif %}
        value,
        batch_id
    from ({{ changefold.requested_messages() }})
    where kafka_topic = {{ sql_text(topic.name) }}
            {%- endset -%}
            {%- do selects.append(again) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not selects -%}
        {%- set empty -%}
    select
        cast(null as string) as kafka_topic,
        cast(null as string) as record_topic,
        cast(null as int) as kafka_partition,
        cast(null as bigint) as kafka_offset,
        cast(null as timestamp) as kafka_timestamp,
        {%- if protocol == 'debezium' %}
        cast(null as binary) as key,
        cast(null as string) as declared_types,
        cast(null as string) as declared_options,
        cast(null as map<string, string>) as declared_databases,
        cast(null as boolean) as has_watermarks,
        {%- endif %}
        cast(null as binary) as value,
        cast(null as bigint) as batch_id
    where false
        {%- endset -%}
        {%- do selects.append(empty) -%}
    {%- endif -%}
    {{ selects | join('\n    union all\n') }}
{%- endmacro %}


{#
    The Kafka topic of a record, in the raw table of a declaration.

    Arguments:
        topic: mapping of `declared_topics`.

    Returns:
        An expression of type string: the column `topic` where the declaration stands for
        several, else its name.
#}
{% macro record_topic(topic) -%}
    {{ return('topic' if topic.pattern else sql_text(topic.name)) }}
{%- endmacro %}


{#
    What a topic declares of its messages beside types.

    Arguments:
        topic: mapping of `declared_topics`.

    Returns:
        An expression of type string, a JSON object as `parse_debezium` takes it; null
        where nothing is declared.
#}
{% macro declared_options(topic) -%}
    {%- set options = {} -%}
    {%- for name in ['placeholder', 'keys', 'is_compacted'] if topic[name] -%}
        {%- do options.update({name: topic[name]}) -%}
    {%- endfor -%}
    {{ return(sql_text(tojson(options)) if options else 'cast(null as string)') }}
{%- endmacro %}


{#
    The names that a topic gives to databases.

    Arguments:
        topic: mapping of `declared_topics`.

    Returns:
        An expression of type map<string, string>, from the name at the source; null
        without one.
#}
{% macro declared_databases(topic) -%}
    {%- set names = [] -%}
    {%- for database, name in topic.databases.items() -%}
        {%- do names.append(sql_text(database) ~ ', ' ~ sql_text(name)) -%}
    {%- endfor -%}
    {{ return(
        'map(' ~ names | join(', ') ~ ')' if names else 'cast(null as map<string, string>)'
    ) }}
{%- endmacro %}
