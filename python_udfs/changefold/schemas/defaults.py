"""Which value a column that a DDL adds has in the rows that are there."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from changefold.mysql.conversion import convert_value
from changefold.mysql.types import MySqlType, parse_mysql_type
from changefold.mysql.wire_forms import CONNECT, to_wire
from changefold.schemas.ordering import commit_ts_of, millisecond_of

if TYPE_CHECKING:
    from changefold.mysql.ddl import DdlColumn, SqlValue
    from changefold.mysql.wire_forms import WireForm
    from changefold.schemas.model import Accuracy, DdlEvent, SchemaColumn

_WRITTEN_TEXT: Final = MySqlType("longtext")


_WRITTEN_NUMBER: Final = MySqlType("decimal")


# What NOT NULL without DEFAULT gives (MySQL manual, 13.6 "Data Type Default Values"):
# numbers 0, times zero, ENUM its first member, other text empty.
_IMPLICIT_ZERO: Final = {
    "date": "0000-00-00",
    "time": "00:00:00",
    "datetime": "0000-00-00 00:00:00",
    "timestamp": "0000-00-00 00:00:00",
    "enum": "1",
    "json": "null",
    "vector": "[]",
}


_NUMBERS: Final = frozenset(
    {
        *("tinyint", "smallint", "mediumint", "int", "bigint", "bit", "set", "year"),
        *("float", "double", "decimal"),
    }
)


def _implicit_zero(mysql_type: MySqlType) -> str | None:
    """Return what NOT NULL without DEFAULT gives; ``None`` for a type not known here."""
    base = mysql_type.base
    if base in _IMPLICIT_ZERO:
        digits = mysql_type.fraction_digits
        return _IMPLICIT_ZERO[base] + ("." + "0" * digits if digits else "")
    if mysql_type.is_text:
        return ""
    if mysql_type.is_binary:
        return "\0" * (mysql_type.length or 0) if base == "binary" else ""
    if base == "decimal" and mysql_type.scale:
        return "0." + "0" * mysql_type.scale
    return "0" if base in _NUMBERS else None


def _time_of(event: DdlEvent) -> datetime | None:
    """Return when a DDL was, if that is a time of TiDB's life."""
    milliseconds = event.committed_ms
    if milliseconds is None:
        milliseconds = millisecond_of(event.sequence)
    if milliseconds is None or not _FIRST_MS < milliseconds < _LAST_MS:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


_FIRST_MS: Final = 1_262_304_000_000


_LAST_MS: Final = 4_102_444_800_000


def _written_value(value: SqlValue, mysql_type: MySqlType) -> str | None:
    """Return a literal in the wire form of a type."""
    if value.form == "text":
        return convert_value(value.text, _WRITTEN_TEXT, mysql_type)
    if value.form == "number":
        return convert_value(value.text, _WRITTEN_NUMBER, mysql_type)
    base = 2 if value.form == "bits" else 16
    width = len(value.text) * (1 if value.form == "bits" else 4)
    written = MySqlType("bit", length=max(width, 1))
    return convert_value(str(int(value.text or "0", base)), written, mysql_type)


def original_default_of(
    column: DdlColumn, event: DdlEvent
) -> tuple[str | None, Accuracy]:
    """Return what rows show that were there before this column was added."""
    if column.generated is not None or column.auto_increment:
        return None, "unknown"
    mysql_type = type_of(column.type)
    default = column.default
    if default is None or default.form == "null":
        value = None if column.nullable else _implicit_zero(mysql_type)
        is_known = column.nullable or value is not None
        return value, "exact" if is_known else "unknown"
    try:
        if default.form != "expression":
            return _written_value(default, mysql_type), "exact"
        text = _clock_text(default.text, event)
        if text is None:
            return None, "unknown"
        written = MySqlType("datetime", length=6)
        return convert_value(text, written, mysql_type), "approximate"
    except ValueError:
        return None, "unknown"


def default_as_sent(column: SchemaColumn, form: WireForm, zone: str) -> str | None:
    """Return what rows show that are older than a column, as a message would write it.

    Args:
        column: The column; what a message told of it stays as it is.
        form: That of the topic's messages.
        zone: Zone of the instants in the default.
    """
    text = column.original_default
    if text is None or column.original_default_accuracy is None or not column.type:
        return text
    mysql_type = type_of(column.type)
    if form == CONNECT and mysql_type.base == "timestamp":
        text = _in_utc(text, zone)
    return to_wire(text, mysql_type, form, zone)


def _in_utc(text: str, zone: str) -> str:
    """Return an instant in UTC; a zero date, or one of an unknown zone, as it is."""
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=_zone(zone))
    except (ValueError, ZoneInfoNotFoundError):
        return text
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ")


_MILLISECOND_DIGITS: Final = 3


_CLOCKS: Final = re.compile(
    r"\(*(CURRENT_TIMESTAMP|NOW|LOCALTIME|LOCALTIMESTAMP|UTC_TIMESTAMP"
    r"|CURRENT_DATE|CURDATE|UTC_DATE)(?:\(([0-6]?)\))?\)*",
    re.IGNORECASE,
)


def _clock_text(expression: str, event: DdlEvent) -> str | None:
    """Return what a function of the clock gave when a DDL ran; ``None`` for others.

    In the zone of the messages: that of the session no message tells. MySQL cuts off what
    lies behind the digits (its manual, 11.2.5 "Automatic Initialization"). A message of
    Canal tells seconds, others milliseconds: nobody knows more digits than that.
    """
    match = _CLOCKS.fullmatch(expression.replace(" ", ""))
    moment = _time_of(event)
    if match is None or moment is None:
        return None
    name, digits = match[1].upper(), int(match[2] or 0)
    is_in_seconds = commit_ts_of(event.sequence) is None and not moment.microsecond
    if digits > (0 if is_in_seconds else _MILLISECOND_DIGITS):
        return None
    try:
        zone = UTC if name.startswith("UTC") else _zone(event.time_zone)
    except (ValueError, ZoneInfoNotFoundError):
        return None
    local = moment.astimezone(zone)
    if name.endswith("DATE"):
        return f"{local:%Y-%m-%d} 00:00:00"
    fraction = f"{local.microsecond:06d}"[:digits]
    return f"{local:%Y-%m-%d %H:%M:%S}" + (f".{fraction}" if digits else "")


def _zone(name: str) -> tzinfo:
    """Return a zone by its name, or by its distance to UTC such as ``+08:00``.

    Raises:
        ValueError: If it is neither; so does `ZoneInfoNotFoundError` tell.
    """
    offset = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", name)
    if offset is None:
        return ZoneInfo(name)
    distance = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
    return timezone(-distance if offset[1] == "-" else distance)


def type_of(text: str) -> MySqlType:
    """Return the type of a column; one from a message may lack its parameters."""
    return parse_mysql_type(text, declared=False)


def is_open_type(text: str) -> bool:
    """Whether a type lacks parameters that say what a value means."""
    known = type_of(text)
    return (
        (known.base == "decimal" and known.scale is None)
        or (known.base == "bit" and known.length is None)
        or (known.base in {"enum", "set"} and not known.elements)
    )
