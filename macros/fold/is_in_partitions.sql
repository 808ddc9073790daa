{#
    Condition: a DDL ended the rows of partitions, and the row was in one of them. Rows are
    compared as arrays of texts that sort as the values do; a null is below all.

    Arguments:
        partition_changes: as `table_schemas` has them, an array; null if the DDL ended
            every row.
        texts: the row, a map from names to texts.

    Returns:
        A condition; null if the DDL ended every row.
#}
{% macro is_in_partitions(partition_changes, texts) -%}
    exists(
        {{ partition_changes }},
        change -> exists(
            transform(
                change.partitions,
                part -> struct(
                    part,
                    transform(change.columns, part_column -> {{ changefold._sort_text(texts) }})
                        as sort_texts
                )
            ),
            placed -> if(
                placed.part.values_in is null,
                coalesce(placed.sort_texts >= placed.part.at_least, true)
                and coalesce(placed.sort_texts < placed.part.less_than, true),
                array_contains(placed.part.values_in, placed.sort_texts)
            )
        )
    )
{%- endmacro %}


{# The text of one column that sorts as its values do. #}
{% macro _sort_text(texts) -%}
    {%- set text -%}
        if(
            map_contains_key({{ texts }}, part_column.name),
            try_element_at({{ texts }}, part_column.name),
            part_column.default_value
        )
    {%- endset -%}
    case part_column.sorted_as
                        when 'integer' then lpad(
                            cast(try_cast({{ text }} as decimal(20, 0)) + 10000000000000000000 as string),
                            20,
                            '0'
                        )
                        when 'time' then concat(
                            {{ text }},
                            substr('0000-00-00 00:00:00.000000', length({{ text }}) + 1)
                        )
                        else {{ text }}
                    end
{%- endmacro %}
