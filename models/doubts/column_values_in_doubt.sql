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
                    'Rows bring columns in a type that tells nothing of values in the',
                    ' one before; unknown until a row is sent again: '
                ),
                'No message tells of rows from before it what they have in '
            ),
            array_join(unknown_columns, ', ')
        ) as reason
    from {{ ref('table_schemas') }}
    where size(unknown_columns) > 0

)

select * from column_values_in_doubt
