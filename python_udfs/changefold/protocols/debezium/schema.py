"""Schemas of keys and values, each read once."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from changefold.connect.declared import read_types
from changefold.connect.rows import RowShape
from changefold.connect.values import row_shape
from changefold.errors import CdcDecodeError
from changefold.json.encode import shorten
from changefold.json.fields import Json, read_string, wrong_type
from changefold.json.parse import strict_tokens

__all__ = ["KEY", "ValueSchema", "key_schema", "value_schema"]

KEY: Final = "$key"
"""Where an error lies that is in the key, not in the value."""

_MAX_CACHED: Final = 256 * 1024
"""Longer schemas are parsed each time, so that the caches stay small."""


def key_schema(
    text: bytes,
    placeholder: str,
    connector: str | None = None,
    types: str | None = None,
    table: str = "",
) -> RowShape:
    """Return the shape of a key.

    Args:
        text: Its schema.
        placeholder: As in `connect.values.row_shape`.
        connector: Likewise.
        types: As in `value_schema`.
        table: Likewise.
    """
    read = _key_schema if len(text) > _MAX_CACHED else _cached_key_schema
    return read(text, placeholder, connector, types, table)


class ValueSchema(NamedTuple):
    """What the schema of a value says.

    Attributes:
        rows: The shapes of its rows, ``before`` and ``after``.
        connector: Name of the connector, by the schema of ``source``.
    """

    rows: Mapping[str, RowShape]
    connector: str | None


def value_schema(
    text: bytes, placeholder: str, types: str | None = None, table: str = ""
) -> ValueSchema:
    """Return the shapes of the rows of a value, and its connector.

    Args:
        text: The schema.
        placeholder: As in `connect.values.row_shape`.
        types: The declared types, for a table of which `has_bytes_as_text`.
        table: Its name.
    """
    read = _value_schema if len(text) > _MAX_CACHED else _cached_value_schema
    return read(text, placeholder, types, table)


def _key_schema(
    text: bytes, placeholder: str, connector: str | None, types: str | None, table: str
) -> RowShape:
    schema = _parse_at(text, f"{KEY}.schema")
    type_ = read_string(schema, "type", f"{KEY}.schema")
    if type_ != "struct":
        raise CdcDecodeError(
            "schema_mismatch",
            f"{KEY}.schema.type",
            f"Expected `struct`, got `{shorten(type_)}`",
        )
    return row_shape(
        schema.get("fields"),
        f"{KEY}.schema.fields",
        placeholder,
        connector=connector,
        declared=read_types(types).get(table),
    )


def _value_schema(
    text: bytes, placeholder: str, types: str | None, table: str
) -> ValueSchema:
    fields = _parse_at(text, "$.schema").get("fields")
    if not isinstance(fields, list):
        raise wrong_type("array", fields, "$.schema.fields")
    rows: dict[str, tuple[Json, str]] = {}
    connector = None
    for index, field in enumerate(fields):
        path = f"$.schema.fields[{index}]"
        if not isinstance(field, dict):
            raise wrong_type("object", field, path)
        name = field.get("field")
        if isinstance(name, str) and name in {"before", "after"}:
            rows[name] = field, f"{path}.fields"
        elif name == "source":
            found = _SOURCE_NAME.fullmatch(str(field.get("name")))
            connector = found[1] if found else None
    shapes = {
        name: row_shape(
            field.get("fields"),
            path,
            placeholder,
            connector=connector,
            declared=read_types(types).get(table),
        )
        for name, (field, path) in rows.items()
    }
    return ValueSchema(shapes, connector)


_SOURCE_NAME: Final = re.compile(r"io\.debezium\.connector\.([a-z0-9]+)\.Source")


def _parse_at(text: bytes, path: str) -> Json:
    """Parse an object that lies somewhere, and say where it is wrong."""
    try:
        document = strict_tokens(text)
    except CdcDecodeError as error:
        raise CdcDecodeError(
            error.error_class, path + error.path.removeprefix("$"), error.message
        ) from None
    if not isinstance(document, dict):
        raise wrong_type("object", document, path)
    return document


_cached_key_schema: Final = lru_cache(maxsize=1024)(_key_schema)
_cached_value_schema: Final = lru_cache(maxsize=1024)(_value_schema)
