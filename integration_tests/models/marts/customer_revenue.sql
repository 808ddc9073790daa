-- Beside each customer the cut: up to when the orders are counted.
with

orders as (

    select * from {{ ref('cur_shop__orders') }}

),

resolved_cuts as (

    select * from {{ ref('changefold', 'resolved_cuts') }}
    where kafka_topic = 'webshop'

),

revenue as (

    select
        cust as customer_id,
        count(*) as orders,
        sum(total) as revenue
    from orders
    group by cust

)

select
    revenue.*,
    resolved_cuts.cut_at as counted_until
from revenue
cross join resolved_cuts
