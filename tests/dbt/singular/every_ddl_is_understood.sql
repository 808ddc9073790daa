{{ config(severity='warn') }}

{#-
    The DDLs that the generated models act on, a row each, with a reason where a model
    could only note them; one without a topic keeps the list from being empty.
-#}
{%- set rows = ["('', '', '')"] -%}
{%- for node in (graph.nodes.values() if execute else [])
    if node.resource_type == 'model' and node.config.get('source_table') -%}
    {%- set unknown = node.config.meta.get('needs_snapshot') or {} -%}
    {%- set noted = modules.re.findall("'([0-9]{13,20}[.0-9]*)'", node.raw_code) -%}
    {%- for sequence in (noted + unknown.keys() | list) | unique -%}
        {%- do rows.append(
            '(' ~ sql_text(node.config.get('topic'))
            ~ ', ' ~ sql_text(sequence)
            ~ ', ' ~ sql_text(unknown.get(sequence, '')) ~ ')'
        ) -%}
    {%- endfor -%}
{%- endfor %}

with

known as (

    select
        kafka_topic,
        ddl_sequence,
        max(reason) as reason
    from
        values
        {{ rows | join(',\n        ') }}
            as model_list (kafka_topic, ddl_sequence, reason)
    group by kafka_topic, ddl_sequence

),

ddl_events as (

    select * from {{ ref('ddl_events') }}

),

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

doubtful as (

    select
        kafka_topic,
        source_database,
        source_table,
        change_sequence,
        ddl_sql,
        concat('The statement was not understood: ', coalesce(reason, 'no reason'))
            as problem
    from ddl_events
    where not coalesce(is_understood, false)
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        valid_from_sequence as change_sequence,
        ddl_sql,
        concat('What it did to rows is not known: ', coalesce(reason, 'no reason'))
            as problem
    from table_schemas
    where row_effect = 'unknown'
    union all
    select
        table_schemas.kafka_topic,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.valid_from_sequence as change_sequence,
        table_schemas.ddl_sql,
        if(
            known.reason is null,
            'It ended or moved rows, and the model does not know it: run `make models`',
            known.reason
        ) as problem
    from table_schemas
    left join known
        on
            table_schemas.kafka_topic = known.kafka_topic
            and table_schemas.valid_from_sequence = known.ddl_sequence
    where
        table_schemas.partition_changes <> '[]'
        and coalesce(known.reason, 'unknown') <> ''

)

select * from doubtful
