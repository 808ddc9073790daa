{{ config(severity='warn') }}

with

ddl_events as (

    select * from {{ ref('ddl_events') }}

),

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

doubtful as (

    select
        kafka_topic,
        source_database,
        source_table,
        change_sequence,
        ddl_sql,
        concat('The statement was not understood: ', coalesce(reason, 'no reason'))
            as problem
    from ddl_events
    where not coalesce(is_understood, false)
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        valid_from_sequence as change_sequence,
        ddl_sql,
        if(
            row_effect = 'partition',
            'Rows ended or moved with a partition, and no message names them',
            concat('What it did to rows is not known: ', coalesce(reason, 'no reason'))
        ) as problem
    from table_schemas
    where row_effect in ('partition', 'unknown')

)

select * from doubtful
