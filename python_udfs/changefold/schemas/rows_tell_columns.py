"""What a statement does where rows tell all else: those of Debezium name each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from changefold.connect.types import PREFIX, UNTYPED, parse_connect_type
from changefold.mysql.ddl import (
    AddColumn,
    CreateTable,
    DropColumn,
    DropDatabase,
    DropTable,
    ModifyColumn,
    PartitionAction,
    RenameColumn,
    RenameTable,
    TruncateTable,
)
from changefold.mysql.wire_forms import CONNECT
from changefold.schemas.defaults import default_as_sent, original_default_of
from changefold.schemas.model import SchemaColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from changefold.mysql.ddl import Action, DdlStatement
    from changefold.schemas.model import DdlEvent

__all__ = ["told_columns", "with_told_default", "without_what_rows_tell"]

_SAME_IN_ANY_MODE = frozenset(
    {*("int8", "int16", "int32", "int64", "uint64"), "Decimal", "string"}
)
"""Types whose texts are those of MySQL: of times and bytes options of Debezium decide."""

_ACTS_ON_ROWS = (
    AddColumn,
    DropColumn,
    DropDatabase,
    DropTable,
    PartitionAction,
    RenameColumn,
    RenameTable,
    TruncateTable,
)


def without_what_rows_tell(statement: DdlStatement) -> DdlStatement:
    """Return a statement with what it does to rows, and which columns come and go.

    The next row tells their types and the key, in the form of its values.
    """
    actions = tuple(kept for action in statement.actions for kept in _kept(action))
    return msgspec.structs.replace(statement, actions=actions)


def _kept(action: Action) -> Iterator[Action]:
    if isinstance(action, _ACTS_ON_ROWS):
        yield action
    elif isinstance(action, ModifyColumn) and action.column.name != action.name:
        yield RenameColumn(action.table, action.name, action.column.name)
    elif isinstance(action, CreateTable) and action.or_replace:
        yield DropTable(action.table, if_exists=True, temporary=action.temporary)


def told_columns(
    statement: DdlStatement, event: DdlEvent
) -> Iterator[tuple[tuple[str, str, str], SchemaColumn]]:
    """Yield what a statement tells of columns that it adds: their name, and the column.

    The name is that of database, table and column, the latter in lower case. What rows have
    that were there before is in the form of Debezium's messages.
    """
    for action in statement.actions:
        if isinstance(action, AddColumn):
            definition = action.column
            default, accuracy = original_default_of(definition, event)
            column = SchemaColumn(
                0,
                definition.name,
                definition.type,
                original_default=default,
                original_default_accuracy=accuracy,
            )
            as_sent = default_as_sent(column, CONNECT, event.time_zone)
            name = (action.table.database, action.table.table, column.name.lower())
            yield name, msgspec.structs.replace(column, original_default=as_sent)


def with_told_default(column: SchemaColumn, told: SchemaColumn) -> SchemaColumn:
    """Return a column of a row with the default that its statement tells.

    The default in a message's schema goes first, in the form of the values: it is there for
    constants only, and where there is none, the statement tells what it leaves open.
    """
    if told.original_default_accuracy == "unknown":
        return msgspec.structs.replace(
            column, original_default=None, original_default_accuracy="unknown"
        )
    if column.original_default is None and (
        told.original_default is None or _has_same_texts(column.type)
    ):
        return msgspec.structs.replace(
            column,
            original_default=told.original_default,
            original_default_accuracy=None,
        )
    return column


def _has_same_texts(type_text: str) -> bool:
    return (
        type_text.startswith(PREFIX)
        and type_text != UNTYPED
        and parse_connect_type(type_text).base in _SAME_IN_ANY_MODE
    )
