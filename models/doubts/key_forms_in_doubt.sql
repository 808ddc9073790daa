with

table_schemas as (

    select
        *,
        lag(columns) over (
            partition by kafka_topic, table_uid
            order by schema_version
        ) as columns_before
    from {{ ref('table_schemas') }}

),

-- The columns that tell a row, of which rows brought another type.
retyped as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        valid_from_sequence as since_sequence,
        described.name,
        described.type,
        try_element_at(
            map_from_arrays(columns_before.name, columns_before.type), described.name
        ) as type_before
    from table_schemas
        lateral view explode(columns) as described
    where
        ddl_sql is null
        and not is_dropped
        and (
            array_contains(key_columns, described.name)
            or cardinality(key_columns) = 0
        )

),

key_forms_in_doubt as (

    select
        kafka_topic,
        source_database,
        source_table,
        table_uid,
        since_sequence,
        since_sequence as until_sequence,
        cast(null as string) as ddl_sql,
        'key_form' as kind,
        concat(
            'Rows bring ',
            name,
            ' in another form (',
            type_before,
            ', then ',
            type,
            '): those before are not found by it, and may be left over'
        ) as reason
    from retyped
    where
        type like 'connect.%'
        and type_before like 'connect.%'
        and not arrays_overlap(
            {{ forms_of_type('type') }},
            {{ forms_of_type('type_before') }}
        )

)

select * from key_forms_in_doubt
