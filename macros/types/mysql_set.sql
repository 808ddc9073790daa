{#
    A SET column: the message carries a bit mask, the first member in the lowest bit.
    Debezium sends the names.

    Arguments:
        value: expression, the unsigned number as text, up to 64 bits.
        members: list of the members' names, in order.

    Returns:
        An expression of type string: the names with commas between. Null for a mask
        with bits beyond the members.

    Raises:
        A compiler error if `members` is not a list or is empty.
#}
{% macro mysql_set(value, members) -%}
    {%- if members is string or not members -%}
        {{ exceptions.raise_compiler_error(
            "`mysql_set`: expected a list of names in `members`, got " ~ members
        ) }}
    {%- endif -%}
    {%- if changefold.wire_form() == 'connect' -%}
        {{ return(value) }}
    {%- endif -%}
    if(
        try_cast({{ value }} as decimal(20, 0)) < {{ 2 ** (members | length) }}BD,
        array_join(
            filter(
                array({% for member in members %}{{ sql_text(member) }}{{ ', ' if not loop.last }}{% endfor %}),
                -- conv to a signed number: 64 members need all bits of a bigint
                (member, position) -> getbit(
                    try_cast(conv({{ value }}, 10, -10) as bigint), position
                ) = 1
            ),
            ','
        ),
        null
    )
{%- endmacro %}
