-- Written by `make models` from the schema of shop.order_items. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='order_items',
    lives=[
        {'table_uid': 'shop.order_items@00470617750252027906'},
    ],
) }}

with

images as (

    {{ changefold.versions_of_table(
        columns=['ord', 'line_no', 'product', 'qty', 'price'],
    ) }}

),

typed as (

    select
        *,
        {{ changefold.unknown_columns() }} as unknown_columns,
        struct(
            {{ changefold.mysql_number('image.`ord`', 'decimal(20, 0)') }} as `ord`,
            {{ changefold.mysql_number('image.`line_no`', 'int') }} as `line_no`,
            {{ changefold.mysql_number('image.`product`', 'int') }} as `product`,
            {{ changefold.mysql_number('image.`qty`', 'bigint') }} as `qty`,
            {{ changefold.mysql_number('image.`price`', 'decimal(12, 2)') }} as `price`
        ) as record
    from images

),

versions as (

    {{ changefold.typed_versions(
        'typed',
        columns=['ord', 'line_no', 'product', 'qty', 'price'],
    ) }}

)

select * from versions
