"""Fields of an envelope that may be missing, read strictly."""

import re
from typing import Final

from changefold.errors import CdcDecodeError
from changefold.json.encode import NumberToken, shorten
from changefold.json.fields import MAX_INT64, MAX_MILLISECONDS, Json, wrong_type

__all__ = ["optional_int", "optional_milliseconds", "optional_text"]

_INT: Final = re.compile(r"-?[0-9]+")


def optional_int(
    fields: Json, name: str, parent: str, *, maximum: int = MAX_INT64
) -> int | None:
    """Return a whole number from 0 to `maximum`, or ``None`` where there is none.

    Args:
        fields: An object of the message, parsed by `strict_tokens`. Some samples of
            Debezium's documentation have numbers as texts: both are read.
        name: The field.
        parent: Where the object lies in the message.
        maximum: The largest number.

    Raises:
        CdcDecodeError: If the field is something else.
    """
    value = fields.get(name)
    if value is None:
        return None
    path = f"{parent}.{name}"
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise wrong_type("int | null", value, path)
    if isinstance(value, str) and _INT.fullmatch(value) is None:
        if isinstance(value, NumberToken):
            raise wrong_type("int | null", value, path)
        raise CdcDecodeError(
            "wrong_type", path, f"Expected `int | null`, got `{shorten(value)}`"
        )
    # Python refuses more than 4300 digits; 40 are far out of range already.
    number = int(value[:40]) if isinstance(value, str) else value
    if not 0 <= number <= maximum:
        raise CdcDecodeError(
            "out_of_range",
            path,
            f"Expected `int` from 0 to {maximum}, got {shorten(str(value))}",
        )
    return number


def optional_milliseconds(fields: Json, name: str, parent: str) -> int | None:
    """Return a time, or ``None`` where there is none; as `optional_int` otherwise."""
    return optional_int(fields, name, parent, maximum=MAX_MILLISECONDS)


def optional_text(fields: Json, name: str, parent: str) -> str | None:
    """Return a text, or ``None`` where there is none; as `optional_int` otherwise."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, NumberToken) or not isinstance(value, str):
        raise wrong_type("str | null", value, f"{parent}.{name}")
    return str(value)
