"""What stands for a value that a connector was not sent itself."""

import binascii
import hashlib
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from changefold.connect.types import connect_type
from changefold.json.fields import Json

__all__ = ["UNAVAILABLE", "Markers", "any_markers", "markers_of"]

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""What a connector sends for a column that it was not sent itself, such as an unchanged
TOAST column; the default of its option ``unavailable.value.placeholder``."""


class Markers(NamedTuple):
    """What stands for an unavailable value, whatever the type.

    Attributes:
        texts: Texts.
        nodes: Arrays and objects.
    """

    texts: frozenset[object] = frozenset()
    nodes: tuple[object, ...] = ()


_MAX_MARKED_SCALE: Final = 38


@lru_cache(maxsize=64)
def any_markers(placeholder: str, scale: int = 0) -> Markers:
    """Return what stands for an unavailable value of unknown type.

    Source: Debezium's `UnchangedToastedPlaceholder`, and its pull request 7815 for
    arrays of numbers other than integers.

    Args:
        placeholder: The text.
        scale: Digits behind the point, of an array of decimals.
    """
    octets = placeholder.encode()
    base64 = binascii.b2a_base64(octets, newline=False).decode()
    # As Java's nameUUIDFromBytes.
    digest = hashlib.md5(octets, usedforsecurity=False).digest()
    uuid = str(UUID(bytes=digest, version=3))
    # Java's bytes have a sign.
    codes = [octet - 256 if octet > 127 else octet for octet in octets]
    plain = [_number_base64(code) for code in codes]
    factor = scale if 0 < scale <= _MAX_MARKED_SCALE else 0
    texts = {
        *(placeholder, base64, base64.replace("+", "-").replace("/", "_")),
        octets.hex(),
        _text_map(placeholder),
    }
    arrays = (
        *([placeholder], [base64], [uuid], codes),
        # A NumberToken equals the text of its digits.
        [f"{code}.0" for code in codes],
        [{"scale": 0, "value": text} for text in plain],
        *([plain] if scale == 0 else []),
        [_number_base64(code * 10**factor) for code in codes],
    )
    return Markers(frozenset(texts), ({placeholder: placeholder}, *arrays))


def _text_map(placeholder: str) -> str:
    return '{"' + placeholder + '":"' + placeholder + '"}'


def _number_base64(number: int) -> str:
    """Return a number as Java's BigInteger has it, in base64."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    octets = number.to_bytes(size, "big", signed=True)
    return binascii.b2a_base64(octets, newline=False).decode()


def markers_of(field: Json, placeholder: str) -> Markers:
    """Return what stands for an unavailable value of a type."""
    texts, nodes = any_markers(placeholder)
    type_ = field.get("type")
    if type_ in {"string", "bytes"}:
        if not str(field.get("name")).endswith(".Json"):
            texts -= {_text_map(placeholder)}
        return Markers(texts)
    if type_ == "map":
        return Markers(nodes=nodes[:1])
    if type_ == "array":
        scale = connect_type(field["items"]).scale or 0
        return Markers(nodes=any_markers(placeholder, scale).nodes[1:])
    return Markers()
