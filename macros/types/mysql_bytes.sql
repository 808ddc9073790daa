{#
    A BINARY, VARBINARY or BLOB column. Canal-JSON writes each byte as the character of
    the same number (ISO 8859-1; the decoder has checked that there is no character above
    U+00FF), TiCDC's Simple protocol writes base64.

    Arguments:
        value: expression, the column's text.
        topic: name of the topic; that of the model by default.

    Returns:
        An expression of type binary. Null for what is not base64.
#}
{% macro mysql_bytes(value, topic=none) -%}
    {%- if changefold.wire_form(topic) == 'simple' -%}
        {{ return("try_to_binary(" ~ value ~ ", 'base64')") }}
    {%- endif -%}
    encode({{ value }}, 'ISO-8859-1')
{%- endmacro %}
