"""Fold DDL events into the versions of every table's schema.

`fold_schemas` reads the statements of a topic in order and keeps, for each table, what
its columns were between two statements, and what each statement did to rows without a
row event: the defaults of new columns, converted values, rows that ended.

Rules and their sources:

- A DDL at sequence D: rows with sequence <= D belong to the schema before it (TiCDC
  sends every row up to D before the DDL).
- The same event again is a resend and acts once; two different statements at one
  sequence both act (TiCDC splits ``RENAME TABLE a TO b, c TO d`` that way).
- A table keeps its identity through RENAME and TRUNCATE; DROP and CREATE make another
  table. A column keeps its identity through RENAME and MODIFY; DROP and ADD make
  another column.
- In one ALTER TABLE, the columns named by DROP, MODIFY, CHANGE and RENAME are those of
  the table before the statement (MySQL 8.0 manual, 15.1.9).
- A topic can begin in the middle. A table whose CREATE was not seen is there from its
  first row or DDL on. Its columns are those of its rows, where the protocol names them;
  rows with other columns make another version, as long as no DDL tells more. Before its
  first row, `TableVersion.is_complete` is false: the columns that no DDL named are not
  listed.
- A changefeed can leave DDLs out. So rows reveal what no DDL told: a column that the
  table does not have, another type, another key. That makes a version from just before
  the first such row on. A column that rows no longer name stays.
- Without commit timestamps nothing orders rows and DDLs of one millisecond (of one
  second, with Canal): what a version of that moment has, no row reveals.
- A DDL that the changefeed ignores changes nothing, but the types that it tells hold for
  the columns that rows reveal later.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from changefold.connect.types import PREFIX
from changefold.mysql.conversion import convert_value, may_change_text
from changefold.mysql.ddl import (
    Action,
    AddColumn,
    AddKey,
    ConvertCharset,
    CreateDatabase,
    CreateTable,
    DdlColumn,
    DdlKey,
    DdlStatement,
    DropColumn,
    DropDatabase,
    DropKey,
    DropTable,
    ModifyColumn,
    NoEffect,
    NoRowEffect,
    Partition,
    PartitionAction,
    Partitioning,
    RecoverTable,
    RenameColumn,
    RenameKey,
    RenameTable,
    SetDefault,
    SqlValue,
    TableCharset,
    TableComment,
    TableName,
    TruncateTable,
    parse_ddl,
)
from changefold.mysql.types import MySqlType, parse_mysql_type
from changefold.schemas.ignored_ddls import IgnoredDdls
from changefold.schemas.observed import DescribedSchema, SeenSchema, SeenVersion
from changefold.schemas.ordering import (
    Evidence,
    commit_ts_of,
    evidence_of,
    just_before,
    millisecond_of,
)
from changefold.schemas.type_matching import agree, type_of_row

__all__ = [
    "AffectedPartition",
    "DdlEvent",
    "ImageChange",
    "NotApplied",
    "PartitionChange",
    "RowEffect",
    "SchemaColumn",
    "SchemaHistory",
    "TableVersion",
    "fold_schema_history",
    "fold_schema_history_json",
    "fold_schemas",
    "fold_schemas_json",
]

RowEffect = Literal["none", "close_all", "reshape", "rekey", "partition", "unknown"]
"""What a DDL does to rows, the strongest if it does several things.

