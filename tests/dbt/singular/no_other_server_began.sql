{{ config(severity='warn') }}

with

log_positions as (

    select * from {{ ref('log_positions') }}

)

select
    kafka_topic,
    log,
    epoch,
    min_by(
        struct(record_topic, kafka_partition, began.kafka_offset, began.position),
        began.kafka_timestamp
    ) as since
from log_positions
where epoch > 0
group by kafka_topic, log, epoch
having min(began.batch_id) = max(batch_id)
