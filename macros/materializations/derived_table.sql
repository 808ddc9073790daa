{#
    A table that is written again only when one of the tables it reads has changed, or
    its own definition has.

    What it was made from is kept in properties of the table: the content ids of its
    inputs and a hash of its definition. So a build without new data writes nothing. With
    `compared: true` rows that are those of the table are not written either: what reads
    the table has nothing new then. The statement may read `this`, its own state before,
    for a sum that goes on: the replacement is one atomic commit.
#}
{% materialization derived_table, adapter='sparksession' %}
    {%- set relation = this.incorporate(type='table') -%}
    {%- set existing = load_cached_relation(this) -%}
    {{ run_hooks(pre_hooks) }}
    {%- set inputs = changefold.input_fingerprint() -%}
    {%- set made_from = [
        ('changefold.inputs', inputs),
        ('changefold.definition', changefold._definition()),
        ('changefold.filters', changefold.filters_digest()),
    ] -%}
    {%- set known = {} if flags.FULL_REFRESH else adapter.table_properties(relation) -%}
    {%- if inputs and known.get('changefold.inputs') == inputs -%}
        {%- do changefold._skipped('nothing new') -%}
    {%- elif config.get('compared')
        and known.get('changefold.definition') == changefold._definition()
        and changefold._has_rows_of(relation, compiled_code) -%}
        {%- do run_query(
            'alter table ' ~ relation ~ ' set tblproperties (' ~ changefold.property_list(made_from) ~ ')'
        ) -%}
        {%- do changefold._skipped('the same rows') -%}
    {%- else -%}
        {%- if existing is not none and existing.type == 'view' -%}
            {%- do adapter.drop_relation(existing) -%}
        {%- endif -%}
        {%- call statement('main') -%}
            {{ changefold.create_table_with(relation, compiled_code, made_from) }}
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
        partitioned_by: a column, for a model whose config has no `partition_by`.

    Returns:
        A `create or replace table`, with the clauses that dbt-spark gives one.
#}
{% macro create_table_with(relation, sql, properties, partitioned_by=none) -%}
    {%- set is_enforced = config.get('contract').enforced -%}
    create or replace table {{ relation }}
    {{ get_assert_columns_equivalent(sql) if is_enforced }}
    {{ file_format_clause() }}
    {{ options_clause() }}
    tblproperties ({{ changefold.property_list((config.get('tblproperties') or {}) | items | list + properties) }})
    {{ partition_cols(label='partitioned by')
        or ('partitioned by (' ~ partitioned_by ~ ')' if partitioned_by else '') }}
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
    {{ return(local_md5(([changefold._definition()] + states) | join('\n'))) }}
{% endmacro %}


{# The model's own code and the declared topics, as a text of fixed length. #}
{% macro _definition() %}
    {{ return(local_md5([
        model.raw_code, model.config.get('tblproperties') | string, changefold.declared_topics() | string,
    ] | join('\n'))) }}
{% endmacro %}


{# Whether a `select` returns the rows that a table has, in any order, each as often. #}
{% macro _has_rows_of(relation, sql) %}
    {%- set digest = "count(*), sum(cast(xxhash64(to_json(struct(*), map('ignoreNullFields', 'false')))"
        ~ ' as decimal(38, 0)))' -%}
    {{ return(run_query(
        'select (select struct(' ~ digest ~ ') from (' ~ sql ~ ')) = (select struct(' ~ digest ~ ') from '
        ~ relation ~ ')'
    ).rows[0][0]) }}
{% endmacro %}
