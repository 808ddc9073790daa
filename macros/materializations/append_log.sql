{#
    A table to which the statement's rows are appended, in one commit; those of messages
    that were in quarantine take the place that these have there. Without a message that
    waits to be read, nothing is appended. More commits decide on what came below the cut,
    on batches of Canal and transactions of Debezium that were sent again, if there are any,
    and on changes that do not lie in the log at their own position.
#}
{% materialization append_log, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {%- set is_rebuilt = changefold.read_positions() is none -%}
    {{ run_hooks(pre_hooks) }}
    {%- if is_rebuilt -%}
        {%- call statement('main') -%}
            {{ create_table_as(False, relation, compiled_code) }}
        {%- endcall -%}
    {%- elif not changefold.has_unread() -%}
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
    {%- if not is_rebuilt and changefold.is_below_cut() != 'false' -%}
        {%- do changefold.settle_late_changes(relation) -%}
    {%- endif -%}
    {%- do changefold.settle_batches_sent_again(relation, is_rebuilt) -%}
    {%- do changefold.settle_transactions_sent_again(relation, is_rebuilt) -%}
    {%- do changefold.settle_order(relation, is_rebuilt) -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}
