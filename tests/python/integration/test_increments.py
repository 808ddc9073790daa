"""What waits for a schema, what a DDL leaves in doubt, and rows without a key, from
build to build.

All topics go through the same builds, as a build costs many seconds.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline
from messages import (
    bootstrap,
    change,
    ddl,
    debezium_of_ticdc,
    simple_insert,
    simple_watermark,
    watermark,
)

from changefold_tools.generate.models import update_models
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

HASHED: Final = "CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` INT) PARTITION BY HASH (`id`) PARTITIONS 4"
SNAPSHOT: Final = 500
EPOCH: Final = 1_700_000_000_000
"""Milliseconds; times of the topic without commit timestamps count from here."""


def records(
    values: list[str], first: int = 0, partition: int = 0
) -> list[dict[str, Any]]:
    return [
        {"partition": partition, "offset": first + position, "value": value}
        for position, value in enumerate(values)
    ]


@dataclass
class Outcome:
    """What stood in the tables after each build."""

    pending: list[list[tuple[str, int]]]
    cuts: list[int]
    applied: list[set[tuple[str, int]]]
    needs_snapshot: list[list[tuple[str, str | None]]]
    not_found: list[list[str]]
    current: list[set[int]]
    late: list[list[tuple[int, int]]]
    copies: list[list[tuple[int, int | None, int]]]
    copy_versions: list[tuple[int, int, int, int | None]]
    moved: list[set[int]]
    notes: list[list[tuple[int, int]]]
    emptied: list[set[int]]
    unmarked: list[list[tuple[int, int]]]
    added: list[tuple[int, ...]]
    added_rows: list[int]
    late_counts: list[str]


def unkeyed(
    event_type: str,
    data: tuple[str, str | None],
    commit_ts: int,
    old: tuple[str, str | None] | None = None,
) -> str:
    """Return the message of a change of a table without a key."""
    return change(
        event_type,
        dict(zip("ab", data, strict=True)),
        commit_ts,
        old=None if old is None else dict(zip("ab", old, strict=True)),
        table="copies",
        pkNames=None,
    )


def moved(event_type: str, id_: int, batch: int, old: int | None = None) -> str:
    """Return the message of Canal of a change in a topic of several partitions."""
    return change(
        event_type,
        {"id": str(id_)},
        None,
        old=None if old is None else {"id": str(old)},
        table="moved",
        es=EPOCH,
        ts=EPOCH + batch,
    )


def land_moved(pipeline: Pipeline, run: int) -> None:
    """Land rows of Canal whose keys change, and change back in the same batch.

    Keys below 100 are in partition 0. A change of the key is where the new one is. With
    each build comes a row of a table without a key, all in one second.
    """
    create = "CREATE TABLE `moved` (`id` INT PRIMARY KEY)"
    inserts = [moved("INSERT", id_, 10) for id_ in (1, 2, 3)]
    away = [moved("UPDATE", id_, 20, old=id_ - 100) for id_ in (102, 104)]
    away += [moved("UPDATE", id_, 30, old=id_ - 100) for id_ in (101, 103)]
    back = [moved("UPDATE", id_, 30, old=id_ + 100) for id_ in (1, 3)]
    parts = {
        1: [
            records(
                [ddl(create, None, "moved", EPOCH), *inserts, moved("INSERT", 4, 20)]
            ),
            records(away[:2], partition=1),
        ],
        2: [records(away[2:], first=3, partition=1), records(back[:1], first=5)],
        3: [records(back[1:], first=6)],
    }
    note = change(
        "INSERT",
        {"a": str(run)},
        None,
        table="notes",
        pkNames=None,
        es=EPOCH,
        ts=EPOCH + (20, 30, 30)[run - 1],
    )
    parts[run].append(records([note], first=(2, 5, 6)[run - 1], partition=1))
    for number, part in enumerate(parts[run]):
        pipeline.land(f"{run}_{number}", "moved", part)


def land_emptied(pipeline: Pipeline) -> None:
    """Land a TRUNCATE of Canal, and rows of another partition: all in one second.

    The row of its own batch has a lower offset than the TRUNCATE.
    """

    def inserted(id_: int, batch: int) -> str:
        return change(
            "INSERT",
            {"id": str(id_)},
            None,
            table="emptied",
            es=EPOCH,
            ts=EPOCH + batch,
        )

    create = ddl(
        "CREATE TABLE `emptied` (`id` INT PRIMARY KEY)", None, "emptied", EPOCH
    )
    truncate = json.loads(ddl("TRUNCATE TABLE `emptied`", None, "emptied", EPOCH))
    truncate["ts"] = EPOCH + 20
    before = [create, inserted(1, 10), inserted(2, 10), json.dumps(truncate)]
    pipeline.land("1", "emptied", records(before))
    others = [inserted(101, 10), inserted(102, 20)]
    pipeline.land("2", "emptied", records(others, partition=1))


def land_unmarked(pipeline: Pipeline, run: int) -> None:
    """Land Debezium messages of TiCDC in a topic without watermarks."""
    changes = {
        1: [("c", 1, 1), ("c", 2, 1), ("c", 3, 1)],
        2: [("u", 1, 2), ("d", 2, 1)],
        3: [("c", 2, 3)],
    }
    first = sum(len(changes[before]) for before in range(1, run))
    landed = [
        {
            **record,
            "key": json.dumps({"payload": {"id": id_}}),
            "value": debezium_of_ticdc(op, {"id": id_, "v": v}, (run << 18) + number),
        }
        for number, (op, id_, v) in enumerate(changes[run])
        for record in records([""], first=first + number)
    ]
    pipeline.land(str(run), "unmarked", landed)


def land_added(pipeline: Pipeline, run: int) -> None:
    """Land rows of a changefeed that is resumed, below the cut, with one more table.

    The schema of that table comes a build later than its row.
    """
    known = simple_insert("known", 1, version=1, commit_ts=100)
    added = simple_insert("added", 1, version=5, commit_ts=110)
    parts = {
        1: [bootstrap("known", version=1), known, simple_watermark(200)],
        2: [known, added, simple_watermark(300)],
        3: [bootstrap("added", version=5), simple_watermark(400)],
    }
    pipeline.land(str(run), "added", records(parts[run], first=3 * (run - 1)))


def land_own(pipeline: Pipeline, run: int) -> None:
    """Land what the topics that have a function of their own get before a build."""
    land_added(pipeline, run)
    land_moved(pipeline, run)
    land_unmarked(pipeline, run)
    if run == 1:
        land_emptied(pipeline)


def land_late_and_hashed(pipeline: Pipeline) -> None:
    """Land what the first build has of the topics whose DDLs act on rows."""
    create = "CREATE TABLE `late` (`id` INT PRIMARY KEY)"
    widen = "ALTER TABLE `late` ADD COLUMN `w` INT DEFAULT 7"
    pipeline.land(
        "1",
        "late",
        records(
            [
                ddl(create, None, "late", EPOCH + 10),
                *(
                    change("INSERT", {"id": id_}, None, table="late", es=EPOCH + 20)
                    for id_ in ("1", "2")
                ),
                ddl(widen, None, "late", EPOCH + 40),
                change(
                    "DELETE",
                    {"id": "3", "w": "1"},
                    None,
                    table="late",
                    es=EPOCH + 60,
                ),
            ]
        ),
    )
    truncate = "ALTER TABLE `t` TRUNCATE PARTITION `p1`"
    pipeline.land(
        "1",
        "hashed",
        records(
            [
                ddl(HASHED, 100),
                *(change("INSERT", {"id": str(n), "v": "1"}, 150) for n in range(4)),
                ddl(truncate, 200),
                watermark(300),
            ]
        ),
    )


def look(pipeline: Pipeline, seen: Outcome) -> None:
    """Add what stands in the tables after a build."""
    seen.pending.append(
        [
            (row["source_table"], row["commit"])
            for row in pipeline.rows(
                "select source_table, int(change_sequence) as commit "
                "from verify.pending_changes where kafka_topic = 'versions' order by all"
            )
        ]
    )
    [cut] = pipeline.rows(
        "select cut_ts from verify.resolved_cuts where kafka_topic = 'versions'"
    )
    seen.cuts.append(cut["cut_ts"])
    seen.applied.append(
        {
            (row["source_table"], row["commit_ts"])
            for row in pipeline.rows(
                "select source_table, commit_ts from verify.changes "
                "where kafka_topic = 'versions'"
            )
        }
    )
    seen.needs_snapshot.append(
        [
            (row["ddl_sql"], row["cleared_sequence"])
            for row in pipeline.rows(
                "select * from verify.needs_snapshot where kind <> 'rows_not_found'"
            )
        ]
    )
    seen.not_found.append(
        [
            row["source_table"]
            for row in pipeline.rows(
                "select source_table from verify.needs_snapshot "
                "where kind = 'rows_not_found' order by all"
            )
        ]
    )
    current = pipeline.rows("select id from verify.cur_db__t")
    seen.current.append({row["id"] for row in current})
    late = pipeline.rows("select id, w from verify.cur_db__late order by id")
    seen.late.append([(row["id"], row["w"]) for row in late])
    copies = pipeline.rows(
        "select a, b, _cdc_copy from verify.cur_db__copies order by all"
    )
    seen.copies.append([(row["a"], row["b"], row["_cdc_copy"]) for row in copies])
    there = pipeline.rows("select id from verify.cur_db__moved")
    seen.moved.append({row["id"] for row in there})
    notes = pipeline.rows("select a, _cdc_copy from verify.cur_db__notes")
    seen.notes.append(sorted((row["a"], row["_cdc_copy"]) for row in notes))
    seen.emptied.append(
        {row["id"] for row in pipeline.rows("select id from verify.cur_db__emptied")}
    )
    rows = pipeline.rows("select id, v from verify.cur_db__unmarked order by id")
    seen.unmarked.append([(row["id"], row["v"]) for row in rows])
    [row] = pipeline.rows(
        "select cut_ts, applied, duplicates, pending, applied_late "
        "from verify.balance inner join verify.resolved_cuts using (kafka_topic) "
        "where kafka_topic = 'added'"
    )
    seen.added.append(tuple(row.values()))


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    seen = Outcome(*([] for _ in range(16)))
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(
            folder,
            {
                "versions": 1,
                "hashed": 1,
                "late": 2,
                "copies": 1,
                "moved": 2,
                "emptied": 2,
                "unmarked": 1,
                "added": 1,
            },
            versions={"protocol": "ticdc_simple"},
            added={"protocol": "ticdc_simple"},
            moved={"protocol": "canal_json"},
            emptied={"protocol": "canal_json"},
            unmarked={
                "protocol": "debezium",
                "has_watermarks": False,
                "types": {"db.unmarked": {"id": "int", "v": "int"}},
            },
        )

        def build() -> None:
            pipeline.dbt("run", "--quiet")
            if update_models(folder, "verify", check=False).written:
                pipeline.dbt("run", "--quiet")
            look(pipeline, seen)

        land_late_and_hashed(pipeline)
        gone = change("DELETE", {"id": "1"}, None, table="late", es=EPOCH + 30)
        pipeline.land(
            "1",
            "versions",
            records(
                [
                    simple_insert("a", 1, version=10, commit_ts=100),
                    simple_insert("b", 1, version=20, commit_ts=110),
                    simple_watermark(200),
                ]
            ),
        )
        pipeline.land(
            "1",
            "copies",
            records(
                [
                    unkeyed("INSERT", ("1", None), 10),
                    unkeyed("INSERT", ("2", "7"), 15),
                    unkeyed("INSERT", ("1", None), 20),
                    unkeyed("INSERT", ("1", None), 20),
                    unkeyed("INSERT", ("1", None), 30),
                    watermark(100),
                ]
            ),
        )
        land_own(pipeline, 1)
        build()
        newer = [bootstrap("a", version=11), simple_watermark(300)]
        pipeline.land("2", "versions", records(newer, first=3))
        # The rows that TRUNCATE PARTITION left, and one that is new.
        snapshot = [
            change("INSERT", {"id": str(n), "v": "1"}, SNAPSHOT) for n in (0, 2, 3, 9)
        ]
        pipeline.land(
            "2", "hashed", records([*snapshot, watermark(SNAPSHOT + 1)], first=7)
        )
        pipeline.declare("hashed", snapshots={"db.t": SNAPSHOT})
        pipeline.land("2", "late", records([gone], partition=1))
        changed = [
            unkeyed("DELETE", ("1", None), 110),
            unkeyed("DELETE", ("3", "3"), 115),
            unkeyed("UPDATE", ("1", None), 120, old=("2", "7")),
            watermark(200),
        ]
        pipeline.land("2", "copies", records(changed, first=6))
        land_own(pipeline, 2)
        build()
        pipeline.land("3", "versions", records([bootstrap("a", version=10)], first=5))
        truncated = [
            ddl("TRUNCATE TABLE `copies`", 210, "copies"),
            unkeyed("INSERT", ("1", None), 220),
            watermark(300),
        ]
        pipeline.land("3", "copies", records(truncated, first=10))
        ended = change(
            "INSERT", {"id": "3", "w": "1"}, None, table="late", es=EPOCH + 50
        )
        pipeline.land("3", "late", records([ended], first=1, partition=1))
        land_own(pipeline, 3)
        build()
        seen.copy_versions += [
            (row["a"], row["copy"], row["since"], row["until"])
            for row in pipeline.rows(
                "select a, _cdc_copy as copy, int(_cdc_valid_from_sequence) as since, "
                "int(_cdc_valid_to_sequence) as until "
                "from verify.scd2_db__copies order by all"
            )
        ]
        said = (folder / "logs" / "dbt.log").read_text("utf-8")
        seen.late_counts += re.findall(r"(\d+ change\(s\) of `\w+`) came below", said)
        added = pipeline.rows("select id from verify.cur_db__added")
        seen.added_rows += [row["id"] for row in added]
        yield seen


def test_a_change_waits_for_the_version_that_wrote_it_and_no_newer_one(
    outcome: Outcome,
) -> None:
    assert outcome.pending[0] == outcome.pending[1] == [("a", 100), ("b", 110)]


def test_the_oldest_pending_change_holds_the_cut_of_its_topic(outcome: Outcome) -> None:
    assert outcome.cuts == [100, 100, 110]


def test_a_change_is_released_when_its_version_comes_after_it(outcome: Outcome) -> None:
    assert outcome.applied == [set(), set(), {("a", 100)}]


def test_a_version_that_never_comes_keeps_its_change_pending(outcome: Outcome) -> None:
    assert outcome.pending[2] == [("b", 110)]


def test_a_ddl_whose_rows_its_text_does_not_tell_needs_a_snapshot(
    outcome: Outcome,
) -> None:
    [(sql, cleared)] = outcome.needs_snapshot[0]
    assert ("TRUNCATE PARTITION" in sql, cleared) == (True, None)
    assert outcome.current[0] == {0, 1, 2, 3}


def test_a_declared_snapshot_ends_the_rows_that_it_lacks_and_clears_the_doubt(
    outcome: Outcome,
) -> None:
    assert outcome.current[1] == {0, 2, 3, 9}
    [(_, cleared)] = outcome.needs_snapshot[1]
    assert cleared == str(SNAPSHOT).zfill(20)


def test_a_delete_of_a_row_that_was_never_there_puts_a_table_without_a_key_in_doubt(
    outcome: Outcome,
) -> None:
    assert outcome.not_found == [[], ["copies"], ["copies"]]


def test_a_change_that_comes_late_from_before_a_ddl_undoes_what_the_ddl_made_of_it(
    outcome: Outcome,
) -> None:
    assert outcome.late[:2] == [[(1, 7), (2, 7)], [(2, 7)]]


def test_a_row_whose_end_came_in_an_earlier_build_is_not_there(
    outcome: Outcome,
) -> None:
    assert outcome.late[2] == [(2, 7)]


def test_equal_rows_of_a_table_without_a_key_are_counted(outcome: Outcome) -> None:
    first, second, third = outcome.copies
    assert first == [(1, None, 1), (1, None, 2), (1, None, 3), (2, 7, 1)]
    assert second == [(1, None, 1), (1, None, 2), (1, None, 3)]
    assert third == [(1, None, 1)]


def test_each_copy_of_equal_rows_has_its_versions(outcome: Outcome) -> None:
    assert outcome.copy_versions == [
        (1, 1, 10, 210),
        (1, 1, 220, None),
        (1, 2, 20, 210),
        (1, 3, 30, 110),
        (1, 3, 120, 210),
        (2, 1, 15, 120),
    ]


def test_a_row_that_moves_to_a_key_of_another_partition_is_at_its_last_one(
    outcome: Outcome,
) -> None:
    assert outcome.moved == [{1, 3, 102, 104}, {1, 102, 103, 104}, {1, 3, 102, 104}]


def test_a_row_without_a_key_counts_once_if_more_of_its_second_come_later(
    outcome: Outcome,
) -> None:
    assert outcome.notes == [[(1, 1)], [(1, 1), (2, 1)], [(1, 1), (2, 1), (3, 1)]]


def test_a_truncate_of_canal_acts_before_its_batch_in_other_partitions(
    outcome: Outcome,
) -> None:
    assert outcome.emptied == [{102}] * 3


def test_without_watermarks_every_change_that_arrived_is_applied(
    outcome: Outcome,
) -> None:
    assert outcome.unmarked == [
        [(1, 1), (2, 1), (3, 1)],
        [(1, 2), (3, 1)],
        [(1, 2), (2, 3), (3, 1)],
    ]


def test_a_row_that_comes_below_the_cut_for_the_first_time_is_applied_late(
    outcome: Outcome,
) -> None:
    # The cut, and the changes: applied, duplicates, pending, applied late.
    assert outcome.added == [
        (200, 1, 0, 0, 0),
        (200, 1, 1, 1, 1),
        (400, 2, 1, 0, 1),
    ]
    assert outcome.added_rows == [1]


def test_a_build_says_how_many_changes_it_applied_late(outcome: Outcome) -> None:
    assert outcome.late_counts == ["1 change(s) of `added`"]
