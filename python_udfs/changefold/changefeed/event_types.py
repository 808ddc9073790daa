"""Event types: the names by which TiCDC's event filter knows row changes and DDL.

Sources: TiCDC's documentation "Changefeed Log Filters" and the code of TiCDC after v8.5
for the names and for what ``alter table`` covers; the code of TiDB v8.5 for which job,
and so which name, a statement becomes.
"""

from collections.abc import Iterable
from typing import Final

from changefold.mysql.ddl import (
    Action,
    AddColumn,
    AddKey,
    ConvertCharset,
    CreateDatabase,
    CreateTable,
    DdlStatement,
    DropColumn,
    DropDatabase,
    DropKey,
    DropTable,
    ModifyColumn,
    NoEffect,
    NoRowEffect,
    PartitionAction,
    RecoverDatabase,
    RecoverTable,
    RenameColumn,
    RenameKey,
    RenameTable,
    SetDefault,
    TableCharset,
    TableComment,
    TruncateTable,
)

__all__ = [
    "ALTER_TABLE_TYPES",
    "DATABASE_TYPES",
    "DDL_TYPES",
    "DML_TYPES",
    "EVENT_TYPES",
    "covering_name",
    "event_type_of",
]

DML_TYPES: Final = ("insert", "update", "delete")
"""Row changes: no old row is an insert, no new row a delete, both are an update."""

DATABASE_TYPES: Final = (
    "create database",
    "drop database",
    "modify schema charset and collate",
)
"""DDL of a whole database."""

ALTER_TABLE_TYPES: Final = (
    "rename table",
    "modify table comment",
    "modify table charset and collate",
    "add table partition",
    "drop table partition",
    "truncate table partition",
    "exchange table partition",
    "reorganize table partition",
    "alter table partitioning",
    "remove table partitioning",
    "add column",
    "drop column",
    "modify column",
    "set default value",
    "create index",
    "drop index",
    "rename index",
    "alter index visibility",
    "add primary key",
    "drop primary key",
    "rebase auto id",
    "alter ttl info",
    "alter ttl remove",
    "multi schema change",
)
"""DDL that the name ``alter table`` covers."""

DDL_TYPES: Final = (
    *DATABASE_TYPES,
    "create table",
    "drop table",
    "truncate table",
    "recover table",
    "create view",
    "drop view",
    "add foreign key",
    "drop foreign key",
    *ALTER_TABLE_TYPES,
)
"""DDL that TiCDC replicates; it discards all other."""

_SYNONYMS: Final = {
    "create schema": "create database",
    "drop schema": "drop database",
}

EVENT_TYPES: Final = (
    "all dml",
    "all ddl",
    *DML_TYPES,
    "alter table",
    *_SYNONYMS,
    *DDL_TYPES,
)
"""Every name that ``ignore-event`` may hold; compared as written, in lower case."""


def covering_name(event_type: str, names: Iterable[str]) -> str | None:
    """Return the first of some names of ``ignore-event`` that covers an event.

    Args:
        event_type: One of `DML_TYPES` or `DDL_TYPES`.
        names: Names out of `EVENT_TYPES`.

    Returns:
        That name; ``None`` if none covers it.
    """
    covering = {event_type, "all dml" if event_type in DML_TYPES else "all ddl"}
    if event_type in ALTER_TABLE_TYPES:
        covering.add("alter table")
    for name in names:
        if _SYNONYMS.get(name, name) in covering:
            return name
    return None


# --- Statements -------------------------------------------------------------------

_BY_ACTION: Final[dict[type[Action], str]] = {
    CreateDatabase: "create database",
    DropDatabase: "drop database",
    CreateTable: "create table",
    DropTable: "drop table",
    TruncateTable: "truncate table",
    RenameTable: "rename table",
    RecoverTable: "recover table",
    AddColumn: "add column",
    DropColumn: "drop column",
    RenameColumn: "modify column",
    ModifyColumn: "modify column",
    SetDefault: "set default value",
    RenameKey: "rename index",
    TableComment: "modify table comment",
    TableCharset: "modify table charset and collate",
    ConvertCharset: "modify table charset and collate",
}

_BY_EFFECT: Final = {
    "alter database": "modify schema charset and collate",
    "create view": "create view",
    "drop view": "drop view",
    "add foreign key": "add foreign key",
    "drop foreign key": "drop foreign key",
    "alter index visibility": "alter index visibility",
    "auto_increment": "rebase auto id",
    "reorganize partition": "reorganize table partition",
    "remove ttl": "alter ttl remove",
    "ttl": "alter ttl info",
    "ttl_enable": "alter ttl info",
    "ttl_job_interval": "alter ttl info",
}

_BY_PARTITION: Final = {
    "add": "add table partition",
    "drop": "drop table partition",
    "truncate": "truncate table partition",
    "exchange": "exchange table partition",
    "reorganize": "reorganize table partition",
    "coalesce": "reorganize table partition",
    "partition_by": "alter table partitioning",
    "remove": "remove table partitioning",
}

_OPTIONS: Final = {
    None,  # ENGINE and the like
    "modify table comment",
    "modify table charset and collate",
    "rebase auto id",
    "alter ttl info",
}
"""What options of a table become; several may be one clause of ALTER TABLE."""

_IGNORED_CLAUSES: Final = frozenset({"algorithm", "lock"})


def event_type_of(statement: DdlStatement) -> str | None:
    """Return the event type of a statement.

    Args:
        statement: A statement that was understood (`ddl.parse_ddl`).

    Returns:
        One of `DDL_TYPES`: ``multi schema change`` for several clauses of one ALTER
        TABLE; ``None`` for what TiCDC does not replicate.

    Raises:
        ValueError: If the statement was not understood.
    """
    if not statement.understood:
        raise ValueError(
            f"Expected a statement that is understood, got one that is not:"
            f" {statement.reason}"
        )
    types = [
        _type_of(action)
        for action in statement.actions
        if not (isinstance(action, NoRowEffect) and action.what in _IGNORED_CLAUSES)
    ]
    known = [name for name in types if name is not None]
    if not known:
        return None
    # One of several tables of DROP TABLE and RENAME TABLE is a statement of its own.
    is_one_job = len(types) == 1 or set(types) in ({"drop table"}, {"rename table"})
    is_one_option = len(known) == 1 and _OPTIONS.issuperset(types)
    return known[0] if is_one_job or is_one_option else "multi schema change"


def _type_of(action: Action) -> str | None:
    if isinstance(action, NoEffect | NoRowEffect):
        return _BY_EFFECT.get(action.what)
    if isinstance(action, RecoverDatabase):
        return None
    if isinstance(action, PartitionAction):
        return _partition_type(action)
    if isinstance(action, AddKey):
        return "add primary key" if action.key.kind == "primary" else "create index"
    if isinstance(action, DropKey):
        return "drop primary key" if action.name == "PRIMARY" else "drop index"
    return _BY_ACTION[type(action)]


def _partition_type(action: PartitionAction) -> str:
    # Of HASH and KEY, whose partitions have no bounds, TiDB distributes all rows anew.
    is_by_hash = action.count is not None or all(
        partition.less_than is None and partition.values_in is None
        for partition in action.partitions
    )
    if action.operation == "add" and is_by_hash:
        return "reorganize table partition"
    return _BY_PARTITION[action.operation]
