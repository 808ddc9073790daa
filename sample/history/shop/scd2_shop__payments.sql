-- Written by `make models` from the schema of shop.payments. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='payments',
    lives=[
        {'table_uid': 'shop.payments@00470617750257008642'},
    ],
) }}

with

images as (

    {{ changefold.versions_of_table(
        columns=['pay_ref', 'ord', 'amount', 'method', 'at', 'yr', 'raw'],
    ) }}

),

typed as (

    select
        *,
        {{ changefold.unknown_columns() }} as unknown_columns,
        struct(
            {{ changefold.mysql_text('image.`pay_ref`') }} as `pay_ref`,
            {{ changefold.mysql_number('image.`ord`', 'decimal(20, 0)') }} as `ord`,
            {{ changefold.mysql_number('image.`amount`', 'decimal(14, 2)') }} as `amount`,
            {{ changefold.mysql_text('image.`method`') }} as `method`,
            {{ changefold.mysql_time('image.`at`', 3) }} as `at`,
            {{ changefold.mysql_number('image.`yr`', 'int') }} as `yr`,
            {{ changefold.mysql_bytes('image.`raw`') }} as `raw`
        ) as record
    from images

),

versions as (

    {{ changefold.typed_versions(
        'typed',
        columns=['ord', 'amount', 'yr', 'raw'],
    ) }}

)

select * from versions
