"""Which rows a partition holds: the bounds of its columns, as texts that sort like them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from changefold.mysql.conversion import convert_value
from changefold.mysql.types import MySqlType, parse_mysql_type
from changefold.schemas.model import AffectedPartition, PartitionColumn
from changefold.schemas.table_state import find_column

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from changefold.mysql.ddl import Partition, Partitioning, SqlValue
    from changefold.schemas.model import SchemaColumn, SortedAs

_INTEGERS: Final = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "year"}
)
_TIMES: Final = frozenset({"date", "datetime"})
# Added to an integer, so that none is negative; the widest has 20 digits.
_LOWEST: Final = 10**19
_MIDNIGHT: Final = "0000-00-00 00:00:00.000000"
_ABOVE_ALL: Final = "\U0010ffff"


class UnknownRowsError(ValueError):
    """The DDL does not tell which rows a partition holds; the text says why."""


class PartitionedColumns(NamedTuple):
    """The columns by which a table is partitioned, and their types."""

    columns: tuple[PartitionColumn, ...]
    types: tuple[MySqlType, ...]

    def row(self, values: Sequence[SqlValue]) -> tuple[str | None, ...]:
        """Return values as texts that sort as rows do.

        Raises:
            UnknownRowsError: If one is an expression, or not of its column's type.
        """
        if len(values) != len(self.columns):
            raise UnknownRowsError("a bound has another number of values than columns")
        return tuple(
            _sort_text(value, column.sorted_as, mysql_type)
            for value, column, mysql_type in zip(
                values, self.columns, self.types, strict=True
            )
        )


def partitioned_columns(
    partitioning: Partitioning | None,
    columns: Sequence[SchemaColumn],
    renamed_ids: Collection[int],
    *,
    compares_bytes: bool = True,
) -> PartitionedColumns:
    """Return the columns by which a table is partitioned.

    Args:
        partitioning: How it is; None if that was never seen.
        columns: The table's columns at that time.
        renamed_ids: Those of them that older rows have under another name.
        compares_bytes: Whether text without a collation is compared byte by byte.

    Raises:
        UnknownRowsError: If messages do not tell which rows a partition holds: HASH,
            KEY, an expression, a text that is not compared byte by byte.
    """
    if partitioning is None:
        raise UnknownRowsError("how the table is partitioned was never seen")
    method = partitioning.method
    if method.split()[0] not in {"range", "list"} or not partitioning.columns:
        raise UnknownRowsError(
            f"it is partitioned by {method.upper()} of an expression"
        )
    found = [(name, find_column(columns, name)) for name in partitioning.columns]
    named = []
    types = []
    for name, column in found:
        if column is None or not column.type:
            raise UnknownRowsError(f"its column {name} was never seen")
        if column.column_id in renamed_ids:
            raise UnknownRowsError(f"its column {name} had another name")
        if column.original_default_accuracy not in {None, "exact"}:
            raise UnknownRowsError(f"the value of {name} in older rows is not known")
        mysql_type = parse_mysql_type(column.type)
        named.append(
            PartitionColumn(
                column.name,
                _sorted_as(column, mysql_type, compares_bytes=compares_bytes),
                column.original_default,
            )
        )
        types.append(mysql_type)
    return PartitionedColumns(tuple(named), tuple(types))


def rows_of_partition(
    columns: PartitionedColumns, partition: Partition, below: Partition | None
) -> AffectedPartition:
    """Return the rows of a partition of RANGE or LIST.

    Args:
        columns: By which the table is partitioned.
        partition: The partition.
        below: The partition before it; None for the first one.

    Raises:
        UnknownRowsError: If a bound is not known.
    """
    if partition.values_in:
        return AffectedPartition(
            partition.name, values_in=tuple(map(columns.row, partition.values_in))
        )
    if partition.less_than is None or (below is not None and below.less_than is None):
        raise UnknownRowsError(f"the bounds of partition {partition.name} are unknown")
    return AffectedPartition(
        partition.name,
        at_least=columns.row(below.less_than)
        if below is not None and below.less_than is not None
        else None,
        less_than=columns.row(partition.less_than),
    )


def _sorted_as(
    column: SchemaColumn, mysql_type: MySqlType, *, compares_bytes: bool
) -> SortedAs:
    if mysql_type.base in _INTEGERS:
        return "integer"
    if mysql_type.base in _TIMES:
        return "time"
    if not mysql_type.is_text:
        raise UnknownRowsError(f"its column {column.name} is a {mysql_type.base}")
    if column.collation and not column.collation.endswith("_bin"):
        raise UnknownRowsError(
            f"its column {column.name} is compared by {column.collation}"
        )
    if not (column.collation or compares_bytes):
        raise UnknownRowsError(
            f"no message tells how its column {column.name} is compared"
        )
    return "text"


def _sort_text(
    value: SqlValue, sorted_as: SortedAs, mysql_type: MySqlType
) -> str | None:
    if value.form == "null":
        return None
    if value.form == "maxvalue":
        return _ABOVE_ALL
    if value.form not in {"text", "number"}:
        raise UnknownRowsError(f"a bound is an expression: {value.text}")
    if sorted_as == "integer":
        if not re.fullmatch(r"[+-]?[0-9]+", value.text):
            raise UnknownRowsError(f"a bound is no integer: {value.text}")
        return f"{int(value.text) + _LOWEST:020d}"
    text = convert_value(value.text, MySqlType("longtext"), mysql_type) or ""
    return text + _MIDNIGHT[len(text) :] if sorted_as == "time" else text
