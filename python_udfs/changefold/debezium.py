"""Decode one message of Debezium, as Kafka Connect's JSON converter writes it.

With or without the ``schema`` part. With it, every value becomes the one text of its
logical type that `connect_values` describes. Without, numbers and texts stay as they
came, unless the types of the table's columns were declared (`declared_types`).

What the kinds of message are:

- ``row``: a change or a read of a row, `op` ``c``, ``u``, ``d`` or ``r``.
- ``truncate``: `op` ``t``: all rows of the table are gone.
- ``tombstone``: a key without a value. The delete came before it, so it changes nothing,
  except in a compacted topic: there it may be all that is left of the delete.
- ``ddl``: a message of the schema change topic.
- ``watermark``: TiCDC's `op` ``m``: every change below `watermark_ts` was sent.
- ``message``: `op` ``m`` of PostgreSQL, what ``pg_logical_emit_message`` wrote.
- ``transaction``: BEGIN or END of the transaction topic.
- ``heartbeat``: the connector lives.
- ``notification``: what a connector did, in the topic of its notifications.
- ``signal``: what somebody asked a connector for, in the topic of its signals.
- ``invalid``: none of these, with the reason.

The key of a message is that of the row's table. Its columns that the row leaves out
become columns of the row. What can not be read (a text of the string converter, a bare
number) does not make a readable change invalid: its columns are those that the text names
beyond doubt, else those that the topic declares, else none, and `error` tells that.
"""

import contextlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import msgspec

from changefold.connect_types import UNTYPED
from changefold.connect_values import (
    RowShape,
    RowTexts,
    row_shape,
    undeclared,
)
from changefold.debezium_positions import (
    SNAPSHOTS,
    OnMissing,
    optional_int,
    optional_milliseconds,
    optional_text,
    read_position,
)
from changefold.declared_types import (
    declared_shape,
    has_bytes_as_text,
    read_options,
    read_types,
    table_name,
)
from changefold.errors import CdcDecodeError
from changefold.strict_json import (
    Json,
    NumberToken,
    missing,
    read_string,
    require_value,
    shorten,
    strict_tokens,
    token_text,
    wrong_type,
)

__all__ = [
    "ROUTER_FIELD",
    "DebeziumMessage",
    "EventKind",
    "decode_debezium",
    "read_debezium",
]

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

_KEY: Final = "$key"
"""Where an error lies that is in the key, not in the value."""

ROUTER_FIELD: Final = "__dbz__physicalTableIdentifier"
"""What the transform `ByLogicalTableRouter` adds to keys; no column of the table."""


