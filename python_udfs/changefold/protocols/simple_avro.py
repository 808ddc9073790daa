"""Decode one message of TiCDC's Simple protocol, in its Avro encoding.

A message says the same as in the JSON encoding, so it is turned into that: the fields go
through the checks of `simple_json`, and the images of a row become the JSON text that the
JSON encoding has of them, byte for byte.

One thing is left to who knows the types of the columns: a value of a BIT(64), or of a SET
of 64 members, that is 2^63 or more arrives as a number below zero, the same 64 bits,
where JSON has the number itself.

The schema (``simple_avro_schema.json``) describes TiCDC's bytes, not its types: where
fastavro would give back less than what is there, it has another type of the same bytes.
fastavro also reads some bytes that no encoder writes: an index below zero counts from the
end of its union, and a number may have digits that are not needed.
"""

import json
import math
import re
from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from importlib.resources import files
from io import BytesIO
from typing import Any, Final, cast

import fastavro
import msgspec
import pyarrow as pa

from changefold.errors import CdcDecodeError
from changefold.json.encode import member_path, shorten
from changefold.json.fields import Json, check_column_name
from changefold.json.parse import require_value
from changefold.mysql.text_protocol import shortest_float32
from changefold.protocols.batch import binaries, struct_array
from changefold.protocols.compression import decompress
from changefold.protocols.simple_json import (
    SIMPLE_TYPE,
    SimpleMessage,
    read_fields,
    require_images,
)

__all__ = ["SCHEMA", "parse_batch", "read_simple_avro"]


def parse_batch(values: pa.Array) -> pa.StructArray:
    """Decode messages. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        values: The values of Kafka records, of type binary or one that Arrow casts
            to it.

    Returns:
        One struct of type `SIMPLE_TYPE` per value, in the same order.
    """
    messages = [read_simple_avro(value) for value in binaries(values)]
    return struct_array(messages, SIMPLE_TYPE)


def read_simple_avro(value: bytes | None) -> SimpleMessage:
    """Decode one message, without raising.

    Args:
        value: The value of the Kafka record.

    Returns:
        What `simple_json.read_simple` returns for the same message in JSON; of kind
        ``invalid``, with its error, if it is not what the specification says. The
        places of errors are those in JSON.
    """
    message = SimpleMessage()
    try:
        fields = _read_record(require_value(decompress(value, _START)))
        event_kind = read_fields(message, fields, database_field="database")
        if event_kind == "row":
            _read_images(message, fields)
        message.event_kind = event_kind
    except CdcDecodeError as error:
        message.error = error.by_itself()
    return message


# ------------------------------------------------------------------------- bytes

SCHEMA: Final[list[dict[str, Any]]] = json.loads(
    files("changefold.protocols").joinpath("simple_avro_schema.json").read_text("utf-8")
)
"""The Avro schema of a message: a union, the last of its records is ``Message``."""

_MESSAGE_SCHEMA: Final = cast("list[Any]", fastavro.parse_schema(SCHEMA))[-1]

# A number n of Avro, if it is small, is the byte 2n.
_MESSAGE_INDEX: Final = 2 * (len(SCHEMA) - 1)
_START: Final = bytes([_MESSAGE_INDEX])
_KINDS: Final = {0: "WATERMARK", 2: "BOOTSTRAP", 4: "DDL", 6: "DML"}


def _read_record(value: bytes) -> dict[str, Any]:
    """Return the payload, with the fields that it has in JSON."""
    kind = _read_kind(value)
    stream = BytesIO(value)
    stream.seek(1)
    try:
        record = fastavro.schemaless_reader(stream, _MESSAGE_SCHEMA, None)
    except UnicodeDecodeError as error:
        place = stream.tell() - len(error.object) + error.start
        raise CdcDecodeError(
            "not_utf8",
            "$",
            f"Expected UTF-8, got byte 0x{value[place]:02X} at byte {place}",
        ) from None
    except IndexError:
        # Also raised for a number that ends too early.
        if stream.tell() == len(value) and value[-1] >= 0x80:
            raise _truncated(value) from None
        raise _not_simple(
            "$",
            "Expected Avro of the Simple protocol, got an index that its schema does "
            f"not have, before byte {stream.tell()}",
        ) from None
    except EOFError:
        raise _truncated(value) from None
    left = len(value) - stream.tell()
    if left:
        raise CdcDecodeError(
            "trailing_bytes",
            "$",
            f"Expected the end of the message, got {left} more bytes at byte "
            f"{stream.tell()}",
        )
    fields: dict[str, Any] = cast("dict[str, Any]", record)["payload"]
    if kind in {"WATERMARK", "BOOTSTRAP"}:
        fields["type"] = kind
    if kind == "BOOTSTRAP":
        fields["commitTs"] = 0
    for name in ("tableSchema", "preTableSchema"):
        if fields.get(name) is not None:
            for column in fields[name]["columns"]:
                column["default"] = _default(column)
    return fields


