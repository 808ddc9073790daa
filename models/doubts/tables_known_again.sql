with

declared as (

    {{ declared_snapshots_rows() }}

),

tables_known_again as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as cleared_sequence
    from {{ ref('table_schemas') }}
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
    from {{ ref('snapshot_readings') }}
    where is_complete and (is_declared or follows_interrupted)

)

select * from tables_known_again
