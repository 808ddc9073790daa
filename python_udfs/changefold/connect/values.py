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

import binascii
import contextlib
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from itertools import compress, starmap
from typing import Any, Final, NamedTuple, TypeAlias, Union, cast
from uuid import UUID

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from changefold.connect.types import (
    BYTES_AS_TEXT,
    PHYSICAL,
    STRUCTURED_PARTS,
    UNTYPED,
    ConnectType,
    connect_schema,
    connect_type,
    connect_type_text,
)
from changefold.errors import CdcDecodeError
from changefold.json.encode import (
    NumberToken,
    json_text,
    member_path,
    shorten,
    token_text,
)
from changefold.json.fields import (
    Json,
    check_column_name,
    missing,
    read_string,
    wrong_type,
)

__all__ = [
    "UNAVAILABLE",
    "Column",
    "Convert",
    "RowShape",
    "RowTexts",
    "read_columns",
    "row_shape",
    "undeclared",
]

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""What a connector sends for a column that it was not sent itself, such as an unchanged
TOAST column; the default of its option ``unavailable.value.placeholder``."""

Node: TypeAlias = Union[str, list["Node | None"], dict[str, "Node | None"]]  # noqa: UP007  # a type that names itself
"""A value in its text form; of an array, map or struct the texts within."""

Convert = Callable[[Any], Node]


class _MismatchError(Exception):
    """A value that is not what its schema says."""

    def __init__(
        self, expected: str, value: object, error_class: str = "schema_mismatch"
    ) -> None:
        super().__init__(expected, value)
        self.expected = expected
        self.value = value
        self.error_class = error_class
        self.place = ""


class Markers(NamedTuple):
    """What stands for an unavailable value, whatever the type.

    Attributes:
        texts: Texts.
        nodes: Arrays and objects.
    """

    texts: frozenset[object] = frozenset()
    nodes: tuple[object, ...] = ()


Text: TypeAlias = str | UnsetType | None
"""Text of a value; ``UNSET`` if it is unavailable."""


class Column(msgspec.Struct, frozen=True, gc=False):
    """A column of a row.

    Attributes:
        name: Its name; empty if it is that of any other column.
        convert: Returns the text of a value.
        markers: Values that stand for an unavailable one.
        may_be_null: Whether null is a value of it.
        is_bytes: Whether its texts have a character for each byte.
        known: By the type of values, the texts of some.
    """

    name: str
    convert: Convert
    markers: Markers
    may_be_null: bool
    is_bytes: bool = False
    known: dict[type, dict[object, Text]] = msgspec.field(default_factory=dict)

    def is_unavailable(self, value: object) -> bool:
        """Tell whether a value stands for an unavailable one."""
        if type(value) is str:
            return value in self.markers.texts
        return isinstance(value, (list, dict)) and value in self.markers.nodes

    def texts(self, values: tuple[object, ...]) -> Sequence[Text]:
        """Return the texts of values of many rows.

        Raises:
            _MismatchError: If one of them is not of the type.
        """
        kinds = set(map(type, values)) - {type(None)}
        texts = cast("tuple[str | None, ...]", values)
        if (
            kinds <= {str}
            and self.convert in _AS_THEY_CAME
            and self.markers.texts.isdisjoint(values)
        ):
            return texts
        if len(kinds) != 1 or kinds & {list, dict} or _has_long(texts, kinds):
            return list(map(self._text, values))
        # Rows share many values: the one before a change and the one after it, prices.
        known = self.known.setdefault(kinds.pop(), {})
        if len(known) > _MAX_KNOWN:
            known.clear()
        for value in set(values) - known.keys():
            known[value] = self._text(value)
        return list(map(known.__getitem__, values))

    def _text(self, value: object) -> Text:
        if value is None:
            return None
        if self.is_unavailable(value):
            return UNSET
        return _as_text(self.convert(value))


def _has_long(texts: Iterable[str | None], kinds: set[type]) -> bool:
    return str in kinds and max(map(len, filter(None, texts)), default=0) > _LONG


_LONG: Final = 64
"""Longer texts are not kept."""

_MAX_KNOWN: Final = 65_536


class RowTexts(msgspec.Struct, gc=False):
    """A row as texts.

    Attributes:
        texts: By the column.
        unavailable: The columns that the source did not send, which have no text.
        contradicted: The columns whose values are not of their declared types, and what
            was expected: their texts are the values as they came.
    """

    texts: dict[str, str | None]
    unavailable: tuple[str, ...] = ()
    contradicted: Mapping[str, CdcDecodeError] = {}


class RowShape:
    """What a schema says of a row, or what was declared of it.

    Attributes:
        columns: The columns by their names, in order.
        column_types: JSON object of the column and the text of its type, see
            `connect.types`.
        other: How any other column is read. ``None`` for a schema: a row must have its
            columns and no others, while what was declared did not come with it.
    """

    def __init__(
        self,
        columns: Mapping[str, Column],
        column_types: str,
        other: Column | None = None,
    ) -> None:
        self.columns = columns
        self.column_types = column_types
        self.other = other
        self._loose: RowShape | None = None
        self._types: dict[tuple[tuple[str, ...], bool], str] = {}
        self._makers: dict[tuple[str, ...], Callable[..., object]] = {}

    def loose(self, placeholder: str) -> "RowShape":
        """Return how rows with some of the columns, or others, are read.

        Args:
            placeholder: As in `row_shape`.
        """
        if self.other is not None:
            return self
        if self._loose is None:
            other = undeclared(placeholder).other
            self._loose = RowShape(self.columns, self.column_types, other)
        return self._loose

    def types_of(self, names: Iterable[str], *, is_whole: bool) -> str:
        """Return `column_types`, with the other columns of a row.

        Args:
            names: The columns of the row.
            is_whole: Whether it has all that the table had, as a row after a change does:
                then what was declared and is not there, the table got later or lost.
        """
        key = tuple(names), is_whole
        found = self._types.get(key)
        if found is None:
            types: dict[str, str] = msgspec.json.decode(self.column_types)
            if is_whole:
                types = {name: text for name, text in types.items() if name in key[0]}
            others = [name for name in key[0] if name not in self.columns]
            found = json_text(types | dict.fromkeys(others, UNTYPED))
            _keep(self._types, key, found)
        return found

    def texts(self, row: object, path: str, *, nulls: bool = False) -> RowTexts:
        """Return the texts of a row.

        Args:
            row: An object of the message, its numbers as `json.parse.strict_tokens` has
                them.
            path: Where it lies in the message.
            nulls: Whether any column may be null, as in a row before a change of which
                only the key is known.

        Raises:
            CdcDecodeError: If the row is not as the schema says.
        """
        if not isinstance(row, dict):
            raise wrong_type("object", row, path)
        columns = self._columns_of(row, path)
        texts: dict[str, str | None] = {}
        unavailable: list[str] = []
        contradicted: dict[str, CdcDecodeError] = {}
        for name, column in columns.items():
            value = row[name]
            if value is None:
                if not (column.may_be_null or nulls):
                    raise _no_value(row, name, path)
                texts[name] = None
            elif column.is_unavailable(value):
                unavailable.append(name)
            else:
                try:
                    texts[name] = _as_text(column.convert(value))
                except _MismatchError as error:
                    mismatch = _mismatch(error, member_path(path, name))
                    if self.other is None:
                        raise mismatch from None
                    contradicted[name] = mismatch
                    texts[name] = _as_it_came(value, column)
        return RowTexts(texts, tuple(unavailable), contradicted)

    def rows(
        self, names: tuple[str, ...], rows: list[dict[str, Any]], *, nulls: bool = False
    ) -> tuple[list[bytes], list[tuple[str, ...]]]:
        """Return the texts of many rows as JSON objects.

        Args:
            names: The columns that each of them has, in this order.
            rows: The rows.
            nulls: As in `texts`.

        Returns:
            The objects, and of each row the columns that are unavailable; no such list
            if no row has one.

        Raises:
            ValueError: If one of them is not as it should be.
        """
        make = self._makers.get(names)
        if make is None:
            make = _row_maker(names)
            _keep(self._makers, names, make)
        try:
            columns = self._columns_of(rows[0], "$")
            if tuple(columns) != names:
                raise ValueError("columns in another order than in the schema")
            texts = []
            values = zip(*map(dict.values, rows), strict=True)
            for column, cells in zip(columns.values(), values, strict=True):
                if not (column.may_be_null or nulls) and None in cells:
                    raise ValueError("a null in a column that has none")
                texts.append(column.texts(cells))
        except (CdcDecodeError, _MismatchError) as error:
            raise ValueError(error) from None
        encoded = list(map(_encode, starmap(make, zip(*texts, strict=True))))
        if not any(UNSET in cells for cells in texts):
            return encoded, []
        return encoded, [
            tuple(compress(names, (text is UNSET for text in row)))
            for row in zip(*texts, strict=True)
        ]

    def _columns_of(self, row: Json, path: str) -> dict[str, Column]:
        """Return how the columns of a row are read, in order, if it may have them."""
        if self.other is not None:
            for name in row:
                check_column_name(name, path)
            return {name: self.columns.get(name, self.other) for name in row}
        for name, column in self.columns.items():
            # TiCDC's schema has virtual columns, its rows do not.
            if name not in row and not column.may_be_null:
                raise _no_value(row, name, path)
        for name in row:
            if name not in self.columns:
                raise CdcDecodeError(
                    "schema_mismatch",
                    member_path(path, name),
                    f"Expected a column of the schema, got `{shorten(name)}`",
                )
        return {name: column for name, column in self.columns.items() if name in row}


_encode: Final = msgspec.json.Encoder().encode


def _row_maker(names: tuple[str, ...]) -> Callable[..., object]:
    """Return what takes the texts of columns, and is written as an object of them."""
    fields = [(f"column_{number}", Text) for number in range(len(names))]
    renamed = {field: name for (field, _), name in zip(fields, names, strict=True)}
    try:
        return msgspec.defstruct("Row", fields, rename=renamed, gc=False)
    except ValueError:
        # A name with a quote, say.
        return lambda *texts: {
            name: text
            for name, text in zip(names, texts, strict=True)
            if text is not UNSET
        }


_MAX_FORMS: Final = 64


def _keep(known: dict[Any, Any], key: object, value: object) -> None:
    """Remember something of rows with some columns, of which there are few."""
    if len(known) >= _MAX_FORMS:
        known.clear()
    known[key] = value


def _as_it_came(value: object, column: Column) -> str:
    """Return the text of a value that is not of its declared type."""
    text = _as_text(_untyped_text(value))
    if column.is_bytes:
        # A byte is a character there.
        return text.encode().decode("latin-1")
    return text


def _as_text(node: Node) -> str:
    return node if isinstance(node, str) else json_text(node)


def _no_value(row: Json, name: str, path: str) -> CdcDecodeError:
    error = missing("a value", member_path(path, name), row, name)
    return CdcDecodeError("schema_mismatch", error.path, error.message)


def _mismatch(error: _MismatchError, path: str) -> CdcDecodeError:
    path += error.place
    value = error.value
    if isinstance(value, str):
        got = shorten(value)
    elif isinstance(value, int):
        got = shorten(json_text(value))
    else:
        got = wrong_type("", value, path).message.rpartition(" `")[2][:-1]
    return CdcDecodeError(
        error.error_class, path, f"Expected {error.expected}, got `{got}`"
    )


# ------------------------------------------------------------------------ schemas


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
        connector: Name of the connector, see `_nano_timestamp`.
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
        if type_ is not None and is_bytes and _is__plain(field):
            said = field | connect_schema(type_)
        convert = _read_type(said, place)
        columns[name] = Column(
            name,
            _of_connector(convert, connector),
            _markers(said, _own_placeholder(field) or placeholder),
            field.get("optional") is True or field.get("default") is not None,
        )
        types[name] = connect_type_text(said, _default(said, convert))
    return RowShape(columns, json_text(types))


def _is__plain(field: Json) -> bool:
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
        return _as_text(default if is_text else convert(default))
    except _MismatchError:
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
        return _array(_declared(type_.items))
    if type_.base == "map" and type_.parts:
        key, value = (_declared(part) for _, part in type_.parts)
        return _map(key, value)
    if type_.base == "struct" and type_.parts:
        return _struct({name: (_declared(part), True) for name, part in type_.parts})
    return _read_type(connect_schema(type_), "$types")


def _declared_markers(type_: ConnectType, placeholder: str) -> Markers:
    if type_.base == "array" and type_.items is not None:
        return _any_markers(placeholder, type_.items.scale or 0)
    if type_.base in _ANY or type_.base in {"array", "map", "struct"}:
        return _any_markers(placeholder)
    return _markers(connect_schema(type_), placeholder)


@lru_cache(maxsize=16)
def undeclared(placeholder: str) -> RowShape:
    """Return the shape of rows of which nothing is known: values stay as they came.

    Args:
        placeholder: As in `row_shape`.
    """
    markers = _any_markers(placeholder)
    return RowShape({}, "{}", Column("", _untyped_text, markers, may_be_null=True))


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
        return _array(_read_part(field, "items", path))
    if type_ == "map":
        key = _read_part(field, "keys", path)
        return _map(key, _read_part(field, "values", path))
    if type_ == "struct":
        return _read_struct(field, path)
    return _leaf(field, parameters, path)


def _read_struct(field: Json, path: str) -> Convert:
    parts: dict[str, tuple[Convert, bool]] = {}
    for item, place in _objects(field.get("fields"), f"{path}.fields"):
        name = read_string(item, "field", place)
        parts[name] = _read_type(item, place), item.get("optional") is True
    if connect_type(field).base == "VariableScaleDecimal":
        return _variable_decimal
    return _LEAVES.get(connect_type(field).base) or _struct(parts)


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
        if 0 <= length <= _MAX_BITS or length == _ANY_BITS:
            return _bits(length)
        raise CdcDecodeError(
            "schema_mismatch",
            f"{path}.parameters.length",
            f"Expected `int` from 0 to {_MAX_BITS}, got `{length}`",
        )
    if base == "Decimal" and field["type"] == "bytes":
        return partial(_decimal, _parameter(parameters, "scale", path))
    return _LEAVES.get(base, _plain)


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


# ------------------------------------------------------------------- unavailable


_MAX_MARKED_SCALE: Final = 38


@lru_cache(maxsize=64)
def _any_markers(placeholder: str, scale: int = 0) -> Markers:
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


def _markers(field: Json, placeholder: str) -> Markers:
    """Return what stands for an unavailable value of a type."""
    texts, nodes = _any_markers(placeholder)
    type_ = field.get("type")
    if type_ in {"string", "bytes"}:
        if not str(field.get("name")).endswith(".Json"):
            texts -= {_text_map(placeholder)}
        return Markers(texts)
    if type_ == "map":
        return Markers(nodes=nodes[:1])
    if type_ == "array":
        scale = connect_type(field["items"]).scale or 0
        return Markers(nodes=_any_markers(placeholder, scale).nodes[1:])
    return Markers()


def _untyped_text(value: object) -> Node:
    """Return a value of unknown type, not null, as it came: numbers and texts too.

    An array or object is JSON of such texts.
    """
    if type(value) is str:
        return value
    node = _loose_node(value)
    return "" if node is None else node


def _loose_object(value: object) -> Node:
    # A map whose keys are no texts is an array of pairs.
    if not isinstance(value, (dict, list)):
        raise _MismatchError("`object`", value)
    return _untyped_text(value)


def _loose_node(value: object) -> Node | None:
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return {name: _loose_node(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_loose_node(item) for item in value]
    return str(value)


# ------------------------------------------------------------------------ numbers

_NOT_FINITE: Final = {
    "NaN": "NaN",
    "Infinity": "Infinity",
    "-Infinity": "-Infinity",
}


def _whole(value: object, expected: str, bits: int = 64) -> int:
    if type(value) is int and -(1 << bits - 1) <= value < 1 << bits - 1:
        return value
    raise _MismatchError(expected, value)


def _integer(bits: int) -> Convert:
    """Return how an integer of so many bits becomes its digits."""
    low, end, expected = -(1 << bits - 1), 1 << bits - 1, f"`int{bits}`"

    def convert(value: object) -> str:
        if type(value) is int and low <= value < end:
            return str(value)
        raise _MismatchError(expected, value)

    return convert


def _unsigned_bigint(value: object) -> str:
    # TiCDC writes it as if it had a sign.
    return str(_whole(value, "`int64`") % (1 << 64))


def _boolean(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    raise _MismatchError("`bool`", value)


def _plain(value: object) -> str:
    if type(value) is str:
        return value
    raise _MismatchError("`str`", value)


def _float(value: object) -> str:
    """Return the shortest text of a number of single precision."""
    text = _not_finite(value, "`float`")
    if text is None:
        # The shortest text of a number of this width: that of a double has more digits.
        with np.errstate(over="ignore"):
            number = np.float32(str(value))
        if not np.isfinite(number):
            raise _MismatchError("`float`", value)
        text = str(number)
    return text


def _double(value: object) -> str:
    """Return the shortest text of a number of double precision."""
    text = _not_finite(value, "`double`")
    if text is None:
        number = float(str(value))
        if number in {float("inf"), float("-inf")}:
            raise _MismatchError("`double`", value)
        text = repr(number)
    return text


def _is_number(value: object) -> bool:
    return type(value) is int or isinstance(value, NumberToken)


def _not_finite(value: object, expected: str) -> str | None:
    """Return the text of what is no number; ``None`` for a number."""
    if _is_number(value):
        return None
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise _MismatchError(expected, value)


_MAX_DIGITS: Final = 100_000
"""More digits than any database has; PostgreSQL's ``numeric`` has up to 147,455."""

