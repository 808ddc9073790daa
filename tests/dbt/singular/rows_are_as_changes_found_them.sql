{{ config(severity='warn') }}

select
    kafka_topic,
    source_database,
    source_table,
    kind,
    changes,
    first_row_key,
    first_sequence
from {{ ref('disagreements') }}
where not is_in_doubt
