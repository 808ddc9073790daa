with

judged_ddls as (

    select
        kafka_topic,
        source_database,
        source_table,
        change_sequence,
        ddl_sql,
        filter_rule
    from {{ ref('judged_ddls') }}
    where outcome = 'stop'

)

select * from judged_ddls