# PostgreSQL's connector writes a negative scale in the 11 bits of the type modifier.
_SCALE_BITS: Final = 11
_MAX_SCALE: Final = 1000


def _decimal(scale: int, value: object) -> str:
    """Return the digits of a Decimal, of which so many come after the point."""
    if _is_number(value):
        return _decimal_number(value, scale)
    text = _scaled(_unscaled(value), scale)
    # Such values come multiplied by 10 to the power of the wrong scale: right, but with
    # a thousand zeros.
    is_wrapped = scale > _MAX_SCALE
    return text.rstrip("0").rstrip(".") if is_wrapped and "." in text else text


def _unscaled(value: object) -> int:
    octets = _octets(value)
    if not octets:
        raise _MismatchError("the bytes of a number in base64", value)
    return int.from_bytes(octets, "big", signed=True)


def _scaled(unscaled: int, scale: int) -> str:
    if unscaled.bit_length() > 4 * _MAX_DIGITS or abs(scale) > _MAX_DIGITS:
        raise _MismatchError(f"at most {_MAX_DIGITS} digits", "more")
    digits = _digits(abs(unscaled))
    sign = "-" if unscaled < 0 else ""
    if scale <= 0:
        return sign + (digits + "0" * -scale if unscaled else "0")
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def _digits(number: int) -> str:
    # Python refuses to print more than 4300 digits in one go.
    if number.bit_length() < 14_000:
        return str(number)
    head, tail = divmod(number, 10**4000)
    return _digits(head) + str(tail).rjust(4000, "0")


