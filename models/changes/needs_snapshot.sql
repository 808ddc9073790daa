{{ config(materialized='view') }}

with

declared as (

    {{ declared_snapshots_rows() }}

),

declared_topics as (

    {{ declared_topics_rows() }}

),

judged_ddls as (

    select * from {{ ref('judged_ddls') }}

),

ddl_events as (

    select
        *,
        from_json(
            statement,
            'doubt string, tables array<struct<database: string, table: string>>'
        ) as told
    from judged_ddls
    where outcome not in ('discard', 'ignore')

),

source_tables as (

    select * from {{ ref('source_tables') }}

),

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

snapshot_readings as (

    select * from {{ ref('snapshot_readings') }}

),

-- With the columns that the table had before.
followed as (

    select
        *,
        lag(columns.name) over (
            partition by kafka_topic, table_uid
            order by schema_version
        ) as columns_before
    from table_schemas

),

-- What a version of a table leaves unknown: what its statement did to rows, what those
-- from before it have in a column, and what in a key that rows told of.
told_nothing_of as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as since_sequence,
        ddl_sql,
        explode(array_compact(array(
            if(
                row_effect = 'unknown',
                struct(
                    'ddl' as kind,
                    concat(
                        'What it did to rows is not known: ',
                        coalesce(reason, 'no reason')
                    ) as reason
                ),
                null
            ),
            if(
                size(unknown_columns) > 0,
                struct(
                    'column_values' as kind,
                    concat(
                        'No message tells of rows from before it what they have in ',
                        array_join(unknown_columns, ', ')
                    ) as reason
                ),
                null
            ),
            if(
                key_changed
                and not is_dropped
                and ddl_sql is null
                and size(array_except(key_columns, columns_before)) > 0
                and coalesce(size(unknown_columns), 0) <= 0,
                struct(
                    'key_values' as kind,
                    concat(
                        'Rows have the key ',
                        array_join(key_columns, ', '),
                        ', and no message tells which value of it those before have'
                    ) as reason
                ),
                null
            )
        ))) as doubt
    from followed

),

unknown_in_versions as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        since_sequence,
        ddl_sql,
        doubt.kind,
        doubt.reason
    from told_nothing_of

),

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

-- The rows of the other table are in no message, if it was made in the same commit.
unknown_exchanges as (

    select
        exchanges.kafka_topic,
        exchanges.source_database,
        exchanges.source_table,
        exchanges.table_uid,
        exchanges.since_sequence,
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

),

-- A binlog whose row image is not FULL, or a changefeed that selects columns, leaves
-- some out. The first and the last rows that name the same columns tell it exactly,
-- where no statement of their millisecond is between.
named_columns as (

    select
        kafka_topic,
        source_database,
        source_table,
        explode(array(first_sequence, last_sequence)) as since_sequence,
        transform(json_object_keys(column_types), name -> lower(name)) as named
    from {{ ref('row_schemas') }}
    where column_types not like '%"connect.%'

),

left_out as (

    select
        named_columns.kafka_topic,
        named_columns.source_database,
        named_columns.source_table,
        table_schemas.table_uid,
        named_columns.since_sequence,
        filter(
            table_schemas.columns,
            described -> described.is_in_rows
            and not array_contains(named_columns.named, lower(described.name))
        ) as missing
    from named_columns
    inner join table_schemas
        on
            named_columns.kafka_topic = table_schemas.kafka_topic
            and named_columns.source_database = table_schemas.source_database
            and named_columns.source_table = table_schemas.source_table
            and named_columns.since_sequence
            > coalesce(table_schemas.valid_from_sequence, '')
            and (
                table_schemas.ddl_sql is null
                or {{ moment_of('named_columns.since_sequence') }}
                > {{ moment_of("coalesce(table_schemas.valid_from_sequence, '')") }}
            )
            and named_columns.since_sequence
            <= coalesce(table_schemas.valid_to_sequence, '~')
            and not table_schemas.is_dropped

),

partial_rows as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        min(since_sequence) as since_sequence,
        max(since_sequence) as until_sequence,
        concat(
            'Rows leave out columns that the table has: ',
            array_join(transform(missing, described -> described.name), ', ')
        ) as reason
    from left_out
    where size(missing) > 0
    group by all

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
    from ddl_events
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
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        cast(null as string) as table_uid,
        begin_sequence as cleared_sequence
    from snapshot_readings
    where is_complete and (is_declared or follows_interrupted)

),

