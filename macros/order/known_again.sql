{#
    Events with `counts_again`: whether an event that equals an earlier one is another
    change.

    Canal tells of no change where it lies in the log, and of its time only the second in
    which its statement began: equal rows may be as many changes. When it sends its log
    again, times go back: what equals an earlier event then is that one. Not so without a
    key, where a long statement may have written equal rows.

    Arguments:
        events: name of a relation with the columns of the staging models.

    Returns:
        A `select`: those columns and counts_again.
#}
{% macro known_again(events) -%}
    {%- set is_of_canal = changefold.is_of_protocols(['canal_json']) -%}
    {%- if is_of_canal == 'false' -%}
    select
        *,
        false as counts_again
    from {{ events }}
    {%- else -%}
    {%- set is_rebuilt = changefold.read_positions() is none -%}
    with

    reached as (

        {{ changefold.reached_positions(
            none if is_rebuilt else changefold.built_relation('change_log'), is_rebuilt
        ) }}

    )

    select
        events.*,
        events.{{ is_of_canal }}
        and (events.event_kind = 'row' or events.event_type = 'TRUNCATE')
        and coalesce(
            events.event_kind = 'row' and events.primary_key is null
            or unix_millis(events.committed_at) >= greatest(
                max({{ changefold.clock_ms() }}) over (
                    partition by
                        events.kafka_topic, events.record_topic, events.kafka_partition
                    order by events.kafka_offset
                    range between unbounded preceding and 1 preceding
                ),
                reached.clock_ms
            ),
            true
        ) as counts_again
    from {{ events }} as events
    left join reached
        on
            events.kafka_topic = reached.kafka_topic
            and events.record_topic = reached.record_topic
            and events.kafka_partition = reached.kafka_partition
            and reached.log = 'canal'
    {%- endif -%}
{%- endmacro %}