def _decimal_number(value: object, scale: int | None = None) -> str:
    """Return a decimal that came as a number, from the converter or from TiCDC."""
    if not _is_number(value):
        raise _MismatchError("a number", value)
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise _MismatchError("a number", value) from None
    if abs(number.adjusted()) > _MAX_DIGITS or (scale or 0) > _MAX_DIGITS:
        raise _MismatchError(f"at most {_MAX_DIGITS} digits", value)
    text = f"{number:f}"
    if scale is None or scale <= 0:
        return text
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(scale, '0')}"


def _variable_decimal(value: object) -> str:
    if not isinstance(value, dict) or value.keys() != {"scale", "value"}:
        raise _MismatchError("an object of `scale` and `value`", value)
    scale = _whole(value["scale"], "`int32`", 32)
    if _is_number(value["value"]):
        return _decimal_number(value["value"], scale)
    return _scaled(_unscaled(value["value"]), scale)


# -------------------------------------------------------------------------- bytes


def _octets(value: object) -> bytes:
    if type(value) is not str:
        raise _MismatchError("base64", value)
    try:
        return binascii.a2b_base64(value, strict_mode=True) if value else b""
    except (binascii.Error, ValueError):
        raise _MismatchError("base64", value, "bad_base64") from None


def _bytes(value: object) -> str:
    return _octets(value).decode("latin-1")


