{#
    Lands what is new of every topic with `files` or `kafka` in its raw table. Runs once, at
    the start of `dbt build` and `dbt run`, after the declarations were checked.

    Exactly once: a file is read again only if its length or time changed, and of what
    is read only a (partition, offset) that the raw table lacks is kept. So a run that
    is killed between the two writes lands nothing twice, and files may come in any
    order.

    Returns:
        Nothing.

    Raises:
        A compiler error that names the var, if a declaration can not be right.
#}
{% macro land_topics() %}
    {%- if execute and flags.WHICH in ['build', 'run', 'run-operation'] -%}
        {%- set topics = changefold.declared_topics() -%}
        {%- do changefold._check_zones_and_patterns(topics) -%}
        {%- do changefold._check_filters(topics) -%}
        {%- do changefold.lock_warehouse() -%}
        {%- set schema_relation = api.Relation.create(schema=target.schema) -%}
        {%- do run_query('create schema if not exists ' ~ schema_relation.without_identifier()) -%}
        {%- do changefold.check_full_refresh() -%}
        {%- do changefold.finish_pruning() -%}
        {%- set ledger = api.Relation.create(schema=target.schema, identifier='landed_files') -%}
        {%- do run_query(
            'create table if not exists ' ~ ledger ~ ' (topic string, path string,'
            ~ ' length bigint, modified_ms bigint, batch_id bigint) using '
            ~ target.file_format
        ) -%}
        {%- do changefold._land_files(topics | selectattr('files') | list, ledger) -%}
        {%- for topic in topics if topic.kafka -%}
            {%- do changefold.land_from_kafka(topic) -%}
        {%- endfor -%}
        {%- do changefold._check_partitions(topics) -%}
        {%- do changefold._check_types(topics) -%}
    {%- endif -%}
{% endmacro %}


{#
    Makes the raw table of a topic that this project lands, if it is not there yet.

    Arguments:
        raw: relation of the raw table.
#}
{% macro create_raw_table(raw) %}
    {%- do run_query(
        'create table if not exists ' ~ raw ~ ' (topic string, partition int,'
        ~ ' offset bigint, timestamp timestamp, key binary, value binary,'
        ~ ' headers array<struct<key: string, value: binary>>, landed_from string,'
        ~ ' landed_at timestamp, batch_id bigint) using ' ~ target.file_format
        ~ ' partitioned by (partition)'
        ~ " tblproperties ('write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')"
    ) -%}
{% endmacro %}


{#
    The number of the next landing: above all before.

    Returns:
        A number.
#}
{% macro next_landing() %}
    {%- set highest = [0] -%}
    {%- for name in ['landed_files', 'landed_offsets'] -%}
        {%- set ledger = api.Relation.create(schema=target.schema, identifier=name) -%}
        {%- if changefold.snapshot_id(ledger) not in ['', 'none'] -%}
            {%- do highest.append(
                run_query('select coalesce(max(batch_id), 0) from ' ~ ledger).rows[0][0]
            ) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(highest | max + 1) }}
{% endmacro %}


{#
    Lands the new files of topics, of each in one commit, and notes them behind it.

    Arguments:
        topics: of `declared_topics`, with `files`.
        ledger: relation of the files that have landed.
#}
{% macro _land_files(topics, ledger) %}
    {%- set known = {} -%}
    {%- if topics -%}
        {%- for row in run_query('select topic, path, length, modified_ms from ' ~ ledger).rows -%}
            {%- do known.setdefault(row[0], []).append((row[1], row[2], row[3])) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set landings = [changefold.next_landing()] if topics else [] -%}
    {%- for topic in topics -%}
        {%- set raw = changefold.raw_relation(topic) -%}
        {%- do changefold.create_raw_table(raw) -%}
        {%- set new_files = adapter.new_files(topic.name, topic.files, known.get(topic.name, [])) -%}
        {%- if new_files -%}
            {%- do changefold._land_messages(topic, raw, new_files, landings[-1]) -%}
            {%- set rows = [] -%}
            {%- for file in new_files -%}
                {%- do rows.append(
                    '(' ~ sql_text(topic.name) ~ ', ' ~ sql_text(file.path) ~ ', ' ~ file.length
                    ~ ', ' ~ file.modified_ms ~ ', ' ~ landings[-1] ~ ')'
                ) -%}
            {%- endfor -%}
            {%- do run_query('insert into ' ~ ledger ~ ' values ' ~ rows | join(', ')) -%}
            {%- do landings.append(landings[-1] + 1) -%}
            {{ log('Landed ' ~ new_files | length ~ ' file(s) of topic ' ~ topic.name, info=True) }}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{# Appends the messages in files of a topic that its raw table lacks. #}
{% macro _land_messages(topic, raw, files, batch_id) %}
    {%- do adapter.read_messages('incoming_messages', files) -%}
    {%- set first_offsets = {} -%}
    {%- if changefold.snapshot_id(raw) not in ['', 'none'] -%}
        {%- for row in run_query(
            'select partition, min(offset) from incoming_messages where '
            ~ changefold.is_in_topic(topic, 'topic') ~ ' group by partition'
        ).rows -%}
            {%- do first_offsets.update({row[0] | int: row[1] | int}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do run_query(
        changefold.insert_new_messages(raw, 'incoming_messages', topic, batch_id, first_offsets)
    ) -%}
{% endmacro %}


{% macro _check_partitions(topics) %}
    {%- for topic in topics if not topic.kafka -%}
        {%- set highest = run_query(
            'select max(partition) as partition from ' ~ changefold.raw_relation(topic)
        ).rows[0][0] -%}
        {%- if highest is not none and highest >= topic.partitions -%}
            {{ exceptions.raise_compiler_error(
                "var `topics`: topic `" ~ topic.name ~ "` is declared with `partitions: "
                ~ topic.partitions ~ "`, but a message of partition " ~ highest
                ~ " has arrived. Set it to the number of partitions of the topic, or the"
                ~ " cut would not wait for all of them."
            ) }}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{% macro _check_zones_and_patterns(topics) %}
    {%- for topic in topics -%}
        {%- for key, sentence in [
            ('time_zone', adapter.wrong_time_zone(topic.time_zone)),
            ('pattern', adapter.wrong_pattern(topic.pattern)),
        ] if sentence -%}
            {{ exceptions.raise_compiler_error(
                "var `topics`: topic `" ~ topic.name ~ "`: `" ~ key ~ "`: " ~ sentence
            ) }}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}


{% macro _check_filters(topics) %}
    {%- for topic in topics if topic.filter -%}
        {%- set sentence = adapter.call_python('changefold.changefeed.to_sql.check', topic.filter) -%}
        {%- if sentence -%}
            {{ exceptions.raise_compiler_error(
                "var `topics`: topic `" ~ topic.name ~ "`: `filter`: " ~ sentence
            ) }}
        {%- endif -%}
    {%- endfor -%}
    {#- What the tables of the run before show wrong, a rule that does not fit one. -#}
    {%- do changefold.refusing_value_rule() -%}
{% endmacro %}


{% macro _check_types(topics) %}
    {%- for topic in topics -%}
        {%- if topic.protocol == 'debezium' and topic.types -%}
            {%- set sentence = run_query(
                'select check_connect_types(' ~ sql_text(tojson(topic.types)) ~ ')'
            ).rows[0][0] -%}
            {%- if sentence -%}
                {{ exceptions.raise_compiler_error(
                    "var `topics`: topic `" ~ topic.name ~ "`: " ~ sentence
                ) }}
            {%- endif -%}
        {%- endif -%}
        {%- for table, types in topic.types.items() if topic.protocol != 'debezium' -%}
            {%- set ddl = [] -%}
            {%- for type in types.values() -%}
                {%- do ddl.append('c' ~ loop.index ~ ' ' ~ type) -%}
            {%- endfor -%}
            {%- set read = run_query(
                'select ddl.understood, ddl.reason from (select from_json(parse_mysql_ddl('
                ~ sql_text('create table t (' ~ ddl | join(', ') ~ ')')
                ~ ", ''), 'understood boolean, reason string') as ddl)"
            ).rows[0] -%}
            {%- if not read[0] -%}
                {{ exceptions.raise_compiler_error(
                    "var `topics`: topic `" ~ topic.name ~ "`: expected `types` of `" ~ table
                    ~ "` to be MySQL types, got `" ~ types ~ "`: " ~ read[1]
                ) }}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}
