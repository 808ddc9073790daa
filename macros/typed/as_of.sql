{#
    A table as it was at an instant.

    Arguments:
        model: relation of a history model.
        instant: a commit timestamp (TSO, as a number), or an expression of type
            timestamp. With a timestamp, changes of that very millisecond count.
        tag: name of a tag of the table, as `tag_published` makes it: the rows are those
            that the table had then. Without an instant, those that held then.

    Returns:
        A `select` of the rows that held then.

    Raises:
        A compiler error if `instant` and `tag` are empty.
#}
{% macro as_of(model, instant=none, tag=none) -%}
    {%- if instant in [none, ''] and not tag -%}
        {{ exceptions.raise_compiler_error(
            "`as_of`: expected a commit timestamp or a timestamp in `instant`, or a `tag`, got nothing"
        ) }}
    {%- endif -%}
    select * from {{ changefold._under_tag(model, tag) if tag else model }}
    where
    {%- if instant in [none, ''] %}
        is_current
    {%- elif instant is number %}
        _cdc_valid_from_sequence <= lpad(cast({{ instant }} as string), 20, '0')
        and coalesce(
            _cdc_valid_to_sequence > lpad(cast({{ instant }} as string), 20, '0'), true
        )
    {%- else %}
        valid_from <= {{ instant }}
        and coalesce(valid_to > {{ instant }}, true)
    {%- endif %}
{%- endmacro %}


{# A history model as a tag has it: one that is a view reads `row_versions` under the tag. #}
{% macro _under_tag(model, tag) -%}
    {%- set statement = adapter.view_statement(model) if execute else '' -%}
    {%- set versions = changefold.built_relation('row_versions') if statement else none -%}
    {%- set under_tag = ' version as of ' ~ sql_text(tag) -%}
    {{ return(
        '(' ~ statement | replace(versions | string, versions ~ under_tag) ~ ')' if statement
        else model ~ under_tag
    ) }}
{%- endmacro %}
