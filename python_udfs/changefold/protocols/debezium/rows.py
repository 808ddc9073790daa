"""The rows of a change, and what they and the key say of each other."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from changefold.connect.declared import declared_shape, has_bytes_as_text, table_name
from changefold.connect.rows import RowShape, RowTexts, undeclared
from changefold.connect.types import UNTYPED
from changefold.errors import CdcDecodeError
from changefold.json.fields import Json, missing, wrong_type
from changefold.protocols.debezium.declared import Declared
from changefold.protocols.debezium.key import (
    Key,
    check_wrapper,
    key_of_row,
    read_key,
    take_key,
)
from changefold.protocols.debezium.message import DebeziumMessage, to_json
from changefold.protocols.debezium.parts import Part
from changefold.protocols.debezium.schema import value_schema

__all__ = ["Table", "column_types", "read_row", "table_of"]


class Table(NamedTuple):
    """How the rows of a table are read.

    Attributes:
        name: Its name, as it is declared.
        before: How a row before a change is read.
        after: How a row after it is.
        of_row: How a key without schema is, and the row of whose types the message tells.
        connector: The connector.
        is_typed: Whether anything is known of the columns.
        bytes_as_text: The name, if its bytes come as texts; else empty.
    """

    name: str
    before: RowShape
    after: RowShape
    of_row: RowShape
    connector: str | None
    is_typed: bool
    bytes_as_text: str


@lru_cache(maxsize=4096)
def table_of(
    schema: bytes | None,
    types: str | None,
    placeholder: str,
    connector: str | None,
    names: tuple[str | None, str | None, str | None],
) -> Table:
    """Return how the rows of a message are read.

    Args:
        schema: JSON text of its schema.
        types: The declared types.
        placeholder: As in `connect.values.row_shape`.
        connector: The connector, as the message names it.
        names: Database, schema and table.

    Raises:
        CdcDecodeError: If the schema is none of a change.
    """
    table = table_name(*names)
    text = table if has_bytes_as_text(types, table) else ""
    unknown = undeclared(placeholder)
    if schema is None:
        shape = declared_shape(types, table, placeholder, connector)
        known = shape or unknown
        return Table(table, known, known, known, connector, shape is not None, text)
    rows, connector = value_schema(schema, placeholder, types if text else None, text)
    of_row = rows.get("after") or rows.get("before")
    if of_row is None:
        raise CdcDecodeError(
            "schema_mismatch",
            "$.schema.fields",
            "Expected a schema with `before` and `after`, got one with neither",
        )
    before, after = (rows.get(name, unknown) for name in ("before", "after"))
    return Table(table, before, after, of_row, connector, True, text)


def read_row(
    message: DebeziumMessage,
    key: bytes | None,
    part: Part,
    declared: Declared,
) -> None:
    """Read the rows of a change, and its key.

    Args:
        message: The message, whose source was read.
        key: Its key.
        part: An object with ``before`` and ``after``, its place and its schema.
        declared: What the topic declares.

    Raises:
        CdcDecodeError: If a row is not what Debezium documents.
    """
    images, path, schema = part
    names = message.source_database, message.source_schema, message.source_table
    table = table_of(
        schema, declared.types, declared.placeholder, message.connector, names
    )
    message.is_typed = table.is_typed
    after = images.get("after")
    row = after or images.get("before")
    columns = row if isinstance(row, dict) else ()
    message.column_types = column_types(table.of_row, columns, is_whole=bool(after))
    found: Key | None = None
    error: CdcDecodeError | None = None
    try:
        found = read_key(
            key, table.of_row, declared, table.connector, table.bytes_as_text
        )
        check_wrapper(found, row)
    except CdcDecodeError as unreadable:
        if message.op == "d" and images.get("before") is None:
            raise
        found, error = None, unreadable
    rows = _read_images(str(message.op), images, path, table, has_key=found is not None)
    image = "before" if message.op == "d" else "after"
    if found is None and image in rows and (error or table.name in declared.keys):
        found, error = key_of_row(
            rows[image].texts, images[image], key, declared.keys.get(table.name), error
        )
    take_key(message, found)
    news = {} if found is None else _fill_in(rows, found, table.of_row)
    for each in rows.values():
        for name, contradiction in each.contradicted.items():
            news[name] = UNTYPED
            error = error or _contradiction(contradiction)
    if news:
        types = msgspec.json.decode(message.column_types or "{}")
        message.column_types = to_json(types | news)
    _take_rows(message, rows)
    message.error = error and error.by_itself()


def _take_rows(message: DebeziumMessage, rows: Mapping[str, RowTexts]) -> None:
    for name, each in rows.items():
        setattr(message, name, to_json(each.texts))
        if name == "after" and each.unavailable:
            message.unavailable_columns = to_json(each.unavailable)


def column_types(
    shape: RowShape, names: Iterable[str], *, is_whole: bool
) -> str | None:
    """Return the types of the columns of a message.

    Args:
        shape: Of its rows.
        names: The columns of the row after, else of that before.
        is_whole: Whether they are those of a row after.
    """
    # A schema has all columns that a row may have.
    text = (
        shape.column_types
        if shape.other is None
        else shape.types_of(names, is_whole=is_whole)
    )
    return None if text == "{}" else text


def _fill_in(
    rows: Mapping[str, RowTexts], key: Key, of_row: RowShape
) -> dict[str, str]:
    """Add the columns of a key that its rows leave out; return their types."""
    is_schema = of_row.other is None
    news: list[str] = []
    for name, text in key.texts.items():
        if is_schema and name in of_row.columns:
            continue
        lacking = [
            row
            for row in rows.values()
            if name not in row.texts and name not in row.unavailable
        ]
        for row in lacking:
            row.texts[name] = text
        if len(lacking) == len(rows) and (rows or is_schema):
            news.append(name)
    if not news or key.shape is None:
        return {}
    types = msgspec.json.decode(key.shape.types_of(news, is_whole=True))
    return {name: types[name] for name in news}


def _contradiction(error: CdcDecodeError) -> CdcDecodeError:
    return CdcDecodeError(
        "contradicted_type",
        error.path,
        f"{error.message}: the type of the column was declared otherwise",
    )


_IMAGES: Final = {
    "c": ("after",),
    "r": ("after",),
    "u": ("before", "after"),
    "d": ("before",),
    "t": (),
}
"""Which rows a change may have. It must have `after`; `before` depends on the source,
but one that was deleted must have that or a key."""


def _read_images(
    op: str,
    payload: Json,
    path: str,
    table: Table,
    *,
    has_key: bool,
) -> dict[str, RowTexts]:
    """Return the texts of the rows before and after, of those that there are."""
    images = _IMAGES[op]
    rows: dict[str, RowTexts] = {}
    for name in ("before", "after"):
        row = payload.get(name)
        place = f"{path}.{name}"
        if row is None:
            if name in images and (name == "after" or (op == "d" and not has_key)):
                raise missing("object", place, payload, name)
            continue
        if name not in images:
            raise wrong_type("null", row, place)
        # PostgreSQL's row before may be its key and nulls, whatever the columns.
        shape = table.before if name == "before" else table.after
        rows[name] = shape.texts(row, place, nulls=name == "before")
    return rows
