"""Random histories of a few small tables.

`Source` is the model of the truth: rows in memory, changed by commits and DDLs. What
the tables must show (`expected_final`, `expected_history`) comes from its rows before
and after each commit, never from a message.

Many histories lie in one source: `history_id` is part of the key, so that they share
a topic, its commit timestamps and its DDLs, and hundreds cost one run of Spark.

All choices are made by a `random.Random`, which Hypothesis or a seed supplies.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import count
from random import Random
from typing import Any, Final, Literal

from hypothesis import strategies as st

Cell = str | bytes | None
Row = Mapping[str, Cell]
Key = tuple[Cell, ...]
Line = dict[str, Any]

DATABASE: Final = "property"
ITEMS: Final = "items"
MARKS: Final = "marks"
NAMES: Final = (ITEMS, MARKS, "archive", "spare", "items_new")
"""The tables which are there at first, and names that a table may get."""
KEY_COLUMNS: Final = ("history_id", "id")
IDS: Final = ("-1", "1", "2", "3", "9007199254740993")
"""Few, so that keys are used again and again; the last one no float can hold."""

LOGICAL_BITS: Final = 18
FIRST_MILLISECOND: Final = 1_767_225_600_000


def seeded(seed: int | str | None) -> Random:
    """Return choices that are always the same for a seed; none: never the same."""
    return Random(seed)  # noqa: S311 - no secret depends on them


# ---------- the model of the source


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: Its name.
        type: Its type, as information_schema shows it.
        nullable: Whether it takes NULL.
        default: Text of its default, if it has one.
        id: Number within the source, by age; 0 as long as no table has the column.
    """

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    id: int = field(default=0, compare=False)

    @property
    def base(self) -> str:
        """The type without its parameters."""
        return self.type.partition("(")[0]

    @property
    def parameters(self) -> list[int]:
        """The parameters of the type."""
        listed = self.type.partition("(")[2].rstrip(")")
        return [int(number) for number in listed.split(",")] if listed else []

    @property
    def scale(self) -> int:
        """Digits after the point."""
        return self.parameters[-1]


Columns = tuple[Column, ...]
Place = Literal["", "FIRST", "AFTER `id`"]
Rename = Literal["RENAME TABLE", "ALTER TABLE"]

KEY: Final = (
    Column("history_id", "int(11)", nullable=False),
    Column("id", "bigint(20)", nullable=False),
)
TABLES: Final[Mapping[str, Columns]] = {
    ITEMS: (
        *KEY,
        Column("note", "varchar(200)"),
        Column("amount", "decimal(12,4)"),
        Column("happened", "datetime(6)"),
        Column("photo", "varbinary(40)"),
        Column("quantity", "int(11)"),
    ),
    MARKS: (*KEY, Column("label", "text")),
}


@dataclass(frozen=True)
class RowChange:
    """A row before and after a transaction.

    Without ``before`` an insert, without ``after`` a delete. Where both have the
    same key the transaction may also have deleted and inserted the row: TiDB keeps
    only what the transaction left. Where the keys differ, the row has moved.
    """

    table: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True)
class Table:
    """What a table is at a time.

    Attributes:
        name: Its name.
        columns: Its columns, in their places.
        id: TiDB's number; TRUNCATE gives another one.
        version: TiDB's version of the schema; RENAME and TRUNCATE keep it.
    """

    name: str
    columns: Columns
    id: int
    version: int


@dataclass(frozen=True)
class Ddl:
    """A DDL of one table: its text as TiCDC sends it, what it does to columns and rows.

    Attributes:
        table: The table, as it is called before.
        type: The type in messages.
        sql: The statement.
        columns: Gives the columns that come of the columns before.
        row: Gives what comes of a row; None: nothing.
        target: The name that the table gets, if it gets another one.
    """

    table: str
    type: Literal["CREATE", "ALTER", "RENAME", "TRUNCATE", "ERASE"]
    sql: str
    columns: Callable[[Columns], Columns] = lambda columns: columns
    row: Callable[[Row], Row | None] = lambda row: row
    target: str | None = None


@dataclass(frozen=True)
class DdlEvent:
    """A DDL and its table before and afterwards, as TiCDC tells them.

    Of a table that was dropped it tells twice what it was.
    """

    ddl: Ddl
    before: Table | None
    after: Table

    @property
    def names(self) -> set[str]:
        """The names that the table has before and afterwards."""
        return {self.ddl.table, self.after.name}


