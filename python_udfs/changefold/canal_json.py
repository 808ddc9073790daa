"""Decode one Canal-JSON message, as TiCDC and the official Canal write it.

The message is parsed with the strict parser of the standard library, everything is
checked, and a bad message is told exactly what is wrong with it. `arrow_canal_json`
recognises most messages of a topic without that.

Duplicate keys need care because parsers keep the last one without a word, while the
raw text of a row still has both, for the next reader to choose from.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, Literal, NamedTuple, NoReturn

import msgspec

from changefold.errors import CdcDecodeError
from changefold.mysql_types import parse_mysql_type

__all__ = [
    "MAX_DEPTH",
    "MAX_MESSAGE_BYTES",
    "CanalJsonImage",
    "CanalJsonMessage",
    "decode_canal_json",
    "is_binary",
    "json_text",
    "read_canal_json",
    "strict_object",
]

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""Larger messages are refused. Kafka's own limit is 1 MiB unless it is raised, and
Spark's ``from_json`` reads no text beyond 20 million characters."""

MAX_DEPTH: Final = 64
"""Deepest nesting that is parsed. A row lies at 3: message, ``data``, row."""

EventKind = Literal["row", "ddl", "watermark", "invalid"]

_MAX_INT64: Final = 2**63 - 1
_ROW_TYPES: Final = frozenset({"INSERT", "UPDATE", "DELETE"})


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
        event_kind: What the message is; ``invalid`` with an `error`.
        source_database: ``database``; ``""`` in a watermark.
        source_table: ``table``; ``""`` in a watermark and a DDL on a database.
        event_type: ``type``: ``INSERT``, ``ALTER``, ``TIDB_WATERMARK``.
        commit_ts: ``_tidb.commitTs`` of a row or DDL; ``None`` without TiDB extension.
        watermark_ts: ``_tidb.watermarkTs`` of a watermark.
        es_ms: ``es``, when it happened, in milliseconds since 1970.
        ts_ms: ``ts``, when the message was made; ``None`` if it does not say.
        ddl_sql: ``sql`` of a DDL.
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


_Json = Mapping[str, Any]


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
    document = _parse(value)
    if not isinstance(document, dict):
        raise _wrong_type("object", document, "$")
    fields: _Json = document
    message.source_database = _string(fields, "database")
    message.source_table = _string(fields, "table")
    message.event_type = _string(fields, "type")
    extension = _extension(fields)
    if extension is not None and extension.get("commitTs") is not None:
        message.commit_ts = _int64(extension, "commitTs", "$._tidb")
    is_ddl = _required(fields, "isDdl", "bool")
    if not isinstance(is_ddl, bool):
        raise _wrong_type("bool", is_ddl, "$.isDdl")
    message.es_ms = _int64(fields, "es")
    # Nothing depends on `ts`, and TiCDC before 5.4 had no use for it.
    if fields.get("ts") is not None:
        message.ts_ms = _int64(fields, "ts")
    if is_ddl:
        _require_commit_ts(extension)
        if fields.get("sql") is None:
            raise _missing("str", "$.sql", fields, "sql")
        message.ddl_sql = _string(fields, "sql")
        return "ddl"
    if message.event_type == "TIDB_WATERMARK":
        if extension is None:
            raise _missing("object", "$._tidb", fields, "_tidb")
        message.watermark_ts = _int64(extension, "watermarkTs", "$._tidb")
        return "watermark"
    if message.event_type not in _ROW_TYPES:
        raise CdcDecodeError(
            "unknown_event_type",
            "$.type",
            "Expected `INSERT`, `UPDATE`, `DELETE` or `TIDB_WATERMARK`, "
            f"got `{_shorten(message.event_type)}`",
        )
    _require_commit_ts(extension)
    _read_rows(message, fields, extension or {}, value or b"")
    return "row"