``none``: nothing; ``close_all``: every row ends; ``reshape``: images change, see
`TableVersion.image_changes`; ``rekey``: rows have another key; ``partition``: rows that
no event names end or move, see `TableVersion.partition_changes`; ``unknown``: the
statement was not understood, or rows came that no event names.
"""

_STRENGTH: Final[tuple[RowEffect, ...]] = (
    "none",
    "partition",
    "rekey",
    "reshape",
    "unknown",
    "close_all",
)

Accuracy = Literal["exact", "approximate", "unknown"]
"""How well `SchemaColumn.original_default` is known."""


class DdlEvent(msgspec.Struct, frozen=True):
    """One DDL of the stream.

    Attributes:
        sequence: Sortable text of its position, such as a TSO of 20 digits.
        database: Database the message names: that after the statement.
        table: Table the message names, '' for statements on databases.
        sql: The statement.
        source_database: Database before the statement, where a protocol tells it. It
            resolves ``RENAME TABLE a TO d2.b``, whose text does not.
        statement: The statement as `parse_ddl` read it, if that was done before.
        described: The table after the statement, where a protocol tells it.
        described_before: The table before it.
        is_ignored: The changefeed applied it upstream and did not send it.
        time_zone: Zone in which the messages write an instant, which is taken for that
            of the sessions too.
        ignores_case: Whether the source takes names of tables that differ in case for
            one: TiDB does, MySQL by ``lower_case_table_names``.
        committed_ms: Epoch milliseconds of the statement, if the message tells.
    """

    sequence: str
    database: str
    table: str
    sql: str
    source_database: str | None = None
    statement: DdlStatement | None = None
    described: DescribedSchema | None = None
    described_before: DescribedSchema | None = None
    is_ignored: bool = False
    time_zone: str = "UTC"
    ignores_case: bool = True
    committed_ms: int | None = None


class SchemaColumn(msgspec.Struct, frozen=True):
    """A column of one version.

    Attributes:
        column_id: Identity within the table, kept by RENAME and MODIFY.
        name: Name in this version.
        type: Canonical type; '' if it was never seen.
        nullable: Whether it takes NULL.
        default: Default of rows to come, ``None`` without a DEFAULT clause.
        original_default: For a column that was added: the value, in Canal-JSON wire
            form of `type`, that rows written before show. ``None``: NULL, or not
            known, see `original_default_accuracy`.
        original_default_accuracy: ``None`` for columns of CREATE TABLE, which had no
            rows before. ``approximate``: CURRENT_TIMESTAMP, taken from the time of
            the DDL. ``unknown``: no message tells it.
        generated: How a generated column is kept.
        is_in_rows: Whether row messages have it: of a virtual column, whether one of
            its table names it. TiCDC leaves them out, a binlog has them.
        expression: SQL text of a generated column.
        comment: Comment of the column.
        charset: Character set, if the column names one.
        collation: Collation of a text, if the column or its table names one.
        auto_increment: AUTO_INCREMENT or AUTO_RANDOM.
    """

    column_id: int
    name: str
    type: str
    nullable: bool = True
    default: SqlValue | None = None
    original_default: str | None = None
    original_default_accuracy: Accuracy | None = None
    generated: Literal["virtual", "stored"] | None = None
    is_in_rows: bool = True
    expression: str | None = None
    comment: str | None = None
    charset: str | None = None
    collation: str | None = None
    auto_increment: bool = False


class ImageChange(msgspec.Struct, frozen=True):
    """What a DDL did to one column of the rows that existed.

    Attributes:
        column_id: The column.
        kind: What happened. A column can be renamed and retyped at once, which makes
            two changes.
        from_name: Name before; ``None`` if added.
        to_name: Name after; ``None`` if dropped.
        from_type: Type before; ``None`` if added, or never seen.
        to_type: Type after; ``None`` if dropped.
        changes_text: A value may have another wire form afterwards: true for added,
            dropped and renamed columns.
        value: For ``added``: the value of all rows, in wire form.
        value_accuracy: How well the values of the rows before are known: of ``added``
            that is `value`; of ``retyped`` it is ``unknown`` where the source computed
            them anew.
        generated: The column is a generated one after the DDL: its value comes from
            its expression.
    """

    column_id: int
    kind: Literal["added", "dropped", "renamed", "retyped"]
    from_name: str | None = None
    to_name: str | None = None
    from_type: str | None = None
    to_type: str | None = None
    changes_text: bool = True
    value: str | None = None
    value_accuracy: Accuracy | None = None
    generated: Literal["virtual", "stored"] | None = None


class AffectedPartition(msgspec.Struct, frozen=True):
    """A partition whose rows ended or moved, with the rows it held.

    Attributes:
        name: Its name.
        position: Place among the partitions, from 0: HASH holds the rows whose
            expression modulo the number of partitions is this. ``None`` if unknown.
        at_least: Lower bound of RANGE (inclusive); ``None`` for none, or unknown.
        less_than: Upper bound of RANGE (exclusive).
        values_in: Values of LIST.
    """

    name: str
    position: int | None = None
    at_least: tuple[SqlValue, ...] | None = None
    less_than: tuple[SqlValue, ...] | None = None
    values_in: tuple[tuple[SqlValue, ...], ...] | None = None


class PartitionChange(msgspec.Struct, frozen=True):
    """Rows that a DDL on partitions ended or moved.

    Attributes:
        operation: ``truncate`` and ``drop`` end rows; ``exchange`` swaps the rows of
            the partitions with all rows of the other table.
        partitions: Partitions concerned, those of the partitioned table in both
            versions of an exchange.
        is_partitioned_side: False for the other table of an exchange.
        counterpart_uid: The other table of an exchange.
        partitioning: The partitioning before, if known.
    """

    operation: Literal["truncate", "drop", "exchange"]
    partitions: tuple[AffectedPartition, ...]
    is_partitioned_side: bool = True
    counterpart_uid: str | None = None
    partitioning: Partitioning | None = None


class TableVersion(msgspec.Struct, frozen=True):
    """The schema of one table between two DDLs.

    Attributes:
        table_uid: Identity of the table: name and sequence at its creation.
        database: Database in this version.
        table: Name in this version.
        version: 1, 2, ... within the table.
        valid_from_sequence: Sequence of the DDL that made the version. Rows above it
            belong here, rows up to it to the version before. ``None``: the table was
            there before the topic began. With ``~`` at its end: just before the first
            row that has these columns, or just behind the version before.
        valid_to_sequence: Sequence of the DDL that ended it, ``None`` if it holds.
        is_dropped: The table is gone; `columns` are its last.
        is_complete: All columns are listed.
        columns: The columns, in the order of the table.
        key_columns: Names of the primary key's columns in key order, else of the first
            UNIQUE index whose columns are all NOT NULL, else none.
        key_kind: Which of the two it is.
        unique_columns: Names of all columns of the primary key and of UNIQUE indexes, in
            the order of the table.
        ddl: The statement that made the version; ``None`` if rows did.
        row_effect: What the statement did to rows.
        image_changes: Per column, if it changed images or types.
        partition_changes: Rows that ended or moved with partitions.
        key_changed: The key has other columns than before.
        previous_database: Database before, if the table was renamed.
        previous_table: Name before, if the table was renamed.
        partitioning: Partitioning of this version, if any is known.
        reason: Why the effect is unknown.
        unknown_columns: Names of the columns whose values in rows from before the
            statement no message tells; empty where there were no such rows.
    """

    table_uid: str
    database: str
    table: str
    version: int
    valid_from_sequence: str | None
    valid_to_sequence: str | None
    is_dropped: bool
    is_complete: bool
    columns: tuple[SchemaColumn, ...]
    key_columns: tuple[str, ...]
    key_kind: Literal["primary", "unique"] | None
    unique_columns: tuple[str, ...]
    ddl: str | None
    row_effect: RowEffect
    image_changes: tuple[ImageChange, ...] = ()
    partition_changes: tuple[PartitionChange, ...] = ()
    key_changed: bool = False
    previous_database: str | None = None
    previous_table: str | None = None
    partitioning: Partitioning | None = None
    reason: str | None = None
    unknown_columns: tuple[str, ...] = ()


class NotApplied(msgspec.Struct, frozen=True):
    """A DDL that changed no known table.

    Attributes:
        sequence: Sequence of the DDL.
        database: Database the message names.
        table: Table the message names.
        sql: The statement.
        row_effect: What it may have done to rows of tables unknown here: DROP DATABASE
            is ``close_all``, a statement not understood is ``unknown``.
        reason: Why it was not applied.
    """

    sequence: str
    database: str
    table: str
    sql: str
    row_effect: RowEffect
    reason: str


class SchemaHistory(msgspec.Struct, frozen=True):
    """Everything that folding gives.

    Attributes:
        versions: All versions, in the order of the statements.
        not_applied: Statements that changed no known table.
    """

    versions: tuple[TableVersion, ...]
    not_applied: tuple[NotApplied, ...]


def fold_schemas(
    events: Iterable[DdlEvent],
    seen: Iterable[SeenSchema | SeenVersion] = (),
) -> list[TableVersion]:
    """Fold DDL events into the versions of all tables.

    Args:
        events: The events in order of arrival; they are sorted by sequence here, and
            a resend acts once.
        seen: What rows tell: of a table of which no CREATE came all, of any other what
            no DDL told.

    Returns:
        All versions, in the order of the statements that made them.
    """
    return list(fold_schema_history(events, seen).versions)


def fold_schema_history(
    events: Iterable[DdlEvent],
    seen: Iterable[SeenSchema | SeenVersion] = (),
) -> SchemaHistory:
    """Fold DDL events, and also return the statements that changed no known table.

    Args:
        events: As for `fold_schemas`.
        seen: As for `fold_schemas`.

    Returns:
        Versions and statements that were not applied.
    """
    rows = list(seen)
    fold = _Fold(rows)
    applied: set[tuple[str, str, str, str]] = set()
    for event in sorted(events, key=lambda event: event.sequence):
        identity = (event.sequence, event.sql, event.database, event.table)
        if identity not in applied:
            applied.add(identity)
            fold.apply(event)
    fold.see_rows("~")
    fold.see_last_rows()
    fold.see_rows_that_go_on()
    versions = _without_unsent(fold.versions, rows)
    return SchemaHistory(tuple(versions), tuple(fold.not_applied))


def _without_unsent(
    versions: list[TableVersion], rows: list[SeenSchema | SeenVersion]
) -> list[TableVersion]:
    """Mark the virtual columns that no row of their table names."""
    named: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        if isinstance(row, SeenSchema):
            named[row.database, row.table] |= row.column_types.keys()
    sent = {
        (version.table_uid, column.column_id)
        for version in versions
        for column in version.columns
        if column.name in named[version.database, version.table]
    }
    return [
        msgspec.structs.replace(
            version,
            columns=tuple(
                msgspec.structs.replace(
                    column,
                    is_in_rows=column.generated != "virtual"
                    or (version.table_uid, column.column_id) in sent,
                )
                for column in version.columns
            ),
        )
        for version in versions
    ]


def fold_schemas_json(events_json: str) -> str:
    """Do what `fold_schemas` does, from JSON to JSON.

    Args:
        events_json: Array of objects with the fields of `DdlEvent`.

    Returns:
        Array of objects with the fields of `TableVersion`.

    Raises:
        msgspec.ValidationError: If the text is not of that form.
    """
    events = msgspec.json.decode(events_json, type=list[DdlEvent])
    return msgspec.json.encode(fold_schemas(events)).decode()


def fold_schema_history_json(events_json: str) -> str:
    """Do what `fold_schema_history` does, from JSON to JSON.

    Args:
        events_json: Array of objects with the fields of `DdlEvent`.

    Returns:
        One object with the fields of `SchemaHistory`.

    Raises:
        msgspec.ValidationError: If the text is not of that form.
    """
    events = msgspec.json.decode(events_json, type=list[DdlEvent])
    return msgspec.json.encode(fold_schema_history(events)).decode()


# --- The value of rows that were there before a column ----------------------------

_WRITTEN_TEXT: Final = MySqlType("longtext")
_WRITTEN_NUMBER: Final = MySqlType("decimal")

# What NOT NULL without DEFAULT gives (MySQL manual, 13.6 "Data Type Default Values"):
# numbers 0, times zero, ENUM its first member, other text empty.
_IMPLICIT_ZERO: Final = {
    "date": "0000-00-00",
    "time": "00:00:00",
    "datetime": "0000-00-00 00:00:00",
    "timestamp": "0000-00-00 00:00:00",
    "enum": "1",
    "json": "null",
    "vector": "[]",
}


def _implicit_zero(mysql_type: MySqlType) -> str:
    base = mysql_type.base
    if base in _IMPLICIT_ZERO:
        digits = mysql_type.fraction_digits
        return _IMPLICIT_ZERO[base] + ("." + "0" * digits if digits else "")
    if mysql_type.is_text:
        return ""
    if mysql_type.is_binary:
        return "\0" * (mysql_type.length or 0) if base == "binary" else ""
    if base == "decimal" and mysql_type.scale:
        return "0." + "0" * mysql_type.scale
    return "0"


def _time_of(event: DdlEvent) -> datetime | None:
    """Return when a DDL was, if that is a time of TiDB's life."""
    milliseconds = event.committed_ms
    if milliseconds is None:
        milliseconds = millisecond_of(event.sequence)
    if milliseconds is None or not _FIRST_MS < milliseconds < _LAST_MS:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


_FIRST_MS: Final = 1_262_304_000_000
_LAST_MS: Final = 4_102_444_800_000


