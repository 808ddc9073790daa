{# A Spark schema in which every named column is text. #}
{% macro json_schema(columns) -%}
    {%- set parts = [] -%}
    {%- for column in columns -%}
        {%- do parts.append(changefold.quoted(column) ~ ' string') -%}
    {%- endfor -%}
    {{ return(parts | join(', ')) }}
{%- endmacro %}
