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
    {%- set meta = config.get('meta') or {} -%}
    {%- set inputs = state_of_inputs(model.depends_on.nodes) if meta.get('is_deterministic') else none -%}
    {%- if has_passed_before(none if inputs is none else parts + inputs) -%}
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
