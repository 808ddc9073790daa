{#
    The declared topics as rows.

    Returns:
        A `select`: kafka_topic, protocol, partitions, wire_form, time_zone,
        is_gapless, names_ignore_case.
#}
{% macro declared_topics_rows() -%}
    select * from values
    {%- for topic in changefold.declared_topics() %}
        (
            {{ sql_text(topic.name) }},
            {{ sql_text(topic.protocol) }},
            {{ topic.partitions }},
            {{ sql_text(changefold.wire_form(topic.name)) }},
            {{ sql_text(topic.time_zone) }},
            {{ topic.is_gapless | string | lower }},
            {{ topic.names_ignore_case | string | lower }}
        ){{ ',' if not loop.last }}
    {%- endfor %}
    as declared (
        kafka_topic,
        protocol,
        partitions,
        wire_form,
        time_zone,
        is_gapless,
        names_ignore_case
    )
{%- endmacro %}


{#
    A table that a topic's declaration names. A connector names the schema too, and the topic
    may name that otherwise.

    Arguments:
        topic: as `declared_topics` returns it.
        name: `database.table`.

    Returns:
        Three literals: kafka_topic, source_database, source_table.
#}
{% macro declared_table(topic, name) -%}
    {%- set parts = name.rsplit('.', 1) if topic.protocol == 'debezium' else name.split('.', 1) -%}
    {%- set database = topic.databases.get(parts[0], parts[0]) -%}
    {{ return([sql_text(topic.name), sql_text(database), sql_text(parts[1])] | join(', ')) }}
{%- endmacro %}