class DebeziumMessage(msgspec.Struct):
    """One message of Debezium, its rows JSON objects of column and text or null.

    Attributes:
        event_kind: What the message is, see the module. Without an `error` it is never
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
        column_types: JSON object of the column and its type, see `connect_types`: of
            the columns of the schema, or those that were declared, and of the others of
            the row, which are ``connect.untyped``. Null where there are none.
        snapshot: ``source.snapshot``, such as ``first``, ``last`` or ``incremental``;
            null for a change.
        is_snapshot: Whether the row was read. Never null.
        change_sequence: Text that sorts like the changes of one source, see
            `debezium_positions`. Compare it within a connector only.
        ordered_by: What `change_sequence` is made of: ``lsn``, ``binlog``,
            ``commit_ts`` or, as a makeshift, ``ts_ms``.
        commit_lsn: SQL Server's LSN of the commit, PostgreSQL's of the commit before.
        lsn: LSN of the change.
        event_serial_no: SQL Server's number of the event at these LSNs.
        binlog_file: Binlog file of MySQL or MariaDB.
        binlog_pos: Position in it.
        binlog_row: Row within the event there.
        gtid: Global transaction id.
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


def decode_debezium(
    key: bytes | None,
    value: bytes | None,
    types: str | None = None,
    options: str | None = None,
) -> DebeziumMessage:
    """Decode one message.

    Args:
        key: The key of the Kafka record.
        value: Its value.
        types: As in `read_debezium`.
        options: As in `read_debezium`.

    Returns:
        The message; never one of kind ``invalid``.

    Raises:
        CdcDecodeError: If the message is not what Debezium documents.
        ValueError: As in `read_debezium`.
    """
    message = read_debezium(key, value, types, options)
    if message.error is not None and message.event_kind == "invalid":
        raise message.error
    return message


def read_debezium(
    key: bytes | None,
    value: bytes | None,
    types: str | None = None,
    options: str | None = None,
) -> DebeziumMessage:
    """Decode one message, whatever it is.

    Args:
        key: The key of the Kafka record.
        value: Its value.
        types: The types of the columns of all tables, for messages that do not say,
            see `declared_types`. A column that is missing there stays as it came.
        options: What the topic declares beside them, see `declared_types.Options`.

    Returns:
        The message; of kind ``invalid``, with its error, if it is not what Debezium
        documents.

    Raises:
        ValueError: If the declared types or options are wrong, whatever the message.
    """
    read_types(types)
    declared = _Declared(types, *read_options(options))
    message = DebeziumMessage()
    try:
        message.event_kind = _read(message, key, value, declared)
    except CdcDecodeError as error:
        message.error = error
    return message


class _Declared(NamedTuple):
    """What a topic declares: types, and the fields of `declared_types.Options`."""

    types: str | None
    placeholder: str
    keys: Mapping[str, tuple[str, ...]]
    is_compacted: bool


_encode: Final = msgspec.json.Encoder().encode


def _json(value: object) -> str:
    """Return compact JSON; `strict_json.json_text` does the same, slower."""
    return _encode(value).decode()


# ----------------------------------------------------------------- schema, payload


class _Part(NamedTuple):
    """A key or a value without its wrapper.

    Attributes:
        payload: What it says.
        path: Where that lies in the message.
        schema: JSON text of the schema; ``None`` without one.
    """

    payload: Any
    path: str
    schema: bytes | None


class _Wrapper(msgspec.Struct):
    schema: msgspec.Raw = msgspec.Raw()
    payload: msgspec.Raw = msgspec.Raw()


_decode_wrapper: Final = msgspec.json.Decoder(_Wrapper).decode


def _read_part(value: bytes, path: str) -> _Part:
    """Parse a key or value; its schema only if it has not been seen before."""
    if value.startswith((b'{"schema":', b'{"payload":')):
        part = cut_part(value, path)
        if part is not None:
            return part
    document = strict_tokens(value)
    if not isinstance(document, dict):
        raise wrong_type("object", document, path)
    if not document.keys() <= {"schema", "payload"} or not document:
        return _Part(document, path, None)
    schema = document.get("schema")
    if "payload" not in document:
        if not _is_schema(schema):
            return _Part(document, path, None)
        raise CdcDecodeError(
            "missing_payload",
            f"{path}.payload",
            "Expected a payload beside the schema, got no such field",
        )
    payload = document["payload"]
    if schema is None and (payload is None or isinstance(payload, dict)):
        return _Part(payload, f"{path}.payload", None)
    if not _is_schema(schema):
        # A row whose columns have these names.
        return _Part(document, path, None)
    return _Part(payload, f"{path}.payload", token_text(schema).encode())


def _is_schema(schema: object) -> bool:
    return isinstance(schema, dict) and isinstance(schema.get("type"), str)


def cut_part(value: bytes, path: str) -> _Part | None:
    """Parse only the payload of what is, to the byte, a schema and a payload."""
    try:
        wrapper = _decode_wrapper(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    schema, payload = bytes(wrapper.schema), bytes(wrapper.payload)
    # So there is no other field, and none twice.
    if not schema:
        whole = b'{"payload":%b}' % payload
    elif value.startswith(b'{"schema":'):
        whole = b'{"schema":%b,"payload":%b}' % (schema, payload)
    else:
        whole = b'{"payload":%b,"schema":%b}' % (payload, schema)
    if whole != value:
        return None
    if schema == b"null":
        schema = b""
    elif schema and not schema.startswith(b'{"'):
        return None
    try:
        document = strict_tokens(payload)
    except CdcDecodeError:
        # The whole message tells the place.
        return None
    if not schema and not isinstance(document, dict):
        return None
    return _Part(document, f"{path}.payload", schema or None)


_MAX_CACHED: Final = 256 * 1024
"""Longer schemas are parsed each time, so that the caches stay small."""


def key_schema(
    text: bytes,
    placeholder: str,
    connector: str | None = None,
    types: str | None = None,
    table: str = "",
) -> RowShape:
    """Return the shape of a key.

    Args:
        text: Its schema.
        placeholder: As in `connect_values.row_shape`.
        connector: Likewise.
        types: As in `value_schema`.
        table: Likewise.
    """
    read = _cached_key_schema
    if len(text) > _MAX_CACHED:
        return read.__wrapped__(text, placeholder, connector, types, table)
    return read(text, placeholder, connector, types, table)


class ValueSchema(NamedTuple):
    """What the schema of a value says.

    Attributes:
        rows: The shapes of its rows, ``before`` and ``after``.
        connector: Name of the connector, by the schema of ``source``.
    """

    rows: Mapping[str, RowShape]
    connector: str | None


def value_schema(
    text: bytes, placeholder: str, types: str | None = None, table: str = ""
) -> ValueSchema:
    """Return the shapes of the rows of a value, and its connector.

    Args:
        text: The schema.
        placeholder: As in `connect_values.row_shape`.
        types: The declared types, for a table of which `has_bytes_as_text`.
        table: Its name.
    """
    if len(text) > _MAX_CACHED:
        return _cached_value_schema.__wrapped__(text, placeholder, types, table)
    return _cached_value_schema(text, placeholder, types, table)


@lru_cache(maxsize=1024)
def _cached_key_schema(
    text: bytes, placeholder: str, connector: str | None, types: str | None, table: str
) -> RowShape:
    schema = _parse_at(text, f"{_KEY}.schema")
    type_ = read_string(schema, "type", f"{_KEY}.schema")
    if type_ != "struct":
        raise CdcDecodeError(
            "schema_mismatch",
            f"{_KEY}.schema.type",
            f"Expected `struct`, got `{shorten(type_)}`",
        )
    return row_shape(
        schema.get("fields"),
        f"{_KEY}.schema.fields",
        placeholder,
        connector=connector,
        declared=read_types(types).get(table),
    )


@lru_cache(maxsize=1024)
def _cached_value_schema(
    text: bytes, placeholder: str, types: str | None, table: str
) -> ValueSchema:
    fields = _parse_at(text, "$.schema").get("fields")
    if not isinstance(fields, list):
        raise wrong_type("array", fields, "$.schema.fields")
    rows: dict[str, tuple[Json, str]] = {}
    connector = None
    for index, field in enumerate(fields):
        path = f"$.schema.fields[{index}]"
        if not isinstance(field, dict):
            raise wrong_type("object", field, path)
        name = field.get("field")
        if isinstance(name, str) and name in {"before", "after"}:
            rows[name] = field, f"{path}.fields"
        elif name == "source":
            found = _SOURCE_NAME.fullmatch(str(field.get("name")))
            connector = found[1] if found else None
    shapes = {
        name: row_shape(
            field.get("fields"),
            path,
            placeholder,
            connector=connector,
            declared=read_types(types).get(table),
        )
        for name, (field, path) in rows.items()
    }
    return ValueSchema(shapes, connector)


_SOURCE_NAME: Final = re.compile(r"io\.debezium\.connector\.([a-z0-9]+)\.Source")


def _parse_at(text: bytes, path: str) -> Json:
    """Parse an object that lies somewhere, and say where it is wrong."""
    try:
        document = strict_tokens(text)
    except CdcDecodeError as error:
        raise CdcDecodeError(
            error.error_class, path + error.path.removeprefix("$"), error.message
        ) from None
    if not isinstance(document, dict):
        raise wrong_type("object", document, path)
    return document


# ----------------------------------------------------------------------- the kinds


def _read(
    message: DebeziumMessage,
    key: bytes | None,
    value: bytes | None,
    declared: _Declared,
) -> EventKind:
    """Fill ``message`` field by field, so that an error leaves what was read."""
    if value is None:
        return _read_tombstone(message, key, declared)
    part = _read_part(require_value(value), "$")
    payload = part.payload
    if payload is None:
        if part.schema is None:
            # What old converters made of a null value.
            return _read_tombstone(message, key, declared)
        raise CdcDecodeError(
            "missing_payload", part.path, "Expected a payload, got `null`"
        )
    if not isinstance(payload, dict):
        raise wrong_type("object", payload, part.path)
    if "op" in payload or (
        "source" in payload and payload.keys() & {"before", "after"}
    ):
        return _read_envelope(message, key, part, declared)
    _keep_key(message, key, declared)
    return _read_control(message, payload, part.path)


def _read_control(message: DebeziumMessage, payload: Json, path: str) -> EventKind:
    """Read a message that is no change."""
    if "source" in payload and payload.keys() & {"ddl", "tableChanges"}:
        return _read_ddl(message, payload, path)
    if "status" in payload and "event_count" in payload:
        message.event_type = read_string(payload, "status", path)
        message.transaction_id = read_string(payload, "id", path)
        message.ts_ms = optional_int(payload, "ts_ms", path)
        return "transaction"
    if "ts_ms" in payload and payload.keys() <= {"ts_ms", "ts_us", "ts_ns"}:
        message.ts_ms = optional_int(payload, "ts_ms", path)
        return "heartbeat"
    if _is_notification(payload):
        message.event_type = read_string(payload, "type", path)
        message.ts_ms = optional_int(payload, "timestamp", path)
        return "notification"
    if _is_signal(payload):
        message.event_type = read_string(payload, "type", path)
        return "signal"
    names = ", ".join(shorten(name) for name in list(payload)[:5])
    raise CdcDecodeError(
        "no_envelope",
        path,
        "Expected a change event with `op` and `source`, got an object of "
        f"`{shorten(names)}`: a row by itself has no order, so the connector must run "
        "without a transform that unwraps it",
    )


_NOTIFICATION: Final = {"id", "aggregate_type", "type", "additional_data", "timestamp"}
_SIGNALS: Final = frozenset(
    {
        *("execute-snapshot", "stop-snapshot", "pause-snapshot", "resume-snapshot"),
        *("snapshot-window-open", "snapshot-window-close"),
        *("log", "schema-changes", "set-binlog-position"),
    }
)
"""The actions of Debezium's signals. Source: the names of its `SignalAction` classes."""


