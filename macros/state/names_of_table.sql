{#
    The names that the changes of a generated model's table bear, over time.

    Returns:
        A list of mappings: database, table, and, for a table that was renamed or whose
        name another table had, since and until: the sequences of the DDLs that gave
        the name (exclusive) and took it (inclusive).
#}
{% macro names_of_table() %}
    {{ return(config.get('names_over_time') or [{
        'database': config.get('source_database'), 'table': config.get('source_table'),
    }]) }}
{% endmacro %}


{#
    Condition: the change is one of the model's table.

    Arguments:
        names: names over time as `names_of_table` returns them; those of the model by
            default.

    Returns:
        A condition on kafka_topic, source_database, source_table and change_sequence.
#}
{% macro is_of_table(names=none) -%}
    {%- set conditions = [] -%}
    {%- for name in names or changefold.names_of_table() -%}
        {%- set parts = [
            'source_database = ' ~ sql_text(name.database),
            'source_table = ' ~ sql_text(name.table),
        ] -%}
        {%- if name.since -%}
            {%- do parts.append("change_sequence > '" ~ name.since ~ "'") -%}
        {%- endif -%}
        {%- if name.until -%}
            {%- do parts.append("change_sequence <= '" ~ name.until ~ "'") -%}
        {%- endif -%}
        {%- do conditions.append(parts | join(' and ')) -%}
    {%- endfor -%}
    kafka_topic = {{ sql_text(config.get('topic')) }}
        and ({{ conditions[0] if conditions | length == 1 else '(' ~ conditions | join(') or (') ~ ')' }})
{%- endmacro %}


{#
    Whether something of a topic and a name concerns the model's table.

    Arguments:
        row: a mapping with kafka_topic, source_database and source_table.
        sequence: when it was; without, any time at which the name can still change.

    Returns:
        A bool.
#}
{% macro bears_name(row, sequence=none) %}
    {%- for name in changefold.names_of_table()
        if row.kafka_topic == config.get('topic')
        and row.source_database == name.database
        and row.source_table == name.table -%}
        {%- if sequence is none
            or ((not name.since or sequence > name.since)
            and (not name.until or sequence <= name.until)) -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}
