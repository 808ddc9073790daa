{{ config(reads={'change_log': {'event_kind': ['ddl']}}) }}

with

previous as (

    {{ previous_rows({
        'kafka_topic': 'string',
        'source_database': 'string',
        'source_table': 'string',
        'change_sequence': 'string',
        'commit_ts': 'bigint',
        'committed_at': 'timestamp',
        'event_type': 'string',
        'ddl_sql': 'string',
        'table_schema': 'string',
        'previous_table_schema': 'string',
        'statement': 'string',
        'is_understood': 'boolean',
        'reason': 'string',
        'ddl_type': 'string',
        'identity': 'string',
        'kafka_partition': 'int',
        'kafka_offset': 'bigint',
        'batch_id': 'bigint',
    }) }}

),

change_log as (

    select * from {{ ref('change_log') }}
    where
        event_kind = 'ddl'
        and not is_duplicate

),

new_events as (

    select change_log.*
    from change_log
    left anti join previous on change_log.identity = previous.identity

),

parsed as (

    select
        *,
        {{ function('parse_mysql_ddl') }}(ddl_sql, source_database) as statement
    from new_events

),

read as (

    select
        *,
        from_json(statement, 'understood boolean, reason string, event_type string')
            as summary
    from parsed

),

ddl_events as (

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
        summary.understood as is_understood,
        summary.reason,
        summary.event_type as ddl_type,
        identity,
        kafka_partition,
        kafka_offset,
        batch_id
    from read
    union all
    select * from previous

)

select * from ddl_events
