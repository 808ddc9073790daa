{{ config(compared=true) }}

with

table_schemas as (

    select
        *,
        cardinality(partition_changes) > 0 as has_partition_changes,
        map_from_arrays(columns.name, columns.original_default) as all_defaults
    from {{ ref('table_schemas') }}

),

counted as (

    select
        table_schemas.kafka_topic,
        table_schemas.table_uid,
        bool_or(source_tables.unavailable_until is not null) as lacks_values,
        bool_or(source_tables.null_key_until is not null) as has_null_keys
    from table_schemas
    inner join {{ ref('source_tables') }} as source_tables
        on
            table_schemas.kafka_topic = source_tables.kafka_topic
            and table_schemas.source_database = source_tables.source_database
            and table_schemas.source_table = source_tables.source_table
    group by table_schemas.kafka_topic, table_schemas.table_uid

),

tables as (

    select
        kafka_topic,
        table_uid,
        bool_or(has_partition_changes) as ends_partitions
    from table_schemas
    group by kafka_topic, table_uid

),

changing_columns as (

    select distinct
        kafka_topic,
        table_uid
    from {{ ref('column_moments') }}

),

moves as (

    select distinct
        kafka_topic,
        to_table_uid as table_uid,
        moved_at
    from {{ ref('row_moves') }}

),

moved as (

    select
        table_schemas.*,
        counted.lacks_values,
        cardinality(table_schemas.key_columns) = 0 or counted.has_null_keys
            as lacks_keys,
        max(coalesce(moves.moved_at, '')) over (
            partition by table_schemas.kafka_topic, table_schemas.table_uid
            order by table_schemas.schema_version
        ) as moved_at,
        max(if(table_schemas.key_changed, table_schemas.valid_from_sequence, '')) over (
            partition by table_schemas.kafka_topic, table_schemas.table_uid
            order by table_schemas.schema_version
        ) as key_since
    from table_schemas
    left join counted
        on
            table_schemas.kafka_topic = counted.kafka_topic
            and table_schemas.table_uid = counted.table_uid
    left join moves
        on
            table_schemas.kafka_topic = moves.kafka_topic
            and table_schemas.table_uid = moves.table_uid
            and table_schemas.valid_from_sequence = moves.moved_at

),

-- With what rows older than a column show of it.
defaulted as (

    select
        *,
        if(
            lacks_keys,
            map_entries(map_filter(all_defaults, (name, text) -> text is not null)),
            null
        ) as column_defaults
    from moved
    where not is_dropped

),

-- A row up to the sequence of a DDL has the table's name and key before it. Most DDLs
-- change neither.
versions as (

    select
        defaulted.*,
        tables.ends_partitions,
        struct(
            defaulted.source_database,
            defaulted.source_table,
            defaulted.key_columns,
            defaulted.column_defaults,
            defaulted.key_since,
            defaulted.moved_at
        ) as identity
    from defaulted
    inner join tables
        on
            defaulted.kafka_topic = tables.kafka_topic
            and defaulted.table_uid = tables.table_uid

),

compared as (

    select
        *,
        identity is distinct from lag(identity) over (
            partition by kafka_topic, table_uid
            order by valid_from_sequence
        ) as is_another
    from versions

),

numbered as (

    select
        *,
        count_if(is_another) over (
            partition by kafka_topic, table_uid
            order by valid_from_sequence
        ) as stretch
    from compared

),

stretches as (

    select
        kafka_topic,
        table_uid,
        source_database,
        source_table,
        key_columns,
        column_defaults,
        key_since,
        moved_at,
        any_value(lacks_values) as lacks_values,
        any_value(lacks_keys) as lacks_keys,
        any_value(ends_partitions) as ends_partitions,
        min(coalesce(valid_from_sequence, '')) as from_sequence,
        max(coalesce(valid_to_sequence, '~')) as to_sequence
    from numbered
    group by
        kafka_topic,
        table_uid,
        source_database,
        source_table,
        key_columns,
        column_defaults,
        key_since,
        moved_at,
        stretch

),

folded_tables as (

    select
        stretches.kafka_topic,
        stretches.table_uid,
        stretches.source_database,
        stretches.source_table,
        stretches.key_columns,
        stretches.column_defaults,
        stretches.key_since,
        stretches.moved_at,
        coalesce(stretches.lacks_values, false) as lacks_values,
        coalesce(stretches.lacks_keys, false) as lacks_keys,
        changing_columns.table_uid is not null as changes_columns,
        stretches.ends_partitions,
        stretches.from_sequence,
        stretches.to_sequence
    from stretches
    left join changing_columns
        on
            stretches.kafka_topic = changing_columns.kafka_topic
            and stretches.table_uid = changing_columns.table_uid

)

select * from folded_tables
