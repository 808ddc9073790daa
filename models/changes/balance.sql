{{ config(filtered=true) }}

with

resolved_cuts as (

    select * from {{ ref('resolved_cuts') }}

),

previous as (

    {{ previous_rows({
        'kafka_topic': 'string',
        'record_topic': 'string',
        'kafka_partition': 'int',
        'messages_read': 'bigint',
        'events': 'bigint',
        'applied': 'bigint',
        'applied_late': 'bigint',
        'pending': 'bigint',
        'filtered': 'bigint',
        'duplicates': 'bigint',
        'pending_below_cut': 'bigint',
        'beyond_cut': 'bigint',
        'quarantined': 'bigint',
        'control': 'bigint',
    }) }}

),

-- Only what has arrived since, and what lay above the cut then, is looked at.
change_log as (

    select
        *,
        {{ is_newly_arrived() }} as is_new,
        {{ was_below_cut() }} as was_below_cut
    from {{ ref('change_log') }}
    where
        {{ is_newly_arrived() }}
        or (
            event_kind = 'row'
            and not is_duplicate
            and {{ was_beyond_cut() }}
        )

),

-- What was pending is judged only now.
filtered_changes as (

    select * from {{ ref('filtered_changes') }}
    where
        {{ is_newly_arrived() }}
        or {{ was_beyond_cut() }}
        or {{ has_newly_released() }}

),

events as (

    select
        change_log.kafka_topic,
        change_log.record_topic,
        change_log.kafka_partition,
        change_log.is_new and change_log.event_index = 0 as is_first_event,
        -- Read again after it was in quarantine, where it had been counted.
        change_log.is_new
        and change_log.event_index = 0
        and change_log.replays > 0
        and {{ (execute and goes_on()) | string | lower }} as was_quarantined,
        change_log.event_kind,
        change_log.event_kind = 'row'
        and change_log.is_duplicate as is_duplicate_change,
        change_log.event_kind = 'row'
        and not change_log.is_duplicate as is_change,
        change_log.event_kind = 'row'
        and not change_log.is_duplicate
        and change_log.is_new
        and change_log.was_below_cut as is_late,
        change_log.commit_ts is null
        or coalesce(
            change_log.change_sequence < resolved_cuts.cut_sequence, false
        ) as is_below_cut
    from change_log
    inner join resolved_cuts on change_log.kafka_topic = resolved_cuts.kafka_topic

),

-- Counted before it was pruned, and again where all is counted anew.
pruned as (

    {{ pruned_rows() }}

),

gathered as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        count_if(is_first_event and not was_quarantined) as messages_read,
        count(*) - count_if(was_quarantined) as events,
        count_if(is_change and is_below_cut) as applied,
        count_if(is_late) as applied_late,
        0 as filtered,
        count_if(is_duplicate_change) as duplicates,
        count_if(is_change and not is_below_cut) as beyond_cut,
        count_if(event_kind = 'invalid') - count_if(was_quarantined) as quarantined,
        count_if(
            event_kind in (
                'ddl',
                'watermark',
                'bootstrap',
                'statement',
                'tombstone',
                'heartbeat',
                'transaction',
                'notification',
                'signal',
                'message',
                'schema_change'
            )
        ) as control
    from events
    group by kafka_topic, record_topic, kafka_partition
    union all
    select
        kafka_topic,
        record_topic,
        kafka_partition,
        messages_read,
        events - beyond_cut - (pending - pending_below_cut) as events,
        applied + filtered + pending_below_cut as applied,
        applied_late,
        if({{ has_newly_released() }}, 0, filtered) as filtered,
        duplicates,
        0 as beyond_cut,
        quarantined,
        control
    from previous
    union all
    select
        kafka_topic,
        record_topic,
        kafka_partition,
        log_messages as messages_read,
        events,
        0 as applied,
        0 as applied_late,
        0 as filtered,
        duplicates,
        0 as beyond_cut,
        quarantined,
        control
    from pruned
    where not {{ (execute and goes_on()) | string | lower }}
    union all
    select
        kafka_topic,
        record_topic,
        kafka_partition,
        0 as messages_read,
        0 as events,
        0 as applied,
        0 as applied_late,
        1 as filtered,
        0 as duplicates,
        0 as beyond_cut,
        0 as quarantined,
        0 as control
    from filtered_changes

),

totals as (

    select
        kafka_topic,
        record_topic,
        kafka_partition,
        sum(messages_read) as messages_read,
        sum(events) as events,
        sum(applied) as applied,
        sum(applied_late) as applied_late,
        sum(filtered) as filtered,
        sum(duplicates) as duplicates,
        sum(beyond_cut) as beyond_cut,
        sum(quarantined) as quarantined,
        sum(control) as control
    from gathered
    group by kafka_topic, record_topic, kafka_partition

),

-- What waits for its schema was counted as applied or beyond the cut.
pending as (

    select
        pending_changes.kafka_topic,
        pending_changes.record_topic,
        pending_changes.kafka_partition,
        count(*) as changes,
        count_if(
            coalesce(
                pending_changes.change_sequence < resolved_cuts.cut_sequence, false
            )
        ) as below_cut
    from {{ ref('pending_changes') }} as pending_changes
    inner join resolved_cuts
        on pending_changes.kafka_topic = resolved_cuts.kafka_topic
    group by
        pending_changes.kafka_topic,
        pending_changes.record_topic,
        pending_changes.kafka_partition

),

balance as (

    select
        totals.kafka_topic,
        totals.record_topic,
        totals.kafka_partition,
        totals.messages_read,
        totals.events,
        totals.applied - totals.filtered - coalesce(pending.below_cut, 0) as applied,
        totals.applied_late,
        totals.filtered,
        totals.duplicates,
        totals.beyond_cut - coalesce(pending.changes - pending.below_cut, 0)
            as beyond_cut,
        coalesce(pending.changes, 0) as pending,
        coalesce(pending.below_cut, 0) as pending_below_cut,
        totals.quarantined,
        totals.control,
        resolved_cuts.batch_id,
        resolved_cuts.cut_sequence
    from totals
    inner join resolved_cuts on totals.kafka_topic = resolved_cuts.kafka_topic
    left join pending
        on
            totals.kafka_topic = pending.kafka_topic
            and totals.record_topic = pending.record_topic
            and totals.kafka_partition = pending.kafka_partition

)

select * from balance
