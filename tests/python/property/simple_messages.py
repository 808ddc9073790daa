"""Messages of the Simple protocol, and how to write them in both encodings."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from changefold.protocols.simple_json import SimpleMessage

# A field that `change` takes out.
ABSENT: Any = object()


def change(message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    changed = message | fields
    return {name: value for name, value in changed.items() if value is not ABSENT}


def encode(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def as_row(message: SimpleMessage) -> dict[str, Any]:
    """The struct that a batch decoder makes of a message."""
    row: dict[str, Any] = {
        name: getattr(message, name) for name in message.__struct_fields__
    }
    error = message.error
    if error is not None:
        row["error"] = {
            "class": error.error_class,
            "path": error.path,
            "message": error.message,
        }
    return row


# ------------------------------------------------- the samples of the specification


def _column(
    name: str, type_: str, length: int, *, nullable: bool, text: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "dataType": {
            "mysqlType": type_,
            "charset": "utf8mb4" if text else "binary",
            "collate": "utf8mb4_bin" if text else "binary",
            "length": length,
        },
        "nullable": nullable,
        "default": None,
    }


PRIMARY: Final[dict[str, Any]] = {
    "name": "primary",
    "unique": True,
    "primary": True,
    "nullable": False,
    "columns": ["id"],
}

PRE_SCHEMA: Final[dict[str, Any]] = {
    "schema": "simple",
    "table": "user",
    "tableID": 148,
    "version": 447984074911121426,
    "columns": [
        _column("id", "int", 11, nullable=False),
        _column("name", "varchar", 255, nullable=True, text=True),
        _column("age", "int", 11, nullable=True),
        _column("score", "float", 12, nullable=True),
    ],
    "indexes": [PRIMARY],
}

SCHEMA: Final[dict[str, Any]] = PRE_SCHEMA | {
    "version": 447987408682614791,
    "columns": [
        *PRE_SCHEMA["columns"],
        _column("createTime", "timestamp", 19, nullable=True),
    ],
}

DDL: Final[dict[str, Any]] = {
    "version": 1,
    "type": "ALTER",
    "sql": "ALTER TABLE `user` ADD COLUMN `createTime` TIMESTAMP",
    "commitTs": 447987408682614795,
    "buildTs": 1708936343598,
    "tableSchema": SCHEMA,
    "preTableSchema": PRE_SCHEMA,
}

ROW: Final = {"age": "25", "id": "1", "name": "John Doe", "score": "95"}
OLD_ROW: Final = ROW | {"score": "90.5"}

INSERT: Final[dict[str, Any]] = {
    "version": 1,
    "database": "simple",
    "table": "user",
    "tableID": 148,
    "type": "INSERT",
    "commitTs": 447984084414103554,
    "buildTs": 1708923662983,
    "schemaVersion": 447984074911121426,
    "data": OLD_ROW,
}

UPDATE: Final[dict[str, Any]] = {
    **INSERT,
    "type": "UPDATE",
    "commitTs": 447984099186180098,
    "buildTs": 1708923719184,
    "data": ROW,
    "old": OLD_ROW,
}

DELETE: Final = change(
    UPDATE,
    type="DELETE",
    commitTs=447984114259722243,
    buildTs=1708923776484,
    data=ABSENT,
    old=ROW,
)

WATERMARK: Final[dict[str, Any]] = {
    "version": 1,
    "type": "WATERMARK",
    "commitTs": 447984124732375041,
    "buildTs": 1708923816911,
}

BOOTSTRAP: Final[dict[str, Any]] = {
    "version": 1,
    "type": "BOOTSTRAP",
    "commitTs": 0,
    "buildTs": 1708924603278,
    "tableSchema": PRE_SCHEMA | {"table": "new_user"},
}

# ---------------------------------------------------------------------------- Avro


class Raw(NamedTuple):
    """A column's value in Avro: the place of its type in the union, and the bytes."""

    branch: int
    body: bytes


def number(value: int) -> bytes:
    """A zigzag number of seven bits a byte."""
    left = value << 1 if value >= 0 else (-value << 1) - 1
    digits = bytearray()
    while left > 0x7F:
        digits.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*digits, left])


def text(value: str | bytes) -> bytes:
    body = value if isinstance(value, bytes) else value.encode()
    return number(len(body)) + body


def long(value: int) -> Raw:
    return Raw(1, number(value))


def single(value: float) -> Raw:
    return Raw(2, struct.pack("<f", value))


def double(value: float) -> Raw:
    return Raw(3, struct.pack("<d", value))


def string(value: str | bytes) -> Raw:
    return Raw(4, text(value))


