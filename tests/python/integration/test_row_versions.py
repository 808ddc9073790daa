"""`row_versions` after a killed fold, and where a version before it had histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


@dataclass
class Outcome:
    """What the table had.

    Attributes:
        whole: After a fold of two passes.
        killed: When only the first one had been merged.
        ended: After the next run.
        history: A history that had been a table.
        said: By the build that made it a view.
    """

    whole: Rows
    killed: Rows
    ended: Rows
    history: Rows
    said: str


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    before = [
        ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY,`code` INT NOT NULL)", 100),
        change("INSERT", {"id": "1", "code": "7"}, 150),
        change("INSERT", {"id": "2", "code": "8"}, 160),
        watermark(200),
    ]
    behind = [
        change("UPDATE", {"id": "2", "code": "9"}, 210, old={"code": "8"}),
        ddl("ALTER TABLE `t` DROP PRIMARY KEY, ADD PRIMARY KEY (`code`)", 220),
        change("DELETE", {"id": "1", "code": "7"}, 250),
        watermark(300),
    ]
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(folder, {"topic": 1})

        def fold(name: str, messages: list[str], first: int) -> None:
            records = [
                {"partition": 0, "offset": first + place, "value": value}
                for place, value in enumerate(messages)
            ]
            pipeline.land(name, "topic", records)
            pipeline.dbt("run", "--quiet", "--select", "+row_versions")

        fold("1", before, 0)
        (noted,) = pipeline.rows(
            "show tblproperties verify.row_versions ('changefold.folded')"
        )
        fold("2", behind, len(before))
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
        yield Outcome(
            whole,
            killed,
            ended,
            pipeline.rows("select code, is_current from verify.scd2_db__t order by 1"),
            (folder / "logs" / "dbt.log").read_text("utf-8"),
        )


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
