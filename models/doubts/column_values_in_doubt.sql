with

column_values_in_doubt as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as since_sequence,
        valid_from_sequence as until_sequence,
        ddl_sql,
        'column_values' as kind,
        concat(
            if(
                ddl_sql is null,
                concat(
                    'Since rows bring them, or in another type, no message tells of',
                    ' rows that are not sent again what they have in '
                ),
                'No message tells of rows from before it what they have in '
            ),
            array_join(unknown_columns, ', ')
        ) as reason
    from {{ ref('table_schemas') }}
    where size(unknown_columns) > 0

)

select * from column_values_in_doubt
