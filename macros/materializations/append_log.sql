{#
    A table to which the statement's rows are appended, in one commit; those of messages
    that were in quarantine take the place that these have there. Without a message that
    waits to be read, nothing runs.
#}
{% materialization append_log, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {{ run_hooks(pre_hooks) }}
    {%- if changefold.read_positions() is none -%}
        {%- call statement('main') -%}
            {{ create_table_as(False, relation, compiled_code) }}
        {%- endcall -%}
    {%- elif not changefold.unread_messages() -%}
        {%- do changefold._skipped('nothing new') -%}
    {%- elif changefold.requested_counts() -%}
        {%- call statement('main') -%}
            {{ changefold.merge_replayed(relation, compiled_code) }}
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
