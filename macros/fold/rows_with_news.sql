{#
    The events of rows of which something is new, from the first new one on, and each
    row's version that stood before them, as an event of its own. What comes after a
    late change is folded again, as some of it may have left no version: an UPDATE to what
    was there. Where the whole log is folded, all events.

    Arguments:
        told: name of a relation: of_row, change_sequence, is_deleted, is_move,
            kafka_partition, kafka_offset, event_index, lacks_values, unavailable_columns,
            payload; is_news (the last fold did not have it).
        of_row: names of the columns that tell a row.

    Returns:
        A `select`: those columns without is_news, and since: what ended rows of the table
        before has been applied to them.
#}
{% macro rows_with_news(told, of_row) -%}
    {%- set columns = of_row + [
        'change_sequence', 'is_deleted', 'is_move', 'kafka_partition', 'kafka_offset',
        'event_index', 'lacks_values', 'unavailable_columns', 'payload',
    ] -%}
    {%- if not changefold.fold_goes_on() -%}
    select
        *,
        '' as since
    from {{ told }}
    {%- else -%}
    with

    touched as (

        {{ changefold._touched_rows(told, of_row) }}

    )

    select
        {%- for column in columns %}
        {{ told }}.{{ column }},
        {%- endfor %}
        touched.since
    from {{ told }}
    inner join touched
        on
            {% for column in of_row -%}
            {{ told }}.{{ column }} = touched.{{ column }}
            and {% endfor -%}
            {{ told }}.change_sequence >= touched.since
    union all
    select
        {%- for column in of_row %}
        versions.{{ column }},
        {%- endfor %}
        versions.from_sequence as change_sequence,
        false as is_deleted,
        false as is_move,
        -1 as kafka_partition,
        -1 as kafka_offset,
        0 as event_index,
        {{ changefold.some_values_lack() | lower }} as lacks_values,
        to_json(versions.unknown_columns) as unavailable_columns,
        struct(
            versions.op,
            versions.commit_ts,
            versions.batch_id,
            {{ 'versions.image' if changefold.some_values_lack() else 'cast(null as string) as image' }},
            versions.row_hash as known_hash
        ) as payload,
        touched.since
    from {{ this }} as versions
    inner join touched
        on
            {% for column in of_row -%}
            versions.{{ column }} = touched.{{ column }}
            and {% endfor -%}
            versions.from_sequence < touched.since
            and coalesce(versions.to_sequence >= touched.since, true)
    where {{ changefold.may_be_met('versions') }}
    {%- endif %}
{%- endmacro %}


{# The rows of which something is new, and since when. #}
{% macro _touched_rows(told, of_row) -%}
    {%- set changed = changefold.fold_state().news | selectattr('changed_since') | list -%}
    with

    {% if changed -%}
    changed as (

        select
            kafka_topic,
            table_uid,
            min(since) as since
        from values
            {%- for row in changed %}
            ({{ sql_text(row.kafka_topic) }}, {{ sql_text(row.table_uid) }}, {{ sql_text(row.changed_since) }})
            {{- ',' if not loop.last }}
            {%- endfor %}
            as tables (kafka_topic, table_uid, since)
        group by kafka_topic, table_uid

    ),

    {% endif -%}
    news as (

        select
            {%- for column in of_row %}
            {{ column }},
            {%- endfor %}
            change_sequence as since
        from {{ told }}
        where is_news
        {%- for source, last in [(told, 'change_sequence'), (this, 'to_sequence')] if changed %}
        union all
        select
            {%- for column in of_row %}
            versions.{{ column }},
            {%- endfor %}
            changed.since
        from {{ source }} as versions
        inner join changed
            on
                versions.kafka_topic = changed.kafka_topic
                and versions.table_uid = changed.table_uid
                and coalesce(versions.{{ last }} >= changed.since, true)
        {%- if source == this %}
        where {{ changefold.may_be_met('versions') }}
        {%- endif %}
        {%- endfor %}

    )

    select
        {{ of_row | join(',\n        ') }},
        min({{ changefold.moment_of('since') }}) as since
    from news
    group by {{ of_row | join(', ') }}
{%- endmacro %}


{#
    Versions of rows, to be merged into those that `row_versions` has; and those that it
    has which are no versions any more, to be voided: they end where they begin.

    Arguments:
        versions: name of a relation, as `row_versions`, with is_known (the version stood
            there before what is new).
        told: as of `rows_with_news`.
        of_row: names of the columns that tell a row.

    Returns:
        A `select` of the relation's columns.
#}
{% macro with_voided_versions(versions, told, of_row) -%}
    {%- if not changefold.fold_goes_on() -%}
    select * except (is_known) from {{ versions }}
    {%- else -%}
    with

    touched as (

        {{ changefold._touched_rows(told, of_row) }}

    ),

    gathered as (

        select
            *,
            false as is_void
        from {{ versions }}
        union all
        select
            {%- for column in of_row %}
            met.{{ column }},
            {%- endfor %}
            met.from_sequence,
            met.from_sequence as to_sequence,
            false as is_open,
            met.valid_from,
            met.valid_from as valid_to,
            met.op,
            'void' as ended_by,
            met.commit_ts,
            met.batch_id,
            met.image,
            met.unknown_columns,
            met.row_hash,
            met.folded_batch,
            {{ changefold.fold_state().number }} as ended_batch,
            true as is_known,
            true as is_void
        from {{ this }} as met
        inner join touched
            on
                {% for column in of_row -%}
                met.{{ column }} = touched.{{ column }}
                and {% endfor -%}
                met.from_sequence >= touched.since
        where
            {{ changefold.may_be_met('met') }}
            and {{ changefold.begins_since_news('met') }}

    ),

    ranked as (

        select
            *,
            row_number() over (
                partition by {{ of_row | join(', ') }}, from_sequence
                order by is_void
            ) as place
        from gathered

    )

    select * from ranked
    where place = 1
    {%- endif %}
{%- endmacro %}
