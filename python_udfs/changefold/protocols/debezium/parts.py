"""Keys and values without their wrapper: a payload, and its schema if there is one.

Of a member that an object has twice, which no converter writes, the last one counts, as
for most readers of JSON.

The converter writes the schema into every message. Its bytes are parsed once, so a message
with a known schema costs what one without costs.
"""

import contextlib
from bisect import bisect, insort
from typing import Any, Final, NamedTuple

import msgspec

from changefold.errors import CdcDecodeError
from changefold.json.encode import NumberToken, token_text
from changefold.json.fields import wrong_type
from changefold.json.parse import strict_tokens

__all__ = ["Part", "cut_schema", "decode_object", "read_part", "read_strictly"]


class Part(NamedTuple):
    """A key or a value without its wrapper.

    Attributes:
        payload: What it says.
        path: Where that lies in the message.
        schema: JSON text of the schema; ``None`` without one.
    """

    payload: Any
    path: str
    schema: bytes | None


class _Wrapper(msgspec.Struct):
    schema: msgspec.Raw = msgspec.Raw()
    payload: msgspec.Raw = msgspec.Raw()


_decode_wrapper: Final = msgspec.json.Decoder(_Wrapper).decode
decode_object: Final = msgspec.json.Decoder(
    dict[str, Any], float_hook=NumberToken
).decode

_SCHEMA: Final = b'{"schema":'
_MAX_SCHEMA: Final = 256 * 1024
"""Longer schemas are parsed each time, so that the caches stay small."""
_MAX_HEADS: Final = 4096


class _Heads:
    """What messages begin with, up to their payload, and the schemas in it."""

    def __init__(self) -> None:
        self._heads: list[bytes] = []
        self._schemas: dict[bytes, bytes | None] = {}

    def cut(self, value: bytes) -> tuple[bytes | None, bytes]:
        """Return schema and payload.

        Raises:
            ValueError: If it is not those two and no more.
        """
        # No head is the beginning of another, so the last one that is not behind the
        # value in the order of bytes is the only one that it may begin with.
        place = bisect(self._heads, value)
        head = self._heads[place - 1] if place else b""
        if not place or not value.startswith(head):
            head = self._learn(value)
        if not value.endswith(b"}"):
            raise ValueError("Expected a schema and a payload")
        return self._schemas[head], value[len(head) : -1]

    def _learn(self, value: bytes) -> bytes:
        wrapper = _decode_wrapper(value)
        schema, payload = bytes(wrapper.schema), bytes(wrapper.payload)
        head = b'{"schema":%b,"payload":' % schema
        # So there is no other field, and none twice.
        is_whole = head + payload + b"}" == value
        is_known = schema == b"null" or schema.startswith(b'{"')
        if not is_whole or not is_known or len(schema) > _MAX_SCHEMA:
            raise ValueError("Expected a schema and a payload")
        if len(self._heads) >= _MAX_HEADS:
            self._heads.clear()
            self._schemas.clear()
        insort(self._heads, head)
        self._schemas[head] = None if schema == b"null" else schema
        return head


_heads: Final = _Heads()


def cut_schema(value: bytes) -> tuple[bytes | None, bytes, str]:
    """Return the schema of a key or value, the bytes of its payload, and their place.

    Args:
        value: The key or value; without a schema, all of it is the payload.

    Raises:
        ValueError: If it is not written as the converter does, or is no JSON.
    """
    if not value.startswith(_SCHEMA):
        return None, value, ""
    return *_heads.cut(value), ".payload"


def read_part(value: bytes, path: str) -> Part:
    """Read a key or value.

    Args:
        value: The key or value.
        path: Its place in errors.

    Raises:
        CdcDecodeError: If it is no object of JSON.
    """
    try:
        schema, text, place = cut_schema(value)
        payload = decode_object(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return read_strictly(value, path)
    if place or not payload.keys() <= {"schema", "payload"}:
        return Part(payload, path + place, schema)
    return read_strictly(value, path)


def read_strictly(value: bytes, path: str) -> Part:
    """Read a key or value as `read_part` does, and say exactly what is wrong."""
    with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
        schema, text, place = cut_schema(value)
        if schema is not None:
            return Part(strict_tokens(text, is_each_once=False), path + place, schema)
    # The whole message tells the place.
    document = strict_tokens(value, is_each_once=False)
    if not isinstance(document, dict):
        raise wrong_type("object", document, path)
    if not document.keys() <= {"schema", "payload"} or not document:
        return Part(document, path, None)
    schema = document.get("schema")
    if "payload" not in document:
        if not _is_schema(schema):
            return Part(document, path, None)
        raise CdcDecodeError(
            "missing_payload",
            f"{path}.payload",
            "Expected a payload beside the schema, got no such field",
        )
    payload = document["payload"]
    if schema is None and (payload is None or isinstance(payload, dict)):
        return Part(payload, f"{path}.payload", None)
    if not _is_schema(schema):
        # A row whose columns have these names.
        return Part(document, path, None)
    return Part(payload, f"{path}.payload", token_text(schema).encode())


def _is_schema(schema: object) -> bool:
    return isinstance(schema, dict) and isinstance(schema.get("type"), str)
