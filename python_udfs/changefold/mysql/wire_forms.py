"""The text forms in which protocols send values, to and from that of Canal-JSON.

Conversions between MySQL types know one form. Canal-JSON writes bytes as the characters
of the same numbers, an instant as a wall clock and a member of ENUM and SET as a number.
TiCDC's Simple protocol writes bytes in base64 and an instant as a JSON object with its
zone. What the decoder of Debezium writes, has all digits of a time, instants in UTC,
members by name and BIT in binary digits. All else they write alike.
"""

import base64
import binascii
import re
from typing import Final, Literal

import msgspec

from changefold.mysql.conversion import convert_value
from changefold.mysql.types import MySqlType, parse_mysql_type

__all__ = [
    "CANAL",
    "CONNECT",
    "SIMPLE",
    "WireForm",
    "convert_as_sent",
    "from_wire",
    "to_wire",
]

WireForm = Literal["canal", "simple", "connect"]

CANAL: Final = "canal"
SIMPLE: Final = "simple"
CONNECT: Final = "connect"

_FRACTION: Final = re.compile(r"[.]([0-9]+)Z?$|Z$|$")
_WITH_FRACTION: Final = frozenset({"datetime", "timestamp", "time"})


class _Instant(msgspec.Struct):
    location: str
    value: str


def from_wire(value: str, mysql_type: MySqlType, form: str) -> tuple[str, str]:
    """Return a value in Canal-JSON's form.

    Args:
        value: As the message has it.
        mysql_type: Its type.
        form: `CANAL`, `SIMPLE` or `CONNECT`.

    Returns:
        The text, and the zone of an instant; UTC for all else.

    Raises:
        ValueError: If it is not of that form.
    """
    if form == CONNECT:
        return _from_connect(value, mysql_type), "UTC"
    if form == SIMPLE and mysql_type.is_binary:
        try:
            return base64.b64decode(value, validate=True).decode("latin-1"), "UTC"
        except binascii.Error as error:
            raise ValueError(f"Expected base64, got `{value[:60]}`") from error
    if form == SIMPLE and mysql_type.base == "timestamp":
        instant = msgspec.json.decode(value, type=_Instant)
        return instant.value, instant.location
    return value, "UTC"


def _from_connect(value: str, mysql_type: MySqlType) -> str:
    if mysql_type.base in _WITH_FRACTION:
        digits = mysql_type.fraction_digits
        found = _FRACTION.search(value)
        fraction = ((found and found[1]) or "").ljust(6, "0")[:digits]
        whole = _FRACTION.sub("", value)
        return f"{whole}.{fraction}" if digits else whole
    if mysql_type.base == "bit":
        flags = {"true": "1", "false": "0"}
        return str(int(flags.get(value, value) or "0", 2))
    if mysql_type.base == "enum":
        # No member is the empty text, which MySQL numbers 0.
        return str(("", *mysql_type.elements).index(value))
    if mysql_type.base == "set":
        chosen = value.split(",") if value else []
        return str(sum(1 << mysql_type.elements.index(member) for member in chosen))
    return value


def to_wire(
    text: str | None, mysql_type: MySqlType, form: str, zone: str
) -> str | None:
    """Return a value of Canal-JSON's form in that of a message.

    Args:
        text: The value; None for NULL.
        mysql_type: Its type.
        form: `CANAL`, `SIMPLE` or `CONNECT`.
        zone: The zone in which an instant is written.
    """
    if text is None or form == CANAL:
        return text
    if form == CONNECT:
        return _to_connect(text, mysql_type)
    if mysql_type.is_binary:
        return base64.b64encode(text.encode("latin-1")).decode()
    if mysql_type.base == "timestamp":
        return msgspec.json.encode(_Instant(zone, text)).decode()
    return text


def _to_connect(text: str, mysql_type: MySqlType) -> str:
    if mysql_type.base in _WITH_FRACTION:
        whole, _, fraction = text.partition(".")
        instant = "Z" if mysql_type.base == "timestamp" else ""
        return f"{whole}.{fraction.ljust(6, '0')}{instant}"
    if mysql_type.base == "bit":
        return f"{int(text):0{mysql_type.length or 1}b}"
    if mysql_type.base == "enum":
        return ("", *mysql_type.elements)[int(text)]
    if mysql_type.base == "set":
        return ",".join(
            member
            for place, member in enumerate(mysql_type.elements)
            if int(text) >> place & 1
        )
    return text


def convert_as_sent(
    value: str | None, from_type: str, to_type: str, form: WireForm
) -> str | None:
    """Return what a column holds after its type was changed, as a message has it.

    What no rule of ours converts stays: the source did convert it, so its rules are
    others.

    Args:
        value: The value before, as the message has it; None for NULL.
        from_type: MySQL type before.
        to_type: MySQL type after.
        form: `CANAL`, `SIMPLE` or `CONNECT`.
    """
    if value is None:
        return None
    old, new = parse_mysql_type(from_type), parse_mysql_type(to_type)
    try:
        text, zone = from_wire(value, old, form)
        return to_wire(convert_value(text, old, new, strict=False), new, form, zone)
    except ValueError:
        return value
