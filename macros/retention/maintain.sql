{#
    An operation: keeps tables quick to read after many small runs. Of each table that was
    built it joins small files, applies the deletions that lie beside them, writes its
    manifests anew, and forgets old states with the files that only they have. What is few
    it leaves alone. Rows stay as they are.

    Arguments:
        tables: names of those to work on; all by default.
        keep_snapshots_hours: how long old states stay, for those who are reading them and
            for `as_of`. Those under a tag stay anyway.
        min_files: how many small files, files of deletions or manifests make it worth while.
        orphan_hours: if given, files of that age which no state knows go too, as kills
            leave them: all folders are listed for it. 24 at least.
#}
{% macro maintain(tables=none, keep_snapshots_hours=168, min_files=5, orphan_hours=none) %}
    {%- for name, bound in {
        'keep_snapshots_hours': [keep_snapshots_hours, 0],
        'min_files': [min_files, 2],
        'orphan_hours': [24 if orphan_hours is none else orphan_hours, 24],
    }.items() if bound[0] is not number or bound[0] < bound[1] -%}
        {{ exceptions.raise_compiler_error(
            '`maintain`: expected a number of at least ' ~ bound[1] ~ ' for `' ~ name
            ~ '`, got `' ~ bound[0] ~ '`'
        ) }}
    {%- endfor -%}
    {%- do changefold.lock_warehouse() -%}
    {%- set kept = changefold._kept_tables() -%}
    {%- for name in tables or [] if name not in kept | map(attribute='relation.identifier') | list -%}
        {{ exceptions.raise_compiler_error('`maintain`: there is no table `' ~ name ~ '`') }}
    {%- endfor -%}
    {%- for table in kept if tables is none or table.relation.identifier in tables -%}
        {%- if target.file_format == 'delta' -%}
            {%- do run_query('optimize ' ~ table.relation) -%}
            {%- do changefold._expire_snapshots(table.relation, keep_snapshots_hours) -%}
        {%- else -%}
            {%- do changefold._maintain_table(table, keep_snapshots_hours, min_files) -%}
            {%- if orphan_hours is not none -%}
                {%- do changefold._call('remove_orphan_files', table.relation, [
                    'older_than => ' ~ changefold._hours_ago(orphan_hours)
                ]) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{#
    The tables that builds have written: of models, seeds and snapshots, of landing, and
    those that keep count.

    Returns:
        A list of mappings: relation, sorted_by (columns by which its files are sorted, or
        none).
#}
{% macro _kept_tables() %}
    {%- set found = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed', 'snapshot'] -%}
        {%- do found.append({
            'relation': api.Relation.create(schema=node.schema, identifier=node.alias),
            'sorted_by': node.config.get('sorted_by'),
        }) -%}
    {%- endfor -%}
    {%- for name in ['landed_files', 'run_log', 'pruned_messages', 'replay_requests', 'build_lease'] -%}
        {%- do found.append({
            'relation': api.Relation.create(schema=target.schema, identifier=name)
        }) -%}
    {%- endfor -%}
    {%- for topic in changefold.declared_topics() if topic.is_landed -%}
        {%- do found.append({'relation': changefold.raw_relation(topic), 'sorted_by': 'offset'}) -%}
    {%- endfor -%}
    {%- set kept = [] -%}
    {%- for table in found if changefold.snapshot_id(table.relation) not in ['', 'none'] -%}
        {%- do kept.append(table) -%}
    {%- endfor -%}
    {{ return(kept) }}
{% endmacro %}


{# Does for one table of Iceberg what is worth while, and says which files it joined. #}
{% macro _maintain_table(table, keep_snapshots_hours, min_files) %}
    {%- set relation = table.relation -%}
    {%- set counts = run_query(
        'select (select count(*) from ' ~ relation ~ '.data_files),'
        ~ ' (select count(*) from ' ~ relation ~ '.delete_files),'
        ~ ' (select count(*) from ' ~ relation ~ '.manifests),'
        ~ ' (select count(*) from ' ~ relation ~ '.snapshots where committed_at < '
        ~ changefold._hours_ago(keep_snapshots_hours) ~ ')'
    ).rows[0] -%}
    {%- set many = "'min-input-files', '" ~ min_files ~ "'" -%}
    {%- if [counts[0], counts[1]] | max >= min_files -%}
        {%- set arguments = [
            'options => map(' ~ many ~ ", 'delete-file-threshold', '" ~ min_files
            ~ "', 'remove-dangling-deletes', 'true')"
        ] -%}
        {%- if table.sorted_by -%}
            {%- do arguments.extend(["strategy => 'sort'", "sort_order => '" ~ table.sorted_by ~ "'"]) -%}
        {%- endif -%}
        {%- set joined = changefold._call('rewrite_data_files', relation, arguments) -%}
        {%- if joined.rewritten_data_files_count -%}
            {{ log(
                relation ~ ': ' ~ joined.rewritten_data_files_count ~ ' files joined into '
                ~ joined.added_data_files_count, info=True
            ) }}
        {%- endif -%}
    {%- endif -%}
    {%- if counts[1] >= min_files -%}
        {%- do changefold._call(
            'rewrite_position_delete_files', relation, ['options => map(' ~ many ~ ')']
        ) -%}
    {%- endif -%}
    {%- if counts[2] >= min_files -%}
        {%- do changefold._call('rewrite_manifests', relation, []) -%}
    {%- endif -%}
    {%- if counts[3] -%}
        {%- do changefold._expire_snapshots(relation, keep_snapshots_hours) -%}
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
