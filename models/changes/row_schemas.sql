{{ config(filtered=true) }}

with

resolved_cuts as (

    select * from {{ ref('resolved_cuts') }}

),

previous as (

    {{ previous_rows({
        'kafka_topic': 'string',
        'source_database': 'string',
        'source_table': 'string',
        'column_types': 'string',
        'primary_key': 'string',
        'leaves_out_generated': 'boolean',
        'connector': 'string',
        'changes': 'bigint',
        'first_sequence': 'string',
        'last_sequence': 'string',
    }) }}

),

-- A DELETE may have the columns of its key only. PostgreSQL's log tells no generated
-- columns, its snapshots do.
changes as (

    select
        *,
        coalesce(connector = 'postgresql' and op <> 'r', false)
            as leaves_out_generated
    from {{ ref('resolved_changes') }}
    where
        refused_by is null
        and op <> 'd'
        and column_types is not null
        and (
            {{ is_newly_arrived() }}
            or {{ was_beyond_cut() }}
        )

),

gathered as (

    select
        kafka_topic,
        source_database,
        source_table,
        column_types,
        primary_key,
        leaves_out_generated,
        max(connector) as connector,
        count(*) as changes,
        min(change_sequence) as first_sequence,
        max(change_sequence) as last_sequence
    from changes
    group by
        kafka_topic,
        source_database,
        source_table,
        column_types,
        primary_key,
        leaves_out_generated
    union all
    select * from previous

),

totals as (

    select
        kafka_topic,
        source_database,
        source_table,
        column_types,
        primary_key,
        leaves_out_generated,
        max(connector) as connector,
        sum(changes) as changes,
        min(first_sequence) as first_sequence,
        max(last_sequence) as last_sequence
    from gathered
    group by
        kafka_topic,
        source_database,
        source_table,
        column_types,
        primary_key,
        leaves_out_generated

),

row_schemas as (

    select
        totals.*,
        resolved_cuts.batch_id,
        resolved_cuts.cut_sequence
    from totals
    inner join resolved_cuts on totals.kafka_topic = resolved_cuts.kafka_topic

)

select * from row_schemas
