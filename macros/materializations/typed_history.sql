{#
    A history as a table: the rows that its statement shows as a view, kept typed.

    The statement shows of each version in `row_versions` what that version alone tells. So
    of the versions that a later fold wrote, ended or voided, those rows are deleted that
    the table has, and those inserted that the statement shows now, in one commit. Written
    anew is the table when its statement has changed, as after a DDL, or `row_versions` has
    been folded anew: from `row_versions`, not from the log.

    Killed between a merge and the note of what it has, the next run does the same again.
#}
{% materialization typed_history, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- for unique_id in model.depends_on.nodes if unique_id != 'model.changefold.row_versions' -%}
        {{ exceptions.raise_compiler_error(
            '`typed_history`: expected a model that reads `row_versions` alone, got one that reads `'
            ~ unique_id.split('.') | last ~ '`; write `materialized: view` for it, or `table`'
        ) }}
    {%- endfor -%}
    {{ run_hooks(pre_hooks) }}
    {%- set folded = changefold.folded_note() -%}
    {%- set now = {
        'definition': local_md5(compiled_code ~ config.get('tblproperties')),
        'begun_by': folded.get('begun_by', ''),
        'number': folded.get('number', 0),
    } -%}
    {%- set known = {} if flags.FULL_REFRESH else adapter.table_properties(relation) -%}
    {%- set shown = fromjson(known.get('changefold.shown', '{}')) -%}
    {%- set properties = [('changefold.shown', tojson(now))] -%}
    {%- if shown.definition != now.definition or shown.begun_by != now.begun_by -%}
        {%- if existing is not none and existing.type == 'view' -%}
            {%- do adapter.drop_relation(existing) -%}
        {%- endif -%}
        {%- call statement('main') -%}
            {{ changefold.create_table_with(
                relation, compiled_code,
                changefold.write_properties() | items | list + properties,
                partitioned_by='is_current',
            ) }}
        {%- endcall -%}
    {%- else -%}
        {%- set since = changefold._first_version_behind(shown.number)
            if shown.number != now.number else none -%}
        {%- if since is none -%}
            {%- do changefold._skipped('nothing new') -%}
        {%- else -%}
            {%- do model.update({'shown_up_to': shown.number}) -%}
            {%- call statement('main') -%}
                {{ changefold.merge_shown(relation, render(model.raw_code), shown.number, since) }}
            {%- endcall -%}
        {%- endif -%}
        {%- if shown != now -%}
            {%- do run_query(
                'alter table ' ~ relation ~ ' set tblproperties ('
                ~ changefold.property_list(properties) ~ ')'
            ) -%}
        {%- endif -%}
    {%- endif -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{#
    The first moment of which a history may show something else than it did: that from which
    the first version holds that a later fold wrote, ended or voided.

    Arguments:
        number: of the last fold that the table has seen.

    Returns:
        A change sequence, as in _cdc_valid_from_sequence; none without such a version.
#}
{% macro _first_version_behind(number) %}
    {{ return(run_query(
        "select rtrim('~', min(from_sequence)) from " ~ ref('changefold', 'row_versions')
        ~ ' where ' ~ changefold._is_of_tables() ~ ' and ' ~ changefold.is_of_later_fold(number)
    ).rows[0][0]) }}
{% endmacro %}


{# Condition: a version is of one of the tables that the model shows, under any key. #}
{% macro _is_of_tables() -%}
    {%- set uids = [] -%}
    {%- for life in config.get('lives') or [] -%}
        {%- do uids.append(sql_text(life.table_uid)) -%}
    {%- endfor -%}
    kafka_topic = {{ sql_text(config.get('topic')) }} and table_uid in ({{ uids | join(', ') }})
{%- endmacro %}


{#
    The statement that brings a history kept as a table to what its statement shows.

    Arguments:
        relation: the table.
        sql: a `select` of the rows of versions of later folds.
        number: of the last fold that the table has seen.
        since: what `_first_version_behind` returned.

    Returns:
        A `merge` statement.
#}
{% macro merge_shown(relation, sql, number, since) -%}
    {%- set columns = adapter.get_columns_in_relation(relation) | map(attribute='name') | list -%}
merge into {{ relation }} as history
using (
    select
        *,
        cast(null as string) as old_version_id
    from (
        {{ sql }}
    )
    union all
    select
        {%- for column in columns %}
        null as {{ adapter.quote(column) }},
        {%- endfor %}
        {{ changefold.version_id() }} as old_version_id
    from {{ ref('changefold', 'row_versions') }}
    where {{ changefold._is_of_tables() }} and {{ changefold.is_of_later_fold(number) }}
) as news
on
    history._cdc_version_id = news.old_version_id
    and (history.is_current or history._cdc_valid_to_sequence >= '{{ since }}')
when matched then delete
when not matched and news.old_version_id is null then insert *
{%- endmacro %}