def _read_rows(
    message: CanalJsonMessage, fields: _Json, extension: _Json, value: bytes
) -> None:
    """Fill the fields that only a row message has."""
    _check_complete(extension)
    message.primary_key = _primary_key(fields)
    if fields.get("sqlType") is not None:
        _check_sql_types(fields["sqlType"])
    if fields.get("mysqlType") is None:
        raise _missing("object", "$.mysqlType", fields, "mysqlType")
    types = fields["mysqlType"]
    _check_types(types)
    if fields.get("data") is None:
        raise _missing("array", "$.data", fields, "data")
    data = fields["data"]
    if not isinstance(data, list):
        raise _wrong_type("array", data, "$.data")
    if not data:
        raise CdcDecodeError(
            "row_count_mismatch", "$.data", "Expected at least one row, got none"
        )
    old = _old_rows(fields, len(data), str(message.event_type))
    for index, row in enumerate(data):
        _check_row(row, types, f"$.data[{index}]")
    for index, row in enumerate(old or ()):
        _check_row(row, types, f"$.old[{index}]")
    message.column_types = _column_types(types, data[0])
    # The text of the rows, untouched. All has been checked: this finds places only.
    raw = _decode_raw_rows(value)
    raw_old: Iterable[msgspec.Raw | None] = raw.old or ()
    if old is None:
        raw_old = repeat(None, len(data))
    message.images = tuple(
        CanalJsonImage(bytes(new), None if before is None else bytes(before))
        for new, before in zip(raw.data, raw_old, strict=True)
    )


class _RawRows(msgspec.Struct):
    data: list[msgspec.Raw]
    old: list[msgspec.Raw] | None = None


_decode_raw_rows: Final = msgspec.json.Decoder(_RawRows).decode


def _old_rows(fields: _Json, count: int, event_type: str) -> list[object] | None:
    """Return the rows of ``old``, or ``None`` where there are none.

    An UPDATE must have them: without, a change of the key would leave the row under
    its old key behind. A DELETE may (TiCDC before 5.4), an INSERT has ``null``, or
    ``[null]`` (TiCDC before 5.4).
    """
    old = fields.get("old")
    if old is None:
        if event_type != "UPDATE":
            return None
        raise _missing("array", "$.old", fields, "old")
    if not isinstance(old, list):
        raise _wrong_type("array", old, "$.old")
    if len(old) != count:
        raise CdcDecodeError(
            "row_count_mismatch",
            "$.old",
            f"Expected as many rows as in `data`, {count}, got {len(old)}",
        )
    if event_type != "UPDATE" and all(row is None for row in old):
        return None
    if event_type == "INSERT":
        raise _wrong_type("null", old, "$.old")
    return old


def _check_complete(extension: _Json) -> None:
    """Refuse a message that TiCDC cut down to the key because it was too large."""
    only_key = extension.get("onlyHandleKey")
    if only_key is not None and not isinstance(only_key, bool):
        raise _wrong_type("bool", only_key, "$._tidb.onlyHandleKey")
    location = extension.get("claimCheckLocation")
    if location is not None and not isinstance(location, str):
        raise _wrong_type("str", location, "$._tidb.claimCheckLocation")
    # A claim check also has `onlyHandleKey`: the location says more.
    if location:
        raise CdcDecodeError(
            "claim_check_message",
            "$._tidb.claimCheckLocation",
            f"Expected a full row, got a reference to `{_shorten(location)}`: the "
            "changefeed runs with large-message-handle-option=claim-check, and the "
            "row's full content is not in the topic",
        )
    if only_key:
        raise CdcDecodeError(
            "key_only_message",
            "$._tidb.onlyHandleKey",
            "Expected a full row, got its key columns only: the changefeed runs with "
            "large-message-handle-option=handle-key-only, and the row's full content "
            "is not in the topic",
        )


def _require_commit_ts(extension: _Json | None) -> None:
    """Check that the TiDB extension, if there is one, has the time of the commit."""
    if extension is not None and extension.get("commitTs") is None:
        raise _missing("int", "$._tidb.commitTs", extension, "commitTs")


def _extension(fields: _Json) -> dict[str, Any] | None:
    extension = fields.get("_tidb")
    if extension is not None and not isinstance(extension, dict):
        raise _wrong_type("object | null", extension, "$._tidb")
    return extension


def _primary_key(fields: _Json) -> str | None:
    names = fields.get("pkNames")
    if names is None:
        return None
    if not isinstance(names, list):
        raise _wrong_type("array | null", names, "$.pkNames")
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise _wrong_type("str", name, f"$.pkNames[{index}]")
    return json_text(names)


