"""Kafka Connect's types, as this project writes them: ``connect.Decimal(10,2)``.

The last part of the logical name, or the type itself where it has none: the packages
``org.apache.kafka.connect.data`` and ``io.debezium`` write one text for a name
(`connect.values`), so they need not be told apart. A name that says nothing of the text
is left out: a value of ``com.example.Colour`` is a ``connect.string``. What stands here
decides what the texts of a column are, and nothing else does.

A column's type is followed by what SQL says of it, in these forms:

| Text | The column |
| --- | --- |
| ``connect.int32`` | takes null, or nothing is known of that (declared types); no default |
| ``connect.int32 NOT NULL`` | takes no null, and has no default |
| ``connect.int32 DEFAULT 7`` | takes null (``optional`` in the schema), and has a default |
| ``connect.int32 NOT NULL DEFAULT 7`` | takes no null, and has a default |

A default of the epoch stands for one that is computed, and in PostgreSQL so may others:
`ConnectType.default_is_now` and `ConnectType.default_may_be_of_function`.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from changefold.json.encode import shorten
from changefold.json.parse import MAX_DEPTH

__all__ = [
    "BYTES_AS_TEXT",
    "LOGICAL",
    "PHYSICAL",
    "PREFIX",
    "STRUCTURED_PARTS",
    "UNTYPED",
    "ConnectType",
    "connect_schema",
    "connect_type",
    "connect_type_text",
    "parse_connect_type",
]

PREFIX: Final = "connect."

UNTYPED: Final = "connect.untyped"
"""The type of a column of which nothing is known: its texts are as they came."""

PHYSICAL: Final = frozenset(
    {
        *("int8", "int16", "int32", "int64", "float", "float32", "double", "float64"),
        *("boolean", "string", "bytes", "array", "map", "struct"),
    }
)
"""Connect's own types."""

_DEBEZIUM: Final = "io.debezium.data."
_DEBEZIUM_TIME: Final = "io.debezium.time."
_GEOMETRY: Final = "io.debezium.data.geometry."
_WKB: Final = (
    {"field": "wkb", "type": "bytes", "optional": True},
    {"field": "srid", "type": "int32", "optional": True},
)

_STRUCTURED: Final = {
    "year": "int32",
    "month": "int8",
    "day": "int8",
    "hour": "int8",
    "minute": "int8",
    "second": "int8",
    "nanos": "int32",
    "offsetSeconds": "int32",
    "zoneId": "string",
    "specialValue": "string",
    "precision": "int32",
}
_OF_DATE: Final = ("year", "month", "day", "specialValue")
_OF_TIME: Final = ("hour", "minute", "second", "nanos", "precision")
STRUCTURED_PARTS: Final = {
    "Date": _OF_DATE,
    "Time": _OF_TIME,
    "ZonedTime": (*_OF_TIME, "offsetSeconds"),
    "Timestamp": (*_OF_DATE, *_OF_TIME),
    "ZonedTimestamp": (*_OF_DATE, *_OF_TIME, "offsetSeconds", "zoneId"),
}
"""Of ``time.precision.mode=structured``. Source: Debezium's `StructuredTemporal`."""

BYTES_AS_TEXT: Final = frozenset({"hex", "base64", "base64_url_safe"})
"""Bytes as ``binary.handling.mode`` writes them. No schema says so, it is declared."""

_BYTES_MODE: Final = "binary.handling.mode"
"""The parameter that says so in a schema of ours."""

