{# A column's name as SQL. #}
{% macro quoted(name) -%}
    {{ return('`' ~ (name | replace('`', '``')) ~ '`') }}
{%- endmacro %}
