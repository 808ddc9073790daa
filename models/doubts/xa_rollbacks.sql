with

declared_topics as (

    {{ declared_topics_rows() }}

),

judged_ddls as (

    select * from {{ ref('judged_ddls') }}
    where event_type = 'XAROLLBACK'

),

source_tables as (

    select * from {{ ref('source_tables') }}

),

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

tables_known_again as (

    select * from {{ ref('tables_known_again') }}

),

-- The rows of an XA transaction come when it is prepared, and no message tells which
-- they were when it is rolled back. So all tables are in doubt that had changes before,
-- since their rows were last known. The partitions of a topic have no order within a
-- second.
xa_rollbacks as (

    select
        judged_ddls.kafka_topic,
        table_schemas.source_database,
        table_schemas.source_table,
        table_schemas.table_uid,
        judged_ddls.change_sequence as since_sequence,
        judged_ddls.change_sequence as until_sequence,
        judged_ddls.ddl_sql,
        'xa_rollback' as kind,
        concat(
            'An XA ROLLBACK took back rows that had come before it, perhaps of this',
            ' table. Known again after a TRUNCATE or DROP, or when a copy of the table',
            ' has taken its place and the table itself is dropped'
        ) as reason
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
    left join tables_known_again as known_again
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

)

select * from xa_rollbacks
