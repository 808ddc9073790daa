"""Kafka Connect's types, as this project writes them: ``connect.Decimal(10,2)``.

The last part of the logical name, or the type itself where it has none: the packages
``org.apache.kafka.connect.data`` and ``io.debezium`` write one text for a name
(`connect_values`), so they need not be told apart. A name that says nothing of the text
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

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from changefold.strict_json import MAX_DEPTH, shorten

__all__ = [
    "LOGICAL",
    "PHYSICAL",
    "PREFIX",
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
    # TiCDC says more in `tidb_type`. Such a decimal comes as a number.
    "uint64": {"type": "int64", "tidb_type": "bigint unsigned"},
}
"""By the base that is not a physical type, the schema that has it."""

_ANY_PACKAGE: Final = frozenset(
    (schema["type"], base)
    for base, schema in LOGICAL.items()
    if schema["type"] != "struct" and base != "uint64"
)
"""The last part of a name is enough, but for a struct: its fields would be others."""

_UNSCALED_DECIMAL: Final = {"type": "double", "tidb_type": "decimal"}

_TYPE: Final = re.compile(
    r"connect\.([A-Za-z][A-Za-z0-9_]*)"
    r"(?:\(([0-9]{1,10})?(?:,(-?[0-9]{1,10}))?\)|<(.+)>)?"
)
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
        default: The default of the column, in the text form of its values.
        not_null: Whether the column takes no null. False also where nothing tells.
    """

    base: str
    length: int | None = None
    scale: int | None = None
    items: "ConnectType | None" = None
    default: str | None = None
    not_null: bool = False

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
    written, has_default, default = text.partition(_DEFAULT)
    if written.count("<") > MAX_DEPTH:
        raise _no_type(text)
    bare = written.removesuffix(_NOT_NULL)
    return _parse(bare, text)._replace(
        default=default if has_default else None, not_null=bare != written
    )


def _parse(written: str, text: str) -> ConnectType:
    found = _TYPE.fullmatch(written)
    if found is None:
        raise _no_type(text)
    base, length, scale, items = found.groups()
    return ConnectType(
        base,
        None if length is None else int(length),
        None if scale is None else int(scale),
        None if items is None else _parse(items, text),
    )


def _no_type(text: str) -> ValueError:
    return ValueError(f"Expected a type such as `connect.int32`, got `{shorten(text)}`")


# ------------------------------------------------------------------------ schemas


def connect_type_text(schema: Mapping[str, Any], default: str | None = None) -> str:
    """Return the text of a column's type.

    Args:
        schema: Connect's schema of the column, as `connect_values` checks it.
        default: The text of its default.
    """
    not_null = schema.get("optional") is not True
    return str(connect_type(schema)._replace(default=default, not_null=not_null))


def connect_type(schema: Mapping[str, Any]) -> ConnectType:
    """Return the type of a schema, as in `connect_type_text`."""
    physical = str(schema["type"])
    logical = str(schema.get("name") or "")
    kind = logical.rpartition(".")[2]
    parameters: Mapping[str, Any] = schema.get("parameters") or {}
    if physical == "array":
        return ConnectType("array", items=connect_type(schema["items"]))
    if physical == "struct":
        return ConnectType(_struct_base(logical))
    if physical == "bytes" and kind == "Decimal":
        return ConnectType(
            "Decimal",
            length=_number(parameters.get("connect.decimal.precision"), minimum=0),
            scale=_number(parameters.get("scale")),
        )
    if physical == "bytes" and kind == "Bits":
        return ConnectType("Bits", length=_number(parameters.get("length"), minimum=0))
    tidb_base = _tidb_base(physical, str(schema.get("tidb_type") or ""))
    if tidb_base is not None:
        return ConnectType(tidb_base)
    return ConnectType(kind if (physical, kind) in _ANY_PACKAGE else physical)


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
            A map or struct needs more than its base.
    """
    base, length, scale, items = type_.bare[:4]
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
    if items is not None or base in {"array", "map", "struct"}:
        raise _unknown(type_)
    if base == "Decimal" and not parameters:
        return dict(_UNSCALED_DECIMAL)
    if base in LOGICAL:
        found = dict(LOGICAL[base])
    elif base in PHYSICAL:
        found = {"type": base}
    else:
        raise _unknown(type_)
    return found | {"parameters": parameters} if parameters else found


def _unknown(type_: ConnectType) -> ValueError:
    return ValueError(
        "Expected a type of Kafka Connect such as `connect.int32`, "
        f"`connect.Decimal(10,2)` or `connect.Bits(8)`, got `{shorten(str(type_))}`"
    )
