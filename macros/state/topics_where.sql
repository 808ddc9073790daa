{#
    Condition: the topic has one of some protocols.

    Arguments:
        protocols: list of names, as in the var `topics`.

    Returns:
        A condition on kafka_topic; false, if no topic has.
#}
{% macro is_of_protocols(protocols) -%}
    {{ return(changefold.is_one_of(changefold.declared_topics() | selectattr('protocol', 'in', protocols))) }}
{%- endmacro %}


{#
    Condition: changes of the topic that wait for their schema hold the cut back.

    Returns:
        A condition on kafka_topic.
#}
{% macro is_held_by_pending() -%}
    {{ return(changefold.is_one_of(changefold.declared_topics() | selectattr('pending_holds_cut'))) }}
{%- endmacro %}


{#
    Condition: the topic is declared as compacted.

    Returns:
        A condition on kafka_topic; false, if no topic is.
#}
{% macro is_compacted() -%}
    {{ return(changefold.is_one_of(changefold.declared_topics() | selectattr('is_compacted'))) }}
{%- endmacro %}


{#
    Condition: the topic is declared with a filter.

    Returns:
        A condition on kafka_topic; false, if no topic is.
#}
{% macro has_filter() -%}
    {{ return(changefold.is_one_of(changefold.declared_topics() | selectattr('filter'))) }}
{%- endmacro %}


{# Condition on kafka_topic: it is one of some declared topics. #}
{% macro is_one_of(topics) -%}
    {%- set names = [] -%}
    {%- for topic in topics -%}{%- do names.append(sql_text(topic.name)) -%}{%- endfor -%}
    {{ return('kafka_topic in (' ~ names | join(', ') ~ ')' if names else 'false') }}
{%- endmacro %}
