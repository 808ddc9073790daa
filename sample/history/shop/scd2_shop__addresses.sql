-- Written by `make models` from the schema of shop.addresses. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='addresses',
    lives=[
        {'table_uid': 'shop.addresses@00470617750241542144'},
    ],
) }}

with

images as (

    {{ changefold.versions_of_table(
        columns=['id', 'cust', 'label', 'line', 'zip', 'geo', 'upd'],
    ) }}

),

typed as (

    select
        *,
        {{ changefold.unknown_columns() }} as unknown_columns,
        struct(
            {{ changefold.mysql_number('image.`id`', 'bigint') }} as `id`,
            {{ changefold.mysql_number('image.`cust`', 'bigint') }} as `cust`,
            {{ changefold.mysql_text('image.`label`') }} as `label`,
            {{ changefold.mysql_text('image.`line`') }} as `line`,
            {{ changefold.mysql_text('image.`zip`') }} as `zip`,
            {{ changefold.mysql_number('image.`geo`', 'double') }} as `geo`,
            {{ changefold.mysql_timestamp('image.`upd`', 'ticdc_shop') }} as `upd`
        ) as record
    from images

),

versions as (

    {{ changefold.typed_versions(
        'typed',
        columns=['id', 'cust', 'geo', 'upd'],
    ) }}

)

select * from versions
