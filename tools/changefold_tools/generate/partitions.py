"""Which rows a partition holds, as a condition in SQL, where the DDL tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from changefold.mysql.conversion import convert_value
from changefold.mysql.types import MySqlType, parse_mysql_type
from changefold.spark_text import sql_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from changefold.mysql.ddl import SqlValue
    from changefold.schemas.model import AffectedPartition, PartitionChange

_INTEGERS: Final = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "year"}
)
_TIMES: Final = frozenset({"date", "datetime"})


class UnknownRowsError(ValueError):
    """The DDL does not tell which rows a partition holds; the text says why."""


def rows_of(
    change: PartitionChange,
    columns: Sequence[dict[str, Any]],
    expression: Callable[[str], str],
) -> str:
    """Return a condition for the rows of the partitions that a DDL names.

    Args:
        change: What the DDL did.
        columns: The table's columns at that time, rows of ``table_schemas.columns``.
        expression: Gives the SQL expression of a column's text by its name.

    Returns:
        A condition; true or false for every row, never null.

    Raises:
        UnknownRowsError: If it can not be known: HASH, KEY, an expression, a text
            column that is not compared byte by byte.
    """
    partitioning = change.partitioning
    if partitioning is None:
        raise UnknownRowsError("how the table is partitioned was never seen")
    method = partitioning.method
    if method.split()[0] not in {"range", "list"} or not partitioning.columns:
        raise UnknownRowsError(
            f"it is partitioned by {method.upper()} of an expression"
        )
    by_name = {column["name"].lower(): column for column in columns}
    fields = []
    for name in partitioning.columns:
        column = by_name.get(name.lower())
        if column is None:
            raise UnknownRowsError(f"its column {name} was never seen")
        fields.append(_Field(expression(column["name"]), column))
    tests = []
    for partition in change.partitions:
        if method.startswith("range"):
            tests.append(_range(fields, partition))
        else:
            tests.append(_list(fields, partition))
    return "coalesce(" + " or ".join(f"({test})" for test in tests) + ", false)"


class _Field:
    """A column by which a table is partitioned."""

    def __init__(self, text: str, column: dict[str, Any]) -> None:
        self.text = text
        self.type: MySqlType = parse_mysql_type(column["type"])
        base = self.type.base
        if base in _INTEGERS:
            self.value = f"try_cast({text} as decimal(20, 0))"
        elif base in _TIMES or self.type.is_text:
            self.value = text
        else:
            raise UnknownRowsError(f"its column {column['name']} is a {base}")
        collation = column.get("collation")
        if self.type.is_text and collation and not collation.endswith("_bin"):
            raise UnknownRowsError(
                f"its column {column['name']} is compared by {collation}"
            )

    def literal(self, value: SqlValue) -> str:
        """Return a bound as SQL, in the form of the column's text."""
        if value.form not in {"text", "number"}:
            raise UnknownRowsError(f"a bound is an expression: {value.text}")
        if self.type.base in _INTEGERS:
            if not re.fullmatch(r"[+-]?[0-9]+", value.text):
                raise UnknownRowsError(f"a bound is no integer: {value.text}")
            return value.text
        text = convert_value(value.text, MySqlType("longtext"), self.type) or ""
        return sql_text(text)


def _range(fields: list[_Field], partition: AffectedPartition) -> str:
    if partition.less_than is None:
        raise UnknownRowsError(f"the bounds of partition {partition.name} are unknown")
    below = _is_less(fields, partition.less_than)
    if partition.at_least is None:
        # NULL lies below every value.
        missing = " or ".join(f"{field.text} is null" for field in fields)
        return f"{missing} or {below}"
    return f"{below} and not ({_is_less(fields, partition.at_least)})"


def _is_less(fields: list[_Field], bound: tuple[SqlValue, ...]) -> str:
    """Compare column by column, as rows are compared."""
    if len(fields) != len(bound):
        raise UnknownRowsError("a bound has another number of values than columns")
    if bound[0].form == "maxvalue":
        return "true"
    value, limit = fields[0].value, fields[0].literal(bound[0])
    if len(fields) == 1:
        return f"{value} < {limit}"
    return f"{value} < {limit} or ({value} = {limit} and ({_is_less(fields[1:], bound[1:])}))"


def _list(fields: list[_Field], partition: AffectedPartition) -> str:
    if not partition.values_in:
        raise UnknownRowsError(f"the values of partition {partition.name} are unknown")
    tests = []
    for values in partition.values_in:
        if len(values) != len(fields):
            raise UnknownRowsError("a list has another number of values than columns")
        parts = [
            f"{field.text} is null"
            if value.form == "null"
            else f"{field.value} = {field.literal(value)}"
            for field, value in zip(fields, values, strict=True)
        ]
        tests.append(" and ".join(parts))
    return " or ".join(f"({test})" for test in tests)
