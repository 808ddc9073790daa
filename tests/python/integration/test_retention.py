"""What was read long ago goes from the warehouse, and the tables stay as they are."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.generate.models import update_models
from changefold_tools.session import DbtFailedError
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[dict[str, Any]]

ROW: Final[dict[str, str | None]] = {"id": "1", "v": "1"}
CHANGED: Final[dict[str, str | None]] = {"id": "1", "v": "2"}
BEFORE_THE_CUT: Final = -1
"""Milliseconds: commit timestamps of a few hundred are those of 1970."""
LONG_AFTER: Final = 86_400_000

OLD: Final = [
    ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` INT)", 100),
    change("INSERT", ROW, 110),
    change("INSERT", ROW, 110),
    "garbage",
    watermark(150),
    change("UPDATE", CHANGED, 160, old=ROW),
    watermark(200),
]
NEW: Final = [
    ddl("ALTER TABLE `t` ADD COLUMN `w` INT DEFAULT 7", 210),
    change("INSERT", {"id": "2", "v": "9", "w": "8"}, 220),
    watermark(300),
]
"""Its DDL has the history built again from the changes."""

LATER: Final = [
    message
    for ts in (310, 330, 350)
    for message in (
        change("UPDATE", {"id": "1", "v": str(ts), "w": "7"}, ts, old=CHANGED),
        watermark(ts + 10),
    )
]
"""Three runs' worth of messages."""

FILES: Final = (
    "change_log.data_files",
    "row_versions.data_files",
    "row_versions.delete_files",
    "row_versions.snapshots",
    "raw_t.data_files",
)
"""Tables of Iceberg's metadata that tell what is on the disk."""


@dataclass
class Look:
    """What stands in the warehouse."""

    raw: list[int]
    kinds: list[str]
    history: list[tuple[Any, ...]]
    quarantined: int
    balance: Rows


@dataclass
class Outcome:
    """What the warehouse and the screen showed, step by step."""

    full: Look
    dry: Look
    pruned: Look
    later: Look
    recounted: Look
    scattered: Look
    maintained: Look
    after_all: Look
    files: list[list[int]]
    ledger: Rows
    said: str
    refused: str
    anew_refused: str


def _look(pipeline: Pipeline) -> Look:
    return Look(
        [r["offset"] for r in pipeline.rows("select * from verify.raw_t order by 3")],
        [
            f"{row['kafka_offset']} {row['event_kind']}"
            for row in pipeline.rows("select * from verify.change_log order by all")
        ],
        [
            tuple(row.values())
            for row in pipeline.rows(
                "select id, v, _cdc_valid_from_sequence, _cdc_valid_to_sequence "
                "from verify.scd2_db__t order by all"
            )
        ],
        len(pipeline.rows("select * from verify.quarantined_messages")),
        pipeline.rows("select * from verify.balance"),
    )


def _land(pipeline: Pipeline, values: list[str]) -> None:
    records = [
        {"partition": 0, "offset": offset, "value": value, "timestamp": BEFORE_THE_CUT}
        for offset, value in enumerate(values)
    ]
    pipeline.land("1", "t", records)


def _files(pipeline: Pipeline) -> list[int]:
    """Return what of the tables is on the disk."""
    return [
        pipeline.rows(f"select count(*) as count from verify.{name}")[0]["count"]
        for name in FILES
    ]


