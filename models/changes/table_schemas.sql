{{ config(compared=true) }}

with

declared_types as (

    {{ declared_types_rows() }}

),

declared_topics as (

    {{ declared_topics_rows() }}

),

ddl_events as (

    select
        ddl_events.*,
        declared_topics.wire_form,
        declared_topics.time_zone,
        declared_topics.names_ignore_case as ignores_case,
        declared_topics.protocol <> 'canal_json' as is_of_tidb
    from {{ ref('judged_ddls') }} as ddl_events
    inner join declared_topics
        on ddl_events.kafka_topic = declared_topics.kafka_topic
    inner join {{ ref('resolved_cuts') }} as resolved_cuts
        on ddl_events.kafka_topic = resolved_cuts.kafka_topic
    where
        ddl_events.outcome <> 'discard'
        and (
            ddl_events.commit_ts is null
            or ddl_events.change_sequence < resolved_cuts.cut_sequence
        )

),

-- One text for each topic: DDLs depend on each other (a rename, a CREATE ... LIKE).
topics as (

    select
        kafka_topic,
        to_json(transform(
            array_sort(collect_list(struct(
                change_sequence,
                batch_id,
                kafka_partition,
                kafka_offset,
                source_database,
                source_table,
                ddl_sql,
                statement,
                table_schema,
                previous_table_schema,
                outcome,
                wire_form,
                time_zone,
                ignores_case,
                is_of_tidb,
                committed_at
            ))),
            event -> named_struct(
                'sequence', event.change_sequence,
                'database', event.source_database,
                'table', event.source_table,
                'sql', event.ddl_sql,
                'statement', event.statement,
                'is_ignored', event.outcome = 'ignore',
                'table_schema', event.table_schema,
                'previous_table_schema', event.previous_table_schema,
                'wire_form', event.wire_form,
                'time_zone', event.time_zone,
                'ignores_case', event.ignores_case,
                'is_of_tidb', event.is_of_tidb,
                'committed_ms', unix_millis(event.committed_at)
            )
        )) as ddl_events
    from ddl_events
    group by kafka_topic

),

-- What rows tell of their tables: by the versions that they name, as a DDL or a
-- bootstrap describes them.
described as (

    select
        schema_versions.kafka_topic,
        to_json(collect_list(named_struct(
            'table_schema', schema_versions.table_schema,
            'first_sequence', schema_versions.first_sequence
        ))) as table_schemas
    from {{ ref('schema_versions') }} as schema_versions
    inner join {{ ref('resolved_cuts') }} as resolved_cuts
        on schema_versions.kafka_topic = resolved_cuts.kafka_topic
    where
        schema_versions.table_schema is not null
        and schema_versions.first_sequence < resolved_cuts.cut_sequence
    group by schema_versions.kafka_topic

),

untyped_columns as (

    select
        kafka_topic,
        source_database,
        source_table,
        map_from_entries(collect_list(struct(source_column, read_as)))
            as column_types
    from {{ ref('untyped_columns') }}
    where read_as is not null
    group by kafka_topic, source_database, source_table

),

-- Or by the types that they name, and what the topic or other rows tell of those.
seen as (

    select
        row_schemas.kafka_topic,
        to_json(collect_list(named_struct(
            'database', row_schemas.source_database,
            'table', row_schemas.source_table,
            'sequence', row_schemas.first_sequence,
            'last_sequence', row_schemas.last_sequence,
            'column_types', transform_values(
                from_json(row_schemas.column_types, 'map<string, string>'),
                (name, type) -> coalesce(
                    try_element_at(declared_types.column_types, name),
                    if(
                        type = 'connect.untyped',
                        try_element_at(untyped_columns.column_types, name),
                        null
                    ),
                    type
                )
            ),
            'declared', map_keys(declared_types.column_types),
            'primary_key', from_json(row_schemas.primary_key, 'array<string>'),
            'leaves_out_generated', row_schemas.leaves_out_generated,
            'connector', row_schemas.connector,
            'untyped', map_keys(map_filter(
                from_json(row_schemas.column_types, 'map<string, string>'),
                (name, type) -> type = 'connect.untyped'
            ))
        ))) as row_schemas
    from {{ ref('row_schemas') }} as row_schemas
    left join declared_types
        on
            row_schemas.kafka_topic = declared_types.kafka_topic
            and row_schemas.source_database = declared_types.source_database
            and row_schemas.source_table = declared_types.source_table
    left join untyped_columns
        on
            row_schemas.kafka_topic = untyped_columns.kafka_topic
            and row_schemas.source_database = untyped_columns.source_database
            and row_schemas.source_table = untyped_columns.source_table
    group by row_schemas.kafka_topic

),

gathered as (

    select
        kafka_topic,
        ddl_events,
        cast(null as string) as table_schemas,
        cast(null as string) as row_schemas
    from topics
    union all
    select
        kafka_topic,
        cast(null as string) as ddl_events,
        table_schemas,
        cast(null as string) as row_schemas
    from described
    union all
    select
        kafka_topic,
        cast(null as string) as ddl_events,
        cast(null as string) as table_schemas,
        row_schemas
    from seen

),

folded as (

    select
        kafka_topic,
        {{ function('fold_table_schemas') }}(
            max(ddl_events), max(table_schemas), max(row_schemas)
        ) as versions
    from gathered
    group by kafka_topic

),

versions as (

    select
        kafka_topic,
        explode(from_json(versions, '{{ table_version_type() }}')) as version
    from folded

),

table_schemas as (

    select
        kafka_topic,
        version.table_uid,
        version.database as source_database,
        version.table as source_table,
        version.version as schema_version,
        version.valid_from_sequence,
        version.valid_to_sequence,
        version.is_dropped,
        version.is_complete,
        version.columns,
        version.key_columns,
        version.key_kind,
        version.unique_columns,
        version.ddl as ddl_sql,
        version.row_effect,
        version.image_changes,
        version.key_changed,
        version.partition_changes,
        version.previous_database,
        version.previous_table,
        version.reason,
        version.unknown_columns
    from versions

)

select * from table_schemas
