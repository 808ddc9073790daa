{{ config(materialized='view') }}

with

-- Rules about values are written by the types that a table's columns had.
-- depends_on: {{ ref('table_schemas') }}
judged as (

    select
        *,
        coalesce(refused_by, {{ refusing_value_rule() }}) as filter_rule
    from {{ ref('resolved_changes') }}

),

changes as (

    select
        ---------- change
        source_database,
        source_table,
        schema_version,
        op,
        change_sequence,
        commit_ts,
        committed_at,
        emitted_at,

        ---------- payload
        before,
        after,
        before_sent,
        unavailable_columns,
        connector,
        primary_key,
        column_types,

        ---------- position
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        event_index,
        kafka_timestamp,
        batch_id,
        ingested_at
    from judged
    where filter_rule is null

)

select * from changes
