{#
    Decides which of the changes that came below the cut were sent before (`is_duplicate`).
    The statement that appended them left that open: it looks only above the cut.

    TiCDC sends no *new* change below a watermark of its partition, so most were. But a
    changefeed that is resumed with one more table sends its rows there, and a declared
    snapshot is read while the cut moves on: those are applied, late. After a kill, the next
    build decides.

    Arguments:
        relation: relation of the change log.
#}
{% macro settle_late_changes(relation) %}
    {%- set arrived = changefold.is_of_later_batch(changefold.counted_batches()) -%}
    {%- set late = run_query(
        'select kafka_topic, source_table, min(change_sequence) as first_sequence,'
        ~ ' max(change_sequence) as last_sequence from ' ~ relation
        ~ ' where is_duplicate is null and ' ~ arrived ~ ' group by all'
    ).rows -%}
    {%- if late -%}
        {%- do run_query(changefold._merge_decided(relation, arrived, late)) -%}
        {%- set applied = run_query(
            'select kafka_topic, count(*) as changes from ' ~ relation
            ~ ' where not is_duplicate and ' ~ changefold.is_below_cut() ~ ' and ' ~ arrived
            ~ ' group by all order by all'
        ).rows -%}
        {%- for row in applied -%}
            {{ log(
                row.changes ~ ' change(s) of `' ~ row.kafka_topic ~ '` came below the cut of the'
                ~ ' run before, and for the first time: they are applied late', info=True
            ) }}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{#
    The statement that decides: of equal events, the one that is in the log already, else
    the first in Kafka, is the change.

    Arguments:
        relation: relation of the change log.
        arrived: condition: the event came since the last run.
        late: rows with the table and the lowest and highest change sequence of what came
            late, as literals: so the files of other tables and times stay shut.

    Returns:
        A `merge` statement.
#}
{% macro _merge_decided(relation, arrived, late) -%}
    {%- set sequences = late | map(attribute='first_sequence') | list
        + late | map(attribute='last_sequence') | list -%}
    {%- set topics = [] -%}
    {%- set tables = [] -%}
    {%- for row in late -%}
        {%- do topics.append(sql_text(row.kafka_topic)) -%}
        {%- do tables.append(sql_text(row.source_table or '')) -%}
    {%- endfor -%}
    {%- set place = ['kafka_topic', 'record_topic', 'kafka_partition', 'kafka_offset', 'event_index'] -%}
merge into {{ relation }} as log
using (
    select
        {{ place | join(', ') }},
        row_number() over (
            partition by identity
            order by is_duplicate is null, {{ place | join(', ') }}
        ) > 1 as is_repeated,
        is_duplicate is null as is_late
    from {{ relation }}
    where
        is_duplicate is null and {{ arrived }}
        or (
            not is_duplicate
            and event_kind in ('row', 'ddl')
            and kafka_topic in ({{ topics | unique | join(', ') }})
            and (source_table is null or source_table in ({{ tables | unique | join(', ') }}))
            and change_sequence between '{{ sequences | min }}' and '{{ sequences | max }}'
        )
) as decided
on
    log.is_duplicate is null
    and decided.is_late
    {%- for column in place %}
    and log.{{ column }} = decided.{{ column }}
    {%- endfor %}
when matched then update set
    log.is_duplicate = decided.is_repeated
    {%- for column in changefold.columns_of_first_deliveries() %},
    log.{{ column }} = if(decided.is_repeated, null, log.{{ column }})
    {%- endfor %}
{%- endmacro %}
