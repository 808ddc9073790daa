{# The declaration of the topic that a generated model reads. #}
{% macro topic_of_model() %}
    {{ return(changefold.declared_topic(config.get('topic'))) }}
{% endmacro %}
