-- Written by `make models` from the schema of shop.order_items. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='order_items',
    key_columns=[
        'ord',
        'line_no',
    ],
    partition_by=['is_current'],
) }}

with

changes as (

    select * from {{ ref('changefold', 'changes') }}
    where
        {{ changefold.is_of_table() }}
        and {{ changefold.is_unapplied() }}

),

images as (

    {{ changefold.row_images(
        'changes',
        columns=[
            'ord',
            'line_no',
            'product',
            'qty',
            'price',
        ],
        key_columns=[
            'ord',
            'line_no',
        ],
        ended_at=changefold.ended_at(),
        snapshots=changefold.snapshots_of_table(),
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
        ) as record,
        md5(to_json(struct(
            0 as shape,
            image
        ))) as row_hash
    from images

),

checked as (

    select
        *,
        {{ changefold.conversion_failures('image', 'record', [
            'ord',
            'line_no',
            'product',
            'qty',
            'price',
        ]) }}
            as conversion_failures
    from typed

),

versions as (

    {{ changefold.history_versions(
        'checked',
        columns=[
            'ord',
            'line_no',
            'product',
            'qty',
            'price',
        ],
        key_columns=[
            'ord',
            'line_no',
        ],
    ) }}

)

select * from versions
