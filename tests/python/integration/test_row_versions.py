"""`row_versions` after a killed fold, and where a version before it had histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold.spark_text import sql_text
from changefold_tools.generate.models import update_models
from changefold_tools.session import spark_session
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[dict[str, Any]]

VERSIONS = """
    select row_key, from_sequence, to_sequence, op, ended_by, image, key_since
    from verify.row_versions
    where is_open or from_sequence < to_sequence
    order by all
"""


BEFORE: Final = [
    ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY,`code` INT NOT NULL)", 100),
    change("INSERT", {"id": "1", "code": "7"}, 150),
    change("INSERT", {"id": "2", "code": "8"}, 160),
    watermark(200),
]
BEHIND: Final = [
    change("UPDATE", {"id": "2", "code": "9"}, 210, old={"code": "8"}),
    ddl("ALTER TABLE `t` DROP PRIMARY KEY, ADD PRIMARY KEY (`code`)", 220),
    change("DELETE", {"id": "1", "code": "7"}, 250),
    watermark(300),
]
AGAIN: Final = [
    ddl("DROP TABLE `t`", 310),
    ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY)", 320),
    change("INSERT", {"id": "5"}, 350),
    watermark(400),
]


def _of_no_key(event_type: str, text: str, commit_ts: int) -> str:
    return change(
        event_type,
        {"a": text},
        commit_ts,
        types={"a": "int"},
        table="n",
        pkNames=None,
    )


def _of_changed_columns(commit_ts: int) -> str:
    return change(
        "UPDATE",
        {"x": "5"},
        commit_ts,
        types={"x": "int"},
        table="k",
        pkNames=None,
        old={"x": "4"},
    )


NO_KEY: Final = [
    ddl("CREATE TABLE `n` (`a` INT)", 410, table="n"),
    _of_no_key("INSERT", "1", 420),
    _of_no_key("DELETE", "1", 430),
    _of_no_key("DELETE", "2", 450),
    ddl("CREATE TABLE `k` (`id` INT PRIMARY KEY,`x` INT)", 460, table="k"),
    change("INSERT", {"id": "1", "x": "4"}, 470, table="k"),
    _of_changed_columns(490),
    _of_changed_columns(491),
    watermark(500),
]
LATE: Final = [_of_no_key("INSERT", "2", 440), watermark(600)]


@dataclass
class Outcome:
    """What the table had.

    Attributes:
        whole: After a fold of two passes.
        killed: When only the first one had been merged.
        ended: After the next run.
        history: A history that had been a table.
        said: By the build that made it a view.
        recreated: Rows of the table, dropped and made again, before and after new models.
        warned: Of how many tables without a model a test warned in between.
        not_found: Tables of which a change met no row, before and after a row came late.
        of_changed_columns: Versions of the table whose messages have what changed only.
    """

    whole: Rows
    killed: Rows
    ended: Rows
    history: Rows
    said: str
    recreated: list[Rows]
    warned: int
    not_found: list[Rows]
    of_changed_columns: Rows


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(folder, {"topic": 1})

        def land(name: str, messages: list[str], first: int) -> None:
            records = [
                {"partition": 0, "offset": first + place, "value": value}
                for place, value in enumerate(messages)
            ]
            pipeline.land(name, "topic", records)

        fold = ("run", "--quiet", "--select", "+row_versions")
        land("1", BEFORE, 0)
        pipeline.dbt(*fold)
        (noted,) = pipeline.rows(
            "show tblproperties verify.row_versions ('changefold.folded')"
        )
        land("2", BEHIND, len(BEFORE))
        pipeline.dbt(*fold)
        whole = pipeline.rows(VERSIONS)
        _, first_pass, _ = pipeline.rows(
            "select snapshot_id from verify.row_versions.snapshots order by committed_at"
        )
        spark = spark_session()
        spark.sql(
            "call lake.system.rollback_to_snapshot("
            f"'verify.row_versions', {first_pass['snapshot_id']})"
        )
        spark.sql(
            "alter table verify.row_versions set tblproperties "
            f"('changefold.folded' = {sql_text(noted['value'])})"
        )
        killed = pipeline.rows(VERSIONS)
        pipeline.dbt("run", "--quiet", "--select", "row_versions")
        ended = pipeline.rows(VERSIONS)
        update_models(folder, "verify", check=False)
        spark.sql("create table verify.scd2_db__t using iceberg as select 0 as code")
        spark.sql("drop table verify.row_versions")
        pipeline.dbt("run", "--quiet")
        history = "select code, is_current from verify.scd2_db__t order by 1"
        outcome = Outcome(
            whole,
            killed,
            ended,
            pipeline.rows(history),
            (folder / "logs" / "dbt.log").read_text("utf-8"),
            recreated=[],
            warned=0,
            not_found=[],
            of_changed_columns=[],
        )
        land("3", AGAIN, len(BEFORE + BEHIND))
        pipeline.dbt("run", "--quiet")
        outcome.recreated.append(pipeline.rows("select * from verify.cur_db__t"))
        tested = pipeline.dbt("test", "--select", "models_have_every_source_column")
        (outcome.warned,) = (
            result.failures
            for result in tested.results
            if result.node.resource_type == "test"
        )
        update_models(folder, "verify", check=False)
        pipeline.dbt("run", "--quiet")
        outcome.recreated.append(pipeline.rows("select id from verify.cur_db__t"))
        place = len(BEFORE + BEHIND + AGAIN)
        for name, messages in (("4", NO_KEY), ("5", LATE)):
            land(name, messages, place)
            place += len(messages)
            pipeline.dbt("run", "--quiet", "--select", "+needs_snapshot")
            outcome.not_found.append(
                pipeline.rows(
                    "select source_table, since_sequence, until_sequence, reason "
                    "from verify.needs_snapshot where kind = 'rows_not_found' "
                    "order by since_sequence"
                )
            )
        outcome.of_changed_columns = pipeline.rows(
            "select row_key, row_copy, from_sequence, ended_by, image "
            "from verify.row_versions where table_uid like 'db.k@%' order by 3"
        )
        yield outcome


def test_rows_move_to_their_new_key(outcome: Outcome) -> None:
    versions = [
        (row["row_key"], row["from_sequence"], row["ended_by"]) for row in outcome.whole
    ]
    moment = "0" * 17
    assert versions == [
        ('["1"]', f"{moment}150", "ddl"),
        ('["2"]', f"{moment}160", "u"),
        ('["2"]', f"{moment}210", "ddl"),
        ('["7"]', f"{moment}220~", "d"),
        ('["9"]', f"{moment}220~", None),
    ]


def test_a_fold_that_was_killed_between_two_passes_is_ended_by_the_next(
    outcome: Outcome,
) -> None:
    assert {row["row_key"] for row in outcome.killed} == {'["1"]', '["2"]'}
    assert outcome.ended == outcome.whole


def test_a_history_that_was_a_table_becomes_a_view_and_the_build_says_so(
    outcome: Outcome,
) -> None:
    assert (
        "1 histories that are tables (`scd2_db__t`, ...) become views" in outcome.said
    )
    assert outcome.history == [
        {"code": 7, "is_current": False},
        {"code": 9, "is_current": True},
    ]


def test_a_table_that_was_made_again_is_shown_by_new_models_and_warned_of_before(
    outcome: Outcome,
) -> None:
    assert outcome.recreated == [[], [{"id": 5}]]
    assert outcome.warned == 1


def test_a_change_that_meets_no_row_puts_its_table_in_doubt(outcome: Outcome) -> None:
    moment = "0" * 17
    before, after = outcome.not_found
    assert [
        (row["source_table"], row["since_sequence"], row["until_sequence"])
        for row in before
    ] == [
        ("n", f"{moment}450", f"{moment}450"),
        ("k", f"{moment}490", f"{moment}491"),
    ]
    assert "row_versions, ended_by missed" in before[1]["reason"]
    assert after == before[1:]


def test_a_change_that_lacks_its_key_is_made_to_no_row(outcome: Outcome) -> None:
    moment = "0" * 17
    row, *missed = outcome.of_changed_columns
    assert (row["row_key"], row["ended_by"]) == ('["1"]', None)
    assert [
        (row["from_sequence"], row["row_copy"], row["ended_by"], row["image"])
        for row in missed
    ] == [
        (f"{moment}490", -1, "missed", '{"x": "5"}'),
        (f"{moment}491", -1, "missed", '{"x": "5"}'),
    ]
