{{ config(severity='warn') }}

with

waiting as (

    select
        kafka_topic,
        waits_for,
        count(*) as changes,
        max(waiting_hours) as waiting_hours
    from {{ ref('pending_changes') }}
    group by kafka_topic, waits_for

)

select *
from waiting
where waiting_hours >= {{ var('pending_warn_hours') }}
