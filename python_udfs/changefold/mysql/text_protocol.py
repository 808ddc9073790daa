"""Typed values as MySQL's text protocol prints them.

The tables that this project builds hold typed values. To compare them with what
the source database answers, each value is printed as that database prints it.

Nothing is rounded here: a value with more digits than its column declares is
printed with all of them, so that a comparison shows it.
"""

import datetime as dt
import struct
from decimal import Decimal
from typing import Final

from changefold.mysql.types import MySqlType

__all__ = ["HexText", "float_text", "shortest_float32", "to_mysql_text"]

HexText = dict[str, str]
"""``{"$hex": "00ff"}``: the bytes of a column whose protocol type is binary."""

_FLOAT32: Final = struct.Struct("<f")


def to_mysql_text(
    value: object, mysql_type: MySqlType, *, pad_zerofill: bool = False
) -> str | HexText | None:
    """Return the text that the source database shows for a typed value.

    Args:
        value: What was read from a built table: ``int``, ``Decimal``, ``float``,
            ``str``, ``date``, ``datetime`` (naive, or aware for TIMESTAMP), bytes.
            A ``str`` is taken as already printed: what Spark cannot hold as a typed
            value (zero dates, TIME, decimals above 38 digits) comes as text.
        mysql_type: The declared type of the column.
        pad_zerofill: Pad ZEROFILL numbers to their width, as MySQL and MariaDB do.
            TiDB prints them without.

    Returns:
        The text; ``{"$hex": ...}`` for BINARY, VARBINARY, BLOB and BIT; ``None`` for
        NULL. TIMESTAMP is printed in UTC.

    Raises:
        TypeError: If a value of this Python type cannot be in such a column.
        ValueError: If a BIT value is negative.
    """
    if value is None:
        return None
    if mysql_type.base == "bit":
        return {"$hex": _bit_bytes(value, mysql_type).hex()}
    if isinstance(value, bytes | bytearray):
        return {"$hex": _padded_bytes(value, mysql_type).hex()}
    if mysql_type.is_binary:
        raise _unexpected("bytes", value, mysql_type)
    text = _text(value, mysql_type)
    return _zero_filled(text, mysql_type) if pad_zerofill else text


def _text(value: object, mysql_type: MySqlType) -> str:
    base = mysql_type.base
    if base == "decimal":
        return _decimal_text(value, mysql_type)
    match value:
        case str():
            text = value
        case dt.datetime() if base in {"datetime", "timestamp"}:
            text = _datetime_text(value, mysql_type.fraction_digits)
        case dt.date() if base == "date" and not isinstance(value, dt.datetime):
            text = _date_text(value)
        case float() | int() if base in {"float", "double"}:
            text = float_text(value, single=base == "float")
        case int() if base == "year":
            text = f"{value:04}"
        case int() if mysql_type.is_integer:
            text = str(int(value))  # int(): a boolean of Spark is the number 0 or 1
        case Decimal() if mysql_type.is_integer:
            text = f"{value:f}"
        case _:
            raise _unexpected("a value of that type or its text", value, mysql_type)
    return text


def _decimal_text(value: object, mysql_type: MySqlType) -> str:
    if not isinstance(value, Decimal | int | str):
        raise _unexpected("Decimal, int or str", value, mysql_type)
    text = f"{Decimal(value):f}"
    if not text.strip("-0."):
        text = text.lstrip("-")  # MySQL has no negative zero
    if mysql_type.scale is None:
        return text
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0").ljust(mysql_type.scale, "0")
    return f"{whole}.{fraction}" if fraction else whole


def float_text(value: float, *, single: bool = False) -> str:
    """Return the shortest text that reads back as the same FLOAT or DOUBLE.

    Plain notation between 1e-15 and 1e15 and ``1e15`` outside, as TiDB prints it.

    Args:
        value: The number; a FLOAT may come widened to double precision.
        single: The column is a FLOAT (float32), not a DOUBLE.

    Returns:
        ``0.1``, ``16777216``, ``-1e15``, ``5e-324``.
    """
    exact = Decimal(shortest_float32(value) if single else repr(float(value)))
    if not exact.is_finite():
        return str(exact)
    if not exact:
        return "0"
    if Decimal("1e-15") <= abs(exact) < Decimal("1e15"):
        text = f"{exact:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{exact:e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


def shortest_float32(value: float) -> str:
    """Return the shortest decimal text whose nearest float32 is that of ``value``.

    Raises:
        OverflowError: If ``value`` is beyond the range of a float32.
    """
    single = _FLOAT32.pack(value)
    # Nine significant digits always identify a float32 (IEEE 754).
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        try:
            if _FLOAT32.pack(float(text)) == single:
                return text
        except OverflowError:  # rounded up beyond the largest float32
            continue
    return f"{value:.9g}"


def _date_text(value: dt.date) -> str:
    # strftime("%Y") does not pad years below 1000 on every platform.
    return f"{value.year:04}-{value.month:02}-{value.day:02}"


def _datetime_text(value: dt.datetime, digits: int) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC)
    text = f"{_date_text(value)} {value:%H:%M:%S}"
    fraction = f"{value.microsecond:06}".rstrip("0").ljust(digits, "0")
    return f"{text}.{fraction}" if fraction else text


def _bit_bytes(value: object, mysql_type: MySqlType) -> bytes:
    width = ((mysql_type.length or 1) + 7) // 8
    if isinstance(value, bytes | bytearray):
        return bytes(value).rjust(width, b"\0")
    if not isinstance(value, int | Decimal):
        raise _unexpected("int, Decimal or bytes", value, mysql_type)
    number = int(value)
    if number != value or number < 0:
        raise ValueError(f"Expected a whole number >= 0 for BIT, got {value}")
    return number.to_bytes(max(width, (number.bit_length() + 7) // 8), "big")


def _padded_bytes(value: bytes | bytearray, mysql_type: MySqlType) -> bytes:
    if mysql_type.base != "binary":
        return bytes(value)
    return bytes(value).ljust(mysql_type.length or 0, b"\0")


def _zero_filled(text: str, mysql_type: MySqlType) -> str:
    if not mysql_type.zerofill or mysql_type.length is None:
        return text
    # The point of a DECIMAL is not counted in its length.
    has_point = mysql_type.base == "decimal" and bool(mysql_type.scale)
    return text.zfill(mysql_type.length + has_point)


def _unexpected(expected: str, value: object, mysql_type: MySqlType) -> TypeError:
    return TypeError(
        f"Expected {expected}, got `{type(value).__name__}`"
        f" - in a column of type `{mysql_type}`"
    )
