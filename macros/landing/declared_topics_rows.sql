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
