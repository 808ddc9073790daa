with

balance as (

    select
        kafka_topic,
        sum(applied) as applied
    from {{ ref('balance') }}
    group by kafka_topic

),

changes as (

    select
        kafka_topic,
        count(*) as changes
    from {{ ref('changes') }}
    group by kafka_topic

),

compared as (

    select
        coalesce(balance.kafka_topic, changes.kafka_topic) as kafka_topic,
        coalesce(balance.applied, 0) as applied,
        coalesce(changes.changes, 0) as changes
    from balance
    full outer join changes on balance.kafka_topic = changes.kafka_topic

)

select * from compared
where applied <> changes
