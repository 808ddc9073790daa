{#
    The statement that appends to a raw table the messages which it lacks. What was pruned from
    it does not come back. It fails where a place in the topic has another message than the one
    that landed there: a topic that was made anew counts its offsets from 0, and its messages
    would pass for those of the old one.

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
        and case
            when
                topic = {{ sql_text(place.record_topic) }}
                and partition = {{ place.kafka_partition }}
                and offset <= {{ place.last_offset }}
                then
                    timestamp >= timestamp'{{ place.older_than }}'
                    and {{ changefold._another_message(
                        topic, "'one that was pruned'"
                    ) }}
            else true
        end
        {%- endfor %}

),

landed as (

    select
        topic,
        partition,
        offset,
        landed_from,
        xxhash64(value) as content
    from {{ raw }}
    where {{ conditions | join(' or ') or 'false' }}

),

copies as (

    select
        topic,
        partition,
        offset,
        timestamp,
        key,
        value,
        headers,
        landed_from,
        xxhash64(value) as content,
        false as has_landed
    from incoming
    union all
    select
        topic,
        partition,
        offset,
        cast(null as timestamp) as timestamp,
        cast(null as binary) as key,
        cast(null as binary) as value,
        cast(null as array<struct<key: string, value: binary>>) as headers,
        landed_from,
        content,
        true as has_landed
    from landed

),

-- A recording can hold a message twice, in two files that overlap.
numbered as (

    select
        *,
        row_number() over place as copy,
        lag(landed_from) over place as before_from,
        lag(content) over place as before_content
    from copies
    window place as (
        partition by topic, partition, offset
        order by has_landed desc, landed_from
    )

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
where
    case
        when numbered.copy = 1 then not numbered.has_landed
        else
            numbered.before_content <> numbered.content
            and {{ changefold._another_message(topic, 'numbered.before_from', 'numbered.') }}
    end
{%- endmacro %}


{#
    An expression of type boolean that fails, with a sentence of the message at hand.

    Arguments:
        topic: mapping of `declared_topics`.
        other: expression of type string, where the other message of its place is from.
        row: name of the relation of the message at hand, with a dot.
#}
{% macro _another_message(topic, other, row='') -%}
    cast(raise_error(concat(
        'Topic ', {{ sql_text(topic.name) }}, ': ', {{ row }}landed_from, ' has another message at partition ',
        {{ row }}partition, ', offset ', {{ row }}offset, ' than ', {{ other }},
        '. If the topic was made anew, its offsets begin at 0 again: declare the new one',
        ' under another `name`, with its own as `pattern`'
    )) as boolean)
{%- endmacro %}
