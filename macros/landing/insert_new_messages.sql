{#
    The statement that appends to a raw table the messages which it lacks. What was pruned from
    it does not come back.

    Arguments:
        raw: relation of the raw table.
        incoming: name of the view on what was just read.
        topic: mapping of `declared_topics`; messages of another topic are left out.
        batch_id: number of this landing; later models read by it.
        first_offsets: mapping partition -> lowest offset in `incoming`, if the raw table
            has messages already; files below these are not opened.

    Returns:
        An `insert` statement.
#}
{% macro insert_new_messages(raw, incoming, topic, batch_id, first_offsets) -%}
    {%- set conditions = [] -%}
    {%- for partition, offset in first_offsets.items() -%}
        {%- do conditions.append(
            '(partition = ' ~ partition ~ ' and offset >= ' ~ offset ~ ')'
        ) -%}
    {%- endfor %}
insert into {{ raw }}
with

incoming as (

    select * from {{ incoming }}
    where
        {{ changefold.is_in_topic(topic, 'topic') }}
        {%- for place in changefold.pruned_positions() if place.kafka_topic == topic.name %}
        and not (
            topic = {{ sql_text(place.record_topic) }}
            and partition = {{ place.kafka_partition }}
            and offset <= {{ place.last_offset }}
        )
        {%- endfor %}

),

landed as (

    select
        topic,
        partition,
        offset
    from {{ raw }}
    where {{ conditions | join(' or ') or 'false' }}

),

-- A recording can hold a message twice, in two files that overlap.
numbered as (

    select
        *,
        row_number() over (
            partition by topic, partition, offset
            order by landed_from
        ) as copy
    from incoming

)

select
    numbered.topic,
    numbered.partition,
    numbered.offset,
    numbered.timestamp,
    numbered.key,
    numbered.value,
    numbered.headers,
    numbered.landed_from,
    current_timestamp() as landed_at,
    cast({{ batch_id }} as bigint) as batch_id
from numbered
left anti join landed
    on
        numbered.topic = landed.topic
        and numbered.partition = landed.partition
        and numbered.offset = landed.offset
where numbered.copy = 1
{%- endmacro %}
