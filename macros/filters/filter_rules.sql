{#
    The rule of the topic's filter, on names and event types, that refuses a row change.

    Returns:
        An expression of type string over kafka_topic, source_database, source_table and
        op; null where no such rule does.
#}
{% macro refusing_rule() -%}
    {%- set branches = [] -%}
    {%- for topic in changefold.declared_topics() if topic.filter and execute -%}
        {%- do branches.append([topic.name, adapter.call_python(
            'changefold.changefeed.to_sql.refused_row_sql',
            topic.filter, 'source_database', 'source_table', 'op'
        )]) -%}
    {%- endfor -%}
    {{ changefold._by_topic(branches) }}
{%- endmacro %}


{#
    The rule of the topic's filter on names that refuses a DDL.

    Arguments:
        database: expression of the database; empty text for none.
        table: expression of the table.

    Returns:
        An expression of type string over kafka_topic and ddl_type; null where none does.
#}
{% macro ddl_refusing_rule(database, table) -%}
    {%- set branches = [] -%}
    {%- for topic in changefold.declared_topics() if topic.filter and execute -%}
        {%- do branches.append([topic.name, adapter.call_python(
            'changefold.changefeed.to_sql.refused_table_sql',
            topic.filter, 'ddl_type', database, table
        )]) -%}
    {%- endfor -%}
    {{ changefold._by_topic(branches) }}
{%- endmacro %}


{#
    The event filter of the topic's filter that ignores a DDL.

    Arguments:
        database: expression of the database; of a rename, before it.
        table: expression of the table; of a rename, before it.

    Returns:
        An expression of type string over kafka_topic, ddl_type and ddl_sql; null where
        none does.
#}
{% macro ddl_ignoring_rule(database, table) -%}
    {%- set branches = [] -%}
    {%- for topic in changefold.declared_topics() if topic.filter and execute -%}
        {%- do branches.append([topic.name, adapter.call_python(
            'changefold.changefeed.to_sql.ignored_ddl_sql',
            topic.filter,
            {'type': 'ddl_type', 'database': database, 'table': table, 'sql': 'ddl_sql'}
        )]) -%}
    {%- endfor -%}
    {{ changefold._by_topic(branches) }}
{%- endmacro %}


{#
    The rule of the topic's filter about values that refuses a row change. Each version of
    a table's schema has its own conditions, as a value is compared by its type.

    Returns:
        An expression of type string over kafka_topic, source_database, source_table, op,
        change_sequence, before and after; null where no such rule does.

    Raises:
        A compiler error that names the line of a rule which does not fit its table.
#}
{% macro refusing_value_rule() -%}
    {%- set relation = changefold.built_relation('table_schemas') -%}
    {%- set topics = [] -%}
    {%- for topic in changefold.declared_topics() if topic.filter and relation -%}
        {%- set rows = adapter.query_once(
            'select source_database, source_table, valid_from_sequence, valid_to_sequence,'
            ~ ' to_json(columns) as columns, to_json(unique_columns) as unique_columns'
            ~ ' from ' ~ relation ~ ' where kafka_topic = ' ~ sql_text(topic.name)
            ~ ' and not is_dropped order by source_database, source_table, valid_from_sequence',
            changefold.snapshot_id(relation)
        ) -%}
        {%- set branches = [] -%}
        {%- for version in rows if adapter.call_python(
            'changefold.changefeed.to_sql.has_value_rules',
            topic.filter, version.source_database, version.source_table
        ) -%}
            {%- for rule in changefold._value_rules(topic, version) if rule.condition != 'false' -%}
                {%- do branches.append(changefold._of_version(version, rule)) -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- if branches -%}
            {%- do topics.append([topic.name, 'case\n' ~ branches | join('\n') ~ '\nend']) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ changefold._by_topic(topics) }}
{%- endmacro %}


{# The rules about values of one version of a table: a list of rule, op and condition. #}
{% macro _value_rules(topic, version) %}
    {%- set columns = fromjson(version.columns) -%}
    {%- set calls = adapter.call_python('changefold.changefeed.to_sql.column_calls', topic.name, columns) -%}
    {%- set texts = {'before': {}, 'after': {}} -%}
    {%- set values = {'before': {}, 'after': {}} -%}
    {%- for image in texts -%}
        {%- for call in calls -%}
            {%- set text = 'from_json(' ~ image ~ ', ' ~ sql_text(changefold.json_schema([call.name]))
                ~ ').' ~ changefold.quoted(call.name) -%}
            {%- do texts[image].update({call.name: text}) -%}
            {%- set arguments = [topic.name] if call.macro == 'mysql_bytes' else call.arguments -%}
            {%- do values[image].update({
                call.name: context[call.macro](text, *arguments) | trim
            }) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(adapter.call_python(
        'changefold.changefeed.to_sql.value_rules',
        topic.filter,
        {
            'database': version.source_database,
            'table': version.source_table,
            'columns': columns,
            'unique_columns': fromjson(version.unique_columns),
            'time_zone': topic.time_zone,
            'is_last': version.valid_to_sequence is none,
        },
        texts,
        values
    )) }}
{% endmacro %}


{# A branch of a `case`: a rule about values, for one version of a table. #}
{% macro _of_version(version, rule) %}
    {%- set parts = [
        'source_database = ' ~ sql_text(version.source_database),
        'source_table = ' ~ sql_text(version.source_table),
        "op in ('c', 'r')" if rule.op == 'c' else 'op = ' ~ sql_text(rule.op),
    ] -%}
    {%- if version.valid_from_sequence -%}
        {%- do parts.append('change_sequence > ' ~ sql_text(version.valid_from_sequence)) -%}
    {%- endif -%}
    {%- if version.valid_to_sequence -%}
        {%- do parts.append('change_sequence <= ' ~ sql_text(version.valid_to_sequence)) -%}
    {%- endif -%}
    {%- do parts.append('(' ~ rule.condition ~ ')') -%}
    {{ return('when ' ~ parts | join(' and ') ~ ' then ' ~ sql_text(rule.rule)) }}
{% endmacro %}


{# An expression for each topic, as one: pairs of topic and expression of type string. #}
{% macro _by_topic(branches) -%}
    {%- if not branches -%}
        {{ return('cast(null as string)') }}
    {%- endif -%}
    case kafka_topic
        {%- for topic, expression in branches %}
        when {{ sql_text(topic) }} then {{ expression }}
        {%- endfor %}
    end
{%- endmacro %}


{#
    What the rows of a table that counts on depend on besides the change log: the rules
    of the topics' filters.

    Returns:
        A text that changes when a rule does.
#}
{% macro filters_digest() %}
    {%- set digests = [] -%}
    {%- for topic in changefold.declared_topics() if topic.filter -%}
        {%- do digests.append(topic.name ~ '=' ~ topic.filter_digest) -%}
    {%- endfor -%}
    {{ return(digests | join(' ')) }}
{% endmacro %}
