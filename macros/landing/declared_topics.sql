{#
    The topics of the var `topics`, checked, with defaults filled in
    (python_udfs/changefold/declared_topics.py).

    Returns:
        A list of mappings: name, protocol, files, kafka, is_landed (by this project),
        max_offsets_per_run, partitions, time_zone, is_gapless,
        is_compacted, pending_holds_cut, has_watermarks, snapshots, types, keys,
        placeholder, names_ignore_case, pattern, databases, filter, filter_digest (changes when a rule of it does).

    Raises:
        An error that names the var and the topic.
#}
{% macro declared_topics() %}
    {%- set topics = adapter.call_python(
        'changefold.declared_topics.checked', var('topics', none), adapter.project_vars()
    ) -%}
    {%- for topic in topics -%}
        {%- if topic.kafka -%}
            {%- do topic.update({'partitions': changefold.partitions_in_kafka(topic.name)}) -%}
        {%- endif -%}
        {%- do topic.update({
            'filter_digest': adapter.call_python('changefold.changefeed.to_sql.digest', topic.filter)
                if execute and topic.filter else '',
        }) -%}
    {%- endfor -%}
    {{ return(topics) }}
{% endmacro %}


{#
    The declaration of a topic.

    Arguments:
        name: name of the topic.

    Returns:
        A mapping as of `declared_topics`, or none.
#}
{% macro declared_topic(name) %}
    {%- set found = changefold.declared_topics() | selectattr('name', 'equalto', name) | list -%}
    {{ return(found[0] if found else none) }}
{% endmacro %}


{#
    Condition: a Kafka record lies in a topic that a declaration stands for.

    Arguments:
        topic: mapping of `declared_topics`.
        column: expression, the topic of the record.

    Returns:
        A condition.
#}
{% macro is_in_topic(topic, column) -%}
    {%- if topic.pattern -%}
        {{ return(column ~ ' rlike ' ~ sql_text('^(?:' ~ topic.pattern ~ ')$')) }}
    {%- endif -%}
    {{ return(column ~ ' = ' ~ sql_text(topic.name)) }}
{%- endmacro %}
