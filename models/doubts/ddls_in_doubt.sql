with

judged_ddls as (

    select
        *,
        from_json(
            statement,
            'doubt string, tables array<struct<database: string, table: string>>'
        ) as told
    from {{ ref('judged_ddls') }}
    where outcome not in ('discard', 'ignore')

),

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

-- By the tables that the statement itself names: its message may name none, and a
-- statement that names none asks nothing of anyone.
named as (

    select
        kafka_topic,
        source_database,
        source_table,
        change_sequence as since_sequence,
        ddl_sql,
        if(
            is_understood,
            concat('What it did to rows is not known: ', told.doubt),
            concat('The statement was not understood: ', coalesce(reason, 'no reason'))
        ) as reason,
        explode(
            if(
                coalesce(size(told.tables), 0) > 0,
                told.tables,
                array(named_struct('database', source_database, 'table', source_table))
            )
        ) as named_table
    from judged_ddls
    where
        not coalesce(is_understood, false)
        or told.doubt is not null

),

not_understood as (

    select
        kafka_topic,
        since_sequence,
        ddl_sql,
        reason,
        if(
            lower(named_table.database) = lower(source_database)
            and lower(named_table.table) = lower(source_table),
            source_database,
            named_table.database
        ) as source_database,
        if(
            lower(named_table.database) = lower(source_database)
            and lower(named_table.table) = lower(source_table),
            source_table,
            named_table.table
        ) as source_table
    from named
    where named_table.table <> ''

),

doubts as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as since_sequence,
        ddl_sql,
        concat(
            'What it did to rows is not known: ', coalesce(reason, 'no reason')
        ) as reason
    from table_schemas
    where row_effect = 'unknown'
    union all
    select
        not_understood.kafka_topic,
        not_understood.source_database,
        not_understood.source_table,
        cast(null as string) as table_uid,
        not_understood.since_sequence,
        not_understood.ddl_sql,
        not_understood.reason
    from not_understood
    left anti join table_schemas
        on
            not_understood.kafka_topic = table_schemas.kafka_topic
            and not_understood.since_sequence = table_schemas.valid_from_sequence
            and lower(not_understood.source_database)
            = lower(table_schemas.source_database)
            and lower(not_understood.source_table) = lower(table_schemas.source_table)
            and table_schemas.row_effect = 'unknown'

),

ddls_in_doubt as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        since_sequence,
        since_sequence as until_sequence,
        ddl_sql,
        'ddl' as kind,
        reason
    from doubts

)

select * from ddls_in_doubt