-- The rows of an XA transaction come when it is prepared, and no message tells which
-- they were when it is rolled back. So all tables are in doubt that had changes before,
-- since their rows were last known. The partitions of a topic have no order within a
-- second.
rolled_back as (

    select
        judged_ddls.kafka_topic,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.table_uid,
        judged_ddls.change_sequence as since_sequence,
        judged_ddls.ddl_sql
    from judged_ddls
    inner join declared_topics
        on judged_ddls.kafka_topic = declared_topics.kafka_topic
    inner join table_schemas
        on
            judged_ddls.kafka_topic = table_schemas.kafka_topic
            and judged_ddls.change_sequence
            > coalesce(table_schemas.valid_from_sequence, '')
            and judged_ddls.change_sequence
            <= coalesce(table_schemas.valid_to_sequence, '~')
            and not table_schemas.is_dropped
    inner join source_tables
        on
            table_schemas.kafka_topic = source_tables.kafka_topic
            and table_schemas.source_database = source_tables.source_database
            and table_schemas.source_table = source_tables.source_table
            and (
                judged_ddls.change_sequence > source_tables.first_sequence
                or (
                    declared_topics.partitions > 1
                    and judged_ddls.committed_at
                    = {{ sequence_timestamp('source_tables.first_sequence') }}
                )
            )
    left join known_again
        on
            table_schemas.kafka_topic = known_again.kafka_topic
            and (
                table_schemas.table_uid = known_again.table_uid
                or (
                    table_schemas.source_database = known_again.source_database
                    and table_schemas.source_table = known_again.source_table
                )
            )
            and judged_ddls.change_sequence > known_again.cleared_sequence
    where judged_ddls.event_type = 'XAROLLBACK'
    group by
        judged_ddls.kafka_topic,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.table_uid,
        judged_ddls.change_sequence,
        judged_ddls.ddl_sql
    having
        max(source_tables.last_sequence)
        > coalesce(max(known_again.cleared_sequence), '')

),

doubtful as (

    select * from unknown_in_versions
    union all
    select * from unknown_exchanges
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        since_sequence,
        cast(null as string) as ddl_sql,
        'key_form' as kind,
        reason
    from {{ ref('key_forms_in_doubt') }}
    union all
    select
        not_understood.kafka_topic,
        not_understood.source_database,
        not_understood.source_table,
        cast(null as string) as table_uid,
        not_understood.since_sequence,
        not_understood.ddl_sql,
        'ddl' as kind,
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
    union all
    select
        *,
        'xa_rollback' as kind,
        concat(
            'An XA ROLLBACK took back rows that had come before it, perhaps of this',
            ' table. Known again after a TRUNCATE or DROP, or when a copy of the table',
            ' has taken its place and the table itself is dropped'
        ) as reason
    from rolled_back
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        cast(null as string) as table_uid,
        begin_sequence as since_sequence,
        cast(null as string) as ddl_sql,
        'snapshot' as kind,
        concat(
            'The snapshot that read it did not end, and the next one brought no row',
            ' of it: rows may be missing, or left over'
        ) as reason
    from snapshot_readings
    where is_given_up

),

-- Some go on after what makes the rows known again.
going_on as (

    select
        *,
        'partial_rows' as kind
    from partial_rows
    union all
    select
        *,
        'rows_not_found' as kind
    from {{ ref('rows_not_found') }}

),

repeated as (

    select
        *,
        since_sequence as until_sequence
    from doubtful
    union all
    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        since_sequence,
        cast(null as string) as ddl_sql,
        kind,
        reason,
        until_sequence
    from going_on

),

needs_snapshot as (

    select
        repeated.kafka_topic,
        repeated.source_database,
        repeated.source_table,
        repeated.since_sequence,
        max(repeated.until_sequence) as until_sequence,
        {{ sequence_timestamp('repeated.since_sequence') }} as since_at,
        repeated.ddl_sql,
        repeated.kind,
        repeated.reason,
        min(known_again.cleared_sequence) as cleared_sequence
    from repeated
    left join known_again
        on
            repeated.kafka_topic = known_again.kafka_topic
            and (
                repeated.table_uid = known_again.table_uid
                or (
                    repeated.source_database = known_again.source_database
                    and repeated.source_table = known_again.source_table
                )
            )
            and repeated.until_sequence < known_again.cleared_sequence
    group by all

)

select * from needs_snapshot
