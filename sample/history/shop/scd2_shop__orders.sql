-- Written by `make models` from the schema of shop.orders. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='orders',
    lives=[
        {'table_uid': 'shop.orders@00470617750248095746'},
    ],
) }}

with

images as (

    {{ changefold.versions_of_table(
        columns=['id', 'cust', 'status', 'total', 'remark', 'placed', 'ship_by'],
        renames={
            'remark': [('', 'note'), ('00470617752138940416', 'remark')],
        },
        ddls=[
            '00470617752138940416',
        ],
    ) }}

),

typed as (

    select
        *,
        {{ changefold.unknown_columns() }} as unknown_columns,
        struct(
            {{ changefold.mysql_number('image.`id`', 'decimal(20, 0)') }} as `id`,
            {{ changefold.mysql_number('image.`cust`', 'bigint') }} as `cust`,
            {{ changefold.mysql_text('image.`status`') }} as `status`,
            {{ changefold.mysql_number('image.`total`', 'decimal(14, 2)') }} as `total`,
            {{ changefold.mysql_text('image.`remark`') }} as `remark`,
            {{ changefold.mysql_timestamp('image.`placed`', 'ticdc_shop') }} as `placed`,
            {{ changefold.mysql_date('image.`ship_by`') }} as `ship_by`
        ) as record
    from images

),

versions as (

    {{ changefold.typed_versions(
        'typed',
        columns=['id', 'cust', 'total', 'placed', 'ship_by'],
    ) }}

)

select * from versions
