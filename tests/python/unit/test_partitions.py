"""Which rows a partition holds."""

from __future__ import annotations

import pytest

from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import AffectedPartition, DdlEvent, TableVersion


def _last(create: str, alter: str) -> TableVersion:
    """Return the version that `alter` makes of the table that `create` makes."""
    events = [DdlEvent("1", "d", "t", create), DdlEvent("2", "d", "t", alter)]
    return fold_schemas(events)[-1]


def _rows(create: str, alter: str) -> AffectedPartition:
    """Return the rows that `alter` ends in the table that `create` makes."""
    (change,) = _last(create, alter).partition_changes
    (partition,) = change.partitions
    return partition


def _table(columns: str, partitions: str) -> str:
    return f"create table t (id int primary key, {columns}) partition by {partitions}"


RANGE = "range (id) (partition p0 values less than (10), partition p1 values less than (20), partition p2 values less than maxvalue)"


def test_the_lowest_range_has_no_lower_bound_and_holds_null() -> None:
    rows = _rows(_table("v int", RANGE), "alter table t drop partition p0")
    assert rows.at_least is None
    assert rows.less_than == ("10000000000000000010",)


def test_a_range_begins_where_the_one_below_it_ends() -> None:
    rows = _rows(_table("v int", RANGE), "alter table t truncate partition p1")
    assert rows.at_least == ("10000000000000000010",)
    assert rows.less_than == ("10000000000000000020",)


def test_the_highest_range_is_above_all_texts() -> None:
    rows = _rows(_table("v int", RANGE), "alter table t truncate partition p2")
    assert rows.at_least == ("10000000000000000020",)
    assert rows.less_than == ("\U0010ffff",)


def test_a_negative_bound_sorts_below_zero() -> None:
    partitions = "range (v) (partition a values less than (-5), partition b values less than (0))"
    rows = _rows(_table("v int", partitions), "alter table t drop partition b")
    assert (rows.at_least, rows.less_than) == (
        ("09999999999999999995",),
        ("10000000000000000000",),
    )


def test_a_list_holds_its_values_and_null_where_it_is_named() -> None:
    partitions = "list (v) (partition a values in (1, null), partition b values in (2))"
    rows = _rows(_table("v int", partitions), "alter table t drop partition a")
    assert rows.values_in == (("10000000000000000001",), (None,))


def test_a_bound_of_several_columns_has_a_text_of_each() -> None:
    partitions = (
        "range columns (d, v) (partition a values less than ('2024-01-01', 5), "
        "partition b values less than (maxvalue, maxvalue))"
    )
    rows = _rows(_table("d date, v int", partitions), "alter table t drop partition a")
    assert rows.less_than == ("2024-01-01 00:00:00.000000", "10000000000000000005")


def test_all_partitions_are_the_whole_table() -> None:
    for partitions in (RANGE, "hash (id) partitions 4"):
        version = _last(
            _table("v int", partitions), "alter table t truncate partition all"
        )
        assert version.row_effect == "close_all"


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
def test_what_the_ddl_does_not_tell_is_unknown_with_a_reason(
    columns: str, partitions: str, name: str, reason: str
) -> None:
    version = _last(
        _table(columns, partitions), f"alter table t truncate partition {name}"
    )
    assert version.row_effect == "unknown"
    assert not version.partition_changes
    assert reason in (version.reason or "")


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("varchar(12)", "unknown"),
        ("varchar(12) character set utf8mb4", "unknown"),
        ("varchar(12) collate utf8mb4_bin", "partition"),
        ("date", "partition"),
    ],
)
def test_text_of_mysql_is_compared_by_a_collation_that_must_be_told(
    text: str, effect: str
) -> None:
    partitions = "list columns (v) (partition p0 values in ('2024-01-01'))"
    events = [
        DdlEvent("1", "d", "t", _table(f"v {text}", partitions), is_of_tidb=False),
        DdlEvent(
            "2", "d", "t", "alter table t truncate partition p0", is_of_tidb=False
        ),
    ]
    assert fold_schemas(events)[-1].row_effect == effect


def test_rows_of_a_column_that_had_another_name_are_unknown() -> None:
    events = [
        DdlEvent("1", "d", "t", "create table t (id int primary key, v int)"),
        DdlEvent("2", "d", "t", "alter table t rename column v to w"),
        DdlEvent(
            "3",
            "d",
            "t",
            "alter table t partition by list (w) (partition a values in (1))",
        ),
        DdlEvent("4", "d", "t", "alter table t truncate partition a"),
    ]
    assert "had another name" in (fold_schemas(events)[-1].reason or "")


def test_a_table_whose_partitions_were_never_seen_is_unknown() -> None:
    version = _last(
        "create table t (id int primary key)", "alter table t drop partition p0"
    )
    assert "never seen" in (version.reason or "")
