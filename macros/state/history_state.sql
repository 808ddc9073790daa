{#
    What a history table was built from, and whether it can go on from there.

    Returns:
        A mapping: is_increment, exists, batch_id and cut_sequence (what is in the table:
        all changes up to that batch and below that cut), last_sequence (the highest
        change sequence among them), shape (what the table depends on besides its
        changes), has_unapplied, first_unapplied (the change sequence of
        the first change that an increment has to add; empty without one).
#}
{% macro history_state() %}
    {%- set known = adapter.table_properties(this) if execute else {} -%}
    {%- set shape = local_md5([
        model.raw_code, changefold.ended_at() | string, changefold.topic_of_model() | string,
        changefold.snapshots_of_table() | string,
    ] | join('\n')) -%}
    {%- set state = {
        'is_increment': not flags.FULL_REFRESH
            and 'changefold.batch_id' in known
            and known.get('changefold.shape') == shape,
        'exists': 'changefold.batch_id' in known,
        'batch_id': known.get('changefold.batch_id', 0) | int,
        'cut_sequence': known.get('changefold.cut_sequence', ''),
        'last_sequence': known.get('changefold.last_sequence', ''),
        'shape': shape,
        'first_unapplied': '',
    } -%}
    {%- do state.update({'has_unapplied': changefold._has_unapplied(state)}) -%}
    {%- if state.is_increment and state.has_unapplied -%}
        {%- do state.update({'first_unapplied': changefold._first_unapplied(state)}) -%}
        {#- What a later DDL made of such a row has to be made anew; also one of its moment, as
            a TRUNCATE among the changes of a commit. -#}
        {%- set ddls = changefold.sequences_in(model.raw_code) + changefold.ended_at() + changefold.snapshots_of_table() -%}
        {%- if state.first_unapplied
            and ddls | select('ge', changefold.moment_of_text(state.first_unapplied)) | list -%}
            {%- do state.update({'is_increment': false}) -%}
        {%- elif state.first_unapplied and '_cdc_copy' in config.get('key_columns')
            and changefold._is_late(state) -%}
            {%- do state.update({'is_increment': false}) -%}
        {%- endif -%}
    {%- endif -%}
    {{ return(state) }}
{% endmacro %}


{# The declaration of the topic that a generated model reads. #}
{% macro topic_of_model() %}
    {{ return(changefold.declared_topic(config.get('topic'))) }}
{% endmacro %}


{#
    Whether the model only has to add what is new to its table. False on the first run,
    after a DDL that ended or rewrote rows, when a change came late, from before such a
    DDL, and when the model itself has changed: then the table is rebuilt from the change
    log.
#}
{% macro is_increment() %}
    {{ return(execute and changefold.history_state().is_increment) }}
{% endmacro %}


{#
    Condition: the change has to be applied to this history table: it is not there yet, or
    it lies at the first one that is not, or after it. True for every change when the
    table is being rebuilt.

    What comes after a late change is applied again, as some of it may have changed
    nothing and left nothing in the table: a DELETE that found no row, an UPDATE to what
    was there. Without commit timestamps a whole millisecond is one moment. Not so where
    copies of equal rows are counted: there none but new changes may count, and a late one
    has the table rebuilt.

    Returns:
        A condition on change_sequence.
#}
{% macro is_unapplied() -%}
    {%- set state = changefold.history_state() -%}
    {%- if not execute or not state.is_increment -%}
        {{ return('true') }}
    {%- endif -%}
    {%- if not state.first_unapplied -%}
        {{ return('false') }}
    {%- endif -%}
    {%- set is_keyless = '_cdc_copy' in config.get('key_columns') -%}
    {%- set first = state.first_unapplied if is_keyless else changefold.moment_of_text(state.first_unapplied) -%}
    {{ return('change_sequence >= ' ~ sql_text(first)) }}
{%- endmacro %}


{# Condition: a state of the table does not hold the change. #}
{% macro _is_unapplied(state) -%}
    (
            batch_id > {{ state.batch_id }}
            or commit_ts is not null and change_sequence >= '{{ state.cut_sequence }}'
            {%- for version in changefold._released_versions_of_table(state) %}
            or schema_version = {{ version }}
            {%- endfor %}
        )
{%- endmacro %}


{# The change sequence of the first change that a state of the table lacks. #}
{% macro _first_unapplied(state) %}
    {%- set rows = adapter.query_once(
        'select min(change_sequence) as since from ' ~ ref('changefold', 'changes')
        ~ ' where ' ~ changefold.is_of_table() ~ ' and ' ~ changefold._is_unapplied(state),
        changefold.snapshot_id(changefold.built_relation('change_log')) ~ changefold.snapshot_id(changefold.built_relation('resolved_cuts'))
    ) -%}
    {{ return(rows[0].since or '') }}
{% endmacro %}


{#
    Whether a change at the place of the first one to apply, or after it, is in the table:
    copies of equal rows are numbered in order.

    By the note of what was applied, and by the versions: a kill can part the two.
#}
{% macro _is_late(state) %}
    {%- if state.last_sequence >= state.first_unapplied -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set rows = adapter.query_once(
        'select max(greatest(_cdc_valid_from_sequence, _cdc_valid_to_sequence)) as last_sequence'
        ~ ' from ' ~ this,
        changefold.snapshot_id(this)
    ) -%}
    {{ return((rows[0].last_sequence or '') >= state.first_unapplied) }}
{% endmacro %}


{#
    Condition: the version may be cut short by a change that is new in this run. Open
    versions always; closed ones only from the first new change on, which is a literal
    here, so that files of older versions stay shut.

    Returns:
        A condition on the columns of a history table named `history`.
#}
{% macro may_be_touched() -%}
    {%- set state = changefold.history_state() -%}
    {%- if not state.has_unapplied -%}
        {{ return('false') }}
    {%- endif -%}
    history.is_current or history._cdc_valid_to_sequence >= '{{ changefold.moment_of_text(state.first_unapplied) }}'
{%- endmacro %}


{#
    The moments at which a DDL ended every row of the model's table.

    Returns:
        A list of change sequences.
#}
{% macro ended_at() %}
    {#- Named at parse time, so that these are built before every history table. -#}
    {%- do [ref('changefold', 'table_schemas'), ref('changefold', 'source_tables')] -%}
    {%- set relation = changefold.built_relation('table_schemas') -%}
    {%- if not relation -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set rows = adapter.query_once(
        'select kafka_topic, source_database, source_table, valid_from_sequence'
        ~ ' from ' ~ relation ~ " where row_effect = 'close_all' order by all",
        changefold.snapshot_id(relation)
    ) -%}
    {%- set sequences = [] -%}
    {%- for row in rows if changefold.bears_name(row, row.valid_from_sequence) -%}
        {%- do sequences.append(row.valid_from_sequence) -%}
    {%- endfor -%}
    {{ return(sequences) }}
{% endmacro %}


{#
    The snapshots of the model's table at which all rows were sent again, and what was not
    sent is gone: those that the var `topics` declares, below the cut, and of Debezium
    each one that follows an interrupted one.

    Returns:
        A list of change sequences.
#}
{% macro snapshots_of_table() %}
    {#- Named at parse time, so that it is built before every history table. -#}
    {%- do ref('changefold', 'snapshot_passes') -%}
    {%- set topic = changefold.topic_of_model() -%}
    {%- if topic and topic.protocol == 'debezium' -%}
        {{ return(changefold._snapshots_that_replace()) }}
    {%- endif -%}
    {%- set cut = changefold.applied_cuts().get(topic.name, {}).get('cut_sequence') if topic else none -%}
    {%- set sequences = [] -%}
    {%- for table, commit_ts in (topic.snapshots if cut else {}).items() -%}
        {%- set sequence = '%020d' | format(commit_ts) -%}
        {%- set name = table.split('.', 1) -%}
        {%- set row = {
            'kafka_topic': topic.name, 'source_database': name[0], 'source_table': name[1],
        } -%}
        {%- if sequence < cut and changefold.bears_name(row, sequence) -%}
            {%- do sequences.append(sequence) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(sequences) }}
{% endmacro %}


{#
    The snapshots of Debezium after which a row holds only if it was read again: those that
    were taken because the one before had been interrupted, as no event tells what was
    deleted in between; and of a table without a key all of them, as nothing tells a row
    that was sent before, or read twice, from two equal ones.
#}
{% macro _snapshots_that_replace() %}
    {%- set relation = changefold.built_relation('snapshot_passes') -%}
    {%- if not relation -%}
        {{ return([]) }}
    {%- endif -%}
    {%- set rows = adapter.query_once(
        'select kafka_topic, source_database, min(first_sequence) as first_sequence,'
        ~ " array_join(array_sort(flatten(collect_list(begun_at))), ' ') as begun_at,"
        ~ " array_join(array_sort(flatten(collect_list(completed_at))), ' ') as completed_at,"
        ~ ' to_json(map_from_entries(collect_list(struct(source_table, last_sequence))))'
        ~ ' as last_sequences from ' ~ relation
        ~ ' group by kafka_topic, source_database, source_position order by first_sequence',
        changefold.snapshot_id(relation)
    ) -%}
    {%- set is_keyless = '_cdc_copy' in config.get('key_columns') -%}
    {%- set passes = [] -%}
    {%- for row in rows if row.kafka_topic == config.get('topic')
        and row.source_database == config.get('source_database') -%}
        {%- set last_sequence = fromjson(row.last_sequences).get(config.get('source_table'), '') -%}
        {#- A source at rest is read again at the same position, later. -#}
        {%- set begins = [row.first_sequence] + row.begun_at.split()[1:] -%}
        {%- for begin in begins -%}
            {%- set end = begins[loop.index] if not loop.last else '~' -%}
            {%- set completed = row.completed_at.split() | select('ge', begin) | select('lt', end) -%}
            {%- do passes.append({
                'first_sequence': begin,
                'is_complete': completed | list | length > 0,
                'has_table': last_sequence >= begin,
            }) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set sequences = [] -%}
    {%- for pass in passes -%}
        {%- set was_interrupted = not loop.first and not loop.previtem.is_complete -%}
        {%- if pass.is_complete and (was_interrupted or (is_keyless and pass.has_table)) -%}
            {%- do sequences.append(pass.first_sequence) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(sequences) }}
{% endmacro %}


{# Whether the change log holds anything that a state of the history table lacks. #}
{% macro _has_unapplied(state) %}
    {%- set released = changefold._released_versions_of_table(state) -%}
    {%- if released or not changefold.built_relation('source_tables') -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set found = [] -%}
    {%- for row in changefold._source_tables() if changefold.bears_name(row) and (
        row.last_batch_id | int > state.batch_id
        or (
            changefold.has_commit_ts(row.last_sequence)
            and row.last_sequence >= state.cut_sequence
            and changefold.topic_of_model().has_watermarks
        )
    ) -%}
        {%- do found.append(row) -%}
    {%- endfor -%}
    {{ return(found | length > 0) }}
{% endmacro %}


{#
    The schema versions of the model's table whose changes were pending when a state of the
    table was built, and are released.

    Returns:
        A list of numbers.
#}
{% macro _released_versions_of_table(state) %}
    {#- Named at parse time, so that it is built before every history table. -#}
    {%- do ref('changefold', 'schema_versions') -%}
    {%- set versions = [] -%}
    {%- for row in changefold.released_versions({config.get('topic'): state.batch_id})
        if changefold.bears_name(row) -%}
        {%- do versions.append(row.schema_version) -%}
    {%- endfor -%}
    {{ return(versions) }}
{% endmacro %}


{#
    The highest change sequence of the model's table that `source_tables` has counted.

    Returns:
        A text; empty without a change.
#}
{% macro last_sequence_of_table() %}
    {%- set sequences = [''] -%}
    {%- for row in changefold._source_tables() if changefold.bears_name(row) -%}
        {%- do sequences.append(row.last_sequence) -%}
    {%- endfor -%}
    {{ return(sequences | max) }}
{% endmacro %}


{#
    Whether a change that the history table has to add lacks values which it did not
    change.

    Returns:
        A bool.
#}
{% macro changes_lack_values() %}
    {%- set state = changefold.history_state() -%}
    {%- set since = state.first_unapplied if state.is_increment else '' -%}
    {%- for row in changefold._source_tables() if changefold.bears_name(row) and row.unavailable_until -%}
        {%- if row.unavailable_until >= since -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{#
    Whether any change lacks values which it did not change.

    Returns:
        A bool.
#}
{% macro some_values_lack() %}
    {{ return(changefold._source_tables() | selectattr('unavailable_until') | list | length > 0) }}
{% endmacro %}


{# The rows of the model `source_tables`, once for each state of it. #}
{% macro _source_tables() %}
    {%- set relation = changefold.built_relation('source_tables') -%}
    {%- if not relation -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return(adapter.query_once(
        'select kafka_topic, source_database, source_table, last_batch_id, last_sequence,'
        ~ ' unavailable_until from ' ~ relation,
        changefold.snapshot_id(relation)
    )) }}
{% endmacro %}
