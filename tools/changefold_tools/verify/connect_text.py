"""Typed values of a column as the text that `connect.values` writes for its type.

The inverse of what the models do with a message's texts. A value that its Spark type can
not hold is not here: its text lies in ``_cdc_conversion_failures``.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from changefold.connect.types import ConnectType

__all__ = ["to_connect_text"]

_MICROSECONDS: Final = re.compile(r"[+]?(-?[0-9-]+ [0-9:]{8}[.][0-9]{6})")
_DATES: Final = frozenset({"Date", "IsoDate", "StructuredDate"})
_INSTANTS: Final = frozenset({"ZonedTimestamp", "StructuredZonedTimestamp"})
_SINGLE: Final = frozenset({"float", "float32"})
_WHOLE: Final = frozenset({"int8", "int16", "int32", "int64", "uint64", "Year"})


def to_connect_text(value: object, type_: ConnectType) -> str | None:
    """Return the text of a value.

    Args:
        value: What was read from a built table: ``int``, ``Decimal``, ``float``,
            ``bool``, ``str``, bytes. Days and moments are texts as Spark prints them,
            moments with six digits behind the second, of an instant the wall clock of
            UTC.
        type_: The type of the column when the value was written.

    Returns:
        The text; ``None`` for null.

    Raises:
        TypeError: If a value of this Python type can not be in such a column.
    """
    match value:
        case None:
            text = None
        case str():
            text = _moment(value, type_)
        case bool():
            text = "true" if value else "false"
        case bytes() | bytearray():
            text = bytes(value).decode("latin-1")
        case int():
            text = _digits(Decimal(value), type_)
        case Decimal():
            text = _digits(value, type_)
        case float():
            text = _number(value, type_)
        case _:
            raise TypeError(
                f"Expected a value of `{type_}`, got `{type(value).__name__}`"
            )
    return text


def _digits(value: Decimal, type_: ConnectType) -> str:
    text = f"{value:f}"
    if type_.base == "Decimal" and type_.scale is not None and type_.scale >= 0:
        # The column may hold more, if the scale was another before.
        whole, _, fraction = text.partition(".")
        fraction = fraction.rstrip("0").ljust(type_.scale, "0")
        return f"{whole}.{fraction}" if fraction else whole
    if type_.base in _WHOLE and "." in text:
        return text.rstrip("0").rstrip(".")
    return text


_WORDS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _number(value: float, type_: ConnectType) -> str:
    text = str(np.float32(value)) if type_.base in _SINGLE else repr(value)
    return _WORDS.get(text, text)


def _moment(text: str, type_: ConnectType) -> str:
    found = _MICROSECONDS.fullmatch(text)
    if found is not None and type_.base in _INSTANTS:
        return found[1] + "Z"
    if found is not None and type_.base == "NanoTimestamp":
        return found[1] + "000"
    is_time = found is not None or type_.base in _DATES
    # Spark writes a sign before a year of five digits.
    return text.removeprefix("+") if is_time else text
