{{ config(materialized='view') }}

with

ddl_events as (

    select * from {{ ref('ddl_events') }}

),

-- A rename is judged by the names before it.
named as (

    select
        *,
        ddl_type = 'rename table' as is_rename,
        if(
            ddl_type = 'rename table',
            coalesce(
                from_json(previous_table_schema, 'database string').database,
                from_json(
                    statement, 'actions array<struct<table: struct<database: string>>>'
                ).actions[0].table.database
            ),
            source_database
        ) as judged_database,
        if(
            ddl_type = 'rename table',
            from_json(
                statement, 'actions array<struct<table: struct<table: string>>>'
            ).actions[0].table.table,
            source_table
        ) as judged_table
    from ddl_events

),

ruled as (

    select
        *,
        {{ ddl_refusing_rule('judged_database', 'judged_table') }} as refused_by,
        {{ ddl_refusing_rule('source_database', 'source_table') }} as target_refused_by,
        {{ ddl_ignoring_rule('judged_database', 'judged_table') }} as ignored_by,
        {{ has_filter() }} as has_filter
    from named

),

outcomes as (

    select
        *,
        case
            when not has_filter then 'send'
            when is_understood and ddl_type is null then 'discard'
            when is_rename and refused_by is not null and target_refused_by is null
                then 'stop'
            when refused_by is not null then 'discard'
            when ignored_by is not null then 'ignore'
            else 'send'
        end as outcome
    from ruled

),

judged_ddls as (

    select
        kafka_topic,
        source_database,
        source_table,
        change_sequence,
        commit_ts,
        committed_at,
        event_type,
        ddl_sql,
        table_schema,
        previous_table_schema,
        statement,
        is_understood,
        reason,
        ddl_type,
        identity,
        kafka_partition,
        kafka_offset,
        batch_id,
        outcome,
        case
            when outcome = 'ignore' then ignored_by
            when outcome = 'discard' and is_understood and ddl_type is null
                then 'not replicated'
            when outcome <> 'send' then refused_by
        end as filter_rule
    from outcomes

)

select * from judged_ddls
