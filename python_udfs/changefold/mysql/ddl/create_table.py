"""CREATE TABLE, and the options of a table."""

import msgspec

from changefold.mysql.ddl.actions import (
    CreateTable,
    DdlColumn,
    DdlKey,
    ForeignKey,
    Partitioning,
    TableName,
)
from changefold.mysql.ddl.definitions import (
    is_key,
    read_charset,
    read_collation,
    read_column,
    read_key,
)
from changefold.mysql.ddl.partitions import read_partitioning
from changefold.mysql.ddl.reader import Reader, skip_if_not_exists, skip_to_end
from changefold.mysql.types import parse_mysql_type


def read_create_table(
    reader: Reader, *, or_replace: bool, temporary: bool
) -> CreateTable:
    """Read what follows CREATE TABLE."""
    if_not_exists = skip_if_not_exists(reader)
    table = reader.table_name(is_touched=not temporary)
    columns: list[DdlColumn] = []
    keys: list[DdlKey | ForeignKey] = []
    like: TableName | None = None
    if reader.accept("LIKE"):
        like = reader.table_name(is_touched=False)
        skip_to_end(reader)  # ON COMMIT of a temporary table
    elif reader.accept("("):
        if reader.accept("LIKE"):
            like = reader.table_name(is_touched=False)
        else:
            reader.listed(lambda: _table_element(reader, columns, keys))
        reader.require(")")
    elif not reader.is_any("AS", "SELECT"):
        raise reader.fail("`(` or `LIKE`")
    options = _TableOptions(reader)
    return CreateTable(
        table=table,
        columns=tuple(_with_table_charset(c, options.charset) for c in columns),
        keys=tuple(key for key in keys if isinstance(key, DdlKey)),
        if_not_exists=if_not_exists,
        or_replace=or_replace,
        temporary=temporary,
        like=like,
        charset=options.charset,
        collation=options.collation,
        comment=options.comment,
        partitioning=options.partitioning,
        foreign_keys=tuple(key for key in keys if isinstance(key, ForeignKey)),
    )


def _with_table_charset(column: DdlColumn, charset: str | None) -> DdlColumn:
    """Make a text column binary if that is the character set of its table."""
    if charset != "binary" or column.charset is not None or column.collation:
        return column
    mysql_type = parse_mysql_type(column.type).as_binary()
    return msgspec.structs.replace(column, type=str(mysql_type))


def _table_element(
    reader: Reader, columns: list[DdlColumn], keys: list[DdlKey | ForeignKey]
) -> None:
    if skip_period(reader):
        return
    if not is_key(reader):
        columns.append(read_column(reader))
        return
    key = read_key(reader)
    if not isinstance(key, str):
        keys.append(key)


def skip_period(reader: Reader) -> bool:
    """Skip a period of MariaDB, which two columns make up; False if it is not next."""
    if not reader.accept("PERIOD", "FOR"):
        return False
    skip_if_not_exists(reader)
    reader.name()
    if reader.is_word("("):
        reader.parenthesised()
    return True


class _TableOptions:
    """What stands behind the columns of CREATE TABLE."""

    def __init__(self, reader: Reader) -> None:
        self.charset: str | None = None
        self.collation: str | None = None
        self.comment: str | None = None
        self.partitioning: Partitioning | None = None
        while not reader.at_end:
            if reader.accept("WITH", "SYSTEM", "VERSIONING"):
                continue
            if reader.is_any("AS", "SELECT", "IGNORE", "REPLACE", "WITH", "TABLE"):
                raise reader.fail("no query, which would add columns and rows")
            if (charset := read_charset(reader)) is not None:
                self.charset = charset
            elif (collation := read_collation(reader)) is not None:
                self.collation = collation
            elif reader.accept("COMMENT"):
                reader.accept("=")
                self.comment = reader.string()
            elif reader.accept("PARTITION", "BY"):
                self.partitioning = read_partitioning(reader)
            elif reader.is_word("("):
                reader.parenthesised()
            else:
                reader.index += 1  # ENGINE = InnoDB, TTL = ..., and so on
        if self.collation == "binary" and self.charset is None:
            self.charset = "binary"
