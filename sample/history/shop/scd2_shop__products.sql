-- Written by `make models` from the schema of shop.products. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='products',
    lives=[
        {'table_uid': 'shop.products@00470617750244687872'},
    ],
) }}

with

images as (

    {{ changefold.versions_of_table(
        columns=['id', 'sku', 'title', 'price', 'stock', 'tags', 'weight', 'flags'],
    ) }}

),

typed as (

    select
        *,
        {{ changefold.unknown_columns() }} as unknown_columns,
        struct(
            {{ changefold.mysql_number('image.`id`', 'int') }} as `id`,
            {{ changefold.mysql_text('image.`sku`') }} as `sku`,
            {{ changefold.mysql_text('image.`title`') }} as `title`,
            {{ changefold.mysql_number('image.`price`', 'decimal(14, 4)') }} as `price`,
            {{ changefold.mysql_number('image.`stock`', 'int') }} as `stock`,
            {{ changefold.mysql_set('image.`tags`', ['new', 'sale', 'eco', 'bulk']) }} as `tags`,
            {{ changefold.mysql_number('image.`weight`', 'float') }} as `weight`,
            {{ changefold.mysql_bit('image.`flags`', 'bigint') }} as `flags`
        ) as record
    from images

),

versions as (

    {{ changefold.typed_versions(
        'typed',
        columns=['id', 'price', 'stock', 'weight', 'flags', 'tags'],
    ) }}

)

select * from versions