def _hex_bytes(value: object) -> str:
    if type(value) is not str:
        raise _MismatchError("hexadecimal digits", value)
    try:
        return binascii.unhexlify(value).decode("latin-1")
    except (binascii.Error, ValueError):
        raise _MismatchError("hexadecimal digits", value) from None


def _base64_url_bytes(value: object) -> str:
    if type(value) is not str:
        raise _MismatchError("base64", value)
    # Some encoders leave out the padding.
    padded = value + "=" * (-len(value) % 4) if "=" not in value else value
    return _bytes(padded.replace("-", "+").replace("_", "/"))


_MAX_BITS: Final = 1_000_000
"""More than anybody's: each value is filled up to the declared length."""

_ANY_BITS: Final = 2**31 - 1
"""What PostgreSQL's ``bit varying`` without a length declares."""


def _bits(length: int) -> Convert:
    width = 0 if length == _ANY_BITS else length

    def convert(value: object) -> str:
        number = int.from_bytes(_octets(value), "little")
        if number.bit_length() > length:
            raise _MismatchError(f"at most {length} bits", value)
        return f"{number:b}".rjust(width, "0")

    return convert


# -------------------------------------------------------------------------- times

_SECOND: Final = 1_000_000_000
_DAY: Final = 86_400 * _SECOND
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_MAX_ORDINAL: Final = date.max.toordinal()

