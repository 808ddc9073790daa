{#
    What holds for the rows of a model, in one query: a model with a test for each of its
    columns is read, planned and waited for as often.

    Arguments:
        model: a model or seed.
        key: names of the columns that identify a row; nulls count as the same value.
        conditions: SQL that is true of every row; null is not true.

    Returns:
        Without a key, one row per row that breaks a condition. With one, one row per key
        that more than one row has, or whose row breaks a condition: the key, how many
        rows have it, and the conditions that do not hold.
#}
{% test rows_are_sound(model, key=[], conditions=[]) %}

    {%- set broken -%}
        filter(
            array(
                {% for condition in conditions -%}
                    if({{ condition }}, null, {{ sql_text(condition) }})
                    {%- if not loop.last %},{% endif %}
                {% endfor %}
            ),
            condition -> condition is not null
        )
    {%- endset %}

    with

    judged as (

        select
            *,
            {{ broken if conditions else 'cast(array() as array<string>)' }} as broken_conditions
        from {{ model }}

    )

    {% if key %}
        select
            {{ key | join(', ') }},
            count(*) as copies,
            flatten(collect_set(broken_conditions)) as broken_conditions
        from judged
        group by {{ key | join(', ') }}
        having
            count(*) > 1
            or max(size(broken_conditions)) > 0
    {% else %}
        select * from judged
        where size(broken_conditions) > 0
    {% endif %}

{% endtest %}
