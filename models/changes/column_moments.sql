with

declared_topics as (

    {{ declared_topics_rows() }}

),

table_schemas as (

    select
        *,
        lag(columns.column_id) over (
            partition by kafka_topic, table_uid
            order by schema_version
        ) as ids_before,
        map_from_arrays(columns.column_id, columns.original_default) as defaults_by_id
    from {{ ref('table_schemas') }}

),

told as (

    select
        kafka_topic,
        table_uid,
        valid_from_sequence as since,
        change.column_id,
        change.kind,
        change.from_name,
        change.to_name,
        change.from_type,
        change.to_type,
        try_element_at(defaults_by_id, change.column_id) as default_value,
        coalesce(change.value_accuracy, 'exact') as value_accuracy,
        change.to_charset
    from table_schemas
        lateral view explode(image_changes) as change
    where change.kind <> 'retyped' or change.changes_text

),

-- Rows show of such a column what they show of one that holds null.
revealed as (

    select
        kafka_topic,
        table_uid,
        valid_from_sequence as since,
        revealed.column_id,
        'added' as kind,
        cast(null as string) as from_name,
        revealed.name as to_name,
        cast(null as string) as from_type,
        revealed.type as to_type,
        cast(null as string) as default_value,
        'exact' as value_accuracy,
        cast(null as string) as to_charset
    from table_schemas
        lateral view explode(columns) as revealed
    where
        ddl_sql is null
        and not array_contains(ids_before, revealed.column_id)
        and not array_contains(image_changes.column_id, revealed.column_id)

),

gathered as (

    select * from told
    union all
    select * from revealed

),

column_moments as (

    select
        gathered.*,
        declared_topics.wire_form
    from gathered
    inner join declared_topics
        on gathered.kafka_topic = declared_topics.kafka_topic

)

select * from column_moments
