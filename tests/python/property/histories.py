"""Random histories of two small tables, and random deliveries of them by TiCDC.

`Source` is the model of the truth: rows in memory, changed by commits and DDLs. What
the tables must show (`expected_final`, `expected_history`) comes from its rows before
and after each commit, never from a message. `deliver` writes the same commits as
Canal-JSON messages, at least once, with all the freedom that TiCDC has.

Many histories lie in one source: `history_id` is part of the key, so that they share
a topic, its commit timestamps and its DDLs, and hundreds cost one run of Spark.

All choices are made by a `random.Random`, which Hypothesis or a seed supplies.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from random import Random
from typing import Any, Final, Literal
from zlib import crc32

from hypothesis import strategies as st

Cell = str | bytes | None
Row = Mapping[str, Cell]
Key = tuple[Cell, ...]
Line = dict[str, Any]

DATABASE: Final = "property"
ITEMS: Final = "items"
MARKS: Final = "marks"
KEY_COLUMNS: Final = ("history_id", "id")
TOPIC: Final = "ticdc_property"
PARTITIONS: Final = 3
IDS: Final = ("-1", "1", "2", "3", "9007199254740993")
"""Few, so that keys are used again and again; the last one no float can hold."""

_LOGICAL_BITS: Final = 18
_FIRST_MILLISECOND: Final = 1_767_225_600_000
_JAVA_CODES: Final = {
    "int": 4,
    "bigint": -5,
    "decimal": 3,
    "varchar": 12,
    "text": 2005,
    "datetime": 93,
    "varbinary": 2004,
}


def seeded(seed: int | str | None) -> Random:
    """Return choices that are always the same for a seed; none: never the same."""
    return Random(seed)  # noqa: S311 - no secret depends on them


# ---------- the model of the source


@dataclass(frozen=True)
class Column:
    """A column; ``type`` as information_schema shows it."""

    name: str
    type: str
    nullable: bool = True

    @property
    def base(self) -> str:
        """The type without its parameters."""
        return self.type.partition("(")[0]

    @property
    def scale(self) -> int:
        """Digits after the point of a decimal."""
        return int(self.type.rstrip(")").rpartition(",")[2])


Columns = tuple[Column, ...]
Place = Literal["", "FIRST", "AFTER `id`"]
Variant = Literal["full", "updated_columns", "compatible"]
Placement = Literal["key", "random", "table"]

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
class Ddl:
    """A DDL: its text as TiCDC sends it, and what it does to columns and rows."""

    table: str
    type: Literal["CREATE", "ALTER", "TRUNCATE"]
    sql: str
    columns: Callable[[Columns], Columns]
    row: Callable[[Row], Row | None] = lambda row: row


@dataclass(frozen=True)
class Commit:
    """What one commit did, and the columns of its tables at that time."""

    commit_ts: int
    changes: tuple[RowChange, ...] = ()
    ddl: Ddl | None = None
    columns: Mapping[str, Columns] = field(default_factory=dict)


def key_of(row: Row) -> Key:
    """Return the primary key of a row."""
    return tuple(row[name] for name in KEY_COLUMNS)


class Source:
    """Tables in memory and all that ever happened to them.

    Attributes:
        columns: Columns of each table, as they are now.
        rows: Rows of each table by key, as they are now.
        commits: What happened, in order: what there is to send.
        history: Lines of ``expected_history``.
    """

    def __init__(self) -> None:
        self.columns: dict[str, Columns] = {}
        self.rows: dict[str, dict[Key, Row]] = {}
        self.commits: list[Commit] = []
        self.history: list[Line] = []

    def execute(self, commit_ts: int, ddl: Ddl) -> None:
        """Let a DDL change the columns and the rows of its table."""
        before = dict(self.rows)
        self.columns[ddl.table] = ddl.columns(self.columns.get(ddl.table, ()))
        images = ((key, ddl.row(row)) for key, row in before.get(ddl.table, {}).items())
        self.rows[ddl.table] = {key: row for key, row in images if row is not None}
        self._log(Commit(commit_ts, ddl=ddl), before, "ddl")

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
        columns = {change.table: self.columns[change.table] for change in changes}
        self._log(Commit(commit_ts, changes, columns=columns), before, "dml")

    def _log(
        self, commit: Commit, before: Mapping[str, Mapping[Key, Row]], cause: str
    ) -> None:
        if self.commits and commit.commit_ts <= self.commits[-1].commit_ts:
            raise ValueError(
                f"Expected a commitTs above {self.commits[-1].commit_ts}, "
                f"got {commit.commit_ts}"
            )
        self.commits.append(commit)
        for table, rows in self.rows.items():
            earlier = before.get(table, {})
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


def create_table(table: str) -> Ddl:
    """CREATE TABLE, with the columns of `TABLES`."""
    columns = ",".join(
        f"`{one.name}` {_sql_type(one)}{'' if one.nullable else ' NOT NULL'}"
        for one in TABLES[table]
    )
    key = ", ".join(f"`{name}`" for name in KEY_COLUMNS)
    sql = f"CREATE TABLE `{table}` ({columns},PRIMARY KEY({key}))"
    return Ddl(table, "CREATE", sql, lambda _: TABLES[table])


def truncate_table(table: str) -> Ddl:
    """TRUNCATE TABLE: no message tells which rows are gone."""
    sql = f"TRUNCATE TABLE `{table}`"
    return Ddl(table, "TRUNCATE", sql, lambda columns: columns, lambda _: None)


def add_column(
    table: str,
    column: Column,
    default: str | None = None,
    place: Place = "",
) -> Ddl:
    """ADD COLUMN: every row has the default from then on."""
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
    """CHANGE COLUMN to another name and, here, the same type."""
    return Ddl(
        table,
        "ALTER",
        f"ALTER TABLE `{table}` CHANGE COLUMN `{name}` `{target.name}` "
        f"{_sql_type(target)}",
        lambda columns: tuple(target if one.name == name else one for one in columns),
        lambda row: {
            target.name if column == name else column: cell
            for column, cell in row.items()
        },
    )


def modify_scale(table: str, target: Column) -> Ddl:
    """MODIFY COLUMN of a decimal."""

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
            target if one.name == target.name else one for one in columns
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
_SCALES: Final = ("decimal(12,2)", "decimal(14,6)", "decimal(20,4)", "decimal(12,0)")


def _happens(random: Random, chance: float) -> bool:
    return random.random() < chance


def draw_cell(random: Random, column: Column) -> Cell:
    """Draw a value of a column."""
    if column.nullable and _happens(random, 0.15):
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
        if one.name not in KEY_COLUMNS and _happens(random, chance)
        else row[one.name]
        for one in columns
    }


def draw_transaction(
    random: Random, source: Source, history_id: str
) -> list[RowChange]:
    """Draw a transaction of one history; empty if it finds nothing to do."""
    changes: list[RowChange] = []
    free = {table: set(IDS) for table in TABLES}
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        table = random.choice((ITEMS, ITEMS, ITEMS, MARKS))
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
    columns, rows = source.columns[table], source.rows[table]
    ids = [id_ for id_ in IDS if id_ in free]
    absent = [id_ for id_ in ids if (history_id, id_) not in rows]
    live = [rows[history_id, id_] for id_ in ids if id_ not in absent]
    if not ids:
        return []
    if not live or (absent and _happens(random, 0.3)):
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


def draw_ddls(random: Random) -> list[Ddl]:
    """Draw the DDLs of a source, in an order that works."""
    extra, default = random.choice(
        (
            (Column("extra", "varchar(40)"), 'it\'s "5" 😀'),
            (Column("extra", "varchar(40)"), None),
            (Column("extra", "int(11)", nullable=False), "7"),
            (Column("extra", "decimal(6,2)"), "1.5"),
        )
    )
    places: tuple[Place, ...] = ("", "FIRST", "AFTER `id`")
    place = random.choice(places)
    remark, note = Column("remark", "varchar(200)"), Column("note", "varchar(200)")
    # Another column takes the name of one that is gone: dropped or renamed.
    drop = drop_column(ITEMS, "quantity")
    rename = rename_column(ITEMS, "note", remark)
    taken = random.choice(
        (
            [drop, add_column(ITEMS, Column("quantity", "int(11)"), "-3")],
            [drop, add_column(ITEMS, Column("quantity", "varchar(40)"), "three")],
            [rename, rename_column(ITEMS, "quantity", Column("note", "int(11)"))],
        )
    )
    chains: list[list[Ddl]] = [
        [add_column(ITEMS, extra, default, place)],
        [modify_scale(ITEMS, Column("amount", scale)) for scale in _SCALES],
        taken,
        [truncate_table(MARKS), truncate_table(MARKS)],
    ]
    if taken[0] is not rename:
        chains.append([rename, rename_column(ITEMS, "remark", note)])
    random.shuffle(chains[1])
    chosen = random.sample(chains, random.randint(1, len(chains)))
    queues = [deque(chain[: random.randint(1, 2)]) for chain in chosen]
    drawn: list[Ddl] = []
    while queues:
        queue = random.choice(queues)
        drawn.append(queue.popleft())
        queues = [queue for queue in queues if queue]
    return drawn


def draw_source(random: Random, histories: int = 1, transactions: int = 8) -> Source:
    """Draw a source.

    Args:
        random: Makes the choices.
        histories: How many histories share the tables.
        transactions: How many each of them has at most.
    """
    source = Source()
    turns: list[str | Ddl] = []
    for number in range(histories):
        turns += [str(number)] * random.randint(1, transactions)
    random.shuffle(turns)
    ddls = draw_ddls(random) if _happens(random, 0.9) else []
    places = sorted((random.randint(0, len(turns)) for _ in ddls), reverse=True)
    for place, ddl in zip(places, reversed(ddls), strict=True):
        turns.insert(place, ddl)
    commit_ts = _FIRST_MILLISECOND << _LOGICAL_BITS
    for turn in (*map(create_table, TABLES), *turns):
        if _happens(random, 0.4):
            commit_ts += random.randint(1, 3)
        else:
            millisecond = (commit_ts >> _LOGICAL_BITS) + random.choice((1, 2, 17, 900))
            commit_ts = (millisecond << _LOGICAL_BITS) + random.randint(0, 2)
        if isinstance(turn, Ddl):
            source.execute(commit_ts, turn)
        elif changes := draw_transaction(random, source, turn):
            source.commit(commit_ts, changes)
    return source


# ---------- delivery


@dataclass(frozen=True)
class Settings:
    """How a changefeed is set up and how its day goes.

    Attributes:
        variant: What ``old`` of an UPDATE holds, and with ``compatible`` also whether
            types have parameters.
        raw_key_changes: A change of the key is one UPDATE
            (``output-raw-change-event``), not DELETE and INSERT.
        placement: What a row's partition depends on: its key, nothing (a key keeps
            its partition until it is deleted), or only its table.
        watermark_chance: Of a watermark after a message.
        repeat_chance: Of one old message again after a message.
        replays: How often the changefeed starts again from an old checkpoint.
        chunk: Longest run of messages read from one partition.
    """

    variant: Variant = "full"
    raw_key_changes: bool = False
    placement: Placement = "key"
    watermark_chance: float = 0.1
    repeat_chance: float = 0.05
    replays: int = 1
    chunk: int = 20


@dataclass(frozen=True)
class Message:
    """A message that is to be sent, any number of times."""

    kind: Literal["row", "ddl", "watermark"]
    partition: int
    commit_ts: int
    table: str
    body: Mapping[str, Any]

    def encode(self, ts: int) -> str:
        """Return its text, when built at ``ts``.

        TiCDC writes non-ASCII as it is and escapes what has a meaning in HTML.
        """
        text = json.dumps(
            {**self.body, "ts": ts}, ensure_ascii=False, separators=(",", ":")
        )
        for character in "<>&":
            text = text.replace(character, f"\\u{ord(character):04x}")
        return text


@dataclass(frozen=True)
class Delivery:
    """A topic as it was read: ``(partition, value)`` in order."""

    settings: Settings
    records: Sequence[tuple[int, str]]

    def lines(self) -> list[Line]:
        """Return the lines of a recording."""
        offsets = [0] * PARTITIONS
        lines: list[Line] = []
        for partition, value in self.records:
            lines.append(
                {
                    "topic": TOPIC,
                    "partition": partition,
                    "offset": offsets[partition],
                    "timestamp": _FIRST_MILLISECOND + len(lines),
                    "key": None,
                    "value": value,
                }
            )
            offsets[partition] += 1
        return lines


def draw_settings(random: Random) -> Settings:
    """Draw the settings of a delivery."""
    variants: tuple[Variant, ...] = ("full", "updated_columns", "compatible")
    placements: tuple[Placement, ...] = ("key", "random", "random", "table")
    return Settings(
        variant=random.choice(variants),
        raw_key_changes=_happens(random, 0.25),
        placement=random.choice(placements),
        watermark_chance=random.choice((0.01, 0.1, 0.5)),
        repeat_chance=random.choice((0.0, 0.05, 0.3)),
        replays=random.randint(0, 3),
        chunk=random.choice((1, 20, 2000)),
    )


def deliver(random: Random, source: Source, settings: Settings) -> Delivery:
    """Draw how the commits of a source reach the reader of a topic."""
    messages = list(_messages(random, source, settings))
    sent = _Producer(random, settings, messages).run()
    partitions = [deque[str]() for _ in range(PARTITIONS)]
    for partition, value in sent:
        partitions[partition].append(value)
    records: list[tuple[int, str]] = []
    while any(partitions):
        partition = random.choice([n for n, left in enumerate(partitions) if left])
        left = partitions[partition]
        count = min(len(left), random.randint(1, settings.chunk))
        records += [(partition, left.popleft()) for _ in range(count)]
    return Delivery(settings, records)


def _messages(random: Random, source: Source, settings: Settings) -> Iterable[Message]:
    """Yield the messages of all commits in order, each with its partition."""
    place = _Placement(random, settings)
    for commit in source.commits:
        if commit.ddl is not None:
            body = _envelope(commit.commit_ts, commit.ddl.table, commit.ddl.type)
            body |= {"isDdl": True, "sql": commit.ddl.sql, "pkNames": None}
            yield Message("ddl", 0, commit.commit_ts, commit.ddl.table, body)
            if commit.ddl.type == "TRUNCATE":
                place.forget(commit.ddl.table)
            continue
        events = [
            event
            for change in commit.changes
            for event in _events(change, is_raw=settings.raw_key_changes)
        ]
        # Where TiCDC splits an UPDATE it sends deletes first and inserts last.
        events.sort(key=_rank)
        for event, partition in zip(events, place.partitions(events), strict=True):
            body = _row_body(random, commit, event, settings.variant)
            yield Message("row", partition, commit.commit_ts, event.table, body)


def _rank(event: RowChange) -> int:
    return 0 if event.after is None else 2 if event.before is None else 1


def _events(change: RowChange, *, is_raw: bool) -> list[RowChange]:
    before, after = change.before, change.after
    if before and after and key_of(before) != key_of(after) and not is_raw:
        return [
            RowChange(change.table, before, None),
            RowChange(change.table, None, after),
        ]
    return [change]


def _place(event: RowChange) -> tuple[str, Key]:
    return event.table, key_of(event.after or event.before or {})


class _Placement:
    """Decides on which partition the events of a row lie."""

    def __init__(self, random: Random, settings: Settings) -> None:
        self._random = random
        self._placement = settings.placement
        self._known: dict[tuple[str, Key], int] = {}

    def partitions(self, events: Sequence[RowChange]) -> list[int]:
        """Return the partitions of the events of one commit, deletes first."""
        if self._placement == "table":
            return [crc32(event.table.encode()) % PARTITIONS for event in events]
        places = [_place(event) for event in events]
        if self._placement == "key":
            return [crc32(repr(place).encode()) % PARTITIONS for place in places]
        left = {
            (event.table, key_of(event.before)): position
            for position, event in enumerate(events)
            if event.before is not None
            and (event.after is None or key_of(event.before) != key_of(event.after))
        }
        deleted = {position: self._known.pop(place) for place, position in left.items()}
        return [
            self._known.setdefault(place, self._random.randrange(PARTITIONS))
            if event.after is not None
            else deleted[position]
            for position, (event, place) in enumerate(zip(events, places, strict=True))
        ]

    def forget(self, table: str) -> None:
        self._known = {
            place: partition
            for place, partition in self._known.items()
            if place[0] != table
        }


def _envelope(commit_ts: int, table: str, type_: str) -> Line:
    """A message without its payload; a replay has another ``ts``."""
    return {
        "id": 0,
        "database": DATABASE if table else "",
        "table": table,
        "pkNames": list(KEY_COLUMNS) if table else None,
        "isDdl": False,
        "type": type_,
        "es": commit_ts >> _LOGICAL_BITS,
        "ts": 0,
        "sql": "",
        "sqlType": None,
        "mysqlType": None,
        "old": None,
        "data": None,
        "_tidb": {"commitTs" if table else "watermarkTs": commit_ts},
    }


def _row_body(
    random: Random,
    commit: Commit,
    event: RowChange,
    variant: Variant,
) -> Line:
    columns = commit.columns[event.table]
    type_ = ("DELETE", "UPDATE", "INSERT")[_rank(event)]
    body = _envelope(commit.commit_ts, event.table, type_)
    # The order in ``mysqlType`` is that of a Go map: any, and another each time.
    turn = random.randrange(len(columns))
    is_full_type = variant == "compatible"
    body["sqlType"] = {one.name: _JAVA_CODES[one.base] for one in columns}
    body["mysqlType"] = {
        one.name: one.type if is_full_type else one.base
        for one in columns[turn:] + columns[:turn]
    }
    data = event.after or event.before or {}
    body["data"] = [{one.name: _sent(data[one.name]) for one in columns}]
    if event.before and event.after:
        body["old"] = [
            {
                one.name: _sent(event.before[one.name])
                for one in columns
                if variant == "full" or event.before[one.name] != event.after[one.name]
            }
        ]
    return body


def _sent(cell: Cell) -> str | None:
    return cell.decode("latin-1") if isinstance(cell, bytes) else cell


class _Producer:
    """Sends messages as TiCDC does: in order where it promises so, at least once.

    There is a queue for each table and partition, as only there commitTs never goes
    down. That TiCDC holds back the rows of all partitions for a DDL of their table is
    left out: a reader of several partitions sees nothing of it. No watermark overtakes
    a message below it.
    """

    def __init__(
        self, random: Random, settings: Settings, messages: Sequence[Message]
    ) -> None:
        self._random = random
        self._settings = settings
        self._queues: dict[tuple[str, int], deque[Message]] = {}
        for message in messages:
            place = message.table, message.partition
            self._queues.setdefault(place, deque()).append(message)
        self._end = messages[-1].commit_ts if messages else 0
        self._restarts = {
            random.randint(1, len(messages)) for _ in range(settings.replays)
        }
        self._ts = _FIRST_MILLISECOND + 1500
        self._out: list[tuple[Message, str]] = []
        self._first: list[Message] = []
        self._late: list[deque[Message]] = [deque() for _ in range(PARTITIONS)]
        self._watermarks = [0]

    def run(self) -> list[tuple[int, str]]:
        """Return partition and text of all that is sent, in order."""
        random, settings = self._random, self._settings
        while waiting := [queue for queue in self._queues.values() if queue]:
            message = random.choice(waiting).popleft()
            self._first.append(message)
            self._send(message)
            frontier = min(
                (queue[0].commit_ts for queue in self._queues.values() if queue),
                default=self._end,
            )
            if _happens(random, settings.watermark_chance):
                self._resolve(frontier - random.choice((0, 0, 1, 5 << _LOGICAL_BITS)))
            for late in self._late:
                if late and _happens(random, 0.5):
                    self._send(late.popleft())
            if _happens(random, settings.repeat_chance):
                self._repeat()
            if len(self._first) in self._restarts:
                self._replay()
        self._resolve(self._end + (1 << _LOGICAL_BITS))
        for late in self._late:
            while late:
                self._send(late.popleft())
        return [(message.partition, text) for message, text in self._out]

    def _send(self, message: Message) -> None:
        self._ts += 1
        self._out.append((message, message.encode(self._ts)))

    def _resolve(self, watermark_ts: int) -> None:
        """Broadcast a watermark, unless it would go back."""
        if watermark_ts <= self._watermarks[-1]:
            return
        self._watermarks.append(watermark_ts)
        body = _envelope(watermark_ts, "", "TIDB_WATERMARK")
        for partition, late in enumerate(self._late):
            late.append(Message("watermark", partition, watermark_ts, "", body))

    def _repeat(self) -> None:
        """Send one message again: its bytes, or built anew."""
        message, text = self._random.choice(self._out)
        if _happens(self._random, 0.5):
            self._out.append((message, text))
        else:
            self._send(message)

    def _replay(self) -> None:
        """Start again from an old checkpoint: all that lies above it comes again."""
        checkpoint = self._random.choice(self._watermarks)
        for message in self._first:
            if message.commit_ts > checkpoint:
                self._send(message)


# ---------- files and strategies


def write_corpus(folder: Path, source: Source, delivery: Delivery) -> None:
    """Write messages and truth as a recording that `changefold verify` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = [
        {
            "database": DATABASE,
            "table": table,
            "key_columns": list(KEY_COLUMNS),
            "key_kind": "PRIMARY KEY",
            "columns": [
                {
                    "name": one.name,
                    "column_type": one.type,
                    "nullable": one.nullable,
                    "extra": "",
                    "generation_expression": "",
                }
                for one in columns
            ],
        }
        for table, columns in source.columns.items()
    ]
    files = {
        "canal_json_tidb": delivery.lines(),
        "expected_final": source.final(),
        "expected_history": source.history,
        "schema_final": schema,
    }
    for name, lines in files.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.ndjson").write_text(text, encoding="utf-8")
    manifest = {
        "partitions": PARTITIONS,
        "timezone": "UTC",
        "settings": vars(delivery.settings),
        "ddl": [commit.ddl.sql for commit in source.commits if commit.ddl],
        "commits": len(source.commits),
        "records": len(delivery.records),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


@st.composite
def histories(draw: st.DrawFn) -> Source:
    """One history, which Hypothesis can make smaller."""
    return draw_source(draw(st.randoms(use_true_random=False)))


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[Source, Delivery]:
    """Some histories and one of their deliveries, by a seed that Hypothesis draws."""
    random = draw(st.randoms(use_true_random=True))
    source = draw_source(random, histories=random.randint(1, 4))
    return source, deliver(random, source, draw_settings(random))