def _written_value(value: SqlValue, mysql_type: MySqlType) -> str | None:
    """Return a literal in the wire form of a type."""
    if value.form == "text":
        return convert_value(value.text, _WRITTEN_TEXT, mysql_type)
    if value.form == "number":
        return convert_value(value.text, _WRITTEN_NUMBER, mysql_type)
    base = 2 if value.form == "bits" else 16
    width = len(value.text) * (1 if value.form == "bits" else 4)
    written = MySqlType("bit", length=max(width, 1))
    return convert_value(str(int(value.text or "0", base)), written, mysql_type)


def _original_default(
    column: DdlColumn, event: DdlEvent
) -> tuple[str | None, Accuracy]:
    """Return what rows show that were there before this column was added."""
    if column.generated is not None or column.auto_increment:
        return None, "unknown"
    mysql_type = _type(column.type)
    default = column.default
    if default is None or default.form == "null":
        return (None if column.nullable else _implicit_zero(mysql_type)), "exact"
    try:
        if default.form != "expression":
            return _written_value(default, mysql_type), "exact"
        text = _clock_text(default.text, event)
        if text is None:
            return None, "unknown"
        written = MySqlType("datetime", length=6)
        return convert_value(text, written, mysql_type), "approximate"
    except ValueError:
        return None, "unknown"


_MILLISECOND_DIGITS: Final = 3

_CLOCKS: Final = re.compile(
    r"\(*(CURRENT_TIMESTAMP|NOW|LOCALTIME|LOCALTIMESTAMP|UTC_TIMESTAMP"
    r"|CURRENT_DATE|CURDATE|UTC_DATE)(?:\(([0-6]?)\))?\)*",
    re.IGNORECASE,
)


def _clock_text(expression: str, event: DdlEvent) -> str | None:
    """Return what a function of the clock gave when a DDL ran; ``None`` for others.

    In the zone of the messages: that of the session no message tells. MySQL cuts off what
    lies behind the digits (its manual, 11.2.5 "Automatic Initialization"). A message of
    Canal tells seconds, others milliseconds: nobody knows more digits than that.
    """
    match = _CLOCKS.fullmatch(expression.replace(" ", ""))
    moment = _time_of(event)
    if match is None or moment is None:
        return None
    name, digits = match[1].upper(), int(match[2] or 0)
    is_in_seconds = commit_ts_of(event.sequence) is None and not moment.microsecond
    if digits > (0 if is_in_seconds else _MILLISECOND_DIGITS):
        return None
    try:
        zone = UTC if name.startswith("UTC") else _zone(event.time_zone)
    except (ValueError, ZoneInfoNotFoundError):
        return None
    local = moment.astimezone(zone)
    if name.endswith("DATE"):
        return f"{local:%Y-%m-%d} 00:00:00"
    fraction = f"{local.microsecond:06d}"[:digits]
    return f"{local:%Y-%m-%d %H:%M:%S}" + (f".{fraction}" if digits else "")


def _zone(name: str) -> tzinfo:
    """Return a zone by its name, or by its distance to UTC such as ``+08:00``.

    Raises:
        ValueError: If it is neither; so does `ZoneInfoNotFoundError` tell.
    """
    offset = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", name)
    if offset is None:
        return ZoneInfo(name)
    distance = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
    return timezone(-distance if offset[1] == "-" else distance)


# --- State of one table -----------------------------------------------------------


@dataclass(slots=True)
class _Key:
    kind: Literal["primary", "unique", "index"]
    name: str
    column_ids: list[int]
    has_expression: bool


