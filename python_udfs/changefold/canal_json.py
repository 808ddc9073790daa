r"""Decode Canal-JSON messages, as TiCDC and the official Canal write them.

There are two ways through this module, and they accept the same messages:

- `read_exactly` parses a message with the strict parser of the standard library,
  checks everything, and says exactly what is wrong with a bad message.
- `match_row` recognises what nearly every message is: one row, in the layout of a
  known producer, of a table that was seen before. It is ten times faster. What it
  does not recognise, bad messages included, goes the other way.

Why `match_row` accepts only what `read_exactly` accepts. A layout cuts the message
into literal text and pieces. Each piece is by itself valid JSON of the right shape:

- the names of table and key, the ``sqlType`` and the ``mysqlType``: their bytes are
  those of a piece that was parsed strictly before (`_Source`), or, for ``mysqlType``,
  they have the same members and the same length: a duplicate key, an escape or a
  space could only make the text longer;
- the rows: they match a pattern made from the table's columns, which allows exactly
  these keys, once each, in this order, each followed by a JSON string or null;
- the numbers: digits without a leading zero, too few of them to exceed 64 bits.

So the whole is valid JSON, of the right shape, without a duplicate key, wherever the
pattern happened to cut it. The patterns take it for granted that the message is
valid UTF-8 without control characters (`is_plain`); a batch is checked for that at
once.

Duplicate keys need this care because parsers keep the last one without a word, while
the raw text of a row still has both, for the next reader to choose from.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, Literal, NamedTuple, NoReturn, cast

import msgspec

from changefold.errors import CdcDecodeError
from changefold.mysql_types import parse_mysql_type

__all__ = [
    "MAX_DEPTH",
    "MAX_MESSAGE_BYTES",
    "CanalJsonImage",
    "CanalJsonMessage",
    "CompactRow",
    "RowTemplate",
    "decode_canal_json",
    "is_plain",
    "match_row",
    "read_canal_json",
    "read_exactly",
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


def read_canal_json(value: bytes | None) -> CanalJsonMessage:
    """Decode one message, without raising.

    Args:
        value: The value of the Kafka record.

    Returns:
        The message; of kind ``invalid``, with its error, if it is not what the
        specification says.
    """
    if value is not None and is_plain(value):
        row = match_row(value)
        if row is not None:
            return _message_of(row)
    return read_exactly(value)


# ---------------------------------------------------------------- the fast way


_FullMatch = Callable[[bytes], re.Match[bytes] | None]


class RowTemplate:
    """What many messages of a table have in common, and how to check the next one.

    Attributes:
        source_database: ``database``.
        source_table: ``table``.
        event_type: ``INSERT``, ``UPDATE`` or ``DELETE``.
        primary_key: As in `CanalJsonMessage`.
        column_types: As in `CanalJsonMessage`.
    """

    __slots__ = (
        "_columns",
        "_escaped",
        "_partial",
        "_unescaped",
        "check_types",
        "column_types",
        "event_type",
        "primary_key",
        "source_database",
        "source_table",
        "sql_types",
    )

    def __init__(
        self,
        source: "_Source",
        types: dict[str, str],
        columns: tuple[str, ...],
    ) -> None:
        self.source_database = source.source_database
        self.source_table = source.source_table
        self.event_type = source.event_type
        self.primary_key = source.primary_key
        self.column_types = _column_types(types, columns)
        self.check_types = _types_decoder(types)
        self.sql_types: set[bytes] = set()
        self._columns = tuple((name, _is_binary(types[name])) for name in columns)
        # Compiled when first needed: a wide table takes milliseconds for each.
        self._unescaped = _row_pattern(self._columns)
        self._escaped: _FullMatch | None = None
        self._partial: dict[bool, _FullMatch] = {}

    def matches(self, row: bytes) -> bool:
        """Whether ``row`` is an object with all columns, in order."""
        # A pattern without escapes is twice as fast.
        if b"\\" not in row:
            return self._unescaped(row) is not None
        if self._escaped is None:
            self._escaped = _row_pattern(self._columns, escaped=True)
        return self._escaped(row) is not None

    def matches_part(self, row: bytes) -> bool:
        """Whether ``row`` is an object with some of the columns, in order."""
        escaped = b"\\" in row
        pattern = self._partial.get(escaped)
        if pattern is None:
            pattern = _row_pattern(self._columns, escaped=escaped, partial=True)
            self._partial[escaped] = pattern
        return pattern(row) is not None


CompactRow = tuple[RowTemplate, bytes, bytes, bytes, bytes | None, bytes | None]
"""What `match_row` found: template, ``es``, ``ts``, ``data``, ``old``, ``commitTs``.

