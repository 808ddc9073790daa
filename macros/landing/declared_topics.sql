{#
    The topics of the var `topics`, checked, with defaults filled in.

    Returns:
        A list of mappings: name, protocol, files, kafka, is_landed (by this project), 
        max_offsets_per_run, partitions, time_zone, is_gapless,
        is_compacted, pending_holds_cut, has_watermarks, snapshots, types, keys,
        placeholder, pattern, databases, filter, filter_digest (changes when a rule of it does).

    Raises:
        A compiler error that names the var and the topic.
#}
{% macro declared_topics() %}
    {%- set protocols = ['ticdc_canal_json', 'ticdc_simple', 'ticdc_simple_avro', 'debezium',
        'canal_json'] -%}
    {%- set keys = ['name', 'protocol', 'files', 'kafka', 'max_offsets_per_run', 'table', 'partitions', 'time_zone', 'is_gapless',
        'is_compacted', 'pending_holds_cut', 'has_watermarks', 'snapshots', 'types', 'keys', 'placeholder', 'pattern', 'databases',
        'filter'] -%}
    {%- set topics = [] -%}
    {%- for given in var('topics') -%}
        {%- set named = "var `topics`: topic `" ~ given.name ~ "`: " -%}
        {%- if not given.name -%}
            {{ exceptions.raise_compiler_error("var `topics`: a topic has no `name`: " ~ given) }}
        {%- endif -%}
        {%- for key in given if key not in keys -%}
            {{ exceptions.raise_compiler_error(
                named ~ "unknown key `" ~ key ~ "`; known are " ~ keys | join(', ')
            ) }}
        {%- endfor -%}
        {%- if given.protocol not in protocols -%}
            {{ exceptions.raise_compiler_error(
                named ~ "unknown `protocol: " ~ given.protocol ~ "`; known are "
                ~ protocols | join(', ')
            ) }}
        {%- endif -%}
        {%- set places = [] -%}
        {%- for place in ['files', 'kafka', 'table'] if given[place] -%}{%- do places.append(place) -%}{%- endfor -%}
        {%- if places | length != 1 -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected one of `files`, recorded messages to land, `kafka`, the"
                ~ " cluster of the profile that has it, and `table`, where another tool puts"
                ~ " them; got " ~ (places | join(' and ') or 'none')
            ) }}
        {%- endif -%}
        {%- if given.kafka and given.partitions is not none and given.partitions is defined -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected no `partitions` beside `kafka`: Kafka tells their number"
            ) }}
        {%- endif -%}
        {%- if not given.kafka and (given.partitions is not number or given.partitions < 1) -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `partitions` to be the number of partitions, got `"
                ~ given.partitions ~ "`"
            ) }}
        {%- endif -%}
        {%- set most = given.get('max_offsets_per_run') -%}
        {%- if most is not none and (not given.kafka or most is not integer or most < 1) -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `max_offsets_per_run`, beside `kafka` only, to be a number of"
                ~ " messages, got `" ~ most ~ "`"
            ) }}
        {%- endif -%}
        {%- for table, commit_ts in (given.snapshots or {}).items()
            if commit_ts is not integer or '.' not in table -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `snapshots` to map `database.table` to a commit timestamp,"
                ~ " got `" ~ table ~ ": " ~ commit_ts ~ "`"
            ) }}
        {%- endfor -%}
        {%- for table, types in (given.types or {}).items()
            if types is not mapping or '.' not in table
            or types.values() | reject('string') | list -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `types` to map `database.table` to columns and the text of"
                ~ " their types, got `" ~ table ~ ": " ~ types ~ "`"
            ) }}
        {%- endfor -%}
        {%- set keyed = given.get('keys') or {} -%}
        {%- set wrong = [] -%}
        {%- for table, columns in (keyed.items() if keyed is mapping else [])
            if '.' not in table or columns is string or columns is mapping
            or columns is not iterable or columns | reject('string') | list
            or columns | unique(case_sensitive=true) | list | length != columns | length -%}
            {%- do wrong.append(table) -%}
        {%- endfor -%}
        {%- if keyed and (given.protocol != 'debezium' or keyed is not mapping or wrong) -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `keys`, of the protocol debezium only, to map"
                ~ " `database.table` to a list of the columns of its key, got `"
                ~ keyed ~ "`"
            ) }}
        {%- endif -%}
        {%- if given.placeholder is not none and given.placeholder is defined and (
            given.protocol != 'debezium' or given.placeholder is not string
            or not given.placeholder
        ) -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `placeholder`, of the protocol debezium only, to be the"
                ~ " text of the connector's `unavailable.value.placeholder`, got `"
                ~ given.placeholder ~ "`"
            ) }}
        {%- endif -%}
        {%- if given.databases and (
            given.protocol != 'debezium' or given.databases is not mapping
        ) -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `databases`, of the protocol debezium only, to map names"
                ~ " such as `testDB.dbo` to those to use here, got `" ~ given.databases ~ "`"
            ) }}
        {%- endif -%}
        {%- if given.get('has_watermarks', true) is not true and given.protocol != 'debezium' -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `has_watermarks` of the protocol debezium only: messages of"
                ~ " others tell a commit timestamp only where they tell watermarks too"
            ) }}
        {%- endif -%}
        {%- if given.get('is_compacted', false) and (
            given.protocol != 'debezium' or given.get('is_gapless', false)
        ) -%}
            {{ exceptions.raise_compiler_error(
                named ~ "expected `is_compacted` of the protocol debezium only, and without"
                ~ " `is_gapless: true`: the messages of others have no key"
            ) }}
        {%- endif -%}
        {%- set files = [given.files] if given.files is string else given.files or [] -%}
        {%- do topics.append({
            'name': given.name,
            'protocol': given.protocol,
            'files': files,
            'kafka': given.kafka or '',
            'is_landed': not given.table,
            'max_offsets_per_run': most,
            'partitions': changefold.partitions_in_kafka(given.name) if given.kafka else given.partitions,
            'time_zone': given.time_zone or 'UTC',
            'is_gapless': given.get('is_gapless', not given.get('is_compacted', false)),
            'is_compacted': given.get('is_compacted', false),
            'pending_holds_cut': given.get('pending_holds_cut', true),
            'has_watermarks': given.get('has_watermarks', true),
            'snapshots': given.snapshots or {},
            'types': given.types or {},
            'keys': keyed,
            'placeholder': given.placeholder or '',
            'pattern': given.pattern or '',
            'databases': given.databases or {},
            'filter': given.filter or '',
            'filter_digest': adapter.call_python('changefold.filter_sql.digest', given.filter)
                if execute and given.filter else '',
        }) -%}
    {%- endfor -%}
    {{ return(topics) }}
{% endmacro %}


{#
    The declaration of a topic.

    Arguments:
        name: name of the topic.

    Returns:
        A mapping as of `declared_topics`, or none.
#}
{% macro declared_topic(name) %}
    {%- set found = changefold.declared_topics() | selectattr('name', 'equalto', name) | list -%}
    {{ return(found[0] if found else none) }}
{% endmacro %}


{#
    Condition: a Kafka record lies in a topic that a declaration stands for.

    Arguments:
        topic: mapping of `declared_topics`.
        column: expression, the topic of the record.

    Returns:
        A condition.
#}
{% macro is_in_topic(topic, column) -%}
    {%- if topic.pattern -%}
        {{ return(column ~ ' rlike ' ~ sql_text('^(?:' ~ topic.pattern ~ ')$')) }}
    {%- endif -%}
    {{ return(column ~ ' = ' ~ sql_text(topic.name)) }}
{%- endmacro %}
