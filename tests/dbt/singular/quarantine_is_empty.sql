{#
    The severity has to be `error` for `error_if` to be looked at; up to the threshold
    the outcome is a warning all the same.
#}
{{ config(
    severity='error',
    fail_calc='coalesce(sum(messages), 0)',
    warn_if='> 0',
    error_if='> ' ~ var('max_quarantined_messages'),
) }}

with

quarantined_messages as (

    select * from {{ ref('quarantined_messages') }}

)

select
    kafka_topic,
    error_class,
    count(*) as messages,
    min(error_message) as example
from quarantined_messages
group by kafka_topic, error_class
