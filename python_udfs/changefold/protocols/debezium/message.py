"""What is read of one message of Debezium."""

from typing import Final, Literal

import msgspec

from changefold.errors import CdcDecodeError
from changefold.protocols.batch import struct_type

__all__ = ["DEBEZIUM_TYPE", "DebeziumMessage", "EventKind", "to_json"]

EventKind = Literal[
    "row",
    "truncate",
    "tombstone",
    "ddl",
    "watermark",
    "message",
    "transaction",
    "heartbeat",
    "notification",
    "signal",
    "invalid",
]


class DebeziumMessage(msgspec.Struct):
    """One message of Debezium, its rows JSON objects of column and text or null.

    Attributes:
        event_kind: What the message is, see the package. Without an `error` it is never
            ``invalid``.
        event_type: ``BEGIN`` or ``END`` of a transaction; what a DDL did to the table:
            ``CREATE``, ``ALTER``, ``DROP``; null if it does not say.
        connector: ``source.connector``: ``sqlserver``, ``postgresql``, ``TiCDC``.
        source_name: ``source.name``, the connector's logical name.
        source_database: ``source.db``; ``""`` in a watermark.
        source_schema: ``source.schema``; null where the source has none.
        source_table: ``source.table``; ``""`` in a DDL without a table.
        op: ``c``, ``u``, ``d``, ``r``, ``t`` or ``m``.
        key: The columns of the table's key; null where there is none.
        primary_key: JSON array of their names; null without a key.
        before: The row before; of a delete or, in PostgreSQL, of an update, it may be
            the key and nulls. Columns that are unavailable are left out.
        after: The row after, or as it was read. So too.
        unavailable_columns: JSON array of the columns that the source did not send and
            that have the value they had before: they are not in `after`. Null if there
            are none.
        is_typed: Whether the texts have the form of their type. If not, the message
            had no schema, and no types of its table were declared.
        column_types: JSON object of the column and its type, see `connect.types`: of
            the columns of the schema, or those that were declared, and of the others of
            the row, which are ``connect.untyped``. Null where there are none.
        snapshot: ``source.snapshot``, such as ``first``, ``last`` or ``incremental``;
            null for a change.
        is_snapshot: Whether the row was read. Never null.
        change_sequence: Text that sorts like the changes of one source, see
            `position`. Compare it within a connector only.
        ordered_by: What `change_sequence` is made of: ``lsn``, ``binlog``,
            ``commit_ts`` or, as a makeshift, ``ts_ms``.
        commit_lsn: SQL Server's LSN of the commit, PostgreSQL's of the commit before.
        lsn: LSN of the change.
        event_serial_no: SQL Server's number of the event at these LSNs.
        binlog_file: Binlog file of MySQL or MariaDB.
        binlog_pos: Position in it.
        binlog_row: Row within the event there.
        gtid: Global transaction id.
        server_id: Number of the server of MySQL or MariaDB that made the change; 0 of a
            row that was read.
        commit_ts: TiDB's commit timestamp.
        watermark_ts: The same of a watermark.
        source_ts_ms: When the source committed, in milliseconds since 1970.
        ts_ms: When the connector built the message.
        transaction_id: ``transaction.id``, else ``source.txId``.
        transaction_order: ``transaction.total_order``, from 1.
        ddl_sql: ``ddl`` of a DDL; null in SQL Server.
        table_changes: JSON text of ``tableChanges`` of a DDL.
        logical_message: JSON object of ``prefix``, ``content`` (as it came: base64, or
            what ``binary.handling.mode`` says) and ``transactional``.
        error: Why the message is invalid; the other fields then hold what could be
            read. Of a row, what is wrong with its key, with a path that begins with
            ``$key``, or ``contradicted_type``: a value is not of its declared type. It is
            there as it came, and `column_types` says ``connect.untyped`` of its column.
    """

    event_kind: EventKind = "invalid"
    event_type: str | None = None
    connector: str | None = None
    source_name: str | None = None
    source_database: str | None = None
    source_schema: str | None = None
    source_table: str | None = None
    op: str | None = None
    key: str | None = None
    primary_key: str | None = None
    before: str | None = None
    after: str | None = None
    unavailable_columns: str | None = None
    is_typed: bool = False
    column_types: str | None = None
    snapshot: str | None = None
    is_snapshot: bool = False
    change_sequence: str | None = None
    ordered_by: str | None = None
    commit_lsn: str | None = None
    lsn: str | None = None
    event_serial_no: int | None = None
    binlog_file: str | None = None
    binlog_pos: int | None = None
    binlog_row: int | None = None
    gtid: str | None = None
    server_id: int | None = None
    commit_ts: int | None = None
    watermark_ts: int | None = None
    source_ts_ms: int | None = None
    ts_ms: int | None = None
    transaction_id: str | None = None
    transaction_order: int | None = None
    ddl_sql: str | None = None
    table_changes: str | None = None
    logical_message: str | None = None
    error: CdcDecodeError | None = None


DEBEZIUM_TYPE: Final = struct_type(DebeziumMessage)
"""Type of what `parse_batch` returns; `DebeziumMessage` describes the fields."""


_encode: Final = msgspec.json.Encoder().encode


def to_json(value: object) -> str:
    """Return compact JSON; `json.encode.json_text` does the same, slower."""
    return _encode(value).decode()
