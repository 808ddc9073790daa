with

ticdc_messages as (

    {{ raw_messages('ticdc_canal_json') }}

),

canal_messages as (

    {{ raw_messages('canal_json') }}

),

messages as (

    select
        *,
        false as is_of_canal
    from ticdc_messages
    union all
    select
        *,
        true as is_of_canal
    from canal_messages

),

parsed as (

    select
        *,
        {{ function('parse_ticdc_canal_json') }}(value) as message
    from messages

),

-- One row per row of a message; a message without rows keeps one.
exploded as (

    select
        parsed.kafka_topic,
        parsed.record_topic,
        parsed.kafka_partition,
        parsed.kafka_offset,
        parsed.kafka_timestamp,
        parsed.batch_id,
        parsed.is_of_canal,
        parsed.value,
        parsed.message,
        coalesce(images.event_index, 0) as event_index,
        images.image
    from parsed
        lateral view outer
        posexplode(parsed.message.images) images as event_index, image

),

events as (

    select
        ---------- position
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        event_index,
        batch_id,

        ---------- event
        message.event_kind,
        message.event_type,
        case message.event_type
            when 'INSERT' then 'c'
            when 'UPDATE' then 'u'
            when 'DELETE' then 'd'
        end as op,
        message.source_database,
        message.source_table,
        cast(null as bigint) as schema_version,

        ---------- time
        message.commit_ts,
        message.watermark_ts,
        if(
            is_of_canal,
            null,
            {{ ticdc_sequence('message.commit_ts', 'message.es_ms', 'kafka_offset') }}
        ) as change_sequence,
        coalesce(
            {{ tso_timestamp('message.commit_ts') }},
            timestamp_millis(message.es_ms)
        ) as committed_at,
        timestamp_millis(message.ts_ms) as emitted_at,
        kafka_timestamp,

        ---------- payload: a DELETE carries the deleted row in `data`
        if(message.event_type = 'DELETE', image.data, image.old) as before,
        if(message.event_type = 'DELETE', null, image.data) as after,
        cast(null as string) as unavailable_columns,
        cast(null as string) as connector,
        message.primary_key,
        message.column_types,
        message.ddl_sql,
        cast(null as string) as table_schema,
        cast(null as string) as previous_table_schema,

        ---------- identity: Canal delivers its log in order
        cast(null as string) as source_position,
        if(
            is_of_canal and message.event_kind in ('row', 'ddl'),
            named_struct(
                'log', 'canal',
                'position',
                concat('m', lpad(cast(coalesce(message.ts_ms, 0) as string), 13, '0')),
                'place',
                coalesce(lpad(cast(message.batch_number as string), 19, '0'), ''),
                'server', cast(null as string)
            ),
            null
        ) as log_position,

        ---------- what could not be read
        message.error.class as error_class,
        message.error.path as error_path,
        message.error.message as error_message,
        cast(null as binary) as key,
        if(message.event_kind = 'invalid', value, null) as value
    from exploded

)

select * from events
