{#
    Versions of a key: none twice, none empty, none overlapping, at most one open.

    Arguments:
        model: a history model.
        key_columns: names of the columns that identify a row.

    Returns:
        One row per version that breaks a rule, with the rule.
#}
{% test history_is_consistent(model, key_columns) %}

    {{ config(meta={'is_deterministic': true}) }}

    {%- set keys = [] -%}
    {%- for column in key_columns -%}{%- do keys.append(changefold.quoted(column)) -%}{%- endfor %}

    with

    followed as (

        select
            struct({{ keys | join(', ') }}) as row_key,
            is_current,
            valid_to,
            _cdc_valid_from_sequence,
            _cdc_valid_to_sequence,
            lead(_cdc_valid_from_sequence) over (
                partition by {{ keys | join(', ') }}
                order by _cdc_valid_from_sequence
            ) as next_from_sequence
        from {{ model }}

    ),

    judged as (

        select
            *,
            case
                when row_key.{{ keys | join(' is null or row_key.') }} is null then 'a key column is null'
                when _cdc_valid_from_sequence >= _cdc_valid_to_sequence
                    then 'ends before it begins'
                when next_from_sequence = _cdc_valid_from_sequence then 'is there twice'
                when next_from_sequence < coalesce(_cdc_valid_to_sequence, '~')
                    then 'overlaps the next version'
                when is_current <> (_cdc_valid_to_sequence is null)
                    then 'is_current is wrong'
                when (valid_to is null) <> (_cdc_valid_to_sequence is null)
                    then 'valid_to is wrong'
            end as broken_rule
        from followed

    )

    select * from judged
    where broken_rule is not null

{% endtest %}
