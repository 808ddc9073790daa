"""`changefold filter` shows what a changefeed lets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from changefold_tools.cli import main

if TYPE_CHECKING:
    from pathlib import Path

CHANGEFEED = """
[filter]
rules = ["shop.*", "!shop.tmp_*"]
[[filter.event-filters]]
matcher = ["shop.orders"]
ignore-event = ["delete", "drop table"]
ignore-sql = ["add column"]
ignore-update-old-value-expr = "status = 'test'"
"""


def shown(
    capsys: pytest.CaptureFixture[str], path: Path, *arguments: str
) -> list[list[str]]:
    path.write_text(CHANGEFEED)
    assert main(["filter", str(path), *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in line.split("\u2502")[1:-1]] for line in lines]
    return [row for row in cells if row]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_each_kind_of_change_has_its_outcome_and_its_rule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = shown(capsys, tmp_path / "c.toml", "shop.orders", "shop.tmp_1", "crm.leads")
    assert rows == [
        ["shop.orders", "insert", "sent", "rules[0]: shop.*"],
        ["shop.orders", "update", "sent", "rules[0]: shop.*"],
        [
            "shop.orders",
            "update",
            "not sent if status = 'test' (old row)",
            "event-filters[0].ignore-update-old-value-expr",
        ],
        [
            "shop.orders",
            "delete",
            "not sent",
            "event-filters[0].ignore-event: delete",
        ],
        *(
            ["shop.tmp_1", event, "not sent", "rules[1]: !shop.tmp_*"]
            for event in ("insert", "update", "delete")
        ),
        *(
            ["crm.leads", event, "not sent", rows[-1][3]]
            for event in ("insert", "update", "delete")
        ),
    ]


@pytest.mark.parametrize(
    ("sql", "lines"),
    [
        ("ALTER TABLE orders ADD COLUMN c INT", [("shop.orders", "not sent, but")]),
        ("ALTER TABLE orders DROP COLUMN c", [("shop.orders", "sent")]),
        (
            "DROP TABLE orders, tmp_1, carts",
            [
                ("shop.orders", "not sent, but"),
                ("shop.tmp_1", "not sent, and"),
                ("shop.carts", "sent"),
            ],
        ),
        ("RENAME TABLE tmp_1 TO carts", [("shop.tmp_1", "the changefeed stops")]),
        ("CREATE DATABASE crm", [("crm", "not sent, and")]),
    ],
)
def test_a_statement_has_an_outcome_for_each_table(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    sql: str,
    lines: list[tuple[str, str]],
) -> None:
    rows = shown(capsys, tmp_path / "c.toml", "shop.orders", "--ddl", sql)[4:]
    assert [row[0] for row in rows] == [name for name, _ in lines]
    for row, (_, outcome) in zip(rows, lines, strict=True):
        assert row[2].startswith(outcome)


def test_a_wrong_rule_is_told_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "c.toml"
    path.write_text(CHANGEFEED.replace('"drop table"', '"drop tables"'))
    assert main(["filter", str(path)]) == 2
    assert "c.toml:6: Expected one of " in capsys.readouterr().err.replace("\n", "")


def test_a_table_without_its_database_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "c.toml"
    path.write_text(CHANGEFEED)
    assert main(["filter", str(path), "orders"]) == 2
    assert "Expected `database.table`, got `orders`" in capsys.readouterr().err
