{{ config(severity='warn') }}

with

resolved_cuts as (

    select * from {{ ref('resolved_cuts') }}

)

select
    kafka_topic,
    slowest_partition,
    cut_at,
    newest_watermark_at,
    messages_behind_a_gap
from resolved_cuts
where messages_behind_a_gap > 0
