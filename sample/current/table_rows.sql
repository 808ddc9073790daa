-- Written by `make models`.
with

table_rows as (

    select
        {{ sql_text('shop') }} as source_database,
        {{ sql_text('addresses') }} as source_table,
        count_if(is_current) as current_rows,
        count(*) as versions,
        count_if({{ changefold.has_unfit_value('_cdc_conversion_failures') }})
            as conversion_failures,
        {{ changefold.unknown_values([]) }} as unknown_values
    from {{ ref('scd2_shop__addresses') }}
    union all
    select
        {{ sql_text('shop') }} as source_database,
        {{ sql_text('customers') }} as source_table,
        count_if(is_current) as current_rows,
        count(*) as versions,
        count_if({{ changefold.has_unfit_value('_cdc_conversion_failures') }})
            as conversion_failures,
        {{ changefold.unknown_values([]) }} as unknown_values
    from {{ ref('scd2_shop__customers') }}
    union all
    select
        {{ sql_text('shop') }} as source_database,
        {{ sql_text('order_items') }} as source_table,
        count_if(is_current) as current_rows,
        count(*) as versions,
        count_if({{ changefold.has_unfit_value('_cdc_conversion_failures') }})
            as conversion_failures,
        {{ changefold.unknown_values([]) }} as unknown_values
    from {{ ref('scd2_shop__order_items') }}
    union all
    select
        {{ sql_text('shop') }} as source_database,
        {{ sql_text('orders') }} as source_table,
        count_if(is_current) as current_rows,
        count(*) as versions,
        count_if({{ changefold.has_unfit_value('_cdc_conversion_failures') }})
            as conversion_failures,
        {{ changefold.unknown_values([]) }} as unknown_values
    from {{ ref('scd2_shop__orders') }}
    union all
    select
        {{ sql_text('shop') }} as source_database,
        {{ sql_text('payments') }} as source_table,
        count_if(is_current) as current_rows,
        count(*) as versions,
        count_if({{ changefold.has_unfit_value('_cdc_conversion_failures') }})
            as conversion_failures,
        {{ changefold.unknown_values([]) }} as unknown_values
    from {{ ref('scd2_shop__payments') }}
    union all
    select
        {{ sql_text('shop') }} as source_database,
        {{ sql_text('products') }} as source_table,
        count_if(is_current) as current_rows,
        count(*) as versions,
        count_if({{ changefold.has_unfit_value('_cdc_conversion_failures') }})
            as conversion_failures,
        {{ changefold.unknown_values([]) }} as unknown_values
    from {{ ref('scd2_shop__products') }}

)

select * from table_rows
