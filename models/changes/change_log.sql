{{ config(
    materialized='append_log',
    partition_by=['kafka_topic', 'event_kind'],
    sorted_by='source_database, source_table, change_sequence',
    tblproperties={
        'write.distribution-mode': 'none',
        'write.spark.fanout.enabled': 'true',
        'write.parquet.row-group-size-bytes': '8388608',
        'changefold.order': 'of delivery',
    },
) }}

with

delivered as (

    select * from {{ ref('stg_ticdc_canal_json__events') }}
    where {{ is_unread() }}
    union all
    select * from {{ ref('stg_ticdc_simple__events') }}
    where {{ is_unread() }}
    union all
    select * from {{ ref('stg_debezium__events') }}
    where {{ is_unread() }}

),

-- In a compacted topic the last record of a key is the state of its row.
events as (

    {{ in_kafka_order('delivered') }}

),

counted as (

    {{ known_again('events') }}

),

identified as (

    select
        *,
        {{ log_order() }} as log_order,
        {{ event_identity() }} as identity
    from counted

),

-- What is already here, above the cut: only there can a change come again unknown.
known as (

    {{ known_identities() }}

),

gathered as (

    select
        *,
        false as is_known
    from identified
    union all
    select
        *,
        true as is_known
    from known

),

-- At-least-once: the first delivery counts, the others stay as marked, empty rows.
-- Which is the first is told by the offset; of rows without a key, which lie in any
-- partition, by the time of the record in Kafka.
-- Equal events have one place in the log's order, so one sort does for both. What came
-- below the cut is compared with the log afterwards (settle_late_changes).
numbered as (

    select
        *,
        row_number() over (
            partition by log_order, identity
            order by
                is_known desc,
                if(primary_key is null, kafka_timestamp, null) asc,
                change_sequence asc,
                record_topic asc,
                kafka_partition asc,
                kafka_offset asc,
                event_index asc
        ) > 1 and not counts_again or if({{ is_below_cut() }}, null, false)
            as is_duplicate
    from gathered

),

first_deliveries as (

    select * except (is_known, counts_again) from numbered
    where not is_known

),

logged as (

    select
        ---------- position
        kafka_topic,
        record_topic,
        kafka_partition,
        kafka_offset,
        event_index,
        {{ next_batch_id('batch_id') }} as batch_id,

        ---------- event
        event_kind,
        event_type,
        op,
        source_database,
        source_table,
        schema_version,
        is_duplicate,
        identity,
        log_order,

        ---------- time
        commit_ts,
        watermark_ts,
        {{ appended_sequence() }} as change_sequence,
        log_position,
        committed_at,
        emitted_at,
        kafka_timestamp,
        current_timestamp() as ingested_at,

        ---------- payload
        if(is_duplicate, null, before) as before,
        if(is_duplicate, null, after) as after,
        if(is_duplicate, null, unavailable_columns) as unavailable_columns,
        connector,
        if(is_duplicate, null, primary_key) as primary_key,
        if(is_duplicate, null, column_types) as column_types,
        ddl_sql,
        table_schema,
        previous_table_schema,

        ---------- what could not be read
        error_class,
        error_path,
        error_message,
        key,
        value,
        if(event_kind = 'invalid', '{{ adapter.release() }}', null) as parser_version,
        if(event_kind = 'invalid', current_timestamp(), null) as quarantined_at,
        0 as replays
    from first_deliveries

)

-- A history opens the row groups of its table, a run those that reach above the cut.
select * except (log_order) from logged
sort by log_order