# PostgreSQL's driver has no infinite dates, but these far ones, which Debezium passes
# through 32 bits. No real date of PostgreSQL comes near.
_INFINITE_DAYS: Final = {
    # In a snapshot, and in the stream.
    -622_191_234: "infinity",
    -625_821_272: "-infinity",
    -2_147_472_692: "infinity",
    -2_147_472_691: "-infinity",
}
_INFINITE_NANOS: Final = {
    9_223_372_036_825_200_000_000: "infinity",
    -9_223_372_036_832_400_000_000: "-infinity",
}


@lru_cache(maxsize=65_536)
def _day_text(days: int) -> str:
    """Return the date so many days after 1970, in the Gregorian calendar."""
    ordinal = days + _EPOCH_ORDINAL
    if 1 <= ordinal <= _MAX_ORDINAL:
        return date.fromordinal(ordinal).isoformat()
    # The calendar repeats every 400 years, which are 146097 days.
    eras, rest = divmod(ordinal - 1, 146_097)
    within = date.fromordinal(rest + 1)
    year = within.year + 400 * eras
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{within.month:02d}-{within.day:02d}"


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970 to a date; ValueError if there is no such date."""
    eras, within = divmod(year - 1, 400)
    ordinal = date(within + 1, month, day).toordinal()
    return ordinal + eras * 146_097 - _EPOCH_ORDINAL


def _clock_text(nanos: int, digits: int) -> str:
    seconds, fraction = divmod(nanos, _SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    part = f"{fraction:09d}"[:digits]
    return f"{hour:02d}:{minute:02d}:{second:02d}.{part}"


def _date(value: object) -> str:
    """Return the date of a number of days."""
    days = _whole(value, "days as `int32`", 32)
    return _INFINITE_DAYS.get(days) or _day_text(days)


def _time(unit: int, digits: int, bits: int, value: object) -> str:
    """Return the time of day that is so many units, of `unit` nanoseconds each."""
    count = _whole(value, f"`int{bits}`", bits)
    sign = "-" if count < 0 else ""
    return sign + _clock_text(abs(count) * unit, digits)


def _timestamp(unit: int, digits: int, value: object) -> str:
    """Return the moment so many units after 1970, of `unit` nanoseconds each."""
    return _moment_of_nanos(_whole(value, "`int64`") * unit, digits)


def _moment_of_nanos(nanos: int, digits: int) -> str:
    if -_COMMON_NANOS < nanos < _COMMON_NANOS:
        seconds, fraction = divmod(nanos, _SECOND)
        moment = _EPOCH + timedelta(seconds=seconds)
        return f"{moment.isoformat(' ')}.{f'{fraction:09d}'[:digits]}"
    if nanos in _INFINITE_NANOS:
        return _INFINITE_NANOS[nanos]
    days, nanos = divmod(nanos, _DAY)
    return f"{_day_text(days)} {_clock_text(nanos, digits)}"


_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # a wall clock
_COMMON_NANOS: Final = 50_000_000_000 * _SECOND
"""Some 1600 years, all of which Python has."""

_NANO_STEPS: Final = {
    "sqlserver": 100,
    "mysql": 1000,
    "mariadb": 1000,
    "vitess": 1000,
    "postgresql": 1000,
}
"""By the connector, of how many nanoseconds the times of its source are multiples."""

_FIRST_NANOS: Final = -62_135_596_800 * _SECOND
_END_NANOS: Final = 253_402_300_800 * _SECOND
"""From 0001-01-01 to the end of 9999, as most databases have it."""


def _of_connector(convert: Convert, connector: str | None) -> Convert:
    """Return how a connector's values of a type become texts."""
    if convert is not _LEAVES["NanoTimestamp"] or connector not in _NANO_STEPS:
        return convert
    is_certain = connector != "postgresql"
    return partial(_nano_timestamp, _NANO_STEPS[connector], is_certain)


