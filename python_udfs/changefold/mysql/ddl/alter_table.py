"""ALTER TABLE, clause by clause."""

from typing import Final

from changefold.mysql.ddl.actions import (
    Action,
    AddColumn,
    AddKey,
    ConvertCharset,
    DdlColumn,
    DdlKey,
    DropColumn,
    DropKey,
    ForeignKey,
    ModifyColumn,
    NoEffect,
    NoRowEffect,
    PartitionAction,
    RenameColumn,
    RenameKey,
    RenameTable,
    SetDefault,
    TableCharset,
    TableComment,
    TableName,
)
from changefold.mysql.ddl.create_table import skip_period
from changefold.mysql.ddl.definitions import (
    is_key,
    read_charset,
    read_collation,
    read_column,
    read_key,
    read_value,
)
from changefold.mysql.ddl.partitions import (
    read_partition_definitions,
    read_partitioning,
)
from changefold.mysql.ddl.reader import (
    Reader,
    skip_if_exists,
    skip_if_not_exists,
    skip_lock_wait,
    skip_to_end,
)
from changefold.mysql.ddl.without_effect import read_object_without_rows


def read_alter(reader: Reader) -> list[Action]:
    """Read what follows ALTER."""
    if reader.accept_any("DATABASE", "SCHEMA") is not None:
        words = ("CHARACTER", "CHARSET", "COLLATE")
        ahead = range(len(reader.tokens) - reader.index)
        is_charset = any(reader.is_word(word, n) for word in words for n in ahead)
        skip_to_end(reader)
        return [NoEffect("alter database" if is_charset else "alter database option")]
    start = reader.index
    reader.accept_any("ONLINE", "OFFLINE")
    is_lossy = reader.accept("IGNORE")
    if not reader.accept("TABLE"):
        reader.index = start
        actions = read_object_without_rows(reader, "alter")
        if actions is None:
            raise reader.fail("`TABLE`, `DATABASE` or another known object")
        return actions
    skip_if_exists(reader)
    table = reader.table_name()
    skip_lock_wait(reader)
    actions = _AlterTable(reader, table).actions
    if is_lossy and any(_is_unique(action) for action in actions):
        reader.doubt = "IGNORE removes the rows that a new unique key does not allow"
    return actions


def _is_unique(action: Action) -> bool:
    """Tell whether a clause makes a key that rows may contradict."""
    if isinstance(action, AddColumn | ModifyColumn):
        return action.column.is_unique or action.column.is_primary_key
    return isinstance(action, AddKey) and action.key.kind != "index"


