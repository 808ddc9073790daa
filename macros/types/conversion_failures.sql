{#
    The values of a row that their column's type can not hold, as the source sent them.

    Such a column is null in the table, and its text is kept here, so nothing is lost:
    a zero date, or a value of another type than the schema says. So is a time that says
    more than the column: one finer than a microsecond, which has its microseconds there,
    and one with an offset, which is the instant there.

    Arguments:
        image: name of the struct of texts.
        record: name of the struct of typed values.
        columns: names of the columns whose conversion can fail.
        rounded: names of those, among them, whose texts may say more than Spark's times:
            digits behind microseconds, an offset. The whole text is kept here.

    Returns:
        An expression of type map<string, string>; null where all values fit.
#}
{% macro conversion_failures(image, record, columns, rounded=[]) -%}
    {%- if not columns -%}
        {{ return('cast(null as map<string, string>)') }}
    {%- endif -%}
    {%- set failed = [] -%}
    {%- set entries = [] -%}
    {%- for column in columns -%}
        {%- set name = changefold.quoted(column) -%}
        {%- set is_failed = record ~ '.' ~ name ~ ' is null and ' ~ image ~ '.' ~ name ~ ' is not null' -%}
        {%- if column in rounded -%}
            {%- set is_failed = '(' ~ is_failed ~ ' or ' ~ image ~ '.' ~ name
                ~ " rlike '[.][0-9]{6}([0-9]*[1-9]|[0-9]*[+-][0-9:]+$)')" -%}
        {%- endif -%}
        {%- do failed.append(is_failed) -%}
        {%- do entries.append(sql_text(column) ~ ', if(' ~ is_failed ~ ', ' ~ image ~ '.' ~ name ~ ', null)') -%}
    {%- endfor -%}
    if(
        {{ failed | join('\n        or ') }},
        map_filter(
            map({{ entries | join(', ') }}),
            (name, value) -> value is not null
        ),
        null
    )
{%- endmacro %}


{#
    Condition: a row has a value that its column's type can not hold, not only a time that
    says more than its column.

    Arguments:
        failures: name of the column `_cdc_conversion_failures`.

    Returns:
        A condition; false where there is none.
#}
{% macro has_unfit_value(failures) -%}
    coalesce(exists(
        map_values({{ failures }}),
        kept -> not (
            kept rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}[.][0-9]{6}([0-9]*[1-9][0-9]*Z?|[0-9]*[+-][0-9:]+)$'
            and try_cast(kept as timestamp) is not null
        )
    ), false)
{%- endmacro %}
