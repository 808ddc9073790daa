{#
    A TIMESTAMP column: an instant, which Canal-JSON writes as a wall clock in the time
    zone of the changefeed without saying which, TiCDC's Simple protocol as an object
    with the zone, and Debezium in UTC. Null for zero dates.

    Arguments:
        value: expression, the column's text.
        topic: name of the topic; its declaration names the zone.

    Returns:
        An expression of type timestamp.
#}
{% macro mysql_timestamp(value, topic) -%}
    {%- set form = changefold.wire_form(topic) -%}
    {%- if form == 'connect' -%}
        {{ return('try_cast(' ~ value ~ ' as timestamp)') }}
    {%- elif form == 'simple' -%}
        {{ return(
            "try_cast(concat_ws(' ', get_json_object(" ~ value ~ ", '$.value'),"
            ~ " get_json_object(" ~ value ~ ", '$.location')) as timestamp)"
        ) }}
    {%- endif -%}
    {%- set declared = changefold.declared_topic(topic) -%}
    to_utc_timestamp(
        try_cast({{ value }} as timestamp),
        {{ sql_text(declared.time_zone if declared else 'UTC') }}
    )
{%- endmacro %}
