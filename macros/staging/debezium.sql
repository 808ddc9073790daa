{#
    What an event of Debezium is here.

    TRUNCATE is a DDL: it ends every row of its table. So are the statements of MySQL's and
    MariaDB's schema change topic, which have a place in the binlog. Those of a snapshot tell
    of the tables that it reads, and those of other connectors have no text: they are
    recorded only.

    Arguments:
        message: name of what `parse_debezium` returned.

    Returns:
        An expression of type string.
#}
{% macro debezium_event_kind(message) -%}
    case
        when {{ message }}.event_kind = 'truncate' then 'ddl'
        when
            {{ message }}.event_kind = 'ddl'
            and {{ message }}.connector <> 'TiCDC'
            and (
                {{ message }}.is_snapshot
                or {{ message }}.ddl_sql is null
                or coalesce({{ message }}.ordered_by, '') <> 'binlog'
            )
            then 'schema_change'
        else {{ message }}.event_kind
    end
{%- endmacro %}


{#
    The database of an event, with the schema if the connector has schemas, or as the topic
    calls it.

    Arguments:
        message: name of what `parse_debezium` returned.
        names: expression, a map from the name at the source, or null.

    Returns:
        An expression of type string.
#}
{% macro debezium_database(message, names) -%}
    coalesce(
        try_element_at(
            {{ names }},
            concat_ws('.', {{ message }}.source_database, {{ message }}.source_schema)
        ),
        concat_ws('.', {{ message }}.source_database, {{ message }}.source_schema)
    )
{%- endmacro %}


{#
    Where a change lies in its source's log: which log, where, and the server that wrote it.

    A connector reads one log, that of SQL Server one of each database. A position is the
    commit's, or the event's of MySQL and MariaDB: within it the connector's own order
    counts, which is that of the offsets. `0` behind it is a row that a snapshot read
    there, `1` a change. Of sources whose position is not known, it is the time (`t`).

    Arguments:
        message: name of what `parse_debezium` returned.

    Returns:
        An expression of type struct<log, position, place, server>: its place is that within
        the position, empty where none is known; its server is null where the message tells
        none. Null for what has no place in the order, and of TiCDC.
#}
{% macro debezium_log_position(message) -%}
    if(
        {{ message }}.change_sequence is null or {{ message }}.ordered_by = 'commit_ts',
        null,
        struct(
            concat_ws(
                '/',
                {{ message }}.source_name,
                if({{ message }}.connector = 'sqlserver', {{ message }}.source_database, null)
            ) as log,
            case {{ message }}.ordered_by
                when 'lsn' then substring_index({{ message }}.change_sequence, '.', 2)
                when 'binlog' then substring_index({{ message }}.change_sequence, '.', 3)
                else concat('t', {{ message }}.change_sequence)
            end as position,
            case
                when {{ message }}.connector = 'sqlserver'
                    then substring_index({{ message }}.change_sequence, '.', -2)
                when {{ message }}.ordered_by = 'ts_ms' then ''
                else substring_index({{ message }}.change_sequence, '.', -1)
            end as place,
            {{ changefold.debezium_server(message) }} as server
        )
    )
{%- endmacro %}


{#
    The server that wrote a change.

    Arguments:
        message: name of what `parse_debezium` returned.

    Returns:
        An expression of type string; null where the message tells none.
#}
{% macro debezium_server(message) -%}
    case
                when {{ message }}.server_id > 0 then cast({{ message }}.server_id as string)
                when {{ message }}.connector = 'mysql' then split_part({{ message }}.gtid, ':', 1)
                when {{ message }}.connector = 'mariadb' then split_part({{ message }}.gtid, '-', 2)
            end
{%- endmacro %}


{#
    Where the source wrote a change: the same when it is sent again. No time is part of it:
    that of SQL Server moves with daylight saving.

    PostgreSQL's order of a change begins with the commit before, which the connector does
    not know right after it starts. Its transaction and LSN stay the same. All rows that a
    snapshot reads have one position: where no key tells them apart, as with a null in it,
    equal ones are as many rows, so the place in Kafka does. So it is where no position is
    known. Rows of one statement may share the position: the order in the transaction, if the
    connector sends it, stands behind a `#`, as it may be another when the row is sent again,
    with a hash of the transaction. PostgreSQL adds the LSN of the change to its number.

    Arguments:
        message: name of what `parse_debezium` returned.
        kafka_place: expression, the place of the message in Kafka.

    Returns:
        An expression of type string.
#}
{% macro debezium_source_position(message, kafka_place) -%}
    case
        when
            {{ message }}.op = 'r'
            and ({{ message }}.key is null or contains({{ message }}.key, ':null'))
            then {{ kafka_place }}
        when {{ message }}.ordered_by = 'ts_ms' then {{ kafka_place }}
        else concat(
            if(
                {{ message }}.connector = 'postgresql',
                coalesce(
                    {{ message }}.transaction_id || '/' || {{ message }}.lsn,
                    {{ message }}.change_sequence
                ),
                {{ message }}.change_sequence
            ),
            coalesce('/' || {{ changefold.debezium_server(message) }}, ''),
            coalesce(
                '#' || {{ message }}.transaction_order || '#' || hex(crc32(if(
                    {{ message }}.connector = 'postgresql',
                    substring_index({{ message }}.transaction_id, ':', 1),
                    {{ message }}.transaction_id
                ))),
                ''
            )
        )
    end
{%- endmacro %}


{#
    The statement of an event of Debezium: its own, or that of a TRUNCATE.

    Arguments:
        message: name of what `parse_debezium` returned.
        database: expression, the database with its schema.

    Returns:
        An expression of type string; null for what is no DDL.
#}
{% macro debezium_ddl(message, database) -%}
    if(
        {{ message }}.event_kind = 'truncate',
        concat(
            'TRUNCATE TABLE `', replace({{ database }}, '`', '``'),
            '`.`', replace({{ message }}.source_table, '`', '``'), '`'
        ),
        {{ message }}.ddl_sql
    )
{%- endmacro %}


{#
    What an update of Debezium has in a column and looks like the text of a connector for a
    value that the source did not send: `__UNCHANGED__`, `x_unavailable_value`. A row that
    is inserted or read has all its values.

    Arguments:
        message: name of what `parse_debezium` returned.
        part: 1: the column, as JSON; 2: the text.

    Returns:
        An expression of type string; empty or null where there is no such text.
#}
{% macro debezium_placeholder(message, part) -%}
    if(
        {{ message }}.op = 'u'
        and (
            contains({{ message }}.after, '":"__')
            or contains({{ message }}.after, 'unavailable_value"')
        ),
        regexp_extract(
            {{ message }}.after,
            '("(?:[^"\\\\]|\\\\.)*"):"(__[A-Za-z0-9_.-]+__|[A-Za-z0-9_.-]*unavailable_value)"',
            {{ part }}
        ),
        null
    )
{%- endmacro %}
