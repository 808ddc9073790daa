{{ config(materialized='view') }}

with

declared as (

    {{ declared_snapshots_rows() }}

),

ddl_events as (

    select * from {{ ref('judged_ddls') }}
    where outcome not in ('discard', 'ignore')

),

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

-- What a DDL did to rows, the generated models note where its text does not tell it.
noted as (

    {{ ddls_of_models() }}

),

unknown_effects as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as since_sequence,
        ddl_sql,
        concat('What it did to rows is not known: ', coalesce(reason, 'no reason'))
            as reason
    from table_schemas
    where row_effect = 'unknown'

),

-- Of rows from before a statement nobody tells what they have in a column.
unknown_values as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as since_sequence,
        ddl_sql,
        concat(
            'No message tells of rows from before it what they have in ',
            array_join(unknown_columns, ', ')
        ) as reason
    from table_schemas
    where size(unknown_columns) > 0

),

doubtful as (

    select * from unknown_effects
    union all
    select * from unknown_values
    union all
    select
        ddl_events.kafka_topic,
        ddl_events.source_database,
        ddl_events.source_table,
        cast(null as string) as table_uid,
        ddl_events.change_sequence as since_sequence,
        ddl_events.ddl_sql,
        concat(
            'The statement was not understood: ',
            coalesce(ddl_events.reason, 'no reason')
        ) as reason
    from ddl_events
    left anti join unknown_effects
        on
            ddl_events.kafka_topic = unknown_effects.kafka_topic
            and ddl_events.change_sequence = unknown_effects.since_sequence
    where not coalesce(ddl_events.is_understood, false)
    union all
    select
        table_schemas.kafka_topic,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.table_uid,
        table_schemas.valid_from_sequence as since_sequence,
        table_schemas.ddl_sql,
        noted.reason
    from table_schemas
    inner join noted
        on
            table_schemas.kafka_topic = noted.kafka_topic
            and table_schemas.valid_from_sequence = noted.ddl_sequence
    where
        (
            table_schemas.partition_changes <> '[]'
            or table_schemas.key_changed
            or size(table_schemas.key_columns) = 0
        )
        and noted.reason <> ''

),

-- What makes all rows of a table known again.
known_again as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as cleared_sequence
    from table_schemas
    where row_effect = 'close_all'
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        cast(null as string) as table_uid,
        snapshot_sequence as cleared_sequence
    from declared

),

needs_snapshot as (

    select
        doubtful.kafka_topic,
        doubtful.source_database,
        doubtful.source_table,
        doubtful.since_sequence,
        {{ sequence_timestamp('doubtful.since_sequence') }} as since_at,
        doubtful.ddl_sql,
        doubtful.reason,
        min(known_again.cleared_sequence) as cleared_sequence
    from doubtful
    left join known_again
        on
            doubtful.kafka_topic = known_again.kafka_topic
            and (
                doubtful.table_uid = known_again.table_uid
                or (
                    doubtful.source_database = known_again.source_database
                    and doubtful.source_table = known_again.source_table
                )
            )
            and doubtful.since_sequence < known_again.cleared_sequence
    group by all

)

select * from needs_snapshot
