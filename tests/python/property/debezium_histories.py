"""Random histories of databases that Debezium reads.

As `histories`, but each change of a row is told, several of a row in one transaction
too, and of DDLs only those that leave Debezium's stream a stream: ADD COLUMN, where there
is a message of it TRUNCATE, and DROP COLUMN of the table without a key, whose rows are
found by all columns. The model of the truth is the same `Source`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Final, Literal, TypeVar

from histories import (
    DATABASE,
    IDS,
    ITEMS,
    KEY,
    MARKS,
    TABLES,
    Cell,
    Column,
    Columns,
    Ddl,
    Line,
    Place,
    Row,
    RowChange,
    Source,
    Table,
    add_column,
    create_table,
    draw_cell,
    drop_column,
    happens,
    key_of,
    truncate_table,
)

Connector = Literal["sqlserver", "postgresql", "mariadb"]

CONNECTORS: Final[tuple[Connector, ...]] = ("sqlserver", "postgresql", "mariadb")
SCHEMAS: Final[dict[Connector, str | None]] = {
    "sqlserver": "dbo",
    "postgresql": "public",
    "mariadb": None,
}
"""The schema of all tables, where the source has schemas."""

ENTRIES: Final = "entries"
"""A table without a key. Its column ``id`` tells equal rows apart in the model, as the
place of a row does in a database; nothing that is sent or expected has it."""

LONG: Final = 2000
"""Characters from which PostgreSQL may keep a text apart from its row (TOAST)."""

_TABLES: Final[dict[str, Columns]] = {
    ITEMS: TABLES[ITEMS],
    MARKS: TABLES[MARKS],
    ENTRIES: (*KEY, Column("word", "varchar(40)"), Column("quantity", "int(11)")),
}
_ADDITIONS: Final = (
    Column("extra", "varchar(40)"),
    Column("extra", "int(11)"),
    Column("surcharge", "decimal(10,2)"),
)
_DEFAULTS: Final = (
    (Column("extra", "varchar(40)"), 'it\'s "5" 😀'),
    (Column("extra", "int(11)", nullable=False), "7"),
    (Column("surcharge", "decimal(10,2)"), "1.5"),
    (Column("surcharge", "decimal(10,2)", nullable=False), "0.25"),
)
_MOMENTS: Final = (
    "1582-10-15 00:00:00.000000",
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00.000001",
    "2024-02-29 23:59:59.900000",
    "2026-01-01 12:00:00.000000",
    "9999-12-31 23:59:59.999999",
)
"""None before the Gregorian calendar: there, snapshots of PostgreSQL are not exact."""


@dataclass(frozen=True)
class Statement:
    """What a statement did: to rows, one after the other, or to a table.

    Attributes:
        table: The table as it is afterwards.
        changes: The rows.
        ddl: TRUNCATE, ADD or DROP COLUMN.
    """

    table: Table
    changes: tuple[RowChange, ...] = ()
    ddl: Ddl | None = None


Transaction = tuple[Statement, ...]


@dataclass(frozen=True)
class History:
    """What happened in a source.

    Attributes:
        connector: What reads it.
        source: How it is at the end.
        transactions: What happened since the tables are there, in order of commits.
        rows_before: How many rows there were before each of them, and at the end.
    """

    connector: Connector
    source: Source = field(repr=False)
    transactions: tuple[Transaction, ...] = field(repr=False)
    rows_before: tuple[int, ...] = field(repr=False)

    def final(self) -> list[Line]:
        """Return the lines of ``expected_final``."""
        return [
            {
                "database": DATABASE,
                "schema": SCHEMAS[self.connector],
                "table": table,
                "row": oracle_row(self.connector, self.source.tables[table], row),
            }
            for table, rows in self.source.rows.items()
            for row in rows.values()
        ]


def new_source() -> Source:
    """Return a source with its tables, still empty."""
    source = Source()
    for table, columns in _TABLES.items():
        source.execute(_next_moment(source), create_table(table, columns))
    return source


def apply(source: Source, statement: Statement) -> None:
    """Let a statement happen to a source."""
    if statement.ddl is not None:
        source.execute(_next_moment(source), statement.ddl)
    for change in statement.changes:
        source.commit(_next_moment(source), [change])


def _next_moment(source: Source) -> int:
    return len(source.commits) + 1


# ---------- as the source shows its rows


def has_key(table: str) -> bool:
    """Return whether a table has a primary key."""
    return table != ENTRIES


def shown_columns(table: Table) -> Columns:
    """Return the columns that a database would have."""
    if has_key(table.name):
        return table.columns
    return tuple(one for one in table.columns if one.name != "id")


def oracle_row(connector: Connector, table: Table, row: Row) -> Line:
    """Return a row as the source itself prints it."""
    return {
        one.name: _oracle_text(connector, one, row[one.name])
        for one in shown_columns(table)
    }


def _oracle_text(connector: Connector, column: Column, cell: Cell) -> str | None:
    is_postgresql = connector == "postgresql"
    if isinstance(cell, bytes):
        return ("\\x" if is_postgresql else "0x") + cell.hex()
    if cell is not None and column.base == "datetime" and is_postgresql:
        return cell.rstrip("0").rstrip(".")
    return cell


# ---------- what is drawn of it


def draw_history(
    random: Random,
    connector: Connector,
    histories: int = 1,
    transactions: int = 8,
    *,
    without: Collection[Literal["default", "truncate", "drop"]] = (),
) -> History:
    """Draw a history, or many that share the tables.

    Args:
        random: Makes the choices.
        connector: What will read it.
        histories: How many histories share the tables.
        transactions: How many transactions each of them has at most.
        without: What does not happen: that a column is added with a default, which the
            rows that are there then show, and only the schema of a message tells; that
            a table with a key is truncated; or that the one without loses a column.
    """
    drawing = _Drawing(random, connector)
    drawing.has_defaults = "default" not in without and connector != "sqlserver"
    drawing.has_drops = "drop" not in without
    drawing.has_truncates = "truncate" not in without and connector != "sqlserver"
    # A turn is a transaction of a history or, without one, a statement on a table.
    turns: list[str | None] = []
    for number in range(histories):
        turns += [str(number)] * random.randint(1, transactions)
    turns += [None] * random.choice((0, 1, 2, 3))
    random.shuffle(turns)
    for turn in turns:
        if turn is None:
            drawing.ddl(str(histories))
        else:
            drawing.transaction(turn)
    return drawing.history()


Changes = list[tuple[Row | None, Row | None]]
"""Rows before and after, of one statement."""

_Item = TypeVar("_Item")


class _Drawing:
    """A source to which things happen."""

    def __init__(self, random: Random, connector: Connector) -> None:
        self.has_defaults = False
        self.has_truncates = False
        self.has_drops = False
        self._random = random
        self._connector = connector
        self._source = new_source()
        self._transactions: list[Transaction] = []
        self._rows_before = [0]
        self._ids = count(1)
        self._dropped: set[str] = set()

    def history(self) -> History:
        """Return all that happened."""
        return History(
            self._connector,
            self._source,
            tuple(self._transactions),
            tuple(self._rows_before),
        )

    def transaction(self, history_id: str) -> None:
        """Let one happen in one history, unless it finds nothing to do."""
        statements: list[Statement] = []
        for _ in range(self._random.choice((1, 1, 2, 3))):
            table = self._random.choice((ITEMS, MARKS, ENTRIES))
            statements += self._happen(table, self._draw(table, history_id))
        self._end(statements)

    def ddl(self, history_id: str) -> None:
        """Let a table change, and a row be written in it afterwards.

        Without that row no message would tell of a column that was added.
        """
        table = self._random.choice((ITEMS, MARKS, ENTRIES, ENTRIES))
        ddls: list[Ddl] = []
        present = {one.name for one in self._source.tables[table].columns}
        present |= self._dropped
        additions = [(one, None) for one in _ADDITIONS if one.name not in present]
        defaults = [one for one in _DEFAULTS if one[0].name not in present]
        if self.has_defaults and defaults and happens(self._random, 0.7):
            ddls.append(add_column(table, *self._random.choice(defaults), self._at()))
        elif additions:
            ddls.append(add_column(table, *self._random.choice(additions), self._at()))
        if self.has_truncates or (table == ENTRIES and self._connector != "sqlserver"):
            ddls.append(truncate_table(table))
        droppable = ({"word", "surcharge"} & present) - self._dropped
        is_dropped = self.has_drops and table == ENTRIES and droppable
        if is_dropped and happens(self._random, 0.6):
            ddls = [drop_column(table, name) for name in sorted(droppable)]
        if not ddls:
            return
        ddl = self._random.choice(ddls)
        was = {one.name for one in self._source.tables[table].columns}
        self._source.execute(_next_moment(self._source), ddl)
        is_now = {one.name for one in self._source.tables[table].columns}
        # A column that is made anew is another one.
        self._dropped |= was - is_now
        changed = [Statement(self._source.tables[table], ddl=ddl)]
        # PostgreSQL's DDL is part of a transaction.
        if self._connector != "postgresql" or happens(self._random, 0.5):
            self._end(changed)
            changed = []
        row = self._row(table, history_id, f"{next(self._ids)}")
        self._end([*changed, *self._happen(table, [[(None, row)]])])

    def _at(self) -> Place:
        """Draw where a column is added."""
        if self._connector != "mariadb":
            return ""
        places: tuple[Place, ...] = ("", "FIRST", "AFTER `id`")
        return self._random.choice(places)

    def _happen(self, table: str, drawn: list[Changes]) -> Iterator[Statement]:
        """Let statements happen, but for what the source would not tell of them."""
        for rows in drawn:
            changes = tuple(
                RowChange(table, before, after)
                for before, after in rows
                # Only PostgreSQL writes a row that an UPDATE left as it was.
                if before != after or self._connector == "postgresql"
            )
            if changes:
                statement = Statement(self._source.tables[table], changes)
                apply(self._source, statement)
                yield statement

    def _end(self, statements: list[Statement]) -> None:
        if statements:
            self._transactions.append(tuple(statements))
            rows = sum(map(len, self._source.rows.values()))
            self._rows_before.append(rows)

    # ------------------------------------------------------------------- statements

    def _draw(self, table: str, history_id: str) -> list[Changes]:
        """Draw a statement or, where they belong together, some."""
        rows = self._source.rows[table]
        live = [row for row in rows.values() if row["history_id"] == history_id]
        if not has_key(table):
            return [self._draw_keyless(table, history_id, live)]
        used = {row["id"] for row in live}
        free = [id_ for id_ in IDS if id_ not in used]
        if not live or (free and happens(self._random, 0.3)):
            ids = self._some(free)
            return [[(None, self._row(table, history_id, id_)) for id_ in ids]]
        return self._random.choice(self._on_rows(live, free))(table)

    def _on_rows(
        self, live: list[Row], free: list[str]
    ) -> list[Callable[[str], list[Changes]]]:
        """Return what could be done to rows which are there."""
        one = self._random.choice(live)
        some = self._some(live)

        def update(table: str) -> list[Changes]:
            return [[(row, self._changed(table, row)) for row in some]]

        def delete(_: str) -> list[Changes]:
            return [[(row, None) for row in some]]

        def replaced(table: str) -> list[Changes]:
            return [[(one, None)], [(None, self._changed(table, one))]]

        possible = [update, update, delete, replaced]
        if not free:
            return possible
        place = self._random.choice(free)

        def move(table: str) -> list[Changes]:
            return [[(one, {**self._changed(table, one), "id": place})]]

        def pass_by(table: str) -> list[Changes]:
            row = self._row(table, str(one["history_id"]), place)
            later = self._changed(table, row)
            return [[(None, row)], [(row, later)], [(later, None)]]

        def swap(_: str) -> list[Changes]:
            first, second = live[0], live[-1]
            aside = {**first, "id": place}
            return [
                [(first, aside)],
                [(second, {**second, "id": first["id"]})],
                [(aside, {**first, "id": second["id"]})],
            ]

        possible += [move, move, pass_by]
        return [*possible, swap] if len(live) > 1 else possible

    def _draw_keyless(self, table: str, history_id: str, live: list[Row]) -> Changes:
        """Rows without a key are often equal, and any may be meant."""
        if live and happens(self._random, 0.5):
            row = self._random.choice(live)
            if happens(self._random, 0.4):
                return [(row, None)]
            return [(row, self._changed(table, row))]
        row = self._row(table, history_id, f"{next(self._ids)}")
        copies = self._random.choice((0, 0, 1, 2))
        again = [{**row, "id": f"{next(self._ids)}"} for _ in range(copies)]
        return [(None, copy) for copy in (row, *again)]

    def _some(self, among: Sequence[_Item]) -> list[_Item]:
        return self._random.sample(among, min(len(among), self._random.choice((1, 2))))

    # ------------------------------------------------------------------------ cells

    def _row(self, table: str, history_id: str, id_: str) -> Row:
        cells: dict[str, Cell] = {"history_id": history_id, "id": id_}
        return {
            one.name: cells[one.name] if one.name in cells else self._cell(table, one)
            for one in self._source.tables[table].columns
        }

    def _changed(self, table: str, row: Row) -> Row:
        """Draw what becomes of a row: no, some or all columns change, never its key."""
        chance = self._random.choice((0.0, 0.4, 0.4, 1.0))
        return {
            one.name: self._cell(table, one)
            if one not in KEY and happens(self._random, chance)
            else row[one.name]
            for one in self._source.tables[table].columns
        }

    def _cell(self, table: str, column: Column) -> Cell:
        if table == ENTRIES and column.name == "quantity":
            return self._random.choice(("1", "2"))
        if table == ENTRIES and column.name == "word":
            return self._random.choice(("a", "", None))
        cell = draw_cell(self._random, replace(column, default=None))
        if cell is None:
            return None
        if column.base == "datetime":
            return self._random.choice(_MOMENTS)
        if isinstance(cell, bytes) or column.base not in {"varchar", "text"}:
            return cell
        if self._connector == "postgresql":
            # It has no text with this character.
            cell = cell.replace("\x00", "")
        is_long = column.base == "text" and happens(self._random, 0.4)
        return cell + "long " * (LONG // 5) if is_long else cell


def keys_of(change: RowChange) -> set[tuple[Cell, ...]]:
    """Return the keys that a change touches."""
    return {key_of(row) for row in (change.before, change.after) if row is not None}
