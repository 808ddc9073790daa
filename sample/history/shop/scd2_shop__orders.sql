-- Written by `make models` from the schema of shop.orders. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='orders',
    key_columns=[
        'id',
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

written as (

    {{ changefold.row_images(
        'changes',
        columns=[
            'id',
            'cust',
            'status',
            'total',
            'remark',
            'placed',
            'ship_by',
        ],
        key_columns=[
            'id',
        ],
        renames={
            'remark': [('', 'note'), ('00470617752138940416', 'remark')],
        },
        rewritten_at=[
            '00470617752138940416',
        ],
        ended_at=changefold.ended_at(),
        snapshots=changefold.snapshots_of_table(),
    ) }}

),

-- What each column held at the time, by the DDLs between the writing of the
-- row and that time.
images as (

    select
        * except (image),
        struct(
            image.`id` as `id`,
            image.`cust` as `cust`,
            image.`status` as `status`,
            image.`total` as `total`,
            image.`remark` as `remark`,
            image.`placed` as `placed`,
            image.`ship_by` as `ship_by`
        ) as image
    from written

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
        ) as record,
        md5(to_json(struct(
            {{ changefold.shape_count('held_at', [
                '00470617752138940416',
            ]) }} as shape,
            image
        ))) as row_hash
    from images

),

checked as (

    select
        *,
        {{ changefold.conversion_failures('image', 'record', [
            'id',
            'cust',
            'total',
            'placed',
            'ship_by',
        ]) }}
            as conversion_failures
    from typed

),

versions as (

    {{ changefold.history_versions(
        'checked',
        columns=[
            'id',
            'cust',
            'status',
            'total',
            'remark',
            'placed',
            'ship_by',
        ],
        key_columns=[
            'id',
        ],
    ) }}

)

select * from versions
