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
        'changes': 'bigint',
        'last_sequence': 'string',
        'last_batch_id': 'bigint',
        'first_sequence': 'string',
        'unavailable_until': 'string',
        'null_key_until': 'string',
        'row_before_since': 'string',
        'no_row_before_until': 'string',
    }) }}

),

changes as (

    select * from {{ ref('changes') }}
    where
        {{ is_newly_arrived() }}
        or {{ was_beyond_cut() }}
        or {{ is_newly_released() }}

),

gathered as (

    select
        kafka_topic,
        source_database,
        source_table,
        count(*) as changes,
        max(change_sequence) as last_sequence,
        max(batch_id) as last_batch_id,
        min(change_sequence) as first_sequence,
        max(change_sequence) filter (where unavailable_columns is not null)
            as unavailable_until,
        max(change_sequence) filter (where {{ has_null_key() }})
            as null_key_until,
        min(change_sequence) filter (where op = 'u' and before_sent is not null)
            as row_before_since,
        max(change_sequence) filter (where op = 'u' and before_sent is null)
            as no_row_before_until
    from changes
    group by kafka_topic, source_database, source_table
    union all
    select * from previous

),

totals as (

    select
        kafka_topic,
        source_database,
        source_table,
        sum(changes) as changes,
        max(last_sequence) as last_sequence,
        max(last_batch_id) as last_batch_id,
        min(first_sequence) as first_sequence,
        max(unavailable_until) as unavailable_until,
        max(null_key_until) as null_key_until,
        min(row_before_since) as row_before_since,
        max(no_row_before_until) as no_row_before_until
    from gathered
    group by kafka_topic, source_database, source_table

),

source_tables as (

    select
        totals.*,
        resolved_cuts.batch_id,
        resolved_cuts.cut_sequence
    from totals
    inner join resolved_cuts on totals.kafka_topic = resolved_cuts.kafka_topic

)

select * from source_tables
