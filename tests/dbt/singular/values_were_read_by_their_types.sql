{#-
    Types whose values are the same texts whether they were known or not, when the message
    was read: numbers that JSON has, texts, and instants in ISO 8601.
-#}
{%- set same_texts = [
    'tinyint', 'smallint', 'mediumint', 'int', 'bigint', 'float', 'double', 'year', 'bit[(]1[)]',
    'char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext', 'enum', 'set', 'json', 'timestamp',
    'connect[.](?:u?int[0-9]+|float[0-9]*|double|boolean|string|Year|Json|Xml|Uuid|Enum|EnumSet|Ltree'
    ~ '|Tsvector|Interval|IsoDate|IsoTime|IsoTimestamp|ZonedTime|ZonedTimestamp|untyped)',
] -%}
{%- set pattern = '^(?:' ~ same_texts | join('|') ~ ')(?![A-Za-z0-9])' -%}

with

row_schemas as (

    select * from {{ ref('row_schemas') }}

),

table_schemas as (

    select
        *,
        max_by(is_dropped, schema_version) over (partition by kafka_topic, table_uid)
            as is_gone
    from {{ ref('table_schemas') }}

),

untyped as (

    select
        kafka_topic,
        source_database,
        source_table,
        explode(map_keys(map_filter(
            from_json(column_types, 'map<string, string>'),
            (source_column, source_type) -> source_type = 'connect.untyped'
        ))) as source_column
    from row_schemas

),

described as (

    select
        kafka_topic,
        source_database,
        source_table,
        explode(columns) as described_column
    from table_schemas
    where not is_gone

),

typed as (

    select
        kafka_topic,
        source_database,
        source_table,
        described_column.name as source_column,
        described_column.type as source_type
    from described

)

select distinct
    typed.kafka_topic,
    typed.source_database,
    typed.source_table,
    typed.source_column,
    typed.source_type
from untyped
inner join typed
    on
        untyped.kafka_topic = typed.kafka_topic
        and untyped.source_database = typed.source_database
        and untyped.source_table = typed.source_table
        and untyped.source_column = typed.source_column
-- The types that rows told, they are read by.
left anti join {{ ref('untyped_columns') }} as untyped_columns
    on
        untyped.kafka_topic = untyped_columns.kafka_topic
        and untyped.source_database = untyped_columns.source_database
        and untyped.source_table = untyped_columns.source_table
        and untyped.source_column = untyped_columns.source_column
where typed.source_type not rlike {{ sql_text(pattern) }}
