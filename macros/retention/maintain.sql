{#
    An operation: keeps tables quick to read after many small runs. Of each table that was
    built it joins small files, applies the deletions that lie beside them, writes its
    manifests anew, forgets old states with the files that only they have, and removes
    files that a kill left behind. Rows stay as they are.

    Arguments:
        keep_snapshots_hours: how long old states stay, for those who are reading them and
            for `as_of`. Those under a tag stay anyway.
        min_files: how many small files, or files of deletions, make it worth while.
        orphan_hours: how old a file has to be that no state knows; 24 at least.
#}
{% macro maintain(keep_snapshots_hours=168, min_files=5, orphan_hours=72) %}
    {%- for name, bound in {
        'keep_snapshots_hours': [keep_snapshots_hours, 0],
        'min_files': [min_files, 2],
        'orphan_hours': [orphan_hours, 24],
    }.items() if bound[0] is not number or bound[0] < bound[1] -%}
        {{ exceptions.raise_compiler_error(
            '`maintain`: expected a number of at least ' ~ bound[1] ~ ' for `' ~ name
            ~ '`, got `' ~ bound[0] ~ '`'
        ) }}
    {%- endfor -%}
    {%- do changefold.lock_warehouse() -%}
    {%- for relation, sorted_by in changefold._kept_tables() -%}
        {%- if target.file_format == 'delta' -%}
            {%- do run_query('optimize ' ~ relation) -%}
        {%- else -%}
            {%- do changefold._compact(relation, sorted_by, min_files) -%}
            {%- do changefold._call('remove_orphan_files', relation, [
                'older_than => ' ~ changefold._hours_ago(orphan_hours)
            ]) -%}
        {%- endif -%}
        {%- do changefold._expire_snapshots(relation, keep_snapshots_hours) -%}
    {%- endfor -%}
{% endmacro %}


{#
    The tables that builds have written: of models, seeds and snapshots, of landing, and
    those that keep count.

    Returns:
        A list of pairs: a relation, and the column by which its files are sorted or none.
#}
{% macro _kept_tables() %}
    {%- set tables = {} -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed', 'snapshot'] -%}
        {%- set relation = api.Relation.create(schema=node.schema, identifier=node.alias) -%}
        {%- do tables.update({relation: node.config.get('sorted_by')}) -%}
    {%- endfor -%}
    {%- for name in ['landed_files', 'run_log', 'pruned_messages', 'replay_requests', 'build_lease'] -%}
        {%- do tables.update({api.Relation.create(schema=target.schema, identifier=name): none}) -%}
    {%- endfor -%}
    {%- for topic in changefold.declared_topics() if topic.is_landed -%}
        {%- do tables.update({changefold.raw_relation(topic): 'offset'}) -%}
    {%- endfor -%}
    {%- set found = [] -%}
    {%- for relation, sorted_by in tables.items()
        if changefold.snapshot_id(relation) not in ['', 'none'] -%}
        {%- do found.append([relation, sorted_by]) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Joins a table's small files, and says how many there were, if any. #}
{% macro _compact(relation, sorted_by, min_files) %}
    {%- set many = "'min-input-files', '" ~ min_files ~ "'" -%}
    {%- set arguments = [
        'options => map(' ~ many ~ ", 'delete-file-threshold', '" ~ min_files
        ~ "', 'remove-dangling-deletes', 'true')"
    ] -%}
    {%- if sorted_by -%}
        {%- do arguments.extend(["strategy => 'sort'", "sort_order => '" ~ sorted_by ~ "'"]) -%}
    {%- endif -%}
    {%- set rewritten = changefold._call('rewrite_data_files', relation, arguments) -%}
    {%- do changefold._call('rewrite_position_delete_files', relation, ['options => map(' ~ many ~ ')']) -%}
    {%- do changefold._call('rewrite_manifests', relation, []) -%}
    {%- if rewritten.rewritten_data_files_count -%}
        {{ log(
            relation ~ ': ' ~ rewritten.rewritten_data_files_count ~ ' files joined into '
            ~ rewritten.added_data_files_count, info=True
        ) }}
    {%- endif -%}
{% endmacro %}


{#
    Calls a procedure of Iceberg for a table.

    Returns:
        The row that it answers, a mapping.
#}
{% macro _call(procedure, relation, arguments) %}
    {%- set table = 'table => ' ~ sql_text(relation.schema ~ '.' ~ relation.identifier) -%}
    {%- set answer = run_query(
        'call ' ~ target.catalog ~ '.system.' ~ procedure ~ '('
        ~ ([table] + arguments) | join(', ') ~ ')'
    ).rows -%}
    {{ return(answer[0].dict() if answer else {}) }}
{% endmacro %}


{# A moment so many hours before the run's start, as SQL. #}
{% macro _hours_ago(hours) -%}
    timestamp'{{ (run_started_at - modules.datetime.timedelta(hours=hours)).strftime('%Y-%m-%d %H:%M:%S') }}'
{%- endmacro %}
