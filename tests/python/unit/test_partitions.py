"""Which rows a partition holds, as a condition."""

from __future__ import annotations

from typing import Any

import pytest

from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import DdlEvent, PartitionChange
from changefold_tools.generate.partitions import UnknownRowsError, rows_of


def _condition(create: str, alter: str) -> str:
    """The rows that `alter` ends in the table that `create` makes."""
    events = [DdlEvent("1", "d", "t", create), DdlEvent("2", "d", "t", alter)]
    before, after = fold_schemas(events)
    (change,) = after.partition_changes
    columns = [
        {"name": c.name, "type": c.type, "collation": c.collation}
        for c in before.columns
    ]
    return rows_of(change, columns, lambda name: f"image.`{name}`")


def _table(columns: str, partitions: str) -> str:
    return f"create table t (id int primary key, {columns}) partition by {partitions}"


RANGE = "range (id) (partition p0 values less than (10), partition p1 values less than (20), partition p2 values less than maxvalue)"


def test_the_lowest_range_has_no_lower_bound_and_holds_null() -> None:
    assert _condition(_table("v int", RANGE), "alter table t drop partition p0") == (
        "coalesce((image.`id` is null or "
        "try_cast(image.`id` as decimal(20, 0)) < 10), false)"
    )


def test_a_range_begins_where_the_one_below_it_ends() -> None:
    assert _condition(
        _table("v int", RANGE), "alter table t truncate partition p1"
    ) == (
        "coalesce((try_cast(image.`id` as decimal(20, 0)) < 20 "
        "and not (try_cast(image.`id` as decimal(20, 0)) < 10)), false)"
    )


def test_the_highest_range_is_open_above() -> None:
    assert _condition(
        _table("v int", RANGE), "alter table t truncate partition p2"
    ) == (
        "coalesce((true and not (try_cast(image.`id` as decimal(20, 0)) < 20)), false)"
    )


def test_a_list_holds_its_values_and_null_where_it_is_named() -> None:
    partitions = "list (v) (partition a values in (1, null), partition b values in (2))"
    assert _condition(
        _table("v int", partitions), "alter table t drop partition a"
    ) == (
        "coalesce(((try_cast(image.`v` as decimal(20, 0)) = 1) or "
        "(image.`v` is null)), false)"
    )


def test_columns_are_compared_one_after_the_other() -> None:
    partitions = (
        "range columns (d, v) (partition a values less than ('2024-01-01', 5), "
        "partition b values less than (maxvalue, maxvalue))"
    )
    text = _condition(
        _table("d date, v int", partitions), "alter table t drop partition a"
    )
    assert (
        "image.`d` < '2024-01-01' or (image.`d` = '2024-01-01' and "
        "(try_cast(image.`v` as decimal(20, 0)) < 5))" in text
    )


def test_a_quote_in_a_bound_stays_inside_its_literal() -> None:
    partitions = "list columns (v) (partition a values in ('it''s'))"
    text = _condition(
        _table("v varchar(9)", partitions), "alter table t truncate partition a"
    )
    assert "image.`v` = 'it\\'s'" in text


@pytest.mark.parametrize(
    ("columns", "partitions", "name", "reason"),
    [
        ("v int", "hash (id) partitions 4", "p0", "HASH"),
        ("v int", "key (id) partitions 4", "p0", "KEY"),
        (
            "d date",
            "range (year(d)) (partition p0 values less than (2024))",
            "p0",
            "RANGE of an expression",
        ),
        (
            "v varchar(9) collate utf8mb4_general_ci",
            "list columns (v) (partition p0 values in ('a'))",
            "p0",
            "utf8mb4_general_ci",
        ),
    ],
)
def test_what_the_ddl_does_not_tell_is_refused_with_a_reason(
    columns: str, partitions: str, name: str, reason: str
) -> None:
    with pytest.raises(UnknownRowsError, match=reason):
        _condition(
            _table(columns, partitions), f"alter table t truncate partition {name}"
        )


def test_a_table_whose_partitions_were_never_seen_is_refused() -> None:
    columns: list[dict[str, Any]] = []
    change = PartitionChange(operation="drop", partitions=())
    with pytest.raises(UnknownRowsError, match="never seen"):
        rows_of(change, columns, str)
