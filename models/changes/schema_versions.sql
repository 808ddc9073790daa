{%- set is_described = is_of_protocols(['ticdc_simple', 'ticdc_simple_avro']) -%}
{{ config(
    filtered=true,
    reads={'change_log': {
        'event_kind': [] if is_described == 'false' else ['row', 'ddl', 'bootstrap'],
    }},
) }}

with

previous as (

    {{ previous_rows({
        'kafka_topic': 'string',
        'source_database': 'string',
        'source_table': 'string',
        'schema_version': 'bigint',
        'table_schema': 'string',
        'described_by': 'string',
        'changes': 'bigint',
        'first_sequence': 'string',
        'changed_batch_id': 'bigint',
        'described_batch_id': 'bigint',
        'batch_id': 'bigint',
        'cut_sequence': 'string',
    }) }}

),

change_log as (

    select * from {{ ref('change_log') }}
    where
        event_kind in ('row', 'ddl', 'bootstrap')
        and {{ is_described }}
        and {{ is_newly_arrived() }}

),

-- A DDL describes the schema after it and the one before it.
descriptions as (

    select
        kafka_topic,
        event_type,
        batch_id,
        explode(array(table_schema, previous_table_schema)) as table_schema
    from change_log
    where event_kind in ('ddl', 'bootstrap')

),

described as (

    select
        *,
        from_json(table_schema, 'database string, table string, version bigint')
            as described
    from descriptions
    where table_schema is not null

),

gathered as (

    select
        kafka_topic,
        described.database as source_database,
        described.table as source_table,
        described.version as schema_version,
        table_schema,
        event_type as described_by,
        0 as changes,
        cast(null as string) as first_sequence,
        cast(null as bigint) as changed_batch_id,
        batch_id as described_batch_id,
        batch_id,
        cast(null as string) as cut_sequence
    from described
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        schema_version,
        cast(null as string) as table_schema,
        cast(null as string) as described_by,
        1 as changes,
        change_sequence as first_sequence,
        batch_id as changed_batch_id,
        cast(null as bigint) as described_batch_id,
        batch_id,
        cast(null as string) as cut_sequence
    from change_log
    where
        event_kind = 'row'
        and not is_duplicate
        and {{ refusing_rule() }} is null
    union all
    select * from previous

),

schema_versions as (

    select
        kafka_topic,
        source_database,
        source_table,
        schema_version,
        min_by(table_schema, batch_id) filter (where table_schema is not null)
            as table_schema,
        min_by(described_by, batch_id) filter (where table_schema is not null)
            as described_by,
        sum(changes) as changes,
        min(first_sequence) as first_sequence,
        min(changed_batch_id) as changed_batch_id,
        min(described_batch_id) as described_batch_id,
        max(max(batch_id)) over (partition by kafka_topic) as batch_id,
        cast(null as string) as cut_sequence
    from gathered
    group by kafka_topic, source_database, source_table, schema_version

)

select * from schema_versions
