with

followed as (

    select
        kafka_topic,
        table_uid,
        row_key,
        from_sequence,
        to_sequence,
        lead(from_sequence) over (
            partition by kafka_topic, table_uid, row_key, row_copy
            order by from_sequence
        ) as next_sequence
    from {{ ref('row_versions') }}
    where is_open or from_sequence < to_sequence

)

select * from followed
where next_sequence < coalesce(to_sequence, '~')