def _nano_timestamp(step: int, is_certain: bool, value: object) -> str:
    """Return the moment of a number of nanoseconds that may have wrapped around.

    Debezium before its fix of 2026 (dbz#2075) lets moments before 1677-09-21 and after
    2262-04-11 wrap around at 64 bits. A wrapped number is no multiple of the step, as
    2^64 is none, and its rest tells how often it wrapped.

    Args:
        step: Nanoseconds of which all values of the source are multiples.
        is_certain: Whether the source has years 1 to 9999 only: then the number of wraps
            is certain.
        value: The number.

    Returns:
        The text of the moment; the number as it came, such as ``-17 ns``, which is none,
        where it can not be one of the source.
    """
    count = _whole(value, "`int64`")
    if count % step == 0:
        return _moment_of_nanos(count, 9)
    moments = [count + (wraps << 64) for wraps in range(-4, 15)]
    for moment in moments if is_certain else ():
        if moment % step == 0 and _FIRST_NANOS <= moment < _END_NANOS:
            return _moment_of_nanos(moment, 9)
    return f"{count} ns"


_ISO_DATE: Final = r"(?P<year>[+-]?[0-9]{4,9})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_ISO_TIME: Final = (
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
)
_ISO_ZONE: Final = r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2}){0,2})"
_ISO: Final = {
    "date": re.compile(f"{_ISO_DATE}{_ISO_ZONE}?"),
    "time": re.compile(f"{_ISO_TIME}{_ISO_ZONE}?"),
    "timestamp": re.compile(f"{_ISO_DATE}[T ]{_ISO_TIME}{_ISO_ZONE}?"),
    "zoned time": re.compile(f"{_ISO_TIME}{_ISO_ZONE}"),
    "zoned timestamp": re.compile(f"{_ISO_DATE}[T ]{_ISO_TIME}{_ISO_ZONE}"),
}