LOGICAL: Final[dict[str, dict[str, Any]]] = {
    "Year": {"type": "int32", "name": f"{_DEBEZIUM_TIME}Year"},
    "MicroDuration": {"type": "int64", "name": f"{_DEBEZIUM_TIME}MicroDuration"},
    "Decimal": {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"},
    "Bits": {"type": "bytes", "name": f"{_DEBEZIUM}Bits"},
    "Date": {"type": "int32", "name": f"{_DEBEZIUM_TIME}Date"},
    "Time": {"type": "int32", "name": f"{_DEBEZIUM_TIME}Time"},
    **{
        name: {"type": "int64", "name": _DEBEZIUM_TIME + name}
        for name in (
            *("MicroTime", "NanoTime"),
            *("Timestamp", "MicroTimestamp", "NanoTimestamp"),
        )
    },
    **{
        name: {"type": "string", "name": _DEBEZIUM_TIME + name}
        for name in (
            *("IsoDate", "IsoTime", "IsoTimestamp"),
            *("ZonedTime", "ZonedTimestamp", "Interval"),
        )
    },
    **{
        name: {"type": "string", "name": _DEBEZIUM + name}
        for name in ("Enum", "EnumSet", "Json", "Xml", "Uuid", "Ltree", "Tsvector")
    },
    "VariableScaleDecimal": {
        "type": "struct",
        "name": f"{_DEBEZIUM}VariableScaleDecimal",
        "fields": [
            {"field": "scale", "type": "int32"},
            {"field": "value", "type": "bytes"},
        ],
    },
    "Point": {
        "type": "struct",
        "name": f"{_GEOMETRY}Point",
        "fields": [
            {"field": "x", "type": "double"},
            {"field": "y", "type": "double"},
            *_WKB,
        ],
    },
    "Geometry": {"type": "struct", "name": f"{_GEOMETRY}Geometry", "fields": [*_WKB]},
    "Geography": {"type": "struct", "name": f"{_GEOMETRY}Geography", "fields": [*_WKB]},
    **{
        f"Structured{kind}": {
            "type": "struct",
            "name": f"{_DEBEZIUM_TIME}Structured{kind}",
            "fields": [
                {"field": name, "type": type_, "optional": True}
                for name, type_ in _STRUCTURED.items()
                if name in parts
            ],
        }
        for kind, parts in STRUCTURED_PARTS.items()
    },
    **{
        base: {"type": "string", "parameters": {_BYTES_MODE: base}}
        for base in sorted(BYTES_AS_TEXT)
    },
    # TiCDC says more in `tidb_type`. Such a decimal comes as a number.
    "uint64": {"type": "int64", "tidb_type": "bigint unsigned"},
}
"""By the base that is not a physical type, the schema that has it."""

_ANY_PACKAGE: Final = frozenset(
    (schema["type"], base)
    for base, schema in LOGICAL.items()
    if schema["type"] != "struct" and "name" in schema
)
"""The last part of a name is enough, but for a struct: its fields would be others."""

_UNSCALED_DECIMAL: Final = {"type": "double", "tidb_type": "decimal"}

_TYPE: Final = re.compile(
    r"connect\.([A-Za-z][A-Za-z0-9_]*)"
    r"(?:\(([0-9]{1,10})?(?:,(-?[0-9]{1,10}))?\))?"
)
_NAME: Final = re.compile(r'([A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"): ?')
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INT: Final = re.compile(r"-?[0-9]{1,10}")
_DEFAULT: Final = " DEFAULT "
_NOT_NULL: Final = " NOT NULL"

_MOMENTS: Final = frozenset(
    {
        *("Date", "Timestamp", "MicroTimestamp", "NanoTimestamp"),
        *("IsoDate", "IsoTimestamp", "ZonedTimestamp"),
    }
)
_NOTHING: Final = re.compile(
    r"0*(?:\.0+)?|false|\{\}|0{8}(?:-0{4}){3}-0{12}|00:00:00(?:\.0+)?"
)
_EPOCH: Final = re.compile(r"1970-01-01(?: 00:00:00(?:\.0+)?Z?)?")


class ConnectType(NamedTuple):
    """One column type.

    Attributes:
        base: ``int32``, ``Decimal``, ``MicroTimestamp``.
        length: Digits of a decimal, number of bits.
        scale: Digits of a decimal behind the point.
        items: Type of the items of an array.
        parts: Of a map the types of key and value, both without a name; of a struct
            those of its fields. Empty where that is not known.
        default: The default of the column, in the text form of its values.
        not_null: Whether the column takes no null. False also where nothing tells.
    """

    base: str
    length: int | None = None
    scale: int | None = None
    items: "ConnectType | None" = None
    default: str | None = None
    not_null: bool = False
    parts: "tuple[tuple[str, ConnectType], ...]" = ()

    @property
    def default_is_now(self) -> bool:
        """Whether the default is the moment 0 of a date or time.

        Debezium sends that for CURRENT_TIMESTAMP and its synonyms, which have no value
        before a row is written. Source: `MySqlDefaultValueConverter` and
        `PostgresDefaultValueConverter`.
        """
        return (
            self.base in _MOMENTS
            and self.default is not None
            and _EPOCH.fullmatch(self.default) is not None
        )

    @property
    def default_may_be_of_function(self) -> bool:
        """Whether the default is a nothing: 0, false, an empty text, the epoch.

        PostgreSQL's connector sends that for any function, such as ``nextval`` and
        ``gen_random_uuid``; it may be the default itself. Source:
        `PostgresDefaultValueConverter`.
        """
        return self.default is not None and (
            self.default_is_now or _NOTHING.fullmatch(self.default) is not None
        )

    @property
    def bare(self) -> "ConnectType":
        """The type of the values: without what is said of the column."""
        return self._replace(default=None, not_null=False)

    def __str__(self) -> str:
        """Return the text, which `parse_connect_type` reads back."""
        text = PREFIX + self.base
        if self.items is not None:
            text += f"<{self.items}>"
        elif self.parts:
            text += (
                f"<{','.join(_label(name) + str(part) for name, part in self.parts)}>"
            )
        elif self.length is not None or self.scale is not None:
            length = "" if self.length is None else self.length
            scale = "" if self.scale is None else f",{self.scale}"
            text += f"({length}{scale})"
        if self.not_null:
            text += _NOT_NULL
        return text if self.default is None else text + _DEFAULT + self.default


@lru_cache(maxsize=4096)
def parse_connect_type(text: str) -> ConnectType:
    """Read a type.

    Raises:
        ValueError: If the text is not of that form.
    """
    written, rest = _parse(text, 0, text)
    not_null = rest.startswith(_NOT_NULL)
    rest = rest.removeprefix(_NOT_NULL) if not_null else rest
    if rest and not rest.startswith(_DEFAULT):
        raise _no_type(text)
    default = rest.removeprefix(_DEFAULT) if rest else None
    return written._replace(default=default, not_null=not_null)


def _parse(written: str, depth: int, text: str) -> tuple[ConnectType, str]:
    """Read a type at the head of a text; return it and what follows."""
    found = _TYPE.match(written)
    if found is None or depth > MAX_DEPTH:
        raise _no_type(text)
    base, length, scale = found.groups()
    type_ = ConnectType(
        base,
        None if length is None else int(length),
        None if scale is None else int(scale),
    )
    rest = written[found.end() :]
    if not rest.startswith("<") or found[0].endswith(")"):
        return type_, rest
    parts: list[tuple[str, ConnectType]] = []
    separator = "<"
    while rest.startswith(separator):
        label = _NAME.match(rest, 1)
        name = "" if label is None else label[1]
        if name.startswith('"'):
            try:
                name = json.loads(name)
            except ValueError:
                raise _no_type(text) from None
        part, rest = _parse(
            rest[1 if label is None else label.end() :], depth + 1, text
        )
        parts.append((name, part))
        separator = ","
    names = [name for name, _ in parts]
    if base == "struct":
        is_right = "" not in names and len(set(names)) == len(names)
    else:
        is_right = set(names) == {""} and len(names) == (2 if base == "map" else 1)
    if not rest.startswith(">") or not is_right:
        raise _no_type(text)
    if base in {"map", "struct"}:
        return type_._replace(parts=tuple(parts)), rest[1:]
    return type_._replace(items=parts[0][1]), rest[1:]


def _label(name: str) -> str:
    if not name:
        return ""
    plain = _PLAIN_NAME.fullmatch(name) is not None
    return f"{name if plain else json.dumps(name, ensure_ascii=False)}: "


def _no_type(text: str) -> ValueError:
    return ValueError(f"Expected a type such as `connect.int32`, got `{shorten(text)}`")


# ------------------------------------------------------------------------ schemas


def connect_type_text(schema: Mapping[str, Any], default: str | None = None) -> str:
    """Return the text of a column's type.

    Args:
        schema: Connect's schema of the column, as `connect.values` checks it.
        default: The text of its default.
    """
    not_null = schema.get("optional") is not True
    return str(connect_type(schema)._replace(default=default, not_null=not_null))


def connect_type(schema: Mapping[str, Any]) -> ConnectType:
    """Return the type of a schema, as in `connect_type_text`."""
    physical = str(schema["type"])
    if physical == "array":
        return ConnectType("array", items=connect_type(schema["items"]))
    if physical == "map" and "keys" in schema and "values" in schema:
        key, value = connect_type(schema["keys"]), connect_type(schema["values"])
        return ConnectType("map", parts=(("", key), ("", value)))
    if physical == "struct":
        return _struct_type(schema, str(schema.get("name") or ""))
    return _leaf_type(schema, physical)


def _leaf_type(schema: Mapping[str, Any], physical: str) -> ConnectType:
    """Return a type with nothing within."""
    kind = str(schema.get("name") or "").rpartition(".")[2]
    parameters: Mapping[str, Any] = schema.get("parameters") or {}
    if physical == "bytes" and kind == "Decimal":
        return ConnectType(
            "Decimal",
            length=_number(parameters.get("connect.decimal.precision"), minimum=0),
            scale=_number(parameters.get("scale")),
        )
    if physical == "bytes" and kind == "Bits":
        return ConnectType("Bits", length=_number(parameters.get("length"), minimum=0))
    mode = parameters.get(_BYTES_MODE)
    if physical == "string" and isinstance(mode, str) and mode in BYTES_AS_TEXT:
        return ConnectType(mode)
    tidb_base = _tidb_base(physical, str(schema.get("tidb_type") or ""))
    if tidb_base is not None:
        return ConnectType(tidb_base)
    return ConnectType(kind if (physical, kind) in _ANY_PACKAGE else physical)


def _struct_type(schema: Mapping[str, Any], logical: str) -> ConnectType:
    """Return a type of a known name, else one of its fields."""
    base = _struct_base(logical)
    fields = schema.get("fields") or [] if base == "struct" else []
    parts = tuple((str(part["field"]), connect_type(part)) for part in fields)
    names = {name for name, _ in parts}
    # What can not be read back: a field without a name, or two of one.
    is_plain = "" not in names and len(names) == len(parts)
    return ConnectType(base, parts=parts if is_plain else ())


def _struct_base(logical: str) -> str:
    package, _, kind = logical.rpartition(".")
    if kind == "VariableScaleDecimal" and package:
        return kind
    schema = LOGICAL.get(kind)
    return kind if schema is not None and schema.get("name") == logical else "struct"


def _tidb_base(physical: str, tidb_type: str) -> str | None:
    """Return the base where TiCDC says more by the type at the source."""
    if physical == "int64" and tidb_type == "bigint unsigned":
        return "uint64"
    if physical == "string" and ("binary" in tidb_type or "blob" in tidb_type):
        return "bytes"
    if physical in {"float", "double"} and tidb_type.startswith("decimal"):
        return "Decimal"
    return None


def _number(text: object, minimum: int | None = None) -> int | None:
    if not isinstance(text, str) or not _INT.fullmatch(text):
        return None
    number = int(text)
    return None if minimum is not None and number < minimum else number


def connect_schema(type_: ConnectType) -> dict[str, Any]:
    """Return a schema whose columns have a type; the inverse of `connect_type`.

    Raises:
        ValueError: If this project knows no such type, or one of its parts is missing.
            An array, map or struct needs more than its base.
    """
    base, length, scale, items = type_[:4]
    parameters: dict[str, str] = {}
    if base == "Decimal" and scale is not None:
        parameters["scale"] = str(scale)
        if length is not None:
            parameters["connect.decimal.precision"] = str(length)
    elif base == "Bits" and length is not None and scale is None:
        parameters["length"] = str(length)
    elif base == "Bits" or length is not None or scale is not None:
        raise _unknown(type_)
    if base == "array" and items is not None:
        return {"type": "array", "items": connect_schema(items)}
    if base == "map" and len(type_.parts) == 2:
        key, value = (connect_schema(part) for _, part in type_.parts)
        return {"type": "map", "keys": key, "values": value}
    if base == "struct" and type_.parts:
        fields = [
            {"field": name, "optional": True, **connect_schema(part)}
            for name, part in type_.parts
        ]
        return {"type": "struct", "fields": fields}
    if items is not None or type_.parts or base in {"array", "map", "struct"}:
        raise _unknown(type_)
    if base == "Decimal" and not parameters:
        return dict(_UNSCALED_DECIMAL)
    if base in LOGICAL:
        found = dict(LOGICAL[base])
    elif base in PHYSICAL:
        found = {"type": base}
    else:
        raise _unknown(type_)
    return {**found, "parameters": parameters} if parameters else found


def _unknown(type_: ConnectType) -> ValueError:
    return ValueError(
        "Expected a type of Kafka Connect such as `connect.int32`, "
        f"`connect.Decimal(10,2)` or `connect.Bits(8)`, got `{shorten(str(type_))}`"
    )
