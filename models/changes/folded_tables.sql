{{ config(compared=true) }}
-- Debezium's types whose values may stand with more digits behind the point, or less.
{%- set types_with_a_fraction -%}
    ^connect[.](?:Decimal|VariableScaleDecimal|float|double|[A-Za-z]*Time(?:stamp)?)
{%- endset %}

with

table_schemas as (

    select
        *,
        cardinality(partition_changes) > 0 as has_partition_changes,
        map_from_arrays(columns.name, columns.original_default) as all_defaults,
        filter(
            columns,
            described -> described.type rlike '{{ types_with_a_fraction }}'
        ).name as all_decimal_columns
    from {{ ref('table_schemas') }}

),

counted as (

    select
        table_schemas.kafka_topic,
        table_schemas.table_uid,
        bool_or(source_tables.unavailable_until is not null) as lacks_values,
        bool_or(source_tables.null_key_until is not null) as has_null_keys,
        bool_or(source_tables.row_before_since is not null)
        and not bool_or(source_tables.no_row_before_until is not null)
            as tells_row_before
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

untyped as (

    select
        kafka_topic,
        source_database,
        source_table,
        to_json(map_from_entries(
            array_sort(collect_list(struct(source_column, read_as)))
        )) as read_as,
        min(since_sequence) as untyped_since
    from {{ ref('untyped_columns') }}
    group by kafka_topic, source_database, source_table

),

left_out as (

    select
        kafka_topic,
        table_uid,
        is_unchanged,
        collect_set(lower(name)) as lowered_names,
        min(since_sequence) as partial_since
    from {{ ref('columns_left_out') }}
        lateral view explode(columns_left_out) as name
    group by kafka_topic, table_uid, is_unchanged

),

columns_in_time as (

    select
        kafka_topic,
        table_uid,
        described.column_id,
        described.name,
        {{ moment_of("min(coalesce(valid_from_sequence, ''))") }} as from_moment,
        max(coalesce(valid_to_sequence, '~')) as to_sequence
    from table_schemas
        lateral view explode(columns) as described
    group by kafka_topic, table_uid, described.column_id, described.name

),

partial as (

    select
        left_out.kafka_topic,
        left_out.table_uid,
        left_out.is_unchanged,
        left_out.partial_since,
        array_sort(collect_list(struct(
            columns_in_time.name,
            columns_in_time.from_moment,
            columns_in_time.to_sequence
        ))) as columns_left_out
    from left_out
    inner join columns_in_time
        on
            left_out.kafka_topic = columns_in_time.kafka_topic
            and left_out.table_uid = columns_in_time.table_uid
            and array_contains(left_out.lowered_names, lower(columns_in_time.name))
    group by
        left_out.kafka_topic,
        left_out.table_uid,
        left_out.is_unchanged,
        left_out.partial_since

),

changed_tables as (

    select distinct
        kafka_topic,
        table_uid
    from table_schemas
    where schema_version > 1

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
        counted.tells_row_before,
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

-- With what rows older than a column show of it, and how the values that tell a row
-- are read.
told_apart as (

    select
        *,
        if(
            lacks_keys,
            map_entries(map_filter(all_defaults, (name, text) -> text is not null)),
            null
        ) as column_defaults,
        if(
            lacks_keys,
            all_decimal_columns,
            array_intersect(all_decimal_columns, key_columns)
        ) as decimal_columns
    from moved
    where not is_dropped

),

-- A row up to the sequence of a DDL has the table's name and key before it. Most DDLs
-- change neither.
versions as (

    select
        told_apart.*,
        tables.ends_partitions,
        struct(
            told_apart.source_database,
            told_apart.source_table,
            told_apart.key_columns,
            told_apart.column_defaults,
            told_apart.decimal_columns,
            told_apart.key_since,
            told_apart.moved_at
        ) as identity
    from told_apart
    inner join tables
        on
            told_apart.kafka_topic = tables.kafka_topic
            and told_apart.table_uid = tables.table_uid

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
        decimal_columns,
        key_since,
        moved_at,
        any_value(lacks_values) as lacks_values,
        any_value(lacks_keys) as lacks_keys,
        any_value(tells_row_before) as tells_row_before,
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
        decimal_columns,
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
        stretches.decimal_columns,
        stretches.key_since,
        stretches.moved_at,
        coalesce(stretches.lacks_values or partial.is_unchanged, false) as lacks_values,
        coalesce(stretches.lacks_keys, false) as lacks_keys,
        changed_tables.table_uid is not null as changes_columns,
        coalesce(stretches.tells_row_before, false) as tells_row_before,
        stretches.ends_partitions,
        untyped.read_as,
        untyped.untyped_since,
        partial.columns_left_out,
        partial.is_unchanged as keeps_left_out,
        partial.partial_since,
        stretches.from_sequence,
        stretches.to_sequence
    from stretches
    left join untyped
        on
            stretches.kafka_topic = untyped.kafka_topic
            and stretches.source_database = untyped.source_database
            and stretches.source_table = untyped.source_table
    left join partial
        on
            stretches.kafka_topic = partial.kafka_topic
            and stretches.table_uid = partial.table_uid
    left join changed_tables
        on
            stretches.kafka_topic = changed_tables.kafka_topic
            and stretches.table_uid = changed_tables.table_uid

)

select * from folded_tables
