"""The SQL of a filter says what the filter itself says."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from spark_conditions import evaluate

from changefold.changefeed import to_sql as filter_sql
from changefold.changefeed.event_types import DATABASE_TYPES, DDL_TYPES
from changefold.changefeed.filter import (
    ChangefeedFilter,
    FilterError,
    parse_changefeed_filter,
)

PROJECT: Final = Path(__file__).parents[3]
FILE: Final = "changefeed.toml"

FILTER: Final = r"""
[filter]
rules = ["shop.*", "!shop.tmp_*", "a*.b?", "/^x[0-9]$/.`T``a`"]

[[filter.event-filters]]
matcher = ["shop.*", "!shop.orders"]
ignore-event = ["insert", "drop table", "alter table", "drop database"]

[[filter.event-filters]]
matcher = ["*.orders"]
ignore-event = ["all dml", "all ddl"]

[[filter.event-filters]]
matcher = ["a*.*"]
ignore-event = ["delete"]
ignore-sql = ["^create", "add column"]
"""

NAMES: Final = [
    *[("shop", "orders"), ("shop", "tmp_x"), ("Shop", "ORDERS"), ("shop", "log")],
    *[("ab", "bc"), ("x1", "T`a"), ("mysql", "user"), ("other", "orders")],
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / FILE).write_text(FILTER, "utf-8")
    (tmp_path / "seeds").symlink_to(PROJECT / "seeds")
    return tmp_path


@pytest.fixture
def changefeed() -> ChangefeedFilter:
    return parse_changefeed_filter(FILTER)


def test_a_row_is_refused_by_the_rule_that_the_filter_names(
    project: Path, changefeed: ChangefeedFilter
) -> None:
    sql = filter_sql.refused_row_sql(project, FILE, "d", "t", "op")
    outcomes = {
        (database, table, op): evaluate(sql, {"d": database, "t": table, "op": op})
        for (database, table), op in product(NAMES, "cud")
    }
    assert outcomes == {
        (*name, op): changefeed.dml_verdict(*name, op)
        for name, op in product(NAMES, "cud")
    }
    assert len(set(outcomes.values())) == 7


def test_a_row_of_a_snapshot_is_judged_as_an_insert(project: Path) -> None:
    sql = filter_sql.refused_row_sql(project, FILE, "d", "t", "op")
    row = {"d": "shop", "t": "log"}
    assert evaluate(sql, {**row, "op": "r"}) == evaluate(sql, {**row, "op": "c"})


@pytest.mark.parametrize("ddl_type", [t for t in DDL_TYPES if t != "rename table"])
def test_a_ddl_is_judged_by_the_rule_that_the_filter_names(
    project: Path, changefeed: ChangefeedFilter, ddl_type: str
) -> None:
    refused = filter_sql.refused_table_sql(project, FILE, "type", "d", "t")
    columns = {"type": "type", "database": "d", "table": "t", "sql": "sql"}
    ignored = filter_sql.ignored_ddl_sql(project, FILE, columns)
    for (database, table), sql in product(NAMES, ["CREATE x", "ALTER x ADD COLUMN y"]):
        shown = "" if ddl_type in DATABASE_TYPES else table
        row = {"type": ddl_type, "d": database, "t": shown, "sql": sql}
        verdict, rule = changefeed.ddl_verdict(ddl_type, database, shown, sql=sql)
        assert evaluate(refused, row) == (rule if verdict == "discard" else None)
        if verdict != "discard":
            assert evaluate(ignored, row) == (rule if verdict == "ignore" else None)


def test_a_statement_of_unknown_type_is_ignored_where_all_ddl_is(project: Path) -> None:
    columns = {"type": "type", "database": "d", "table": "t", "sql": "sql"}
    ignored = filter_sql.ignored_ddl_sql(project, FILE, columns)
    row = {"type": None, "d": "shop", "sql": "FOO"}
    assert evaluate(ignored, {**row, "t": "orders"}) == (
        "event-filters[1].ignore-event: all ddl"
    )
    assert evaluate(ignored, {**row, "t": "log"}) is None


def test_a_filter_without_rules_refuses_system_databases_only(project: Path) -> None:
    (project / FILE).write_text("", "utf-8")
    sql = filter_sql.refused_row_sql(project, FILE, "d", "t", "op")
    assert evaluate(sql, {"d": "mysql", "t": "x", "op": "c"}) == "system database"
    assert evaluate(sql, {"d": "shop", "t": "x", "op": "c"}) is None


def test_the_digest_changes_with_a_rule_and_not_with_a_comment(project: Path) -> None:
    before = filter_sql.digest(project, FILE)
    (project / FILE).write_text("# why\n" + FILTER, "utf-8")
    assert filter_sql.digest(project, FILE) == before
    (project / FILE).write_text(FILTER.replace("tmp_", "old_"), "utf-8")
    assert filter_sql.digest(project, FILE) != before


def test_a_wrong_file_is_told_with_its_line(project: Path) -> None:
    assert filter_sql.check(project, FILE) == ""
    (project / FILE).write_text(FILTER.replace("shop.tmp_*", "shop"), "utf-8")
    assert filter_sql.check(project, FILE).startswith("changefeed.toml:3: Expected `.`")
    assert filter_sql.check(project, "gone.toml").startswith("gone.toml:1: ")


COLUMNS: Final = [
    {"name": "id", "type": "int", "collation": None},
    {"name": "status", "type": "enum('a','b')", "collation": None},
]
VALUES: Final = """
[[filter.event-filters]]
matcher = ["shop.*"]
ignore-insert-value-expr = "id > 5"
ignore-update-only-columns = ["status"]
ignore-delete-value-expr = "amount = 0"
"""


def rules(project: Path, columns: list[dict[str, Any]], *, is_last: bool) -> Any:
    (project / FILE).write_text(VALUES, "utf-8")
    names = [column["name"] for column in columns]
    images = {i: {name: f"{i}.{name}" for name in names} for i in ("before", "after")}
    version = {
        "database": "shop",
        "table": "orders",
        "columns": columns,
        "unique_columns": ["id"],
        "time_zone": "UTC",
        "is_last": is_last,
    }
    return filter_sql.value_rules(project, FILE, version, images, images)


def test_rules_about_values_come_in_the_order_in_which_the_filter_asks(
    project: Path,
) -> None:
    amount = {"name": "amount", "type": "decimal(10,2)", "collation": None}
    shown = rules(project, [*COLUMNS, amount], is_last=True)
    assert [(rule["rule"].partition(".")[2], rule["op"]) for rule in shown] == [
        ("ignore-update-only-columns", "u"),
        ("ignore-insert-value-expr", "c"),
        ("ignore-delete-value-expr", "d"),
    ]
    assert shown[0]["condition"] == (
        "before.id <=> after.id and before.amount <=> after.amount"
    )
    assert shown[2]["condition"] == "coalesce(before.amount = 0, false)"


def test_a_past_version_may_lack_a_column_of_a_rule_but_not_the_present_one(
    project: Path,
) -> None:
    shown = rules(project, COLUMNS, is_last=False)
    assert [rule["op"] for rule in shown] == ["u", "c"]
    with pytest.raises(FilterError, match=r"changefeed.toml:6: .*amount.*shop.orders"):
        rules(project, COLUMNS, is_last=True)


def test_a_column_is_converted_as_in_a_model(project: Path) -> None:
    calls = filter_sql.column_calls(project, "topic", COLUMNS)
    assert [(call["macro"], call["arguments"]) for call in calls] == [
        ("mysql_number", ["int"]),
        ("mysql_enum", [("a", "b")]),
    ]


def test_a_column_of_kafka_connect_is_refused(project: Path) -> None:
    with pytest.raises(ValueError, match=r"Expected a type of MySQL .* at column `n`"):
        filter_sql.column_calls(project, "t", [{"name": "n", "type": "connect.int32"}])
