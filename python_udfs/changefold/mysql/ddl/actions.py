"""What a DDL statement does, as typed actions."""

import re
from typing import Literal

import msgspec


class TableName(msgspec.Struct, frozen=True):
    """A table, with the database that an unqualified name got.

    Attributes:
        database: Database of the table.
        table: Name of the table, case kept.
        is_qualified: The statement itself named the database.
    """

    database: str
    table: str
    is_qualified: bool = False


class SqlValue(msgspec.Struct, frozen=True):
    """A literal or an expression, as in DEFAULT or in the bounds of a partition.

    Attributes:
        form: ``null``; ``text`` (quotes resolved); ``number`` (as written, also for
            TRUE and FALSE); ``bits`` (digits 0 and 1); ``hex`` (hexadecimal digits);
            ``maxvalue`` (of a partition); ``expression`` (its SQL text).
        text: The text of that form; empty for ``null`` and ``maxvalue``. An expression
            is as written, without parentheses around the whole. If it is one call of a
            function of the clock, its standard name: ``CURRENT_TIMESTAMP(n)``,
            ``CURRENT_DATE``, ``CURRENT_TIME(n)``, ``UTC_TIMESTAMP(n)``, ``UTC_DATE``,
            ``UTC_TIME(n)``, ``(n)`` only if it was written.
    """

    form: Literal["null", "text", "number", "bits", "hex", "maxvalue", "expression"]
    text: str = ""


class ForeignKey(msgspec.Struct, frozen=True):
    """A foreign key: the rows of its table refer to those of another, the parent.

    Attributes:
        columns: Columns of the table itself.
        parent: The table that is referred to.
        parent_columns: Its columns; empty where the statement names none.
        on_delete: What a DELETE in the parent does to the rows that refer to it, lower
            case: ``cascade``, ``set null``, ``set default``, ``restrict``,
            ``no action``; ``None`` without a clause.
        on_update: The same of an UPDATE of the parent's key.
        name: Name of the constraint, ``None`` if the source makes one up.
    """

    columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...] = ()
    on_delete: str | None = None
    on_update: str | None = None
    name: str | None = None


class DdlColumn(msgspec.Struct, frozen=True):
    """A column definition.

    Attributes:
        name: Name, case kept.
        type: Canonical text of the type, see `mysql.types`.
        nullable: False with NOT NULL, and for an inline PRIMARY KEY.
        default: ``None``: no DEFAULT clause. ``DEFAULT NULL`` has form ``null``. That of
            a column of MariaDB which the server fills in for system versioning is the
            expression ``ROW START`` or ``ROW END``.
        on_update: ``CURRENT_TIMESTAMP(n)`` of ON UPDATE.
        generated: How a generated column is kept.
        expression: SQL text of a generated column.
        comment: Text of COMMENT.
        charset: Character set, lower case, if the definition names one.
        collation: Collation, lower case, if the definition names one.
        auto_increment: AUTO_INCREMENT or AUTO_RANDOM.
        is_primary_key: Inline PRIMARY KEY.
        is_unique: Inline UNIQUE.
        foreign_key: Inline REFERENCES, which MariaDB and MySQL from 9.0 on obey.
    """

    name: str
    type: str
    nullable: bool = True
    default: SqlValue | None = None
    on_update: str | None = None
    generated: Literal["virtual", "stored"] | None = None
    expression: str | None = None
    comment: str | None = None
    charset: str | None = None
    collation: str | None = None
    auto_increment: bool = False
    is_primary_key: bool = False
    is_unique: bool = False
    foreign_key: ForeignKey | None = None


class DdlKey(msgspec.Struct, frozen=True):
    """An index.

    Attributes:
        kind: What the index is; ``index`` for all that bind no rows.
        name: Its name, ``None`` if MySQL makes one up.
        columns: Its columns in key order; prefix lengths are left out, since a unique
            prefix makes the whole value unique.
        has_expression: A part is an expression, so `columns` is not the whole key.
    """

    kind: Literal["primary", "unique", "index"]
    name: str | None
    columns: tuple[str, ...]
    has_expression: bool = False


