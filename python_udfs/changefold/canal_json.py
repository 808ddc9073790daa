"""Decode one Canal-JSON message, as TiCDC and the official Canal write it.

The message is parsed with the strict parser of the standard library, everything is
checked, and a bad message is told exactly what is wrong with it. `arrow_canal_json`
recognises most messages of a topic without that.
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, Final, Literal, NamedTuple

import msgspec

from changefold.compressed_values import JSON_START, decompress
from changefold.errors import CdcDecodeError
from changefold.full_rows import require_full_row
from changefold.mysql_types import parse_mysql_type
from changefold.strict_json import (
    Json,
    check_column_name,
    json_text,
    member_path,
    missing,
    read_bool,
    read_int64,
    read_milliseconds,
    read_string,
    shorten,
    strict_object,
    wrong_type,
)

__all__ = [
    "CanalJsonImage",
    "CanalJsonMessage",
    "decode_canal_json",
    "is_binary",
    "read_canal_json",
]

EventKind = Literal["row", "ddl", "watermark", "statement", "invalid"]

_ROW_TYPES: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
_STATEMENTS: Final = frozenset({"QUERY", "XACOMMIT"})


class CanalJsonImage(NamedTuple):
    """One row of a message.

    Attributes:
        data: JSON text of the row in ``data``, byte for byte as in the message.
        old: The same of ``old``; ``None`` where the message has none.
    """

    data: bytes
    old: bytes | None


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
    ddl_sql: str | None = None
    primary_key: str | None = None
    column_types: str | None = None
    images: tuple[CanalJsonImage, ...] = ()
    error: CdcDecodeError | None = None


def decode_canal_json(value: bytes | None) -> CanalJsonMessage:
    """Decode one message.

    Args:
        value: The value of the Kafka record.

    Returns:
        The message; never one of kind ``invalid``.

    Raises:
        CdcDecodeError: If the message is not what the specification says.
    """
    message = read_canal_json(value)
    if message.error is not None:
        raise message.error
    return message


def read_canal_json(value: bytes | None) -> CanalJsonMessage:
    """Decode one message, without raising.

    Args:
        value: The value of the Kafka record.

    Returns:
        The message; of kind ``invalid``, with its error, if it is not what the
        specification says.
    """
    message = CanalJsonMessage()
    try:
        message.event_kind = _read_fields(message, value)
    except CdcDecodeError as error:
        message.error = error
        message.images = ()
    return message


def _read_fields(message: CanalJsonMessage, value: bytes | None) -> EventKind:
    """Fill ``message`` field by field, so that an error leaves what was read."""
    value = decompress(value, JSON_START)
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
    if is_ddl:
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
    _read_rows(message, fields, extension or {}, value or b"")
    return "row"


def _read_rows(
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
    if fields.get("sqlType") is not None:
        _check_sql_types(fields["sqlType"])
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
        CanalJsonImage(bytes(new), None if before is None else bytes(before))
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


def _check_sql_types(codes: object) -> None:
    if not isinstance(codes, dict):
        raise wrong_type("object | null", codes, "$.sqlType")
    for name, code in codes.items():
        if not isinstance(code, int) or isinstance(code, bool):
            raise wrong_type("int", code, member_path("$.sqlType", name))


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
        if not text.isascii() and is_binary(types[name]) and max(text) > "\xff":
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
