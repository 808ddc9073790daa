"""Decoded messages as the rows that a batch of them has."""

from typing import Any

import msgspec

from changefold.protocols.batch import error_fields


def as_row(message: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a message as Arrow gives them back."""
    row: dict[str, Any] = {
        name: getattr(message, name) for name in message.__struct_fields__
    }
    return row | {"error": error_fields(row["error"])}
