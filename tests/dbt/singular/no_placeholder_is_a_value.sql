{{ config(severity='warn') }}

with

change_log as (

    select * from {{ ref('change_log') }}
    where {{ is_of_protocols(['debezium']) }}

)

select
    kafka_topic,
    record_topic,
    kafka_partition,
    error_path,
    error_message,
    count(*) as messages,
    min(kafka_offset) as first_offset
from change_log
where
    event_kind = 'row'
    and error_class = 'like_a_placeholder'
group by kafka_topic, record_topic, kafka_partition, error_path, error_message
