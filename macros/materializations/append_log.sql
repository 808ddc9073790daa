{#
    A table to which the statement's rows are appended, in one commit; those of messages
    that were in quarantine take the place that these have there. Without a message that
    waits to be read, nothing runs.
#}
{% materialization append_log, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {{ run_hooks(pre_hooks) }}
    {%- if read_positions() is none -%}
        {%- call statement('main') -%}
            {{ create_table_as(False, relation, compiled_code) }}
        {%- endcall -%}
    {%- elif not unread_messages() -%}
        {%- do _skipped('nothing new') -%}
    {%- elif requested_counts() -%}
        {%- call statement('main') -%}
            {{ merge_replayed(relation, compiled_code) }}
        {%- endcall -%}
    {%- else -%}
        {%- call statement('main') -%}
            insert into {{ relation }}
            {{ compiled_code }}
        {%- endcall -%}
    {%- endif -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}
