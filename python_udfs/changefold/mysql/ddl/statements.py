"""Read one DDL statement of MySQL or TiDB into typed actions."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from changefold.mysql.ddl.actions import (
    Action,
    AddKey,
    CreateDatabase,
    DdlStatement,
    DropDatabase,
    DropKey,
    DropTable,
    NoEffect,
    RecoverDatabase,
    RecoverTable,
    RenameTable,
    TableName,
    TruncateTable,
)
from changefold.mysql.ddl.alter_table import read_alter
from changefold.mysql.ddl.create_table import read_create_table
from changefold.mysql.ddl.definitions import read_key_parts, skip_index_type
from changefold.mysql.ddl.reader import (
    END,
    NotUnderstoodError,
    Reader,
    skip_if_exists,
    skip_if_not_exists,
    skip_lock_wait,
    skip_to_end,
)
from changefold.mysql.ddl.without_effect import (
    NO_EFFECT_STATEMENTS,
    read_changed_table,
    read_object_without_rows,
    skip_set_statement,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@lru_cache(maxsize=1024)
def parse_ddl(sql: str, database: str) -> DdlStatement:
    """Read one DDL statement.

    Args:
        sql: The statement as the message holds it.
        database: Database that names without one belong to. In a message of TiCDC it
            is the database *after* the statement; `TableName.is_qualified` tells
            whether a name relied on it.

    Returns:
        The actions in order. A statement that is not understood comes back with
        ``understood=False`` and no action; this function does not raise.
    """
    try:
        reader = Reader(sql, database)
    except NotUnderstoodError as error:
        tables = _tables_in_bare_text(sql, database)
        return DdlStatement(understood=False, reason=str(error), tables=tables)
    try:
        actions = tuple(_statement(reader))
    except NotUnderstoodError as error:
        tables = tuple(dict.fromkeys(reader.tables))
        return DdlStatement(understood=False, reason=str(error), tables=tables)
    if reader.doubt is None:
        return DdlStatement(understood=True, actions=actions)
    tables = tuple(dict.fromkeys(reader.tables))
    return DdlStatement(
        understood=True, actions=actions, doubt=reader.doubt, tables=tables
    )


_BARE_TABLE: Final = re.compile(
    r"\bTABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
    r"(?:(`[^`]+`|[\w$]+)?\s*\.\s*)?(`[^`]+`|[\w$]+)",
    re.IGNORECASE,
)


def _tables_in_bare_text(sql: str, database: str) -> tuple[TableName, ...]:
    """Return the table that a text names which is no sequence of tokens."""
    found = _BARE_TABLE.search(sql)
    if found is None:
        return ()
    table = found[2].strip("`")
    if found[1] is None:
        return (TableName(database, table),)
    return (TableName(found[1].strip("`"), table, is_qualified=True),)


def _statement(reader: Reader) -> list[Action]:
    """Read one whole statement."""
    readers: dict[str, Callable[[Reader], list[Action]]] = {
        "CREATE": _create,
        "DROP": _drop,
        "ALTER": read_alter,
        "RENAME": _rename,
        "TRUNCATE": _truncate,
        "RECOVER": _recover,
        "FLASHBACK": _recover,
    }
    skip_set_statement(reader)
    for word, read in readers.items():
        if reader.accept(word):
            actions = read(reader)
            if not reader.at_end:
                raise reader.fail(END)
            return actions
    if (word_ := reader.accept_any(*NO_EFFECT_STATEMENTS)) is not None:
        reader.index = len(reader.tokens)
        return [NoEffect(word_.lower())]
    error = reader.fail("a DDL statement")
    read_changed_table(reader)
    raise error


def _create(reader: Reader) -> list[Action]:
    or_replace = reader.accept("OR", "REPLACE")
    if reader.accept_any("DATABASE", "SCHEMA") is not None:
        if_not_exists = skip_if_not_exists(reader)
        database = reader.name()
        skip_to_end(reader)
        dropped: list[Action] = [DropDatabase(database, if_exists=True)]
        created = CreateDatabase(database, if_not_exists=if_not_exists)
        return [*(dropped if or_replace else []), created]
    if reader.accept("GLOBAL"):
        reader.require("TEMPORARY")
        reader.index -= 1
    temporary = reader.accept("TEMPORARY")
    if reader.accept("TABLE"):
        return [read_create_table(reader, or_replace=or_replace, temporary=temporary)]
    start = reader.index
    reader.accept_any("ONLINE", "OFFLINE")
    kind = reader.accept_any("UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR")
    if reader.accept("INDEX"):
        skip_if_not_exists(reader)
        name = reader.name()
        skip_index_type(reader)
        reader.require("ON")
        table = reader.table_name()
        skip_lock_wait(reader)
        key_kind: Literal["unique", "index"] = "unique" if kind == "UNIQUE" else "index"
        key = read_key_parts(reader, key_kind, name)
        skip_to_end(reader)
        return [AddKey(table, key)]
    reader.index = start
    actions = read_object_without_rows(reader, "create")
    if actions is None:
        raise reader.fail("`TABLE`, `INDEX`, `DATABASE` or another known object")
    return actions


def _drop(reader: Reader) -> list[Action]:
    if reader.accept_any("DATABASE", "SCHEMA") is not None:
        if_exists = skip_if_exists(reader)
        return [DropDatabase(reader.name(), if_exists=if_exists)]
    start = reader.index
    reader.accept("GLOBAL")
    temporary = reader.accept("TEMPORARY")
    if reader.accept_any("TABLE", "TABLES") is not None:
        if_exists = skip_if_exists(reader)
        tables = reader.listed(reader.table_name)
        skip_lock_wait(reader)
        reader.accept_any("RESTRICT", "CASCADE")
        return [DropTable(t, if_exists=if_exists, temporary=temporary) for t in tables]
    reader.index = start
    reader.accept_any("ONLINE", "OFFLINE")
    reader.accept("HYPO")
    if reader.accept("INDEX"):
        skip_if_exists(reader)
        name = reader.name()
        reader.require("ON")
        table = reader.table_name()
        skip_to_end(reader)  # WAIT, ALGORITHM and LOCK
        return [DropKey(table, name)]
    reader.index = start
    actions = read_object_without_rows(reader, "drop")
    if actions is None:
        raise reader.fail("`TABLE`, `INDEX`, `DATABASE` or another known object")
    return actions


def _rename(reader: Reader) -> list[Action]:
    if reader.accept("USER"):
        skip_to_end(reader)
        return [NoEffect("rename user")]
    if reader.accept_any("TABLE", "TABLES") is None:
        raise reader.fail("`TABLE`")

    def pair() -> RenameTable:
        skip_if_exists(reader)
        source = reader.table_name()
        skip_lock_wait(reader)
        reader.require("TO")
        return RenameTable(source, reader.table_name())

    return list(reader.listed(pair))


def _truncate(reader: Reader) -> list[Action]:
    reader.accept("TABLE")
    table = reader.table_name()
    skip_lock_wait(reader)
    if reader.accept_any("DROP", "REUSE") is not None:
        reader.require("STORAGE")
    return [TruncateTable(table)]


def _recover(reader: Reader) -> list[Action]:
    if reader.accept_any("DATABASE", "SCHEMA") is not None:
        database = reader.name()
        new_name = reader.name() if reader.accept("TO") else database
        return [RecoverDatabase(database, new_name)]
    reader.require("TABLE")
    if reader.is_words("BY", "JOB"):
        raise reader.fail("the name of a table")
    table = reader.table_name()
    target = reader.table_name() if reader.accept("TO") else table
    return [RecoverTable(table, target)]
