"""Turn decoded messages into the Arrow array that SQL sees."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from changefold.errors import CdcDecodeError

__all__ = [
    "ERROR_TYPE",
    "Piece",
    "binaries",
    "columns_of",
    "error_fields",
    "join_pieces",
    "struct_array",
]

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


def struct_array(
    messages: Sequence[msgspec.Struct], type_: pa.StructType
) -> pa.StructArray:
    """Return one struct a message.

    Args:
        messages: The messages, with a field for each of the type.
        type_: The type of the result.
    """
    arrays = [array for _, array in columns_of(messages, type_)]
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


def columns_of(
    messages: Sequence[msgspec.Struct], type_: pa.StructType
) -> Iterator[tuple[str, pa.Array]]:
    """Yield the columns of messages and their names; the arguments are as above."""
    for field in type_:
        column = map(attrgetter(field.name), messages)
        cells = list(map(error_fields, column) if field.name == "error" else column)
        yield field.name, pa.array(cells, field.type)


class Piece(NamedTuple):
    """Some messages of a batch.

    Attributes:
        places: Which ones.
        columns: Their columns; null where there is none.
    """

    places: list[int]
    columns: Mapping[str, pa.Array]


def join_pieces(pieces: Sequence[Piece], type_: pa.StructType) -> pa.StructArray:
    """Return one struct a message, in the order of the batch.

    Args:
        pieces: All messages of the batch.
        type_: The type of the result.
    """
    places = np.concatenate([np.array(piece.places, np.int64) for piece in pieces])
    order = pa.array(np.argsort(places))
    arrays = []
    for field in type_:
        parts = [
            piece.columns.get(field.name, pa.nulls(len(piece.places), field.type))
            for piece in pieces
        ]
        arrays.append(pa.concat_arrays(parts).take(order))
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


def error_fields(error: CdcDecodeError | None) -> dict[str, str] | None:
    """Return an error as Arrow takes it."""
    if error is None:
        return None
    return {
        "class": error.error_class,
        "path": error.path,
        "message": error.message,
    }
