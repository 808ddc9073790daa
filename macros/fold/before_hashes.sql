{#
    Hashes of what the row was before a change, by what the message tells of it: those that
    `row_hash` of its version may have.

    Canal tells the columns that changed: the others were what they are afterwards. A null of
    PostgreSQL or SQL Server may be a value that was not read, so it was this or what it is
    afterwards. Where it sends the key only, in a DELETE, nulls and defaults take the place of the
    other values: then the table's updates lack the row before, or there are none.

    Returns:
        An expression of type array<bigint> on the columns of `split` in `row_versions`: empty
        where there was no row, with a null where nothing tells which one, and null where the
        message does not tell whether there was one; so of a topic that Kafka compacts.
#}
{% macro before_hashes() -%}
case
                when lacks_its_key or not has_key or {{ changefold.is_compacted() }} then null
                when op = 'r' or (op = 'u' and event_op = 'c') then null
                when op = 'c' then cast(array() as array<bigint>)
                when not {{ changefold._tells_whole_row() }} then array(cast(null as bigint))
                when op = 'd' then array(xxhash64(row_before))
                when cardinality(texts_before) < cardinality(texts)
                    then if(
                        to_json(texts) = row_after and to_json(texts_before) = row_before,
                        array(xxhash64({{ changefold.row_before_changed_columns() }})),
                        array(cast(null as bigint))
                    )
                when connector in ('postgresql', 'sqlserver') and contains(row_before, ':null')
                    then array(
                        xxhash64(row_before),
                        xxhash64(to_json(transform_values(
                            texts_before,
                            (name, text) -> coalesce(text, try_element_at(texts, name))
                        )))
                    )
                else array(xxhash64(row_before))
            end
{%- endmacro %}


{#
    Whether a message tells the whole row before an UPDATE or a DELETE, by itself or with the
    row after it.

    Returns:
        A condition on the columns of `split` in `row_versions`.
#}
{% macro _tells_whole_row() -%}
coalesce(
                    row_before is not null
                    and unavailable_columns is null
                    and unread_columns is null
                    and cardinality(coalesce(unchanged_columns, array())) = 0
                    and cardinality(coalesce(untold_columns, array())) = 0
                    and (
                        connector is null
                        or not (lacks_values or connector = 'oracle')
                        or cardinality(json_object_keys(column_types))
                        = cardinality(if(op = 'd', texts, texts_before))
                    )
                    and (
                        op = 'u'
                        or (connector is distinct from 'postgresql' or tells_row_before)
                        and exists(
                            map_entries(texts),
                            entry -> entry.value is not null
                            and not array_contains(key_columns, entry.key)
                        )
                    ),
                    false
                )
{%- endmacro %}


{#
    The row before an UPDATE of which a message tells the columns that changed: the others
    were what they are afterwards.

    Returns:
        An expression, JSON text with the columns in the order of the row after, over the maps
        texts and texts_before.
#}
{% macro row_before_changed_columns() -%}
    to_json(transform_values(
                            texts,
                            (name, text) -> if(
                                map_contains_key(texts_before, name),
                                texts_before[name],
                                text
                            )
                        ))
{%- endmacro %}
