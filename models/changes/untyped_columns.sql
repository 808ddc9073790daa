{{ config(materialized='ephemeral') }}

with

declared_types as (

    {{ declared_types_rows() }}

),

-- A type without what is said of the column: whether it may be null, its default.
named_types as (

    select
        kafka_topic,
        source_database,
        source_table,
        first_sequence,
        source_column,
        regexp_replace(named_type, '(?s)(?: NOT NULL)?(?: DEFAULT .*)?$', '')
            as source_type
    from {{ ref('row_schemas') }}
        lateral view
        explode(from_json(column_types, 'map<string, string>'))
        as source_column, named_type
    where column_types like '%"connect.%'

),

-- How many digits it has matters to no value.
read_alike as (

    select
        *,
        regexp_replace(
            source_type, '(?<=^connect[.](?:Decimal[(]|u?int))[0-9]+', ''
        ) as reading
    from named_types

),

gathered as (

    select
        kafka_topic,
        source_database,
        source_table,
        source_column,
        min(first_sequence) filter (where source_type = 'connect.untyped')
            as since_sequence,
        count(distinct nullif(reading, 'connect.untyped')) as readings,
        max_by(source_type, first_sequence) filter (
            where source_type <> 'connect.untyped'
        ) as last_type
    from read_alike
    group by kafka_topic, source_database, source_table, source_column

),

untyped_columns as (

    select
        gathered.kafka_topic,
        gathered.source_database,
        gathered.source_table,
        gathered.source_column,
        if(gathered.readings = 1, gathered.last_type, null) as read_as,
        gathered.since_sequence
    from gathered
    left join declared_types
        on
            gathered.kafka_topic = declared_types.kafka_topic
            and gathered.source_database = declared_types.source_database
            and gathered.source_table = declared_types.source_table
    where
        gathered.since_sequence is not null
        and gathered.readings > 0
        and not coalesce(
            map_contains_key(declared_types.column_types, gathered.source_column),
            false
        )

)

select * from untyped_columns