def _is_notification(payload: Json) -> bool:
    """Tell a notification of Debezium from a row with columns of such names."""
    return (
        {"id", "aggregate_type", "type"} <= payload.keys() <= _NOTIFICATION
        and payload.keys() & {"additional_data", "timestamp"} != set()
        and isinstance(payload.get("additional_data") or {}, dict)
        and isinstance(payload["type"], str)
    )


def _is_signal(payload: Json) -> bool:
    """Tell a signal to Debezium from a row with columns of such names."""
    return (
        {"type", "data"} <= payload.keys() <= {"id", "type", "data"}
        and isinstance(payload["type"], str)
        and payload["type"] in _SIGNALS
        and isinstance(payload["data"] or {}, dict)
    )


# ----------------------------------------------------------------------------- keys


class _Key(NamedTuple):
    """A key that was read.

    Attributes:
        texts: Of its columns.
        shape: How it was read; none if it is of the row.
    """

    texts: Mapping[str, str | None]
    shape: RowShape | None = None


def _read_tombstone(
    message: DebeziumMessage, key: bytes | None, declared: _Declared
) -> EventKind:
    try:
        found = _read_key(key, undeclared(declared.placeholder), declared)
    except CdcDecodeError:
        if declared.is_compacted:
            raise
        # The delete came before it.
        return "tombstone"
    if found is None:
        raise CdcDecodeError(
            "null_tombstone_key", _KEY, "Expected the key of a deleted row, got `null`"
        )
    _take_key(message, found)
    return "tombstone"


