{{ config(severity='warn') }}

with

balance as (

    select * from {{ ref('balance') }}

),

resolved_cuts as (

    select * from {{ ref('resolved_cuts') }}
    where cut_ts is null

)

select
    balance.kafka_topic,
    sum(balance.beyond_cut) as changes
from balance
inner join resolved_cuts on balance.kafka_topic = resolved_cuts.kafka_topic
group by balance.kafka_topic
having sum(balance.beyond_cut) > 0
