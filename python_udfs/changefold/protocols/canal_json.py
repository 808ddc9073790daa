"""Decode one Canal-JSON message, as TiCDC and the official Canal write it.

Nearly every message has rows in a form that msgspec reads into a struct (`_read_rows`).
The strict reader reads the others: DDLs, watermarks, forms of older producers, and what
is wrong, to tell exactly what and where (`_read_strictly`).
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain, repeat
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Raw

from changefold.errors import CdcDecodeError
from changefold.json.encode import json_text, member_path, shorten
from changefold.json.fields import (
    MAX_INT64,
    MAX_MILLISECONDS,
    Json,
    check_column_name,
    missing,
    read_bool,
    read_int64,
    read_milliseconds,
    read_string,
    wrong_type,
)
from changefold.json.parse import has_members, strict_object
from changefold.mysql.types import parse_mysql_type
from changefold.protocols.batch import binaries, struct_array, struct_type
from changefold.protocols.compression import JSON_START, decompress
from changefold.protocols.large_messages import require_full_row

__all__ = [
    "CANAL_JSON_TYPE",
    "CanalJsonMessage",
    "Image",
    "is_binary",
    "parse_batch",
    "read_canal_json",
]

EventKind = Literal["row", "ddl", "watermark", "statement", "invalid"]

_ROW_TYPES: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
_STATEMENTS: Final = frozenset({"QUERY", "XACOMMIT"})
_DDL_TYPES: Final = frozenset(
    {"CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX"}
)
"""Types that Canal gives to DDLs only. 1.1.5 and 1.1.6 say ``isDdl: false`` of some
(alibaba/canal#2985, #3222)."""


Image = tuple[bytes, bytes | None]
"""JSON text of a row in ``data``, byte for byte as in the message, and that of the row
in ``old``; ``None`` where the message has none."""


class CanalJsonMessage(msgspec.Struct):
    """One Canal-JSON message, its rows still JSON text.

    Attributes:
        event_kind: What the message is; ``invalid`` with an `error`. A ``statement`` is
            the text of one whose rows are in other messages: the official Canal passes
            MySQL's rows-query and MariaDB's annotate-rows events on, and the end of an XA
            transaction, whose rows came when it was prepared. One that is rolled back
            is a ``ddl``.
        source_database: ``database``; ``""`` in a watermark.
        source_table: ``table``; ``""`` in a watermark and a DDL on a database.
        event_type: ``type``: ``INSERT``, ``ALTER``, ``TIDB_WATERMARK``.
        commit_ts: ``_tidb.commitTs`` of a row or DDL; ``None`` without TiDB extension.
        watermark_ts: ``_tidb.watermarkTs`` of a watermark.
        es_ms: ``es``, when it happened, in milliseconds since 1970.
        ts_ms: ``ts``, when the message was made; ``None`` if it does not say.
        batch_number: ``id``, the number of Canal's batch; 0 of TiCDC. ``None`` if it is no
            such number.
        ddl_sql: ``sql`` of a DDL, also of ``XAROLLBACK``.
        primary_key: JSON array of the names in ``pkNames``, of a row message.
        column_types: JSON object of column and MySQL type, of a row message, in the
            order of the first row (that of ``mysqlType`` is random).
        images: The rows, in order.
        error: Why the message is invalid. The other fields then hold what could be
            read.
    """

    event_kind: EventKind = "invalid"
    source_database: str | None = None
    source_table: str | None = None
    event_type: str | None = None
    commit_ts: int | None = None
    watermark_ts: int | None = None
    es_ms: int | None = None
    ts_ms: int | None = None
    batch_number: int | None = None
    ddl_sql: str | None = None
    primary_key: str | None = None
    column_types: str | None = None
    images: tuple[Image, ...] = ()
    error: CdcDecodeError | None = None


_IMAGE_TYPE: Final = pa.struct(
    [pa.field("data", pa.string(), nullable=False), pa.field("old", pa.string())]
)

CANAL_JSON_TYPE: Final = struct_type(
    CanalJsonMessage,
    images=pa.list_(pa.field("element", _IMAGE_TYPE, nullable=False)),
)
"""Type of what `parse_batch` returns; `CanalJsonMessage` describes the fields."""


def parse_batch(values: pa.Array) -> pa.StructArray:
    """Decode messages. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        values: The values of Kafka records, of type binary or one that Arrow casts
            to it.

    Returns:
        One struct of type `CANAL_JSON_TYPE` per value, in the same order.
    """
    messages = [read_canal_json(value) for value in binaries(values)]
    return struct_array(messages, CANAL_JSON_TYPE)


def read_canal_json(value: bytes | None) -> CanalJsonMessage:
    """Decode one message, without raising.

    Args:
        value: The value of the Kafka record.

    Returns:
        The message; of kind ``invalid``, with its error, if it is not what the
        specification says.
    """
    try:
        value = decompress(value, JSON_START)
    except CdcDecodeError as error:
        return CanalJsonMessage(error=error.by_itself())
    return (value and _read_rows(value)) or _read_strictly(value)


# ------------------------------------------------------------------------- quickly


class _Extension(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """``_tidb`` of a whole row: no flag of one that was cut down."""

    commitTs: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)]  # noqa: N815  # the field


_Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=MAX_MILLISECONDS)]


class _Rows(msgspec.Struct, gc=False):
    """A message with rows, as TiCDC and Canal write it since years."""

    id: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)]
    database: str
    table: str
    pkNames: Raw  # noqa: N815  # the field
    isDdl: bool  # noqa: N815  # the field
    type: Literal["INSERT", "UPDATE", "DELETE"]
    es: _Milliseconds
    ts: _Milliseconds
    sql: str
    mysqlType: Raw  # noqa: N815  # the field
    old: list[Raw] | None
    data: list[Raw]
    tidb: _Extension | None = msgspec.field(default=None, name="_tidb")


_MAX_BYTES: Final = 256 * 1024
"""Larger messages are read strictly, so that what is kept of tables stays small."""

_decode_rows: Final = msgspec.json.Decoder(_Rows).decode
_decode_texts: Final = msgspec.json.Decoder(dict[str, str | None]).decode
_decode_types: Final = msgspec.json.Decoder(dict[str, str]).decode


def _read_rows(value: bytes) -> CanalJsonMessage | None:
    """Return a message with rows; ``None`` for what has to be read strictly."""
    if len(value) > _MAX_BYTES:
        return None
    try:
        fields = _decode_rows(value)
        table = _table(bytes(fields.pkNames), bytes(fields.mysqlType))
        rows = list(map(table.read, fields.data))
        old = None if fields.old is None else list(map(table.read, fields.old))
    except _REFUSED:
        return None
    if fields.isDdl or not rows:
        return None
    images: list[Image]
    if old is None and fields.type != "UPDATE":
        images = [(text, None) for text, _ in rows]
    elif old is not None and fields.type != "INSERT" and len(old) == len(rows):
        images = [(row[0], before[0]) for row, before in zip(rows, old, strict=True)]
    else:
        return None
    return CanalJsonMessage(
        "row",
        fields.database,
        fields.table,
        fields.type,
        None if fields.tidb is None else fields.tidb.commitTs,
        None,
        fields.es,
        fields.ts,
        fields.id,
        None,
        table.primary_key,
        rows[0][1].types,
        tuple(images),
    )


class _OtherError(Exception):
    """A row is not as most are."""


_REFUSED: Final = (
    msgspec.MsgspecError,
    UnicodeDecodeError,
    RecursionError,
    CdcDecodeError,
    _OtherError,
)


class _Columns(NamedTuple):
    """The columns of a row.

    Attributes:
        types: `CanalJsonMessage.column_types`, with these columns first.
        binary: Those whose values are bytes.
    """

    types: str
    binary: tuple[str, ...]


