{#- Of all connectors only those of Debezium read tables. -#}
{{ config(reads={'change_log': {
    'event_kind': [] if is_of_protocols(['debezium']) == 'false' else ['row'],
}}) }}

with

previous as (

    {{ previous_rows({
        'kafka_topic': 'string',
        'source_database': 'string',
        'source_table': 'string',
        'source_position': 'string',
        'first_sequence': 'string',
        'last_sequence': 'string',
        'begun_at': 'array<struct<change_sequence:string,sent_at:timestamp>>',
        'completed_at': 'array<struct<change_sequence:string,sent_at:timestamp>>',
        'ended_at': 'array<struct<change_sequence:string,sent_at:timestamp>>',
        'rows_read': 'bigint',
        'batch_id': 'bigint',
        'cut_sequence': 'string',
    }) }}

),

change_log as (

    select
        *,
        struct(
            change_sequence, coalesce(emitted_at, kafka_timestamp) as sent_at
        ) as place
    from {{ ref('change_log') }}
    where
        event_kind = 'row'
        and op = 'r'
        and event_type <> 'READ incremental'
        and not is_duplicate
        -- Rows of one snapshot have one position; without it nothing tells them.
        and {{ is_position('log_position.position') }}
        -- What one sent may be gone, so nothing follows from what is missing.
        and not {{ is_compacted() }}
        and {{ is_newly_arrived() }}

),

gathered as (

    select
        kafka_topic,
        source_database,
        source_table,
        log_position.position as source_position,
        change_sequence as first_sequence,
        change_sequence as last_sequence,
        if(
            event_type in ('READ first', 'READ first_in_data_collection'),
            array(place),
            array()
        ) as begun_at,
        if(
            event_type in ('READ last', 'READ last_in_data_collection'),
            array(place),
            array()
        ) as completed_at,
        if(event_type = 'READ last', array(place), array()) as ended_at,
        1 as rows_read,
        batch_id,
        cast(null as string) as cut_sequence
    from change_log
    union all
    select * from previous

),

snapshot_passes as (

    select
        kafka_topic,
        source_database,
        source_table,
        source_position,
        min(first_sequence) as first_sequence,
        max(last_sequence) as last_sequence,
        array_sort(array_distinct(flatten(collect_list(begun_at)))) as begun_at,
        array_sort(array_distinct(flatten(collect_list(completed_at)))) as completed_at,
        array_sort(array_distinct(flatten(collect_list(ended_at)))) as ended_at,
        sum(rows_read) as rows_read,
        max(max(batch_id)) over (partition by kafka_topic) as batch_id,
        cast(null as string) as cut_sequence
    from gathered
    group by kafka_topic, source_database, source_table, source_position

)

select * from snapshot_passes
