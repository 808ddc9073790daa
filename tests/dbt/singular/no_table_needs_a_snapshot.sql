{{ config(severity='warn') }}

select
    kafka_topic,
    source_database,
    source_table,
    since_at,
    ddl_sql,
    kind,
    reason
from {{ ref('needs_snapshot') }}
where cleared_sequence is null
