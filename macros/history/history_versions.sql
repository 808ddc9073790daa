{#
    The versions of rows (SCD2) that changes make.

    At each change sequence the last event of a key decides what the row was from then
    on; a delete goes before an upsert of the same moment (a key swap sends both). A
    state equal to the one before it is no new version. In an increment, the version that
    the first change of a key meets takes part, and those after it, whose changes are
    applied again: so a change that comes late is put in its place. What is returned are
    the new versions and those that are others now. One of which only the end moves comes
    without its values (`_cdc_op` is null); one whose end equals its start has vanished.

    Arguments:
        changes: name of a relation: record (struct of the table's columns),
            conversion_failures, unknown_columns, row_hash, and the columns of `row_images`.
        columns: names of the table's columns.
        key_columns: names of those that identify a row.

    Returns:
        A `select`: the columns, valid_from, valid_to, is_current and bookkeeping.
#}
{% macro history_versions(changes, columns, key_columns) -%}
    {#- A key's column may have a name of ours: behind `key` it has none. -#}
    {%- set keys = [] -%}
    {%- for column in key_columns -%}{%- do keys.append(changefold.quoted('key ' ~ column)) -%}{%- endfor -%}
    {%- set keys_sql = keys | join(', ') -%}
    {%- set is_increment = changefold.is_increment() -%}
    {%- set is_unordered = changefold.moves_are_unordered() -%}
    with

    -- A struct holds what only travels along, under no name of ours.
    new_states as (

        select
            {% for column in key_columns %}record.{{ changefold.quoted(column) }} as {{ keys[loop.index0] }}, {% endfor -%}
            change_sequence,
            is_deleted,
            is_ddl,
            kafka_partition,
            kafka_offset,
            event_index,
            {%- if is_increment %}
            null as existing,
            {%- endif %}
            if(is_deleted, null, row_hash) as row_hash,
            struct(record, op, commit_ts, batch_id, conversion_failures, unknown_columns) as payload
            {%- if is_unordered %},
            ends_if_new
            {%- endif %}
        from {{ changes }}

    ),
    {%- if is_increment %}

    -- Without commit timestamps a whole millisecond is one moment.
    touched as (

        select
            {{ keys_sql }},
            min({{ changefold.moment_of('change_sequence') }}) as since
        from new_states
        group by {{ keys_sql }}

    ),

    existing as (

        select
            {% for column in key_columns %}history.{{ changefold.quoted(column) }} as {{ keys[loop.index0] }}, {% endfor -%}
            history._cdc_valid_from_sequence,
            history._cdc_valid_to_sequence,
            history._cdc_row_hash,
            history._cdc_batch_id,
            touched.since
        from {{ this }} as history
        inner join touched
            on {% for column in key_columns %}history.{{ changefold.quoted(column) }} <=> touched.{{ keys[loop.index0] }}{{ ' and ' if not loop.last }}{% endfor %}
        where
            ({{ changefold.may_be_touched() }})
            and coalesce(history._cdc_valid_to_sequence >= touched.since, true)

    ),
    {%- endif %}
    {%- if is_unordered %}

    told as (

        select new_states.* except (ends_if_new)
        from new_states
        {%- if is_increment %}
        left anti join existing
            on
                new_states.ends_if_new
                and existing._cdc_valid_from_sequence < existing.since
                {% for key in keys %}and new_states.{{ key }} <=> existing.{{ key }} {% endfor %}
        {%- endif %}

    ),
    {%- endif %}

    states as (

        select * from {{ 'told' if is_unordered else 'new_states' }}
        {%- if is_increment %}
        union all
        select
            {{ keys_sql }},
            _cdc_valid_from_sequence as change_sequence,
            false as is_deleted,
            false as is_ddl,
            -1 as kafka_partition,
            -1 as kafka_offset,
            0 as event_index,
            struct(_cdc_valid_to_sequence as valid_to, _cdc_row_hash as row_hash, _cdc_batch_id as batch_id)
                as existing,
            _cdc_row_hash as row_hash,
            null as payload
        from existing
        {%- endif %}

    ),

    -- One order for all that follows: it is shuffled and sorted once.
    in_order as (

        select
            *,
            lead(change_sequence) over (
                partition by {{ keys_sql }}
                order by
                    change_sequence,
                    is_ddl,
                    is_deleted desc,
                    kafka_offset,
                    kafka_partition,
                    event_index
            ) as later_sequence
        from states

    ),
    {%- if is_increment %}

    -- A change that is applied again stands at the moment of the version that it made.
    known as (

        select
            * except (existing),
            max(existing) over (partition by {{ keys_sql }}, change_sequence) as existing
        from in_order

    ),
    {%- endif %}

    followed as (

        select
            *,
            lead(is_deleted) over (
                partition by {{ keys_sql }}
                order by change_sequence
            ) as next_is_deleted,
            lead(change_sequence) over (
                partition by {{ keys_sql }}
                order by change_sequence
            ) as following_sequence
        from {{ 'known' if is_increment else 'in_order' }}
        where not (change_sequence <=> later_sequence)

    ),

    {%- if changefold.keys_may_shift() %}

    in_turn as (

        {{ changefold.without_ends_of_before('followed', keys_sql) }}

    ),
    {%- endif %}

    -- Without commit timestamps, a delete and an upsert of one millisecond are taken
    -- for the two halves of one change of a key, as a transaction sends them.
    compared as (

        select
            *,
            not (row_hash <=> lag(row_hash) over (
                partition by {{ keys_sql }}
                order by change_sequence
            )) as is_new_state
        from {{ 'in_turn' if changefold.keys_may_shift() else 'followed' }}
        where not coalesce(
            is_deleted
            and not next_is_deleted
            and {{ changefold.is_millisecond('change_sequence') }}
            and {{ changefold.moment_of('change_sequence') }} = {{ changefold.moment_of('following_sequence') }},
            false
        )

    ),

    bounded as (

        select
            *,
            lead(if(is_new_state, change_sequence, null)) ignore nulls over (
                partition by {{ keys_sql }}
                order by change_sequence
            ) as next_sequence
        from compared
        {%- if not is_increment %}
        where is_new_state
        {%- endif %}

    ),

    versions as (

        select
            {{ keys_sql }},
            payload,
            row_hash,
            change_sequence,
            {%- if is_increment %}
            if(is_new_state, next_sequence, change_sequence) as next_sequence
            {%- else %}
            next_sequence
            {%- endif %}
        from bounded
        where
            not is_deleted
            {%- if is_increment %}
            and if(
                existing is null,
                is_new_state,
                not is_new_state
                or not (existing.valid_to <=> next_sequence)
                or existing.row_hash <> row_hash
                or existing.batch_id <> coalesce(payload.batch_id, existing.batch_id)
            )
            {%- endif %}

    )

    select
        {% for column in columns -%}
        {{ changefold.quoted('key ' ~ column) if column in key_columns else 'payload.record.' ~ changefold.quoted(column) }} as {{ changefold.quoted(column) }},
        {% endfor -%}
        {{ changefold.sequence_timestamp('change_sequence') }} as valid_from,
        if(
            next_sequence is null,
            null,
            greatest(
                {{ changefold.sequence_timestamp('change_sequence') }},
                {{ changefold.sequence_timestamp('next_sequence') }}
            )
        ) as valid_to,
        next_sequence is null as is_current,
        change_sequence as _cdc_valid_from_sequence,
        next_sequence as _cdc_valid_to_sequence,
        payload.op as _cdc_op,
        payload.commit_ts as _cdc_commit_ts,
        payload.batch_id as _cdc_batch_id,
        payload.conversion_failures as _cdc_conversion_failures,
        payload.unknown_columns as _cdc_unknown_columns,
        row_hash as _cdc_row_hash
    from versions
{%- endmacro %}


{# A column's name as SQL. #}
{% macro quoted(name) -%}
    {{ return('`' ~ (name | replace('`', '``')) ~ '`') }}
{%- endmacro %}
