"""What the DDLs tell that a changefeed ignores: applied upstream, not sent.

Such a statement changes no table here. But rows that come after it name its columns, and
of some types only the name: the statement knows the members of an ENUM and the scale of
a DECIMAL.
"""

from dataclasses import dataclass, field, replace

import msgspec

from changefold.connect.types import PREFIX
from changefold.mysql.ddl import (
    Action,
    AddColumn,
    CreateTable,
    DdlColumn,
    DdlStatement,
    ModifyColumn,
)
from changefold.mysql.types import parse_mysql_type
from changefold.schemas.type_matching import agree

__all__ = ["IgnoredDdls"]


@dataclass(slots=True)
class IgnoredDdls:
    """The last definition of each column that an ignored DDL has told."""

    _columns: dict[tuple[str, str], dict[str, DdlColumn]] = field(default_factory=dict)

    def learn(self, database: str, table: str, statement: DdlStatement) -> None:
        """Remember the columns of a statement.

        Args:
            database: Database that the message of the statement names.
            table: Table that it names: its name after the statement.
            statement: The statement.
        """
        for action in statement.actions:
            if isinstance(action, CreateTable):
                self._columns.pop((database, table), None)
            known = self._columns.setdefault((database, table), {})
            known |= {column.name.lower(): column for column in _columns(action)}

    def definition(
        self, database: str, table: str, name: str, type_text: str
    ) -> DdlColumn | None:
        """Return what is known of a column that rows name.

        Args:
            database: Database of the rows.
            table: Their table.
            name: Name of the column.
            type_text: Its type as the rows name it.

        Returns:
            The definition, with the parameters of the rows' type if that has some;
            ``None`` if no ignored DDL told a column of that name and type.
        """
        column = self._columns.get((database, table), {}).get(name.lower())
        if column is None or type_text.startswith(PREFIX):
            return None
        named = parse_mysql_type(type_text, declared=False)
        bare = replace(named, length=None, scale=None, elements=())
        if not agree(column.type, str(bare)):
            return None
        is_bare = named == bare
        return column if is_bare else msgspec.structs.replace(column, type=type_text)


def _columns(action: Action) -> tuple[DdlColumn, ...]:
    match action:
        case CreateTable():
            return action.columns
        case AddColumn() | ModifyColumn():
            return (action.column,)
        case _:
            return ()