def _iso(kind: str, value: object) -> str:
    """Return what an ISO 8601 text says; what has no zone may be marked with a Z."""
    expected = f"a {kind} in the form of ISO 8601"
    if type(value) is not str:
        raise _MismatchError(expected, value)
    match = _ISO[kind].fullmatch(value)
    if match is None:
        if value in {"infinity", "-infinity"}:
            return value
        raise _MismatchError(expected, value)
    parts = match.groupdict()
    days = 0
    has_date = "year" in parts
    if has_date:
        try:
            days = _days(int(parts["year"]), int(parts["month"]), int(parts["day"]))
        except ValueError:
            raise _MismatchError(expected, value) from None
    if "hour" not in parts:
        return _day_text(days)
    nanos = _clock(parts)
    if nanos < 0:
        raise _MismatchError(expected, value)
    if not kind.startswith("zoned"):
        return _moment_text(days if has_date else None, nanos)
    offset = _offset(parts["zone"]) // _SECOND
    return _zoned_text(days if has_date else None, nanos, offset)


_COMMON_ZONED: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z"
)


def _zoned_timestamp(value: object) -> str:
    """Do what `_iso` does to a zoned timestamp; most are in UTC."""
    if type(value) is str and _COMMON_ZONED.fullmatch(value):
        with contextlib.suppress(ValueError):
            moment = datetime.fromisoformat(value[:-1])
            return moment.isoformat(" ", "microseconds") + "Z"
    return _iso("zoned timestamp", value)


def _moment_text(days: int | None, nanos: int) -> str:
    text = _clock_text(nanos, 9 if nanos % 1000 else 6)
    return text if days is None else f"{_day_text(days)} {text}"


def _zoned_text(days: int | None, nanos: int, offset: int) -> str:
    """Return a time or moment of a zone; a moment keeps its offset of whole minutes.

    Args:
        days: From 1970, of the wall clock; none of a time.
        nanos: Of the day.
        offset: Seconds.
    """
    if days is not None and offset and offset % 60 == 0 and nanos < _DAY:
        hours, minutes = divmod(abs(offset) // 60, 60)
        sign = "-" if offset < 0 else "+"
        return f"{_moment_text(days, nanos)}{sign}{hours:02d}:{minutes:02d}"
    shift, nanos = divmod(nanos - offset * _SECOND, _DAY)
    return _moment_text(None if days is None else days + shift, nanos) + "Z"


def _clock(parts: Mapping[str, str | None]) -> int:
    """Return the nanoseconds since midnight; -1 if there is no such time."""
    hour, minute = int(parts["hour"] or 0), int(parts["minute"] or 0)
    second = int(parts["second"] or 0)
    fraction = int((parts["fraction"] or "").ljust(9, "0"))
    nanos = ((hour * 60 + minute) * 60 + second) * _SECOND + fraction
    return nanos if minute < 60 and second < 60 and nanos <= _DAY else -1


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    seconds = (int(digits[:2]) * 60 + int(digits[2:4])) * 60 + int(digits[4:])
    return (-seconds if zone[0] == "-" else seconds) * _SECOND


_INFINITIES: Final = {
    "POSITIVE_INFINITY": "infinity",
    "NEGATIVE_INFINITY": "-infinity",
}
_STRUCTURED_LIMITS: Final = {
    "year": (-999_999_999, 999_999_999),
    "month": (0, 12),
    "day": (0, 31),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 59),
    "nanos": (0, _SECOND - 1),
    "offsetSeconds": (-64_800, 64_800),
}


def _structured(kind: str, value: object) -> str:
    """Return what an object of ``time.precision.mode=structured`` says.

    Source: Debezium's `StructuredTemporal` and its kinds.

    Args:
        kind: ``Date``, ``Time``, ``ZonedTime``, ``Timestamp`` or ``ZonedTimestamp``.
        value: The object.

    Returns:
        The text that the kind in ISO 8601 has. A date that is in no calendar, such as a
        zero date, has the digits that came, which no type here can hold.
    """
    expected = f"an object of the parts of a `Structured{kind}`"
    if not isinstance(value, dict):
        raise _MismatchError(expected, value)
    special = value.get("specialValue")
    if special is not None:
        if not isinstance(special, str) or special not in _INFINITIES:
            raise _MismatchError(expected, value)
        return _INFINITIES[special]
    names = [name for name in STRUCTURED_PARTS[kind] if name in _STRUCTURED_LIMITS]
    parts: dict[str, int] = {}
    for name in names:
        low, high = _STRUCTURED_LIMITS[name]
        part = value.get(name)
        if part is None and name == "offsetSeconds":
            part = 0
        number = _whole(part, expected, 32)
        if not low <= number <= high:
            raise _MismatchError(expected, value)
        parts[name] = number
    clock = [parts.get(name, 0) for name in ("hour", "minute", "second")]
    seconds = (clock[0] * 60 + clock[1]) * 60 + clock[2]
    nanos = seconds * _SECOND + parts.get("nanos", 0)
    if nanos > _DAY:
        raise _MismatchError(expected, value)
    days: int | None = None
    if "year" in parts:
        year, month, day = parts["year"], parts["month"], parts["day"]
        try:
            days = _days(year, month, day)
        except ValueError:
            sign = "-" if year < 0 else ""
            text = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"
            return text if kind == "Date" else f"{text} {_moment_text(None, nanos)}"
        if kind == "Date":
            return _day_text(days)
    if "offsetSeconds" in parts:
        return _zoned_text(days, nanos, parts["offsetSeconds"])
    return _moment_text(days, nanos)