@dataclass(slots=True)
class _Table:
    """A table at the present point of the fold.

    Attributes:
        follows_rows: Its columns are what its rows name: no DDL has told more.
        has_other_columns: It may have columns that rows do not name, virtual ones.
        changed_ids: Columns that changes without generated columns have named.
        revealed_ids: Columns that rows have named and no DDL has told.
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
    is_dropped: bool = False
    columns: list[SchemaColumn] = field(default_factory=list)
    keys: list[_Key] = field(default_factory=list)
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
        return self.database, self.table

    def column(self, column_id: int) -> SchemaColumn:
        return next(c for c in self.columns if c.column_id == column_id)

    def replace(self, column: SchemaColumn) -> None:
        index = self.index(column.column_id)
        self.columns[index] = column

    def add(self, column: SchemaColumn) -> SchemaColumn:
        """Append a column and give it its number."""
        column = msgspec.structs.replace(column, column_id=self.next_column_id)
        self.next_column_id += 1
        self.columns.append(column)
        return column

    def index(self, column_id: int) -> int:
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

    def _binds(self, key: _Key) -> bool:
        columns = [self.column(column_id) for column_id in key.column_ids]
        is_bound = all(not column.nullable for column in columns)
        return bool(columns) and (key.kind == "primary" or is_bound)

    def add_key(self, key: DdlKey) -> None:
        ids = [_find_column(self.columns, name) for name in key.columns]
        known = [column.column_id for column in ids if column is not None]
        is_partly_known = key.has_expression or len(known) < len(ids)
        if key.kind == "primary":
            for column_id in known:
                column = self.column(column_id)
                self.replace(msgspec.structs.replace(column, nullable=False))
        name = key.name or self._free_key_name(key)
        self.keys.append(_Key(key.kind, name, known, is_partly_known))

    def _free_key_name(self, key: DdlKey) -> str:
        """Name an index as MySQL does: its first column, then _2, _3."""
        first = key.columns[0] if key.columns else "functional_index"
        taken = {key.name.lower() for key in self.keys}
        name, number = first, 2
        while name.lower() in taken:
            name, number = f"{first}_{number}", number + 1
        return name

    def drop_key(self, name: str) -> None:
        lowered = name.lower()
        self.keys = [key for key in self.keys if key.name.lower() != lowered]

    def drop_column(self, column_id: int) -> None:
        """Drop a column, also from its indexes; an empty index goes with it."""
        self.columns = [c for c in self.columns if c.column_id != column_id]
        for key in self.keys:
            key.column_ids = [other for other in key.column_ids if other != column_id]
        self.keys = [key for key in self.keys if key.column_ids or key.has_expression]


def _find_column(columns: Sequence[SchemaColumn], name: str) -> SchemaColumn | None:
    """Return the column of that name; column names ignore case in MySQL.

    Not so in PostgreSQL, where a table can have both, so the very name goes first.
    """
    named = [column for column in columns if _is_named(column, name)]
    return min(named, key=lambda column: column.name != name, default=None)


def _is_named(column: SchemaColumn, name: str) -> bool:
    return column.name.lower() == name.lower()


@dataclass(slots=True)
class _Change:
    """What one event did to one table."""

    table: _Table
    key_before: list[int]
    columns_before: tuple[SchemaColumn, ...]
    name_before: tuple[str, str]
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
        before = _find_column(self.columns_before, name)
        for column in self.table.columns:
            if before is not None and column.column_id == before.column_id:
                return column
        return _find_column(self.table.columns, name)

    def add_image(self, image: ImageChange) -> None:
        self.images.append(image)
        if image.changes_text:
            self.effects.add("reshape")


class _NotAppliedError(Exception):
    """The event changes no known table; the text says why."""

    def __init__(self, reason: str, row_effect: RowEffect = "none") -> None:
        super().__init__(reason)
        self.row_effect: RowEffect = row_effect


# --- What rows tell ---------------------------------------------------------------


def _news(
    row: SeenSchema | SeenVersion, versions: Iterable[TableVersion]
) -> tuple[list[SchemaColumn], bool]:
    """Return the columns of a row that no version has, and whether none has its key.

    A declared type is no other type than that of a version.
    """
    columns = _columns_of(row)
    declared = row.declared if isinstance(row, SeenSchema) else ()
    versions = list(versions)
    known: defaultdict[str, set[str]] = defaultdict(set)
    has_key = False
    for version in versions:
        for column in version.columns:
            known[column.name.lower()].add(column.type)
        has_key = (
            has_key
            or _is_partial(row, version.columns)
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


def _columns_of(row: SeenSchema | SeenVersion) -> list[SchemaColumn]:
    """Return the columns that a row names, without a number."""
    if isinstance(row, SeenVersion):
        return _described_columns(row.schema)
    types = {name: type_of_row(text) for name, text in row.column_types.items()}
    return [
        SchemaColumn(0, name, type_text, original_default=default)
        for name, (type_text, default) in types.items()
    ]


def _described_columns(schema: DescribedSchema) -> list[SchemaColumn]:
    """Return the columns that a message describes, without a number."""
    return [
        SchemaColumn(
            column_id=0,
            name=column.name,
            type=str(column.mysql_type),
            nullable=column.nullable,
            charset=column.charset,
            collation=column.collate,
        )
        for column in schema.columns
    ]


def _fill_as_described(table: _Table, schema: DescribedSchema) -> None:
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


def _fill_as_seen(
    table: _Table, schema: SeenSchema, columns: list[SchemaColumn]
) -> tuple[ImageChange, ...]:
    """Give a table the columns and the key that a row names.

    A column that only other rows have named stays if this row leaves out generated
    columns: it is taken for such a one.

    Returns:
        The columns that are new and have a default, which the rows before show.
    """
    table.is_complete = True
    table.has_unknown_beginning = False
    table.has_other_columns = True
    known = table.columns
    added = _take_columns(table, columns)
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
    return added


def _take_columns(
    table: _Table, columns: Iterable[SchemaColumn]
) -> tuple[ImageChange, ...]:
    """Make these the columns of a table. One of the same name is the same column.

    Returns:
        The columns that are new and have a default, which the rows before show.
    """
    known = {column.name: column for column in table.columns}
    table.columns = []
    added: list[SchemaColumn] = []
    for column in columns:
        before = known.get(column.name)
        if before is None:
            added.append(table.add(column))
        else:
            table.columns.append(msgspec.structs.replace(before, type=column.type))
    return _added_with_default(added)


def _added_with_default(columns: Iterable[SchemaColumn]) -> tuple[ImageChange, ...]:
    return tuple(
        ImageChange(
            column.column_id,
            "added",
            to_name=column.name,
            to_type=column.type,
            value=column.original_default,
        )
        for column in columns
        if column.original_default is not None
    )


def _reveal_columns(
    table: _Table, columns: Iterable[SchemaColumn]
) -> tuple[ImageChange, ...]:
    """Give a table columns, or columns another type, beside those that it has.

    Returns:
        The columns that are new and have a default, which the rows before show.
    """
    added: list[SchemaColumn] = []
    for column in columns:
        known = _find_column(table.columns, column.name)
        if known is None:
            added.append(table.add(column))
        else:
            table.replace(msgspec.structs.replace(known, type=column.type))
    table.revealed_ids |= {column.column_id for column in added}
    return _added_with_default(added)


def _rekey(table: _Table, row: SeenSchema | SeenVersion) -> None:
    """Give a table the key that a row names; without one, take what it can not have."""
    key = _key_of(row)
    if key:
        table.keys = [known for known in table.keys if known.kind != "primary"]
        table.add_key(DdlKey("primary", "PRIMARY", key))
        return
    named = {column.name.lower() for column in _columns_of(row)}
    table.keys = [
        known
        for known in table.keys
        if all(table.column(each).name.lower() in named for each in known.column_ids)
    ]


def _is_same_key(first: Iterable[int], second: Iterable[int]) -> bool:
    """Tell whether two keys are one: the order of its columns tells no rows apart."""
    return set(first) == set(second)


def _is_partial(row: SeenSchema | SeenVersion, known: Iterable[SchemaColumn]) -> bool:
    """Tell whether a row lacks columns that its table has, and names no other.

    So a binlog sends rows whose image is not FULL, and TiCDC those of which its
    changefeed selects some columns. A message of Kafka Connect brings a schema, or all
    columns: there a column that is missing has gone.
    """
    if isinstance(row, SeenVersion) or any(
        text.startswith(PREFIX) for text in row.column_types.values()
    ):
        return False
    named = {name.lower() for name in row.column_types}
    sent = {c.name.lower() for c in known if c.generated != "virtual"}
    return named < sent


def _row_order(row: SeenSchema | SeenVersion) -> tuple[str, bytes]:
    return row.sequence, msgspec.json.encode(row)


# --- The fold ---------------------------------------------------------------------


class _Fold:
    """Applies events one after the other."""

    def __init__(self, seen: Iterable[SeenSchema | SeenVersion]) -> None:
        self.versions: list[TableVersion] = []
        self.not_applied: list[NotApplied] = []
        self._rows = sorted(seen, key=_row_order, reverse=True)
        self._all_rows = tuple(self._rows)
        self._seen = [row for row in self._rows if isinstance(row, SeenSchema)]
        self._described: dict[tuple[str, str], list[DescribedSchema]] = {}
        for schema in sorted(
            (row.schema for row in self._rows if isinstance(row, SeenVersion)),
            key=lambda schema: schema.version,
        ):
            name = (schema.database, schema.table)
            self._described.setdefault(name, []).append(schema)
        self._evidence = evidence_of(reversed(self._rows))
        self._evidence.reverse()
        self._ignored = IgnoredDdls()
        self._live: dict[tuple[str, str], _Table] = {}
        self._dropped: dict[tuple[str, str], _Table] = {}
        # When a name became free, which tells a later unknown table from the old one.
        self._freed: dict[tuple[str, str], str] = {}
        self._changes: dict[str, _Change] = {}
        self._uids: Counter[str] = Counter()
        self._event = DdlEvent("", "", "", "")

    def apply(self, event: DdlEvent) -> None:
        """Apply one event, after the rows before it."""
        self.see_rows(event.sequence)
        self._event = event
        self._changes = {}
        statement = event.statement or parse_ddl(event.sql, event.database)
        if event.is_ignored:
            self._ignored.learn(event.database, event.table, statement)
        elif not statement.understood:
            reason = f"Not understood: {statement.reason}"
            self._guarded(partial(self._apply_unknown, reason))
        elif _is_on_whole_tables(statement.actions):
            for action in statement.actions:
                self._guarded(partial(self._apply_whole, action))
        else:
            self._guarded(partial(self._alter, statement.actions))
        for change in self._changes.values():
            self._close_version(change)

    def see_rows_that_go_on(self) -> None:
        """Add the tables of rows that go on under a name which a DDL freed.

        A table that a DDL named first gets the columns of rows that were there before.
        """
        for name in sorted(self._freed.keys() - self._live.keys()):
            if self._row_since(self._freed[name], name) is not None:
                self._unknown_table(TableName(*name))
        for name, table in self._live.items():
            if table.is_complete or not table.follows_rows:
                continue
            last = self.versions[table.last_index or 0].valid_from_sequence or ""
            row = self._row_since(last, name)
            if row is not None:
                self._fill_by_row(table, row)
                self._add_version(table, sequence=last + "~", ddl=None)

    def see_rows(self, until: str) -> None:
        """Take up what rows tell of tables, up to a sequence, this included."""
        while self._rows and self._rows[-1].sequence <= until:
            row = self._rows.pop()
            name = (row.database, row.table)
            self._event = DdlEvent(row.sequence, *name, "")
            table = self._live.get(name)
            if table is None and row.sequence > self._freed.get(name, ""):
                table = self._begun_before(name)
                self._fill_by_row(table, row)
                self._add_version(table, sequence=self._freed.get(name), ddl=None)
            elif table is not None and table.follows_rows:
                self._follow_row(table, row, just_before(row.sequence))
        while self._evidence and self._evidence[-1].end <= until:
            self._reveal(self._evidence.pop())

    def see_last_rows(self) -> None:
        """Let a table end with the columns that its last rows name.

        They may be those of rows long before: a column was renamed and renamed back.
        """
        for name, table in self._live.items():
            freed = self._freed.get(name, "")
            rows = [
                row
                for row in self._seen
                if (row.database, row.table) == name and row.sequence > freed
            ]
            if not table.follows_rows or len(rows) < 2:
                continue
            *_, before, last = sorted(rows, key=lambda row: row.last_sequence)
            begin = self.versions[table.last_index or 0].valid_from_sequence or ""
            if last.last_sequence > begin:
                since = max(before.last_sequence + "~", begin)
                self._follow_row(table, last, since)

    def _fill_by_row(
        self, table: _Table, row: SeenSchema | SeenVersion
    ) -> tuple[ImageChange, ...]:
        """Give a table the columns and the key that a row tells.

        Returns:
            The columns that are new and have a default, which the rows before show.
        """
        if isinstance(row, SeenVersion):
            _fill_as_described(table, row.schema)
            return ()
        columns = [self._refined(row, column) for column in _columns_of(row)]
        return _fill_as_seen(table, row, columns)

    def _follow_row(
        self, table: _Table, row: SeenSchema | SeenVersion, since: str
    ) -> None:
        """Give a table the columns that a row names, from a sequence on."""
        if _is_partial(row, table.columns):
            return
        before = table.columns, table.key()
        added = self._fill_by_row(table, row)
        if (table.columns, table.key()) != before:
            key_changed = bool(before[0]) and not _is_same_key(
                table.key()[1], before[1][1]
            )
            self._add_version(
                table,
                sequence=since,
                ddl=None,
                key_changed=key_changed,
                image_changes=added if before[0] else (),
            )

    def _refined(
        self, row: SeenSchema | SeenVersion, column: SchemaColumn
    ) -> SchemaColumn:
        """Return a column that a row names with what an ignored DDL told of it."""
        told = self._ignored.definition(
            row.database, row.table, column.name, column.type
        )
        if told is None:
            return column
        return msgspec.structs.replace(
            _schema_column(told, column.column_id),
            name=column.name,
            original_default=column.original_default,
        )

    def _reveal(self, evidence: Evidence) -> None:
        """Give a table what its rows name and no DDL has told."""
        row = evidence.row
        table = self._table_of(evidence)
        if table is None or table.follows_rows:
            return
        last = self.versions[table.last_index or 0]
        columns, is_rekeyed = _news(row, [last])
        if columns or is_rekeyed:
            columns, is_rekeyed = _news(row, self._versions_at(evidence))
        before = tuple(table.columns), table.key()
        added = _reveal_columns(table, [self._refined(row, c) for c in columns])
        if is_rekeyed:
            _rekey(table, row)
        if (tuple(table.columns), table.key()) == before:
            return
        begin, since = last.valid_from_sequence or "", just_before(row.sequence)
        if is_rekeyed and not self._has_rows(table, since):
            # No row had another key: the table had this one from its beginning.
            self._amend_version(table)
            return
        self._add_version(
            table,
            sequence=since if since > begin else begin + "~",
            ddl=None,
            key_changed=table.is_complete
            and not _is_same_key(table.key()[1], before[1][1]),
            image_changes=added,
        )

    def _has_rows(self, table: _Table, until: str) -> bool:
        """Tell whether a table may have rows that were written up to a sequence."""
        return any(
            (row.database, row.table) in table.names
            and row.sequence <= until
            and (isinstance(row, SeenVersion) or row.last_sequence > table.emptied_at)
            for row in self._all_rows
        )

    def _table_of(self, evidence: Evidence) -> _Table | None:
        """Return the table of a row, which may have another name since its moment."""
        table = self._live.get((evidence.row.database, evidence.row.table))
        if table is not None:
            return table
        uids = {version.table_uid for version in self._versions_at(evidence)}
        return next((t for t in self._live.values() if t.uid in uids), None)

    def _versions_at(self, evidence: Evidence) -> list[TableVersion]:
        """Return the versions of a row's name that held at some time of its moment."""
        row = evidence.row
        return [
            version
            for version in self.versions
            if (version.database, version.table) == (row.database, row.table)
            and not version.is_dropped
            and (version.valid_from_sequence or "") <= evidence.end
            and (version.valid_to_sequence or "~") >= evidence.begin
        ]

    def _guarded(self, step: Callable[[], None]) -> None:
        """Take a step; write down why if it concerns no known table."""
        try:
            step()
        except _NotAppliedError as error:
            event = self._event
            self.not_applied.append(
                NotApplied(
                    sequence=event.sequence,
                    database=event.database,
                    table=event.table,
                    sql=event.sql,
                    row_effect=error.row_effect,
                    reason=str(error),
                )
            )

    def _apply_unknown(self, reason: str) -> None:
        table = self._find(TableName(self._event.database, self._event.table))
        if table is None:
            raise _NotAppliedError(reason, "unknown")
        self._change(table).unknown(reason)

    def _apply_whole(self, action: Action) -> None:
        match action:
            case DropDatabase():
                self._drop_database(action)
            case CreateTable():
                self._create(action)
            case DropTable():
                self._drop(action)
            case RenameTable():
                self._rename(self._renamed_table(action), action.target)
            case RecoverTable():
                self._recover(action)
            case _:
                raise _NotAppliedError("No table is concerned")

    def _alter(self, actions: Sequence[Action]) -> None:
        """Apply the clauses of one ALTER TABLE, all on the table before it."""
        if not actions:
            raise _NotAppliedError("The statement does nothing")
        rename = next((a for a in actions if isinstance(a, RenameTable)), None)
        if rename is not None:
            table = self._renamed_table(rename)
        else:
            table = self._altered_table(actions)
        for action in sorted(actions, key=_clause_order):
            if isinstance(action, RenameTable):
                self._rename(table, action.target)
            else:
                self._alter_clause(table, action)
        change = self._change(table)
        _drop_displaced(change)
        _doubt_generated(change)

    def _altered_table(self, actions: Sequence[Action]) -> _Table:
        """Return the table of ALTER TABLE, one of unknown beginning if need be."""
        action = actions[0]
        if isinstance(action, CreateDatabase | DropDatabase | NoEffect):
            raise _NotAppliedError("No table is concerned")
        table = self._find(action.table)
        if table is not None:
            return table
        if all(isinstance(action, _WITHOUT_ROWS) for action in actions):
            raise _NotAppliedError("The table was never seen, and no row is concerned")
        return self._unknown_table(action.table)

    # Finding tables

    def _find(self, name: TableName) -> _Table | None:
        """Find a live table by its name, as the source compares names."""
        exact = self._live.get((name.database, name.table))
        if exact is not None:
            return exact
        matches = self._of_other_case(name)
        if self._event.ignores_case:
            return matches[0] if len(matches) == 1 else None
        for table in matches:
            self._change(table).unknown(
                f"A statement names `{name.table}`, another table where names differ by"
                " case, and this one where they do not"
            )
        return None

    def _of_other_case(self, name: TableName) -> list[_Table]:
        lowered = (name.database.lower(), name.table.lower())
        return [
            table
            for (database, table_name), table in self._live.items()
            if (database.lower(), table_name.lower()) == lowered
        ]

    def _as_named_by_event(self, name: TableName) -> tuple[str, str]:
        """Prefer the message's spelling, which is that of the table's schema."""
        event = (self._event.database, self._event.table)
        typed = (name.database, name.table)
        if not self._event.ignores_case:
            return typed
        is_same = [part.lower() for part in event] == [part.lower() for part in typed]
        return event if is_same else typed

    def _unknown_table(self, name: TableName) -> _Table:
        """Begin a table that was there before the topic began."""
        table = self._begun_before(self._as_named_by_event(name))
        schema = self._description(table.name)
        row = self._row_since(self._freed.get(table.name, ""), table.name)
        if schema is not None:
            _fill_as_described(table, schema)
        elif row is not None:
            self._fill_by_row(table, row)
        self._add_version(table, sequence=self._freed.get(table.name), ddl=None)
        return table

    def _row_since(self, sequence: str, name: tuple[str, str]) -> SeenSchema | None:
        """Return what rows of a name have told before and go on to tell."""
        return next(
            (
                row
                for row in self._seen
                if (row.database, row.table) == name
                and row.sequence <= sequence < row.last_sequence
            ),
            None,
        )

    def _begun_before(self, name: tuple[str, str]) -> _Table:
        """Return a new live table of that name, of which nothing is known yet."""
        freed = self._freed.get(name)
        uid = ".".join(name) + f"@{'' if freed is None else 'after ' + freed}"
        table = _Table(
            self._own(uid),
            *name,
            is_complete=False,
            has_unknown_beginning=True,
            follows_rows=True,
        )
        self._live[name] = table
        return table

    def _own(self, uid: str) -> str:
        """Return an identity that no other table has.

        One commit creates a table once, but its statement may come again in other
        words, or damaged.
        """
        self._uids[uid] += 1
        return uid if self._uids[uid] == 1 else f"{uid}#{self._uids[uid]}"

    def _description(self, name: tuple[str, str]) -> DescribedSchema | None:
        """Return what is told of a table that was there before its first DDL."""
        before = self._event.described_before
        if (
            before is not None
            and before.has_types
            and (before.database, before.table) == name
        ):
            return before
        freed = self._freed.get(name, "")
        return next(
            (
                schema
                for schema in self._described.get(name, [])
                if f"{schema.version:020}" > freed
            ),
            None,
        )

    def _renamed_table(self, action: RenameTable) -> _Table:
        """Find the table that is renamed.

        The message names the database after the rename. If the text qualifies only
        the new name, the old table is in the session's database, which is in no
        field: it is found if only one known table has that name.
        """
        name, target = action.table, action.target
        if name.is_qualified or not target.is_qualified:
            return self._find(name) or self._unknown_table(name)
        if self._event.source_database is not None:
            name = TableName(self._event.source_database, name.table)
            return self._find(name) or self._unknown_table(name)
        matches = self._of_any_database(name.table)
        if len(matches) == 1:
            return matches[0]
        reason = (
            f"Expected one known table `{name.table}` that RENAME can mean, as its"
            f" text names no database, got {len(matches)}"
        )
        for table in matches:
            self._change(table).unknown(reason)
        raise _NotAppliedError(reason, "unknown")

    def _of_any_database(self, name: str) -> list[_Table]:
        lowered = name.lower()
        return [t for t in self._live.values() if t.table.lower() == lowered]

    # Versions

    def _change(self, table: _Table) -> _Change:
        change = self._changes.get(table.uid)
        if change is None:
            change = _Change(
                table=table,
                key_before=table.key()[1],
                columns_before=tuple(table.columns),
                name_before=table.name,
            )
            self._changes[table.uid] = change
        return change

    def _close_version(self, change: _Change) -> None:
        table = change.table
        # Until its first row comes, a DDL may have named some of its columns only. After
        # a TRUNCATE the rows tell no less than before.
        is_as_before = change.columns_before == tuple(table.columns)
        if not (is_as_before and change.effects == {"close_all"}):
            table.follows_rows = table.follows_rows and not table.is_complete
        is_first = table.versions == 0
        key_changed = not is_first and not _is_same_key(
            table.key()[1], change.key_before
        )
        if key_changed:
            change.effects.add("rekey")
        nothing: RowEffect = "none"
        effect = max({nothing, *change.effects}, key=_STRENGTH.index)
        is_renamed = not is_first and table.name != change.name_before
        before = change.name_before if is_renamed else (None, None)
        self._add_version(
            table,
            sequence=self._event.sequence,
            ddl=self._event.sql,
            row_effect=effect,
            image_changes=tuple(change.images),
            partition_changes=tuple(change.partitions),
            key_changed=key_changed,
            previous_database=before[0],
            previous_table=before[1],
            reason=change.reason,
            unknown_columns=self._unknown_columns(change),
        )
        if "close_all" in change.effects:
            table.emptied_at = self._event.sequence

    def _unknown_columns(self, change: _Change) -> tuple[str, ...]:
        """Return the columns of which rows from before have no known value."""
        named = dict.fromkeys(
            str(image.to_name)
            for image in change.images
            if image.value_accuracy == "unknown" and image.generated != "virtual"
        )
        if not named or not self._has_rows(change.table, self._event.sequence):
            return ()
        return tuple(named)

    def _add_version(  # noqa: PLR0913 # one argument per field of the result
        self,
        table: _Table,
        *,
        sequence: str | None,
        ddl: str | None,
        row_effect: RowEffect = "none",
        image_changes: tuple[ImageChange, ...] = (),
        partition_changes: tuple[PartitionChange, ...] = (),
        key_changed: bool = False,
        previous_database: str | None = None,
        previous_table: str | None = None,
        reason: str | None = None,
        unknown_columns: tuple[str, ...] = (),
    ) -> None:
        table.names.add(table.name)
        if table.last_index is not None:
            last = self.versions[table.last_index]
            self.versions[table.last_index] = msgspec.structs.replace(
                last, valid_to_sequence=sequence
            )
        table.versions += 1
        table.last_index = len(self.versions)
        key_kind, key_ids = table.key()
        self.versions.append(
            TableVersion(
                table_uid=table.uid,
                database=table.database,
                table=table.table,
                version=table.versions,
                valid_from_sequence=sequence,
                valid_to_sequence=None,
                is_dropped=table.is_dropped,
                is_complete=table.is_complete,
                columns=tuple(table.columns),
                key_columns=tuple(table.column(key_id).name for key_id in key_ids),
                key_kind=key_kind,
                unique_columns=table.unique_columns(),
                ddl=ddl,
                row_effect=row_effect,
                image_changes=image_changes,
                partition_changes=partition_changes,
                key_changed=key_changed,
                previous_database=previous_database,
                previous_table=previous_table,
                partitioning=table.partitioning,
                reason=reason,
                unknown_columns=unknown_columns,
            )
        )

    def _amend_version(self, table: _Table) -> None:
        """Give the last version of a table the columns and the key that it has now."""
        index = table.last_index or 0
        key_kind, key_ids = table.key()
        self.versions[index] = msgspec.structs.replace(
            self.versions[index],
            columns=tuple(table.columns),
            key_columns=tuple(table.column(key_id).name for key_id in key_ids),
            key_kind=key_kind,
            unique_columns=table.unique_columns(),
        )

    # Whole tables

    def _create(self, action: CreateTable) -> None:
        if action.temporary:
            raise _NotAppliedError("A temporary table is not replicated")
        database, name = self._as_named_by_event(action.table)
        present = self._live.get((database, name))
        if present is not None and action.if_not_exists:
            raise _NotAppliedError("The table exists")
        if present is not None:
            self._replace_unseen(present, is_known=action.or_replace)
        uid = self._own(f"{database}.{name}@{self._event.sequence}")
        table = _Table(uid, database, name, emptied_at=self._event.sequence)
        change = self._change(table)
        if action.like is None:
            _fill(table, action)
        else:
            self._copy_schema(action, change)
        self._live[table.name] = table

    def _replace_unseen(self, present: _Table, *, is_known: bool) -> None:
        """End a table in whose place another is created."""
        change = self._change(present)
        change.effects.add("close_all")
        if not is_known:
            change.unknown("The table was created anew, but no DROP was seen")
        self._end(present)

    def _copy_schema(self, action: CreateTable, change: _Change) -> None:
        """CREATE TABLE LIKE copies columns, indexes and partitions, no rows."""
        table = change.table
        original = None if action.like is None else self._liked(action.like, action)
        described = self._event.described
        if original is None and described is not None and described.has_types:
            _fill_as_described(table, described)
            return
        if original is None:
            table.is_complete = False
            table.follows_rows = True
            change.reason = "The table after LIKE was never seen"
            return
        table.is_complete = original.is_complete
        table.columns = [
            msgspec.structs.replace(
                column, original_default=None, original_default_accuracy=None
            )
            for column in original.columns
        ]
        table.keys = [
            _Key(key.kind, key.name, list(key.column_ids), key.has_expression)
            for key in original.keys
        ]
        table.next_column_id = original.next_column_id
        table.charset = original.charset
        table.collation = original.collation
        table.partitioning = original.partitioning

    def _liked(self, like: TableName, action: CreateTable) -> _Table | None:
        if like.is_qualified or not action.table.is_qualified:
            return self._find(like)
        matches = self._of_any_database(like.table)
        return matches[0] if len(matches) == 1 else None

    def _end(self, table: _Table) -> None:
        table.is_dropped = True
        self._free(table)
        self._dropped[table.name] = table

    def _free(self, table: _Table) -> None:
        if self._live.get(table.name) is table:
            del self._live[table.name]
        self._freed[table.name] = self._event.sequence

    def _drop(self, action: DropTable) -> None:
        table = self._find(action.table)
        if table is None:
            if action.temporary or (
                action.if_exists
                and self._as_named_by_event(action.table) in self._freed
            ):
                raise _NotAppliedError("There is no such table")
            table = self._unknown_table(action.table)
        self._change(table).effects.add("close_all")
        self._end(table)

    def _drop_database(self, action: DropDatabase) -> None:
        lowered = action.database.lower()
        tables = [t for t in self._live.values() if t.database.lower() == lowered]
        for table in tables:
            self._change(table).effects.add("close_all")
            self._end(table)
        if not tables:
            raise _NotAppliedError("No known table is in the database", "close_all")

    def _rename(self, table: _Table, target: TableName) -> None:
        self._change(table)
        database, name = self._as_named_by_event(target)
        self._free(table)
        replaced = self._live.get((database, name))
        if replaced is not None:
            self._replace_unseen(replaced, is_known=False)
        if table.has_unknown_beginning and not self._has_rows(
            table, self._event.sequence
        ):
            self._doubt_replacement(table, (database, name))
        table.database, table.table = database, name
        self._live[table.name] = table

    def _doubt_replacement(self, table: _Table, name: tuple[str, str]) -> None:
        """Doubt a table without a known row that takes the name of one with rows.

        So ends an online schema change whose new table a filter kept out.
        """
        if name in self._freed and any(
            (row.database, row.table) == name and row.sequence <= self._event.sequence
            for row in self._all_rows
        ):
            self._change(table).unknown(
                f"It took the name of `{name[1]}`, which had rows, and no message has"
                " told of its own"
            )

    def _recover(self, action: RecoverTable) -> None:
        """Bring back a dropped table; its rows come back without events."""
        name = self._as_named_by_event(action.table)
        table = self._dropped.pop(name, None)
        if table is None:
            table = self._unknown_table(action.target)
        change = self._change(table)
        table.is_dropped = False
        table.database, table.table = self._as_named_by_event(action.target)
        self._live[table.name] = table
        change.effects.add("unknown")
        change.reason = "The rows that DROP or TRUNCATE had ended came back"

    # One clause of ALTER TABLE

    def _alter_clause(self, table: _Table, action: Action) -> None:
        change = self._change(table)
        match action:
            case TruncateTable():
                change.effects.add("close_all")
            case PartitionAction():
                self._partition(change, action)
            case AddColumn():
                _add_column(change, action, self._event)
            case AddKey() | DropKey() | RenameKey():
                _alter_keys(table, action)
            case _:
                _alter_columns(change, action)

    def _partition(self, change: _Change, action: PartitionAction) -> None:
        table = change.table
        if action.operation in {"truncate", "drop", "exchange"}:
            affected = _affected(table.partitioning, action)
            moved = PartitionChange(
                operation=action.operation,  # type: ignore[arg-type] # just tested
                partitions=affected,
                partitioning=table.partitioning,
            )
            change.effects.add("partition")
            if action.exchange_with is not None:
                moved = self._exchange(change, action.exchange_with, moved)
            change.partitions.append(moved)
        table.partitioning = _partitioning_after(table.partitioning, action)

    def _exchange(
        self, change: _Change, name: TableName, moved: PartitionChange
    ) -> PartitionChange:
        """Note on both tables that they swapped rows."""
        other = self._find(name) or self._unknown_table(name)
        other_change = self._change(other)
        other_change.effects.add("partition")
        other_change.partitions.append(
            msgspec.structs.replace(
                moved, is_partitioned_side=False, counterpart_uid=change.table.uid
            )
        )
        return msgspec.structs.replace(moved, counterpart_uid=other.uid)


