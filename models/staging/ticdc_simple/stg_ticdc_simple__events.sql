with

json_messages as (

    {{ raw_messages('ticdc_simple') }}

),

avro_messages as (

    {{ raw_messages('ticdc_simple_avro') }}

),

parsed as (

    select
        *,
        {{ function('parse_ticdc_simple') }}(value) as message
    from json_messages
    union all
    select
        *,
        {{ function('parse_ticdc_simple_avro') }}(value) as message
    from avro_messages

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
        message.event_kind,
        message.event_type,
        case message.event_type
            when 'INSERT' then 'c'
            when 'UPDATE' then 'u'
            when 'DELETE' then 'd'
        end as op,
        message.source_database,
        message.source_table,
        message.schema_version,

        ---------- time
        message.commit_ts,
        message.watermark_ts,
        lpad(cast(message.commit_ts as string), 20, '0') as change_sequence,
        {{ tso_timestamp('message.commit_ts') }} as committed_at,
        timestamp_millis(message.build_ts_ms) as emitted_at,
        kafka_timestamp,

        ---------- payload
        message.old as before,
        message.data as after,
        cast(null as string) as unavailable_columns,
        cast(null as string) as connector,
        cast(null as string) as primary_key,
        cast(null as string) as column_types,
        message.ddl_sql,
        message.table_schema,
        message.pre_table_schema as previous_table_schema,

        ---------- identity
        cast(null as string) as source_position,
        cast(
            null as struct<log: string, position: string, place: string, server: string>
        ) as log_position,

        ---------- what could not be read
        message.error.class as error_class,
        message.error.path as error_path,
        message.error.message as error_message,
        cast(null as binary) as key,
        if(message.event_kind = 'invalid', value, null) as value
    from parsed

)

select * from events
