"""Types that were declared for the columns of a topic, for messages without a schema.

One text for all tables: a JSON object of the table, named as its messages do, and its
columns with their types: ``{"shop.dbo.orders": {"placed_at": "connect.Timestamp"}}``. A
type of MySQL stands for the one that the connectors for MySQL and TiCDC make of it:
``{"shop.orders": {"placed_at": "datetime(6)"}}``. It is configuration, not data: where it
is wrong, nothing is decoded.

Beside them stand options of a topic (`read_options`), as JSON object too: ``placeholder``,
``keys`` and ``is_compacted``.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from changefold.connect.rows import RowShape
from changefold.connect.types import (
    BYTES_AS_TEXT,
    PREFIX,
    ConnectType,
    parse_connect_type,
)
from changefold.connect.unavailable import UNAVAILABLE
from changefold.connect.values import read_columns
from changefold.errors import CdcDecodeError
from changefold.json.encode import NumberToken, shorten, token_text
from changefold.json.fields import Json
from changefold.json.parse import strict_tokens
from changefold.mysql.types import MySqlType, parse_mysql_type

__all__ = [
    "Options",
    "check_types",
    "connect_type_of_mysql",
    "declared_shape",
    "has_bytes_as_text",
    "read_options",
    "read_types",
    "table_name",
]

_OF_MYSQL: Final = {
    "tinyint": "int16",
    "smallint": "int16",
    "mediumint": "int32",
    "int": "int32",
    "bigint": "int64",
    "float": "float",
    "double": "double",
    "year": "Year",
    "date": "Date",
    "time": "MicroTime",
    "timestamp": "ZonedTimestamp",
    "enum": "Enum",
    "set": "EnumSet",
    "json": "Json",
    **dict.fromkeys(
        (
            *("geometry", "linestring", "polygon", "multipoint"),
            *("multilinestring", "multipolygon", "geometrycollection"),
        ),
        "Geometry",
    ),
    "point": "Point",
}
_OF_UNSIGNED: Final = {"smallint": "int32", "int": "int64", "bigint": "uint64"}
_MILLISECONDS: Final = 3


def check_types(text: str | None) -> str | None:
    """Return what is wrong with declared types, as a sentence; ``None`` if nothing is.

    Args:
        text: The types, see the module; ``None`` for none.
    """
    try:
        read_types(text)
    except ValueError as error:
        return str(error)
    return None


def table_name(database: str | None, schema: str | None, table: str | None) -> str:
    """Return the name of a table as it is declared: what it lacks is left out."""
    return ".".join(part for part in (database, schema, table) if part)


@lru_cache(maxsize=64)
def read_types(text: str | None) -> Mapping[str, Mapping[str, ConnectType]]:
    """Read declared types.

    Args:
        text: As in `check_types`.

    Returns:
        By the table, the types by the column.

    Raises:
        ValueError: If they are not what the module says; it names table and column.
    """
    if text is None:
        return {}
    try:
        document = strict_tokens(text.encode())
    except CdcDecodeError as error:
        raise ValueError(f"The declared types are no JSON: {error}") from None
    tables = _object(document, "Expected the declared types as object of tables")
    return {
        table: {
            column: _read_type(written, f"Column `{column}` of the table `{table}`")
            for column, written in _object(
                columns, f"Table `{table}`: Expected an object of columns and types"
            ).items()
        }
        for table, columns in tables.items()
    }


def _object(document: object, expected: str) -> Json:
    if isinstance(document, dict):
        return document
    raise _refused(expected, token_text(document))


def _read_type(written: object, place: str) -> ConnectType:
    if not isinstance(written, str) or isinstance(written, NumberToken):
        expected = f"{place}: Expected a text such as `connect.int32`"
        raise _refused(expected, token_text(written))
    try:
        type_ = _parse_type(written)
        read_columns({"": type_}, UNAVAILABLE)
    except CdcDecodeError as error:
        raise ValueError(f"{place}: {error.message}") from None
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return type_


def _parse_type(written: str) -> ConnectType:
    if written.startswith(PREFIX):
        return parse_connect_type(written)
    try:
        return connect_type_of_mysql(parse_mysql_type(written))
    except ValueError as error:
        raise ValueError(
            f"Expected a type such as `connect.int32`, or one of MySQL: {error}"
        ) from None


def connect_type_of_mysql(mysql_type: MySqlType) -> ConnectType:
    """Return the type in which a column of MySQL comes.

    As the connectors for MySQL and MariaDB send it with their usual options, and TiCDC,
    whose decimals are numbers. Source: TiCDC's Debezium messages with schemas, which name
    both types, and Debezium's documentation of its connector for MySQL.
    """
    base, length = mysql_type.base, mysql_type.length
    match base:
        case "decimal":
            return ConnectType("Decimal", length, mysql_type.scale)
        case "bit" if length != 1:
            return ConnectType("Bits", length)
        case "bit":
            name = "boolean"
        case "float" if mysql_type.scale is not None:
            name = "double"
        case "datetime":
            is_short = mysql_type.fraction_digits <= _MILLISECONDS
            name = "Timestamp" if is_short else "MicroTimestamp"
        case _ if mysql_type.is_binary:
            name = "bytes"
        case _ if mysql_type.unsigned and base in _OF_UNSIGNED:
            name = _OF_UNSIGNED[base]
        case _:
            name = _OF_MYSQL.get(base, "string")
    return ConnectType(name)


def _refused(expected: str, found: str) -> ValueError:
    return ValueError(f"{expected}, got `{shorten(found)}`")


class Options(NamedTuple):
    """What a topic declares beside types.

    Attributes:
        placeholder: What the connector sends for a value that it does not have, its
            option ``unavailable.value.placeholder``.
        keys: By the table, as `table_name` writes it, the columns of its key: for
            messages whose own key can not be read, or is null. None: it has no key.
        is_compacted: Whether Kafka compacts the topic, so that a tombstone may be all
            that is left of a delete.
    """

    placeholder: str = UNAVAILABLE
    keys: Mapping[str, tuple[str, ...]] = {}
    is_compacted: bool = False


@lru_cache(maxsize=64)
def read_options(text: str | None) -> Options:
    """Read the options of a topic.

    Args:
        text: JSON object of the fields of `Options`, each of which may be missing;
            ``None`` for none. A placeholder may be written as ``hex:`` and its octets.

    Raises:
        ValueError: If they are not that.
    """
    if text is None:
        return Options()
    try:
        document = strict_tokens(text.encode())
    except CdcDecodeError as error:
        raise ValueError(f"The declared options are no JSON: {error}") from None
    fields = _object(document, "Expected the declared options as object")
    unknown = fields.keys() - set(Options._fields)
    if unknown:
        raise _refused("Expected the options of a topic", ", ".join(sorted(unknown)))
    keys = _object(fields.get("keys", {}), "Expected `keys` as object of tables")
    return Options(
        _read_placeholder(fields.get("placeholder", UNAVAILABLE)),
        {table: _read_key(columns, table) for table, columns in keys.items()},
        fields.get("is_compacted") is True,
    )


def _read_placeholder(text: object) -> str:
    expected = "Expected `placeholder` to be a text"
    if not isinstance(text, str) or isinstance(text, NumberToken) or not text:
        raise _refused(expected, token_text(text))
    if not text.startswith("hex:"):
        return text
    try:
        return bytes.fromhex(text.removeprefix("hex:")).decode()
    except ValueError:
        raise _refused(f"{expected} in UTF-8", text) from None


def _read_key(columns: object, table: str) -> tuple[str, ...]:
    expected = f"Table `{table}`: Expected the names of the columns of its key"
    if not isinstance(columns, list):
        raise _refused(expected, token_text(columns))
    for name in columns:
        if not isinstance(name, str) or isinstance(name, NumberToken):
            raise _refused(expected, token_text(name))
    if len(set(columns)) < len(columns):
        raise _refused(expected, token_text(columns))
    return tuple(columns)


@lru_cache(maxsize=1024)
def has_bytes_as_text(text: str | None, table: str) -> bool:
    """Tell whether bytes of a table come as texts, so that its schemas do not tell.

    Args:
        text: As in `declared_shape`.
        table: Likewise.
    """
    types = read_types(text).get(table, {})
    return any(type_.base in BYTES_AS_TEXT for type_ in types.values())


@lru_cache(maxsize=1024)
def declared_shape(
    text: str | None, table: str, placeholder: str, connector: str | None = None
) -> RowShape | None:
    """Return the shape of a table's rows; ``None`` if it was not declared.

    Args:
        text: The declared types, which `read_types` reads.
        table: Name of the table, of `table_name`.
        placeholder: As in `connect.values.row_shape`.
        connector: Likewise.
    """
    types = read_types(text).get(table)
    return None if types is None else read_columns(types, placeholder, connector)