def _check_sql_types(codes: object) -> None:
    if not isinstance(codes, dict):
        raise _wrong_type("object | null", codes, "$.sqlType")
    for name, code in codes.items():
        if not isinstance(code, int) or isinstance(code, bool):
            raise _wrong_type("int", code, _member("$.sqlType", name))


def _check_types(types: object) -> None:
    if not isinstance(types, dict):
        raise _wrong_type("object", types, "$.mysqlType")
    for name, text in types.items():
        if not isinstance(text, str):
            raise _wrong_type("str", text, _member("$.mysqlType", name))
        if _base_type(text) is None:
            raise CdcDecodeError(
                "unknown_mysql_type",
                _member("$.mysqlType", name),
                f"Expected a MySQL type, got `{_shorten(text)}`",
            )


def _check_row(row: object, types: Mapping[str, str], path: str) -> None:
    """Check that a row is an object of strings and nulls, of known columns."""
    if not isinstance(row, dict):
        raise _wrong_type("object", row, path)
    for name, text in row.items():
        if name not in types:
            raise CdcDecodeError(
                "missing_type",
                _member(path, name),
                f"Expected a column of `mysqlType`, got `{_shorten(name)}`",
            )
        if text is None:
            continue
        if not isinstance(text, str):
            raise _wrong_type("str | null", text, _member(path, name))
        if not text.isascii() and is_binary(types[name]) and max(text) > "\xff":
            raise CdcDecodeError(
                "not_latin1",
                _member(path, name),
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


# ------------------------------------------------------------------- strict JSON


class _RepeatedKeyError(Exception):
    """An object has a key twice."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedKeyError
    return members


class _Members(dict[str, object]):
    """An object that remembers which key it has twice."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.repeated: str | None = None
        for name, _ in pairs:
            if name in seen:
                self.repeated = name
                break
            seen.add(name)


def _integer(digits: str) -> int:
    # Python refuses more than 4300 digits; 40 are far out of range already.
    return int(digits[:40])


def _constant(name: str) -> NoReturn:
    # `NaN` and `Infinity` are extensions of Python's parser.
    raise CdcDecodeError("not_json", "$", f"Expected JSON, got `{name}`")


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant
)
# Finds where a key comes twice; used only when one does.
_member_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_Members, parse_int=_integer, parse_constant=_constant
)
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_JSON_SPACE: Final = " \t\n\r"


def strict_object(value: bytes, path: str) -> dict[str, Any]:
    """Parse one object of a message by itself."""
    document = _parse(value)
    if not isinstance(document, dict):
        raise _wrong_type("object", document, path)
    return document


def _parse(value: bytes | None) -> object:
    """Parse JSON: UTF-8, no duplicate keys, no lone surrogates, not too deep."""
    if value is None:
        raise CdcDecodeError("null_value", "$", "Expected a message, got a null value")
    if len(value) > MAX_MESSAGE_BYTES:
        raise CdcDecodeError(
            "too_large",
            "$",
            f"Expected at most {MAX_MESSAGE_BYTES} bytes, got {len(value)}",
        )
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(value, error) from None
    if not text.strip(_JSON_SPACE):
        raise CdcDecodeError("not_json", "$", "Expected JSON, got an empty value")
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    try:
        document = _load(text, _decoder)
    except _RepeatedKeyError:
        document = _load(text, _member_decoder)
        _check_tree(document, "$")
    if _SURROGATE_ESCAPE.search(text) is not None:
        _check_tree(document, "$")
    return document


def _load(text: str, decoder: json.JSONDecoder) -> object:
    """Parse a text that must be one JSON value and no more."""
    start = len(text) - len(text.lstrip(_JSON_SPACE))
    try:
        document, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _not_json(text, error) from None
    rest = text[end:].lstrip(_JSON_SPACE)
    if rest:
        raise CdcDecodeError(
            "not_json",
            "$",
            f"Expected the end of the message, got `{_shorten(rest)}` at character "
            f"{len(text) - len(rest)}",
        )
    loaded: object = document
    return loaded


def _check_depth(text: str) -> None:
    """Refuse deep nesting before a recursive parser sees it."""
    depth = 0
    for match in _BRACKET.finditer(text):
        bracket = match.group()
        if bracket in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise CdcDecodeError(
                    "too_deep",
                    "$",
                    f"Expected at most {MAX_DEPTH} levels of nesting, got more at "
                    f"character {match.start()}",
                )
        elif bracket in "]}":
            depth -= 1


