{#
    The text by which a row is told from others: the values of its key, in the order of the
    key, as a JSON array; without a key, a hash of the whole row.

    Arguments:
        texts: an expression of type map<string, string>: the row.

    Returns:
        An expression of type string, on key_columns, column_defaults, lacks_keys and
        decimal_columns of `folded_tables`.
#}
{% macro key_of_row(texts) -%}
if(
            {{ changefold.has_key(texts) }},
            to_json(transform(
                key_columns,
                name -> {{ changefold.text_in_key('name', 'try_element_at(' ~ texts ~ ', name)') }}
            )),
            {{ changefold.key_of_whole_row(texts) }}
        )
{%- endmacro %}


{#
    Whether a row has a key that tells it from others. Where a unique index is the key, any
    number of rows may have a null in it. A column that the row does not have is no null.

    Arguments:
        texts: an expression of type map<string, string>: the row.

    Returns:
        A condition on key_columns and lacks_keys of `folded_tables`.
#}
{% macro has_key(texts) -%}
(
                cardinality(key_columns) > 0
                and not (
                    lacks_keys
                    and exists(
                        key_columns,
                        name -> map_contains_key({{ texts }}, name)
                        and try_element_at({{ texts }}, name) is null
                    )
                )
            )
{%- endmacro %}


{#
    The text by which a row without a key is told from those that differ from it: a hash of
    all its values. A null, a column that the message does not have, and a default which
    older rows show (`column_defaults`) are the same to it.

    Arguments:
        texts: an expression of type map<string, string>: the row.

    Returns:
        An expression of type string, on column_defaults and decimal_columns of
        `folded_tables`.
#}
{% macro key_of_whole_row(texts) -%}
to_json(array(md5(to_json(array_sort(transform(
                filter(
                    array_except(map_entries({{ texts }}), column_defaults),
                    entry -> entry.value is not null
                ),
                entry -> struct(
                    entry.key,
                    {{ changefold.text_in_key('entry.key', 'entry.value') }} as value
                )
            ))))))
{%- endmacro %}


{#
    The text of a value by which a row is told from others. Options of Debezium, and the scale
    of a column, change how many digits stand behind the point: `1`, `1.0` and `1.00` are one
    value, and so are `12:00:00.5` and `12:00:00.500000`. Other texts are as they came.

    Arguments:
        name: an expression of type string: the column.
        text: an expression of type string: its value.

    Returns:
        An expression of type string, on decimal_columns of `folded_tables`.
#}
{% macro text_in_key(name, text) -%}
if(
                    array_contains(decimal_columns, {{ name }}),
                    regexp_replace(
                        {{ text }}, '(?:[.]0+|([.][0-9]*[1-9])0+)(?![0-9])', '$1'
                    ),
                    {{ text }}
                )
{%- endmacro %}


{#
    Whether a change has a null in the key that its message names. Both are JSON that the
    parsers write, so a column has the same text in each. Keys of TiCDC and of Canal hold
    no null.

    Returns:
        A condition on the columns of `changes`.
#}
{% macro has_null_key() -%}
(
            connector is not null
            and contains(coalesce(after, before_sent), ':null')
            and exists(
                regexp_extract_all(primary_key, '"(?:[^"\\\\]|\\\\.)*"', 0),
                name -> contains(coalesce(after, before_sent), concat(name, ':null'))
            )
        )
{%- endmacro %}
