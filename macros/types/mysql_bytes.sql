{#
    A BINARY, VARBINARY or BLOB column from Canal-JSON, which writes each byte as the
    character of the same number (ISO 8859-1). The decoder has checked that there is
    no character above U+00FF.

    Arguments:
        value: expression, the column's text.

    Returns:
        An expression of type binary.
#}
{% macro mysql_bytes(value) -%}
    encode({{ value }}, 'ISO-8859-1')
{%- endmacro %}
