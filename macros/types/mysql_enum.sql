{#
    An ENUM column: the message carries the number of the member, from 1; 0 is MySQL's
    value for what was no member, the empty text. Debezium sends the name.

    Arguments:
        value: expression, the number as text.
        members: list of the members' names, in order.

    Returns:
        An expression of type string. Null for a number beyond the members.

    Raises:
        A compiler error if `members` is not a list or is empty.
#}
{% macro mysql_enum(value, members) -%}
    {%- if members is string or not members -%}
        {{ exceptions.raise_compiler_error(
            "`mysql_enum`: expected a list of names in `members`, got " ~ members
        ) }}
    {%- endif -%}
    {%- if changefold.wire_form() == 'connect' -%}
        {{ return(value) }}
    {%- endif -%}
    try_element_at(
        array('', {% for member in members %}{{ sql_text(member) }}{{ ', ' if not loop.last }}{% endfor %}),
        try_cast({{ value }} as int) + 1
    )
{%- endmacro %}