class _Table:
    """What the messages of a table share.

    Attributes:
        primary_key: As in `CanalJsonMessage`.
    """

    def __init__(self, names: bytes, types: bytes) -> None:
        keys = _decode_names(names)
        self.primary_key = None if keys is None else json_text(keys)
        self._types = _decode_types(types)
        _check_types(self._types)
        if not has_members(types, len(self._types)):
            raise _OtherError
        self._columns: dict[tuple[str, ...], _Columns] = {}

    def read(self, row: Raw) -> tuple[bytes, _Columns]:
        """Check a row of texts that is in the table; return it and its columns.

        Raises:
            _OtherError: If it may be wrong, or has a column twice.
        """
        text = bytes(row)
        values = _decode_texts(text)
        names = tuple(values)
        columns = self._columns.get(names) or self._learn(names)
        if text.count(b'":') != len(names) and not has_members(text, len(names)):
            raise _OtherError
        if columns.binary and not all(map(_is_latin1, map(values.get, columns.binary))):
            raise _OtherError
        return text, columns

    def _learn(self, names: tuple[str, ...]) -> _Columns:
        if len(self._columns) > _MAX_FORMS:
            self._columns.clear()
        _check_row(dict.fromkeys(names), self._types, "$.data[0]")
        binary = tuple(name for name in names if is_binary(self._types[name]))
        found = _Columns(_column_types(self._types, names), binary)
        self._columns[names] = found
        return found


_decode_names: Final = msgspec.json.Decoder(list[str] | None).decode
_table: Final = lru_cache(maxsize=4096)(_Table)
_MAX_FORMS: Final = 64


def _is_latin1(text: str | None) -> bool:
    return text is None or text.isascii() or max(text) <= "\xff"


# ------------------------------------------------------------------------ strictly


def _read_strictly(value: bytes | None) -> CanalJsonMessage:
    message = CanalJsonMessage()
    try:
        message.event_kind = _read_fields(message, value)
    except CdcDecodeError as error:
        message.error = error.by_itself()
        message.images = ()
    return message


def _read_fields(message: CanalJsonMessage, value: bytes | None) -> EventKind:
    """Fill ``message`` field by field, so that an error leaves what was read."""
    fields = strict_object(value, "$")
    message.source_database = read_string(fields, "database")
    message.source_table = read_string(fields, "table")
    message.event_type = read_string(fields, "type")
    extension = _extension(fields)
    if extension is not None and extension.get("commitTs") is not None:
        message.commit_ts = read_int64(extension, "commitTs", "$._tidb")
    is_ddl = read_bool(fields, "isDdl")
    message.es_ms = read_milliseconds(fields, "es")
    # Nothing depends on `ts`, and TiCDC before 5.4 had no use for it.
    if fields.get("ts") is not None:
        message.ts_ms = read_milliseconds(fields, "ts")
    message.batch_number = _batch_number(fields)
    if is_ddl or (message.event_type in _DDL_TYPES and fields.get("data") is None):
        _require_commit_ts(extension)
        if fields.get("sql") is None:
            raise missing("str", "$.sql", fields, "sql")
        message.ddl_sql = read_string(fields, "sql")
        return "ddl"
    if message.event_type == "TIDB_WATERMARK":
        if extension is None:
            raise missing("object", "$._tidb", fields, "_tidb")
        message.watermark_ts = read_int64(extension, "watermarkTs", "$._tidb")
        return "watermark"
    if message.event_type == "XAROLLBACK":
        # What it takes back was sent before, so it counts as a statement on tables.
        message.ddl_sql = read_string(fields, "sql")
        return "ddl"
    if message.event_type in _STATEMENTS and fields.get("data") is None:
        return "statement"
    if message.event_type not in _ROW_TYPES:
        raise CdcDecodeError(
            "unknown_event_type",
            "$.type",
            "Expected `INSERT`, `UPDATE`, `DELETE` or `TIDB_WATERMARK`, "
            f"got `{shorten(message.event_type)}`",
        )
    _require_commit_ts(extension)
    _fill_rows(message, fields, extension or {}, value or b"")
    return "row"