@dataclass(frozen=True)
class Commit:
    """What one commit did.

    Attributes:
        commit_ts: When.
        changes: Rows that a transaction changed.
        ddls: Or the DDLs of a statement: several, if it renames several tables.
        tables: The tables of the rows, at that time.
    """

    commit_ts: int
    changes: tuple[RowChange, ...] = ()
    ddls: tuple[DdlEvent, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def creates_table(self) -> bool:
        """Whether a table begins here."""
        return any(event.before is None for event in self.ddls)


def key_of(row: Row) -> Key:
    """Return the primary key of a row."""
    return tuple(row[name] for name in KEY_COLUMNS)


class Source:
    """Tables in memory and all that ever happened to them.

    Attributes:
        tables: The tables by name, as they are now.
        rows: Rows of each table by key, as they are now.
        commits: What happened, in order: what there is to send.
        history: Lines of ``expected_history``.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.rows: dict[str, dict[Key, Row]] = {}
        self.commits: list[Commit] = []
        self.history: list[Line] = []
        self._ids = count(start=101)

    def execute(self, commit_ts: int, *ddls: Ddl) -> None:
        """Let a statement change its tables, one after the other.

        Raises:
            ValueError: If a table is not there, or would be there twice.
        """
        before = dict(self.rows)
        events = tuple(self._apply(commit_ts, ddl) for ddl in ddls)
        self._log(Commit(commit_ts, ddls=events), before, "ddl")

    def _apply(self, commit_ts: int, ddl: Ddl) -> DdlEvent:
        before = self.tables.pop(ddl.table, None)
        rows = self.rows.pop(ddl.table, {})
        if (before is None) != (ddl.type == "CREATE"):
            raise ValueError(f"Expected another table, got {before} - at {ddl.sql}")
        if before is not None and ddl.type == "ERASE":
            return DdlEvent(ddl, before, before)
        columns = tuple(
            one if one.id else replace(one, id=next(self._ids))
            for one in ddl.columns(before.columns if before else ())
        )
        keeps_version = before is not None and ddl.type in {"RENAME", "TRUNCATE"}
        keeps_id = before is not None and ddl.type != "TRUNCATE"
        after = Table(
            ddl.target or ddl.table,
            columns,
            before.id if before and keeps_id else next(self._ids),
            # The schema changes a little before the statement ends.
            before.version if before and keeps_version else commit_ts - 1,
        )
        if self.tables.setdefault(after.name, after) is not after:
            raise ValueError(f"Expected no table {after.name} - at {ddl.sql}")
        images = ((key, ddl.row(row)) for key, row in rows.items())
        self.rows[after.name] = {key: row for key, row in images if row is not None}
        return DdlEvent(ddl, before, after)

    def commit(self, commit_ts: int, changes: Iterable[RowChange]) -> None:
        """Let a transaction change rows.

        Raises:
            ValueError: If a row is not there, changed twice or would be there twice.
        """
        changes = tuple(changes)
        before = {table: dict(rows) for table, rows in self.rows.items()}
        for change in changes:
            if change.before is not None:
                gone = self.rows[change.table].pop(key_of(change.before), None)
                if gone != change.before:
                    raise ValueError(f"Expected the row {change.before}, got {gone}")
        for change in changes:
            if change.after is not None:
                there = self.rows[change.table].setdefault(
                    key_of(change.after), change.after
                )
                if there is not change.after:
                    raise ValueError(f"Expected no row {key_of(there)}, got {there}")
        tables = {change.table: self.tables[change.table] for change in changes}
        self._log(Commit(commit_ts, changes, tables=tables), before, "dml")

    def _log(
        self, commit: Commit, before: Mapping[str, Mapping[Key, Row]], cause: str
    ) -> None:
        if self.commits and commit.commit_ts <= self.commits[-1].commit_ts:
            raise ValueError(
                f"Expected a commitTs above {self.commits[-1].commit_ts}, "
                f"got {commit.commit_ts}"
            )
        self.commits.append(commit)
        for table in {**before, **self.rows}:
            earlier, rows = before.get(table, {}), self.rows.get(table, {})
            for key in {**earlier, **rows}:
                old, new = earlier.get(key), rows.get(key)
                if old != new:
                    op = "I" if old is None else "D" if new is None else "U"
                    self.history.append(
                        {
                            "database": DATABASE,
                            "table": table,
                            "pk": dict(zip(KEY_COLUMNS, key, strict=True)),
                            "commitTs": commit.commit_ts,
                            "op": op,
                            "cause": cause,
                            "row": new and _shown(new),
                        }
                    )

    def until(self, commit_ts: int) -> "Source":
        """Return what it was just before a moment."""
        past = Source()
        for commit in self.commits:
            if commit.commit_ts >= commit_ts:
                break
            if commit.ddls:
                past.execute(commit.commit_ts, *(event.ddl for event in commit.ddls))
            else:
                past.commit(commit.commit_ts, commit.changes)
        return past

    def final(self) -> list[Line]:
        """Return the lines of ``expected_final``."""
        return [
            {"database": DATABASE, "table": table, "row": _shown(row)}
            for table, rows in self.rows.items()
            for row in rows.values()
        ]


def _shown(row: Row) -> dict[str, Any]:
    return {
        name: {"$hex": cell.hex()} if isinstance(cell, bytes) else cell
        for name, cell in row.items()
    }


# ---------- DDLs


def create_table(table: str, columns: Columns | None = None) -> Ddl:
    """CREATE TABLE, if not told otherwise with the columns of `TABLES`."""
    present = columns or TABLES[table]
    listed = ",".join(
        f"`{one.name}` {_sql_type(one)}{'' if one.nullable else ' NOT NULL'}"
        for one in present
    )
    key = ", ".join(f"`{name}`" for name in KEY_COLUMNS)
    sql = f"CREATE TABLE `{table}` ({listed},PRIMARY KEY({key}))"
    return Ddl(table, "CREATE", sql, lambda _: present)


def drop_table(table: str) -> Ddl:
    """DROP TABLE; TiCDC writes its text."""
    return Ddl(table, "ERASE", f"DROP TABLE `{DATABASE}`.`{table}`")


def rename_table(table: str, target: str, form: Rename = "RENAME TABLE") -> Ddl:
    """A statement that renames one table."""
    to = "TO" if form == "RENAME TABLE" else "RENAME AS"
    return Ddl(table, "RENAME", f"{form} `{table}` {to} `{target}`", target=target)


def rename_tables(*names: tuple[str, str]) -> tuple[Ddl, ...]:
    """RENAME TABLE of several tables, which TiCDC writes as one for each.

    A statement that swaps two names is not among them: TiCDC refuses it.
    """
    return tuple(
        Ddl(
            table,
            "RENAME",
            f"RENAME TABLE `{DATABASE}`.`{table}` TO `{DATABASE}`.`{target}`",
            target=target,
        )
        for table, target in names
    )


def truncate_table(table: str) -> Ddl:
    """TRUNCATE TABLE: no message tells which rows are gone."""
    sql = f"TRUNCATE TABLE `{table}`"
    return Ddl(table, "TRUNCATE", sql, row=lambda _: None)


def add_column(
    table: str,
    column: Column,
    default: str | None = None,
    place: Place = "",
) -> Ddl:
    """ADD COLUMN: every row has the default from then on."""
    column = replace(column, default=default, id=0)
    sql = f"ALTER TABLE `{table}` ADD COLUMN `{column.name}` {_sql_type(column)}"
    sql += "" if column.nullable else " NOT NULL"
    if default is not None:
        literal = default.replace("'", "''")
        is_text = column.base == "varchar"
        sql += f" DEFAULT _UTF8MB4'{literal}'" if is_text else f" DEFAULT {default}"
    cell = default
    if default is not None and column.base == "decimal":
        cell = _rounded(default, column.scale)

    def columns(present: Columns) -> Columns:
        names = [one.name for one in present]
        position = {"": len(names), "FIRST": 0}.get(place)
        if position is None:
            position = names.index("id") + 1
        return (*present[:position], column, *present[position:])

    return Ddl(
        table,
        "ALTER",
        f"{sql} {place}".rstrip(),
        columns,
        lambda row: {**row, column.name: cell},
    )


def drop_column(table: str, name: str) -> Ddl:
    """DROP COLUMN: its values are gone, whatever gets its name afterwards."""
    return Ddl(
        table,
        "ALTER",
        f"ALTER TABLE `{table}` DROP COLUMN `{name}`",
        lambda columns: tuple(one for one in columns if one.name != name),
        lambda row: {column: row[column] for column in row if column != name},
    )


def rename_column(table: str, name: str, target: Column) -> Ddl:
    """CHANGE COLUMN to another name and, here, the same type: it stays the same one."""
    return Ddl(
        table,
        "ALTER",
        f"ALTER TABLE `{table}` CHANGE COLUMN `{name}` `{target.name}` "
        f"{_sql_type(target)}",
        lambda columns: tuple(
            replace(target, id=one.id) if one.name == name else one for one in columns
        ),
        lambda row: {
            target.name if column == name else column: cell
            for column, cell in row.items()
        },
    )


def modify_scale(table: str, target: Column) -> Ddl:
    """MODIFY COLUMN of a decimal: TiDB writes the values anew, into another column."""

    def convert(row: Row) -> Row:
        cell = row[target.name]
        if not isinstance(cell, str):
            return row
        return {**row, target.name: _rounded(cell, target.scale)}

    return Ddl(
        table,
        "ALTER",
        f"ALTER TABLE `{table}` MODIFY COLUMN `{target.name}` {_sql_type(target)}",
        lambda columns: tuple(
            replace(target, id=0) if one.name == target.name else one for one in columns
        ),
        convert,
    )


def _rounded(number: str, scale: int) -> str:
    """A decimal with another scale: MySQL rounds halves away from zero."""
    return f"{Decimal(number).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP):f}"


def _sql_type(column: Column) -> str:
    """A type as TiDB's parser restores it: integers without a width."""
    is_integer = column.base in {"int", "bigint"}
    return (column.base if is_integer else column.type).upper()


# ---------- what is drawn of the source

_TEXTS: Final = (
    "",
    " ",
    "  both ends  ",
    "null",
    "NULL",
    "'",
    '"',
    "\\",
    "\\n",
    "\n",
    "\r\n",
    "\t",
    "\x00",
    "\x7f",
    "é",
    "e\u0301",
    "漢字",
    "😀",
    "\u2028",
    "\ufeff",
    "<&>",
    "{{ x }}",
    "{% raw %}",
    "%s",
    "`",
    '{"id":"1"}',
    '"}],"old":[{"',
    "\\u0041",
)
_BYTES: Final = (b"", b"\x00", b"\xff\xfe", b"<&>", b"'\"\\", b"\n\r\t", b"\x80\x9f")
_MOMENTS: Final = (
    "1000-01-01 00:00:00.000000",
    "1582-10-10 12:00:00.000000",
    "1970-01-01 00:00:00.000001",
    "2024-02-29 23:59:59.999999",
    "9999-12-31 23:59:59.999999",
    "0000-00-00 00:00:00.000000",
)
_SCALES: Final = (
    "decimal(12,4)",
    "decimal(12,2)",
    "decimal(14,6)",
    "decimal(20,4)",
    "decimal(12,0)",
)


def happens(random: Random, chance: float) -> bool:
    return random.random() < chance


def draw_cell(random: Random, column: Column) -> Cell:
    """Draw a value of a column."""
    if column.nullable and happens(random, 0.15):
        return None
    match column.base:
        case "decimal":
            return _draw_decimal(random, column.scale)
        case "datetime":
            return random.choice(_MOMENTS)
        case "varbinary":
            return b"".join(random.choices(_BYTES, k=random.randint(0, 3)))
        case "varchar" | "text":
            return "".join(random.choices(_TEXTS, k=random.randint(0, 3)))
        case _:
            extremes = (-(2**31), 2**31 - 1, 0)
            return str(random.choice((*extremes, random.randint(-9, 99))))


def _draw_decimal(random: Random, scale: int) -> str:
    """Draw a number that fits all of `_SCALES`, also when it was rounded.

    There is none between -0.5 and 0: what a DDL rounds to zero keeps its sign in some
    servers and not in others.
    """
    unit = 10**scale
    number = random.choice(
        (0, unit // 2, -unit, 99_999_998 * unit + unit // 2, -99_999_998 * unit)
    ) + random.choice((0, 0, 1, unit // 4))
    if -unit < 2 * number < 0:
        number = 0
    return f"{Decimal(number).scaleb(-scale):f}"


def draw_row(random: Random, columns: Columns, history_id: str, id_: str) -> Row:
    """Draw a row with a given key."""
    cells: dict[str, Cell] = {"history_id": history_id, "id": id_}
    return {
        one.name: cells[one.name] if one.name in cells else draw_cell(random, one)
        for one in columns
    }


def draw_update(random: Random, columns: Columns, row: Row) -> Row:
    """Draw what becomes of a row: no, some or all columns change, never its key."""
    chance = random.choice((0.0, 0.4, 0.4, 1.0))
    return {
        one.name: draw_cell(random, one)
        if one.name not in KEY_COLUMNS and happens(random, chance)
        else row[one.name]
        for one in columns
    }


def draw_transaction(
    random: Random, source: Source, history_id: str
) -> list[RowChange]:
    """Draw a transaction of one history; empty if it finds nothing to do."""
    changes: list[RowChange] = []
    free = {table: set(IDS) for table in source.tables}
    widths = [len(table.columns) for table in source.tables.values()]
    for _ in range(random.choice((1, 1, 1, 2, 3)) if free else 0):
        (table,) = random.choices(list(source.tables), widths)
        found = _draw_changes(random, source, table, history_id, free[table])
        for change in found:
            for row in (change.before, change.after):
                free[table].discard(str(row["id"]) if row else "")
        changes += found
    return changes


def _draw_changes(
    random: Random, source: Source, table: str, history_id: str, free: set[str]
) -> list[RowChange]:
    """Draw a statement or two on rows which their transaction has not touched yet."""
    columns, rows = source.tables[table].columns, source.rows[table]
    ids = [id_ for id_ in IDS if id_ in free]
    absent = [id_ for id_ in ids if (history_id, id_) not in rows]
    live = [rows[history_id, id_] for id_ in ids if id_ not in absent]
    if not ids:
        return []
    if not live or (absent and happens(random, 0.3)):
        row = draw_row(random, columns, history_id, random.choice(absent))
        return [RowChange(table, None, row)]
    match random.choice(("delete", "update", "update", "replace", "move", "move")):
        case "delete":
            return [RowChange(table, random.choice(live), None)]
        case "update":
            row = random.choice(live)
            return [RowChange(table, row, draw_update(random, columns, row))]
        case "replace":
            # DELETE and INSERT of one key are one UPDATE where the row keeps its place
            # in TiDB, as above, and two events where the key is not clustered.
            row = random.choice(live)
            after = draw_update(random, columns, row)
            return [RowChange(table, row, None), RowChange(table, None, after)]
    # Rows get each other's keys or a free one: a swap, a rotation, a mere move.
    moved = random.sample(live, min(len(live), random.randint(1, 3)))
    targets = [str(row["id"]) for row in moved] + absent[:1]
    random.shuffle(targets)
    return [
        RowChange(table, row, {**draw_update(random, columns, row), "id": target})
        for row, target in zip(moved, targets, strict=False)
    ]


_ADDITIONS: Final = (
    (Column("extra", "varchar(40)"), 'it\'s "5" 😀'),
    (Column("extra", "varchar(40)"), None),
    (Column("extra", "int(11)", nullable=False), "7"),
    (Column("extra", "decimal(10,2)"), "1.5"),
    (Column("quantity", "int(11)"), "-3"),
    (Column("quantity", "varchar(40)"), "three"),
    (Column("note", "int(11)"), None),
    (Column("label", "varchar(200)"), ""),
)
_COLUMN_NAMES: Final = ("note", "remark", "quantity", "extra", "label")
_MOST_TABLES: Final = 3

Statement = tuple[Ddl, ...]


def draw_column_ddl(random: Random, table: Table) -> Ddl:
    """Draw a DDL that adds, drops, renames or modifies a column.

    Another column may take the name of one that is gone: dropped or renamed.
    """
    present = {one.name for one in table.columns}
    own = [one for one in table.columns if one.name not in KEY_COLUMNS]
    additions = [one for one in _ADDITIONS if one[0].name not in present]
    free = [name for name in _COLUMN_NAMES if name not in present]
    decimals = [one for one in own if one.type in _SCALES]
    kinds = ["add"] * bool(additions) + ["rename"] * bool(free)
    kinds += ["drop"] * (len(own) > 1) + ["modify"] * bool(decimals)
    kind = random.choice(kinds)
    if kind == "add":
        column, default = random.choice(additions)
        places: tuple[Place, ...] = ("", "FIRST", "AFTER `id`")
        return add_column(table.name, column, default, random.choice(places))
    if kind == "drop":
        return drop_column(table.name, random.choice(own).name)
    if kind == "rename":
        column = random.choice(own)
        target = Column(random.choice(free), column.type)
        return rename_column(table.name, column.name, target)
    column = random.choice(decimals)
    scales = [scale for scale in _SCALES if scale != column.type]
    return modify_scale(table.name, Column(column.name, random.choice(scales)))


def draw_columns(random: Random) -> Columns:
    """Draw the columns of a new table."""
    others = [*TABLES[ITEMS][len(KEY) :], *TABLES[MARKS][len(KEY) :]]
    return (*KEY, *random.sample(others, random.randint(1, 4)))


def draw_statements(random: Random, source: Source) -> list[Statement]:
    """Draw what happens next to tables: a statement, or some that belong together."""
    live = list(source.tables)
    table = random.choice(live)
    free = [name for name in NAMES if name not in live]
    random.shuffle(free)
    forms: tuple[Rename, ...] = ("RENAME TABLE", "ALTER TABLE")
    again = random.choice((source.tables[table].columns, draw_columns(random)))
    altered: list[Statement] = [(draw_column_ddl(random, source.tables[table]),)]
    possible = [altered] * 4 + [
        [(truncate_table(table),)],
        [(rename_table(table, free[0], random.choice(forms)),)],
        [(drop_table(table),), (create_table(table, _anew(again)),)],
    ]
    if len(live) < _MOST_TABLES:
        possible.append([(create_table(free[0], draw_columns(random)),)])
    if len(live) > 1:
        other = random.choice([name for name in live if name != table])
        possible += [
            [(drop_table(table),)],
            [rename_tables((table, free[0]), (other, free[1]))],
            # One gets the name that the other has just left.
            [rename_tables((table, free[0]), (other, table))],
            # Only three statements can swap names.
            [
                (rename_table(table, free[0]),),
                (rename_table(other, table),),
                (rename_table(free[0], other),),
            ],
        ]
    return random.choice(possible)


def _anew(columns: Columns) -> Columns:
    """Such columns in another table; CREATE TABLE writes no defaults here."""
    return tuple(replace(one, default=None, id=0) for one in columns)


def draw_source(
    random: Random,
    histories: int = 1,
    transactions: int = 8,
    *,
    are_apart: bool = False,
) -> Source:
    """Draw a source.

    Args:
        random: Makes the choices.
        histories: How many histories share the tables.
        transactions: How many each of them has at most.
        are_apart: Whether no two commits are in one millisecond.
    """
    source = Source()
    moments = _draw_moments(random, 0.0 if are_apart else 0.4)
    for table in TABLES:
        source.execute(next(moments), create_table(table))
    # A turn is a transaction of a history or, without one, a statement on tables.
    turns: list[str | None] = []
    for number in range(histories):
        turns += [str(number)] * random.randint(1, transactions)
    turns += [None] * random.choice((0, 1, 2, 3, 4, 5, 6))
    random.shuffle(turns)
    statements: list[Statement] = []
    while turns:
        turn = turns.pop(0)
        if turn is None:
            statements = statements or draw_statements(random, source)
            source.execute(next(moments), *statements.pop(0))
            if statements:
                turns.insert(random.choice((0, 0, 1)), None)
        elif changes := draw_transaction(random, source, turn):
            source.commit(next(moments), changes)
    return source


def _draw_moments(random: Random, chance_of_same_millisecond: float) -> Iterator[int]:
    """Draw commit timestamps, with room for a version between two."""
    commit_ts = FIRST_MILLISECOND << LOGICAL_BITS
    while True:
        if happens(random, chance_of_same_millisecond):
            commit_ts += random.randint(2, 4)
        else:
            millisecond = (commit_ts >> LOGICAL_BITS) + random.choice((1, 2, 17, 900))
            commit_ts = (millisecond << LOGICAL_BITS) + random.randint(0, 2)
        yield commit_ts


@st.composite
def histories(draw: st.DrawFn) -> Source:
    """One history, which Hypothesis can make smaller."""
    return draw_source(draw(st.randoms(use_true_random=False)))