# ------------------------------------------------------------------------- nested


def _array(convert: Convert) -> Convert:
    def convert_all(value: object) -> list[Node | None]:
        if not isinstance(value, list):
            raise _MismatchError("`array`", value)
        return [
            _within(convert, item, f"[{index}]") for index, item in enumerate(value)
        ]

    return convert_all


def _map(key: Convert, convert: Convert) -> Convert:
    def convert_all(value: object) -> Node:
        if isinstance(value, dict):
            return {
                name: _within(convert, item, f".{shorten(name)}")
                for name, item in value.items()
            }
        # So does the converter write a map whose keys are no texts.
        if isinstance(value, list) and all(
            isinstance(pair, list) and len(pair) == 2 for pair in value
        ):
            return [
                [
                    _within(key, pair[0], f"[{index}][0]"),
                    _within(convert, pair[1], f"[{index}][1]"),
                ]
                for index, pair in enumerate(value)
            ]
        raise _MismatchError("`object`", value)

    return convert_all


def _struct(parts: Mapping[str, tuple[Convert, bool]]) -> Convert:
    def convert_all(value: object) -> dict[str, Node | None]:
        if not isinstance(value, dict):
            raise _MismatchError("`object`", value)
        if not value.keys() <= parts.keys():
            names = ", ".join(f"`{name}`" for name in parts)
            raise _MismatchError(f"an object of {shorten(names)}", value)
        for name, (_, optional) in parts.items():
            if value.get(name) is None and not optional:
                raise _MismatchError(f"an object with `{shorten(name)}`", value)
        return {
            name: _within(convert, value.get(name), f".{name}")
            for name, (convert, _) in parts.items()
        }

    return convert_all


def _within(convert: Convert, value: object, place: str) -> Node | None:
    if value is None:
        return None
    try:
        return convert(value)
    except _MismatchError as error:
        error.place = place + error.place
        raise


_AS_THEY_CAME: Final = (_plain, _untyped_text)
"""How texts stay what they are."""

_LEAVES: Final[dict[str, Convert]] = {
    "int8": _integer(8),
    "int16": _integer(16),
    "int32": _integer(32),
    "Year": _integer(32),
    "int64": _integer(64),
    "MicroDuration": _integer(64),
    "uint64": _unsigned_bigint,
    "float": _float,
    "float32": _float,
    "double": _double,
    "float64": _double,
    "boolean": _boolean,
    "bytes": _bytes,
    # TiCDC's, a number; that of Connect has a scale.
    "Decimal": _decimal_number,
    # Debezium's and Connect's own `Date`, `Time` and `Timestamp` have the same units.
    "Date": _date,
    "Time": partial(_time, 1_000_000, 6, 32),
    "MicroTime": partial(_time, 1000, 6, 64),
    "NanoTime": partial(_time, 1, 9, 64),
    "Timestamp": partial(_timestamp, 1_000_000, 6),
    "MicroTimestamp": partial(_timestamp, 1000, 6),
    "NanoTimestamp": partial(_timestamp, 1, 9),
    "IsoDate": partial(_iso, "date"),
    "IsoTime": partial(_iso, "time"),
    "IsoTimestamp": partial(_iso, "timestamp"),
    "ZonedTime": partial(_iso, "zoned time"),
    "ZonedTimestamp": _zoned_timestamp,
    "hex": _hex_bytes,
    "base64": _bytes,
    "base64_url_safe": _base64_url_bytes,
    **{f"Structured{kind}": partial(_structured, kind) for kind in STRUCTURED_PARTS},
}
"""By the base of its type, how a value is read; all others are texts as they came."""

_ANY: Final = frozenset({"untyped", "other"})
"""Declared, a column of these may have any value."""

_LOOSE: Final[dict[ConnectType, Convert]] = {
    **{ConnectType(base): _untyped_text for base in sorted(_ANY)},
    ConnectType("map"): _loose_object,
    ConnectType("struct"): _loose_object,
    ConnectType("array"): _array(_untyped_text),
}
"""Types that do not say what is within: declared, that stays as it came."""
