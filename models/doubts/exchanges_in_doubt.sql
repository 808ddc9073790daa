with

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

-- The table took rows of another one, which are in no message, if that was made in the
-- same commit.
exchanges as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as since_sequence,
        ddl_sql,
        explode(partition_changes.counterpart_uid) as counterpart_uid
    from table_schemas

),

exchanges_in_doubt as (

    select
        exchanges.kafka_topic,
        exchanges.source_database,
        exchanges.source_table,
        exchanges.table_uid,
        exchanges.since_sequence,
        exchanges.since_sequence as until_sequence,
        exchanges.ddl_sql,
        'ddl' as kind,
        'Which rows came is not known, as the other table was not there before it'
            as reason
    from exchanges
    left anti join table_schemas as counterparts
        on
            exchanges.kafka_topic = counterparts.kafka_topic
            and exchanges.counterpart_uid = counterparts.table_uid
            and exchanges.since_sequence
            > coalesce(counterparts.valid_from_sequence, '')
    where exchanges.counterpart_uid is not null

)

select * from exchanges_in_doubt
