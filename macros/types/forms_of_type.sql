{#
    The forms in which values of a type of Debezium may be read. Where two types share one, a
    value has the same text in both, but for zeros at the end of a fraction.

    Arguments:
        type: an expression of type string: a type such as `connect.Decimal(10,2)`.

    Returns:
        An expression of type array<string>.
#}
{% macro forms_of_type(type) -%}
    {%- set forms_by_type = {
        'u?int[0-9]+|Year': ['number', 'text', 'untyped'],
        'Decimal[(][0-9]+,0[)]': ['number', 'text'],
        'Decimal.*|VariableScaleDecimal': ['number'],
        'float[0-9]*|double[0-9]*': ['number', 'untyped'],
        'string|Enum.*|Uuid|Ltree': ['text', 'untyped'],
        'Json|Xml|Interval': ['text', 'untyped'],
        'boolean|untyped': ['untyped'],
        'bytes|hex|base64(_url_safe)?': ['bytes'],
        '(Iso)?Date': ['date'],
        '(Micro|Nano)?Time': ['time'],
        '(Micro|Nano)?Timestamp': ['timestamp'],
    } -%}
case
            {%- for pattern, forms in forms_by_type.items() %}
            when {{ type }} rlike '^connect[.]({{ pattern }})$'
                then array('{{ forms | join("', '") }}')
            {%- endfor %}
            else array({{ type }})
        end
{%- endmacro %}