_WITHOUT_ROWS: Final = (
    NoRowEffect,
    TableComment,
    TableCharset,
    RenameKey,
    SetDefault,
    AddKey,
    DropKey,
)

_ON_WHOLE_TABLES: Final = (
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropTable,
    NoEffect,
    RecoverTable,
)


def _is_on_whole_tables(actions: Sequence[Action]) -> bool:
    """Tell RENAME TABLE a TO b, c TO d from ALTER TABLE a RENAME TO b, ADD ..."""
    return any(isinstance(action, _ON_WHOLE_TABLES) for action in actions) or (
        bool(actions) and all(isinstance(action, RenameTable) for action in actions)
    )


def _clause_order(action: Action) -> int:
    """Order the clauses of one ALTER TABLE as MySQL carries them out.

    DROP frees names that ADD may take; keys name columns as they are afterwards.
    """
    if isinstance(action, DropKey | DropColumn):
        return 0
    if isinstance(action, RenameColumn):
        return 1
    if isinstance(action, ModifyColumn) and not (action.first or action.after):
        return 1
    return 3 if isinstance(action, AddKey) else 2


def _fill(table: _Table, action: CreateTable) -> None:
    """Give a new table its columns and keys."""
    table.charset, table.collation = action.charset, action.collation
    table.partitioning = action.partitioning
    for column in action.columns:
        table.add(_schema_column(_with_table_defaults(table, column), 0))
    # TiDB numbers the keys of the table first and then those written with a column.
    for key in action.keys:
        table.add_key(key)
    for column in action.columns:
        _add_inline_keys(table, column)


