-- Written by `make models` from the schema of shop.order_items. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
with

history as (

    select * from {{ ref('scd2_shop__order_items') }}
    where is_current

),

current_rows as (

    select
        `ord`,
        `line_no`,
        `product`,
        `qty`,
        `price`,
        _cdc_op,
        _cdc_commit_ts,
        _cdc_conversion_failures,
        _cdc_unknown_columns
    from history

)

select * from current_rows
