{{ config(severity='warn') }}

select
    kafka_topic,
    source_database,
    source_table,
    null_key_until as last_sequence
from {{ ref('source_tables') }}
where null_key_until is not null
