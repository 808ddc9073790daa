{#
    The hook that shows the tables of a build to readers, all of them at once, and only
    when every test has passed. It does nothing unless the var `published_schema` is set.

    Readers ask views in that schema. Each table keeps two states for them, under the tags
    `published_a` and `published_b`; the one row of `published_run` tells which one holds.
    A build moves the tags that nobody reads, and then that row, in one commit: so no
    statement sees tables of two builds. Killed in between, the next build does it again.

    Arguments:
        results: what dbt knows of the nodes that ran.

    Raises:
        A compiler error that names a table which is not in Iceberg's format, or two models
        of one name.
#}
{% macro publish(results) %}
    {%- if execute and flags.WHICH == 'build' and var('published_schema') -%}
        {%- if target.file_format != 'iceberg' -%}
            {{ exceptions.raise_compiler_error(
                'var `published_schema`: expected a target with tables of Iceberg, whose tags keep'
                ~ ' what readers see, got `file_format: ' ~ target.file_format ~ '`'
            ) }}
        {%- endif -%}
        {%- set nodes = changefold.published_nodes() -%}
        {%- set hindrance = changefold._hindrance(nodes, results) -%}
        {%- if hindrance -%}
            {{ log('Published nothing: ' ~ hindrance, info=True) }}
        {%- else -%}
            {%- do changefold.publish_nodes(nodes, results) -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    What is published: the histories of rows, all models and snapshots that read them, and the
    models that a published view reads.

    Returns:
        A list of nodes of the graph. Ephemeral models are not in it.

    Raises:
        A compiler error that names two nodes of one name.
#}
{% macro published_nodes() %}
    {%- set known = {} -%}
    {%- set wanted = {} -%}
    {%- for unique_id in graph.nodes if changefold._reads_history(unique_id, known) -%}
        {%- do changefold._add_published(unique_id, wanted) -%}
    {%- endfor -%}
    {%- set nodes = {} -%}
    {%- for unique_id, node in wanted.items() if node.config.materialized != 'ephemeral' -%}
        {%- if node.alias in nodes -%}
            {{ exceptions.raise_compiler_error(
                'var `published_schema`: `' ~ unique_id ~ '` and `' ~ nodes[node.alias].unique_id
                ~ '` would both be published as `' ~ node.alias ~ '`; give one an `alias`'
            ) }}
        {%- endif -%}
        {%- do nodes.update({node.alias: node}) -%}
    {%- endfor -%}
    {{ return(nodes.values() | list) }}
{% endmacro %}


{# Adds to `wanted` a node and, if it keeps no rows itself, what it reads. #}
{% macro _add_published(unique_id, wanted) %}
    {%- set node = graph.nodes.get(unique_id) -%}
    {%- if node and node.resource_type in ['model', 'snapshot'] and unique_id not in wanted -%}
        {%- do wanted.update({unique_id: node}) -%}
        {%- for parent in node.depends_on.nodes if node.config.materialized in ['view', 'ephemeral'] -%}
            {%- do changefold._add_published(parent, wanted) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{#
    Whether a node is a history or reads one; `known` keeps the answers. Not what a model with
    `published: false` reads.
#}
{% macro _reads_history(unique_id, known) %}
    {%- if unique_id not in known -%}
        {%- set node = graph.nodes.get(unique_id) -%}
        {%- set answer = namespace(is_yes=false) -%}
        {%- if node and node.resource_type in ['model', 'snapshot'] and node.config.get('published', true) -%}
            {%- set answer.is_yes = node.config.materialized == 'row_fold' -%}
            {%- for parent in node.depends_on.nodes if not answer.is_yes -%}
                {%- set answer.is_yes = changefold._reads_history(parent, known) -%}
            {%- endfor -%}
        {%- endif -%}
        {%- do known.update({unique_id: answer.is_yes}) -%}
    {%- endif -%}
    {{ return(known[unique_id]) }}
{% endmacro %}


{# Adds to `known` a node and all that it reads. #}
{% macro _add_ancestors(unique_id, known) %}
    {%- if unique_id not in known -%}
        {%- do known.update({unique_id: true}) -%}
        {%- for parent in (graph.nodes.get(unique_id) or {'depends_on': {}}).depends_on.get('nodes', []) -%}
            {%- do changefold._add_ancestors(parent, known) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{#
    Why a build may not be published: a node failed, or one was left out that is published
    or tests what is. A view that readers have already may be left out: it shows what is new.

    Arguments:
        nodes: of `published_nodes`.
        results: what dbt knows of the nodes that ran.

    Returns:
        A sentence; empty without a hindrance.
#}
{% macro _hindrance(nodes, results) %}
    {%- if flags.EMPTY -%}{{ return('the build was one without rows (`--empty`)') }}{%- endif -%}
    {%- set states = {} -%}
    {%- for result in results -%}
        {%- do states.update({result.node.unique_id: result.status | string}) -%}
    {%- endfor -%}
    {%- set ancestors = {} -%}
    {%- for node in nodes -%}{%- do changefold._add_ancestors(node.unique_id, ancestors) -%}{%- endfor -%}
    {%- set needed = [] -%}
    {%- set shown = [] -%}
    {%- for node in nodes -%}
        {%- if node.config.materialized == 'view' and node.unique_id not in states
            and adapter.view_properties(changefold.shown_for(node)) -%}
            {%- do shown.append(node.unique_id) -%}
        {%- else -%}
            {%- do needed.append(node.unique_id) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for unique_id, node in graph.nodes.items() if node.resource_type == 'test' -%}
        {%- set read = node.depends_on.nodes -%}
        {%- if read | select('in', ancestors) | list and not read | select('in', shown) | list -%}
            {%- do needed.append(unique_id) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set failed = [] -%}
    {%- for unique_id, state in states.items() if state not in ['success', 'pass', 'warn', 'no-op'] -%}
        {%- do failed.append(unique_id.split('.')[2]) -%}
    {%- endfor -%}
    {%- if failed -%}
        {{ return(
            failed | length ~ ' node(s) failed or were skipped (' ~ failed[:3] | join(', ')
            ~ '); readers keep what they have'
        ) }}
    {%- endif -%}
    {%- set missing = needed | reject('in', states) | list -%}
    {%- if missing -%}
        {{ return(
            'the build left out ' ~ missing | length ~ ' node(s) (' ~ missing[0].split('.')[2]
            ~ ', ...); only a whole `dbt build` has all tables at one cut'
        ) }}
    {%- endif -%}
    {{ return('') }}
{% endmacro %}
