"""Values of Kafka Connect's JSON converter as one text per logical type.

A number in a Debezium message means days, milliseconds or nanoseconds, a text is text or
base64: the schema says which. Here a value and its schema become a text that SQL casts
without a loss, whichever connector and option sent it:

| Type | Text |
| --- | --- |
| integers, Year, MicroDuration | the digits: ``-5`` |
| boolean | ``true``, ``false`` |
| float, double | the shortest text of the number: ``0.1``; ``NaN``, ``Infinity`` |
| Decimal, VariableScaleDecimal | all digits, no exponent: ``-0.50`` |
| Date (all kinds) | ``2024-02-29``; a year before 1 has a sign: ``-0043-03-15`` |
| Time (all kinds) | ``12:00:00.500000``, from Nano kinds 9 digits; MySQL's goes from ``-838:59:59.000000`` to ``838:59:59.999999`` |
| Timestamp (all kinds) | ``2024-02-29 12:00:00.500000``, from Nano kinds 9 digits |
| ZonedTime | the same in UTC with a Z: ``12:00:00.500000Z``; 9 digits if it needs them |
| ZonedTimestamp | so too if it came in UTC; else with its offset: ``2024-02-29 12:00:00.500000+11:00`` |
| Date, Time, Timestamp (structured) | as the kinds in ISO 8601 |
| bytes | each byte as the character of the same number (ISO 8859-1), as in Canal-JSON, so that the same macros read both |
| Bits | binary digits, highest first, as many as declared: ``000000000101`` |
| array | JSON array of such texts; a map or struct (Geometry, Point) a JSON object |
| all else (Json, Xml, Uuid, Enum, EnumSet, Interval, Ltree, ...) | as it came |

Where a type was declared, not told by the message, and a value is not of it, the text is
the value as it came.

PostgreSQL's ``infinity`` and ``-infinity`` stay words: no type here can hold them.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from changefold.connect import numbers, times
from changefold.connect.mismatch import Convert, MismatchError, as_text
from changefold.connect.nested import array, map_of, struct_of, untyped, untyped_object
from changefold.connect.rows import Column, RowShape, undeclared
from changefold.connect.types import (
    BYTES_AS_TEXT,
    PHYSICAL,
    STRUCTURED_PARTS,
    ConnectType,
    connect_schema,
    connect_type,
    connect_type_text,
)
from changefold.connect.unavailable import Markers, any_markers, markers_of
from changefold.errors import CdcDecodeError
from changefold.json.encode import json_text, shorten, token_text
from changefold.json.fields import (
    Json,
    check_column_name,
    missing,
    read_string,
    wrong_type,
)

__all__ = ["read_columns", "row_shape"]


def row_shape(
    fields: object,
    path: str,
    placeholder: str,
    *,
    connector: str | None = None,
    declared: Mapping[str, ConnectType] | None = None,
) -> RowShape:
    """Read the schema of a row.

    Args:
        fields: ``fields`` of its struct.
        path: Where they lie in the message.
        placeholder: The text that stands for an unavailable value.
        connector: Name of the connector, see `times.nano_timestamp`.
        declared: Declared types of the columns. Only where a text is declared to be
            bytes (`connect.types.BYTES_AS_TEXT`) they win over a schema.

    Raises:
        CdcDecodeError: If it is no schema of a row.
    """
    columns: dict[str, Column] = {}
    types: dict[str, str] = {}
    for field, place in _objects(fields, path):
        name = read_string(field, "field", place)
        check_column_name(name, f"{place}.field")
        if name in columns:
            raise CdcDecodeError(
                "duplicate_column",
                f"{place}.field",
                f"Expected each column once, got `{shorten(name)}` twice",
            )
        type_ = (declared or {}).get(name)
        is_bytes = type_ is not None and type_.base in BYTES_AS_TEXT
        said = field
        if type_ is not None and is_bytes and _is_plain_text(field):
            said = field | connect_schema(type_)
        convert = _read_type(said, place)
        columns[name] = Column(
            name,
            _of_connector(convert, connector),
            markers_of(said, _own_placeholder(field) or placeholder),
            field.get("optional") is True or field.get("default") is not None,
        )
        types[name] = connect_type_text(said, _default(said, convert))
    return RowShape(columns, json_text(types))


def _is_plain_text(field: Json) -> bool:
    return field.get("type") == "string" and not field.get("name")


_OWN_PLACEHOLDER: Final = "__debezium.unavailable.value.placeholder"


def _own_placeholder(field: Json) -> str | None:
    """Return the placeholder of a column, which its schema may declare."""
    text = (field.get("parameters") or {}).get(_OWN_PLACEHOLDER)
    return text if type(text) is str and text else None


def _default(field: Json, convert: Convert) -> str | None:
    """Return the default of a column, in the text form of its values."""
    default = field.get("default")
    if default is None:
        return None
    try:
        # TiCDC writes bytes as base64, but not those of a default.
        is_text = field.get("type") == "string" and connect_type(field).base == "bytes"
        return as_text(default if is_text else convert(default))
    except MismatchError:
        # TiCDC and MySQL's zero dates: a default need not be a value.
        return str(default) if isinstance(default, str) else token_text(default)


def read_columns(
    types: Mapping[str, ConnectType], placeholder: str, connector: str | None = None
) -> RowShape:
    """Return the shape of rows whose types were declared.

    Args:
        types: By the column, its type.
        placeholder: As in `row_shape`.
        connector: As in `row_shape`.

    Raises:
        ValueError: If a type is not one of Kafka Connect, as `connect_schema` says.
    """
    columns = {
        name: Column(
            name,
            _of_connector(_declared(type_), connector),
            _declared_markers(type_, placeholder),
            may_be_null=True,
            is_bytes=type_.base in {"bytes", *BYTES_AS_TEXT},
        )
        for name, type_ in types.items()
    }
    texts = {name: str(type_) for name, type_ in types.items()}
    return RowShape(columns, json_text(texts), undeclared(placeholder).other)


def _declared(type_: ConnectType) -> Convert:
    """Return how values of a type become texts."""
    loose = _LOOSE.get(type_.bare)
    if loose is not None:
        return loose
    if type_.base == "array" and type_.items is not None:
        return array(_declared(type_.items))
    if type_.base == "map" and type_.parts:
        key, value = (_declared(part) for _, part in type_.parts)
        return map_of(key, value)
    if type_.base == "struct" and type_.parts:
        return struct_of({name: (_declared(part), True) for name, part in type_.parts})
    return _read_type(connect_schema(type_), "$types")


def _declared_markers(type_: ConnectType, placeholder: str) -> Markers:
    if type_.base == "array" and type_.items is not None:
        return any_markers(placeholder, type_.items.scale or 0)
    if type_.base in _ANY or type_.base in {"array", "map", "struct"}:
        return any_markers(placeholder)
    return markers_of(connect_schema(type_), placeholder)


def _of_connector(convert: Convert, connector: str | None) -> Convert:
    """Return how a connector's values of a type become texts."""
    if convert is not _LEAVES["NanoTimestamp"] or connector not in times.NANO_STEPS:
        return convert
    is_certain = connector != "postgresql"
    return partial(times.nano_timestamp, times.NANO_STEPS[connector], is_certain)


