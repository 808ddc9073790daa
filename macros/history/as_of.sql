{#
    A table as it was at an instant.

    Arguments:
        model: relation of a history model.
        instant: a commit timestamp (TSO, as a number), or an expression of type
            timestamp. With a timestamp, changes of that very millisecond count.

    Returns:
        A `select` of the rows that held then.

    Raises:
        A compiler error if `instant` is empty.
#}
{% macro as_of(model, instant) -%}
    {%- if instant is none or instant == '' -%}
        {{ exceptions.raise_compiler_error(
            "`as_of`: expected a commit timestamp or a timestamp in `instant`, got nothing"
        ) }}
    {%- endif -%}
    select * from {{ model }}
    where
    {%- if instant is number %}
        _cdc_valid_from_sequence <= lpad(cast({{ instant }} as string), 20, '0')
        and coalesce(
            _cdc_valid_to_sequence > lpad(cast({{ instant }} as string), 20, '0'), true
        )
    {%- else %}
        valid_from <= {{ instant }}
        and coalesce(valid_to > {{ instant }}, true)
    {%- endif %}
{%- endmacro %}
