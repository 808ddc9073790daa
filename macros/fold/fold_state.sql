{#
    How far `row_versions` has folded the log, and what this run adds.

    Returns:
        A mapping: goes_on (whether the table stays, and what is new is added to it),
        number (of this fold), note (what to keep of it with the table), news (what
        `_news_of_tables` returns).
#}
{% macro fold_state() %}
    {%- set known = adapter.table_properties(this) if execute else {} -%}
    {%- set noted = fromjson(known.get('changefold.folded', '{}')) -%}
    {#- What a rule refuses is in no version: another rule, another past. -#}
    {%- set shape = local_md5([
        model.raw_code, changefold.filters_digest(), changefold.refusing_value_rule(),
    ] | join('\n')) -%}
    {%- set state = {
        'goes_on': not flags.FULL_REFRESH and noted.get('shape') == shape,
        'noted': noted,
        'number': noted.get('number', 0) + 1,
        'note': {
            'number': noted.get('number', 0) + 1,
            'shape': shape,
            'topics': changefold.applied_cuts(),
            'folded_tables': changefold._snapshot_of('folded_tables'),
            'table_ends': changefold._snapshot_of('table_ends'),
        },
    } -%}
    {%- do state.update({'news': changefold._news_of_tables(state) if state.goes_on else []}) -%}
    {{ return(state) }}
{% endmacro %}


{# The content of a model's table, as `snapshot_id`. #}
{% macro _snapshot_of(name) %}
    {{ return(changefold.snapshot_id(changefold.built_relation(name)) if execute else '') }}
{% endmacro %}


{#
    Whether the run adds to the versions that `row_versions` has. Not so on the first run,
    and where the model or a rule of a filter is another.

    Returns:
        A bool.
#}
{% macro fold_goes_on() %}
    {{ return(execute and changefold.fold_state().goes_on) }}
{% endmacro %}


{#
    The number of this fold: each that has news counts one more, kills and full refreshes
    included.
#}
{% macro fold_number() %}
    {{ return('cast(' ~ changefold.fold_state().number ~ ' as bigint)' if execute else 'cast(0 as bigint)') }}
{% endmacro %}


{#
    Condition: the last fold did not have the change: it arrived since, lay beyond the cut, or
    waited for its schema.

    Returns:
        A condition on the columns of `changes`; true where the whole log is folded.
#}
{% macro is_new_to_fold() -%}
    {%- if not changefold.fold_goes_on() -%}
        {{ return('true') }}
    {%- endif -%}
    {{ return(changefold._is_unfolded(changefold.fold_state().noted)) }}
{%- endmacro %}


{% macro _is_unfolded(noted) -%}
    {%- set batches = {} -%}
    {%- for topic, folded in noted.topics.items() -%}
        {%- do batches.update({topic: folded.batch_id}) -%}
    {%- endfor -%}
    {%- set conditions = [changefold.is_of_later_batch(batches)] -%}
    {%- for topic, folded in noted.topics.items() -%}
        {%- do conditions.append(
            '(kafka_topic = ' ~ sql_text(topic) ~ " and commit_ts is not null"
            ~ " and change_sequence >= '" ~ (folded.cut_sequence or '') ~ "')"
        ) -%}
    {%- endfor -%}
    {%- for version in changefold.released_versions(batches) -%}
        {%- do conditions.append(
            '(kafka_topic = ' ~ sql_text(version.kafka_topic)
            ~ ' and source_database = ' ~ sql_text(version.source_database)
            ~ ' and source_table = ' ~ sql_text(version.source_table)
            ~ ' and schema_version = ' ~ version.schema_version ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}


{#
    The tables of which something is new, and from where on.

    Returns:
        A list of mappings: kafka_topic, source_database, source_table, table_uid, since
        (a change sequence; nothing before it is another than it was), changed_since
        (likewise, where `changed_tables` has the table).
#}
{% macro _news_of_tables(state) %}
    {%- set changes = ref('changefold', 'changes') -%}
    {%- set folded_tables = ref('changefold', 'folded_tables') -%}
    {%- set rows = adapter.query_once(
        'with news as (select kafka_topic, source_database, source_table,'
        ~ ' min(change_sequence) as since from ' ~ changes
        ~ ' where ' ~ changefold._is_unfolded(state.noted) ~ ' group by all),'
        ~ ' changed as (' ~ changefold.changed_tables(state) ~ ')'
        ~ ' select kafka_topic, source_database, source_table, table_uid, min(since) as since,'
        ~ ' min(changed_since) as changed_since'
        ~ ' from (select tables.kafka_topic, tables.source_database, tables.source_table,'
        ~ ' tables.table_uid, news.since, null as changed_since'
        ~ ' from news inner join ' ~ folded_tables ~ ' as tables'
        ~ ' on news.kafka_topic = tables.kafka_topic'
        ~ ' and news.source_database = tables.source_database'
        ~ ' and news.source_table = tables.source_table and news.since <= tables.to_sequence'
        ~ ' union all select *, since as changed_since from changed)'
        ~ ' group by kafka_topic, source_database, source_table, table_uid order by all',
        changefold.snapshot_id(this) ~ changefold._snapshot_of('change_log')
        ~ state.note | string
    ) -%}
    {{ return(rows) }}
{% endmacro %}


{#
    Condition: the change may be new to the fold, or follow one that is. By table and change
    sequence, as literals: files of other tables, and of the past, are not opened.

    Returns:
        A condition on the columns of `changes`; true where the whole log is folded.
#}
{% macro is_since_news() -%}
    {%- if not changefold.fold_goes_on() -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set conditions = ['false'] -%}
    {%- for since in changefold.fold_state().news | groupby('kafka_topic') -%}
        {%- set rows = since.list -%}
        {%- set is_short = rows | length <= 200 -%}
        {%- for row in rows if is_short -%}
            {%- do conditions.append(
                '(kafka_topic = ' ~ sql_text(row.kafka_topic)
                ~ ' and source_database = ' ~ sql_text(row.source_database)
                ~ ' and source_table = ' ~ sql_text(row.source_table)
                ~ ' and change_sequence >= ' ~ sql_text(changefold.moment_of_text(row.since)) ~ ')'
            ) -%}
        {%- endfor -%}
        {%- if not is_short -%}
            {%- do conditions.append(
                '(kafka_topic = ' ~ sql_text(since.grouper) ~ ' and change_sequence >= '
                ~ sql_text(changefold.moment_of_text(rows | map(attribute='since') | min)) ~ ')'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}


{#
    Condition: what is new may end the version, or take its place. With literals, as
    `is_since_news`.

    Arguments:
        versions: name of `row_versions`.

    Returns:
        A condition on its columns.
#}
{% macro may_be_met(versions) -%}
    {%- set conditions = ['false'] -%}
    {%- for since in changefold.fold_state().news | groupby('kafka_topic') -%}
        {%- set uids = since.list | map(attribute='table_uid') | unique | list -%}
        {%- set first = changefold.moment_of_text(since.list | map(attribute='since') | min) -%}
        {%- set of_tables = [] -%}
        {%- for uid in uids if uids | length <= 200 -%}
            {%- do of_tables.append(sql_text(uid)) -%}
        {%- endfor -%}
        {%- do conditions.append(
            '(' ~ versions ~ '.kafka_topic = ' ~ sql_text(since.grouper)
            ~ (' and ' ~ versions ~ '.table_uid in (' ~ of_tables | join(', ') ~ ')' if of_tables else '')
            ~ ' and (' ~ versions ~ '.is_open or ' ~ versions ~ '.to_sequence >= '
            ~ sql_text(first) ~ '))'
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}


{#
    Condition: the version begins where something is new, or after it.

    Arguments:
        versions: name of `row_versions`.

    Returns:
        A condition on its columns.
#}
{% macro begins_since_news(versions) -%}
    {%- set conditions = ['false'] -%}
    {%- for since in changefold.fold_state().news | groupby('kafka_topic') -%}
        {%- do conditions.append(
            '(' ~ versions ~ '.kafka_topic = ' ~ sql_text(since.grouper) ~ ' and '
            ~ versions ~ '.from_sequence >= '
            ~ sql_text(changefold.moment_of_text(since.list | map(attribute='since') | min)) ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}
