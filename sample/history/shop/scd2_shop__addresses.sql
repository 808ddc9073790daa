-- Written by `make models` from the schema of shop.addresses. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='addresses',
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

images as (

    {{ changefold.row_images(
        'changes',
        columns=[
            'id',
            'cust',
            'label',
            'line',
            'zip',
            'geo',
            'upd',
        ],
        key_columns=[
            'id',
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
            {{ changefold.mysql_number('image.`id`', 'bigint') }} as `id`,
            {{ changefold.mysql_number('image.`cust`', 'bigint') }} as `cust`,
            {{ changefold.mysql_text('image.`label`') }} as `label`,
            {{ changefold.mysql_text('image.`line`') }} as `line`,
            {{ changefold.mysql_text('image.`zip`') }} as `zip`,
            {{ changefold.mysql_number('image.`geo`', 'double') }} as `geo`,
            {{ changefold.mysql_timestamp('image.`upd`', 'ticdc_shop') }} as `upd`
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
            'id',
            'cust',
            'geo',
            'upd',
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
            'label',
            'line',
            'zip',
            'geo',
            'upd',
        ],
        key_columns=[
            'id',
        ],
    ) }}

)

select * from versions
