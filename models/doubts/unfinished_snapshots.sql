with

unfinished_snapshots as (

    select
        kafka_topic,
        source_database,
        source_table,
        cast(null as string) as table_uid,
        begin_sequence as since_sequence,
        begin_sequence as until_sequence,
        cast(null as string) as ddl_sql,
        'snapshot' as kind,
        concat(
            'The snapshot that read it did not end, and the next one brought no row',
            ' of it: rows may be missing, or left over'
        ) as reason
    from {{ ref('snapshot_readings') }}
    where is_given_up

)

select * from unfinished_snapshots
