{#
    How the messages of a topic write values that have several forms.

    Arguments:
        topic: name of the topic; that of the model by default.

    Returns:
        `canal` (bytes as characters, instants as wall clock, members as numbers),
        `simple` (base64, object with the zone, numbers) or `connect` (characters, UTC,
        names; BIT as binary digits).
#}
{% macro wire_form(topic=none) -%}
    {%- set declared = changefold.declared_topic(topic) if topic else changefold.topic_of_model() -%}
    {%- set protocol = declared.protocol if declared else '' -%}
    {%- if protocol == 'debezium' -%}
        {{ return('connect') }}
    {%- endif -%}
    {{ return('simple' if protocol.startswith('ticdc_simple') else 'canal') }}
{%- endmacro %}
