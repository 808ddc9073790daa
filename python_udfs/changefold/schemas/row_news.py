"""What rows tell of a table that no DDL told."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

import msgspec

from changefold.connect.types import PREFIX
from changefold.mysql.ddl import DdlKey
from changefold.schemas.model import ImageChange, SchemaColumn, TableVersion
from changefold.schemas.observed import DescribedSchema, SeenSchema, SeenVersion
from changefold.schemas.table_state import TableState, find_column
from changefold.schemas.type_matching import (
    agree,
    changes_meaning,
    default_of_row,
    type_of_row,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _News = tuple[list[SchemaColumn], list[tuple[SchemaColumn, SchemaColumn]]]
    """Columns that came, and columns with another type: as they were and as they are."""


def news_of_row(
    row: SeenSchema | SeenVersion, versions: Iterable[TableVersion]
) -> tuple[list[SchemaColumn], bool]:
    """Return the columns of a row that no version has, and whether none has its key.

    A declared type is no other type than that of a version.
    """
    columns = columns_of(row)
    declared = row.declared if isinstance(row, SeenSchema) else ()
    versions = list(versions)
    known: defaultdict[str, set[str]] = defaultdict(set)
    has_key = False
    for version in versions:
        for column in version.columns:
            known[column.name.lower()].add(column.type)
        has_key = (
            has_key
            or is_partial(row, version.columns)
            or _has_key(version, row, columns)
        )
    return [
        column
        for column in columns
        if not any(
            column.name in declared or agree(kind, column.type)
            for kind in known[column.name.lower()]
        )
    ], not has_key


def _has_key(
    version: TableVersion, row: SeenSchema | SeenVersion, columns: list[SchemaColumn]
) -> bool:
    """Tell whether the key of a version can tell such rows apart.

    Of several unique indexes a protocol may name another one than the first.
    """
    key = {name.lower() for name in version.key_columns}
    named = {name.lower() for name in _key_of(row)}
    if named and version.key_kind != "unique":
        return key == named
    virtual = {c.name.lower() for c in version.columns if c.generated == "virtual"}
    return key <= virtual.union(column.name.lower() for column in columns)


def _key_of(row: SeenSchema | SeenVersion) -> tuple[str, ...]:
    """Return the columns of the primary key that a row names."""
    if isinstance(row, SeenSchema):
        return row.primary_key or ()
    return next((index.columns for index in row.schema.indexes if index.primary), ())


def columns_of(row: SeenSchema | SeenVersion) -> list[SchemaColumn]:
    """Return the columns that a row names, without a number."""
    if isinstance(row, SeenVersion):
        return _described_columns(row.schema)
    return [_column_of(row, name, text) for name, text in row.column_types.items()]


def without_doubt(columns: Iterable[SchemaColumn]) -> list[SchemaColumn]:
    """Return columns of a table that has no rows from before them."""
    return [
        msgspec.structs.replace(column, original_default_accuracy=None)
        if column.original_default_accuracy == "unknown"
        else column
        for column in columns
    ]


def _column_of(row: SeenSchema, name: str, text: str) -> SchemaColumn:
    """Return a column that a row names. That of its key has a value in each message."""
    is_of_key = name in _key_of(row)
    is_told = name not in row.untyped and name not in row.declared
    default, accuracy = default_of_row(
        text,
        None if is_of_key else row.connector,
        is_told=is_told or is_of_key or row.connector is None,
    )
    return SchemaColumn(
        0,
        name,
        type_of_row(text),
        original_default=default,
        original_default_accuracy=None if is_of_key else accuracy,
    )


def _described_columns(schema: DescribedSchema) -> list[SchemaColumn]:
    """Return the columns that a message describes, without a number.

    What is described is the table after a DDL that was not sent: not the values that it
    gave the rows before.
    """
    key = {name for index in schema.indexes if index.primary for name in index.columns}
    return [
        SchemaColumn(
            column_id=0,
            name=column.name,
            type=str(column.mysql_type),
            nullable=column.nullable,
            original_default_accuracy=None if column.name in key else "unknown",
            charset=column.charset,
            collation=column.collate,
        )
        for column in schema.columns
    ]


def fill_as_described(table: TableState, schema: DescribedSchema) -> None:
    """Give a table the columns and keys that a message describes."""
    table.is_complete = True
    table.has_unknown_beginning = False
    table.follows_rows = False
    _take_columns(table, _described_columns(schema))
    for index in schema.indexes:
        kind: Literal["primary", "unique", "index"] = "index"
        if index.primary or index.unique:
            kind = "primary" if index.primary else "unique"
        table.add_key(DdlKey(kind, index.name, index.columns))


def fill_as_seen(
    table: TableState, schema: SeenSchema, columns: list[SchemaColumn]
) -> tuple[ImageChange, ...]:
    """Give a table the columns and the key that a row names.

    A column that only other rows have named stays if this row leaves out generated
    columns: it is taken for such a one. Where a column goes, one that comes and can hold
    its values may be the same under another name: what the rows before have in it is not
    known.

    Returns:
        What that means to the rows before.
    """
    table.is_complete = True
    table.has_unknown_beginning = False
    table.has_other_columns = True
    known = tuple(table.columns)
    added, retyped = _take_columns(table, columns)
    if schema.leaves_out_generated:
        table.changed_ids |= {column.column_id for column in table.columns}
        named = {column.name for column in table.columns}
        table.columns += (
            column
            for column in known
            if column.name not in named and column.column_id not in table.changed_ids
        )
    table.keys = []
    if schema.primary_key:
        table.add_key(DdlKey("primary", "PRIMARY", schema.primary_key))
    gone = dropped_columns(known, table.columns)
    added = [
        _of_unknown_value(table, column)
        if any(not changes_meaning(c.from_type or "", column.type) for c in gone)
        else column
        for column in added
    ]
    return _of_values(table, added, retyped)


def _take_columns(table: TableState, columns: list[SchemaColumn]) -> _News:
    """Make these the columns of a table. One of the same name is the same column."""
    known = {column.name: column for column in table.columns}
    news = _give_columns(table, columns, known.get)
    present = {column.name: column for column in table.columns}
    table.columns = [present[column.name] for column in columns]
    return news


def _give_columns(
    table: TableState,
    columns: Iterable[SchemaColumn],
    find: Callable[[str], SchemaColumn | None],
) -> _News:
    """Give a table columns, or columns another type, beside those that it has."""
    added = []
    retyped = []
    for column in columns:
        known = find(column.name)
        if known is None:
            added.append(table.add(column))
        elif known.type != column.type:
            after = msgspec.structs.replace(known, type=column.type)
            table.replace(after)
            retyped.append((known, after))
    return added, retyped


def _of_unknown_value(table: TableState, column: SchemaColumn) -> SchemaColumn:
    """Make what the rows before have in a column unknown, unless it tells them apart."""
    _, key = table.key()
    if column.column_id in key:
        return column
    unknown = msgspec.structs.replace(
        column, original_default=None, original_default_accuracy="unknown"
    )
    table.replace(unknown)
    return unknown


def added_column(column: SchemaColumn) -> ImageChange:
    """Return what a column that came means to the rows before."""
    return ImageChange(
        column.column_id,
        "added",
        to_name=column.name,
        to_type=column.type,
        value=column.original_default,
        value_accuracy=column.original_default_accuracy,
    )


def _added_with_default(columns: Iterable[SchemaColumn]) -> tuple[ImageChange, ...]:
    return tuple(
        added_column(column)
        for column in columns
        if column.original_default is not None
        or column.original_default_accuracy == "unknown"
    )


def _with_another_meaning(
    retyped: Iterable[tuple[SchemaColumn, SchemaColumn]],
) -> tuple[ImageChange, ...]:
    return tuple(
        ImageChange(
            before.column_id,
            "retyped",
            from_name=before.name,
            to_name=after.name,
            from_type=before.type,
            to_type=after.type,
            value_accuracy="unknown",
        )
        for before, after in retyped
        if changes_meaning(before.type, after.type)
    )


def _of_values(
    table: TableState,
    added: Iterable[SchemaColumn],
    retyped: Iterable[tuple[SchemaColumn, SchemaColumn]],
) -> tuple[ImageChange, ...]:
    """Return what columns that came, or have another type, mean to the rows before.

    Not of types that make a row another one: such rows are in doubt.
    """
    _, key = table.key()
    return _added_with_default(added) + tuple(
        change
        for change in _with_another_meaning(retyped)
        if key and change.column_id not in key
    )


def dropped_columns(
    before: Iterable[SchemaColumn], after: Iterable[SchemaColumn]
) -> tuple[ImageChange, ...]:
    """Return the columns that a table has no more.

    Rows without a key are told apart by all columns, so a row after it is compared with
    those before without them.
    """
    kept = {column.column_id for column in after}
    return tuple(
        ImageChange(
            column.column_id,
            "dropped",
            from_name=column.name,
            from_type=column.type,
        )
        for column in before
        if column.column_id not in kept
    )


def reveal_columns(
    table: TableState, columns: Iterable[SchemaColumn]
) -> tuple[ImageChange, ...]:
    """Give a table columns, or columns another type, beside those that it has.

    Returns:
        The columns that are new and have a default, which the rows before show, and those
        of which the values of the rows before are not known any more.
    """
    added, retyped = _give_columns(
        table, columns, lambda name: find_column(table.columns, name)
    )
    table.revealed_ids |= {column.column_id for column in added}
    return _of_values(table, added, retyped)


def rekey_table(table: TableState, row: SeenSchema | SeenVersion) -> None:
    """Give a table the key that a row names; without one, take what it can not have."""
    key = _key_of(row)
    if key:
        table.keys = [known for known in table.keys if known.kind != "primary"]
        table.add_key(DdlKey("primary", "PRIMARY", key))
        return
    named = {column.name.lower() for column in columns_of(row)}
    table.keys = [
        known
        for known in table.keys
        if all(table.column(each).name.lower() in named for each in known.column_ids)
    ]


def is_same_key(first: Iterable[int], second: Iterable[int]) -> bool:
    """Tell whether two keys are one: the order of its columns tells no rows apart."""
    return set(first) == set(second)


def is_partial(row: SeenSchema | SeenVersion, known: Iterable[SchemaColumn]) -> bool:
    """Tell whether a row lacks columns that its table has, and names no other.

    So a binlog sends rows whose image is not FULL, and TiCDC those of which its
    changefeed selects some columns.
    """
    return not _is_whole(row) and _named(row) < _sent(known)


def lacks_key(row: SeenSchema | SeenVersion, known: Iterable[SchemaColumn]) -> bool:
    """Tell whether a row of a table with a key lacks columns, and names no key.

    So a binlog sends an UPDATE whose image is MINIMAL: it has what changed.
    """
    return not (_key_of(row) or _is_whole(row) or _named(row) >= _sent(known))


def _named(row: SeenSchema | SeenVersion) -> set[str]:
    return {column.name.lower() for column in columns_of(row)}


def _sent(known: Iterable[SchemaColumn]) -> set[str]:
    return {c.name.lower() for c in known if c.generated != "virtual"}


def _is_whole(row: SeenSchema | SeenVersion) -> bool:
    """Tell whether a column that a row lacks has gone.

    A message of Kafka Connect brings a schema, or all columns.
    """
    return isinstance(row, SeenVersion) or any(
        text.startswith(PREFIX) for text in row.column_types.values()
    )


def row_order(row: SeenSchema | SeenVersion) -> tuple[str, bytes]:
    """Return what sorts rows: their sequence, then what they tell."""
    return row.sequence, msgspec.json.encode(row)
