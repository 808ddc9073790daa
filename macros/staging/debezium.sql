{#
    What an event of Debezium is here.

    TRUNCATE is a DDL: it ends every row of its table. The statements of a schema change
    topic are recorded only: what they did to columns shows in the next row, and that of
    MySQL tells of TRUNCATE twice. TiCDC sends its DDLs once, and in its own way.

    Arguments:
        message: name of what `parse_debezium` returned.

    Returns:
        An expression of type string.
#}
{% macro debezium_event_kind(message) -%}
    case
        when {{ message }}.event_kind = 'truncate' then 'ddl'
        when {{ message }}.event_kind = 'ddl' and {{ message }}.connector <> 'TiCDC'
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
    The one value by which the changes of a Debezium source are ordered.

    The position in the source's log, then `@` and the milliseconds of the commit, which
    no position tells. Without a position, the time and the offset, which orders the
    changes of one partition only.

    Arguments:
        message: name of what `parse_debezium` returned.
        kafka_offset: expression.

    Returns:
        An expression of type string; null for what has no place in the order.
#}
{% macro debezium_sequence(message, kafka_offset) -%}
    case {{ message }}.ordered_by
        when 'commit_ts' then {{ message }}.change_sequence
        else concat(
            {{ message }}.change_sequence,
            if(
                {{ message }}.ordered_by = 'ts_ms',
                concat('.', lpad(cast({{ kafka_offset }} as string), 19, '0')),
                ''
            ),
            '@',
            lpad(cast(coalesce({{ message }}.source_ts_ms, 0) as string), 13, '0')
        )
    end
{%- endmacro %}


{#
    Where the source wrote a change: the same when it is sent again.

    PostgreSQL's order of a change begins with the commit before, which the connector does
    not know right after it starts. Its transaction and LSN stay the same. All rows that a
    snapshot reads have one position: where no key tells them apart, equal ones are as
    many rows, so the place in Kafka does.

    Arguments:
        message: name of what `parse_debezium` returned.
        change_sequence: expression, what `debezium_sequence` made of it.
        kafka_place: expression, the place of the message in Kafka.

    Returns:
        An expression of type string.
#}
{% macro debezium_source_position(message, change_sequence, kafka_place) -%}
    case
        when {{ message }}.op = 'r' and {{ message }}.key is null then {{ kafka_place }}
        when {{ message }}.connector = 'postgresql'
            then coalesce(
                {{ message }}.transaction_id || '/' || {{ message }}.lsn,
                {{ change_sequence }}
            )
        else {{ change_sequence }}
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
