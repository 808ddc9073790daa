"""A filter here leaves what a filtered changefeed would have sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.generate.models import update_models
from changefold_tools.session import DbtFailedError
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[dict[str, Any]]
Row = dict[str, str | None]

FILTER: Final = """
[filter]
rules = ["*.*", "!*.secret_*"]

[[filter.event-filters]]
matcher = ["*.orders"]
ignore-event = ["truncate table"]
ignore-sql = ["add column .note"]
ignore-insert-value-expr = "amount > 1000 or status = 'test'"
ignore-update-old-value-expr = "status = 'frozen'"
ignore-update-new-value-expr = "status = 'draft'"
ignore-delete-value-expr = "amount = 0"
ignore-update-only-columns = ["seen"]

[[filter.event-filters]]
matcher = ["*.log"]
ignore-event = ["update", "delete"]
"""

NAMES_ONLY: Final = FILTER.partition("[[")[0]

STATUS: Final = {"new": "1", "test": "2", "frozen": "3", "draft": "4"}

ORDERS: Final = (
    "CREATE TABLE `orders` (`id` INT PRIMARY KEY,`amount` DECIMAL(10,2),"
    "`status` ENUM('new','test','frozen','draft'),`seen` INT)"
)


class Event(NamedTuple):
    """A message of the whole stream, with the rule that keeps it from being sent."""

    value: str
    rule: str | None = None


def order(
    id_: int, amount: str = "10.00", status: str = "new", seen: int = 0, **others: str
) -> Row:
    return {
        "id": str(id_),
        "amount": amount,
        "status": STATUS[status],
        "seen": str(seen),
        **others,
    }


def orders(event_type: str, at: int, row: Row, old: Row | None = None) -> str:
    types = {"id": "int", "amount": "decimal", "status": "enum", "seen": "int"}
    types |= {"note": "varchar"} if "note" in row else {}
    return change(event_type, row, at, old=old, types=types, table="orders")


def keyed(event_type: str, at: int, table: str, id_: int, v: int) -> str:
    row: Row = {"id": str(id_), "v": str(v)}
    old: Row | None = {"id": str(id_), "v": "0"} if event_type == "UPDATE" else None
    return change(event_type, row, at, old=old, table=table)


def _value(number: int, key: str) -> str:
    return f"event-filters[{number}].{key}"


INSERT: Final = _value(0, "ignore-insert-value-expr")
OLD: Final = _value(0, "ignore-update-old-value-expr")
NEW: Final = _value(0, "ignore-update-new-value-expr")
DELETE: Final = _value(0, "ignore-delete-value-expr")
ONLY: Final = _value(0, "ignore-update-only-columns")
SECRET: Final = "rules[1]: !*.secret_*"  # noqa: S105 # a pattern of tables

FIRST: Final = [
    Event(ddl(ORDERS, 100, "orders")),
    Event(ddl("CREATE TABLE `log` (`id` INT PRIMARY KEY,`v` INT)", 101, "log")),
    Event(
        ddl("CREATE TABLE `secret_x` (`id` INT PRIMARY KEY,`v` INT)", 102, "secret_x"),
        SECRET,
    ),
    Event(orders("INSERT", 110, order(1))),
    Event(orders("INSERT", 111, order(2, "1000.01")), INSERT),
    Event(orders("INSERT", 112, order(3, status="test")), INSERT),
    Event(orders("INSERT", 113, order(4, "0.00"))),
    Event(keyed("INSERT", 114, "log", 1, 0)),
    Event(keyed("INSERT", 115, "secret_x", 1, 0), SECRET),
    Event(
        orders("UPDATE", 120, order(1, status="draft"), order(1)),
        NEW,
    ),
    Event(watermark(150)),
]
"""What the first build finds."""

THEN: Final = [
    # An update of a row that was never sent.
    Event(orders("UPDATE", 160, order(2, "30.00"), order(2, "1000.01"))),
    Event(orders("UPDATE", 161, order(1, status="frozen"), order(1, status="draft"))),
    Event(orders("UPDATE", 162, order(1), order(1, status="frozen")), OLD),
    Event(orders("UPDATE", 163, order(2, "30.00", seen=1), order(2, "30.00")), ONLY),
    # Its old value, with the column that was not sent.
    Event(orders("UPDATE", 164, order(2, "31.00", seen=2), order(2, "30.00", seen=1))),
    # A delete of a row that was never sent.
    Event(orders("DELETE", 165, order(3, status="test"))),
    Event(orders("DELETE", 166, order(4, "0.00")), DELETE),
    Event(keyed("UPDATE", 167, "log", 1, 5), "event-filters[1].ignore-event: update"),
    Event(keyed("DELETE", 168, "log", 1, 5), "event-filters[1].ignore-event: delete"),
    Event(
        ddl("ALTER TABLE `orders` ADD COLUMN `note` VARCHAR(20)", 170, "orders"),
        "event-filters[0].ignore-sql: add column .note",
    ),
    Event(orders("INSERT", 171, order(5, note="hi"))),
    Event(
        ddl("TRUNCATE TABLE `orders`", 180, "orders"),
        "event-filters[0].ignore-event: truncate table",
    ),
    Event(orders("INSERT", 181, order(6, note="ho"))),
    Event(ddl("RENAME TABLE `log` TO `secret_log`", 190, "secret_log")),
    Event(keyed("INSERT", 191, "secret_log", 2, 0), SECRET),
    Event(watermark(300)),
]
"""What the second build finds."""


def records(events: list[Event], first: int = 0) -> Rows:
    return [
        {"partition": 0, "offset": first + position, "value": event.value}
        for position, event in enumerate(events)
    ]


def sent(events: list[Event]) -> list[Event]:
    """Return what a filtered changefeed sends, from a database of another name."""
    return [
        Event(event.value.replace('"database": "db"', '"database": "sent"'))
        for event in events
        if event.rule is None
    ]


@dataclass
class Outcome:
    """What stood in the tables."""

    tables: dict[str, Rows]
    refused: Rows
    ddls: Rows
    filtered: list[int]
    names_only: dict[str, Rows]
    names_only_refused: list[str]
    rebuilt: dict[str, Rows]
    wrong: str


def _tables(pipeline: Pipeline) -> dict[str, Rows]:
    """Return every version of every table, without where it came from."""
    names = [path.stem for path in pipeline.folder.glob("models/history/*/*.sql")]
    return {
        name.removeprefix("scd2_"): pipeline.rows(
            "select * except (_cdc_batch_id, _cdc_row_hash, _cdc_version_id)"
            f" from verify.{name} order by id, _cdc_valid_from_sequence"
        )
        for name in names
    }


def _build(pipeline: Pipeline, command: str = "build") -> None:
    """Build as after `make models`."""
    pipeline.dbt("run", "--quiet", "--select", "+table_schemas")
    update_models(pipeline.folder, "verify", check=False)
    pipeline.dbt(command, "--quiet")


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    with scratch_project(PROJECT, "interpreted") as folder:
        rules = folder / "changefeed.toml"
        rules.write_text(FILTER, "utf-8")
        pipeline = Pipeline(
            folder, {"whole": 1, "sent": 1}, whole={"filter": rules.name}
        )
        pipeline.dbt("seed", "--quiet")
        pipeline.land("1", "whole", records(FIRST))
        pipeline.land("1", "sent", records(sent(FIRST)))
        _build(pipeline, "run")
        pipeline.land("2", "whole", records(THEN, len(FIRST)))
        pipeline.land("2", "sent", records(sent(THEN), len(sent(FIRST))))
        _build(pipeline)
        refused = pipeline.rows(
            "select * from verify.filtered_changes order by kafka_offset"
        )
        ddls = pipeline.rows(
            "select kafka_offset, outcome, filter_rule from verify.judged_ddls"
            " where kafka_topic = 'whole' order by kafka_offset"
        )
        balance = pipeline.rows(
            "select filtered from verify.balance order by kafka_topic"
        )
        tables = _tables(pipeline)

        rules.write_text(FILTER.replace("amount > 1000", "price > 1000"), "utf-8")
        log = folder / "logs" / "dbt.log"
        told = log.stat().st_size
        with pytest.raises(DbtFailedError):
            pipeline.dbt("run", "--quiet", "--select", "change_log")
        wrong = log.read_text("utf-8")[told:]
        rules.write_text(NAMES_ONLY, "utf-8")
        _build(pipeline)
        names_only = _tables(pipeline)
        names_only_refused = [
            row["filter_rule"]
            for row in pipeline.rows(
                "select distinct filter_rule from verify.filtered_changes"
            )
        ]
        pipeline.dbt("run", "--quiet", "--full-refresh", "--select", "+history")
        yield Outcome(
            tables=tables,
            refused=refused,
            ddls=ddls,
            filtered=[row["filtered"] for row in balance],
            names_only=names_only,
            names_only_refused=names_only_refused,
            rebuilt=_tables(pipeline),
            wrong=wrong,
        )


def test_the_tables_are_those_of_a_filtered_changefeed(outcome: Outcome) -> None:
    tables = outcome.tables
    assert tables.keys() == {
        *("db__orders", "db__secret_log"),
        *("sent__orders", "sent__secret_log"),
    }
    assert tables["db__orders"] == tables["sent__orders"]
    assert tables["db__secret_log"] == tables["sent__secret_log"]
    assert [row["id"] for row in tables["db__orders"] if row["is_current"]] == [
        *(1, 2, 4, 5, 6)
    ]


def test_each_refused_change_is_kept_with_its_rule(outcome: Outcome) -> None:
    shown = {row["kafka_offset"]: row["filter_rule"] for row in outcome.refused}
    assert shown == {
        offset: event.rule
        for offset, event in enumerate(FIRST + THEN)
        if event.rule is not None and '"isDdl": false' in event.value
    }


def test_each_ddl_is_kept_with_its_rule(outcome: Outcome) -> None:
    shown = {row["kafka_offset"]: row["filter_rule"] for row in outcome.ddls}
    assert shown == {
        offset: event.rule
        for offset, event in enumerate(FIRST + THEN)
        if '"isDdl": true' in event.value
    }
    assert [row["outcome"] for row in outcome.ddls] == [
        *("send", "send", "discard", "ignore", "ignore", "send")
    ]


def test_the_balance_counts_what_was_refused(outcome: Outcome) -> None:
    assert outcome.filtered == [0, len(outcome.refused)]


def test_a_rule_that_does_not_fit_its_table_stops_the_build_at_its_line(
    outcome: Outcome,
) -> None:
    line = FILTER[: FILTER.index("ignore-insert-value-expr")].count("\n") + 1
    assert f"changefeed.toml:{line}:" in outcome.wrong
    assert "price" in outcome.wrong


def test_another_rule_judges_what_came_before_too(outcome: Outcome) -> None:
    assert outcome.names_only_refused == [SECRET]
    assert outcome.names_only == outcome.rebuilt
    assert outcome.names_only["db__orders"] != outcome.tables["db__orders"]
