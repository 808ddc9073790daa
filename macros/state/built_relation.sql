{#
    The table of one of this project's models, if it has been built.

    Arguments:
        name: name of the model.

    Returns:
        A relation, or none.
#}
{% macro built_relation(name) %}
    {#- In a unit test of dbt the graph is empty. -#}
    {%- set node = graph.get('nodes', {}).get('model.changefold.' ~ name) if execute else none -%}
    {%- if not node -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set relation = api.Relation.create(schema=node.schema, identifier=node.alias) -%}
    {%- if changefold.snapshot_id(relation) -%}
        {{ return(relation) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}


{#
    Identifies the content of a table: changes when, and only when, it is written.

    Arguments:
        relation: relation of a table.

    Returns:
        A text; empty, if there is no such table.
#}
{% macro snapshot_id(relation) %}
    {{ return(adapter.table_properties(relation).get('current-snapshot-id', '')) }}
{% endmacro %}
