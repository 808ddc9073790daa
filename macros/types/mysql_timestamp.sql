{#
    A TIMESTAMP column: an instant, which Canal-JSON writes as a wall clock in the time
    zone of the changefeed without saying which, TiCDC's Simple protocol as an object
    with the zone, and Debezium in UTC. Null for zero dates, and for a wall clock that
    comes twice or not at all, as clocks are put back or forward.

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
        {{ return(changefold.only_instant(
            'try_cast(get_json_object(' ~ value ~ ", '$.value') as timestamp)",
            'get_json_object(' ~ value ~ ", '$.location')",
            "try_cast(concat_ws(' ', get_json_object(" ~ value ~ ", '$.value'),"
            ~ ' get_json_object(' ~ value ~ ", '$.location')) as timestamp)"
        )) }}
    {%- endif -%}
    {%- set declared = changefold.declared_topic(topic) -%}
    {%- set zone = sql_text(declared.time_zone if declared else 'UTC') -%}
    {%- set clock = 'try_cast(' ~ value ~ ' as timestamp)' -%}
    {{ changefold.only_instant(
        clock, zone, 'to_utc_timestamp(' ~ clock ~ ', ' ~ zone ~ ')'
    ) }}
{%- endmacro %}


{#
    The instant of a wall clock; null if there are two, or none.

    Behind the first of two instants the clock is put back, three hours later at the latest.
    The distance to UTC that holds then gives the second one.

    Arguments:
        clock: expression, the wall clock as a timestamp.
        zone: expression, the name of its zone.
        first: expression, the first instant at which the clock shows it.

    Returns:
        An expression of type timestamp.
#}
{% macro only_instant(clock, zone, first) -%}
    {%- if zone == "'UTC'" -%}
        {{ return(first) }}
    {%- endif -%}
    {%- set later = '(' ~ first ~ ' + interval 3 hours)' -%}
    {%- set second = '(' ~ clock ~ ' - (from_utc_timestamp(' ~ later ~ ', ' ~ zone ~ ') - ' ~ later ~ '))' -%}
    if(
        from_utc_timestamp({{ first }}, {{ zone }}) = {{ clock }}
        and ({{ second }} = {{ first }} or from_utc_timestamp({{ second }}, {{ zone }}) <> {{ clock }}),
        {{ first }},
        null
    )
{%- endmacro %}
