{#
    The events of rows of which something is new, from the first new one on, and each
    row's version that stood before them, as an event of its own. What comes after a
    late change is folded again, as some of it may have left no version: an UPDATE to what
    was there. Where the whole log is folded, all events.

    Arguments:
        told: name of a relation: of_row, row_copy, change_sequence, is_deleted, is_move,
            kafka_partition, kafka_offset, event_index, lacks_values, unavailable_columns,
            payload; is_news (the last fold did not have it).
        of_row: names of the columns that tell a row from those that differ from it.
        fold: what `fold_state` returned.

    Returns:
        A `select`: those columns without is_news, and since: what ended rows of the table
        before has been applied to them.
#}
{% macro rows_with_news(told, of_row, fold) -%}
    {%- set columns = of_row + [
        'row_copy', 'change_sequence', 'is_deleted', 'is_move', 'kafka_partition', 'kafka_offset',
        'event_index', 'lacks_values', 'unavailable_columns', 'payload',
    ] -%}
    {%- if not fold.goes_on -%}
    select
        *,
        '' as since
    from {{ told }}
    {%- else -%}
    with

    {% if fold.changed -%}
    changed as (

        {{ changefold._changed_since(fold) }}

    ),

    timed as (

        select
            {{ told }}.*,
            least(
                {{ changefold._first_news(fold) }} over (
                    partition by {{ told }}.{{ of_row | join(', ' ~ told ~ '.') }}
                ),
                changed.since
            ) as since
        from {{ told }}
        left join changed
            on
                {{ told }}.kafka_topic = changed.kafka_topic
                and {{ told }}.table_uid = changed.table_uid

    ),
    {%- else -%}
    timed as (

        select
            *,
            {{ changefold._first_news(fold) }} over (partition by {{ of_row | join(', ') }})
                as since
        from {{ told }}

    ),
    {%- endif %}

    met as (

        {{ changefold._met_versions(told, of_row, fold) }}

    )

    select
        {{ columns | join(',\n        ') }},
        since
    from timed
    where change_sequence >= since
    union all
    select
        {{ of_row | join(',\n        ') }},
        row_copy,
        from_sequence as change_sequence,
        false as is_deleted,
        false as is_move,
        -1 as kafka_partition,
        -1 as kafka_offset,
        0 as event_index,
        {{ fold.lacks_values | lower }} as lacks_values,
        to_json(unknown_columns) as unavailable_columns,
        struct(
            op,
            commit_ts,
            batch_id,
            {{ 'image' if fold.lacks_values or fold.changes_columns or fold.ends_partitions else 'cast(null as string) as image' }},
            row_hash as known_hash,
            unknown_columns,
            cast(null as array<bigint>) as before_hashes
        ) as payload,
        since
    from met
    where from_sequence < since
    {%- endif %}
{%- endmacro %}


{#
    The moment of the first change of a row that is new, as an aggregate; behind a DDL that
    moved rows, the change itself.
#}
{% macro _first_news(fold) -%}
    min(if(is_news, {{ 'change_sequence' if fold.moves_before else changefold.moment_of('change_sequence') }}, null))
{%- endmacro %}


{# The tables of which something is known otherwise, and since when: from `fold_state`. #}
{% macro _changed_since(fold) -%}
    select
        kafka_topic,
        table_uid,
        min({{ 'since' if fold.moves_before else changefold.moment_of('since') }}) as since
    from values
        {%- for row in fold.changed %}
        ({{ sql_text(row.kafka_topic) }}, {{ sql_text(row.table_uid) }}, {{ sql_text(row.changed_since) }})
        {{- ',' if not loop.last }}
        {%- endfor %}
        as tables (kafka_topic, table_uid, since)
    group by kafka_topic, table_uid
{%- endmacro %}


{# The versions that are not ended where something of their row is new, with since. #}
{% macro _met_versions(told, of_row, fold) -%}
    {%- set has_changed = fold.changed -%}
    with

    touched as (

        select
            {{ of_row | join(',\n            ') }},
            {{ changefold._first_news(fold) }} as since
        from {{ told }}
        where is_news
        group by {{ of_row | join(', ') }}

    ),

    {% if has_changed -%}
    changed as (

        {{ changefold._changed_since(fold) }}

    ),

    {% endif -%}
    compared as (

        select
            versions.*,
            {{ 'least(touched.since, changed.since)' if has_changed else 'touched.since' }} as since
        from {{ this }} as versions
        {{ 'left' if has_changed else 'inner' }} join touched
            on
                {% for column in of_row -%}
                versions.{{ column }} = touched.{{ column }}{{ ' and ' if not loop.last }}
                {%- endfor %}
        {%- if has_changed %}
        left join changed
            on
                versions.kafka_topic = changed.kafka_topic
                and versions.table_uid = changed.table_uid
        {%- endif %}
        where {{ changefold.may_be_met(fold, 'versions') }}

    )

    select * from compared
    where
        since is not null
        and (is_open or to_sequence >= since)
{%- endmacro %}


{#
    Versions of rows, to be merged into those that `row_versions` has; and those that it
    has which are no versions any more, to be voided: they end where they begin.

    Arguments:
        versions: name of a relation, as `row_versions`, with is_known (the version stood
            there before what is new).
        told: as of `rows_with_news`.
        of_row: names of the columns that tell a row.
        fold: what `fold_state` returned.

    Returns:
        A `select` of the relation's columns.
#}
{% macro with_voided_versions(versions, told, of_row, fold) -%}
    {%- if not fold.goes_on -%}
    select * except (is_known) from {{ versions }}
    {%- elif not changefold.has_later_versions(fold) -%}
    select * from {{ versions }}
    {%- else -%}
    {%- set of_version = of_row + ['row_copy', 'from_sequence'] -%}
    with

    met as (

        {{ changefold._met_versions(told, of_row, fold) }}

    ),

    gathered as (

        select
            *,
            false as is_void
        from {{ versions }}
        union all
        select
            {%- for column in of_version %}
            {{ column }},
            {%- endfor %}
            from_sequence as to_sequence,
            false as is_open,
            valid_from,
            valid_from as valid_to,
            op,
            'void' as ended_by,
            commit_ts,
            batch_id,
            image,
            unknown_columns,
            row_hash,
            disagreement,
            key_since,
            folded_batch,
            cast({{ fold.number }} as bigint) as ended_batch,
            true as is_known,
            true as is_void
        from met
        where
            from_sequence >= since
            and (is_open or to_sequence > from_sequence or row_copy < 0)
            and ended_by is distinct from 'void'

    ),

    ranked as (

        select
            *,
            row_number() over (
                partition by {{ of_version | join(', ') }}
                order by is_void
            ) as place
        from gathered

    )

    select * except (is_void, place) from ranked
    where place = 1
    {%- endif %}
{%- endmacro %}
