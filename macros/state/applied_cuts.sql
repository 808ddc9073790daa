{#
    The cut of each topic as the model `resolved_cuts` has it.

    Returns:
        A mapping topic -> {cut_sequence (none without watermarks), batch_id (the last
        one the log held then)}.
#}
{% macro applied_cuts() %}
    {%- set cuts = {} -%}
    {%- set relation = changefold.built_relation('resolved_cuts') -%}
    {%- if relation -%}
        {%- for row in adapter.query_once(
            'select kafka_topic, cut_sequence, batch_id from ' ~ relation,
            changefold.snapshot_id(relation)
        ) -%}
            {%- do cuts.update({row.kafka_topic: {
                'cut_sequence': row.cut_sequence, 'batch_id': row.batch_id | int,
            }}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(cuts) }}
{% endmacro %}