def _read_kind(value: bytes) -> str:
    """Return the kind of a message; what comes first is in single bytes."""
    if len(value) < 3:
        raise _truncated(value)
    index, kind, payload = value[:3]
    if index != _MESSAGE_INDEX:
        if index == 0:
            raise CdcDecodeError(
                "schema_registry_header",
                "$",
                "Expected Avro without a header, got the magic byte 0 of a schema "
                "registry",
            )
        raise _not_simple(
            "$", f"Expected a message (byte 0x{_MESSAGE_INDEX:02X}), got 0x{index:02X}"
        )
    if kind not in _KINDS:
        raise _not_simple(
            "$.type", f"Expected a type of message, got byte 0x{kind:02X}"
        )
    if payload != kind:
        got = _KINDS.get(payload, f"byte 0x{payload:02X}")
        raise _not_simple(
            "$.payload", f"Expected the payload of a {_KINDS[kind]}, got {got}"
        )
    return _KINDS[kind]


def _truncated(value: bytes) -> CdcDecodeError:
    return CdcDecodeError(
        "truncated_avro", "$", f"Expected more bytes after {len(value)}, got the end"
    )


def _not_simple(path: str, message: str) -> CdcDecodeError:
    return CdcDecodeError("not_simple_avro", path, message)


_ESCAPED_BYTE: Final = re.compile("[\udc80-\udcff]")


def _default(column: Json) -> str | None:
    """Return a default value as JSON has it: bytes that are no UTF-8 are lost there."""
    default: bytes | None = column["default"]
    if default is None:
        return None
    if column["dataType"]["mysqlType"] == "bit":
        return str(int.from_bytes(default, "big"))
    return _ESCAPED_BYTE.sub("\ufffd", default.decode("utf-8", "surrogateescape"))


# ------------------------------------------------------------------------ values

_UINT64: Final = 2**64 - 1
_encode: Final = msgspec.json.Encoder(order="sorted").encode
# Go escapes these, so that JSON can stand within HTML and JavaScript.
_ESCAPES: Final = {
    character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"
}
_ESCAPED: Final = re.compile(f"[{''.join(_ESCAPES)}]")

_Value = str | dict[str, str] | None


def _read_images(message: SimpleMessage, fields: dict[str, Any]) -> None:
    for name in ("data", "old"):
        if fields[name] is not None:
            fields[name] = _image(fields[name], f"$.{name}")
    require_images(fields, str(message.event_type))
    message.data = _image_text(fields["data"])
    message.old = _image_text(fields["old"])


def _image(members: list[dict[str, Any]], path: str) -> dict[str, _Value]:
    """Return the values of a row in the forms that they have in JSON."""
    image: dict[str, _Value] = {}
    for member in members:
        name = member["name"]
        check_column_name(name, path)
        if name in image:
            raise CdcDecodeError(
                "duplicate_key",
                member_path(path, name),
                f"Expected each key once, got `{shorten(name)}` twice",
            )
        value = member["value"]
        if isinstance(value, str) or value is None:
            image[name] = value
        elif isinstance(value, int):
            image[name] = str(value)
        elif isinstance(value, bytes):
            image[name] = b64encode(value).decode()
        elif isinstance(value, float):
            image[name] = _float_text(value, repr, member_path(path, name))
        elif "location" in value:
            image[name] = value
        elif "single" in value:
            place = member_path(path, name)
            image[name] = _float_text(value["single"], shortest_float32, place)
        else:
            image[name] = str(value["value"] & _UINT64)
    return image


def _float_text(number: float, digits: Callable[[float], str], path: str) -> str:
    """Return the shortest digits that give back a number, without exponent, as Go."""
    if not math.isfinite(number):
        raise CdcDecodeError(
            "out_of_range", path, f"Expected a finite number, got `{number}`"
        )
    text = f"{Decimal(digits(number)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _image_text(image: dict[str, _Value] | None) -> str | None:
    if image is None:
        return None
    text: str = _encode(image).decode()
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], text)
