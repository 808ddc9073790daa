{{ config(severity='warn') }}

with

log_positions as (

    select * from {{ ref('log_positions') }}

)

select
    kafka_topic,
    record_topic,
    kafka_partition,
    log,
    epoch_began.kafka_offset as since_offset,
    epoch_began.position as since_position
from log_positions
where
    epoch_began.epoch > 0
    and epoch_began.batch_id = batch_id
