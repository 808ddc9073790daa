{{ config(severity='warn') }}

with

source_tables as (

    select * from {{ ref('source_tables') }}

)

-- Twenty digits of milliseconds, the stage, and the offset in nineteen.
select
    kafka_topic,
    source_database,
    source_table,
    changes
from source_tables
where last_sequence rlike '^[0-9]{20}[.][01][.][0-9]{19}@'
