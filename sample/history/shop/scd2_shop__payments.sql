-- Written by `make models` from the schema of shop.payments. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='payments',
    key_columns=[
        'pay_ref',
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
            'pay_ref',
            'ord',
            'amount',
            'method',
            'at',
            'yr',
            'raw',
        ],
        key_columns=[
            'pay_ref',
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
            {{ changefold.mysql_text('image.`pay_ref`') }} as `pay_ref`,
            {{ changefold.mysql_number('image.`ord`', 'decimal(20, 0)') }} as `ord`,
            {{ changefold.mysql_number('image.`amount`', 'decimal(14, 2)') }} as `amount`,
            {{ changefold.mysql_text('image.`method`') }} as `method`,
            {{ changefold.mysql_time('image.`at`', 3) }} as `at`,
            {{ changefold.mysql_number('image.`yr`', 'int') }} as `yr`,
            {{ changefold.mysql_bytes('image.`raw`') }} as `raw`
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
            'amount',
            'yr',
            'raw',
        ]) }}
            as conversion_failures
    from typed

),

versions as (

    {{ changefold.history_versions(
        'checked',
        columns=[
            'pay_ref',
            'ord',
            'amount',
            'method',
            'at',
            'yr',
            'raw',
        ],
        key_columns=[
            'pay_ref',
        ],
    ) }}

)

select * from versions