def _batch_number(fields: Json) -> int | None:
    number = fields.get("id")
    return number if type(number) is int and 0 <= number <= MAX_INT64 else None


def _fill_rows(
    message: CanalJsonMessage, fields: Json, extension: Json, value: bytes
) -> None:
    """Fill the fields that only a row message has."""
    event_type = str(message.event_type)
    if fields.get("data") is None and not extension and fields.get("sql"):
        raise CdcDecodeError(
            "statement_without_rows",
            "$.data",
            "Expected rows, got the text of a statement: the source's binlog_format is "
            "not ROW",
        )
    require_full_row(extension, "onlyHandleKey", "$._tidb", event_type)
    message.primary_key = _primary_key(fields)
    if fields.get("mysqlType") is None:
        raise missing("object", "$.mysqlType", fields, "mysqlType")
    types = fields["mysqlType"]
    _check_types(types)
    if fields.get("data") is None:
        raise missing("array", "$.data", fields, "data")
    data = fields["data"]
    if not isinstance(data, list):
        raise wrong_type("array", data, "$.data")
    if not data:
        raise CdcDecodeError(
            "row_count_mismatch", "$.data", "Expected at least one row, got none"
        )
    old = _old_rows(fields, len(data), event_type)
    for index, row in enumerate(data):
        _check_row(row, types, f"$.data[{index}]")
    for index, row in enumerate(old):
        _check_row(row, types, f"$.old[{index}]")
    without_old = len(data) - len(old)
    if without_old and event_type == "UPDATE":
        _require_left_out_by_canal(fields, data[:without_old], extension)
    message.column_types = _column_types(types, data[0])
    # The text of the rows, untouched. All has been checked: this finds places only.
    raw = _decode_raw_rows(value)
    raw_old = chain(repeat(None, without_old), raw.old or () if old else ())
    message.images = tuple(
        (bytes(new), None if before is None else bytes(before))
        for new, before in zip(raw.data, raw_old, strict=True)
    )


class _RawRows(msgspec.Struct):
    data: list[msgspec.Raw]
    old: list[msgspec.Raw] | None = None


_decode_raw_rows: Final = msgspec.json.Decoder(_RawRows).decode


def _old_rows(fields: Json, count: int, event_type: str) -> list[object]:
    """Return the rows of ``old``: those of the last rows in ``data``.

    A DELETE may have them (TiCDC before 5.4), an INSERT has ``null``, or ``[null]``
    (TiCDC before 5.4). An UPDATE has them, but for what `_require_left_out_by_canal`
    tells.
    """
    old = fields.get("old")
    if old is None:
        return []
    if not isinstance(old, list):
        raise wrong_type("array", old, "$.old")
    is_short = event_type == "UPDATE" and 0 < len(old) < count
    if len(old) != count and not is_short:
        raise CdcDecodeError(
            "row_count_mismatch",
            "$.old",
            f"Expected as many rows as in `data`, {count}, got {len(old)}",
        )
    if event_type != "UPDATE" and all(row is None for row in old):
        return []
    if event_type == "INSERT":
        raise wrong_type("null", old, "$.old")
    return old


