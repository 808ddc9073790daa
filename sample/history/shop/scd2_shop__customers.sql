-- Written by `make models` from the schema of shop.customers. Edit it if you must:
-- the next `make models` shows the difference and leaves the file as it is.
{{ config(
    topic='ticdc_shop',
    source_database='shop',
    source_table='customers',
    lives=[
        {'table_uid': 'shop.customers@00470617750237872128'},
    ],
) }}

with

written as (

    {{ changefold.versions_of_table(
        columns=[
            'id',
            'name',
            'email',
            'tier',
            'prefs',
            'created_at',
            'balance',
            'avatar',
            'active',
            'loyalty',
        ],
        ddls=[
            '00470617751011459074',
        ],
    ) }}

),

-- What each column held at the time, by the DDLs between the writing of the
-- row and that time.
images as (

    select
        * except (image),
        struct(
            image.`id` as `id`,
            image.`name` as `name`,
            image.`email` as `email`,
            image.`tier` as `tier`,
            image.`prefs` as `prefs`,
            image.`created_at` as `created_at`,
            image.`balance` as `balance`,
            image.`avatar` as `avatar`,
            image.`active` as `active`,
            case
                when held_at > '00470617751011459074'
                    then if(
                        written_sequence <= '00470617751011459074',
                        {{ sql_text('0') }},
                        image.`loyalty`
                    )
            end as `loyalty`
        ) as image
    from written

),

typed as (

    select
        *,
        {{ changefold.unknown_columns() }} as unknown_columns,
        struct(
            {{ changefold.mysql_number('image.`id`', 'bigint') }} as `id`,
            {{ changefold.mysql_text('image.`name`') }} as `name`,
            {{ changefold.mysql_text('image.`email`') }} as `email`,
            {{ changefold.mysql_enum('image.`tier`', ['basic', 'gold', 'vip']) }} as `tier`,
            {{ changefold.mysql_json('image.`prefs`') }} as `prefs`,
            {{ changefold.mysql_datetime('image.`created_at`') }} as `created_at`,
            {{ changefold.mysql_number('image.`balance`', 'decimal(14, 2)') }} as `balance`,
            {{ changefold.mysql_bytes('image.`avatar`') }} as `avatar`,
            {{ changefold.mysql_number('image.`active`', 'int') }} as `active`,
            {{ changefold.mysql_number('image.`loyalty`', 'int') }} as `loyalty`
        ) as record
    from images

),

versions as (

    {{ changefold.typed_versions(
        'typed',
        columns=[
            'id',
            'created_at',
            'balance',
            'avatar',
            'active',
            'loyalty',
            'tier',
            'prefs',
        ],
    ) }}

)

select * from versions
