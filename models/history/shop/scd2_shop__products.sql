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

    select * from {{ ref('changes') }}
    where
        {{ is_of_table() }}
        and {{ is_unapplied() }}

),

written as (

    {{ row_images(
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
        ended_at=ended_at(),
        snapshots=snapshots_of_table(),
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
                {{ function('convert_mysql_value') }}(
                    image.`price`,
                    {{ sql_text('decimal(12,2) unsigned') }},
                    {{ sql_text('decimal(14,4)') }},
                    '{{ wire_form() }}'
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
        struct(
            {{ mysql_number('image.`id`', 'int') }} as `id`,
            {{ mysql_text('image.`sku`') }} as `sku`,
            {{ mysql_text('image.`title`') }} as `title`,
            {{ mysql_number('image.`price`', 'decimal(14, 4)') }} as `price`,
            {{ mysql_number('image.`stock`', 'int') }} as `stock`,
            {{ mysql_set('image.`tags`', ['new', 'sale', 'eco', 'bulk']) }} as `tags`,
            {{ mysql_number('image.`weight`', 'float') }} as `weight`,
            {{ mysql_bit('image.`flags`', 'bigint') }} as `flags`
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
        {{ conversion_failures('image', 'record', [
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

    {{ history_versions(
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