def _add_inline_keys(table: _Table, column: DdlColumn) -> None:
    if column.is_primary_key:
        table.add_key(DdlKey("primary", "PRIMARY", (column.name,)))
    if column.is_unique:
        table.add_key(DdlKey("unique", None, (column.name,)))


def _schema_column(column: DdlColumn, column_id: int) -> SchemaColumn:
    return SchemaColumn(
        column_id=column_id,
        name=column.name,
        type=column.type,
        nullable=column.nullable,
        default=column.default,
        generated=column.generated,
        expression=column.expression,
        comment=column.comment,
        charset=column.charset,
        collation=column.collation,
        auto_increment=column.auto_increment,
    )


def _with_table_defaults(table: _Table, column: DdlColumn) -> DdlColumn:
    """Give a text column what its table says of texts."""
    if column.charset or column.collation:
        return column
    mysql_type = _type(column.type)
    if table.charset == "binary":
        column = msgspec.structs.replace(column, type=str(mysql_type.as_binary()))
    elif mysql_type.is_text or mysql_type.elements:
        column = msgspec.structs.replace(column, collation=table.collation)
    return column


def _move(change: _Change, column_id: int, *, first: bool, after: str | None) -> None:
    """Put a column where FIRST or AFTER says; without them it stays."""
    columns = change.table.columns
    column = columns.pop(change.table.index(column_id))
    neighbour = None
    if after is not None:
        neighbour = _find_column(columns, after) or change.column_of(after)
    if first:
        columns.insert(0, column)
    elif neighbour is not None and neighbour is not column:
        columns.insert(change.table.index(neighbour.column_id) + 1, column)
    else:
        columns.append(column)


