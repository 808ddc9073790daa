"""Whether a change of its type may change the text of a value."""

from __future__ import annotations

from typing import Final

from changefold.mysql.conversion import FLOATS, TEXT_BYTES
from changefold.mysql.types import INTEGER_BITS, TIME_TYPES, MySqlType

_LONGEST: Final = {"char": 1020, "varchar": 65_535, "binary": 255, "varbinary": 65_535}
"""Bytes of the longest value, where a message names a type without its length (MySQL 8.0
reference manual, 13.3)."""


def may_change_text(from_type: MySqlType, to_type: MySqlType) -> bool:
    """Tell whether a change of type can change a value in wire form.

    A refused value does not count: MySQL then refuses the whole statement.

    Args:
        from_type: Type of the column before.
        to_type: Type of the column after.

    Returns:
        False only if `convert_value` gives back every value as it was.
    """
    base = from_type.base
    if base == to_type.base:
        return _same_base_changes(from_type, to_type)
    if from_type.is_integer:
        return _integer_changes(from_type, to_type)
    if base in {"bit", "year", "enum", "set"}:
        is_kept = to_type.is_integer
    elif base == "decimal":
        is_whole = to_type.is_integer and from_type.scale == 0
        is_kept = is_whole or to_type.is_text or _is_bytes_as_written(to_type)
    elif base in FLOATS | TIME_TYPES:
        is_same_time = {base, to_type.base} == {"datetime", "timestamp"} and (
            from_type.fraction_digits == to_type.fraction_digits
        )
        is_kept = is_same_time or to_type.is_text
    elif from_type.is_text:
        is_kept = to_type.is_text and _holds_all(from_type, to_type)
    elif from_type.is_binary:
        is_kept = to_type.is_binary and _holds_all(from_type, to_type)
    else:
        is_kept = base == "json" and to_type.is_text
    return not is_kept


def _same_base_changes(from_type: MySqlType, to_type: MySqlType) -> bool:
    base = from_type.base
    if base in {"enum", "set"}:
        return to_type.elements[: len(from_type.elements)] != from_type.elements
    if base == "decimal":
        return from_type.scale != to_type.scale
    if base in FLOATS:
        return to_type.scale is not None and to_type.scale != from_type.scale
    if base in {"time", "datetime", "timestamp"}:
        return from_type.fraction_digits != to_type.fraction_digits
    if base in {"char", "varchar", "binary", "varbinary"}:
        return not _holds_all(from_type, to_type)
    return False


def _integer_changes(from_type: MySqlType, to_type: MySqlType) -> bool:
    if to_type.base in FLOATS:
        # Digits of the mantissa: 24 bits of a FLOAT, 53 of a DOUBLE.
        mantissa = 24 if to_type.base == "float" else 53
        is_exact = INTEGER_BITS[from_type.base] <= mantissa
        return to_type.scale is not None or not is_exact
    if to_type.base == "decimal":
        return to_type.scale != 0
    is_kept = (
        to_type.is_integer
        or to_type.is_text
        or _is_bytes_as_written(to_type)
        or to_type.base in {"bit", "enum", "set", "json"}
    )
    return not is_kept


def _is_bytes_as_written(kind: MySqlType) -> bool:
    """Tell whether ASCII text stays as it is; BINARY is padded."""
    return kind.is_binary and kind.base != "binary"


def _holds_all(from_type: MySqlType, to_type: MySqlType) -> bool:
    """Tell whether a text or bytes type keeps all values of another as they are."""
    if to_type.base == "char":
        # Trailing spaces get lost, which a CHAR does not have.
        is_shorter = (from_type.length or 0) <= (to_type.length or 0)
        return from_type.base == "char" and is_shorter
    if to_type.base == "binary":
        return from_type == to_type
    if to_type.length is None:
        return _bytes(from_type) <= _bytes(to_type)
    # Counted in characters: a TEXT of n bytes can hold n of them.
    return _characters(from_type) <= to_type.length


def _bytes(kind: MySqlType) -> int:
    if kind.length is not None:
        return kind.length * (4 if kind.is_text else 1)  # utf8mb4
    return _LONGEST.get(kind.base) or TEXT_BYTES.get(kind.base, 1 << 32)


def _characters(kind: MySqlType) -> int:
    return kind.length if kind.length is not None else _bytes(kind)
