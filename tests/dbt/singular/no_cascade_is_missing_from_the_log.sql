{#- What a foreign key says of itself, as the function parse_mysql_ddl tells it. -#}
{%- set foreign_key = 'struct<parent: struct<database: string, table: string>,'
    ~ ' on_delete: string, on_update: string>' -%}

{{ config(severity='warn') }}

with

declared_topics as (

    {{ declared_topics_rows() }}

),

actions as (

    select
        ddl_events.kafka_topic,
        ddl_events.change_sequence,
        explode(
            from_json(
                ddl_events.statement,
                'actions array<struct<action: string,'
                || ' table: struct<database: string, table: string>,'
                || ' foreign_keys: array<{{ foreign_key }}>,'
                || ' foreign_key: {{ foreign_key }},'
                || ' column: struct<foreign_key: {{ foreign_key }}>,'
                || ' columns: array<struct<foreign_key: {{ foreign_key }}>>>>'
            ).actions
        ) as ddl_action
    from {{ ref('ddl_events') }} as ddl_events
    inner join declared_topics
        on
            ddl_events.kafka_topic = declared_topics.kafka_topic
            and declared_topics.protocol = 'canal_json'

),

foreign_keys as (

    select
        kafka_topic,
        change_sequence,
        ddl_action.table.database as source_database,
        ddl_action.table.table as source_table,
        explode(
            concat(
                coalesce(ddl_action.foreign_keys, array()),
                array(ddl_action.foreign_key, ddl_action.column.foreign_key),
                coalesce(ddl_action.columns.foreign_key, array())
            )
        ) as foreign_key
    from actions

),

dropped as (

    select
        kafka_topic,
        change_sequence,
        ddl_action.table.database as source_database,
        ddl_action.table.table as source_table
    from actions
    where ddl_action.action = 'drop_table'

)

select
    foreign_keys.kafka_topic,
    foreign_keys.source_database,
    foreign_keys.source_table,
    foreign_keys.foreign_key.parent.database as parent_database,
    foreign_keys.foreign_key.parent.table as parent_table,
    min(foreign_keys.change_sequence) as since_sequence
from foreign_keys
left anti join dropped
    on
        foreign_keys.kafka_topic = dropped.kafka_topic
        and foreign_keys.source_database = dropped.source_database
        and foreign_keys.source_table = dropped.source_table
        and foreign_keys.change_sequence < dropped.change_sequence
where
    foreign_keys.foreign_key.on_delete in ('cascade', 'set null', 'set default')
    or foreign_keys.foreign_key.on_update in ('cascade', 'set null', 'set default')
group by
    foreign_keys.kafka_topic,
    foreign_keys.source_database,
    foreign_keys.source_table,
    foreign_keys.foreign_key.parent.database,
    foreign_keys.foreign_key.parent.table
