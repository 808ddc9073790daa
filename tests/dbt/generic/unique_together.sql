{#
    No two rows have the same values in some columns. Nulls count as the same value.

    Arguments:
        model: a model or seed.
        columns: names of the columns.

    Returns:
        One row per combination that is there more than once.
#}
{% test unique_together(model, columns) %}

    select
        {{ columns | join(', ') }},
        count(*) as copies
    from {{ model }}
    group by {{ columns | join(', ') }}
    having count(*) > 1

{% endtest %}
