"""Messages that an older version could not read are read again, and take their place."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.generate.models import update_models
from changefold_tools.session import spark_session
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class ReplayedRow:
    """A row of which the older version could not read a change.

    Attributes:
        changes: Type, the value of `v` and the commit timestamp, in order.
        broken: Which of them could not be read, counted from 0.
        before: The versions without it: `v`, since when, until when.
        after: The versions once it is read.
    """

    changes: list[tuple[str, int, int]]
    broken: int
    before: list[tuple[int, int, int | None]]
    after: list[tuple[int, int, int | None]]


ROWS: Final = {
    "what_came_after_it_stays_the_current_row": ReplayedRow(
        [("INSERT", 1, 110), ("UPDATE", 2, 120), ("UPDATE", 3, 130)],
        broken=1,
        before=[(1, 110, 130), (3, 130, None)],
        after=[(1, 110, 120), (2, 120, 130), (3, 130, None)],
    ),
    "an_update_back_changes_something_again": ReplayedRow(
        [("INSERT", 1, 111), ("UPDATE", 2, 121), ("UPDATE", 1, 131)],
        broken=1,
        before=[(1, 111, None)],
        after=[(1, 111, 121), (2, 121, 131), (1, 131, None)],
    ),
    "a_delete_that_found_no_row_finds_it": ReplayedRow(
        [("INSERT", 1, 112), ("DELETE", 1, 132)],
        broken=0,
        before=[],
        after=[(1, 112, 132)],
    ),
    "an_insert_in_the_commit_of_its_delete_keeps_the_row": ReplayedRow(
        [("INSERT", 1, 113), ("DELETE", 1, 123), ("INSERT", 1, 123)],
        broken=1,
        before=[(1, 113, None)],
        after=[(1, 113, None)],
    ),
    "a_version_that_repeats_the_one_before_vanishes": ReplayedRow(
        [("INSERT", 1, 114), ("UPDATE", 2, 124), ("UPDATE", 2, 134)],
        broken=1,
        before=[(1, 114, 134), (2, 134, None)],
        after=[(1, 114, 124), (2, 124, None)],
    ),
    "the_last_change_of_a_commit_is_its_outcome": ReplayedRow(
        [("INSERT", 1, 115), ("UPDATE", 2, 125), ("UPDATE", 3, 125)],
        broken=2,
        before=[(1, 115, 125), (2, 125, None)],
        after=[(1, 115, 125), (3, 125, None)],
    ),
}
"""What must hold -> the row of which it must."""

IDS: Final = {name: 1 + position for position, name in enumerate(ROWS)}

LATER_ID: Final = 99

CHANGES: Final = [
    (IDS[name], change, row.broken == position)
    for name, row in ROWS.items()
    for position, change in enumerate(row.changes)
]
"""Id, what it is, and whether the older version could not read it."""

GARBAGE: Final = 0

BROKEN: Final = [
    2 + position for position, (*_, is_broken) in enumerate(CHANGES) if is_broken
]
"""Offsets of the messages that the older version could not read."""

FIRST: Final = 3 + len(CHANGES)
"""How many messages come at first; two more come later."""


def messages(table: str) -> list[str]:
    """Return what both topics get at first."""
    return [
        "garbage",
        ddl(f"CREATE TABLE `{table}` (`id` INT PRIMARY KEY,`v` INT)", 100, table),
        *(
            change(
                type_,
                {"id": str(id_), "v": str(v)},
                commit_ts,
                old={"v": "1"} if type_ == "UPDATE" else None,
                table=table,
            )
            for id_, (type_, v, commit_ts), _ in CHANGES
        ),
        watermark(200),
    ]


def later(table: str) -> list[str]:
    """Return what comes while the quarantine is read again."""
    row: dict[str, str | None] = {"id": str(LATER_ID), "v": "9"}
    return [change("INSERT", row, 210, table=table), watermark(300)]


def records(values: list[str], first: int = 0) -> Rows:
    return [
        {"partition": 0, "offset": first + position, "value": value}
        for position, value in enumerate(values)
    ]


def fill(pipeline: Pipeline, values: list[str], first: int = 0) -> None:
    """Fill a raw table as another tool would."""
    rows = ", ".join(
        f"(0, {record['offset']}, timestamp'2026-01-01', "
        f"unhex('{record['value'].encode().hex()}'))"
        for record in records(values, first)
    )
    pipeline.rows(f"insert into verify.filled_raw values {rows}")


def as_the_older_version_left_it(pipeline: Pipeline) -> None:
    """Put messages into quarantine that can be read."""
    for topic, offset in itertools.product(("landed", "filled"), BROKEN):
        value = messages(topic)[offset].encode().hex()
        pipeline.rows(
            "update verify.change_log set event_kind = 'invalid', "
            "error_class = 'older', error_message = 'Not known yet', "
            f"value = unhex('{value}'), quarantined_at = timestamp'2026-01-01', "
            "op = null, change_sequence = null, commit_ts = null, before = null, "
            "after = null, primary_key = null, column_types = null, "
            "source_table = null, parser_version = '0.0.1' "
            f"where kafka_topic = '{topic}' and kafka_offset = {offset}"
        )


def _history(pipeline: Pipeline, table: str) -> list[tuple[Any, ...]]:
    return [
        tuple(row.values())
        for row in pipeline.rows(
            "select id, v, _cdc_valid_from_sequence, _cdc_valid_to_sequence, is_current, "
            f"_cdc_op from verify.scd2_db__{table} order by 1, 3"
        )
    ]


def _parts_to_read(pipeline: Pipeline, condition: str) -> int:
    """Return how many parts of its files Spark reads to find messages of the raw table."""
    compiled = pipeline.dbt(
        *("compile", "--quiet", "--inline"),
        "select * from (select 'filled' as kafka_topic, 'filled' as record_topic, "
        "partition as kafka_partition, offset as kafka_offset, "
        f"cast(null as bigint) as batch_id from verify.filled_raw) where {condition}",
    )
    [result] = compiled.results
    found: int = spark_session().sql(result.node.compiled_code).rdd.getNumPartitions()
    return found


@dataclass
class Outcome:
    """What stood in the tables: before, after and from nothing.

    Attributes:
        before: Table -> its history.
        after: The same, once the quarantine was read again.
        rebuilt: The same, after a full refresh.
        quarantined: At each of these times.
        balance: Likewise.
        current: The current rows of one table, afterwards.
        runs: The rows of the run log.
        unread: How much of the raw table that another tool fills the next build reads.
        all_parts: How much of it there is.
    """

    before: dict[str, list[tuple[Any, ...]]]
    after: dict[str, list[tuple[Any, ...]]]
    rebuilt: dict[str, list[tuple[Any, ...]]]
    quarantined: list[Rows]
    balance: list[Rows]
    current: Rows
    runs: Rows
    unread: int
    all_parts: int


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    quarantined, balance = [], []
    tables = ("landed", "filled")
    with scratch_project(PROJECT, "interpreted") as folder:
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
        pipeline.land("2", "landed", records(later("landed"), FIRST))
        fill(pipeline, later("filled"), FIRST)
        pipeline.dbt("build", "--quiet")
        after = look()
        current = pipeline.rows("select id, v from verify.cur_db__landed order by id")
        parts = [
            _parts_to_read(pipeline, condition)
            for condition in ("{{ is_unread() }}", "true")
        ]
        pipeline.dbt("run", "--quiet", "--full-refresh")
        runs = pipeline.rows(
            "select * from verify.run_log where kafka_topic = 'landed' order by finished_at"
        )
        yield Outcome(
            before, after, look(), quarantined, balance, current, runs, *parts
        )


def versions(history: list[tuple[Any, ...]], id_: int) -> list[tuple[Any, ...]]:
    """Return `v`, since when and until when, of the versions of a row."""
    return [
        (v, int(begin), None if end is None else int(end))
        for id_there, v, begin, end, *_ in history
        if id_there == id_
    ]


@pytest.mark.parametrize("table", ["landed", "filled"])
@pytest.mark.parametrize("name", ROWS)
def test_a_change_that_is_read_again_takes_its_place_in_the_history(
    outcome: Outcome, name: str, table: str
) -> None:
    assert versions(outcome.before[table], IDS[name]) == ROWS[name].before
    assert versions(outcome.after[table], IDS[name]) == ROWS[name].after


def test_what_came_while_it_was_read_again_is_there(outcome: Outcome) -> None:
    assert outcome.current == [
        {"id": id_, "v": ROWS[name].after[-1][0]}
        for name, id_ in IDS.items()
        if ROWS[name].after[-1][2] is None
    ] + [{"id": LATER_ID, "v": 9}]


@pytest.mark.parametrize("table", ["landed", "filled"])
def test_tables_equal_those_of_a_full_rebuild(outcome: Outcome, table: str) -> None:
    assert outcome.after[table] == outcome.rebuilt[table]


def test_what_still_can_not_be_read_is_back_in_quarantine(outcome: Outcome) -> None:
    before, after, _ = outcome.quarantined
    assert {(row["kafka_topic"], row["kafka_offset"]) for row in before} == {
        (topic, offset)
        for topic in ("landed", "filled")
        for offset in [*BROKEN, GARBAGE]
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
    names = ["messages_read", "applied", "quarantined"]
    applied, broken = len(CHANGES) - len(BROKEN), len(BROKEN)
    for row in before:
        assert [row[name] for name in names] == [FIRST, applied, broken + 1]
    for row in after:
        assert [row[name] for name in names] == [FIRST + 2, len(CHANGES) + 1, 1]
    counts = ["kafka_topic", "messages_read", "events", "applied", "control"]
    assert [[row[name] for name in counts] for row in after] == [
        [row[name] for name in counts] for row in rebuilt
    ]


def test_of_a_raw_table_that_another_tool_fills_no_file_is_opened_again(
    outcome: Outcome,
) -> None:
    assert outcome.unread == 0
    assert outcome.all_parts > 0


def test_each_run_has_written_down_what_it_did(outcome: Outcome) -> None:
    counts = ["messages_read", "applied", "quarantined", "control", "beyond_cut"]
    assert [[run[name] for name in counts] for run in outcome.runs] == [
        [FIRST, len(CHANGES) - len(BROKEN), len(BROKEN) + 1, 2, 0],
        [2, len(BROKEN) + 1, -len(BROKEN), 1, 0],
        [FIRST + 2, len(CHANGES) + 1, 1, 3, 0],
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
    assert read == [(0, 0, FIRST - 1), (0, FIRST, FIRST + 1), (0, 0, FIRST + 1)]
    first, second, _ = outcome.runs
    assert second["first_batch_id"] == first["last_batch_id"] + 1
    assert second["last_batch_id"] >= second["first_batch_id"]
    assert {"changes", "history"} <= second["node_seconds"].keys()
    assert second["started_at"] < second["finished_at"]
    assert len({run["run_id"] for run in outcome.runs}) == 3
