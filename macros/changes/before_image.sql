{#
    The whole row before a change, from what the message sent of it.

    Canal messages may send only the columns that changed. A column which they leave
    out had the value it has afterwards; one sent as null was null. A whole row is
    only a case of that, so the producer's option need not be known.

    Arguments:
        before: expression, JSON text of the row before as sent, or null.
        after: expression, JSON text of the whole row after, or null.

    Returns:
        An expression, JSON text; null where there was no row before.
#}
{% macro before_image(before, after) -%}
    case
        when {{ before }} is null or {{ after }} is null then {{ before }}
        else to_json(map_concat(
            map_filter(
                from_json({{ after }}, 'map<string, string>'),
                (name, value) -> not map_contains_key(
                    from_json({{ before }}, 'map<string, string>'), name
                )
            ),
            from_json({{ before }}, 'map<string, string>')
        ))
    end
{%- endmacro %}
