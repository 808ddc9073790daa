{#
    An operation: takes messages out of the warehouse that have been read and are older than
    the cut by some days. No table that analysts read changes.

    What goes: the messages of raw tables that this project fills, quarantined messages, and
    what the change log has of duplicates and control messages. Not the changes: a late one
    has rows folded from them again. Of a partition the last message stays, and all behind a
    hole in its offsets.

    First it writes down what goes, then it deletes; where it is killed in between, the
    next build or the next `prune` ends it.

    Arguments:
        days: how much older than the cut, or, without a cut, than the newest message, by
            the time that Kafka gave it.
        dry_run: whether to say only what would go.
        keep_snapshots_hours: how long old states of these tables stay, for those who are
            still reading them. The files that hold what goes now are deleted with them, by
            a later run.
#}
{% macro prune(days, dry_run=false, keep_snapshots_hours=24) %}
    {%- for name, number in {'days': days, 'keep_snapshots_hours': keep_snapshots_hours}.items()
        if number is not number or number < 0 -%}
        {{ exceptions.raise_compiler_error(
            '`prune`: expected a number that is not negative for `' ~ name ~ '`, got `'
            ~ number ~ '`'
        ) }}
    {%- endfor -%}
    {%- do changefold.lock_warehouse() -%}
    {%- for name in ['change_log', 'watermarks', 'resolved_cuts'] if not changefold.built_relation(name) -%}
        {{ exceptions.raise_compiler_error(
            '`prune`: there is no table `' ~ name ~ '` yet; run `dbt build` first'
        ) }}
    {%- endfor -%}
    {%- if changefold.requested_counts() -%}
        {{ exceptions.raise_compiler_error(
            '`prune`: quarantined messages wait for being read again (`replay_quarantine`);'
            ~ ' run `dbt build` first'
        ) }}
    {%- endif -%}
    {%- do run_query(
        'create table if not exists ' ~ changefold.pruned_relation() ~ ' (' ~ changefold.pruned_columns()
        ~ ') using ' ~ target.file_format
    ) -%}
    {%- do changefold.finish_pruning() -%}
    {%- set counted = changefold._count_prunable(days) -%}
    {%- for row in counted -%}
        {{ log(
            ('Would prune' if dry_run else 'Pruned') ~ ' ' ~ row.record_topic ~ ', partition '
            ~ row.kafka_partition ~ ', up to offset ' ~ row.last_offset ~ ': ' ~ row.messages
            ~ ' raw message(s), which no full refresh can read again; ' ~ row.quarantined
            ~ ' quarantined one(s), which can not be replayed any more',
            info=True
        ) }}
    {%- else -%}
        {{ log('Nothing to prune', info=True) }}
    {%- endfor -%}
    {%- if counted and not dry_run -%}
        {%- do changefold._expire_snapshots(changefold.built_relation('change_log'), keep_snapshots_hours) -%}
        {%- if not adapter.has_local_warehouse() -%}
            {%- do changefold._expire_snapshots(changefold.build_lease(), keep_snapshots_hours) -%}
        {%- endif -%}
        {%- for topic in changefold.declared_topics() if topic.is_landed -%}
            {%- do changefold._expire_snapshots(changefold.raw_relation(topic), keep_snapshots_hours) -%}
        {%- endfor -%}
        {%- set rows = [] -%}
        {%- for row in counted -%}
            {%- do rows.append(
                '(' ~ sql_text(row.kafka_topic) ~ ', ' ~ sql_text(row.record_topic) ~ ', '
                ~ row.kafka_partition ~ ', ' ~ row.last_offset ~ ", timestamp'"
                ~ row.older_than ~ "', " ~ row.messages ~ ', ' ~ row.log_messages ~ ', '
                ~ row.events ~ ', ' ~ row.duplicates ~ ', ' ~ row.quarantined ~ ', '
                ~ row.control ~ ', false, current_timestamp())'
            ) -%}
        {%- endfor -%}
        {%- do run_query(
            'insert into ' ~ changefold.pruned_relation() ~ ' values ' ~ rows | join(', ')
        ) -%}
        {%- do changefold.finish_pruning() -%}
    {%- endif -%}
{% endmacro %}


{# The table of what was pruned, the source `runs.pruned_messages`. #}
{% macro pruned_relation() %}
    {{ return(api.Relation.create(schema=target.schema, identifier='pruned_messages')) }}
{% endmacro %}


{# The columns of `pruned_messages`, with their types. #}
{% macro pruned_columns() -%}
    kafka_topic string,
    record_topic string,
    kafka_partition int,
    last_offset bigint,
    older_than timestamp,
    messages bigint,
    log_messages bigint,
    events bigint,
    duplicates bigint,
    quarantined bigint,
    control bigint,
    is_done boolean,
    pruned_at timestamp
{%- endmacro %}


{#
    What was pruned, all times together.

    Returns:
        A `select`, a row per partition: kafka_topic, record_topic, kafka_partition,
        last_offset, older_than, and the sums of the counts.
#}
{% macro pruned_rows() -%}
    select
        kafka_topic,
        record_topic,
        kafka_partition,
        max(last_offset) as last_offset,
        max(older_than) as older_than,
        sum(messages) as messages,
        sum(log_messages) as log_messages,
        sum(events) as events,
        sum(duplicates) as duplicates,
        sum(quarantined) as quarantined,
        sum(control) as control
    from
    {%- if execute and changefold.snapshot_id(changefold.pruned_relation()) not in ['', 'none'] %} {{ changefold.pruned_relation() }}
    {%- else %} (select {{ changefold._as_nulls(changefold.pruned_columns()) }} where false)
    {%- endif %}
    group by kafka_topic, record_topic, kafka_partition
{%- endmacro %}


{# Columns of a CREATE TABLE as expressions of a `select`, all null. #}
{% macro _as_nulls(columns) -%}
    {%- set expressions = [] -%}
    {%- for column in columns.split(',') -%}
        {%- set parts = column.split() -%}
        {%- do expressions.append('cast(null as ' ~ parts[1] ~ ') as ' ~ parts[0]) -%}
    {%- endfor -%}
    {{ return(expressions | join(', ')) }}
{%- endmacro %}


{#
    The places up to which messages were pruned.

    Returns:
        A list of mappings: kafka_topic, record_topic, kafka_partition, last_offset,
        older_than (all that went is older, by Kafka's time).
#}
{% macro pruned_positions() %}
    {%- set version = changefold.snapshot_id(changefold.pruned_relation()) -%}
    {%- if version in ['', 'none'] -%}
        {{ return([]) }}
    {%- endif -%}
    {{ return(adapter.query_once(
        'select kafka_topic, record_topic, kafka_partition, last_offset,'
        ~ ' cast(older_than as string) as older_than from ('
        ~ changefold.pruned_rows() ~ ') order by all',
        version
    )) }}
{% endmacro %}


{# Condition on a row of the change log: no table rests on it. #}
{% macro _is_prunable() -%}
    (is_duplicate or event_kind in (
        'invalid', 'watermark', 'statement', 'tombstone', 'heartbeat', 'transaction',
        'message', 'schema_change', 'notification', 'signal'
    ))
{%- endmacro %}


{#
    Counts what would go now.

    Arguments:
        days: as in `prune`.

    Returns:
        A list of mappings in the columns of `pruned_messages`, a row per partition of
        which there is more to prune.
#}
{% macro _count_prunable(days) %}
    {%- set raw = [] -%}
    {%- for topic in changefold.declared_topics() if topic.is_landed -%}
        {%- do raw.append(
            'select ' ~ sql_text(topic.name) ~ ' as kafka_topic, ' ~ changefold.record_topic(topic)
            ~ ' as record_topic, partition as kafka_partition, offset as kafka_offset from '
            ~ changefold.raw_relation(topic)
        ) -%}
    {%- endfor -%}
    {%- do raw.append(
        'select cast(null as string) as kafka_topic, cast(null as string) as record_topic,'
        ~ ' cast(null as int) as kafka_partition, cast(null as bigint) as kafka_offset where false'
    ) -%}
    {%- set counting -%}
    with

    pruned as (

        {{ changefold.pruned_rows() }}

    ),

    -- Up to the first message that is not old enough, or did not come, or is the last.
    ages as (

        select
            watermarks.kafka_topic,
            watermarks.record_topic,
            watermarks.kafka_partition,
            watermarks.contiguous_offset,
            watermarks.last_offset,
            coalesce(
                cuts.cut_at,
                max(watermarks.last_timestamp) over (partition by watermarks.kafka_topic)
            ) - make_dt_interval({{ days }}) as older_than
        from {{ changefold.built_relation('watermarks') }} as watermarks
        inner join {{ changefold.built_relation('resolved_cuts') }} as cuts
            on watermarks.kafka_topic = cuts.kafka_topic

    ),

    ends as (

        select
            ages.kafka_topic,
            ages.record_topic,
            ages.kafka_partition,
            ages.older_than,
            coalesce(pruned.last_offset, -1) as pruned_offset,
            least(
                ages.contiguous_offset,
                ages.last_offset - 1,
                min(log.kafka_offset) filter (where log.kafka_timestamp >= ages.older_than) - 1
            ) as last_offset
        from ages
        inner join {{ changefold.built_relation('change_log') }} as log
            on
                ages.kafka_topic = log.kafka_topic
                and ages.record_topic = log.record_topic
                and ages.kafka_partition = log.kafka_partition
        left join pruned
            on
                ages.kafka_topic = pruned.kafka_topic
                and ages.record_topic = pruned.record_topic
                and ages.kafka_partition = pruned.kafka_partition
        group by
            ages.kafka_topic,
            ages.record_topic,
            ages.kafka_partition,
            ages.older_than,
            ages.contiguous_offset,
            ages.last_offset,
            pruned.last_offset

    ),

    events as (

        select
            kafka_topic,
            record_topic,
            kafka_partition,
            kafka_offset,
            0 as messages,
            if(event_index = 0, 1, 0) as log_messages,
            1 as events,
            if(event_kind = 'row', 1, 0) as duplicates,
            if(event_kind = 'invalid', 1, 0) as quarantined,
            if(event_kind in ('row', 'invalid'), 0, 1) as control
        from {{ changefold.built_relation('change_log') }}
        where {{ changefold._is_prunable() }}
        union all
        select
            kafka_topic,
            record_topic,
            kafka_partition,
            kafka_offset,
            1 as messages,
            0 as log_messages,
            0 as events,
            0 as duplicates,
            0 as quarantined,
            0 as control
        from ({{ raw | join(' union all ') }})

    )

    select
        ends.kafka_topic,
        ends.record_topic,
        ends.kafka_partition,
        ends.last_offset,
        cast(ends.older_than as string) as older_than,
        sum(events.messages) as messages,
        sum(events.log_messages) as log_messages,
        sum(events.events) as events,
        sum(events.duplicates) as duplicates,
        sum(events.quarantined) as quarantined,
        sum(events.control) as control
    from ends
    inner join events
        on
            ends.kafka_topic = events.kafka_topic
            and ends.record_topic = events.record_topic
            and ends.kafka_partition = events.kafka_partition
            and ends.last_offset >= events.kafka_offset
    where ends.last_offset > ends.pruned_offset
    group by all
    order by all
    {%- endset -%}
    {%- set found = [] -%}
    {%- for row in run_query(counting).rows -%}
        {%- do found.append(row.dict()) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Deletes what was written down to go; to do so again changes nothing. #}
{% macro finish_pruning() %}
    {%- if changefold.snapshot_id(changefold.pruned_relation()) not in ['', 'none'] -%}
        {%- set places = run_query(
            'select kafka_topic, record_topic, kafka_partition, max(last_offset) from '
            ~ changefold.pruned_relation() ~ ' where not is_done group by all order by all'
        ).rows -%}
        {%- for topic in changefold.declared_topics() -%}
            {%- set in_raw = [] -%}
            {%- set in_log = [] -%}
            {%- for place in places if place[0] == topic.name -%}
                {%- set is_old = ' = ' ~ place[2] ~ ' and {}offset <= ' ~ place[3] ~ ')' -%}
                {%- do in_raw.append(
                    '(topic = ' ~ sql_text(place[1]) ~ ' and partition' ~ is_old.format('')
                ) -%}
                {%- do in_log.append(
                    '(record_topic = ' ~ sql_text(place[1]) ~ ' and kafka_partition'
                    ~ is_old.format('kafka_')
                ) -%}
            {%- endfor -%}
            {%- if in_raw and topic.is_landed -%}
                {%- do run_query(
                    'delete from ' ~ changefold.raw_relation(topic) ~ ' where ' ~ in_raw | join(' or ')
                ) -%}
            {%- endif -%}
            {%- if in_log -%}
                {%- do run_query(
                    'delete from ' ~ changefold.built_relation('change_log') ~ ' where kafka_topic = '
                    ~ sql_text(topic.name) ~ ' and ' ~ changefold._is_prunable()
                    ~ ' and (' ~ in_log | join(' or ') ~ ')'
                ) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if places -%}
            {%- do run_query(
                'update ' ~ changefold.pruned_relation() ~ ' set is_done = true where not is_done'
            ) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    Forgets old states of a table, and has the files deleted that only they have. Delta
    keeps a week at least.
#}
{% macro _expire_snapshots(relation, hours) %}
    {%- if target.file_format == 'delta' -%}
        {%- do run_query('vacuum ' ~ relation ~ ' retain ' ~ [hours, 168] | max ~ ' hours') -%}
        {{ return('') }}
    {%- endif -%}
    {%- do changefold._call('expire_snapshots', relation, [
        'older_than => ' ~ changefold._hours_ago(hours)
    ]) -%}
{% endmacro %}


{#
    Stops a full refresh that would read messages again which are pruned.

    Raises:
        A compiler error that names the topic and what to do.
#}
{% macro check_full_refresh() %}
    {%- set needed = ['model.changefold.change_log', 'model.changefold.watermarks'] -%}
    {%- if flags.FULL_REFRESH and changefold.pruned_positions()
        and selected_resources | select('in', needed) | list -%}
        {%- set place = changefold.pruned_positions()[0] -%}
        {{ exceptions.raise_compiler_error(
            '`--full-refresh`: messages have been pruned and can not be read again (topic `'
            ~ place.record_topic ~ '`, partition ' ~ place.kafka_partition ~ ', up to offset '
            ~ place.last_offset ~ '). All other models can be refreshed: add `--exclude'
            ~ ' change_log watermarks`. To begin anew where Kafka still has the messages,'
            ~ ' build into another schema.'
        ) }}
    {%- endif -%}
{% endmacro %}