def _keep_key(message: DebeziumMessage, key: bytes | None, declared: _Declared) -> None:
    """Take the key of a message to whose meaning it adds nothing, if it can be read."""
    with contextlib.suppress(CdcDecodeError):
        _take_key(message, _read_key(key, undeclared(declared.placeholder), declared))


def _take_key(message: DebeziumMessage, key: _Key | None) -> None:
    if key is not None:
        message.key = _json(key.texts)
        message.primary_key = _json(list(key.texts))


def _read_key(
    key: bytes | None,
    shape: RowShape,
    declared: _Declared,
    connector: str | None = None,
    table: str = "",
) -> _Key | None:
    """Read the key of a record.

    Args:
        key: The key.
        shape: Of the row, for a key without a schema.
        declared: What the topic declares.
        connector: As in `connect_values.row_shape`.
        table: Name of the table where its bytes come as texts, else empty.

    Returns:
        The key; none if it has no column, as TiCDC's of a table without one.

    Raises:
        CdcDecodeError: If it can not be read.
    """
    if key is None:
        return None
    try:
        part = _read_part(require_value(key), _KEY)
    except CdcDecodeError as error:
        path = _KEY + error.path.removeprefix(_KEY).removeprefix("$")
        raise CdcDecodeError(error.error_class, path, error.message) from None
    if part.payload is None:
        return None
    placeholder = declared.placeholder
    if part.schema is not None:
        types = declared.types if table else None
        of_key = key_schema(part.schema, placeholder, connector, types, table)
        row = of_key.texts(part.payload, part.path)
    else:
        # It has some of the columns.
        of_key = shape._replace(other=undeclared(placeholder).other)
        row = of_key.texts(part.payload, part.path)
        if shape.other is None and row.contradicted:
            # What the schema of the value says, was not declared.
            raise next(iter(row.contradicted.values()))
    row.texts.pop(ROUTER_FIELD, None)
    return _Key(row.texts, of_key) if row.texts else None


