{#
    A fold goes up to the first DDL of each topic that moved rows to other keys or tables; the
    next pass goes on behind these, with the rows as they stood there, up to the second of each
    topic. Most folds have one pass.
#}


{#
    Condition: this pass folds that stretch of a table.

    Arguments:
        fold: what `fold_state` returned.

    Returns:
        A condition on the columns of `folded_tables`.
#}
{% macro is_in_this_pass(fold) -%}
    {%- if fold.moves_before -%}
        {{ return(changefold.is_behind_moves(fold, 'folded_tables', 'moved_at')) }}
    {%- elif not fold.goes_on -%}
        {{ return("folded_tables.moved_at = ''") }}
    {%- endif -%}
    {%- set left_out = ['false'] -%}
    {%- for table in changefold._first_stretches(fold) -%}
        {%- do left_out.append(
            '(folded_tables.kafka_topic = ' ~ sql_text(table.kafka_topic)
            ~ ' and folded_tables.table_uid = ' ~ sql_text(table.table_uid)
            ~ ' and folded_tables.moved_at <> ' ~ sql_text(table.moved_at) ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return('not (' ~ left_out | join(' or ') ~ ')') }}
{%- endmacro %}


{# Of the tables with news to which a DDL moved rows: moved_at of the stretch with the first. #}
{% macro _first_stretches(fold) %}
    {%- set tables = [] -%}
    {%- for topic, of_topic in fold.news | groupby('kafka_topic') -%}
        {%- for uid, rows in of_topic | groupby('table_uid') -%}
            {%- set moves = fold.moves | selectattr('kafka_topic', 'eq', topic)
                | selectattr('table_uid', 'eq', uid) | map(attribute='moved_at') | list -%}
            {%- if moves -%}
                {%- set since = changefold.moment_of_text(rows | map(attribute='since') | min) -%}
                {%- do tables.append({
                    'kafka_topic': topic, 'table_uid': uid, 'since': since,
                    'moved_at': (moves | select('lt', since) | list or ['']) | last,
                }) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(tables) }}
{% endmacro %}


{#
    Condition: what the moves stand for that this pass folds behind, one of each topic.

    Arguments:
        fold: what `fold_state` returned.
        relation: name of a relation with kafka_topic.
        sequence: name of its column with the sequence of such a DDL.

    Returns:
        A condition on the columns of the relation.
#}
{% macro is_behind_moves(fold, relation, sequence) -%}
    {%- set conditions = [] -%}
    {%- for move in fold.moves_before -%}
        {%- do conditions.append(
            '(' ~ relation ~ '.kafka_topic = ' ~ sql_text(move.kafka_topic)
            ~ ' and ' ~ relation ~ '.' ~ sequence ~ ' = ' ~ sql_text(move.moved_at) ~ ')'
        ) -%}
    {%- endfor -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}


{#
    The passes that follow the first one: behind each DDL that moved rows, if what they were
    moved from has been folded anew. Those of different topics share a pass.

    Arguments:
        fold: what `fold_state` returned.

    Returns:
        A list of states as `fold_state` returns, those of a topic in the order of its DDLs.
#}
{% macro later_passes(fold) %}
    {%- set folded = [] -%}
    {%- for table in changefold._first_stretches(fold) if fold.goes_on -%}
        {%- do folded.append((table.kafka_topic, table.table_uid, table.moved_at)) -%}
    {%- endfor -%}
    {%- set moves = [] -%}
    {%- for topic, of_topic in fold.moves | groupby('kafka_topic') -%}
        {%- set places = [] -%}
        {%- for moved_at, tables in of_topic | groupby('moved_at') -%}
            {%- set uids = tables | map(attribute='table_uid') | list -%}
            {%- set is_behind = [] -%}
            {%- for known in folded if known[0] == topic and known[1] in uids and known[2] < moved_at -%}
                {%- do is_behind.append(true) -%}
            {%- endfor -%}
            {%- if is_behind or not fold.goes_on -%}
                {%- for uid in uids -%}
                    {%- do folded.append((topic, uid, moved_at)) -%}
                {%- endfor -%}
                {%- do places.append(moved_at) -%}
                {%- do moves.append(
                    {'kafka_topic': topic, 'moved_at': moved_at, 'place': places | length}
                ) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set passes = [] -%}
    {%- for _, of_pass in moves | groupby('place') -%}
        {%- do passes.append(changefold._pass_behind(fold, of_pass)) -%}
    {%- endfor -%}
    {{ return(passes) }}
{% endmacro %}


{# The state of a pass behind DDLs that moved rows, one of each topic. #}
{% macro _pass_behind(fold, moves_before) %}
    {%- set pass = {'moves_before': moves_before} -%}
    {%- set news = adapter.query_once(
        'select kafka_topic, table_uid, source_database, source_table, lacks_values,'
        ~ ' lacks_keys, read_as is not null as lacks_types, changes_columns,'
        ~ ' ends_partitions,'
        ~ " concat(moved_at, '~') as since, concat(moved_at, '~') as changed_since from "
        ~ ref('changefold', 'folded_tables') ~ ' as folded_tables where '
        ~ changefold.is_behind_moves(pass, 'folded_tables', 'moved_at') ~ ' order by all',
        fold.note.folded_tables
    ) -%}
    {%- do pass.update({
        'goes_on': true,
        'number': fold.number,
        'noted': fold.noted,
        'note': fold.note,
        'new_moments': [],
        'news': news,
        'changed': news,
        'lacks_values': news | selectattr('lacks_values') | list | length > 0,
        'lacks_keys': news | selectattr('lacks_keys') | list | length > 0,
        'lacks_types': news | selectattr('lacks_types') | list | length > 0,
        'changes_columns': news | selectattr('changes_columns') | list | length > 0,
        'ends_partitions': news | selectattr('ends_partitions') | list | length > 0,
        'ends_rows': changefold._ends_rows(news, fold.note),
        'moves': fold.moves,
    }) -%}
    {{ return(pass) }}
{% endmacro %}
