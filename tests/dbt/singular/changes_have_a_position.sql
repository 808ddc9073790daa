{{ config(severity='warn') }}

with

source_tables as (

    select * from {{ ref('source_tables') }}

)

select
    kafka_topic,
    source_database,
    source_table,
    changes
from source_tables
where {{ lacks_position('last_sequence') }}
