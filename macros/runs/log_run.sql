{#
    Writes down a run, one row for each topic, at the end of `dbt build` and `dbt run`; not
    of one that did not touch the change log. The table is declared as a source, so that
    models and `dbt source freshness` can read it.

    A run that was killed has no row: what it did is in that of the next one.

    Arguments:
        results: what dbt knows of the nodes that ran.
#}
{% macro log_run(results) %}
    {%- set is_run = execute and flags.WHICH in ['build', 'run'] -%}
    {%- set has_log = [] -%}
    {%- for result in results if is_run and result.node.name == 'change_log' -%}
        {%- do has_log.append(result) -%}
    {%- endfor -%}
    {%- if has_log and changefold.built_relation('balance') -%}
        {%- set run_log = api.Relation.create(schema=target.schema, identifier='run_log') -%}
        {%- do run_query(
            'create table if not exists ' ~ run_log ~ ' (' ~ changefold.run_log_columns() ~ ') using '
            ~ target.file_format
        ) -%}
        {%- do run_query('insert into ' ~ run_log ~ changefold.run_log_rows(run_log, results)) -%}
    {%- endif -%}
{% endmacro %}


{# The columns of the run log, with their types. #}
{% macro run_log_columns() -%}
    run_id string,
    kafka_topic string,
    command string,
    status string,
    version string,
    started_at timestamp,
    finished_at timestamp,
    first_batch_id bigint,
    last_batch_id bigint,
    offsets array<struct<
        record_topic: string,
        kafka_partition: int,
        first_offset: bigint,
        last_offset: bigint
    >>,
    cut_before string,
    cut_after string,
    messages_read bigint,
    applied bigint,
    filtered bigint,
    duplicates bigint,
    quarantined bigint,
    control bigint,
    pending bigint,
    beyond_cut bigint,
    totals struct<
        messages_read: bigint,
        applied: bigint,
        filtered: bigint,
        duplicates: bigint,
        quarantined: bigint,
        control: bigint
    >,
    node_seconds map<string, double>
{%- endmacro %}


{#
    What a run has to say.

    Arguments:
        run_log: relation of the run log.
        results: what dbt knows of the nodes that ran.

    Returns:
        A `select`, its columns those of `run_log_columns`.
#}
{% macro run_log_rows(run_log, results) -%}
    {%- set counted = ['messages_read', 'applied', 'filtered', 'duplicates', 'quarantined', 'control'] -%}
    {%- set seconds = {} -%}
    {%- set failed = [] -%}
    {%- for result in results -%}
        {%- set layer = result.node.fqn[1] if result.node.resource_type == 'model'
            else result.node.resource_type -%}
        {%- do seconds.update({layer: seconds.get(layer, 0.0) + result.execution_time}) -%}
        {%- if result.status in ['error', 'fail', 'runtime error'] -%}
            {%- do failed.append(result.node.name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set pairs = [] -%}
    {%- for layer, sum in seconds.items() -%}
        {%- do pairs.append(sql_text(layer) ~ ', ' ~ '%.3f' | format(sum) ~ 'd') -%}
    {%- endfor %}
with

previous as (

    select
        kafka_topic,
        max_by(struct(last_batch_id, offsets, cut_after, totals), finished_at) as run
    from {{ run_log }}
    {%- if flags.FULL_REFRESH %}
    where false
    {%- endif %}
    group by kafka_topic

),

balance as (

    select
        kafka_topic,
        {%- for name in counted + ['pending', 'beyond_cut'] %}
        sum({{ name }}) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ changefold.built_relation('balance') }}
    group by kafka_topic

),

read as (

    select
        kafka_topic,
        array_sort(collect_list(
            struct(record_topic, kafka_partition, first_offset, last_offset)
        )) as offsets
    from {{ changefold.built_relation('watermarks') }}
    group by kafka_topic

)

select
    {{ sql_text(invocation_id) }} as run_id,
    cuts.kafka_topic,
    {{ sql_text(flags.WHICH) }} as command,
    '{{ 'error' if failed else 'success' }}' as status,
    '{{ adapter.release() }}' as version,
    timestamp'{{ run_started_at.strftime('%Y-%m-%d %H:%M:%S.%f') }}' as started_at,
    current_timestamp() as finished_at,
    coalesce(previous.run.last_batch_id, 0) + 1 as first_batch_id,
    cuts.batch_id as last_batch_id,
    transform(
        read.offsets,
        place -> named_struct(
            'record_topic', place.record_topic,
            'kafka_partition', place.kafka_partition,
            'first_offset', coalesce(
                try_element_at(
                    transform(
                        filter(
                            previous.run.offsets,
                            before -> before.record_topic = place.record_topic
                            and before.kafka_partition = place.kafka_partition
                        ),
                        before -> before.last_offset + 1
                    ),
                    1
                ),
                place.first_offset
            ),
            'last_offset', place.last_offset
        )
    ) as offsets,
    previous.run.cut_after as cut_before,
    cuts.cut_sequence as cut_after,
    {%- for name in counted %}
    coalesce(balance.{{ name }}, 0) - coalesce(previous.run.totals.{{ name }}, 0) as {{ name }},
    {%- endfor %}
    coalesce(balance.pending, 0) as pending,
    coalesce(balance.beyond_cut, 0) as beyond_cut,
    struct(
        {%- for name in counted %}
        coalesce(balance.{{ name }}, 0) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as totals,
    map({{ pairs | join(', ') }}) as node_seconds
from {{ changefold.built_relation('resolved_cuts') }} as cuts
left join balance on cuts.kafka_topic = balance.kafka_topic
left join read on cuts.kafka_topic = read.kafka_topic
left join previous on cuts.kafka_topic = previous.kafka_topic
{%- endmacro %}
