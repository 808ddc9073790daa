"""A table while its DDL events are folded, and what changes in one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from changefold.mysql.ddl import DdlKey, Partitioning
    from changefold.schemas.model import (
        ImageChange,
        PartitionChange,
        RowEffect,
        SchemaColumn,
    )


@dataclass(slots=True)
class TableKey:
    """A key of a table, with the ids of its columns."""

    kind: Literal["primary", "unique", "index"]
    name: str
    column_ids: list[int]
    has_expression: bool


@dataclass(slots=True)
class TableState:
    """A table at the present point of the fold.

    Attributes:
        follows_rows: Its columns are what its rows name: no DDL has told more.
        has_other_columns: It may have columns that rows do not name, virtual ones.
        changed_ids: Columns that changes without generated columns have named.
        revealed_ids: Columns that rows have named and no DDL has told.
        renamed_ids: Columns that had another name.
        emptied_at: Sequence of the last statement that left it without rows.
        names: Those that it has had.
    """

    uid: str
    database: str
    table: str
    is_complete: bool = True
    has_unknown_beginning: bool = False
    follows_rows: bool = False
    has_other_columns: bool = False
    changed_ids: set[int] = field(default_factory=set)
    revealed_ids: set[int] = field(default_factory=set)
    renamed_ids: set[int] = field(default_factory=set)
    is_dropped: bool = False
    columns: list[SchemaColumn] = field(default_factory=list)
    keys: list[TableKey] = field(default_factory=list)
    charset: str | None = None
    collation: str | None = None
    partitioning: Partitioning | None = None
    next_column_id: int = 1
    versions: int = 0
    last_index: int | None = None
    emptied_at: str = ""
    names: set[tuple[str, str]] = field(default_factory=set)

    @property
    def name(self) -> tuple[str, str]:
        """Its database and its name."""
        return self.database, self.table

    def column(self, column_id: int) -> SchemaColumn:
        """Return a column."""
        return next(c for c in self.columns if c.column_id == column_id)

    def replace(self, column: SchemaColumn) -> None:
        """Put a column in the place of the one with its id."""
        index = self.index(column.column_id)
        self.columns[index] = column

    def add(self, column: SchemaColumn) -> SchemaColumn:
        """Append a column and give it its number."""
        column = msgspec.structs.replace(column, column_id=self.next_column_id)
        self.next_column_id += 1
        self.columns.append(column)
        return column

    def index(self, column_id: int) -> int:
        """Return the place of a column."""
        ids = [column.column_id for column in self.columns]
        return ids.index(column_id)

    def key(self) -> tuple[Literal["primary", "unique"] | None, list[int]]:
        """Return the key that tells rows apart, as column ids."""
        kinds: tuple[Literal["primary", "unique"], ...] = ("primary", "unique")
        if self.has_unknown_beginning:  # there may be a primary key
            kinds = ("primary",)
        for kind in kinds:
            for key in self.keys:
                if key.kind == kind and not key.has_expression and self._binds(key):
                    return kind, list(key.column_ids)
        return None, []

    def unique_columns(self) -> tuple[str, ...]:
        """Return the names of the columns of any unique key."""
        ids = {
            column_id
            for key in self.keys
            if key.kind != "index"
            for column_id in key.column_ids
        }
        return tuple(c.name for c in self.columns if c.column_id in ids)

    def _binds(self, key: TableKey) -> bool:
        columns = [self.column(column_id) for column_id in key.column_ids]
        is_bound = all(not column.nullable for column in columns)
        return bool(columns) and (key.kind == "primary" or is_bound)

    def add_key(self, key: DdlKey) -> None:
        """Add a key."""
        ids = [find_column(self.columns, name) for name in key.columns]
        known = [column.column_id for column in ids if column is not None]
        is_partly_known = key.has_expression or len(known) < len(ids)
        if key.kind == "primary":
            for column_id in known:
                column = self.column(column_id)
                self.replace(msgspec.structs.replace(column, nullable=False))
        name = key.name or self._free_key_name(key)
        self.keys.append(TableKey(key.kind, name, known, is_partly_known))

    def _free_key_name(self, key: DdlKey) -> str:
        """Name an index as MySQL does: its first column, then _2, _3."""
        first = key.columns[0] if key.columns else "functional_index"
        taken = {key.name.lower() for key in self.keys}
        name, number = first, 2
        while name.lower() in taken:
            name, number = f"{first}_{number}", number + 1
        return name

    def drop_key(self, name: str) -> None:
        """Drop a key, if there is one of that name."""
        lowered = name.lower()
        self.keys = [key for key in self.keys if key.name.lower() != lowered]

    def drop_column(self, column_id: int) -> None:
        """Drop a column, also from its indexes; an empty index goes with it."""
        self.columns = [c for c in self.columns if c.column_id != column_id]
        for key in self.keys:
            key.column_ids = [other for other in key.column_ids if other != column_id]
        self.keys = [key for key in self.keys if key.column_ids or key.has_expression]


def find_column(columns: Sequence[SchemaColumn], name: str) -> SchemaColumn | None:
    """Return the column of that name; column names ignore case in MySQL.

    Not so in PostgreSQL, where a table can have both, so the very name goes first.
    """
    named = [column for column in columns if is_named(column, name)]
    return min(named, key=lambda column: column.name != name, default=None)


def is_named(column: SchemaColumn, name: str) -> bool:
    """Tell whether a column has a name, in any case."""
    return column.name.lower() == name.lower()


@dataclass(slots=True)
class TableChange:
    """What one event did to one table.

    Attributes:
        table: The table after it.
        key_before: Numbers of the key columns before.
        columns_before: The columns before.
        name_before: Database and table before.
        may_lose_characters: Whether the source gives a column a character set that lacks
            characters of the one before: TiDB refuses it.
        effects: What the event did to rows.
        images: What it did to columns of rows.
        partitions: What it did to rows of partitions.
        reason: Why the table may be wrong from here on.
    """

    table: TableState
    key_before: list[int]
    columns_before: tuple[SchemaColumn, ...]
    name_before: tuple[str, str]
    may_lose_characters: bool
    effects: set[RowEffect] = field(default_factory=set)
    images: list[ImageChange] = field(default_factory=list)
    partitions: list[PartitionChange] = field(default_factory=list)
    reason: str | None = None

    def unknown(self, reason: str) -> None:
        """Say that what is known of the table may be wrong from here on."""
        self.effects.add("unknown")
        self.table.is_complete = False
        self.reason = reason

    def column_of(self, name: str) -> SchemaColumn | None:
        """Find a column by its name before the statement, else by its present one."""
        before = find_column(self.columns_before, name)
        for column in self.table.columns:
            if before is not None and column.column_id == before.column_id:
                return column
        return find_column(self.table.columns, name)

    def add_image(self, image: ImageChange) -> None:
        """Add what happened to the images of rows."""
        self.images.append(image)
        if image.changes_text:
            self.effects.add("reshape")


class NotAppliedError(Exception):
    """The event changes no known table; the text says why."""

    def __init__(self, reason: str, row_effect: RowEffect = "none") -> None:
        super().__init__(reason)
        self.row_effect: RowEffect = row_effect
