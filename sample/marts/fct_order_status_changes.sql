with

order_versions as (

    select * from {{ ref('scd2_shop__orders') }}

),

-- The version before goes on into this one, unless the order was deleted between.
followed as (

    select
        id as order_id,
        status,
        valid_from,
        valid_to,
        is_current,
        _cdc_valid_from_sequence,
        _cdc_valid_to_sequence,
        lag(status) over (
            partition by id
            order by _cdc_valid_from_sequence
        ) as status_before,
        coalesce(
            lag(_cdc_valid_to_sequence) over (
                partition by id
                order by _cdc_valid_from_sequence
            ) = _cdc_valid_from_sequence,
            false
        ) as is_continued
    from order_versions

),

-- A version that another column made belongs to the period which it finds.
numbered as (

    select
        *,
        sum(if(is_continued and status <=> status_before, 0, 1)) over (
            partition by order_id
            order by _cdc_valid_from_sequence
        ) as period_number
    from followed

),

periods as (

    select
        order_id,
        period_number,
        min_by(status, _cdc_valid_from_sequence) as status,
        min_by(
            if(is_continued, status_before, null), _cdc_valid_from_sequence
        ) as previous_status,
        not min_by(is_continued, _cdc_valid_from_sequence) as is_first,
        min(valid_from) as changed_at,
        max_by(valid_to, _cdc_valid_from_sequence) as ended_at,
        max_by(is_current, _cdc_valid_from_sequence) as is_current,
        min(_cdc_valid_from_sequence) as _cdc_valid_from_sequence,
        max_by(_cdc_valid_to_sequence, _cdc_valid_from_sequence)
            as _cdc_valid_to_sequence
    from numbered
    group by order_id, period_number

),

status_changes as (

    select
        ---------- key
        order_id,

        ---------- change
        status,
        previous_status,
        is_first,

        ---------- validity
        changed_at,
        ended_at,
        is_current,
        unix_millis(ended_at) - unix_millis(changed_at) as duration_ms,

        ---------- bookkeeping
        _cdc_valid_from_sequence,
        _cdc_valid_to_sequence
    from periods

)

select * from status_changes
