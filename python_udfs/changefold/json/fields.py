"""Read the fields of an object that was parsed, and say what is wrong with them.

What is refused is told with its place, in sentences of one form.
"""

from collections.abc import Mapping
from typing import Any, Final

from changefold.errors import CdcDecodeError
from changefold.json.encode import NumberToken, shorten

__all__ = [
    "MAX_INT64",
    "MAX_MILLISECONDS",
    "MAX_NAME_LENGTH",
    "Json",
    "check_column_name",
    "missing",
    "read_bool",
    "read_int64",
    "read_milliseconds",
    "read_string",
    "required",
    "wrong_type",
]

MAX_INT64: Final = 2**63 - 1
"""Largest number of a message: Spark has no unsigned integers."""

MAX_MILLISECONDS: Final = 10**13 - 1
"""Last time of a message, in the year 2286: change sequences have 13 digits for it, and
Spark refuses one whose microseconds exceed 64 bits."""

MAX_NAME_LENGTH: Final = 10_000
"""Longest name of a column. Spark's ``from_json`` reads none beyond 50,000 characters, and
no database has one of 300."""

Json = Mapping[str, Any]
"""An object of a message that was parsed."""


def required(fields: Json, name: str, expected: str, parent: str = "$") -> object:
    """Return a field that must be there, of any type.

    Args:
        fields: The object.
        name: The field.
        expected: Its type, for the error.
        parent: Where the object lies in the message.

    Raises:
        CdcDecodeError: If the object has no such field.
    """
    if name not in fields:
        raise missing(expected, f"{parent}.{name}", fields, name)
    return fields[name]


def read_string(fields: Json, name: str, parent: str = "$") -> str:
    """Return a field that must be text; the arguments are those of `required`."""
    text = required(fields, name, "str", parent)
    if not isinstance(text, str) or isinstance(text, NumberToken):
        raise wrong_type("str", text, f"{parent}.{name}")
    return text


def read_bool(fields: Json, name: str, parent: str = "$") -> bool:
    """Return a field that must be a bool; the arguments are those of `required`."""
    flag = required(fields, name, "bool", parent)
    if not isinstance(flag, bool):
        raise wrong_type("bool", flag, f"{parent}.{name}")
    return flag


def read_int64(
    fields: Json, name: str, parent: str = "$", *, maximum: int = MAX_INT64
) -> int:
    """Return a field that must be a whole number from 0 to `maximum`."""
    number = required(fields, name, "int", parent)
    path = f"{parent}.{name}"
    if not isinstance(number, int) or isinstance(number, bool):
        raise wrong_type("int", number, path)
    if not 0 <= number <= maximum:
        raise CdcDecodeError(
            "out_of_range",
            path,
            f"Expected `int` from 0 to {maximum}, got {shorten(str(number))}",
        )
    return number


def read_milliseconds(fields: Json, name: str, parent: str = "$") -> int:
    """Return a field that must be a time from 0 to `MAX_MILLISECONDS`."""
    return read_int64(fields, name, parent, maximum=MAX_MILLISECONDS)


def check_column_name(name: str, path: str) -> None:
    """Refuse a name that SQL could not read.

    Args:
        name: Name of a column.
        path: Where the column lies in the message.

    Raises:
        CdcDecodeError: If the name is longer than `MAX_NAME_LENGTH`.
    """
    if len(name) > MAX_NAME_LENGTH:
        raise CdcDecodeError(
            "name_too_long",
            path,
            f"Expected a name of at most {MAX_NAME_LENGTH} characters, got {len(name)}",
        )


def missing(expected: str, path: str, fields: Json, name: str) -> CdcDecodeError:
    """Return the error of a field that is not there, or null where it may not be."""
    got = "`null`" if name in fields else "no such field"
    return CdcDecodeError("missing_field", path, f"Expected `{expected}`, got {got}")


def wrong_type(expected: str, value: object, path: str) -> CdcDecodeError:
    """Return the error of a value that is of another type than expected."""
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
    if isinstance(value, NumberToken):
        return "int" if value.lstrip("-").isdigit() else "float"
    return type(value).__name__