def _add_column(change: _Change, action: AddColumn, event: DdlEvent) -> None:
    table = change.table
    definition = _with_table_defaults(table, action.column)
    present = _find_column(table.columns, definition.name)
    if present is not None and action.if_not_exists:
        return
    if present is not None and present.column_id in table.revealed_ids:
        # It was dropped without a DDL, as it was added.
        _drop_column(change, present.name)
    elif present is not None:
        change.unknown(f"Column `{definition.name}` was there when it was added")
        return
    value, accuracy = _original_default(definition, event)
    column = table.add(
        msgspec.structs.replace(
            _schema_column(definition, 0),
            original_default=value,
            original_default_accuracy=accuracy,
        )
    )
    if action.first or action.after is not None:
        _move(change, column.column_id, first=action.first, after=action.after)
    _add_inline_keys(table, definition)
    change.add_image(
        ImageChange(
            column_id=column.column_id,
            kind="added",
            to_name=column.name,
            to_type=column.type,
            value=value,
            value_accuracy=accuracy,
            generated=column.generated,
        )
    )


def _named_column(change: _Change, name: str) -> SchemaColumn | None:
    """Return the column a clause names.

    In a table whose columns are not all known, one that was not seen yet is taken up.
    """
    table = change.table
    column = change.column_of(name)
    if column is None and table.is_complete and not table.has_other_columns:
        change.unknown(f"Column `{name}` is not among the known ones")
    elif column is None:
        column = table.add(SchemaColumn(0, name, ""))
    return column


def _alter_keys(table: _Table, action: AddKey | DropKey | RenameKey) -> None:
    """Apply a clause on keys."""
    match action:
        case AddKey():
            table.add_key(action.key)
        case DropKey():
            table.drop_key(action.name)
        case RenameKey():
            for key in table.keys:
                if key.name.lower() == action.name.lower():
                    key.name = action.target


def _alter_columns(change: _Change, action: Action) -> None:
    """Apply a clause on columns or on the character set of the table."""
    table = change.table
    match action:
        case DropColumn():
            if not action.if_exists or change.column_of(action.column):
                _drop_column(change, action.column)
        case RenameColumn():
            _rename_column(change, action.column, action.target)
        case ModifyColumn():
            if not action.if_exists or change.column_of(action.name):
                _modify_column(change, action)
        case SetDefault():
            column = _named_column(change, action.column)
            if column is not None:
                table.replace(msgspec.structs.replace(column, default=action.default))
        case TableCharset():
            table.charset = action.charset or _charset_of(action.collation)
            table.collation = action.collation
        case ConvertCharset():
            _convert_charset(change, action)
        case _:  # comments and the like
            pass


def _charset_of(collation: str | None) -> str | None:
    return None if collation is None else collation.partition("_")[0]


def _drop_column(change: _Change, name: str) -> None:
    column = _named_column(change, name)
    if column is None:
        return
    change.table.drop_column(column.column_id)
    change.add_image(
        ImageChange(
            column_id=column.column_id,
            kind="dropped",
            from_name=column.name,
            from_type=column.type or None,
        )
    )


