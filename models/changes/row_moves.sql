with

table_schemas as (

    select * from {{ ref('table_schemas') }}

),

row_moves as (

    select
        kafka_topic,
        table_uid as from_table_uid,
        table_uid as to_table_uid,
        valid_from_sequence as moved_at
    from table_schemas
    where
        not is_dropped
        and row_effect <> 'close_all'
        and (
            key_changed
            or cardinality(filter(
                image_changes,
                change -> (
                    change.kind = 'retyped'
                    and change.changes_text
                    and change.from_type is not null
                )
                or (
                    change.kind in ('dropped', 'renamed')
                    and cardinality(key_columns) = 0
                )
            )) > 0
        )
    union
    select
        kafka_topic,
        table_uid as from_table_uid,
        change.counterpart_uid as to_table_uid,
        valid_from_sequence as moved_at
    from table_schemas
        lateral view explode(partition_changes) as change
    where change.counterpart_uid is not null

)

select * from row_moves