def _key_of_text(
    key: bytes, payload: Mapping[str, object], texts: Mapping[str, str | None]
) -> dict[str, str] | None:
    """Return the columns that a text such as ``Struct{id=7}`` names beyond doubt.

    So `toString` of a struct of Kafka Connect writes a key, in the order of its fields,
    and the string converter sends it. Any of it might be part of a value: what counts is
    that it can be read in one way only, as columns of the row and their values.

    Args:
        key: The key.
        payload: The row, as it came.
        texts: Its texts.
    """
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    if not text.startswith("Struct{") or not text.endswith("}"):
        return None
    whole = text.removeprefix("Struct{").removesuffix("}")
    parts = [
        (f"{name}={form}", name)
        for name in texts
        for form in {texts[name], _java_text(payload.get(name))}
        if form is not None
    ]
    found = _ways_to_read(whole, parts, limit=2)
    if len(found) != 1:
        return None
    names = found[0]
    return {name: str(texts[name]) for name in names}


def _java_text(value: object) -> str | None:
    """Return what `toString` of a value writes, where that is told by its JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) else None


def _ways_to_read(
    whole: str, parts: Iterable[tuple[str, str]], limit: int
) -> list[tuple[str, ...]]:
    """Return lists of columns whose parts, joined by commas, are a text."""
    found: set[tuple[str, ...]] = set()
    waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while waiting and len(found) < limit:
        start, names = waiting.pop()
        for part, name in parts:
            if name in names or not whole.startswith(part, start):
                continue
            end = start + len(part)
            if end == len(whole):
                found.add((*names, name))
            elif whole[end] == ",":
                waiting.append((end + 1, (*names, name)))
    return list(found)


def _read_envelope(
    message: DebeziumMessage,
    key: bytes | None,
    part: _Part,
    declared: _Declared,
) -> EventKind:
    payload, path = part.payload, part.path
    source = read_source(message, payload, path)
    op = message.op = read_string(payload, "op", path)
    if op not in {"c", "u", "d", "r", "t", "m"}:
        raise CdcDecodeError(
            "unknown_op",
            f"{path}.op",
            f"Expected `c`, `u`, `d`, `r`, `t` or `m`, got `{shorten(op)}`",
        )
    message.ts_ms = optional_int(payload, "ts_ms", path)
    _read_transaction(message, payload, source, path)
    is_watermark = op == "m" and message.connector == "TiCDC"
    is_read = op == "r" or message.is_snapshot
    # A row that was read and has no position sorts before all changes.
    _place(
        message, source, path, is_read=is_read, missing="first" if is_read else "refuse"
    )
    if is_watermark:
        message.watermark_ts = message.commit_ts
        message.commit_ts = message.change_sequence = message.ordered_by = None
        message.source_database = message.source_table = ""
        return "watermark"
    if op == "m":
        _keep_key(message, key, declared)
        message.logical_message = _logical_message(payload, path)
        return "message"
    if not message.source_table:
        raise missing("str", f"{path}.source.table", source, "table")
    _read_row(message, key, part, declared)
    return "truncate" if op == "t" else "row"


def _read_row(
    message: DebeziumMessage, key: bytes | None, part: _Part, declared: _Declared
) -> None:
    """Read the rows of a change, and its key."""
    payload, path = part.payload, part.path
    table = table_name(
        message.source_database, message.source_schema, message.source_table
    )
    shapes, of_row, connector = _shapes(message, part, declared, table)
    after = payload.get("after")
    row = after or payload.get("before")
    message.column_types = column_types(
        of_row, row if isinstance(row, dict) else (), is_whole=bool(after)
    )
    found: _Key | None = None
    error: CdcDecodeError | None = None
    has_bytes = has_bytes_as_text(declared.types, table)
    try:
        found = _read_key(key, of_row, declared, connector, table if has_bytes else "")
        _check_wrapper(found, row)
    except CdcDecodeError as unreadable:
        if message.op == "d" and payload.get("before") is None:
            raise
        found, error = None, unreadable
    rows = _read_rows(message, payload, path, shapes, has_key=found is not None)
    image = "before" if message.op == "d" else "after"
    if found is None and image in rows and (error or table in declared.keys):
        found, error = _key_of_row(
            rows[image].texts, payload[image], key, declared.keys.get(table), error
        )
    news: dict[str, str] = {}
    _take_key(message, found)
    if found is not None:
        news = _fill_in(rows, found, of_row)
    for each in rows.values():
        news |= dict.fromkeys(each.contradicted, UNTYPED)
        for contradiction in each.contradicted.values():
            error = error or _contradiction(contradiction)
    if news:
        types = msgspec.json.decode(message.column_types or "{}")
        message.column_types = _json(types | news)
    for name, each in rows.items():
        setattr(message, name, _json(each.texts))
    if "after" in rows and rows["after"].unavailable:
        message.unavailable_columns = _json(rows["after"].unavailable)
    message.error = error


_WRAPPER: Final = frozenset({"schema", "payload"})


def _check_wrapper(key: _Key | None, row: object) -> None:
    """Refuse a key that is one in a wrapper: with a schema of null, or no object.

    Where the row has such columns, it is the key.
    """
    names = key.texts.keys() if key is not None else set()
    columns = row.keys() if isinstance(row, dict) else set()
    if names and names <= _WRAPPER and not names <= columns:
        found = ", ".join(sorted(names))
        raise CdcDecodeError(
            "schema_mismatch",
            _KEY,
            f"Expected columns of a key and their schema, got an object of `{found}`",
        )


def _fill_in(
    rows: Mapping[str, RowTexts], key: _Key, of_row: RowShape
) -> dict[str, str]:
    """Add the columns of a key that its rows leave out; return their types."""
    is_schema = of_row.other is None
    news: list[str] = []
    for name, text in key.texts.items():
        if is_schema and name in of_row.columns:
            continue
        lacking = [
            row
            for row in rows.values()
            if name not in row.texts and name not in row.unavailable
        ]
        for row in lacking:
            row.texts[name] = text
        if len(lacking) == len(rows) and (rows or is_schema):
            news.append(name)
    if not news or key.shape is None:
        return {}
    types = msgspec.json.decode(key.shape.types_of(news, is_whole=True))
    return {name: types[name] for name in news}


def _contradiction(error: CdcDecodeError) -> CdcDecodeError:
    return CdcDecodeError(
        "contradicted_type",
        error.path,
        f"{error.message}: the type of the column was declared otherwise",
    )


def _shapes(
    message: DebeziumMessage, part: _Part, declared: _Declared, table: str
) -> tuple[Mapping[str, RowShape], RowShape, str | None]:
    """Return the shapes of the rows before and after, of the message, and its connector."""
    unknown = undeclared(declared.placeholder)
    connector = message.connector
    rows: Mapping[str, RowShape] = {}
    if part.schema is not None:
        types = declared.types if has_bytes_as_text(declared.types, table) else None
        rows, connector = value_schema(
            part.schema, declared.placeholder, types, table if types else ""
        )
        of_row = rows.get("after") or rows.get("before")
        if of_row is None:
            raise CdcDecodeError(
                "schema_mismatch",
                "$.schema.fields",
                "Expected a schema with `before` and `after`, got one with neither",
            )
    else:
        of_row = declared_shape(declared.types, table, declared.placeholder, connector)
        rows = {} if of_row is None else {"before": of_row, "after": of_row}
    message.is_typed = of_row is not None
    shapes = {name: rows.get(name, unknown) for name in ("before", "after")}
    return shapes, of_row or unknown, connector


def _key_of_row(
    texts: Mapping[str, str | None],
    payload: Mapping[str, object],
    key: bytes | None,
    columns: tuple[str, ...] | None,
    error: CdcDecodeError | None,
) -> tuple[_Key | None, CdcDecodeError | None]:
    """Return the key that a row has where its message tells none.

    Args:
        texts: Of the row.
        payload: The row as it came.
        key: The message's key.
        columns: Those of the key that was declared; ``None`` if none was.
        error: Why the message's key could not be read.

    Returns:
        The key, none if there is none; and what is wrong.
    """
    if columns is None:
        found = _key_of_text(key, payload, texts) if key else None
        return (None, error) if found is None else (_Key(found), None)
    for name in columns:
        if texts.get(name) is None:
            return None, CdcDecodeError(
                "no_declared_key",
                _KEY,
                f"Expected a row with `{shorten(name)}` of the declared key",
            )
    if not columns:
        return None, None
    return _Key({name: texts[name] for name in columns}), None


def column_types(
    shape: RowShape, names: Iterable[str], *, is_whole: bool
) -> str | None:
    """Return the types of the columns of a message.

    Args:
        shape: Of its rows.
        names: The columns of the row after, else of that before.
        is_whole: Whether they are those of a row after.
    """
    # A schema has all columns that a row may have.
    text = (
        shape.column_types
        if shape.other is None
        else shape.types_of(names, is_whole=is_whole)
    )
    return None if text == "{}" else text


_IMAGES: Final = {
    "c": ("after",),
    "r": ("after",),
    "u": ("before", "after"),
    "d": ("before",),
    "t": (),
}
"""Which rows a change may have. It must have `after`; `before` depends on the source,
but one that was deleted must have that or a key."""


def _read_rows(
    message: DebeziumMessage,
    payload: Json,
    path: str,
    shapes: Mapping[str, RowShape],
    *,
    has_key: bool,
) -> dict[str, RowTexts]:
    """Return the texts of the rows before and after, of those that there are."""
    images = _IMAGES[str(message.op)]
    rows: dict[str, RowTexts] = {}
    for name in ("before", "after"):
        row = payload.get(name)
        place = f"{path}.{name}"
        if row is None:
            if name in images and (
                name == "after" or (message.op == "d" and not has_key)
            ):
                raise missing("object", place, payload, name)
            continue
        if name not in images:
            raise wrong_type("null", row, place)
        # PostgreSQL's row before may be its key and nulls, whatever the columns.
        rows[name] = shapes[name].texts(row, place, nulls=name == "before")
    return rows


def read_source(message: DebeziumMessage, payload: Json, path: str) -> Json:
    """Read where a message comes from, but for its position."""
    source = payload.get("source")
    path = f"{path}.source"
    if source is None:
        raise missing("object", path, payload, "source")
    if not isinstance(source, dict):
        raise wrong_type("object", source, path)
    message.connector = read_string(source, "connector", path)
    message.source_name = read_string(source, "name", path)
    message.source_database = optional_text(source, "db", path)
    message.source_schema = optional_text(source, "schema", path)
    message.source_table = optional_text(source, "table", path)
    message.source_ts_ms = optional_milliseconds(source, "ts_ms", path)
    snapshot = source.get("snapshot")
    # A bool in Debezium 1.x and in its documentation.
    if isinstance(snapshot, bool):
        snapshot = "true" if snapshot else "false"
    if snapshot is not None and snapshot != "false":
        if not isinstance(snapshot, str) or isinstance(snapshot, NumberToken):
            raise wrong_type("str | bool | null", snapshot, f"{path}.snapshot")
        if snapshot not in SNAPSHOTS:
            raise CdcDecodeError(
                "unknown_snapshot",
                f"{path}.snapshot",
                "Expected `true`, `false`, `first`, `last` or `incremental`, got "
                f"`{shorten(snapshot)}`",
            )
        message.snapshot = snapshot
        message.is_snapshot = True
    return source


def _place(
    message: DebeziumMessage,
    source: Json,
    path: str,
    *,
    is_read: bool,
    missing: OnMissing,
) -> None:
    """Fill in the position of a message."""
    position = read_position(
        source,
        f"{path}.source",
        connector=str(message.connector),
        stage="0" if is_read and message.snapshot != "incremental" else "1",
        missing=missing,
    )
    for name, field in position._asdict().items():
        setattr(message, name, field)


def _read_transaction(
    message: DebeziumMessage, payload: Json, source: Json, path: str
) -> None:
    transaction = payload.get("transaction")
    place = f"{path}.transaction"
    if transaction is not None:
        if not isinstance(transaction, dict):
            raise wrong_type("object | null", transaction, place)
        message.transaction_id = read_string(transaction, "id", place)
        message.transaction_order = optional_int(transaction, "total_order", place)
    elif source.get("txId") is not None:
        # A number in PostgreSQL.
        if not isinstance(source["txId"], str):
            raise wrong_type("int | str | null", source["txId"], f"{path}.source.txId")
        message.transaction_id = str(source["txId"])


def _read_ddl(message: DebeziumMessage, payload: Json, path: str) -> EventKind:
    source = read_source(message, payload, path)
    message.ts_ms = optional_int(payload, "ts_ms", path)
    _place(message, source, path, is_read=message.is_snapshot, missing="none")
    message.source_database = message.source_database or optional_text(
        payload, "databaseName", path
    )
    message.source_database = message.source_database or ""
    message.source_table = message.source_table or ""
    message.ddl_sql = optional_text(payload, "ddl", path)
    if message.ddl_sql is None and message.connector == "TiCDC":
        # Its statements act on the tables, those of the others are recorded only.
        raise missing("str", f"{path}.ddl", payload, "ddl")
    changes = payload.get("tableChanges")
    if changes is not None:
        if not isinstance(changes, list):
            raise wrong_type("array | null", changes, f"{path}.tableChanges")
        for change in changes[:1]:
            if not isinstance(change, dict):
                raise wrong_type("object", change, f"{path}.tableChanges[0]")
            message.event_type = optional_text(
                change, "type", f"{path}.tableChanges[0]"
            )
        message.table_changes = token_text(changes)
    return "ddl"


def _logical_message(payload: Json, path: str) -> str:
    """Return what was written with ``pg_logical_emit_message``."""
    fields = payload.get("message")
    place = f"{path}.message"
    if fields is None:
        raise missing("object", place, payload, "message")
    if not isinstance(fields, dict):
        raise wrong_type("object", fields, place)
    return _json(
        {
            "prefix": optional_text(fields, "prefix", place),
            "content": optional_text(fields, "content", place),
            "transactional": fields.get("transactional") is True,
        }
    )
