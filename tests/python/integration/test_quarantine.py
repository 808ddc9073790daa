"""Messages that an older version could not read are read again, and take their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.models import update_models
from changefold_tools.verify import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[dict[str, Any]]

BROKEN: Final = 2
"""Offset of the message that the older version could not read."""

GARBAGE: Final = 3


def messages(table: str) -> list[str]:
    """Return what both topics get at first: one key changes twice, another comes."""
    row: dict[str, str | None] = {"id": "1", "v": "1"}
    return [
        ddl(f"CREATE TABLE `{table}` (`id` INT PRIMARY KEY,`v` INT)", 100, table),
        change("INSERT", row, 110, table=table),
        change("UPDATE", {"id": "1", "v": "2"}, 120, old=row, table=table),
        "garbage",
        change("UPDATE", {"id": "1", "v": "3"}, 130, old={"v": "2"}, table=table),
        watermark(200),
    ]


def later(table: str) -> list[str]:
    """Return what comes while the quarantine is read again."""
    return [change("INSERT", {"id": "2", "v": "9"}, 210, table=table), watermark(300)]


def records(values: list[str], first: int = 0) -> Rows:
    return [
        {"partition": 0, "offset": first + position, "value": value}
        for position, value in enumerate(values)
    ]


def fill(pipeline: Pipeline, values: list[str], first: int = 0) -> None:
    """Fill a raw table as another tool would."""
    for record in records(values, first):
        value = record["value"].encode().hex()
        pipeline.rows(
            f"insert into verify.filled_raw values (0, {record['offset']}, "
            f"timestamp'2026-01-01', unhex('{value}'))"
        )


def as_the_older_version_left_it(pipeline: Pipeline) -> None:
    """Put a message into quarantine that can be read."""
    for topic in ("landed", "filled"):
        value = messages(topic)[BROKEN].encode().hex()
        pipeline.rows(
            "update verify.change_log set event_kind = 'invalid', "
            "error_class = 'older', error_message = 'Not known yet', "
            f"value = unhex('{value}'), quarantined_at = timestamp'2026-01-01', "
            "op = null, change_sequence = null, commit_ts = null, before = null, "
            "after = null, primary_key = null, column_types = null, "
            "source_table = null, parser_version = '0.0.1' "
            f"where kafka_topic = '{topic}' and kafka_offset = {BROKEN}"
        )


def _history(pipeline: Pipeline, table: str) -> list[tuple[Any, ...]]:
    return [
        tuple(row.values())
        for row in pipeline.rows(
            "select id, v, _cdc_valid_from_sequence, _cdc_valid_to_sequence, is_current, "
            f"_cdc_op from verify.scd2_db__{table} order by all"
        )
    ]


@dataclass
class Outcome:
    """What stood in the tables: before, after and from nothing."""

    before: dict[str, list[tuple[Any, ...]]]
    after: dict[str, list[tuple[Any, ...]]]
    rebuilt: dict[str, list[tuple[Any, ...]]]
    quarantined: list[Rows]
    balance: list[Rows]
    current: Rows
    runs: Rows


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    quarantined, balance = [], []
    tables = ("landed", "filled")
    with scratch_project(PROJECT) as folder:
        filled = {"files": None, "table": "verify.filled_raw"}
        pipeline = Pipeline(folder, {"landed": 1, "filled": 1}, filled=filled)
        pipeline.land("1", "landed", records(messages("landed")))
        pipeline.dbt("seed", "--quiet")
        pipeline.rows(
            "create table verify.filled_raw "
            "(partition int, offset bigint, timestamp timestamp, value binary) using iceberg"
        )
        fill(pipeline, messages("filled"))
        pipeline.dbt("run", "--quiet", "--select", "+change_log")
        as_the_older_version_left_it(pipeline)
        pipeline.dbt("run", "--quiet")
        update_models(folder, "verify", check=False)
        pipeline.dbt("run", "--quiet", "--select", "history", "current")

        def look() -> dict[str, list[tuple[Any, ...]]]:
            quarantined.append(
                pipeline.rows("select * from verify.quarantined_messages order by all")
            )
            balance.append(pipeline.rows("select * from verify.balance order by 1"))
            return {table: _history(pipeline, table) for table in tables}

        before = look()
        pipeline.dbt("run-operation", "replay_quarantine", "--quiet")
        pipeline.land("2", "landed", records(later("landed"), len(messages(""))))
        fill(pipeline, later("filled"), len(messages("")))
        pipeline.dbt("build", "--quiet")
        after = look()
        current = pipeline.rows("select id, v from verify.cur_db__landed order by id")
        pipeline.dbt("run", "--quiet", "--full-refresh")
        runs = pipeline.rows(
            "select * from verify.run_log where kafka_topic = 'landed' order by finished_at"
        )
        yield Outcome(before, after, look(), quarantined, balance, current, runs)


@pytest.mark.parametrize("table", ["landed", "filled"])
def test_a_change_that_is_read_again_takes_its_place_in_the_history(
    outcome: Outcome, table: str
) -> None:
    assert [row[1] for row in outcome.before[table]] == [1, 3]
    assert [row[1:3] for row in outcome.after[table]] == [
        (1, f"{110:020}"),
        (2, f"{120:020}"),
        (3, f"{130:020}"),
        (9, f"{210:020}"),
    ]
    assert [row[4] for row in outcome.after[table]] == [False, False, True, True]


def test_what_came_after_it_stays_the_current_row(outcome: Outcome) -> None:
    assert outcome.current == [{"id": 1, "v": 3}, {"id": 2, "v": 9}]


@pytest.mark.parametrize("table", ["landed", "filled"])
def test_tables_equal_those_of_a_full_rebuild(outcome: Outcome, table: str) -> None:
    assert outcome.after[table] == outcome.rebuilt[table]


def test_what_still_can_not_be_read_is_back_in_quarantine(outcome: Outcome) -> None:
    before, after, _ = outcome.quarantined
    assert {(row["kafka_topic"], row["kafka_offset"]) for row in before} == {
        (topic, offset)
        for topic in ("landed", "filled")
        for offset in (BROKEN, GARBAGE)
    }
    assert {row["replays"] for row in before} == {0}
    assert {
        (row["kafka_topic"], row["kafka_offset"], row["replays"]) for row in after
    } == {("landed", GARBAGE, 1), ("filled", GARBAGE, 1)}
    first_seen = {
        (row["kafka_topic"], row["kafka_offset"]): row["quarantined_at"]
        for row in before
    }
    for row in after:
        assert row["quarantined_at"] == first_seen[row["kafka_topic"], GARBAGE]
        assert row["ingested_at"] > row["quarantined_at"]
        assert bytes(row["value"]) == b"garbage"


def test_the_balance_counts_each_message_once(outcome: Outcome) -> None:
    before, after, rebuilt = outcome.balance
    for row in before:
        assert (row["messages_read"], row["applied"], row["quarantined"]) == (6, 2, 2)
    for row in after:
        assert (row["messages_read"], row["applied"], row["quarantined"]) == (8, 4, 1)
    counts = ["kafka_topic", "messages_read", "events", "applied", "control"]
    assert [[row[name] for name in counts] for row in after] == [
        [row[name] for name in counts] for row in rebuilt
    ]


def test_each_run_has_written_down_what_it_did(outcome: Outcome) -> None:
    counts = ["messages_read", "applied", "quarantined", "control", "beyond_cut"]
    assert [[run[name] for name in counts] for run in outcome.runs] == [
        [6, 2, 2, 2, 0],
        [2, 2, -1, 1, 0],
        [8, 4, 1, 3, 0],
    ]
    assert [run["command"] for run in outcome.runs] == ["run", "build", "run"]
    assert {run["status"] for run in outcome.runs} == {"success"}
    assert [(run["cut_before"], run["cut_after"]) for run in outcome.runs] == [
        (None, f"{200:020}"),
        (f"{200:020}", f"{300:020}"),
        (None, f"{300:020}"),
    ]
    read = [
        (place["kafka_partition"], place["first_offset"], place["last_offset"])
        for run in outcome.runs
        for place in run["offsets"]
    ]
    assert read == [(0, 0, 5), (0, 6, 7), (0, 0, 7)]
    first, second, _ = outcome.runs
    assert second["first_batch_id"] == first["last_batch_id"] + 1
    assert second["last_batch_id"] >= second["first_batch_id"]
    assert {"changes", "history"} <= second["node_seconds"].keys()
    assert second["started_at"] < second["finished_at"]
    assert len({run["run_id"] for run in outcome.runs}) == 3
