"""Turn decoded messages into the Arrow array that SQL sees."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec
import pyarrow as pa

from changefold.errors import CdcDecodeError

__all__ = ["ERROR_TYPE", "binaries", "struct_array"]

ERROR_TYPE: Final = pa.struct(
    [
        pa.field("class", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
    ]
)
"""Type of the field ``error``: the attributes of a `CdcDecodeError`."""


def binaries(values: pa.Array) -> list[bytes | None]:
    """Return the keys or values of Kafka records, whatever type of bytes they have."""
    listed: list[bytes | None] = values.cast(pa.binary()).to_pylist()
    return listed


def struct_array(messages: Sequence[msgspec.Struct], type_: pa.StructType) -> pa.Array:
    """Return one struct a message.

    Args:
        messages: The messages, with a field for each of the type.
        type_: The type of the result.
    """
    arrays = []
    for field in type_:
        column = map(attrgetter(field.name), messages)
        cells = list(map(_error, column) if field.name == "error" else column)
        arrays.append(pa.array(cells, field.type))
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


def _error(error: CdcDecodeError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "class": error.error_class,
        "path": error.path,
        "message": error.message,
    }
