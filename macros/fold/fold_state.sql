{#
    How far `row_versions` has folded the log, and what this run adds, in its first pass. The
    materialization sets `model.fold` to the state of each later one (`later_passes`).

    Returns:
        A mapping: goes_on (whether the table stays, and what is new is added to it),
        number (of this fold), noted and note (what was kept of the last one with the table,
        and is to be of this one, as `folded_note` returns it), new_moments (what
        `_new_moments` returns), news (what `_news_of_tables` returns), changed (those of it
        with changed_since), lacks_values (whether a change that this fold reads lacks values
        which it did not change), lacks_keys (whether it reads a table whose rows may have no
        key), lacks_types (whether it reads a table of which some rows came without a schema),
        changes_columns (whether it reads a table of which a DDL changed the columns),
        ends_partitions (whether it reads one of which a DDL ended rows of partitions),
        ends_rows (whether something ended all rows of a table since what is new),
        moves (all DDLs that moved rows: kafka_topic, table_uid, moved_at), moves_before (those
        behind which this pass folds, one of each topic: kafka_topic, moved_at; none in the first).
#}
{% macro fold_state() %}
    {%- if model.fold -%}
        {{ return(model.fold) }}
    {%- endif -%}
    {%- set noted = changefold.folded_note() -%}
    {#- What a rule refuses is in no version: another rule, another past. -#}
    {%- set shape = local_md5([
        model.raw_code, changefold.filters_digest(), changefold.refusing_value_rule(),
    ] | join('\n')) -%}
    {%- set note = {
        'number': noted.get('number', 0),
        'shape': shape,
        'topics': changefold.applied_cuts(),
        'folded_tables': changefold._snapshot_of('folded_tables'),
        'table_ends': changefold._snapshot_of('table_ends'),
        'column_moments': changefold._snapshot_of('column_moments'),
    } -%}
    {%- set state = {
        'goes_on': not flags.FULL_REFRESH and noted.get('shape') == shape
            and changefold._has_past_of('folded_tables', noted, note)
            and changefold._has_past_of('table_ends', noted, note)
            and changefold._has_past_of('column_moments', noted, note),
        'number': note.number + 1,
        'noted': noted,
        'note': note,
    } -%}
    {%- do note.update({
        'begun_by': noted.get('begun_by', '') if state.goes_on else invocation_id,
    }) -%}
    {%- do state.update({'new_moments': changefold._new_moments(state)}) -%}
    {%- set news = changefold._news_of_tables(state) if state.goes_on and note != noted else [] -%}
    {%- if news or not state.goes_on -%}
        {%- do note.update({'number': state.number}) -%}
    {%- endif -%}
    {%- do state.update({
        'news': news,
        'changed': news | rejectattr('changed_since', 'none') | list,
        'lacks_values': news | selectattr('lacks_values') | list | length > 0
            if state.goes_on else changefold._some_table('lacks_values', note),
        'lacks_keys': news | selectattr('lacks_keys') | list | length > 0
            if state.goes_on else changefold._some_table('lacks_keys', note),
        'lacks_types': news | selectattr('lacks_types') | list | length > 0
            if state.goes_on else changefold._some_table('read_as is not null', note),
        'changes_columns': news | selectattr('changes_columns') | list | length > 0
            if state.goes_on else changefold._some_table('changes_columns', note),
        'ends_partitions': news | selectattr('ends_partitions') | list | length > 0
            if state.goes_on else changefold._some_table('ends_partitions', note),
        'ends_rows': changefold._ends_rows(news if state.goes_on else none, note),
        'moves': changefold._moves(note),
        'moves_before': [],
    }) -%}
    {{ return(state) }}
{% endmacro %}


{#
    What the table `row_versions` has as its note: what `fold_state` returned as such in the
    build that folded last, and as begun_by the run of dbt that folded the whole log last.
    Empty if there is none.
#}
{% macro folded_note() %}
    {%- set versions = changefold.built_relation('row_versions') if execute else none -%}
    {%- set known = adapter.table_properties(versions) if versions else {} -%}
    {{ return(fromjson(known.get('changefold.folded', '{}'))) }}
{% endmacro %}


{#
    Condition on the columns of `row_versions`: a later fold than that of a number wrote,
    ended or voided the version, or took its end away.
#}
{% macro is_of_later_fold(number) -%}
    (folded_batch > {{ number }} or ended_batch > {{ number }})
{%- endmacro %}


{#
    Whether something may have ended all rows of a table, or of a partition, since what is
    new; without news, ever.
#}
{% macro _ends_rows(news, note) %}
    {%- set last_ends = changefold._last_ends(note) -%}
    {%- if news is none -%}
        {{ return(last_ends | length > 0) }}
    {%- endif -%}
    {%- for row in news
        if last_ends.get(row.kafka_topic, '') >= changefold.moment_of_text(row.since) -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{# Of each topic with `table_ends` the last end_sequence, as a mapping. #}
{% macro _last_ends(note) %}
    {%- set table_ends = changefold.built_relation('table_ends') if execute else none -%}
    {%- set last_ends = {} -%}
    {%- set rows = adapter.query_once(
        'select kafka_topic, max(end_sequence) as last_end from ' ~ table_ends ~ ' group by kafka_topic',
        note.table_ends
    ) if table_ends else [] -%}
    {%- for row in rows -%}
        {%- do last_ends.update({row.kafka_topic: row.last_end}) -%}
    {%- endfor -%}
    {{ return(last_ends) }}
{% endmacro %}


{# Whether a model's table can be read as the last fold found it: `maintain` may forget it. #}
{% macro _has_past_of(name, noted, note) %}
    {%- if noted[name] == note[name] or target.file_format == 'delta' -%}
        {{ return(true) }}
    {%- endif -%}
    {{ return(adapter.query_once(
        'select 1 as is_kept from ' ~ ref('changefold', name) ~ '.snapshots'
        ~ ' where snapshot_id = ' ~ noted[name],
        note[name]
    ) | length > 0) }}
{% endmacro %}


{# Whether one of the tables that are folded meets a condition on `folded_tables`. #}
{% macro _some_table(condition, note) %}
    {%- set folded_tables = changefold.built_relation('folded_tables') -%}
    {{ return(folded_tables and adapter.query_once(
        'select 1 as is_met from ' ~ folded_tables ~ ' where ' ~ condition ~ ' limit 1',
        note.folded_tables
    ) | length > 0) }}
{% endmacro %}


{# The tables to which DDLs moved rows, in order. #}
{% macro _moves(note) %}
    {%- set folded_tables = changefold.built_relation('folded_tables') if execute else none -%}
    {{ return(adapter.query_once(
        'select distinct kafka_topic, table_uid, moved_at from ' ~ folded_tables
        ~ " where moved_at <> '' order by moved_at, kafka_topic, table_uid",
        note.folded_tables
    ) if folded_tables else []) }}
{% endmacro %}


{# The content of a model's table, as `snapshot_id`. #}
{% macro _snapshot_of(name) %}
    {{ return(changefold.snapshot_id(changefold.built_relation(name)) if execute else '') }}
{% endmacro %}


{#
    Condition: the last fold did not have the change: it arrived since, lay beyond the cut, or
    waited for its schema.

    Arguments:
        fold: what `fold_state` returned.

    Returns:
        A condition on the columns of `changes`; true where the whole log is folded.
#}
{% macro is_new_to_fold(fold) -%}
    {{ return(changefold._is_unfolded(fold) if fold.goes_on and not fold.moves_before else 'true') }}
{%- endmacro %}


{% macro _is_unfolded(state) -%}
    {%- set noted = state.noted -%}
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
    {%- for moment in state.new_moments -%}
        {%- do conditions.append(
            '(kafka_topic = ' ~ sql_text(moment.kafka_topic)
            ~ ' and source_database = ' ~ sql_text(moment.source_database)
            ~ ' and source_table = ' ~ sql_text(moment.source_table)
            ~ ' and change_sequence > ' ~ sql_text(moment.since) ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}


{#
    The tables of which a DDL is known that changed columns and that the last fold did not
    know. A change behind it, if it was folded, was compared with the row under other columns.

    Returns:
        A list of mappings, one per table and name that it bears since then: kafka_topic,
        source_database, source_table, since (the change sequence of the first such DDL).
#}
{% macro _new_moments(state) %}
    {%- if not state.goes_on or state.noted.column_moments == state.note.column_moments -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set now = 'select * from ' ~ ref('changefold', 'column_moments') -%}
    {%- set noted = now ~ ' version as of ' ~ state.noted.column_moments -%}
    {{ return(adapter.query_once(
        'select tables.kafka_topic, tables.source_database, tables.source_table,'
        ~ ' min(moments.since) as since from ((' ~ now ~ ' except ' ~ noted ~ ') union all ('
        ~ noted ~ ' except ' ~ now ~ ')) as moments inner join '
        ~ ref('changefold', 'folded_tables') ~ ' as tables'
        ~ ' on moments.kafka_topic = tables.kafka_topic and moments.table_uid = tables.table_uid'
        ~ ' and moments.since < tables.to_sequence group by all order by all',
        state.note | string
    )) }}
{% endmacro %}


{#
    The tables of which something is new, and from where on.

    Returns:
        A list of mappings, one per table and name that it bears since then: kafka_topic,
        table_uid, since (a change sequence; nothing before it is another than it was),
        changed_since (likewise, where `changed_tables` has the table, or a row arrived of a
        snapshot which has ended those that it did not read), source_database and
        source_table (none, if the table is folded no longer), lacks_values, lacks_keys,
        lacks_types, changes_columns, ends_partitions.
#}
{% macro _news_of_tables(state) %}
    {%- set changes = ref('changefold', 'changes') -%}
    {%- set folded_tables = ref('changefold', 'folded_tables') -%}
    {%- set rows = adapter.query_once(
        'with arrived as (select kafka_topic, source_database, source_table,'
        ~ " if(op = 'r', " ~ changefold.position_of('change_sequence') ~ ', null) as read_at,'
        ~ ' min(change_sequence) as since from ' ~ changes
        ~ ' where ' ~ changefold._is_unfolded(state) ~ ' group by all),'
        ~ ' news as (select tables.kafka_topic, tables.table_uid, arrived.since, arrived.read_at'
        ~ ' from arrived inner join ' ~ folded_tables ~ ' as tables'
        ~ ' on arrived.kafka_topic = tables.kafka_topic'
        ~ ' and arrived.source_database = tables.source_database'
        ~ ' and arrived.source_table = tables.source_table'
        ~ ' and arrived.since <= tables.to_sequence),'
        ~ ' read_again as (select ends.kafka_topic, ends.table_uid, ends.end_sequence as since'
        ~ ' from ' ~ ref('changefold', 'table_ends') ~ ' as ends inner join news'
        ~ ' on ends.kafka_topic = news.kafka_topic and ends.table_uid = news.table_uid'
        ~ " and ends.kept_up_to = concat(news.read_at, '~')),"
        ~ ' changed as (' ~ changefold.changed_tables(state) ~ '),'
        ~ ' told as (select kafka_topic, table_uid, since, null as changed_since from news'
        ~ (' union all select *, since as changed_since from read_again' if changefold._last_ends(state.note) else '')
        ~ ' union all select *, since as changed_since from changed),'
        ~ ' lives as (select kafka_topic, table_uid, min(since) as since,'
        ~ ' min(changed_since) as changed_since from told group by all)'
        ~ ' select lives.*, tables.source_database, tables.source_table, tables.lacks_values,'
        ~ ' tables.lacks_keys, tables.read_as is not null as lacks_types,'
        ~ ' tables.changes_columns, tables.ends_partitions'
        ~ ' from lives left join ' ~ folded_tables ~ ' as tables'
        ~ ' on lives.kafka_topic = tables.kafka_topic and lives.table_uid = tables.table_uid'
        ~ ' and lives.since <= tables.to_sequence order by all',
        changefold.snapshot_id(this) ~ changefold._snapshot_of('change_log')
        ~ state.note | string
    ) -%}
    {{ return(rows) }}
{% endmacro %}


{#
    Condition: the change may be new to the fold, or follow one that is. By table and change
    sequence, as literals: files of other tables, and of the past, are not opened.

    Arguments:
        fold: what `fold_state` returned.

    Returns:
        A condition on the columns of `changes`; true where the whole log is folded.
#}
{% macro is_since_news(fold) -%}
    {%- if not fold.goes_on -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set conditions = ['false'] -%}
    {%- for since in fold.news | groupby('kafka_topic') -%}
        {%- set rows = since.list | selectattr('source_table') | list -%}
        {%- set is_short = rows | length <= 50 -%}
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
        fold: what `fold_state` returned.
        versions: name of `row_versions`.

    Returns:
        A condition on its columns.
#}
{% macro may_be_met(fold, versions) -%}
    {%- set conditions = ['false'] -%}
    {%- for since in fold.news | groupby('kafka_topic') -%}
        {%- set uids = since.list | map(attribute='table_uid') | unique | list -%}
        {%- set first = changefold.moment_of_text(since.list | map(attribute='since') | min) -%}
        {%- set of_tables = [] -%}
        {%- for uid in uids if uids | length <= 50 -%}
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
    Condition: a change of a key may stand in another partition than the changes of the old
    key, so that no offset tells which was first, as in a topic of several partitions that
    Canal fills by the new key (`canal.mq.partitionHash`). Of topics that this fold reads.

    Arguments:
        fold: what `fold_state` returned.

    Returns:
        A condition on kafka_topic; false, if no topic has.
#}
{% macro has_unordered_moves(fold) -%}
    {%- set topics = changefold.declared_topics() | selectattr('protocol', 'eq', 'canal_json')
        | selectattr('partitions', 'gt', 1) -%}
    {%- if fold.goes_on -%}
        {%- set topics = topics | selectattr('name', 'in', fold.news | map(attribute='kafka_topic') | list) -%}
    {%- endif -%}
    {{ return(changefold.is_one_of(topics)) }}
{%- endmacro %}


{#
    Whether a version begins where something is new of its topic, or after it: a change that
    comes late may take its place.

    Arguments:
        fold: what `fold_state` returned.

    Returns:
        A bool.
#}
{% macro has_later_versions(fold) %}
    {%- set conditions = [] -%}
    {%- for since in fold.news | groupby('kafka_topic') -%}
        {%- do conditions.append(
            '(kafka_topic = ' ~ sql_text(since.grouper) ~ ' and from_sequence >= '
            ~ sql_text(changefold.moment_of_text(since.list | map(attribute='since') | min)) ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return(conditions | length > 0 and adapter.query_once(
        'select 1 as is_later from ' ~ this ~ ' as versions where '
        ~ changefold.may_be_met(fold, 'versions') ~ ' and (' ~ conditions | join(' or ') ~ ') limit 1',
        changefold.snapshot_id(this)
    ) | length > 0) }}
{% endmacro %}
