{#
    A table that is written again only when one of the tables it reads has changed, or
    its own definition has.

    What it was made from is kept in a property of the table: the content ids of its
    inputs and a hash of the compiled statement. So a build without new data writes
    nothing. The statement may read `this`, its own state before, for a sum that goes
    on: the replacement is one atomic commit.
#}
{% materialization derived_table, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {%- set existing = load_cached_relation(this) -%}
    {{ run_hooks(pre_hooks) }}
    {%- set inputs = changefold.input_fingerprint() -%}
    {%- set known = adapter.table_properties(relation) -%}
    {%- if inputs and not flags.FULL_REFRESH and known.get('changefold.inputs') == inputs -%}
        {%- do changefold._skipped('nothing new') -%}
    {%- else -%}
        {%- if existing is not none and existing.type == 'view' -%}
            {%- do adapter.drop_relation(existing) -%}
        {%- endif -%}
        {%- call statement('main') -%}
            {{ changefold.create_table_with(relation, compiled_code, [
                ('changefold.inputs', inputs), ('changefold.filters', changefold.filters_digest()),
            ]) }}
        {%- endcall -%}
    {%- endif -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{#
    The statement that writes a table anew, and in the same commit some of its properties.

    Arguments:
        relation: the table.
        sql: a `select` of its rows.
        properties: list of pairs (name, value), beside the `tblproperties` of the model.

    Returns:
        A `create or replace table`, with the clauses that dbt-spark gives one.
#}
{% macro create_table_with(relation, sql, properties) -%}
    {%- set is_enforced = config.get('contract').enforced -%}
    create or replace table {{ relation }}
    {{ get_assert_columns_equivalent(sql) if is_enforced }}
    {{ file_format_clause() }}
    {{ options_clause() }}
    tblproperties ({{ changefold.property_list((config.get('tblproperties') or {}) | items | list + properties) }})
    {{ partition_cols(label='partitioned by') }}
    {{ clustered_cols(label='clustered by') }}
    {{ location_clause() }}
    {{ comment_clause() }}
    as
    {{ get_select_subquery(sql) if is_enforced else sql }}
{%- endmacro %}


{# Pairs of name and value as SQL, between the parentheses of `tblproperties`. #}
{% macro property_list(pairs) -%}
    {%- for key, value in pairs -%}
        {{ sql_text(key) }} = {{ sql_text(value) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{# Ends a materialization that has nothing to do. #}
{% macro _skipped(reason) %}
    {%- do store_raw_result(name='main', message='SKIP ' ~ reason, code='SKIP', rows_affected='0') -%}
{% endmacro %}


{#
    What a model is made from: its own code, the declared topics, and all that it reads, as
    `state_of_inputs` tells it.

    Returns:
        A text that changes when, and only when, the model has to be built again; empty
        if nobody can tell.
#}
{% macro input_fingerprint() %}
    {%- set states = state_of_inputs(model.depends_on.nodes, config.get('reads')) -%}
    {%- if states is none -%}
        {{ return('') }}
    {%- endif -%}
    {%- set own = [model.raw_code, model.config.get('tblproperties') | string, changefold.declared_topics() | string] -%}
    {{ return(local_md5((own + states) | join('\n'))) }}
{% endmacro %}
