{#
    The copies of equal rows in a table without a key, each with a number: a row that is
    there three times has the copies 1, 2 and 3.

    An insert adds the next copy, a delete takes the last one; the changes of one moment
    count together. A delete of a row that is not there does nothing, as in a topic that
    begins in the middle. An increment goes on from the open copies in the table; a change
    that comes late would number those after it anew, so the table is rebuilt then.

    Arguments:
        changes: name of a relation: record (struct of the table's columns),
            conversion_failures, unknown_columns, row_hash, and the columns of `row_images`.
        ended_at: change sequences of the DDLs that end every row (TRUNCATE, DROP).
        snapshots: change sequences at which all rows were sent again.

    Returns:
        A `select` for `history_versions`, its keys `_cdc_row_hash` and `_cdc_copy` in
        the record.
#}
{% macro row_copies(changes, ended_at=[], snapshots=[]) -%}
    {%- set ends = [] -%}
    {%- for sequence in ended_at -%}
        {%- do ends.append("named_struct('at', '" ~ sequence ~ "', 'is_snapshot', false)") -%}
    {%- endfor -%}
    {%- for sequence in snapshots -%}
        {%- do ends.append("named_struct('at', '" ~ sequence ~ "', 'is_snapshot', true)") -%}
    {%- endfor -%}
    {%- set ends_sql = 'array_sort(array(' ~ ends | join(', ') ~ '))' %}
    with
    {%- if changefold.is_increment() %}

    open_copies as (

        select
            history._cdc_row_hash as row_hash,
            count(*) as copies
        from {{ this }} as history
        left semi join {{ changes }} as changes on history._cdc_row_hash = changes.row_hash
        where history.is_current
        group by history._cdc_row_hash

    ),
    {%- endif %}

    -- A row with a DDL's own timestamp was there before it, one with a snapshot's own is
    -- of that snapshot.
    moments as (

        select
            row_hash,
            {% if ends -%}
            size(filter(
                {{ ends_sql }},
                done -> if(
                    done.is_snapshot,
                    done.at <= change_sequence,
                    done.at < change_sequence
                )
            ))
            {%- else -%} 0 {%- endif %} as ends_before,
            change_sequence,
            sum(if(is_deleted, -1, 1)) as copies_added,
            max_by(
                struct(
                    record,
                    conversion_failures,
                    unknown_columns,
                    op,
                    commit_ts,
                    batch_id,
                    kafka_partition,
                    kafka_offset,
                    event_index
                ),
                struct(not is_deleted, kafka_offset, kafka_partition, event_index)
            ) as newest
        from {{ changes }}
        group by row_hash, ends_before, change_sequence

    ),

    summed as (

        select
            moments.*,
            {% if changefold.is_increment() -%} coalesce(open_copies.copies, 0)
            {%- else -%} 0 {%- endif %} as copies_at_first,
            sum(moments.copies_added) over (
                partition by moments.row_hash, moments.ends_before
                order by moments.change_sequence
            ) as copies_added_since
        from moments
        {%- if changefold.is_increment() %}
        left join open_copies on moments.row_hash = open_copies.row_hash
        {%- endif %}

    ),

    -- A count that would fall below zero stays there.
    counted as (

        select
            *,
            copies_at_first + copies_added_since - least(
                0,
                min(copies_at_first + copies_added_since) over (
                    partition by row_hash, ends_before
                    order by change_sequence
                )
            ) as copies
        from summed

    ),

    compared as (

        select
            *,
            lag(copies, 1, copies_at_first) over (
                partition by row_hash, ends_before
                order by change_sequence
            ) as copies_before
        from counted

    ),

    {% if ends -%}
    ended as (

        select
            row_hash,
            ends_before,
            max_by(newest, change_sequence) as newest,
            max_by(copies, change_sequence) as copies
        from compared
        where ends_before < {{ ends | length }}
        group by row_hash, ends_before

    ),

    {% endif -%}
    numbered as (

        select
            row_hash,
            change_sequence,
            copies < copies_before as is_deleted,
            false as is_ddl,
            newest,
            explode(sequence(
                least(copies, copies_before) + 1, greatest(copies, copies_before)
            )) as copy
        from compared
        where copies <> copies_before
        {%- if ends %}
        union all
        select
            row_hash,
            {{ ends_sql }}[ends_before].at as change_sequence,
            true as is_deleted,
            not {{ ends_sql }}[ends_before].is_snapshot as is_ddl,
            newest,
            explode(sequence(1, copies)) as copy
        from ended
        where copies > 0
        {%- endif %}

    )

    select
        struct(newest.record.*, row_hash as _cdc_row_hash, copy as _cdc_copy) as record,
        newest.conversion_failures,
        newest.unknown_columns,
        row_hash,
        is_deleted,
        is_ddl,
        newest.op,
        change_sequence,
        newest.commit_ts,
        newest.batch_id,
        newest.kafka_partition,
        newest.kafka_offset,
        newest.event_index
    from numbered
{%- endmacro %}
