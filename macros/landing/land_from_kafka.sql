{#
    Lands what is new of a topic in Kafka in its raw table: of each partition the offsets from
    the first that has not landed to the newest when the run began, or fewer.

    Exactly once: what has landed is written down after the raw table's commit. A run that is
    killed in between leaves messages of a later batch than the last one written down; the next
    run goes on behind them.

    Arguments:
        topic: mapping of `declared_topics`.

    Raises:
        An error that names the topic, if Kafka does not answer, refuses, or the topic is not
        the one that it was. The raw table stays as it is.
#}
{% macro land_from_kafka(topic) %}
    {%- set ledger = changefold.landed_offsets() -%}
    {%- do run_query(
        'create table if not exists ' ~ ledger ~ ' (topic string, record_topic string,'
        ~ ' partition int, topic_id string, next_offset bigint, batch_id bigint,'
        ~ ' landed_at timestamp) using '
        ~ target.file_format
    ) -%}
    {%- set raw = changefold.raw_relation(topic) -%}
    {%- do changefold.create_raw_table(raw) -%}
    {%- set batch_id = changefold.next_landing() -%}
    {%- set slices = adapter.kafka_batch(topic, changefold._landed_places(topic, raw).rows) -%}
    {%- set new = [] -%}
    {%- set first_offsets = {} -%}
    {%- set counts = {'new': 0, 'remaining': 0} -%}
    {%- for slice in slices -%}
        {%- do counts.update({'remaining': counts.remaining + slice.remaining}) -%}
        {%- if slice.lost_from < slice.start_offset -%}
            {%- do exceptions.warn(
                'Topic `' ~ topic.name ~ '`: Kafka deleted the offsets ' ~ slice.lost_from ~ ' to '
                ~ (slice.start_offset - 1) ~ ' of partition ' ~ slice.partition ~ ' of `'
                ~ slice.topic ~ '` before they landed. They are lost: the cut stays before them,'
                ~ ' until the topic is declared with `is_gapless: false` (docs/kafka.md).'
            ) -%}
        {%- endif -%}
        {%- if slice.end_offset > slice.start_offset -%}
            {%- do new.append(slice) -%}
            {%- do counts.update({'new': counts.new + slice.end_offset - slice.start_offset}) -%}
            {%- do first_offsets.update({slice.partition: [
                slice.start_offset, first_offsets.get(slice.partition, slice.start_offset)
            ] | min}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if new -%}
        {%- do adapter.read_kafka('incoming_messages', topic, new) -%}
        {%- do run_query(
            changefold.insert_new_messages(raw, 'incoming_messages', topic, batch_id, first_offsets)
        ) -%}
        {{ log(
            'Landed the offsets of ' ~ counts.new ~ ' message(s) of topic ' ~ topic.name
            ~ (', ' ~ counts.remaining ~ ' remain for the next run' if counts.remaining else ''),
            info=True
        ) }}
    {%- endif -%}
    {%- do changefold._note_landed(topic, ledger, slices, batch_id) -%}
{% endmacro %}


{#
    The table of what has landed from Kafka: a row per partition and batch that brought
    something new of it, or that saw it first.

    Returns:
        A relation.
#}
{% macro landed_offsets() %}
    {{ return(api.Relation.create(schema=target.schema, identifier='landed_offsets')) }}
{% endmacro %}


{#
    How many partitions Kafka had of a topic when it landed last; of a pattern the highest
    number.

    Arguments:
        name: name of the topic's declaration.

    Returns:
        A number; 1 before the first landing.
#}
{% macro partitions_in_kafka(name) %}
    {%- set version = changefold.snapshot_id(changefold.landed_offsets()) if execute else '' -%}
    {%- if version in ['', 'none'] -%}
        {{ return(1) }}
    {%- endif -%}
    {%- set rows = adapter.query_once(
        'select topic, max(partition) + 1 as partitions from ' ~ changefold.landed_offsets()
        ~ ' group by topic',
        version
    ) -%}
    {%- for row in rows if row.topic == name -%}
        {{ return(row.partitions | int) }}
    {%- endfor -%}
    {{ return(1) }}
{% endmacro %}


{# How far each partition has landed, what a killed run landed too. #}
{% macro _landed_places(topic, raw) %}
    {%- set ledger = changefold.landed_offsets() -%}
    {%- set name = sql_text(topic.name) -%}
    {%- set batch = run_query(
        'select coalesce(max(batch_id), 0) from ' ~ ledger ~ ' where topic = ' ~ name
    ).rows[0][0] -%}
    {{ return(run_query(
        'select record_topic, partition, max_by(topic_id, batch_id) as topic_id,'
        ~ ' max(next_offset) as next_offset from (select record_topic, partition, topic_id,'
        ~ ' next_offset, batch_id from ' ~ ledger ~ ' where topic = ' ~ name
        ~ " union all select topic, partition, '', offset + 1, 0 from " ~ raw
        ~ ' where batch_id > ' ~ batch ~ ') group by all'
    )) }}
{% endmacro %}


{# Writes down how far the partitions have landed, where that is news. #}
{% macro _note_landed(topic, ledger, slices, batch_id) %}
    {%- set known = {} -%}
    {%- for row in run_query(
        'select record_topic, partition, max(next_offset) from ' ~ ledger ~ ' where topic = '
        ~ sql_text(topic.name) ~ ' group by all'
    ).rows -%}
        {%- do known.update({(row[0], row[1] | int): row[2] | int}) -%}
    {%- endfor -%}
    {%- set rows = [] -%}
    {%- for slice in slices if known.get((slice.topic, slice.partition)) != slice.end_offset -%}
        {%- do rows.append(
            '(' ~ sql_text(topic.name) ~ ', ' ~ sql_text(slice.topic) ~ ', ' ~ slice.partition
            ~ ', ' ~ sql_text(slice.topic_id) ~ ', ' ~ slice.end_offset ~ ', ' ~ batch_id
            ~ ', current_timestamp())'
        ) -%}
    {%- endfor -%}
    {%- if rows -%}
        {%- do run_query('insert into ' ~ ledger ~ ' values ' ~ rows | join(', ')) -%}
    {%- endif -%}
{% endmacro %}