The numbers are still digits: Arrow converts a column of them faster. Not a named
tuple: making one takes as long as matching a small row.
"""

_Head = bytes | tuple[bytes, ...]
_Pieces = tuple[_Head, bytes, bytes, bytes, bytes, bytes | None, bytes, bytes | None]
_PIECES: Final = ("es", "ts", "sql_types", "mysql_types", "old", "data", "commit_ts")


class _Layout(NamedTuple):
    """The order in which a producer writes the fields of a row message."""

    fullmatch: _FullMatch
    pieces: Callable[[re.Match[bytes]], _Pieces]


def _layout(*fields: str) -> _Layout:
    """Compile a layout from its fields; they are joined by commas."""
    pattern = re.compile((r"\{" + ",".join(fields) + r"\}").encode(), re.DOTALL)
    if tuple(pattern.groupindex) == ("head", *_PIECES):
        return _Layout(
            pattern.fullmatch,
            cast("Callable[[re.Match[bytes]], _Pieces]", re.Match.groups),
        )
    head = [name for name in pattern.groupindex if name.startswith("head")]

    def pieces(match: re.Match[bytes]) -> _Pieces:
        return cast("_Pieces", (match.group(*head), *match.group(*_PIECES)))

    return _Layout(pattern.fullmatch, pieces)


# At most 18 digits: below 2^63.
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,17}+)"
# Checked when they are first seen.
_NAME: Final = '"[^"]*+"'
_NAMES: Final = r"(?:null|\[[^\]]*+\])"
_PRIMARY_KEY: Final = rf'"pkNames":{_NAMES},"isDdl":false'
_ROW_TYPE: Final = '"type":"(?:INSERT|UPDATE|DELETE)"'
_OLD: Final = r'"old":(?:null|\[null\]|\[(?P<old>\{.*\})\])'
_DATA: Final = r'"data":\[(?P<data>\{.*\})\]'
_TICDC_START: Final = (
    r'"id":0',
    rf'(?P<head>"database":{_NAME},"table":{_NAME},{_PRIMARY_KEY},{_ROW_TYPE})',
    rf'"es":(?P<es>{_NUMBER})',
    rf'"ts":(?P<ts>{_NUMBER})',
    '"sql":""',
    r'"sqlType":(?P<sql_types>\{[^}]*+\})',
    r'"mysqlType":(?P<mysql_types>\{[^}]*+\})',
)
_TICDC_END: Final = rf'(?:,"_tidb":\{{"commitTs":(?P<commit_ts>{_NUMBER})\}})?+'

# `(?>...)` keeps what it matched first. Without it, a bad message could make the
# pattern try every pair of places at which `old` and `data` might end.
_LAYOUTS: Final = (
    # TiCDC, as its encoder of version 8.5 and 9.0 writes.
    _layout(*_TICDC_START, rf'(?>{_OLD},(?="data"))' + _DATA + _TICDC_END),
    # TiCDC, as the samples of its reference show.
    _layout(*_TICDC_START, rf'(?>{_DATA},(?="old"))' + _OLD + _TICDC_END),
    # Official Canal: fields in the order of their names. Of its messages of many rows,
    # the pattern of a row will match none.
    _layout(
        rf'(?:"_tidb":\{{"commitTs":(?P<commit_ts>{_NUMBER})\}},)?+'
        rf'(?>{_DATA},(?="database"))(?P<head_database>"database":{_NAME})',
        rf'"es":(?P<es>{_NUMBER})(?:,"gtid":"[^"\\]*+")?+',
        rf'"id":{_NUMBER}',
        '"isDdl":false',
        r'"mysqlType":(?P<mysql_types>\{[^}]*+\})',
        rf'(?>{_OLD},(?="pkNames"))(?P<head_names>"pkNames":{_NAMES})',
        '"sql":""',
        r'"sqlType":(?P<sql_types>\{[^}]*+\})',
        rf'(?P<head_table>"table":{_NAME})',
        rf'"ts":(?P<ts>{_NUMBER})',
        rf"(?P<head_type>{_ROW_TYPE})",
    ),
)

# msgspec has no fields of these names. They are checked the exact way.
_UNUSUAL: Final = re.compile(r'["\\\x00-\x1f]')

_UNICODE_ESCAPE: Final = (
    r"u(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}"
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_LATIN1_ESCAPE: Final = "u00[0-9a-fA-F]{2}"


@lru_cache(maxsize=4096)
def _row_pattern(
    columns: tuple[tuple[str, bool], ...],
    *,
    escaped: bool = False,
    partial: bool = False,
) -> _FullMatch:
    """Compile the pattern of a row.

    Args:
        columns: Name of each column, and whether it is binary: its characters then
            stand for bytes, so that U+00FF is the last one allowed.
        escaped: Allow backslash escapes. If not, the row must have no backslash.
        partial: Columns may be left out.

    Returns:
        The ``fullmatch`` of the pattern.
    """
    members = []
    for name, is_binary in columns:
        # In UTF-8 the characters above U+00FF begin with one of these bytes.
        not_latin1 = r"\xc4-\xff" if is_binary else ""
        if escaped:
            character = rf'[^"\\{not_latin1}]*+'
            unicode = _LATIN1_ESCAPE if is_binary else _UNICODE_ESCAPE
            text = rf'{character}(?:\\(?:["\\/bfnrt]|{unicode}){character})*+'
        else:
            text = f'[^"{not_latin1}]*+'
        key = re.escape(_json_text(name))
        members.append(f'{key}:(?:"{text}"|null)')
    if partial:
        # A comma stands between two members: after each but the last one.
        some = "".join(rf"(?:{member}(?:,|(?=\}})))?+" for member in members)
        pattern = rf"\{{{some}(?<!,)\}}"
    else:
        pattern = r"\{" + ",".join(members) + r"\}"
    return re.compile(pattern.encode()).fullmatch


def _types_decoder(types: Mapping[str, str]) -> Callable[[bytes], object]:
    """Return a decoder that accepts a ``mysqlType`` with just these members.

    It also accepts a member twice; then the text is longer.
    """
    fields = [(f"type_{i}", Literal[text]) for i, text in enumerate(types.values())]
    names = {f"type_{i}": name for i, name in enumerate(types)}
    struct = msgspec.defstruct(
        "MysqlType", fields, rename=names, forbid_unknown_fields=True, gc=False
    )
    return msgspec.json.Decoder(struct).decode


class _Source:
    """The messages of one table and one event type, and the templates they fit."""

    __slots__ = (
        "_old_allowed",
        "_old_required",
        "_seen",
        "_templates",
        "_templates_by_length",
        "_templates_by_types",
        "event_type",
        "primary_key",
        "source_database",
        "source_table",
    )

    # A template takes milliseconds to make, as much as many messages read exactly.
    _WORTH_A_TEMPLATE: Final = 100
    # Go writes a map of up to 8 members in one of 8 orders, a larger one in any.
    _MAX_TYPES: Final = 64
    _MAX_SQL_TYPES: Final = 256
    _MAX_TEMPLATES: Final = 64

    def __init__(self, database: str, table: str, kind: str, key: str | None) -> None:
        self.source_database = database
        self.source_table = table
        self.event_type = kind
        self.primary_key = key
        self._old_required = kind == "UPDATE"
        self._old_allowed = kind != "INSERT"
        self._seen = 0
        self._templates: dict[tuple[object, ...], RowTemplate] = {}
        self._templates_by_length: dict[int, RowTemplate] = {}
        self._templates_by_types: dict[bytes, RowTemplate] = {}

    def recognise(
        self, sql_types: bytes, mysql_types: bytes, data: bytes, old: bytes | None
    ) -> RowTemplate | None:
        """Return the template that the pieces of a message fit."""
        template = self._templates_by_types.get(mysql_types) or self._recall(
            mysql_types
        )
        if template is None or not template.matches(data):
            # A DDL can change the order of the columns and nothing else.
            template = self._learn(mysql_types, data)
            if template is None or not template.matches(data):
                return None
        if sql_types not in template.sql_types and not self._accepts_sql_types(
            template, sql_types
        ):
            return None
        if old is None:
            return None if self._old_required else template
        if self._old_allowed and (template.matches(old) or template.matches_part(old)):
            return template
        return None

    def _recall(self, mysql_types: bytes) -> RowTemplate | None:
        """Return the template of these types, if they came in another order before."""
        template = self._templates_by_length.get(len(mysql_types))
        if template is None:
            return None
        try:
            template.check_types(mysql_types)
        except msgspec.MsgspecError:
            return None
        self._remember(mysql_types, template)
        return template

    def _learn(self, mysql_types: bytes, data: bytes) -> RowTemplate | None:
        """Make a template from a message, or find the one made before."""
        self._seen += 1
        if self._seen < self._WORTH_A_TEMPLATE:
            return None
        try:
            types = _strict_object(mysql_types, "$.mysqlType")
            row = _strict_object(data, "$.data[0]")
            _check_types(types)
            _check_row(row, types, "$.data[0]")
        except CdcDecodeError:
            return None
        columns = tuple(row)
        # Compact text: then it has the length of every other order of its members.
        if not columns or len(mysql_types) != len(_json_text(types).encode()):
            return None
        if any(_UNUSUAL.search(name) for name in types):
            return None
        key = (columns, *sorted(types.items()))
        template = self._templates.get(key)
        if template is None:
            template = RowTemplate(self, types, columns)
            if len(self._templates) >= self._MAX_TEMPLATES:
                self._templates.clear()
                self._templates_by_length.clear()
                self._templates_by_types.clear()
            self._templates[key] = template
        self._templates_by_length[len(mysql_types)] = template
        self._remember(mysql_types, template)
        return template

    def _accepts_sql_types(self, template: RowTemplate, sql_types: bytes) -> bool:
        """Check a ``sqlType`` that the template has not met, and keep it."""
        try:
            _check_sql_types(_strict_object(sql_types, "$.sqlType"))
        except CdcDecodeError:
            return False
        if len(template.sql_types) >= self._MAX_SQL_TYPES:
            template.sql_types.clear()
        template.sql_types.add(sql_types)
        return True

    def _remember(self, mysql_types: bytes, template: RowTemplate) -> None:
        known = self._templates_by_types
        if len(known) < self._MAX_TYPES or mysql_types in known:
            known[mysql_types] = template


_MAX_SOURCES: Final = 10_000
_sources: Final[dict[_Head, _Source]] = {}


def _source_of(head: _Head) -> _Source | None:
    """Return the source for the fields that name it, checking them the first time."""
    text = head if isinstance(head, bytes) else b",".join(head)
    try:
        fields = _strict_object(b"{" + text + b"}", "$")
        database, table, kind = (
            _string(fields, name) for name in ("database", "table", "type")
        )
        source = _Source(database, table, kind, _primary_key(fields))
    except CdcDecodeError:
        return None
    # These and no others, so the pattern cut the text where the fields end.
    if fields.keys() - {"isDdl", "pkNames"} != {"database", "table", "type"}:
        return None
    if len(_sources) >= _MAX_SOURCES:
        _sources.clear()
    _sources[head] = source
    return source


_CONTROL: Final = re.compile(rb"[\x00-\x1f]")


def is_plain(value: bytes) -> bool:
    """Whether a message is valid UTF-8 without control characters."""
    if _CONTROL.search(value) is not None:
        return False
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def match_row(value: bytes) -> CompactRow | None:
    """Recognise a message of one row.

    Args:
        value: A message for which `is_plain` holds.

    Returns:
        The row, or ``None``: then the message is something else, or malformed, or the
        first of its table, and `read_canal_json` tells.
    """
    if len(value) > MAX_MESSAGE_BYTES:
        return None
    for layout in _LAYOUTS:
        match = layout.fullmatch(value)
        if match is not None:
            break
    else:
        return None
    head, es, ts, sql_types, mysql_types, old, data, commit_ts = layout.pieces(match)
    source = _sources.get(head) or _source_of(head)
    if source is None:
        return None
    template = source.recognise(sql_types, mysql_types, data, old)
    if template is None:
        return None
    return template, es, ts, data, old, commit_ts


def _message_of(row: CompactRow) -> CanalJsonMessage:
    template, es, ts, data, old, commit_ts = row
    return CanalJsonMessage(
        event_kind="row",
        source_database=template.source_database,
        source_table=template.source_table,
        event_type=template.event_type,
        commit_ts=None if commit_ts is None else int(commit_ts),
        es_ms=int(es),
        ts_ms=int(ts),
        primary_key=template.primary_key,
        column_types=template.column_types,
        images=(CanalJsonImage(data, old),),
    )


# --------------------------------------------------------------- the exact way

_Json = Mapping[str, Any]


def read_exactly(value: bytes | None) -> CanalJsonMessage:
    """Decode any message, or say what is wrong with it.

    Args:
        value: The value of the Kafka record.

    Returns:
        The same as `read_canal_json`, which tries `match_row` before.
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
    return _json_text(names)


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
        if not text.isascii() and _is_binary(types[name]) and max(text) > "\xff":
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
def _is_binary(text: str) -> bool:
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
    return _json_text({name: types[name] for name in (*columns, *others)})


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


def _strict_object(value: bytes, path: str) -> dict[str, Any]:
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
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{_json_text(name)}]"


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