def _require_left_out_by_canal(
    fields: Json, rows: list[dict[str, object]], extension: Json
) -> None:
    """Check that an UPDATE without the old values of some rows still tells their key.

    Canal before 1.1.7 left out what was empty. ``old`` holds the columns that are
    changed in this row or in one before it in the message, so the first rows are those
    without, and none of their columns that the image before holds was changed: it always
    holds the primary key. Source: ``MQMessageUtils.messageConverter`` of Canal 1.1.6.

    TiCDC, which numbers no messages, leaves out none.
    """
    if extension or fields.get("id") == 0:
        if fields.get("old") is None:
            raise missing("array", "$.old", fields, "old")
        raise CdcDecodeError(
            "row_count_mismatch",
            "$.old",
            f"Expected as many rows as in `data`, {len(fields['data'])}, "
            f"got {len(fields['old'])}",
        )
    names = fields.get("pkNames") or ()
    for index, row in enumerate(rows):
        if not names or any(name not in row for name in names):
            raise CdcDecodeError(
                "no_row_before",
                f"$.data[{index}]",
                "Expected the row before in `old`, got none: Canal before 1.1.7 leaves "
                "out an empty one, and without a primary key that `pkNames` and the row "
                "name, nothing tells which row it was",
            )


def _require_commit_ts(extension: Json | None) -> None:
    """Check that the TiDB extension, if there is one, has the time of the commit."""
    if extension is not None and extension.get("commitTs") is None:
        raise missing("int", "$._tidb.commitTs", extension, "commitTs")


def _extension(fields: Json) -> dict[str, Any] | None:
    extension = fields.get("_tidb")
    if extension is not None and not isinstance(extension, dict):
        raise wrong_type("object | null", extension, "$._tidb")
    return extension


def _primary_key(fields: Json) -> str | None:
    names = fields.get("pkNames")
    if names is None:
        return None
    if not isinstance(names, list):
        raise wrong_type("array | null", names, "$.pkNames")
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise wrong_type("str", name, f"$.pkNames[{index}]")
    return json_text(names)


def _check_types(types: object) -> None:
    if not isinstance(types, dict):
        raise wrong_type("object", types, "$.mysqlType")
    for name, text in types.items():
        check_column_name(name, "$.mysqlType")
        if not isinstance(text, str):
            raise wrong_type("str", text, member_path("$.mysqlType", name))
        if _base_type(text) is None:
            raise CdcDecodeError(
                "unknown_mysql_type",
                member_path("$.mysqlType", name),
                f"Expected a MySQL type, got `{shorten(text)}`",
            )


def _check_row(row: object, types: Mapping[str, str], path: str) -> None:
    """Check that a row is an object of strings and nulls, of known columns."""
    if not isinstance(row, dict):
        raise wrong_type("object", row, path)
    for name, text in row.items():
        if name not in types:
            raise CdcDecodeError(
                "missing_type",
                member_path(path, name),
                f"Expected a column of `mysqlType`, got `{shorten(name)}`",
            )
        if text is None:
            continue
        if not isinstance(text, str):
            raise wrong_type("str | null", text, member_path(path, name))
        if not _is_latin1(text) and is_binary(types[name]):
            raise CdcDecodeError(
                "not_latin1",
                member_path(path, name),
                f"Expected characters up to U+00FF in a {_base_type(types[name])}, "
                f"got U+{ord(max(text)):04X}",
            )


@lru_cache(maxsize=65_536)
def _base_type(text: str) -> str | None:
    """Return the canonical base name of a type, or ``None`` if it is not one.

    The base name is the text up to ``(`` or a space; what follows it is left to who
    needs it. Some names are two words: ``double precision``, ``national char``.
    """
    for name in (text.partition("(")[0].partition(" ")[0], text):
        try:
            return parse_mysql_type(name, declared=False).base
        except ValueError:
            continue
    return None


@lru_cache(maxsize=65_536)
def is_binary(text: str) -> bool:
    """Whether the values of a type are bytes, each written as one character.

    The base name decides. The rest may say anything: ``enum('blob','binary')``.
    """
    base = _base_type(text)
    return base is not None and ("blob" in base or "binary" in base)


def _column_types(
    types: Mapping[str, str], columns: Mapping[str, object] | tuple[str, ...]
) -> str:
    """Return the types in the order of the columns, then those of no column."""
    others = sorted(types.keys() - columns)
    return json_text({name: types[name] for name in (*columns, *others)})
