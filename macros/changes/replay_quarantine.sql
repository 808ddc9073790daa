{#
    An operation: has quarantined messages read again by the next `dbt build`, after what
    kept them from being read was mended. Without arguments all of them.

    It only writes down which. The build reads their bytes from the change log and puts what
    they are in place of the quarantined event, in one commit; so a kill in between loses
    nothing, and a message that still can not be read is back in quarantine. A change takes
    the place that its commit gives it: what came after it stays after it.

    Arguments:
        topic: declared name of the topic.
        error_class: as in `quarantined_messages`.
        record_topic: name of the Kafka topic, where a declaration stands for several.
        partition: number.
        first_offset: lowest offset.
        last_offset: highest offset.
#}
{% macro replay_quarantine(topic=none, error_class=none, record_topic=none, partition=none, first_offset=none, last_offset=none) %}
    {%- do changefold.lock_warehouse() -%}
    {%- set change_log = changefold.built_relation('change_log') -%}
    {%- if not change_log -%}
        {{ exceptions.raise_compiler_error(
            '`replay_quarantine`: there is no change log yet; run `dbt build` first'
        ) }}
    {%- endif -%}
    {%- set conditions = ["event_kind = 'invalid'"] -%}
    {%- for column, text in {
        'kafka_topic': topic, 'error_class': error_class, 'record_topic': record_topic
    }.items() if text is not none -%}
        {%- do conditions.append(column ~ ' = ' ~ sql_text(text)) -%}
    {%- endfor -%}
    {%- for condition, number in {
        'kafka_partition = ': partition,
        'kafka_offset >= ': first_offset,
        'kafka_offset <= ': last_offset,
    }.items() if number is not none -%}
        {%- if number is not integer -%}
            {{ exceptions.raise_compiler_error(
                '`replay_quarantine`: expected a whole number for `' ~ condition
                ~ '`, got `' ~ number ~ '`'
            ) }}
        {%- endif -%}
        {%- do conditions.append(condition ~ number) -%}
    {%- endfor -%}
    {%- set requests = changefold.replay_requests() -%}
    {%- do run_query(
        'create table if not exists ' ~ requests ~ ' (kafka_topic string,'
        ~ ' record_topic string, kafka_partition int, kafka_offset bigint,'
        ~ ' batch_id bigint, requested_at timestamp) using ' ~ target.file_format
    ) -%}
    {%- set batch_id = changefold._reserved_batch_id(change_log) -%}
    {%- do run_query(
        'insert into ' ~ requests
        ~ ' select log.kafka_topic, log.record_topic, log.kafka_partition,'
        ~ ' log.kafka_offset, ' ~ batch_id ~ ', current_timestamp()'
        ~ ' from (select * from ' ~ change_log ~ ' where ' ~ conditions | join(' and ') ~ ') as log'
        ~ ' left anti join ' ~ requests ~ ' as requests on ' ~ changefold._is_request_of_event()
    ) -%}
    {%- set messages = run_query(
        'select count(*) from ' ~ requests ~ ' where batch_id = ' ~ batch_id
    ).rows[0][0] -%}
    {{ log(
        messages ~ ' quarantined message(s) will be read again by the next `dbt build`'
        if messages else 'No quarantined message is of that kind, or all wait already',
        info=True
    ) }}
{% endmacro %}


{# The table of what was asked for. #}
{% macro replay_requests() %}
    {{ return(api.Relation.create(schema=target.schema, identifier='replay_requests')) }}
{% endmacro %}


{#
    The number of a batch that no landing will have: it is written down with those of the
    landed files.
#}
{% macro _reserved_batch_id(change_log) %}
    {%- set ledger = api.Relation.create(schema=target.schema, identifier='landed_files') -%}
    {%- set batch_id = run_query(
        'select max(batch_id) + 1 from (select max(batch_id) as batch_id from ' ~ ledger
        ~ ' union all select max(batch_id) as batch_id from ' ~ change_log ~ ')'
    ).rows[0][0] -%}
    {%- do run_query(
        'insert into ' ~ ledger ~ " values ('', 'replay_quarantine', 0, 0, " ~ batch_id ~ ')'
    ) -%}
    {{ return(batch_id) }}
{% endmacro %}


{# Condition on `log` and `requests`: the quarantined event waits for being read again. #}
{% macro _is_request_of_event() -%}
    log.kafka_topic = requests.kafka_topic
    and log.record_topic = requests.record_topic
    and log.kafka_partition = requests.kafka_partition
    and log.kafka_offset = requests.kafka_offset
    and log.batch_id < requests.batch_id
{%- endmacro %}


{#
    The quarantined messages that wait for being read again.

    Returns:
        A `select`: kafka_topic, record_topic, kafka_partition, kafka_offset,
        kafka_timestamp, key, value, batch_id. None, where nothing was asked for, or the
        whole log is read anew.
#}
{% macro requested_messages() %}
    {%- set requests = changefold.replay_requests() -%}
    {%- if not execute or changefold.read_positions() is none
        or changefold.snapshot_id(requests) in ['', 'none'] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set selected -%}
    select
        log.kafka_topic,
        log.record_topic,
        log.kafka_partition,
        log.kafka_offset,
        log.kafka_timestamp,
        log.key,
        log.value,
        max(requests.batch_id) as batch_id
    from {{ changefold.built_relation('change_log') }} as log
    inner join {{ requests }} as requests
        on {{ changefold._is_request_of_event() }}
    where log.event_kind = 'invalid'
    group by all
    {%- endset -%}
    {{ return(selected) }}
{% endmacro %}


{#
    How many messages of each topic wait for being read again.

    Returns:
        A mapping topic -> number.
#}
{% macro requested_counts() %}
    {%- set selected = changefold.requested_messages() -%}
    {%- set counts = {} -%}
    {%- if selected is not none -%}
        {%- for row in adapter.query_once(
            'select kafka_topic, count(*) as messages from (' ~ selected ~ ') group by all',
            changefold.snapshot_id(changefold.replay_requests()) ~ '/' ~ changefold.snapshot_id(changefold.built_relation('change_log'))
        ) -%}
            {%- do counts.update({row.kafka_topic: row.messages | int}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(counts) }}
{% endmacro %}


{#
    The statement that puts what was read again in place of what was quarantined, and
    appends all else.

    Arguments:
        relation: relation of the change log.
        events: a `select` with its columns.

    Returns:
        A `merge` statement.
#}
{% macro merge_replayed(relation, events) -%}
    {%- set kept = {
        'quarantined_at': 'log.quarantined_at', 'replays': 'log.replays + 1'
    } -%}
merge into {{ relation }} as log
using (
    {{ events }}
) as events
on
    log.event_kind = 'invalid'
    and log.kafka_topic = events.kafka_topic
    and log.record_topic = events.record_topic
    and log.kafka_partition = events.kafka_partition
    and log.kafka_offset = events.kafka_offset
    and log.event_index = events.event_index
when matched then update set
    {%- for column in adapter.get_columns_in_relation(relation) %}
    log.{{ column.name }} = {{ kept.get(column.name, 'events.' ~ column.name) }}
    {{- ',' if not loop.last }}
    {%- endfor %}
when not matched then insert *
{%- endmacro %}
