with

table_schemas as (

    select
        *,
        lag(columns.name) over (
            partition by kafka_topic, table_uid
            order by schema_version
        ) as columns_before
    from {{ ref('table_schemas') }}

),

key_values_in_doubt as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as since_sequence,
        valid_from_sequence as until_sequence,
        cast(null as string) as ddl_sql,
        'key_values' as kind,
        concat(
            'Rows have the key ',
            array_join(key_columns, ', '),
            ', and no message tells which value of it those before have'
        ) as reason
    from table_schemas
    where
        key_changed
        and not is_dropped
        and ddl_sql is null
        and size(array_except(key_columns, columns_before)) > 0
        and coalesce(size(unknown_columns), 0) <= 0

)

select * from key_values_in_doubt
