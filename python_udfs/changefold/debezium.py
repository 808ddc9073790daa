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
- ``invalid``: none of these, with the reason.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import msgspec

from changefold.connect_values import (
    UNAVAILABLE,
    RowShape,
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
from changefold.declared_types import declared_shape, read_types, table_name
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

__all__ = ["DebeziumMessage", "EventKind", "decode_debezium", "read_debezium"]

EventKind = Literal[
    "row",
    "truncate",
    "tombstone",
    "ddl",
    "watermark",
    "message",
    "transaction",
    "heartbeat",
    "invalid",
]

_KEY: Final = "$key"
"""Where an error lies that is in the key, not in the value."""


class DebeziumMessage(msgspec.Struct):
    """One message of Debezium, its rows JSON objects of column and text or null.

    Attributes:
        event_kind: What the message is, see the module; ``invalid`` with an `error`.
        event_type: ``BEGIN`` or ``END`` of a transaction; what a DDL did to the table:
            ``CREATE``, ``ALTER``, ``DROP``; null if it does not say.
        connector: ``source.connector``: ``sqlserver``, ``postgresql``, ``TiCDC``.
        source_name: ``source.name``, the connector's logical name.
        source_database: ``source.db``; ``""`` in a watermark.
        source_schema: ``source.schema``; null where the source has none.
        source_table: ``source.table``; ``""`` in a DDL without a table.
        op: ``c``, ``u``, ``d``, ``r``, ``t`` or ``m``.
        key: The message's key; null where it is empty.
        primary_key: JSON array of the names in the key; null without a key.
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
        error: Why the message is invalid. The other fields then hold what could be
            read. A path that begins with ``$key`` is in the key.
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
    *,
    placeholder: str = UNAVAILABLE,
) -> DebeziumMessage:
    """Decode one message.

    Args:
        key: The key of the Kafka record.
        value: Its value.
        types: As in `read_debezium`.
        placeholder: As in `read_debezium`.

    Returns:
        The message; never one of kind ``invalid``.

    Raises:
        CdcDecodeError: If the message is not what Debezium documents.
        ValueError: As in `read_debezium`.
    """
    message = read_debezium(key, value, types, placeholder=placeholder)
    if message.error is not None:
        raise message.error
    return message


def read_debezium(
    key: bytes | None,
    value: bytes | None,
    types: str | None = None,
    *,
    placeholder: str = UNAVAILABLE,
) -> DebeziumMessage:
    """Decode one message, whatever it is.

    Args:
        key: The key of the Kafka record.
        value: Its value.
        types: The types of the columns of all tables, for messages that do not say,
            see `declared_types`. A column that is missing there stays as it came.
        placeholder: What the connector sends for a value that it does not have, its
            option ``unavailable.value.placeholder``.

    Returns:
        The message; of kind ``invalid``, with its error, if it is not what Debezium
        documents.

    Raises:
        ValueError: If the declared types are wrong, whatever the message.
    """
    read_types(types)
    message = DebeziumMessage()
    try:
        message.event_kind = _read(message, key, value, types, placeholder)
    except CdcDecodeError as error:
        message.error = error
    return message


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


def key_schema(text: bytes, placeholder: str) -> RowShape:
    """Return the shape of a key."""
    if len(text) > _MAX_CACHED:
        return _cached_key_schema.__wrapped__(text, placeholder)
    return _cached_key_schema(text, placeholder)


def value_schema(text: bytes, placeholder: str) -> dict[str, RowShape]:
    """Return the shapes of the rows of a value, ``before`` and ``after``."""
    if len(text) > _MAX_CACHED:
        return _cached_value_schema.__wrapped__(text, placeholder)
    return _cached_value_schema(text, placeholder)


@lru_cache(maxsize=1024)
def _cached_key_schema(text: bytes, placeholder: str) -> RowShape:
    schema = _parse_at(text, f"{_KEY}.schema")
    type_ = read_string(schema, "type", f"{_KEY}.schema")
    if type_ != "struct":
        raise CdcDecodeError(
            "schema_mismatch",
            f"{_KEY}.schema.type",
            f"Expected `struct`, got `{shorten(type_)}`",
        )
    return row_shape(schema.get("fields"), f"{_KEY}.schema.fields", placeholder)


@lru_cache(maxsize=1024)
def _cached_value_schema(text: bytes, placeholder: str) -> dict[str, RowShape]:
    fields = _parse_at(text, "$.schema").get("fields")
    if not isinstance(fields, list):
        raise wrong_type("array", fields, "$.schema.fields")
    shapes: dict[str, RowShape] = {}
    for index, field in enumerate(fields):
        path = f"$.schema.fields[{index}]"
        if not isinstance(field, dict):
            raise wrong_type("object", field, path)
        name = field.get("field")
        if isinstance(name, str) and name in {"before", "after"}:
            shapes[name] = row_shape(field.get("fields"), f"{path}.fields", placeholder)
    return shapes


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
    types: str | None,
    placeholder: str,
) -> EventKind:
    """Fill ``message`` field by field, so that an error leaves what was read."""
    if value is None:
        _read_tombstone(message, key, placeholder)
        return "tombstone"
    part = _read_part(require_value(value), "$")
    payload = part.payload
    if payload is None:
        if part.schema is None:
            # What old converters made of a null value.
            _read_tombstone(message, key, placeholder)
            return "tombstone"
        raise CdcDecodeError(
            "missing_payload", part.path, "Expected a payload, got `null`"
        )
    if not isinstance(payload, dict):
        raise wrong_type("object", payload, part.path)
    if "op" in payload or (
        "source" in payload and payload.keys() & {"before", "after"}
    ):
        return _read_envelope(message, key, part, types, placeholder)
    # The keys of these have no meaning here, but are kept.
    _read_key(message, key, undeclared(placeholder), placeholder)
    if "source" in payload and payload.keys() & {"ddl", "tableChanges"}:
        return _read_ddl(message, payload, part.path)
    if "status" in payload and "event_count" in payload:
        message.event_type = read_string(payload, "status", part.path)
        message.transaction_id = read_string(payload, "id", part.path)
        message.ts_ms = optional_int(payload, "ts_ms", part.path)
        return "transaction"
    if "ts_ms" in payload and payload.keys() <= {"ts_ms", "ts_us", "ts_ns"}:
        message.ts_ms = optional_int(payload, "ts_ms", part.path)
        return "heartbeat"
    names = ", ".join(shorten(name) for name in list(payload)[:5])
    raise CdcDecodeError(
        "no_envelope",
        part.path,
        "Expected a change event with `op` and `source`, got an object of "
        f"`{shorten(names)}`: a row by itself has no order, so the connector must run "
        "without a transform that unwraps it",
    )


def _read_tombstone(
    message: DebeziumMessage, key: bytes | None, placeholder: str
) -> None:
    _read_key(message, key, undeclared(placeholder), placeholder)
    if message.key is None:
        raise CdcDecodeError(
            "null_tombstone_key", _KEY, "Expected the key of a deleted row, got `null`"
        )


def _read_key(
    message: DebeziumMessage,
    key: bytes | None,
    shape: RowShape,
    placeholder: str,
) -> None:
    """Read the key of the record.

    Args:
        message: Gets it.
        key: The key.
        shape: Of the row, for a key without a schema.
        placeholder: As in `read_debezium`.
    """
    if key is None:
        return
    try:
        part = _read_part(require_value(key), _KEY)
    except CdcDecodeError as error:
        path = _KEY + error.path.removeprefix(_KEY).removeprefix("$")
        raise CdcDecodeError(error.error_class, path, error.message) from None
    if part.payload is None:
        return
    if part.schema is not None:
        texts, _ = key_schema(part.schema, placeholder).texts(part.payload, part.path)
    else:
        # It has some of the columns.
        some = shape._replace(other=undeclared(placeholder).other)
        texts, _ = some.texts(part.payload, part.path)
    if not texts:
        # TiCDC's key of a table that has none, and of a watermark.
        return
    message.key = _json(texts)
    message.primary_key = _json(list(texts))


def _read_envelope(
    message: DebeziumMessage,
    key: bytes | None,
    part: _Part,
    types: str | None,
    placeholder: str,
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
        _read_key(message, key, undeclared(placeholder), placeholder)
        message.logical_message = _logical_message(payload, path)
        return "message"
    if not message.source_table:
        raise missing("str", f"{path}.source.table", source, "table")
    unknown = undeclared(placeholder)
    shapes: dict[str, RowShape] = {}
    if part.schema is not None:
        shapes = value_schema(part.schema, placeholder)
        of_row = shapes.get("after") or shapes.get("before")
        if of_row is None:
            raise CdcDecodeError(
                "schema_mismatch",
                "$.schema.fields",
                "Expected a schema with `before` and `after`, got one with neither",
            )
    else:
        table = table_name(
            message.source_database, message.source_schema, message.source_table
        )
        of_row = declared_shape(types, table, placeholder)
        shapes = {} if of_row is None else {"before": of_row, "after": of_row}
    message.is_typed = of_row is not None
    of_row = of_row or unknown
    after = payload.get("after")
    row = after or payload.get("before")
    message.column_types = column_types(
        of_row, row if isinstance(row, dict) else (), is_whole=bool(after)
    )
    _read_key(message, key, of_row, placeholder)
    _read_rows(
        message,
        payload,
        path,
        {name: shapes.get(name, unknown) for name in ("before", "after")},
    )
    return "truncate" if op == "t" else "row"


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
) -> None:
    images = _IMAGES[str(message.op)]
    rows: dict[str, str] = {}
    for name in ("before", "after"):
        row = payload.get(name)
        place = f"{path}.{name}"
        if row is None:
            if name in images and (
                name == "after" or (message.op == "d" and message.key is None)
            ):
                raise missing("object", place, payload, name)
            continue
        if name not in images:
            raise wrong_type("null", row, place)
        # PostgreSQL's row before may be its key and nulls, whatever the columns.
        texts, unavailable = shapes[name].texts(row, place, nulls=name == "before")
        rows[name] = _json(texts)
        if name == "after" and unavailable:
            message.unavailable_columns = _json(unavailable)
    message.before, message.after = rows.get("before"), rows.get("after")


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
