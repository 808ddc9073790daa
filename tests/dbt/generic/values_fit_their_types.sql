{#
    Every value of the source fits the type that its column has here.

    Arguments:
        model: a history model.

    Returns:
        One row per version with a value that did not fit: the column is null and its
        text stands in `_cdc_conversion_failures`. Zero dates are such values.
#}
{% test values_fit_their_types(model) %}

    select
        _cdc_valid_from_sequence,
        _cdc_conversion_failures
    from {{ model }}
    where _cdc_conversion_failures is not null

{% endtest %}