def _objects(items: object, path: str) -> list[tuple[dict[str, Any], str]]:
    if not isinstance(items, list):
        raise wrong_type("array", items, path)
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise wrong_type("object", item, f"{path}[{index}]")
    return [(item, f"{path}[{index}]") for index, item in enumerate(items)]


def _read_type(field: Json, path: str) -> Convert:
    """Check a schema, and return how its values become texts."""
    type_ = read_string(field, "type", path)
    if type_ not in PHYSICAL:
        raise CdcDecodeError(
            "unknown_connect_type",
            f"{path}.type",
            f"Expected a type of Kafka Connect, got `{shorten(type_)}`",
        )
    logical = field.get("name")
    if logical is not None and not isinstance(logical, str):
        raise wrong_type("str | null", logical, f"{path}.name")
    parameters = field.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise wrong_type("object | null", parameters, f"{path}.parameters")
    if type_ == "array":
        return array(_read_part(field, "items", path))
    if type_ == "map":
        key = _read_part(field, "keys", path)
        return map_of(key, _read_part(field, "values", path))
    if type_ == "struct":
        return _read_struct(field, path)
    return _leaf(field, parameters, path)


def _read_struct(field: Json, path: str) -> Convert:
    parts: dict[str, tuple[Convert, bool]] = {}
    for item, place in _objects(field.get("fields"), f"{path}.fields"):
        name = read_string(item, "field", place)
        parts[name] = _read_type(item, place), item.get("optional") is True
    if connect_type(field).base == "VariableScaleDecimal":
        return numbers.variable_decimal
    return _LEAVES.get(connect_type(field).base) or struct_of(parts)