_PARTITION_UPKEEP: Final = ("ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "REPAIR")


# Options that hold one value and touch no row.
_TABLE_OPTIONS: Final = (
    "ALGORITHM",
    "AUTOEXTEND_SIZE",
    "AUTO_ID_CACHE",
    "AUTO_INCREMENT",
    "AUTO_RANDOM_BASE",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "COMPRESSION",
    "CONNECTION",
    "DELAY_KEY_WRITE",
    "ENCRYPTED",
    "ENCRYPTION",
    "ENCRYPTION_KEY_ID",
    "ENGINE",
    "ENGINE_ATTRIBUTE",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "LOCK",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "PAGE_CHECKSUM",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "PASSWORD",
    "PRE_SPLIT_REGIONS",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SHARD_ROW_ID_BITS",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLESPACE",
    "TABLE_CHECKSUM",
    "TRANSACTIONAL",
)


# Clauses that touch no row and are skipped up to the next comma.
_SKIPPED_CLAUSES: Final = (
    ("ADD", "PERIOD", "FOR"),
    ("ADD", "STATS_EXTENDED"),
    ("ADD", "SYSTEM", "VERSIONING"),
    ("DATA", "DIRECTORY"),
    ("DROP", "PERIOD", "FOR"),
    ("DROP", "STATS_EXTENDED"),
    ("DROP", "SYSTEM", "VERSIONING"),
    ("ATTRIBUTES",),
    ("CACHE",),
    ("COMPACT",),
    ("DISABLE", "KEYS"),
    ("ENABLE", "KEYS"),
    ("FORCE",),
    ("INDEX", "DIRECTORY"),
    ("NOCACHE",),
    ("PLACEMENT", "POLICY"),
    ("REMOVE", "TTL"),
    ("SECONDARY_LOAD",),
    ("SECONDARY_UNLOAD",),
    ("SET", "HYPO"),
    ("SET", "TIFLASH"),
    ("STATS_BUCKETS",),
    ("STATS_TOPN",),
    ("TTL",),
    ("TTL_ENABLE",),
    ("TTL_JOB_INTERVAL",),
    ("WITH", "VALIDATION"),
    ("WITHOUT", "VALIDATION"),
)


class _AlterTable:
    """Reads the clauses of one ALTER TABLE into `actions`."""

    def __init__(self, reader: Reader, table: TableName) -> None:
        self.reader = reader
        self.table = table
        self.actions: list[Action] = []
        while not reader.at_end:
            needs_comma = self._clause()
            if reader.accept(","):
                if reader.at_end:
                    raise reader.fail("a clause of ALTER TABLE")
            elif needs_comma and not reader.at_end:
                raise reader.fail("`,`")

    def _clause(self) -> bool:
        """Read one clause; False if the next may follow without a comma."""
        reader = self.reader
        if reader.is_any("PARTITION", "REMOVE") or self._is_partition_clause():
            if self._partition_clause():
                return True
        elif self._option():
            return False
        if self._skipped():
            return True
        if not reader.is_word("RENAME") and reader.equals_value():
            self._none("option")  # of an engine
            return False
        self._table_clause()
        return True

    def _table_clause(self) -> None:
        reader = self.reader
        if reader.accept("ADD"):
            self._add()
        elif reader.accept("DROP"):
            self._drop()
        elif reader.accept("MODIFY"):
            reader.accept("COLUMN")
            if_exists = skip_if_exists(reader)
            column = read_column(reader)
            self._modify(column.name, column, if_exists=if_exists)
        elif reader.accept("CHANGE"):
            reader.accept("COLUMN")
            if_exists = skip_if_exists(reader)
            name = reader.column_name()
            self._modify(name, read_column(reader), if_exists=if_exists)
        elif reader.accept("ALTER"):
            self._alter_column()
        elif reader.accept("RENAME"):
            self._rename()
        elif reader.accept("CONVERT", "TO"):
            self._convert()
        elif reader.accept("ORDER", "BY"):
            skip_to_end(reader)
            self._none("order by")
        else:
            raise reader.fail("a clause of ALTER TABLE")

    def _none(self, what: str) -> None:
        self.actions.append(NoRowEffect(self.table, what))

    def _skipped(self) -> bool:
        for words in _SKIPPED_CLAUSES:
            if self.reader.is_words(*words):
                self.reader.skip_clause()
                if words[0] == "SET":  # LOCATION LABELS 'a', 'b' ends the statement
                    skip_to_end(self.reader)
                self._none(" ".join(words).lower())
                return True
        return False

    # Columns and keys

    def _position(self) -> tuple[bool, str | None]:
        if self.reader.accept("FIRST"):
            return True, None
        if self.reader.accept("AFTER"):
            return False, self.reader.column_name()
        return False, None

    def _add(self) -> None:
        reader = self.reader
        if is_key(reader):
            key = read_key(reader)
            if isinstance(key, DdlKey):
                self.actions.append(AddKey(self.table, key))
            elif isinstance(key, ForeignKey):
                added = NoRowEffect(self.table, "add foreign key", key)
                self.actions.append(added)
            else:
                self._none(f"add {key}")
            return
        reader.accept("COLUMN")
        if_not_exists = skip_if_not_exists(reader)
        if not reader.accept("("):
            self._add_column(if_not_exists=if_not_exists)
            return
        while True:
            if is_key(reader):
                self._add()
            elif not skip_period(reader):
                self._add_column(if_not_exists=if_not_exists)
            if not reader.accept(","):
                break
        reader.require(")")

    def _add_column(self, *, if_not_exists: bool) -> None:
        column = read_column(self.reader)
        first, after = self._position()
        self.actions.append(
            AddColumn(
                self.table,
                column,
                first=first,
                after=after,
                if_not_exists=if_not_exists,
            )
        )

    def _modify(self, name: str, column: DdlColumn, *, if_exists: bool) -> None:
        first, after = self._position()
        self.actions.append(
            ModifyColumn(
                self.table, name, column, first=first, after=after, if_exists=if_exists
            )
        )

    def _drop(self) -> None:
        reader = self.reader
        if reader.accept("PRIMARY", "KEY"):
            self.actions.append(DropKey(self.table, "PRIMARY"))
        elif (word := reader.accept_any("FOREIGN", "CHECK")) is not None:
            what = "check constraint"
            if word == "FOREIGN":
                reader.require("KEY")
                what = "foreign key"
            skip_if_exists(reader)
            reader.column_name()  # of the table, a point and its own
            self._none(f"drop {what}")
        elif reader.accept_any("INDEX", "KEY", "CONSTRAINT") is not None:
            skip_if_exists(reader)
            self.actions.append(DropKey(self.table, reader.name()))
        else:
            reader.accept("COLUMN")
            if_exists = skip_if_exists(reader)
            name = reader.column_name()
            reader.accept_any("RESTRICT", "CASCADE")
            self.actions.append(DropColumn(self.table, name, if_exists=if_exists))

    def _alter_column(self) -> None:
        reader = self.reader
        kinds = ("INDEX", "KEY", "CHECK", "CONSTRAINT")
        if (word := reader.accept_any(*kinds)) is not None:
            skip_if_exists(reader)
            reader.name()
            reader.skip_clause()
            is_index = word in {"INDEX", "KEY"}
            self._none("alter index visibility" if is_index else "alter constraint")
            return
        reader.accept("COLUMN")
        skip_if_exists(reader)
        name = reader.column_name()
        if reader.accept("SET", "DEFAULT"):
            self.actions.append(SetDefault(self.table, name, read_value(reader)))
        elif reader.accept("DROP", "DEFAULT"):
            self.actions.append(SetDefault(self.table, name, None))
        elif reader.accept("SET", "VISIBLE") or reader.accept("SET", "INVISIBLE"):
            self._none("alter column visibility")
        else:
            raise reader.fail("`SET DEFAULT` or `DROP DEFAULT`")

    def _rename(self) -> None:
        reader = self.reader
        if reader.accept("COLUMN"):
            skip_if_exists(reader)
            name = reader.column_name()
            reader.require("TO")
            target = reader.column_name()
            self.actions.append(RenameColumn(self.table, name, target))
        elif reader.accept_any("INDEX", "KEY") is not None:
            skip_if_exists(reader)
            name = reader.name()
            reader.require("TO")
            self.actions.append(RenameKey(self.table, name, reader.name()))
        else:
            reader.accept_any("TO", "AS", "=")
            self.actions.append(RenameTable(self.table, reader.table_name()))

    # Options of the table

    def _option(self) -> bool:
        """Read one option of the table; False if there is none."""
        reader = self.reader
        if (charset := read_charset(reader)) is not None:
            collation = read_collation(reader)
            self.actions.append(TableCharset(self.table, charset, collation))
        elif (collation := read_collation(reader)) is not None:
            self.actions.append(TableCharset(self.table, None, collation))
        elif reader.accept("COMMENT"):
            reader.accept("=")
            self.actions.append(TableComment(self.table, reader.string()))
        elif (option := reader.accept_any(*_TABLE_OPTIONS)) is not None:
            reader.accept("=")
            reader.take()
            self._none(option.lower())
        elif reader.accept("WITH", "SYSTEM", "VERSIONING"):
            self._none("with system versioning")
        elif reader.is_word("UNION"):
            raise reader.fail("no UNION of tables")
        else:
            return False
        return True

    def _convert(self) -> None:
        reader = self.reader
        charset = read_charset(reader)
        if charset is None:
            raise reader.fail("`CHARACTER SET`")
        collation = read_collation(reader)
        # DEFAULT means the character set of the database, which is not known here.
        self.actions.append(
            ConvertCharset(
                self.table, None if charset == "default" else charset, collation
            )
        )

    # Partitions

    def _is_partition_clause(self) -> bool:
        return self.reader.is_word("PARTITION", 1)

    def _partition(self, action: PartitionAction) -> None:
        self.actions.append(action)

    def _partition_clause(self) -> bool:
        reader, table = self.reader, self.table
        if reader.accept("PARTITION", "BY"):
            by = read_partitioning(reader)
            self._partition(PartitionAction(table, "partition_by", partitioning=by))
        elif reader.accept("REMOVE", "PARTITIONING"):
            self._partition(PartitionAction(table, "remove"))
        elif reader.accept("TRUNCATE", "PARTITION"):
            names, is_all = self._partition_names()
            self._partition(
                PartitionAction(table, "truncate", names, all_partitions=is_all)
            )
        elif reader.accept("DROP", "PARTITION"):
            if_exists = skip_if_exists(reader)
            names, _ = self._partition_names()
            self._partition(PartitionAction(table, "drop", names, if_exists=if_exists))
        elif reader.accept("ADD", "PARTITION"):
            self._add_partition()
        elif reader.accept("COALESCE", "PARTITION"):
            _local(reader)
            count = reader.number()
            self._partition(PartitionAction(table, "coalesce", count=count))
        elif reader.accept("REORGANIZE", "PARTITION"):
            self._reorganize()
        elif reader.accept("EXCHANGE", "PARTITION"):
            self._exchange()
        elif reader.accept_any(*_PARTITION_UPKEEP) is not None or (
            reader.is_word("PARTITION")
        ):
            # Also PARTITION p ATTRIBUTES = ..., PARTITION p PLACEMENT POLICY = ...
            skip_to_end(reader)
            self._none("partition upkeep")
        else:
            return False
        return True

    def _partition_names(self) -> tuple[tuple[str, ...], bool]:
        _local(self.reader)
        if self.reader.accept("ALL"):
            return (), True
        return self.reader.names(), False

    def _add_partition(self) -> None:
        reader = self.reader
        skip_if_not_exists(reader)
        _local(reader)
        if reader.accept("PARTITIONS"):
            count = reader.number()
            self._partition(PartitionAction(self.table, "add", count=count))
            return
        partitions = read_partition_definitions(reader)
        self._partition(PartitionAction(self.table, "add", partitions=partitions))

    def _reorganize(self) -> None:
        reader = self.reader
        _local(reader)
        if reader.at_end:
            self._none("reorganize partition")  # by hash, to the same number
            return
        names = reader.names()
        reader.require("INTO")
        self._partition(
            PartitionAction(
                self.table,
                "reorganize",
                names,
                partitions=read_partition_definitions(reader),
            )
        )

    def _exchange(self) -> None:
        reader = self.reader
        name = reader.name()
        reader.require("WITH", "TABLE")
        other = reader.table_name()
        if reader.accept_any("WITH", "WITHOUT") is not None:
            reader.require("VALIDATION")
        self._partition(
            PartitionAction(self.table, "exchange", (name,), exchange_with=other)
        )


def _local(reader: Reader) -> None:
    """Skip NO_WRITE_TO_BINLOG and its synonym LOCAL."""
    reader.accept_any("NO_WRITE_TO_BINLOG", "LOCAL")
