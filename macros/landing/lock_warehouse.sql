{#
    Waits until no other build works on the warehouse, and keeps others from it until this
    one ends. A local folder has a file for that. Elsewhere it is a row of the table
    `build_lease`, which a build renews while it works: one that was killed keeps others
    waiting for `lock_lease_seconds`.

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
    {%- set lease_seconds = var('lock_lease_seconds') -%}
    {%- if lease_seconds is not number or lease_seconds < 20 -%}
        {{ exceptions.raise_compiler_error(
            'var `lock_lease_seconds`: expected 20 seconds or more, got `' ~ lease_seconds ~ '`'
        ) }}
    {%- endif -%}
    {%- set lease = changefold.build_lease() -%}
    {%- if not adapter.has_local_warehouse() -%}
        {%- do run_query('create schema if not exists ' ~ lease.without_identifier()) -%}
        {%- do run_query(
            'create table if not exists ' ~ lease ~ ' (token string, holder string, expires_at timestamp)'
            ~ ' using ' ~ target.file_format
        ) -%}
    {%- endif -%}
    {%- set holder = adapter.lock_warehouse(lease, 0, lease_seconds) -%}
    {%- if holder -%}
        {{ log(
            'Another build works on the warehouse (' ~ holder ~ '): waiting up to '
            ~ wait_seconds ~ ' s', info=True
        ) }}
        {%- set holder = adapter.lock_warehouse(lease, wait_seconds, lease_seconds) -%}
    {%- endif -%}
    {%- if holder -%}
        {{ exceptions.raise_compiler_error(
            'Another build works on the warehouse: ' ~ holder ~ '. Two at once would both'
            ~ ' append what is new. Start again when it has ended, or wait longer (var'
            ~ ' `lock_wait_seconds`).'
        ) }}
    {%- endif -%}
{% endmacro %}


{# The table that tells which build works on a warehouse that is no local folder. #}
{% macro build_lease() %}
    {{ return(api.Relation.create(schema=target.schema, identifier='build_lease')) }}
{% endmacro %}
