{#
    A JSON column, as text. Null for what is no document: with MySQL's
    binlog_row_value_options=PARTIAL_JSON Canal sends the call that changes the document,
    such as JSON_REPLACE(doc, '$.a', 5), and the bare name of a column that stays as it
    was. No document begins like either.

    Arguments:
        value: expression, the column's text.
        topic: name of the topic; that of the model by default.

    Returns:
        An expression of type string.
#}
{% macro mysql_json(value, topic=none) -%}
    {%- set declared = changefold.declared_topic(topic) if topic else changefold.topic_of_model() -%}
    {%- if declared and declared.protocol == 'canal_json' -%}
        if(
            {{ value }} rlike '^[ \t\r\n]*([{"0-9-]|\\[|(true|false|null)[ \t\r\n]*$|$)',
            {{ value }},
            null
        )
    {%- else -%}
        {{ value }}
    {%- endif -%}
{%- endmacro %}
