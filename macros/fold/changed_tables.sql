{#
    The tables that the last fold knew otherwise: under another name, by another key, or with
    other ends of all rows, or other types of values without one. A DDL that comes late, or a
    snapshot that is declared later, changes what was folded.

    What was known then is what `folded_tables` and `table_ends` had, as Iceberg and Delta
    keep it.

    Arguments:
        state: what `fold_state` returned, as far as it had got.

    Returns:
        A `select`: kafka_topic, table_uid, since (a change sequence; before it nothing is
        another).
#}
{% macro changed_tables(state) -%}
    {%- set tables = changefold._two_states('folded_tables', state) -%}
    {%- set ends = changefold._two_states('table_ends', state) -%}
    {%- if state.noted.folded_tables == state.note.folded_tables
        and state.noted.table_ends == state.note.table_ends -%}
    select
        kafka_topic,
        table_uid,
        from_sequence as since
    from {{ ref('changefold', 'folded_tables') }}
    where false
    {%- else -%}
    with

    stretches as (

        select
            kafka_topic,
            source_database,
            source_table,
            table_uid,
            if(
                bool_or(is_now) and bool_or(not is_now),
                nullif(min(to_sequence), max(to_sequence)),
                from_sequence
            ) as since,
            max(to_sequence) as to_sequence
        from ({{ tables }})
        group by
            kafka_topic,
            source_database,
            source_table,
            table_uid,
            key_columns,
            column_defaults,
            decimal_columns,
            moved_at,
            from_sequence

    ),

    changed_names as (

        select
            kafka_topic,
            source_database,
            source_table,
            min(since) as since
        from stretches
        where since is not null
        group by kafka_topic, source_database, source_table

    ),

    ends as (

        select
            kafka_topic,
            table_uid,
            end_sequence,
            bool_and(is_now) or bool_and(not is_now) as is_changed
        from ({{ ends }})
        group by
            kafka_topic,
            table_uid,
            end_sequence,
            kept_up_to,
            ended_by,
            partition_changes

    ),

    -- Rows without a schema, and those that leave out columns, from the first one on.
    read_otherwise as (

        select
            kafka_topic,
            table_uid,
            least(min(untyped_since), min(partial_since)) as since
        from ({{ tables }})
        group by kafka_topic, table_uid
        having
            array_sort(collect_set(struct(read_as, columns_left_out)) filter (where is_now))
            <> array_sort(collect_set(struct(read_as, columns_left_out)) filter (where not is_now))

    )

    select
        stretches.kafka_topic,
        stretches.table_uid,
        changed_names.since
    from stretches
    inner join changed_names
        on
            stretches.kafka_topic = changed_names.kafka_topic
            and stretches.source_database = changed_names.source_database
            and stretches.source_table = changed_names.source_table
            and stretches.to_sequence > changed_names.since
    union all
    select
        kafka_topic,
        table_uid,
        end_sequence as since
    from ends
    where is_changed
    union all
    select
        kafka_topic,
        table_uid,
        since
    from read_otherwise
    where since is not null
    {%- endif -%}
{%- endmacro %}


{# The rows of a table now and at the last fold, together. #}
{% macro _two_states(name, state) -%}
    select *, true as is_now from {{ ref('changefold', name) }}
    union all
    select *, false as is_now
    from {{ ref('changefold', name) }} version as of {{ state.noted.get(name) }}
{%- endmacro %}