def _check_tree(node: object, path: str) -> None:
    """Find repeated keys and lone surrogates, and where they are."""
    if isinstance(node, str):
        if not _is_unicode(node):
            raise CdcDecodeError(
                "lone_surrogate",
                path,
                "Expected Unicode text, got half of a surrogate pair",
            )
    elif isinstance(node, list):
        for index, child in enumerate(node):
            _check_tree(child, f"{path}[{index}]")
    elif isinstance(node, dict):
        if isinstance(node, _Members) and node.repeated is not None:
            raise CdcDecodeError(
                "duplicate_key",
                _member(path, node.repeated),
                f"Expected each key once, got `{_shorten(node.repeated)}` twice",
            )
        for name, child in node.items():
            _check_tree(name, _member(path, name))
            _check_tree(child, _member(path, name))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_utf8(value: bytes, error: UnicodeDecodeError) -> CdcDecodeError:
    if error.reason == "unexpected end of data" and error.end == len(value):
        return CdcDecodeError(
            "truncated_json",
            "$",
            f"Expected more bytes after {len(value)}, got the end within a character",
        )
    return CdcDecodeError(
        "not_utf8",
        "$",
        f"Expected UTF-8, got byte 0x{value[error.start]:02X} at byte {error.start}",
    )


def _not_json(text: str, error: json.JSONDecodeError) -> CdcDecodeError:
    rest = text[error.pos :].rstrip(_JSON_SPACE)
    if _is_truncated(rest, error.msg):
        return CdcDecodeError(
            "truncated_json",
            "$",
            f"Expected more JSON after {len(text)} characters, got the end",
        )
    if rest.startswith("\ufeff"):
        return CdcDecodeError("not_json", "$", "Expected JSON, got a byte order mark")
    return CdcDecodeError(
        "not_json",
        "$",
        f"Expected JSON, got `{_shorten(rest)}` at character {error.pos}",
    )


def _is_truncated(rest: str, reason: str) -> bool:
    """Whether the parser stopped only because the text did."""
    if not rest or reason.startswith("Unterminated string"):
        return True
    if reason.startswith("Invalid \\uXXXX escape"):
        # Python wants a character behind the four digits.
        return re.fullmatch(r"\\?u?[0-9a-fA-F]{0,4}", rest) is not None
    if reason.startswith("Expecting value"):
        return any(word.startswith(rest) for word in ("true", "false", "null", "-"))
    return False


# ------------------------------------------------------------------------ fields


def _required(fields: _Json, name: str, expected: str, parent: str = "$") -> object:
    if name not in fields:
        raise _missing(expected, f"{parent}.{name}", fields, name)
    return fields[name]


def _string(fields: _Json, name: str) -> str:
    text = _required(fields, name, "str")
    if not isinstance(text, str):
        raise _wrong_type("str", text, f"$.{name}")
    return text


def _int64(fields: _Json, name: str, parent: str = "$") -> int:
    number = _required(fields, name, "int", parent)
    path = f"{parent}.{name}"
    if not isinstance(number, int) or isinstance(number, bool):
        raise _wrong_type("int", number, path)
    if not 0 <= number <= _MAX_INT64:
        raise CdcDecodeError(
            "out_of_range",
            path,
            f"Expected `int` from 0 to {_MAX_INT64}, got {_shorten(str(number))}",
        )
    return number


def _missing(expected: str, path: str, fields: _Json, name: str) -> CdcDecodeError:
    got = "`null`" if name in fields else "no such field"
    return CdcDecodeError("missing_field", path, f"Expected `{expected}`, got {got}")


def _wrong_type(expected: str, value: object, path: str) -> CdcDecodeError:
    return CdcDecodeError(
        "wrong_type", path, f"Expected `{expected}`, got `{_type_name(value)}`"
    )


def _type_name(value: object) -> str:
    """Return the name that msgspec uses."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    return type(value).__name__


def _member(path: str, name: str) -> str:
    name = _shorten(name)
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{json_text(name)}]"


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def json_text(value: object) -> str:
    """Return compact JSON, as the producers write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