def _read_part(field: Json, name: str, path: str) -> Convert:
    part = field.get(name)
    if not isinstance(part, dict):
        raise wrong_type("object", part, f"{path}.{name}")
    return _read_type(part, f"{path}.{name}")


def _leaf(field: Json, parameters: Json, path: str) -> Convert:
    """Return how a value with nothing within is read."""
    base = connect_type(field).base
    if base == "Bits":
        length = _parameter(parameters, "length", path)
        if 0 <= length <= numbers.MAX_BITS or length == numbers.ANY_BITS:
            return numbers.bits(length)
        raise CdcDecodeError(
            "schema_mismatch",
            f"{path}.parameters.length",
            f"Expected `int` from 0 to {numbers.MAX_BITS}, got `{length}`",
        )
    if base == "Decimal" and field["type"] == "bytes":
        return partial(numbers.decimal, _parameter(parameters, "scale", path))
    return _LEAVES.get(base, numbers.plain)


def _parameter(parameters: Json, name: str, path: str) -> int:
    text = parameters.get(name)
    if not isinstance(text, str) or not re.fullmatch(r"-?[0-9]{1,10}", text):
        if not isinstance(text, str):
            raise missing("int", f"{path}.parameters.{name}", parameters, name)
        raise CdcDecodeError(
            "schema_mismatch",
            f"{path}.parameters.{name}",
            f"Expected `int`, got `{shorten(text)}`",
        )
    return int(text)


_LEAVES: Final[dict[str, Convert]] = {
    "int8": numbers.integer(8),
    "int16": numbers.integer(16),
    "int32": numbers.integer(32),
    "Year": numbers.integer(32),
    "int64": numbers.integer(64),
    "MicroDuration": numbers.integer(64),
    "uint64": numbers.unsigned_bigint,
    "float": numbers.single,
    "float32": numbers.single,
    "double": numbers.double,
    "float64": numbers.double,
    "boolean": numbers.boolean,
    "bytes": numbers.plain_bytes,
    # TiCDC's, a number; that of Connect has a scale.
    "Decimal": numbers.decimal_number,
    # Debezium's and Connect's own `Date`, `Time` and `Timestamp` have the same units.
    "Date": times.date_text,
    "Time": partial(times.time_text, 1_000_000, 6, 32),
    "MicroTime": partial(times.time_text, 1000, 6, 64),
    "NanoTime": partial(times.time_text, 1, 9, 64),
    "Timestamp": partial(times.timestamp, 1_000_000, 6),
    "MicroTimestamp": partial(times.timestamp, 1000, 6),
    "NanoTimestamp": partial(times.timestamp, 1, 9),
    "IsoDate": partial(times.iso, "date"),
    "IsoTime": partial(times.iso, "time"),
    "IsoTimestamp": partial(times.iso, "timestamp"),
    "ZonedTime": partial(times.iso, "zoned time"),
    "ZonedTimestamp": times.zoned_timestamp,
    "hex": numbers.hex_bytes,
    "base64": numbers.plain_bytes,
    "base64_url_safe": numbers.base64_url_bytes,
    **{
        f"Structured{kind}": partial(times.structured, kind)
        for kind in STRUCTURED_PARTS
    },
}
"""By the base of its type, how a value is read; all others are texts as they came."""

_ANY: Final = frozenset({"untyped", "other"})
"""Declared, a column of these may have any value."""

_LOOSE: Final[dict[ConnectType, Convert]] = {
    **{ConnectType(base): untyped for base in sorted(_ANY)},
    ConnectType("map"): untyped_object,
    ConnectType("struct"): untyped_object,
    ConnectType("array"): array(untyped),
}
"""Types that do not say what is within: declared, that stays as it came."""
