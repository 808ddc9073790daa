{#
    How the messages of the model's topic write bytes and instants.

    Returns:
        `canal` (characters, wall clock) or `simple` (base64, object with the zone).
#}
{% macro wire_form() -%}
    {%- set topic = topic_of_model() -%}
    {{ return('simple' if topic and topic.protocol.startswith('ticdc_simple') else 'canal') }}
{%- endmacro %}


{#
    The default of a column, as a message would write it.

    Arguments:
        text: the value, as Canal-JSON writes it.
        kind: `bytes` or `timestamp`, which protocols write in different forms.

    Returns:
        An expression of type string.
#}
{% macro default_text(text, kind) -%}
    {%- if wire_form() != 'simple' -%}
        {{ return(sql_text(text)) }}
    {%- endif -%}
    {%- if kind == 'bytes' -%}
        {{ return("base64(encode(" ~ sql_text(text) ~ ", 'ISO-8859-1'))") }}
    {%- endif -%}
    {{ return(sql_text(tojson({'location': topic_of_model().time_zone, 'value': text}))) }}
{%- endmacro %}
