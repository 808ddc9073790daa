{#
    A data test. A build does not ask one again that has passed and would read the same
    tables by the same statement.

    Which tests that holds for, they say themselves: `is_deterministic: true` in the
    `meta` of a test means that it asks neither the clock nor chance, and refers to all that
    it reads by `ref` and `source`. `dbt test`, and a build with `--full-refresh` or
    `--store-failures`, ask every test.
#}
{% materialization test, adapter='sparksession' %}
    {%- set parts = [sql, config.get('fail_calc'), config.get('warn_if'), config.get('error_if')] -%}
    {%- set found = {'inputs': [], 'are_known': (config.get('meta') or {}).get('is_deterministic', false)} -%}
    {%- if found.are_known -%}
        {%- do _add_inputs(found, model.depends_on.nodes, []) -%}
    {%- endif -%}
    {%- if has_passed_before(parts + found.inputs if found.are_known else none) -%}
        {%- set response, table = adapter.data_test_passed() -%}
        {%- do store_result('main', response=response, agate_table=table) -%}
        {{ return({'relations': []}) }}
    {%- endif -%}
    {{ return(dbt.materialization_test_default()) }}
{% endmaterialization %}


{#
    A unit test, which reads no table. The same holds for each that does not name a function
    of the clock or of chance; its `meta` is not known here.
#}
{% materialization unit, adapter='sparksession' %}
    {%- set parts = [sql, config.get('expected_rows'), config.get('expected_sql')] -%}
    {%- if has_passed_before(parts if adapter.is_deterministic(sql) else none) -%}
        {%- set response, table = adapter.unit_test_passed() -%}
        {%- do store_result('main', response=response, agate_table=table) -%}
        {{ return({'relations': []}) }}
    {%- endif -%}
    {{ return(dbt.materialization_unit_default()) }}
{% endmaterialization %}


{#
    Whether the test at hand passed when all that its outcome depends on was the same.

    Arguments:
        parts: what it depends on, beside the code of the registered functions; none, if
            nobody can tell.
#}
{% macro has_passed_before(parts) %}
    {%- if parts is none or flags.WHICH != 'build' or flags.FULL_REFRESH or should_store_failures() -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set digest = local_md5((parts + [adapter.digest_of_functions()]) | join('\n')) -%}
    {%- do adapter.test_is_asked(model.unique_id, digest) -%}
    {{ return(adapter.table_properties(_test_ledger()).get(_test_key(model.unique_id)) == digest) }}
{% endmacro %}


{# Adds the state of nodes, and of what views read, to the inputs of a test. #}
{% macro _add_inputs(found, nodes, seen) %}
    {%- for unique_id in nodes if unique_id not in seen -%}
        {%- do seen.append(unique_id) -%}
        {%- set node = graph.nodes.get(unique_id) or graph.sources.get(unique_id) -%}
        {%- set kind = node.config.materialized if node else '' -%}
        {%- if not node or node.resource_type not in ['model', 'seed', 'snapshot', 'source'] -%}
        {%- elif kind == 'ephemeral' -%}
            {#- Its code is part of the statement. -#}
            {%- do _add_inputs(found, node.depends_on.nodes, seen) -%}
        {%- else -%}
            {%- set relation = api.Relation.create(schema=node.schema, identifier=node.alias or node.identifier) -%}
            {%- if kind == 'view' -%}
                {%- set state = adapter.view_properties(relation).get('changefold.definition') -%}
                {%- do _add_inputs(found, node.depends_on.nodes, seen) -%}
            {%- else -%}
                {%- set properties = adapter.table_properties(relation) -%}
                {%- set state = properties.get('current-snapshot-id') if properties else 'absent' -%}
            {%- endif -%}
            {%- if state is none -%}
                {%- do found.update({'are_known': false}) -%}
            {%- endif -%}
            {%- do found.inputs.append(relation ~ '@' ~ state) -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{#
    Writes down which tests have passed, for the next build: at the end of a run, in
    properties of the table `run_log`, if it is there.

    Arguments:
        results: what dbt knows of the nodes that ran.
#}
{% macro remember_passed_tests(results) %}
    {%- set known = adapter.table_properties(_test_ledger()) if execute and flags.WHICH == 'build' else {} -%}
    {%- set pairs = [] -%}
    {%- for result in results if known and result.status == 'pass' -%}
        {%- set key = _test_key(result.node.unique_id) -%}
        {%- set digest = adapter.digest_asked(result.node.unique_id) -%}
        {%- if digest and known.get(key) != digest -%}
            {%- do pairs.append("'" ~ key ~ "' = '" ~ digest ~ "'") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if pairs -%}
        {%- do run_query('alter table ' ~ _test_ledger() ~ ' set tblproperties (' ~ pairs | join(', ') ~ ')') -%}
    {%- endif -%}
{% endmacro %}


{% macro _test_ledger() %}
    {{ return(api.Relation.create(schema=target.schema, identifier='run_log')) }}
{% endmacro %}


{# Name of the property that has the digest of a test. #}
{% macro _test_key(unique_id) %}
    {{ return('changefold.passed.' ~ local_md5(unique_id)) }}
{% endmacro %}