def _drop_displaced(change: _Change) -> None:
    """Drop the columns whose name another one got: no DDL told that they were gone."""
    table = change.table
    for before in change.columns_before:
        ids = [c.column_id for c in table.columns if _is_named(c, before.name)]
        if len(ids) > 1 and before.column_id in ids:
            _drop_column(change, before.name)
            if before.column_id not in table.revealed_ids:
                reason = f"Column `{before.name}` was there when another got its name"
                change.unknown(reason)


def _rename_column(change: _Change, name: str, target: str) -> None:
    column = _named_column(change, name)
    if column is None:
        return
    change.table.replace(msgspec.structs.replace(column, name=target))
    if column.name == target:
        return
    change.add_image(
        ImageChange(
            column_id=column.column_id,
            kind="renamed",
            from_name=column.name,
            to_name=target,
            from_type=column.type or None,
            to_type=column.type or None,
        )
    )


def _modify_column(change: _Change, action: ModifyColumn) -> None:
    """MODIFY and CHANGE replace the whole definition; the column stays the same."""
    table = change.table
    column = _named_column(change, action.name)
    if column is None:
        return
    definition = _with_table_defaults(table, action.column)
    _rename_column(change, action.name, definition.name)
    is_primary = any(
        key.kind == "primary" and column.column_id in key.column_ids
        for key in table.keys
    )
    modified = msgspec.structs.replace(
        _schema_column(definition, column.column_id),
        nullable=definition.nullable and not is_primary,
        original_default=column.original_default,
        original_default_accuracy=column.original_default_accuracy,
    )
    _retype(change, column, modified)
    if action.first or action.after is not None:
        _move(change, column.column_id, first=action.first, after=action.after)
    _add_inline_keys(table, definition)


def _retype(change: _Change, before: SchemaColumn, after: SchemaColumn) -> None:
    """Put a column in place of itself and note if its values may be converted."""
    if before.type.startswith(PREFIX):
        # Rows told how a value comes, not what the column was.
        before = msgspec.structs.replace(before, type="")
    is_regenerated = (before.generated, before.expression) != (
        after.generated,
        after.expression,
    )
    is_computed = is_regenerated and after.generated is not None
    if before.type == after.type and not is_regenerated:
        change.table.replace(after)
        return
    is_open = bool(before.type) and _is_open(before.type)
    if is_open and not is_regenerated:
        change.unknown(f"The whole type of `{before.name}` before is not known")
        change.table.replace(after)
        return
    changes_text = is_regenerated or not before.type or _may_change(before, after)
    change.table.replace(_with_converted_default(before, after))
    change.add_image(
        ImageChange(
            column_id=after.column_id,
            kind="retyped",
            from_name=before.name,
            to_name=after.name,
            from_type=before.type or None,
            to_type=after.type,
            changes_text=changes_text,
            value_accuracy="unknown" if is_computed else None,
            generated=after.generated,
        )
    )


def _doubt_generated(change: _Change) -> None:
    """Note the stored columns that the source computes anew from changed ones.

    So does an ALTER TABLE that copies the rows (MySQL 8.0 manual, 15.1.9.2).
    """
    changed = {
        name.lower()
        for image in change.images
        if image.kind == "retyped" and image.changes_text
        for name in (image.from_name, image.to_name)
        if name is not None
    }
    told = {image.column_id for image in change.images}
    for column in change.table.columns:
        words = re.findall(r"[\w$]+", (column.expression or "").lower())
        if (
            column.generated == "stored"
            and column.column_id not in told
            and not changed.isdisjoint(words)
        ):
            change.add_image(
                ImageChange(
                    column_id=column.column_id,
                    kind="retyped",
                    from_name=column.name,
                    to_name=column.name,
                    from_type=column.type,
                    to_type=column.type,
                    value_accuracy="unknown",
                    generated=column.generated,
                )
            )


def _type(text: str) -> MySqlType:
    """Return the type of a column; one from a message may lack its parameters."""
    return parse_mysql_type(text, declared=False)


def _is_open(text: str) -> bool:
    """Whether a type lacks parameters that say what a value means."""
    known = _type(text)
    return (
        (known.base == "decimal" and known.scale is None)
        or (known.base == "bit" and known.length is None)
        or (known.base in {"enum", "set"} and not known.elements)
    )


def _may_change(before: SchemaColumn, after: SchemaColumn) -> bool:
    return may_change_text(_type(before.type), _type(after.type))


def _with_converted_default(before: SchemaColumn, after: SchemaColumn) -> SchemaColumn:
    """Convert the value of rows before the column, as the DDL converted theirs."""
    if after.original_default is None or not before.type:
        return after
    types = _type(before.type), _type(after.type)
    try:
        value = convert_value(after.original_default, *types)
    except ValueError:
        return msgspec.structs.replace(
            after, original_default=None, original_default_accuracy="unknown"
        )
    return msgspec.structs.replace(after, original_default=value)


def _convert_charset(change: _Change, action: ConvertCharset) -> None:
    """CONVERT TO sets the character set of every text column and of the table."""
    table = change.table
    charset = action.charset
    table.charset, table.collation = charset, action.collation
    for column in tuple(table.columns):
        if not column.type or column.type.startswith(PREFIX):
            continue
        mysql_type = _type(column.type)
        if not (mysql_type.is_text or mysql_type.elements):
            continue
        if charset == "binary":
            mysql_type = mysql_type.as_binary()
        after = msgspec.structs.replace(
            column,
            type=str(mysql_type),
            charset=charset,
            collation=action.collation,
        )
        _retype(change, column, after)


# --- Partitions -------------------------------------------------------------------


def _affected(
    partitioning: Partitioning | None, action: PartitionAction
) -> tuple[AffectedPartition, ...]:
    """Return the partitions an action names, with the rows that they hold."""
    if partitioning is None:
        return tuple(AffectedPartition(name) for name in action.names)
    wanted = {name.lower() for name in action.names}
    affected: list[AffectedPartition] = []
    lower: tuple[SqlValue, ...] | None = None
    for position, partition in enumerate(partitioning.partitions):
        if action.all_partitions or partition.name.lower() in wanted:
            affected.append(
                AffectedPartition(
                    name=partition.name,
                    position=position,
                    at_least=lower,
                    less_than=partition.less_than,
                    values_in=partition.values_in,
                )
            )
        lower = partition.less_than
    found = {partition.name.lower() for partition in affected}
    # A name that is not known: the partitioning was not seen whole.
    affected += [AffectedPartition(n) for n in action.names if n.lower() not in found]
    return tuple(affected)


def _partitioning_after(
    partitioning: Partitioning | None, action: PartitionAction
) -> Partitioning | None:
    if action.operation in {"remove", "partition_by"}:
        return action.partitioning
    if partitioning is None:
        return None
    change = _PARTITION_CHANGES.get(action.operation)
    if change is None:
        return partitioning
    partitions = change(partitioning.partitions, action)
    return msgspec.structs.replace(partitioning, partitions=partitions)


def _without(
    partitions: tuple[Partition, ...], action: PartitionAction
) -> tuple[Partition, ...]:
    gone = {name.lower() for name in action.names}
    return tuple(p for p in partitions if p.name.lower() not in gone)


def _with_added(
    partitions: tuple[Partition, ...], action: PartitionAction
) -> tuple[Partition, ...]:
    numbers = range(len(partitions), len(partitions) + (action.count or 0))
    return (
        *partitions,
        *action.partitions,
        *(Partition(f"p{number}") for number in numbers),
    )


def _reorganized(
    partitions: tuple[Partition, ...], action: PartitionAction
) -> tuple[Partition, ...]:
    gone = {name.lower() for name in action.names}
    names = [partition.name.lower() for partition in partitions]
    first = next((i for i, name in enumerate(names) if name in gone), len(names))
    return (
        *partitions[:first],
        *action.partitions,
        *(p for p in partitions[first:] if p.name.lower() not in gone),
    )


def _coalesced(
    partitions: tuple[Partition, ...], action: PartitionAction
) -> tuple[Partition, ...]:
    return partitions[: max(len(partitions) - (action.count or 0), 0)]


_PARTITION_CHANGES: Final[
    dict[
        str,
        Callable[[tuple[Partition, ...], PartitionAction], tuple[Partition, ...]],
    ]
] = {
    "drop": _without,
    "add": _with_added,
    "reorganize": _reorganized,
    "coalesce": _coalesced,
}
