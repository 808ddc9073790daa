with

columns_left_out as (

    select * from {{ ref('columns_left_out') }}

),

partial_rows as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        min(since_sequence) as since_sequence,
        max(since_sequence) as until_sequence,
        cast(null as string) as ddl_sql,
        'partial_rows' as kind,
        concat(
            'Rows leave out columns that the table has, of which a row that was not',
            ' sent before with them has no known value: ',
            array_join(
                array_sort(array_distinct(flatten(collect_list(columns_left_out)))),
                ', '
            )
        ) as reason
    from columns_left_out
    group by kafka_topic, source_database, source_table, table_uid

)

select * from partial_rows
