"""Schemas that messages describe: TiCDC's Simple protocol whole, Canal-JSON in part."""

from typing import Final

import msgspec

from changefold.mysql.types import (
    INTEGER_BITS,
    MySqlType,
    parse_mysql_type,
    quote_mysql_string,
)

__all__ = [
    "DescribedColumn",
    "DescribedIndex",
    "DescribedSchema",
    "SeenSchema",
    "SeenVersion",
]

_WITH_LENGTH: Final = frozenset({"char", "varchar", "binary", "varbinary", "bit"})
_WITH_FRACTION: Final = frozenset({"datetime", "timestamp", "time"})
# TiDB flags BIT and others as unsigned too.
_WITH_SIGN: Final = frozenset({*INTEGER_BITS, "decimal", "float", "double"})


class DescribedColumn(msgspec.Struct, frozen=True):
    """A column.

    Attributes:
        name: Its name.
        type: Base name of its type, without parameters.
        length: Characters, bytes, bits or digits.
        decimal: Digits behind the point, or behind the second.
        elements: Members of ENUM and SET.
        unsigned: Whether the number has no sign.
        nullable: Whether it takes NULL.
        charset: Its character set.
        collate: Its collation.
    """

    name: str
    type: str
    length: int | None = None
    decimal: int | None = None
    elements: tuple[str, ...] | None = None
    unsigned: bool | None = None
    nullable: bool = True
    charset: str | None = None
    collate: str | None = None

    @property
    def mysql_type(self) -> MySqlType:
        """The whole type.

        Raises:
            ValueError: If it is no type, as of the columns of a view.
        """
        text = self.type
        if self.elements:
            text += "(" + ",".join(map(quote_mysql_string, self.elements)) + ")"
        elif text == "decimal":
            text += f"({self.length or 10},{self.decimal or 0})"
        elif text in _WITH_LENGTH and self.length is not None:
            text += f"({self.length})"
        elif text in _WITH_FRACTION and self.decimal:
            text += f"({self.decimal})"
        is_unsigned = self.unsigned and self.type in _WITH_SIGN
        return parse_mysql_type(text + (" unsigned" if is_unsigned else ""))


class DescribedIndex(msgspec.Struct, frozen=True):
    """An index.

    Attributes:
        name: Its name.
        columns: Names of its columns, in order.
        unique: Whether two rows can not have the same values.
        primary: Whether it is the primary key.
    """

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    primary: bool = False


class DescribedSchema(msgspec.Struct, frozen=True):
    """The schema of a table at one version.

    Attributes:
        database: Database of the table.
        table: The table.
        version: Version of the schema.
        columns: Its columns, in the order of their creation.
        indexes: Its indexes.
    """

    database: str
    table: str
    version: int
    columns: tuple[DescribedColumn, ...]
    indexes: tuple[DescribedIndex, ...] = ()

    @property
    def has_types(self) -> bool:
        """Whether the type of each column is known; a view's are not."""
        try:
            return all(column.mysql_type for column in self.columns)
        except ValueError:
            return False


class SeenSchema(msgspec.Struct, frozen=True):
    """What row messages of a table tell of its columns, as those of Canal-JSON do.

    Attributes:
        database: Database of the table.
        table: The table.
        sequence: Position of the first row that tells it.
        last_sequence: Position of the last one.
        column_types: Column -> type. A bare ``decimal``, ``enum`` or ``set`` has
            parameters that the message does not tell.
        primary_key: Columns of the primary key; null without one.
        leaves_out_generated: Whether generated columns of the table are not among them,
            as in the changes of PostgreSQL.
        declared: Columns whose type the topic declares: the message does not show it, and
            it may be younger than the row.
        connector: That of Debezium which sent the rows, as they name it.
        untyped: Columns of which the message tells no type: nor does it tell a default.
    """

    database: str
    table: str
    sequence: str
    last_sequence: str
    column_types: dict[str, str]
    primary_key: tuple[str, ...] | None = None
    leaves_out_generated: bool = False
    declared: tuple[str, ...] = ()
    connector: str | None = None
    untyped: tuple[str, ...] = ()


class SeenVersion(msgspec.Struct, frozen=True):
    """A schema version that row messages name, as those of the Simple protocol do.

    Attributes:
        sequence: Position of the first row of that version. The number of a version is
            that of its DDL's beginning, before rows that are of the version before.
        schema: What a DDL or a BOOTSTRAP says of the version.
    """

    sequence: str
    schema: DescribedSchema

    @property
    def database(self) -> str:
        """Database of the table."""
        return self.schema.database

    @property
    def table(self) -> str:
        """The table."""
        return self.schema.table
