"""What a fold of DDL events returns: versions of tables, columns, and what happened to rows."""

from typing import Final, Literal

import msgspec

from changefold.mysql.ddl import DdlStatement, Partitioning, SqlValue
from changefold.schemas.observed import DescribedSchema

RowEffect = Literal["none", "close_all", "reshape", "rekey", "partition", "unknown"]
"""What a DDL does to rows, the strongest if it does several things.

``none``: nothing; ``close_all``: every row ends; ``reshape``: images change, see
`TableVersion.image_changes`; ``rekey``: rows have another key; ``partition``: rows that
no event names end or move, see `TableVersion.partition_changes`; ``unknown``: the
statement was not understood, or rows came that no event names.
"""


STRENGTH: Final[tuple[RowEffect, ...]] = (
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
        is_of_tidb: Whether the source compares text byte by byte, where no statement names
            a collation. MySQL's and MariaDB's defaults do not.
        committed_ms: Epoch milliseconds of the statement, if the message tells.
        rows_tell_columns: The rows behind it name all columns of their table with types.
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
    is_of_tidb: bool = True
    committed_ms: int | None = None
    rows_tell_columns: bool = False


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
        charset: Character set of a text, if the column or its table names one.
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
        to_charset: For ``retyped``: the character set after, where it may lack
            characters of the one before (`narrower_charset`).
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
    to_charset: str | None = None


SortedAs = Literal["integer", "time", "text"]
"""How the texts of a column sort as its values do: integers by 20 digits, behind 10 ** 19
was added; times with all parts and digits; text byte by byte."""


class PartitionColumn(msgspec.Struct, frozen=True):
    """A column by which a table is partitioned.

    Attributes:
        name: Its name. MySQL and TiDB let nobody rename such a column.
        sorted_as: Which texts sort as its values do.
        default_value: What rows older than the column show.
    """

    name: str
    sorted_as: SortedAs
    default_value: str | None = None


class AffectedPartition(msgspec.Struct, frozen=True):
    """A partition whose rows ended or moved, with the rows it held.

    Bounds are texts that sort as `PartitionColumn.sorted_as` says, one per column; NULL
    is ``None``, and below all others.

    Attributes:
        name: Its name.
        at_least: Lower bound of RANGE (inclusive); ``None`` for none.
        less_than: Upper bound of RANGE (exclusive).
        values_in: Values of LIST.
    """

    name: str
    at_least: tuple[str | None, ...] | None = None
    less_than: tuple[str | None, ...] | None = None
    values_in: tuple[tuple[str | None, ...], ...] | None = None


class PartitionChange(msgspec.Struct, frozen=True):
    """Rows that a DDL on partitions ended or moved.

    Attributes:
        operation: ``truncate`` and ``drop`` end rows; ``exchange`` swaps the rows of
            the partitions with all rows of the other table.
        columns: By which the table is partitioned.
        partitions: Partitions concerned, those of the partitioned table in both
            versions of an exchange.
        is_partitioned_side: False for the other table of an exchange.
        counterpart_uid: The other table of an exchange.
    """

    operation: Literal["truncate", "drop", "exchange"]
    columns: tuple[PartitionColumn, ...]
    partitions: tuple[AffectedPartition, ...]
    is_partitioned_side: bool = True
    counterpart_uid: str | None = None


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
