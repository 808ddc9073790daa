with

orders as (

    select * from {{ ref('cur_shop__orders') }}

),

customers as (

    select * from {{ ref('cur_shop__customers') }}

),

order_items as (

    select * from {{ ref('cur_shop__order_items') }}

),

payments as (

    select * from {{ ref('cur_shop__payments') }}

),

-- Added up before the join: lines times payments would count both too often.
lines_of_orders as (

    select
        ord as order_id,
        count(*) as line_count,
        sum(qty) as unit_count,
        sum(qty * price) as lines_amount
    from order_items
    group by ord

),

payments_of_orders as (

    select
        ord as order_id,
        count(*) as payment_count,
        sum(amount) as paid_amount
    from payments
    group by ord

),

-- The shop has no foreign keys: a customer may be gone while the orders stay.
joined as (

    select
        ---------- key
        orders.id as order_id,

        ---------- customer
        orders.cust as customer_id,
        customers.name as customer_name,
        customers.tier as customer_tier,
        customers.id is not null as has_customer,

        ---------- order
        orders.status,
        orders.placed as placed_at,
        orders.ship_by as ship_by_date,
        orders.total as order_amount,

        ---------- lines
        coalesce(lines_of_orders.line_count, 0) as line_count,
        coalesce(lines_of_orders.unit_count, 0) as unit_count,
        coalesce(lines_of_orders.lines_amount, 0) as lines_amount,

        ---------- payments
        coalesce(payments_of_orders.payment_count, 0) as payment_count,
        coalesce(payments_of_orders.paid_amount, 0) as paid_amount,
        orders.total - coalesce(payments_of_orders.paid_amount, 0) as open_amount
    from orders
    left join customers on orders.cust = customers.id
    left join lines_of_orders on orders.id = lines_of_orders.order_id
    left join payments_of_orders on orders.id = payments_of_orders.order_id

)

select * from joined
