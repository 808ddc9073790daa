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
    error_class,
    count(*) as messages,
    min(kafka_offset) as first_offset,
    min(error_message) as example
from change_log
where
    event_kind = 'row'
    and error_class is not null
    and error_path like '$key%'
group by kafka_topic, record_topic, kafka_partition, error_class