class Partition(msgspec.Struct, frozen=True):
    """One partition.

    Attributes:
        name: Its name.
        less_than: Upper bound (exclusive) of RANGE, one value per column.
        values_in: Values of LIST; each a tuple of one value per column.
    """

    name: str
    less_than: tuple[SqlValue, ...] | None = None
    values_in: tuple[tuple[SqlValue, ...], ...] | None = None


class Partitioning(msgspec.Struct, frozen=True):
    """How a table is partitioned.

    Attributes:
        method: ``hash``, ``key``, ``range``, ``range columns``, ``list``,
            ``list columns``, ``system_time``; ``linear`` in front where it was written.
        expression: SQL text in the parentheses of HASH, RANGE and LIST.
        columns: Columns, for KEY and COLUMNS, or if the expression is one column.
        partitions: The partitions, in order.
        subpartitioned: There are subpartitions, which are not kept here.
    """

    method: str
    expression: str | None = None
    columns: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    subpartitioned: bool = False


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class _Action(msgspec.Struct, frozen=True, tag_field="action", tag=_snake):
    """Base of all actions; ``action`` in JSON names the class."""


class CreateDatabase(_Action, frozen=True):
    """CREATE DATABASE."""

    database: str
    if_not_exists: bool = False


class DropDatabase(_Action, frozen=True):
    """DROP DATABASE: every table in it ends."""

    database: str
    if_exists: bool = False


class CreateTable(_Action, frozen=True):
    """CREATE TABLE, or CREATE TABLE LIKE (then only `like` says what it holds)."""

    table: TableName
    columns: tuple[DdlColumn, ...] = ()
    keys: tuple[DdlKey, ...] = ()
    if_not_exists: bool = False
    or_replace: bool = False
    temporary: bool = False
    like: TableName | None = None
    charset: str | None = None
    collation: str | None = None
    comment: str | None = None
    partitioning: Partitioning | None = None
    foreign_keys: tuple[ForeignKey, ...] = ()


class DropTable(_Action, frozen=True):
    """DROP TABLE of one table."""

    table: TableName
    if_exists: bool = False
    temporary: bool = False


class TruncateTable(_Action, frozen=True):
    """TRUNCATE TABLE: every row ends, the table stays."""

    table: TableName


class RenameTable(_Action, frozen=True):
    """One pair of RENAME TABLE, or ALTER TABLE RENAME."""

    table: TableName
    target: TableName


class RecoverDatabase(_Action, frozen=True):
    """FLASHBACK DATABASE of TiDB: its tables come back, with rows."""

    database: str
    target: str


class RecoverTable(_Action, frozen=True):
    """RECOVER or FLASHBACK TABLE of TiDB: a dropped table comes back with rows."""

    table: TableName
    target: TableName


class AddColumn(_Action, frozen=True):
    """ALTER TABLE ADD COLUMN; neither `first` nor `after`: at the end."""

    table: TableName
    column: DdlColumn
    first: bool = False
    after: str | None = None
    if_not_exists: bool = False


class DropColumn(_Action, frozen=True):
    """ALTER TABLE DROP COLUMN."""

    table: TableName
    column: str
    if_exists: bool = False


class RenameColumn(_Action, frozen=True):
    """ALTER TABLE RENAME COLUMN."""

    table: TableName
    column: str
    target: str


class ModifyColumn(_Action, frozen=True):
    """ALTER TABLE MODIFY or CHANGE; `name` is the name before."""

    table: TableName
    name: str
    column: DdlColumn
    first: bool = False
    after: str | None = None
    if_exists: bool = False


class SetDefault(_Action, frozen=True):
    """ALTER COLUMN SET DEFAULT; `default` is ``None`` for DROP DEFAULT."""

    table: TableName
    column: str
    default: SqlValue | None


