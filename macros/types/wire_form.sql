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


{#
    The default of a column, as a message would write it.

    Arguments:
        text: the value, as Canal-JSON writes it.
        kind: `bytes`, `timestamp`, `enum`, `set` or `bit`, which protocols write in
            different forms.
        members: of `enum` and `set`: list of the members' names, in order.

    Returns:
        An expression of type string.
#}
{% macro default_text(text, kind, members=[]) -%}
    {%- set form = changefold.wire_form() -%}
    {%- if form == 'simple' and kind == 'bytes' -%}
        {{ return("base64(encode(" ~ sql_text(text) ~ ", 'ISO-8859-1'))") }}
    {%- elif form == 'simple' and kind == 'timestamp' -%}
        {{ return(sql_text(tojson({'location': changefold.topic_of_model().time_zone, 'value': text}))) }}
    {%- elif form == 'connect' and kind == 'timestamp' -%}
        {{ return(sql_text(text ~ ' ' ~ changefold.topic_of_model().time_zone)) }}
    {%- elif form == 'connect' and kind == 'enum' -%}
        {{ return(sql_text(([''] + members)[text | int])) }}
    {%- elif form == 'connect' and kind == 'set' -%}
        {%- set chosen = [] -%}
        {%- for place in range(members | length) if (text | int) // 2 ** place % 2 -%}
            {%- do chosen.append(members[place]) -%}
        {%- endfor -%}
        {{ return(sql_text(chosen | join(','))) }}
    {%- elif form == 'connect' and kind == 'bit' -%}
        {{ return("conv(" ~ sql_text(text) ~ ", 10, 2)") }}
    {%- endif -%}
    {{ return(sql_text(text)) }}
{%- endmacro %}
