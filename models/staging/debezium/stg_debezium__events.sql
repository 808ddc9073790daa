with

messages as (

    {{ raw_messages('debezium') }}

),

parsed as (

    select
        *,
        {{ function('parse_debezium') }}(
            key, value, declared_types, declared_options
        ) as message
    from messages

),

noticed as (

    select
        *,
        nullif({{ debezium_placeholder('message', 1) }}, '') as placeholder_column
    from parsed

),

located as (

    select
        *,
        {{ debezium_database('message', 'declared_databases') }} as source_database,
        {{ debezium_event_kind('message') }} as event_kind
    from noticed

),

events as (

    select
        ---------- position
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        0 as event_index,
        batch_id,

        ---------- event
        event_kind,
        case message.op
            when 'r' then concat_ws(' ', 'READ', message.snapshot)
            when 'c' then 'CREATE'
            when 'u' then 'UPDATE'
            when 'd' then 'DELETE'
            when 't' then 'TRUNCATE'
            else message.event_type
        end as event_type,
        if(event_kind = 'row', message.op, null) as op,
        source_database,
        message.source_table,
        cast(null as bigint) as schema_version,

        ---------- time: without watermarks nothing tells when a commit is complete
        if(has_watermarks, message.commit_ts, null) as commit_ts,
        message.watermark_ts,
        if(message.ordered_by = 'commit_ts', message.change_sequence, null)
            as change_sequence,
        timestamp_millis(message.source_ts_ms) as committed_at,
        -- A sample of Debezium's documentation has nanoseconds there, and nothing
        -- depends on it.
        timestamp_millis(if(message.ts_ms < 10000000000000, message.ts_ms, null))
            as emitted_at,
        kafka_timestamp,

        ---------- payload: of a deleted row, the key at least
        if(
            message.op = 'd' or event_kind = 'tombstone',
            coalesce(message.before, message.key),
            message.before
        ) as before,
        message.after,
        message.unavailable_columns,
        message.connector,
        message.primary_key,
        message.column_types,
        {{ debezium_ddl('message', 'source_database') }} as ddl_sql,
        cast(null as string) as table_schema,
        cast(null as string) as previous_table_schema,

        ---------- identity: where the source wrote it
        {{ debezium_source_position(
            'message',
            "concat_ws('/', record_topic, kafka_partition, kafka_offset)",
        ) }} as source_position,
        -- Of what is known again when it is sent again: any other message, sent again,
        -- would look like one of another server.
        if(
            event_kind in ('row', 'ddl'),
            {{ debezium_log_position('message') }},
            null
        ) as log_position,

        ---------- what could not be read
        coalesce(
            message.error.class,
            if(placeholder_column is null, null, 'like_a_placeholder')
        ) as error_class,
        coalesce(message.error.path, concat('$.after.', placeholder_column))
            as error_path,
        if(
            message.error.class is null and placeholder_column is not null,
            concat(
                'Expected a value of the source, got `',
                {{ debezium_placeholder('message', 2) }},
                '`'
            ),
            message.error.message
        ) as error_message,
        if(event_kind = 'invalid', key, null) as key,
        if(event_kind = 'invalid', value, null) as value
    from located

)

select * from events
