"""Turn decoded messages into the Arrow array that SQL sees."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from types import NoneType
from typing import Final, NamedTuple, get_args, get_type_hints

import msgspec
import numpy as np
import pyarrow as pa

from changefold.errors import CdcDecodeError

__all__ = [
    "Piece",
    "binaries",
    "columns_of",
    "error_fields",
    "join_pieces",
    "spark_type",
    "struct_array",
    "struct_type",
]

_ERROR_TYPE: Final = pa.struct(
    [
        pa.field("class", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
    ]
)
"""Type of the field ``error``: the attributes of a `CdcDecodeError`."""

_TYPES: Final = {int: pa.int64(), bool: pa.bool_(), CdcDecodeError: _ERROR_TYPE}


def struct_type(message: type[msgspec.Struct], **others: pa.DataType) -> pa.StructType:
    """Return the Arrow type of a decoded message, by the annotations of its class.

    Args:
        message: The class.
        others: Types of fields that are neither texts, integers, bools nor the error.
    """
    fields = []
    for name, hint in get_type_hints(message).items():
        # `X | None`, or a type that is never null, such as `Literal`.
        kinds = set(get_args(hint)) if NoneType in get_args(hint) else {hint}
        is_nullable = NoneType in kinds
        known = [_TYPES[kind] for kind in kinds if kind in _TYPES]
        type_ = others.get(name) or (known[0] if known else pa.string())
        fields.append(pa.field(name, type_, nullable=is_nullable))
    return pa.struct(fields)


def spark_type(type_: pa.DataType) -> str:
    """Return the type as Spark and the yml of a function write it."""
    if pa.types.is_struct(type_):
        fields = (f"{field.name}: {spark_type(field.type)}" for field in type_)
        return f"struct<{', '.join(fields)}>"
    if pa.types.is_list(type_):
        return f"array<{spark_type(type_.value_type)}>"
    return {pa.int64(): "bigint", pa.bool_(): "boolean"}.get(type_, "string")


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
    """Yield the columns of messages and their names; arguments as in `struct_array`."""
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