def binary(value: bytes) -> Raw:
    return Raw(5, text(value))


def timestamp(location: str, value: str) -> Raw:
    return Raw(6, text(location) + text(value))


def unsigned(value: int) -> Raw:
    return Raw(7, number(value - 2**64 if value >= 2**63 else value))


NULL: Final = Raw(0, b"")


def array(items: Iterable[bytes]) -> bytes:
    blocks = list(items)
    if not blocks:
        return number(0)
    return number(len(blocks)) + b"".join(blocks) + number(0)


def optional(body: bytes | None) -> bytes:
    return number(0) if body is None else number(1) + body


def flag(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def image(values: Mapping[str, Raw]) -> bytes:
    return array(
        text(name) + number(value.branch) + value.body for name, value in values.items()
    )


USER_ROW: Final = {
    "age": long(25),
    "id": long(1),
    "name": string("John Doe"),
    "score": single(95),
}
"""`ROW` in Avro."""

OLD_USER_ROW: Final = USER_ROW | {"score": single(90.5)}


def row_message(
    message: Mapping[str, Any],
    data: Mapping[str, Raw] | bytes | None = None,
    old: Mapping[str, Raw] | bytes | None = None,
) -> bytes:
    """Write a row message; its images are given apart, they have types in Avro."""
    checksum = message.get("checksum")
    images = [
        value if isinstance(value, bytes | None) else image(value)
        for value in (data, old)
    ]
    return b"".join(
        [
            b"\x16\x06\x06",
            number(message["version"]),
            text(message["database"]),
            text(message["table"]),
            number(message["tableID"]),
            number(["INSERT", "UPDATE", "DELETE"].index(message["type"])),
            number(message["commitTs"]),
            number(message["buildTs"]),
            number(message["schemaVersion"]),
            optional(_optional_text(message.get("claimCheckLocation"))),
            optional(_optional_flag(message.get("handleKeyOnly"))),
            optional(
                checksum
                and number(checksum["version"])
                + flag(checksum["corrupted"])
                + number(checksum["current"])
                + number(checksum["previous"])
            ),
            *map(optional, images),
        ]
    )


def ddl_message(message: Mapping[str, Any]) -> bytes:
    types = ["CREATE", "ALTER", "ERASE", "RENAME"]
    types += ["TRUNCATE", "CINDEX", "DINDEX", "QUERY"]
    return b"".join(
        [
            b"\x16\x04\x04",
            number(message["version"]),
            number(types.index(message["type"])),
            text(message["sql"]),
            number(message["commitTs"]),
            number(message["buildTs"]),
            *(
                optional(message.get(name) and table_schema(message[name]))
                for name in ("tableSchema", "preTableSchema")
            ),
        ]
    )


def bootstrap_message(message: Mapping[str, Any]) -> bytes:
    return b"".join(
        [
            b"\x16\x02\x02",
            number(message["version"]),
            number(message["buildTs"]),
            table_schema(message["tableSchema"]),
        ]
    )


def watermark_message(message: Mapping[str, Any]) -> bytes:
    return b"\x16\x00\x00" + b"".join(
        number(message[name]) for name in ("version", "commitTs", "buildTs")
    )


def table_schema(schema: Mapping[str, Any]) -> bytes:
    return b"".join(
        [
            text(schema["schema"]),
            text(schema["table"]),
            number(schema["tableID"]),
            number(schema["version"]),
            array(map(_column_schema, schema["columns"])),
            array(
                text(index["name"])
                + flag(index["unique"])
                + flag(index["primary"])
                + flag(index["nullable"])
                + array(map(text, index["columns"]))
                for index in schema["indexes"]
            ),
        ]
    )


def _column_schema(column: Mapping[str, Any]) -> bytes:
    type_ = column["dataType"]
    decimal, elements = type_.get("decimal"), type_.get("elements")
    return b"".join(
        [
            text(column["name"]),
            text(type_["mysqlType"]),
            text(type_["charset"]),
            text(type_["collate"]),
            number(type_.get("length", 0)),
            optional(None if decimal is None else number(decimal)),
            optional(None if elements is None else array(map(text, elements))),
            # As TiCDC: false is written, and only where it means something.
            *(
                optional(_optional_flag(type_.get(name, False)))
                for name in ("unsigned", "zerofill")
            ),
            flag(column["nullable"]),
            optional(_optional_text(column["default"])),
        ]
    )


def _optional_text(value: str | bytes | None) -> bytes | None:
    return None if value is None else text(value)


def _optional_flag(value: bool | None) -> bytes | None:
    return None if value is None else flag(value)
