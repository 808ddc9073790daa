{#
    How many DDLs had changed the columns of a table by the time of a change.

    Arguments:
        change_sequence: expression.
        rewritten_at: change sequences of those DDLs.

    Returns:
        An expression of type int.
#}
{% macro shape_count(change_sequence, rewritten_at) -%}
    {%- set moments = [] -%}
    {%- for sequence in rewritten_at -%}{%- do moments.append("'" ~ sequence ~ "'") -%}{%- endfor -%}
    {%- if not moments -%}{{ return('0') }}{%- endif -%}
    size(filter(array({{ moments | join(', ') }}), at -> at <= {{ change_sequence }}))
{%- endmacro %}
