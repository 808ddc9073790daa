{#
    Where reading stands: what of each topic is in the change log, and what waits.

    These macros look into the warehouse while a model compiles, which others here do
    not: a bound that is a literal prunes files, a subquery does not (DECISIONS.md).

    Returns:
        None where there is no change log yet or it is being rebuilt, else a mapping
        topic -> {batch_id, offsets: {(record topic, partition): last offset}}.
#}
{% macro read_positions() %}
    {%- set log_relation = changefold.built_relation('change_log') -%}
    {%- if not log_relation or flags.FULL_REFRESH -%}
        {{ return(none) }}
    {%- endif -%}
    {%- if 'changefold.order' not in adapter.table_properties(log_relation) -%}
        {{ exceptions.raise_compiler_error(
            "The order of changes is another in this release: expected a `change_log` of it, got one"
            " of a release before. Run `dbt build --full-refresh`, with raw topics that are whole."
        ) }}
    {%- endif -%}
    {#- What `watermarks` had counted need not be read again, unless a kill or a rebuild
        of the log alone has put the two apart: later batches are. -#}
    {%- set rows = [] -%}
    {%- do rows.extend(changefold.counted_positions()) -%}
    {%- do rows.extend(adapter.query_once(
        'select kafka_topic, record_topic, kafka_partition, max(batch_id) as batch_id,'
        ~ ' max(kafka_offset) as last_offset from ' ~ log_relation
        ~ ' where ' ~ changefold.is_of_later_batch(changefold.counted_batches()) ~ ' group by all',
        changefold.snapshot_id(log_relation)
    )) -%}
    {%- set positions = {} -%}
    {%- for row in rows -%}
        {%- set position = positions.setdefault(
            row.kafka_topic, {'batch_id': 0, 'offsets': {}}
        ) -%}
        {%- set place = (row.record_topic, row.kafka_partition | int) -%}
        {%- do position.offsets.update({
            place: [position.offsets.get(place, -1), row.last_offset | int] | max
        }) -%}
        {%- do position.update(
            {'batch_id': [position.batch_id, row.batch_id | int] | max}
        ) -%}
    {%- endfor -%}
    {{ return(positions) }}
{% endmacro %}


{#
    How far the model `watermarks` has read the change log.

    Returns:
        A list of mappings, per partition: kafka_topic, record_topic, kafka_partition,
        contiguous_offset, last_offset, batch_id. Empty before the first run.
#}
{% macro counted_positions() %}
    {%- set relation = changefold.built_relation('watermarks') -%}
    {%- if not relation -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return(adapter.query_once(
        'select kafka_topic, record_topic, kafka_partition, contiguous_offset,'
        ~ ' last_offset, batch_id'
        ~ ' from ' ~ relation ~ ' order by all',
        changefold.snapshot_id(relation)
    )) }}
{% endmacro %}


{#
    The last batch of each topic that the model `watermarks` has read.

    Returns:
        A mapping topic -> batch_id.
#}
{% macro counted_batches() %}
    {%- set batches = {} -%}
    {%- for row in changefold.counted_positions() -%}
        {%- do batches.update({
            row.kafka_topic: [batches.get(row.kafka_topic, 0), row.batch_id | int] | max
        }) -%}
    {%- endfor -%}
    {{ return(batches) }}
{% endmacro %}


{#
    Condition: the event came in a later batch than those. With one literal for each
    topic, so that files of the past are not opened.

    Arguments:
        batches: mapping topic -> batch_id; of other topics every event is later.

    Returns:
        A condition on kafka_topic and batch_id.
#}
{% macro is_of_later_batch(batches) -%}
    {%- if not batches -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set conditions = [] -%}
    {%- set topics = [] -%}
    {%- for topic, batch_id in batches.items() -%}
        {%- do topics.append(sql_text(topic)) -%}
        {%- do conditions.append(
            '(kafka_topic = ' ~ sql_text(topic) ~ ' and batch_id > ' ~ batch_id ~ ')'
        ) -%}
    {%- endfor -%}
    {%- do conditions.append('kafka_topic not in (' ~ topics | join(', ') ~ ')') -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}


{#
    Condition: the message is not in the change log yet.

    A topic that this project lands is read by batch; a raw table that somebody else
    fills is read by offset, which there only grows within a partition.

    Returns:
        A condition on kafka_topic, record_topic, kafka_partition, kafka_offset and
        batch_id.
#}
{% macro is_unread() -%}
    {%- set positions = changefold.read_positions() -%}
    {%- if not positions -%}
        {{ return('true') }}
    {%- endif -%}
    {%- set conditions = [] -%}
    {%- for topic in changefold.declared_topics() -%}
        {%- set condition = 'kafka_topic = ' ~ sql_text(topic.name) -%}
        {%- set position = positions.get(topic.name) -%}
        {%- if position and topic.is_landed -%}
            {%- set condition = condition ~ ' and batch_id > ' ~ position.batch_id -%}
        {%- elif position -%}
            {#- Column by column: of a comparison of structs the table's files know nothing. -#}
            {%- set parts = [] -%}
            {%- set partitions = {} -%}
            {%- for place, offset in position.offsets.items() -%}
                {%- do partitions.setdefault(place[0], []).append(place[1]) -%}
                {%- do parts.append(
                    'record_topic = ' ~ sql_text(place[0]) ~ ' and kafka_partition = ' ~ place[1]
                    ~ ' and kafka_offset > ' ~ offset
                ) -%}
            {%- endfor -%}
            {%- set places = [] -%}
            {%- for record_topic, numbers in partitions.items() -%}
                {%- do places.append(
                    '(record_topic = ' ~ sql_text(record_topic)
                    ~ ' and kafka_partition in (' ~ numbers | join(', ') ~ '))'
                ) -%}
            {%- endfor -%}
            {%- do parts.append('not (' ~ places | join(' or ') ~ ')') -%}
            {#- What was in quarantine is read again by its batch. -#}
            {%- do parts.append('batch_id > ' ~ position.batch_id) -%}
            {%- set condition = condition ~ ' and (' ~ parts | join(' or ') ~ ')' -%}
        {%- endif -%}
        {%- do conditions.append('(' ~ condition ~ ')') -%}
    {%- endfor -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')') }}
{%- endmacro %}


{#
    Whether a message waits to be read: one that arrived, or one that was in quarantine.

    Returns:
        A bool.
#}
{% macro has_unread() %}
    {%- if changefold.requested_counts() -%}
        {{ return(true) }}
    {%- endif -%}
    {%- for topic in changefold.declared_topics() -%}
        {%- set raw = changefold.raw_relation(topic) -%}
        {%- set rows = adapter.query_once(
            'select 1 as is_unread from (select ' ~ sql_text(topic.name) ~ ' as kafka_topic, '
            ~ changefold.record_topic(topic) ~ ' as record_topic,'
            ~ ' partition as kafka_partition, offset as kafka_offset, '
            ~ ('batch_id' if topic.is_landed else 'null as batch_id') ~ ' from ' ~ raw ~ ')'
            ~ ' where ' ~ changefold.is_unread() ~ ' limit 1',
            changefold.snapshot_id(raw)
        ) -%}
        {%- if rows -%}
            {{ return(true) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{% endmacro %}


{#
    Condition: the change lies below the cut of the last run. Most of what comes there was
    sent before; whether it was, `settle_late_changes` looks up.

    Returns:
        A condition on kafka_topic, event_kind, commit_ts and change_sequence.
#}
{% macro is_below_cut() -%}
    {%- set conditions = [] -%}
    {%- if changefold.read_positions() is not none -%}
        {%- for topic, cut in changefold.applied_cuts().items() if cut.cut_sequence is not none -%}
            {%- do conditions.append(
                "(event_kind in ('row', 'ddl') and commit_ts is not null and kafka_topic = "
                ~ sql_text(topic) ~ " and change_sequence < '" ~ cut.cut_sequence ~ "')"
            ) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return('(' ~ conditions | join(' or ') ~ ')' if conditions else 'false') }}
{%- endmacro %}


{#
    The columns of the staging models, in their order.

    Returns:
        A mapping name -> type.
#}
{% macro event_columns() %}
    {{ return({
        'kafka_topic': 'string',
        'record_topic': 'string',
        'kafka_partition': 'int',
        'kafka_offset': 'bigint',
        'event_index': 'int',
        'batch_id': 'bigint',
        'event_kind': 'string',
        'event_type': 'string',
        'op': 'string',
        'source_database': 'string',
        'source_table': 'string',
        'schema_version': 'bigint',
        'commit_ts': 'bigint',
        'watermark_ts': 'bigint',
        'change_sequence': 'string',
        'committed_at': 'timestamp',
        'emitted_at': 'timestamp',
        'kafka_timestamp': 'timestamp',
        'before': 'string',
        'after': 'string',
        'unavailable_columns': 'string',
        'connector': 'string',
        'primary_key': 'string',
        'column_types': 'string',
        'ddl_sql': 'string',
        'table_schema': 'string',
        'previous_table_schema': 'string',
        'source_position': 'string',
        'log_position': 'struct<log: string, position: string, place: string, server: string>',
        'error_class': 'string',
        'error_path': 'string',
        'error_message': 'string',
        'key': 'binary',
        'value': 'binary',
    }) }}
{% endmacro %}


{#
    The identities already in the change log that a new event above the cut can repeat, in
    the columns of the staging models, and their place in its order.

    Returns:
        A `select`.
#}
{% macro known_identities() -%}
    {%- set log_relation = changefold.built_relation('change_log') -%}
    {%- set is_first = not log_relation or flags.FULL_REFRESH -%}
    {%- set kept = ['kafka_topic', 'record_topic', 'kafka_partition', 'kafka_offset',
        'event_index', 'batch_id', 'event_kind', 'change_sequence'] -%}
    select
        {%- for name, type in changefold.event_columns().items() %}
        {{ name if name in kept else 'cast(null as ' ~ type ~ ') as ' ~ name }},
        {%- endfor %}
        false as counts_again,
        {{ 'log_order' if is_first else changefold.log_order() }} as log_order,
        identity
    from {{ 'identified' if is_first else log_relation }}
    where
    {%- if is_first %} false
    {%- else %}
        event_kind in ('row', 'ddl')
        and not is_duplicate
        {%- set below = changefold.is_below_cut() %}
        {%- if below != 'false' %}
        and not ({{ below }})
        {%- endif %}
    {%- endif %}
{%- endmacro %}


{# The columns that only the first delivery of an event has in the change log. #}
{% macro columns_of_first_deliveries() %}
    {{ return(['before', 'after', 'unavailable_columns', 'primary_key', 'column_types']) }}
{% endmacro %}


{#
    The batch of an event: that of its landing or, for a raw table that somebody else
    fills, the number of this run.

    Arguments:
        batch_id: column.

    Returns:
        An expression of type bigint.
#}
{% macro next_batch_id(batch_id) -%}
    {#- Also of a log that is rebuilt: what was counted before goes by these numbers. -#}
    {%- set highest = [0] -%}
    {%- do highest.extend(changefold.counted_batches().values()) -%}
    {%- for position in (changefold.read_positions() or {}).values() -%}
        {%- do highest.append(position.batch_id) -%}
    {%- endfor -%}
    coalesce({{ batch_id }}, {{ highest | max + 1 }})
{%- endmacro %}
