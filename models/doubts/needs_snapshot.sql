{{ config(materialized='view') }}

with

-- One model for each kind, all with the same columns.
doubts as (

    select * from {{ ref('ddls_in_doubt') }}
    union all
    select * from {{ ref('exchanges_in_doubt') }}
    union all
    select * from {{ ref('column_values_in_doubt') }}
    union all
    select * from {{ ref('key_values_in_doubt') }}
    union all
    select * from {{ ref('key_forms_in_doubt') }}
    union all
    select * from {{ ref('partial_rows') }}
    union all
    select * from {{ ref('rows_not_found') }}
    union all
    select * from {{ ref('unfinished_snapshots') }}
    union all
    select * from {{ ref('xa_rollbacks') }}

),

needs_snapshot as (

    select
        doubts.kafka_topic,
        doubts.source_database,
        doubts.source_table,
        doubts.since_sequence,
        max(doubts.until_sequence) as until_sequence,
        {{ sequence_timestamp('doubts.since_sequence') }} as since_at,
        doubts.ddl_sql,
        doubts.kind,
        doubts.reason,
        min(tables_known_again.cleared_sequence) as cleared_sequence
    from doubts
    left join {{ ref('tables_known_again') }} as tables_known_again
        on
            doubts.kafka_topic = tables_known_again.kafka_topic
            and (
                doubts.table_uid = tables_known_again.table_uid
                or (
                    doubts.source_database = tables_known_again.source_database
                    and doubts.source_table = tables_known_again.source_table
                )
            )
            and doubts.until_sequence < tables_known_again.cleared_sequence
    group by all

)

select * from needs_snapshot
