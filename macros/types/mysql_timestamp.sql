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
    {%- if wire_form() == 'connect' -%}
        {{ return('try_cast(' ~ value ~ ' as timestamp)') }}
    {%- elif wire_form() == 'simple' -%}
        {{ return(
            "try_cast(concat_ws(' ', get_json_object(" ~ value ~ ", '$.value'),"
            ~ " get_json_object(" ~ value ~ ", '$.location')) as timestamp)"
        ) }}
    {%- endif -%}
    {%- set zones = declared_topics() | selectattr('name', 'equalto', topic)
        | map(attribute='time_zone') | list -%}
    to_utc_timestamp(try_cast({{ value }} as timestamp), {{ sql_text((zones + ['UTC'])[0]) }})
{%- endmacro %}
