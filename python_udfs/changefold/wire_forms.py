"""The text forms in which protocols send values, to and from that of Canal-JSON.

Conversions between MySQL types know one form. Canal-JSON writes bytes as the characters
of the same numbers and an instant as a wall clock; TiCDC's Simple protocol writes bytes
in base64 and an instant as a JSON object with its zone. All else they write alike.
"""

import base64
import binascii
from typing import Final

import msgspec

from changefold.mysql_types import MySqlType

__all__ = ["CANAL", "SIMPLE", "from_wire", "to_wire"]

CANAL: Final = "canal"
SIMPLE: Final = "simple"


class _Instant(msgspec.Struct):
    location: str
    value: str


def from_wire(value: str, mysql_type: MySqlType, form: str) -> tuple[str, str]:
    """Return a value in Canal-JSON's form.

    Args:
        value: As the message has it.
        mysql_type: Its type.
        form: `CANAL` or `SIMPLE`.

    Returns:
        The text, and the zone of an instant; UTC for all else.

    Raises:
        ValueError: If it is not of that form.
    """
    if form == SIMPLE and mysql_type.is_binary:
        try:
            return base64.b64decode(value, validate=True).decode("latin-1"), "UTC"
        except binascii.Error as error:
            raise ValueError(f"Expected base64, got `{value[:60]}`") from error
    if form == SIMPLE and mysql_type.base == "timestamp":
        instant = msgspec.json.decode(value, type=_Instant)
        return instant.value, instant.location
    return value, "UTC"


def to_wire(
    text: str | None, mysql_type: MySqlType, form: str, zone: str
) -> str | None:
    """Return a value of Canal-JSON's form in that of a message.

    Args:
        text: The value; None for NULL.
        mysql_type: Its type.
        form: `CANAL` or `SIMPLE`.
        zone: The zone in which an instant is written.
    """
    if text is None or form != SIMPLE:
        return text
    if mysql_type.is_binary:
        return base64.b64encode(text.encode("latin-1")).decode()
    if mysql_type.base == "timestamp":
        return msgspec.json.encode(_Instant(zone, text)).decode()
    return text
