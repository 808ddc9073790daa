{#
    Waits until no other build works on the warehouse, and keeps others from it until this
    one ends. Of a warehouse that is no local folder nothing is locked.

    Raises:
        A compiler error that names the other build, after `lock_wait_seconds`.
#}
{% macro lock_warehouse() %}
    {%- set wait_seconds = var('lock_wait_seconds') -%}
    {%- if wait_seconds is not number or wait_seconds < 0 -%}
        {{ exceptions.raise_compiler_error(
            'var `lock_wait_seconds`: expected a number of seconds, got `' ~ wait_seconds ~ '`'
        ) }}
    {%- endif -%}
    {%- set holder = adapter.lock_warehouse(0) -%}
    {%- if holder -%}
        {{ log(
            'Another build works on the warehouse (' ~ holder ~ '): waiting up to '
            ~ wait_seconds ~ ' s', info=True
        ) }}
        {%- set holder = adapter.lock_warehouse(wait_seconds) -%}
    {%- endif -%}
    {%- if holder -%}
        {{ exceptions.raise_compiler_error(
            'Another build works on the warehouse: ' ~ holder ~ '. Two at once would both'
            ~ ' append what is new. Start again when it has ended, or wait longer (var'
            ~ ' `lock_wait_seconds`).'
        ) }}
    {%- endif -%}
{% endmacro %}
