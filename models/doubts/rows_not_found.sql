{#- Readers of published tables get rows, not what this project keeps of them. -#}
{{ config(published=false) }}

with

-- Of other tables no file is opened, as their rows have the copy 0.
missed as (

    select
        kafka_topic,
        table_uid,
        min(from_sequence) as since_sequence,
        max(from_sequence) as until_sequence,
        count(*) as rows_missed
    from {{ ref('row_versions') }}
    where
        row_copy < 0
        and ended_by = 'missed'
    group by kafka_topic, table_uid

),

rows_not_found as (

    select
        missed.kafka_topic,
        folded_tables.source_database,
        folded_tables.source_table,
        missed.table_uid,
        missed.since_sequence,
        missed.until_sequence,
        cast(null as string) as ddl_sql,
        'rows_not_found' as kind,
        if(
            cardinality(folded_tables.key_columns) = 0 or folded_tables.lacks_keys,
            concat(
                'Changes were to end rows that were not there as they say (',
                missed.rows_missed,
                '), in a table without a key: they are older than the topic, or left',
                ' over in another form'
            ),
            concat(
                'Changes lack the key of their row (',
                missed.rows_missed,
                '), and were made to none: they are in row_versions, ended_by missed'
            )
        ) as reason
    from missed
    inner join {{ ref('folded_tables') }} as folded_tables
        on
            missed.kafka_topic = folded_tables.kafka_topic
            and missed.table_uid = folded_tables.table_uid
            and missed.until_sequence > folded_tables.from_sequence
            and missed.until_sequence <= folded_tables.to_sequence

)

select * from rows_not_found
