{#
    The columns that a row leaves out though its table has them at the time.

    Arguments:
        texts: an expression of type map<string, string>: the row.
        is_unchanged: those that the row did not change, or those of which nothing tells the
            value.

    Returns:
        An expression of type array<string>, on change_sequence, and columns_left_out and
        keeps_left_out of `folded_tables`; null where no row of the table leaves out any.
#}
{% macro columns_left_out(texts, is_unchanged) -%}
filter(
                if({{ 'keeps_left_out' if is_unchanged else 'not keeps_left_out' }}, columns_left_out, null),
                left_out -> left_out.from_moment < {{ changefold.moment_of('change_sequence') }}
                and left_out.to_sequence >= change_sequence
                and not exists(
                    map_keys({{ texts }}), name -> lower(name) = lower(left_out.name)
                )
            ).name
{%- endmacro %}
