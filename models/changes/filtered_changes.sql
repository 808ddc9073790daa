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

filtered as (

    select
        filter_rule,
        source_database,
        source_table,
        op,
        change_sequence,
        commit_ts,
        committed_at,
        before,
        after,
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        event_index,
        batch_id,
        ingested_at
    from judged
    where filter_rule is not null

)

select * from filtered