def _prune(pipeline: Pipeline, arguments: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        pipeline.dbt("run-operation", "prune", "--args", arguments)
    return " ".join(said.getvalue().split())


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(folder, {"t": 1})
        _land(pipeline, OLD)
        pipeline.dbt("run", "--quiet", "--select", "+table_schemas")
        update_models(folder, "verify", check=False)
        pipeline.dbt("run", "--quiet")
        full = _look(pipeline)
        said = _prune(pipeline, "{days: 0, dry_run: true}")
        dry = _look(pipeline)
        _prune(pipeline, "{days: 0, keep_snapshots_hours: 0}")
        pruned = _look(pipeline)

        # As a kill between the note and the deletion would leave it.
        pipeline.rows("update verify.pruned_messages set is_done = false")
        columns = "partition, offset, timestamp, key, value, headers, landed_from"
        pipeline.rows(
            f"insert into verify.raw_t select topic, {columns.replace('offset', '0')}, "
            "landed_at, batch_id from verify.raw_t"
        )
        _land(pipeline, OLD + NEW)
        pipeline.dbt("run", "--quiet")
        update_models(folder, "verify", check=False)
        pipeline.dbt("build", "--quiet")
        later = _look(pipeline)
        refused = io.StringIO()
        with pytest.raises(DbtFailedError), contextlib.redirect_stdout(refused):
            pipeline.dbt("run", "--full-refresh")
        pipeline.dbt(
            *("build", "--quiet", "--full-refresh"),
            *("--exclude", "change_log", "watermarks"),
        )
        recounted = _look(pipeline)
        for count in (2, 4):
            _land(pipeline, OLD + NEW + LATER[:count])
            pipeline.dbt("run", "--quiet")
        scattered, files = _look(pipeline), [_files(pipeline)]
        pipeline.dbt(
            *("run-operation", "maintain", "--args"),
            "{tables: [raw_t, change_log, row_versions, balance],"
            " keep_snapshots_hours: 0, min_files: 2, orphan_hours: 24}",
        )
        maintained = _look(pipeline)
        files.append(_files(pipeline))
        _land(pipeline, OLD + NEW + LATER)
        pipeline.dbt("run", "--quiet")
        whole = _look(pipeline)
        anew = {"partition": 0, "offset": 0, "value": OLD[0], "timestamp": LONG_AFTER}
        pipeline.land("anew", "t", [anew])
        anew_refused = io.StringIO()
        with pytest.raises(DbtFailedError), contextlib.redirect_stdout(anew_refused):
            pipeline.dbt("run")
        yield Outcome(
            full,
            dry,
            pruned,
            later,
            recounted,
            scattered,
            maintained,
            whole,
            files,
            pipeline.rows("select * from verify.pruned_messages"),
            said,
            " ".join(refused.getvalue().split()),
            " ".join(anew_refused.getvalue().split()),
        )


def test_what_was_read_goes_but_the_last_message(outcome: Outcome) -> None:
    assert outcome.full.raw == [0, 1, 2, 3, 4, 5, 6]
    assert outcome.pruned.raw == [6]
    assert outcome.pruned.kinds == ["0 ddl", "1 row", "5 row", "6 watermark"]
    assert (outcome.full.quarantined, outcome.pruned.quarantined) == (1, 0)


def test_a_dry_run_says_what_would_go_and_takes_nothing(outcome: Outcome) -> None:
    assert (
        "Would prune t, partition 0, up to offset 5: 6 raw message(s)" in outcome.said
    )
    assert "1 quarantined one(s), which can not be replayed" in outcome.said
    assert outcome.dry == outcome.full


def test_histories_stay_and_are_built_again_after_a_ddl(outcome: Outcome) -> None:
    assert outcome.pruned.history == outcome.full.history
    assert [row[:3] for row in outcome.later.history] == [
        (1, 1, f"{110:020}"),
        (1, 2, f"{160:020}"),
        (1, 2, f"{210:020}"),
        (2, 9, f"{220:020}"),
    ]


def test_what_was_pruned_does_not_land_again(outcome: Outcome) -> None:
    assert outcome.later.raw == [6, 7, 8, 9]


def test_a_newer_message_where_one_was_pruned_stops_the_run(outcome: Outcome) -> None:
    assert "t_anew.ndjson has another message at partition 0, offset 0" in (
        outcome.anew_refused
    )


def test_the_balance_counts_what_was_pruned(outcome: Outcome) -> None:
    assert outcome.pruned.balance == outcome.full.balance
    counts = ("messages_read", "applied", "duplicates", "quarantined", "control")
    for look in (outcome.later, outcome.recounted):
        (row,) = look.balance
        assert tuple(row[name] for name in counts) == (10, 3, 1, 1, 5)


def test_what_a_killed_run_wrote_down_the_next_build_ends(outcome: Outcome) -> None:
    assert [
        (row["last_offset"], row["messages"], row["events"], row["is_done"])
        for row in outcome.ledger
    ] == [(5, 6, 3, True)]


def test_a_full_refresh_of_the_log_is_refused_that_of_the_rest_is_not(
    outcome: Outcome,
) -> None:
    assert "messages have been pruned and can not be read again" in outcome.refused
    assert "(topic `t`, partition 0, up to offset 5)" in outcome.refused
    assert outcome.recounted.history == outcome.later.history


def test_maintenance_joins_files_and_changes_no_row(outcome: Outcome) -> None:
    assert outcome.maintained == outcome.scattered
    before, after = (dict(zip(FILES, counts, strict=True)) for counts in outcome.files)
    assert before["change_log.data_files"] > 3  # a file for each kind of event
    assert before["row_versions.delete_files"] > 0
    # Of the versions, one of what is current and one of what has ended.
    assert [after[name] for name in FILES[:3]] == [3, 2, 0]
    assert after["raw_t.data_files"] == 1
    assert after["row_versions.snapshots"] < before["row_versions.snapshots"]


def test_builds_go_on_after_maintenance(outcome: Outcome) -> None:
    assert [row[:3] for row in outcome.after_all.history] == [
        (1, 1, f"{110:020}"),
        (1, 2, f"{160:020}"),
        (1, 2, f"{210:020}"),
        (1, 310, f"{310:020}"),
        (1, 330, f"{330:020}"),
        (1, 350, f"{350:020}"),
        (2, 9, f"{220:020}"),
    ]
