{#
    What nodes stand for at this moment: the content of each table below them. Views are
    looked through, and their definitions count; of an ephemeral model its code does.

    A model whose config has `reads` needs no more of a table than some of its partitions:
    `{'change_log': {'event_kind': ['ddl']}}` says that of the model `change_log` it reads
    those only where event_kind is one of these. What is written to the others leaves it as
    it is. None of the values: it reads nothing of that table.

    Arguments:
        nodes: list of unique ids.
        reads: what the reader of these has as `reads`, or none.

    Returns:
        A list of texts, or none if the state of one can not be told.
#}
{% macro state_of_inputs(nodes, reads=none) %}
    {%- set states = [] -%}
    {%- do _add_states(states, nodes, reads or {}, []) -%}
    {{ return(none if none in states else states) }}
{% endmacro %}


{% macro _add_states(states, nodes, reads, seen) %}
    {%- for unique_id in nodes -%}
        {%- set node = graph.nodes.get(unique_id) or graph.sources.get(unique_id) -%}
        {%- set partitions = reads.get(node.name) if node else none -%}
        {%- set read = unique_id ~ (partitions | string) -%}
        {%- if not node or read in seen or node.resource_type not in ['model', 'seed', 'snapshot', 'source'] -%}
        {%- else -%}
            {%- do seen.append(read) -%}
            {%- set kind = node.config.materialized -%}
            {%- set relation = api.Relation.create(schema=node.schema, identifier=node.alias or node.identifier) -%}
            {%- if kind == 'ephemeral' -%}
                {%- do states.append(local_md5(node.raw_code)) -%}
            {%- elif kind == 'view' -%}
                {%- do states.append(adapter.view_properties(relation).get('changefold.definition')) -%}
            {%- else -%}
                {%- do states.append(_state_of_table(relation, partitions)) -%}
            {%- endif -%}
            {%- if kind in ['ephemeral', 'view'] -%}
                {%- do _add_states(states, node.depends_on.nodes, node.config.get('reads') or {}, seen) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{#
    The state of a table, or of some of its partitions, as text; none if it has no snapshots.

    Arguments:
        relation: the table.
        partitions: none, or a mapping of a column that it is partitioned by to values.
#}
{% macro _state_of_table(relation, partitions) %}
    {%- set properties = adapter.table_properties(relation) -%}
    {%- set snapshot = properties.get('current-snapshot-id') -%}
    {%- if not properties -%}
        {{ return(relation ~ '@absent') }}
    {%- elif snapshot is none -%}
        {{ return(none) }}
    {%- elif partitions is none or snapshot == 'none' or target.file_format != 'iceberg' -%}
        {{ return(relation ~ '@' ~ snapshot) }}
    {%- endif -%}
    {%- set states = [] -%}
    {%- for column, values in partitions.items() if values -%}
        {%- for row in adapter.query_once(
            'select cast(partition.' ~ adapter.quote(column) ~ ' as string) as value,'
            ~ ' concat_ws(\'/\', sum(record_count), sum(file_count),'
            ~ ' sum(total_data_file_size_in_bytes), sum(position_delete_record_count),'
            ~ ' sum(equality_delete_record_count), max(last_updated_at)) as state'
            ~ ' from ' ~ relation ~ '.partitions group by all',
            snapshot
        ) if row.value in values -%}
            {%- do states.append(row.value ~ '=' ~ row.state) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(relation ~ '@' ~ states | sort | join(',')) }}
{% endmacro %}
