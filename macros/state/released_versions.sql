{#
    The schema versions that were described after some of their changes had come: these
    were pending, and are released.

    Arguments:
        batches: mapping topic -> batch up to which the caller has read; of other topics
            nothing was read.

    Returns:
        A list of mappings: kafka_topic, source_database, source_table, schema_version.
        Those whose changes the caller has passed over.
#}
{% macro released_versions(batches) %}
    {%- set relation = changefold.built_relation('schema_versions') -%}
    {%- set released = [] -%}
    {%- if relation and batches -%}
        {%- for row in adapter.query_once(
            'select kafka_topic, source_database, source_table, schema_version,'
            ~ ' changed_batch_id, described_batch_id from ' ~ relation
            ~ ' where described_batch_id > changed_batch_id order by all',
            changefold.snapshot_id(relation)
        ) if row.changed_batch_id | int <= batches.get(row.kafka_topic, -1)
            and batches[row.kafka_topic] < row.described_batch_id | int -%}
            {%- do released.append(row) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(released) }}
{% endmacro %}


{#
    Condition: the change was pending when `this` last counted, and is released.

    Returns:
        A condition on kafka_topic, source_database, source_table and schema_version.
#}
{% macro is_newly_released() -%}
    {%- set conditions = [] -%}
    {%- for row in changefold.released_versions(changefold.counted_batches_of_this()) -%}
        {%- do conditions.append(
            '(kafka_topic = ' ~ sql_text(row.kafka_topic)
            ~ ' and source_database = ' ~ sql_text(row.source_database)
            ~ ' and source_table = ' ~ sql_text(row.source_table)
            ~ ' and schema_version = ' ~ row.schema_version ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ (conditions | join(' or ') or 'false') ~ ')') }}
{%- endmacro %}


{#
    Condition: changes of the topic were pending when `this` last counted, and are released.

    Returns:
        A condition on kafka_topic.
#}
{% macro has_newly_released() -%}
    {%- set names = [] -%}
    {%- for row in changefold.released_versions(changefold.counted_batches_of_this()) -%}
        {%- do names.append(sql_text(row.kafka_topic)) -%}
    {%- endfor -%}
    {{ return('kafka_topic in (' ~ names | unique | join(', ') ~ ')' if names else 'false') }}
{%- endmacro %}
