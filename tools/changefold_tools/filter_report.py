"""Shows what the filter of a TiCDC changefeed does with tables and statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table

from changefold.changefeed.filter import load_changefeed_filter
from changefold.mysql.ddl import (
    CreateDatabase,
    DropDatabase,
    RenameTable,
    TableName,
    parse_ddl,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rich.console import Console

    from changefold.changefeed.filter import ChangefeedFilter

_OPERATIONS: Final = {"c": "insert", "u": "update", "d": "delete"}

Line = tuple[str, str, str, str]
"""Table, event, what becomes of it, the rule that says so."""


def print_filter(
    path: Path, tables: Iterable[str], statements: Iterable[str], console: Console
) -> None:
    """Print a line for each kind of change of each table, and for each statement.

    Args:
        path: Configuration file of the changefeed.
        tables: ``database.table`` of each.
        statements: DDLs that are run in the database of the first table.
        console: Where to print.

    Raises:
        FilterError: If the file can not be applied; it names the line.
        ValueError: If a table has no database, or a statement is not understood.
    """
    changefeed = load_changefeed_filter(path)
    names = [_split(name) for name in tables]
    shown = Table("table", "event", "outcome", "by")
    for database, table in names:
        for line in _changes(changefeed, database, table):
            shown.add_row(*line)
    for sql in statements:
        for line in _statement(changefeed, sql, names[0][0] if names else ""):
            shown.add_row(*line)
    console.print(shown)


def _split(name: str) -> tuple[str, str]:
    database, point, table = name.partition(".")
    if not point:
        raise ValueError(f"Expected `database.table`, got `{name}`")
    return database, table


def _changes(changefeed: ChangefeedFilter, database: str, table: str) -> Iterator[Line]:
    name = f"{database}.{table}"
    for op, event in _OPERATIONS.items():
        rule = changefeed.dml_verdict(database, table, op)
        if rule is not None:
            yield name, event, "not sent", rule
            continue
        decision = changefeed.tables.decide(database, table)
        yield name, event, "sent", decision.rule
        for only in changefeed.update_only_columns(database, table):
            if op == "u":
                columns = ", ".join(only.columns)
                yield name, event, f"not sent if it only changes {columns}", only.rule
        for value in changefeed.value_rules(database, table):
            if value.op == op:
                row = "new" if value.image == "after" else "old"
                condition = f"not sent if {value.expression} ({row} row)"
                yield name, event, condition, value.rule


_OUTCOMES: Final = {
    "send": "sent",
    "ignore": "not sent, but rows have the new shape",
    "discard": "not sent, and its table not followed",
    "stop": "the changefeed stops",
}


def _statement(changefeed: ChangefeedFilter, sql: str, database: str) -> Iterator[Line]:
    """Yield a line for each table: TiCDC takes such a statement apart."""
    statement = parse_ddl(sql, database)
    if not statement.understood:
        raise ValueError(f"`{sql}` was not understood: {statement.reason}")
    seen: set[tuple[str, str]] = set()
    for action in statement.actions:
        old = None
        if isinstance(action, CreateDatabase | DropDatabase):
            name = action.database, ""
        elif isinstance(action, RenameTable):
            name = action.target.database, action.target.table
            old = action.table.database, action.table.table
        else:
            named = getattr(action, "table", TableName(database, ""))
            name = named.database, named.table
        if name in seen:
            continue
        seen.add(name)
        verdict, rule = changefeed.ddl_verdict(statement, *name, sql=sql, old=old)
        yield ".".join(filter(None, old or name)), sql, _OUTCOMES[verdict], rule
