-- Written by `make models` from the schema of shop.products. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='products',
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
            'sku',
            'title',
            'price',
            'stock',
            'tags',
            'weight',
            'flags',
        ],
        key_columns=[
            'id',
        ],
        rewritten_at=[
            '00470617751621206018',
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
            image.`sku` as `sku`,
            image.`title` as `title`,
            if(
                written_sequence <= '00470617751621206018'
                and held_at > '00470617751621206018',
                {{ function('changefold', 'convert_mysql_value') }}(
                    image.`price`,
                    {{ sql_text('decimal(12,2) unsigned') }},
                    {{ sql_text('decimal(14,4)') }},
                    '{{ changefold.wire_form() }}'
                ),
                image.`price`
            ) as `price`,
            image.`stock` as `stock`,
            image.`tags` as `tags`,
            image.`weight` as `weight`,
            image.`flags` as `flags`
        ) as image
    from written

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
            'price',
            'stock',
            'weight',
            'flags',
            'tags',
        ]) }}
            as conversion_failures
    from typed

),

versions as (

    {{ changefold.history_versions(
        'checked',
        columns=[
            'id',
            'sku',
            'title',
            'price',
            'stock',
            'tags',
            'weight',
            'flags',
        ],
        key_columns=[
            'id',
        ],
    ) }}

)

select * from versions
