{#
    Events, those of compacted topics in the order in which Kafka has them.

    Compaction keeps the last record of a key, so in such a topic that record is the state
    of the row, wherever the source wrote it: what a connector sends again after a restart
    ends where it had been. A tombstone may be all that is left of a delete, so it deletes;
    its table is that of the rows of its topic, if these are of one. The time of a change
    is that of its record in Kafka, or of one before it, if the clock went back. What has
    no key is never compacted away, and stays as it was.

    Arguments:
        events: name of a relation with the columns of the staging models.

    Returns:
        A `select` with the same columns.
#}
{% macro in_kafka_order(events) -%}
    {%- if changefold.is_compacted() == 'false' -%}
    select * from {{ events }}
    {%- else -%}
    {#- What has a commit timestamp waits for the cut, which is one of the source. -#}
    {%- set is_in_kafka_order = changefold.is_compacted() ~ ' and commit_ts is null' -%}
    {%- set replaced = {
        'event_kind': ['is_delete', "'row'"],
        'event_type': ['is_delete', "'TOMBSTONE'"],
        'op': ['is_delete', "'d'"],
        'source_database': ['is_delete', 'first_table.source_database'],
        'source_table': ['is_delete', 'first_table.source_table'],
        'change_sequence': ['is_delete or has_key', 'sequence_in_kafka'],
        'source_position': ['is_delete or has_key', 'place_in_kafka'],
        'log_position': ['is_delete or has_key', 'null'],
    } -%}
    with

    read_before as (

        {{ changefold.read_before_batch() }}

    ),

    known_tables as (

        select
            kafka_topic,
            record_topic,
            min(first_table) as known_first,
            max(last_table) as known_last
        from read_before
        group by kafka_topic, record_topic

    ),

    typed as (

        select
            *,
            if(event_kind = 'row', struct(source_database, source_table), null) as own_table
        from {{ events }}
        where {{ is_in_kafka_order }}

    ),

    placed as (

        select
            typed.*,
            greatest(
                max(unix_millis(kafka_timestamp)) over (
                    partition by kafka_topic, record_topic, kafka_partition
                    order by kafka_offset
                ),
                read_before.reached_ms
            ) as reached_ms,
            least(
                min(own_table) over (partition by kafka_topic, record_topic), known_first
            ) as first_table,
            greatest(
                max(own_table) over (partition by kafka_topic, record_topic), known_last
            ) as last_table
        from typed
        left join read_before using (kafka_topic, record_topic, kafka_partition)
        left join known_tables using (kafka_topic, record_topic)

    ),

    told as (

        select
            *,
            event_kind = 'tombstone'
            and coalesce(first_table = last_table, false) as is_delete,
            event_kind = 'row' and primary_key is not null as has_key,
            concat_ws('/', record_topic, kafka_partition, kafka_offset) as place_in_kafka,
            {{ changefold.log_sequence(
                '0',
                "lpad(cast(reached_ms as string), 13, '0')",
                'null',
                "''",
                'kafka_partition',
                'kafka_offset',
                'coalesce(unix_millis(committed_at), reached_ms)',
            ) }} as sequence_in_kafka
        from placed

    )

    select
        {%- for column in changefold.event_columns() %}
        {% if column in replaced -%}
        if({{ replaced[column] | join(', ') }}, {{ column }}) as {{ column }}
        {%- else -%}
        {{ column }}
        {%- endif -%}
        {{ ',' if not loop.last }}
        {%- endfor %}
    from told
    union all
    select * from {{ events }}
    where not ({{ is_in_kafka_order }})
    {%- endif -%}
{%- endmacro %}


{#
    What `watermarks` and, after a kill, later batches of the log tell of each partition.

    Returns:
        A `select`: kafka_topic, record_topic, kafka_partition, reached_ms, first_table,
        last_table.
#}
{% macro read_before_batch() -%}
    {%- set table_type = 'struct<source_database: string, source_table: string>' -%}
    {%- set change_log = none if flags.FULL_REFRESH else changefold.built_relation('change_log') -%}
    {%- set watermarks = changefold.built_relation('watermarks') if change_log else none -%}
    with

    places as (

        {% if watermarks -%}
        select
            kafka_topic,
            record_topic,
            kafka_partition,
            last_timestamp,
            first_table,
            last_table
        from {{ watermarks }}
        {%- else -%}
        select
            cast(null as string) as kafka_topic,
            cast(null as string) as record_topic,
            cast(null as int) as kafka_partition,
            cast(null as timestamp) as last_timestamp,
            cast(null as {{ table_type }}) as first_table,
            cast(null as {{ table_type }}) as last_table
        where false
        {%- endif %}
        {%- if change_log %}
        union all
        select
            kafka_topic,
            record_topic,
            kafka_partition,
            kafka_timestamp as last_timestamp,
            if(event_kind = 'row', struct(source_database, source_table), null)
                as first_table,
            if(event_kind = 'row', struct(source_database, source_table), null)
                as last_table
        from {{ change_log }}
        where {{ changefold.is_of_later_batch(changefold.counted_batches()) }}
        {%- endif %}

    )

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        unix_millis(max(last_timestamp)) as reached_ms,
        min(first_table) as first_table,
        max(last_table) as last_table
    from places
    group by kafka_topic, record_topic, kafka_partition
{%- endmacro %}
