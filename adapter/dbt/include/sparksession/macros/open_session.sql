{# Opens the session of the profile, for a program that goes on to use it. #}
{% macro open_session() %}
    {%- do run_query('select 1') -%}
{% endmacro %}