class AddKey(_Action, frozen=True):
    """ADD INDEX, ADD UNIQUE, ADD PRIMARY KEY, CREATE INDEX."""

    table: TableName
    key: DdlKey


class DropKey(_Action, frozen=True):
    """DROP INDEX, DROP PRIMARY KEY (name ``PRIMARY``), DROP CONSTRAINT."""

    table: TableName
    name: str


class RenameKey(_Action, frozen=True):
    """ALTER TABLE RENAME INDEX."""

    table: TableName
    name: str
    target: str


class TableComment(_Action, frozen=True):
    """ALTER TABLE COMMENT."""

    table: TableName
    comment: str


class TableCharset(_Action, frozen=True):
    """ALTER TABLE CHARACTER SET: the default for columns added later."""

    table: TableName
    charset: str | None
    collation: str | None = None


class ConvertCharset(_Action, frozen=True):
    """ALTER TABLE CONVERT TO CHARACTER SET: all columns and the default."""

    table: TableName
    charset: str | None
    collation: str | None = None


class PartitionAction(_Action, frozen=True):
    """A change of partitions.

    Attributes:
        table: The partitioned table.
        operation: What is done. ``truncate``, ``drop`` and ``exchange`` end or move
            rows; the others only move them between partitions.
        names: Partitions named.
        all_partitions: ALL instead of names.
        partitions: New partitions of ``add`` and ``reorganize``.
        count: Number of ``add`` or ``coalesce`` without definitions.
        exchange_with: The other table of ``exchange``.
        partitioning: New partitioning of ``partition_by``.
        if_exists: IF EXISTS of ``drop``.
    """

    table: TableName
    operation: Literal[
        "truncate",
        "drop",
        "exchange",
        "add",
        "reorganize",
        "coalesce",
        "remove",
        "partition_by",
    ]
    names: tuple[str, ...] = ()
    all_partitions: bool = False
    partitions: tuple[Partition, ...] = ()
    count: int | None = None
    exchange_with: TableName | None = None
    partitioning: Partitioning | None = None
    if_exists: bool = False


class NoRowEffect(_Action, frozen=True):
    """A change of a table that touches neither rows, columns nor keys.

    Attributes:
        table: The table.
        what: What is done.
        foreign_key: That of ``add foreign key``.
    """

    table: TableName
    what: str
    foreign_key: ForeignKey | None = None


class NoEffect(_Action, frozen=True):
    """A statement that concerns no table: a view, a user, a sequence."""

    what: str


Action = (
    CreateDatabase
    | DropDatabase
    | CreateTable
    | DropTable
    | TruncateTable
    | RenameTable
    | RecoverDatabase
    | RecoverTable
    | AddColumn
    | DropColumn
    | RenameColumn
    | ModifyColumn
    | SetDefault
    | AddKey
    | DropKey
    | RenameKey
    | TableComment
    | TableCharset
    | ConvertCharset
    | PartitionAction
    | NoRowEffect
    | NoEffect
)
"""Every action a statement can hold."""


class DdlStatement(msgspec.Struct, frozen=True):
    """What one statement does, in order.

    Attributes:
        understood: The whole statement was read.
        actions: What it does; empty if it was not understood.
        reason: Where and why reading stopped, if it did.
        doubt: What it does to rows that its text does not tell, if there is such a
            thing in a statement that was understood.
        tables: The tables whose rows are in doubt, if it was not understood or there is
            a `doubt`: those that it names. Empty if it names none, or none was read.
    """

    understood: bool
    actions: tuple[Action, ...] = ()
    reason: str | None = None
    doubt: str | None = None
    tables: tuple[TableName, ...] = ()

    def to_json(self) -> str:
        """Return the statement as one JSON object."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def from_json(text: str) -> "DdlStatement":
        """Read what `to_json` wrote.

        Raises:
            msgspec.ValidationError: If the text is not of that form.
        """
        return msgspec.json.decode(text, type=DdlStatement)
