{#
    The raw table of a topic: the source `raw` of that name.

    Arguments:
        topic: mapping of `declared_topics`.

    Returns:
        A relation.

    Raises:
        A compiler error if there is no such source.
#}
{% macro raw_relation(topic) %}
    {%- set found = [] -%}
    {%- for node in graph.sources.values()
        if node.source_name == 'raw' and node.name == topic.name -%}
        {%- do found.append(node) -%}
    {%- endfor -%}
    {%- if not found -%}
        {{ exceptions.raise_compiler_error(
            "var `topics`: topic `" ~ topic.name ~ "` is not among the tables of the"
            ~ " source `raw`. Run `make models`, which writes it."
        ) }}
    {%- endif -%}
    {{ return(api.Relation.create(schema=found[0].schema, identifier=found[0].identifier)) }}
{% endmacro %}
