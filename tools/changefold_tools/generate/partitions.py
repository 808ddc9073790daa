"""Which rows a partition holds, as a condition in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from changefold.spark_text import sql_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def rows_of(change: dict[str, Any], expression: Callable[[str], str]) -> str:
    """Return a condition for the rows of the partitions that a DDL names.

    Args:
        change: What the DDL did, of ``table_schemas.partition_changes``.
        expression: Gives the SQL expression of a column's text by its name.

    Returns:
        A condition; true or false for every row, never null.
    """
    row = "array({})".format(
        ", ".join(
            _sort_text(expression(column["name"]), column["sorted_as"])
            for column in change["columns"]
        )
    )
    tests = []
    for partition in change["partitions"]:
        if partition["values_in"] is not None:
            tests += [f"{row} = {_array(values)}" for values in partition["values_in"]]
            continue
        bounds = ((">=", partition["at_least"]), ("<", partition["less_than"]))
        tests.append(
            " and ".join(
                f"{row} {operator} {_array(bound)}"
                for operator, bound in bounds
                if bound is not None
            )
        )
    return " or ".join(f"({test})" for test in tests)


def _array(values: Sequence[str | None]) -> str:
    texts = ("null" if value is None else sql_text(value) for value in values)
    return f"cast(array({', '.join(texts)}) as array<string>)"


def _sort_text(text: str, sorted_as: str) -> str:
    """Return a column's text as `PartitionColumn.sorted_as` has it."""
    if sorted_as == "integer":
        number = f"try_cast({text} as decimal(20, 0)) + 10000000000000000000"
        return f"lpad(cast({number} as string), 20, '0')"
    if sorted_as == "time":
        midnight = "'0000-00-00 00:00:00.000000'"
        return f"concat({text}, substr({midnight}, length({text}) + 1))"
    return text
