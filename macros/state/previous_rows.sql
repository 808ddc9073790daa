{#
    The rows that a derived table had before this run. None of a table that is `filtered`,
    if a rule of a filter is another now.

    Arguments:
        columns: mapping column -> type, for the first run, when there are none.

    Returns:
        A `select`.
#}
{% macro previous_rows(columns) -%}
    {%- if execute and changefold.goes_on() and load_cached_relation(this) -%}
    select
        {{ columns | join(',\n        ') }}
    from {{ this }}
    {%- else -%}
    select
        {%- for name, type in columns.items() %}
        cast(null as {{ type }}) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    where false
    {%- endif -%}
{%- endmacro %}


{#
    Whether a derived table adds to what it had before this run: not, if a version before
    this one built it, without some of its columns.

    Returns:
        A bool.
#}
{% macro goes_on() %}
    {%- set known = adapter.table_properties(this) -%}
    {{ return(
        not flags.FULL_REFRESH and 'current-snapshot-id' in known and (
            not config.get('filtered')
            or known.get('changefold.filters', '') == changefold.filters_digest()
        ) and changefold._has_columns_of_model(known['current-snapshot-id'])
    ) }}
{% endmacro %}


{# Whether the table of the model has all columns that its yml names. #}
{% macro _has_columns_of_model(snapshot) %}
    {%- set names = [] -%}
    {%- for row in adapter.query_once('describe table ' ~ this, snapshot) -%}
        {%- do names.append(row.col_name) -%}
    {%- endfor -%}
    {{ return(model.columns.keys() | reject('in', names) | list | length == 0) }}
{% endmacro %}


{#
    Up to where `this` had counted when it was last built.

    Returns:
        A list of mappings: kafka_topic, batch_id, cut_sequence. Empty on the first run.
#}
{% macro counted_until() %}
    {%- if not execute or not changefold.goes_on() -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return(adapter.query_once(
        'select distinct kafka_topic, batch_id, cut_sequence from ' ~ this,
        changefold.snapshot_id(this)
    )) }}
{% endmacro %}


{#
    Condition: the event has arrived since `this` last counted.

    Returns:
        A condition on kafka_topic and batch_id.
#}
{% macro is_newly_arrived() -%}
    {{ return(changefold.is_of_later_batch(changefold.counted_batches_of_this())) }}
{%- endmacro %}


{# The batch up to which `this` had counted, by topic. #}
{% macro counted_batches_of_this() %}
    {%- set batches = {} -%}
    {%- for row in changefold.counted_until() -%}
        {%- do batches.update({row.kafka_topic: row.batch_id | int}) -%}
    {%- endfor -%}
    {{ return(batches) }}
{% endmacro %}


{#
    Condition: the change lay above the cut when `this` last counted, so that it had
    no final place yet. A change without commit timestamp waits for no cut.

    Returns:
        A condition on kafka_topic, commit_ts and change_sequence.
#}
{% macro was_beyond_cut() -%}
    {%- set conditions = [] -%}
    {%- for row in changefold.counted_until() -%}
        {%- do conditions.append(
            '(kafka_topic = ' ~ sql_text(row.kafka_topic)
            ~ " and commit_ts is not null and change_sequence >= '"
            ~ (row.cut_sequence or '') ~ "')"
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ (conditions | join(' or ') or 'false') ~ ')') }}
{%- endmacro %}


{#
    Condition: the change lies below the cut that held when `this` last counted.

    Returns:
        A condition on kafka_topic, commit_ts and change_sequence.
#}
{% macro was_below_cut() -%}
    {%- set conditions = [] -%}
    {%- for row in changefold.counted_until() if row.cut_sequence -%}
        {%- do conditions.append(
            '(kafka_topic = ' ~ sql_text(row.kafka_topic)
            ~ " and commit_ts is not null and change_sequence < '" ~ row.cut_sequence ~ "')"
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ (conditions | join(' or ') or 'false') ~ ')') }}
{%- endmacro %}
