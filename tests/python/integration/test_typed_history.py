"""Histories that are tables: they follow `row_versions`, each build what is new there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold.spark_text import sql_text
from changefold_tools.generate.models import update_models
from changefold_tools.session import DbtFailedError
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

Rows = list[dict[str, Any]]

HISTORY: Final = """
    select
        id,
        code,
        is_current,
        cast(_cdc_valid_from_sequence as int) as since,
        _cdc_ended_by as ended_by
    from verify.scd2_db__t
    order by id, since
"""
LANDED: Final = {
    "first": [
        ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY,`code` INT)", 100),
        ddl("CREATE TABLE `quiet` (`id` INT PRIMARY KEY,`code` INT)", 100, "quiet"),
        change("INSERT", {"id": "1", "code": "7"}, 150),
        change("INSERT", {"id": "2", "code": "8"}, 150),
        change("INSERT", {"id": "3", "code": "9"}, 150),
        change("INSERT", {"id": "1", "code": "1"}, 150, table="quiet"),
        watermark(200),
    ],
    # A snapshot at 250, which lacks the rows 2 and 3.
    "second": [
        change("INSERT", {"id": "1", "code": "7"}, 250),
        change("UPDATE", {"id": "1", "code": "6"}, 260, old={"code": "7"}),
        watermark(300),
    ],
    # It read the row 2, too; and a late change lies within a version.
    "late": [
        change("INSERT", {"id": "2", "code": "8"}, 250),
        change("UPDATE", {"id": "1", "code": "5"}, 170, old={"code": "7"}),
    ],
    "column": [
        ddl("ALTER TABLE `t` ADD COLUMN `more` INT DEFAULT 4", 310),
        change("DELETE", {"id": "1", "code": "6", "more": "4"}, 320),
        watermark(400),
    ],
}


@dataclass
class Outcome:
    """What the histories were.

    Attributes:
        rows: By what had landed.
        again: When the last merge had been done, but not noted.
        snapshots: Of each history, how often it had been written before the DDL.
        with_column: Behind the DDL, of new models.
        said: By dbt, of a model that reads another one.
    """

    rows: dict[str, Rows]
    again: Rows
    snapshots: dict[str, int]
    with_column: Rows
    said: str


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    with scratch_project(PROJECT, "interpreted", "typed_history") as folder:
        pipeline = Pipeline(
            folder,
            {"topic": 1},
            topic={"snapshots": {"db.t": 250}, "pending_holds_cut": False},
        )
        rows: dict[str, Rows] = {}
        noted: list[str] = []
        offset = 0
        for name, messages in LANDED.items():
            records = [
                {"partition": 0, "offset": offset + place, "value": value}
                for place, value in enumerate(messages)
            ]
            offset += len(messages)
            if name == "column":
                break
            pipeline.land(name, "topic", records)
            if name == "first":
                pipeline.dbt("run", "--quiet", "--select", "+table_schemas")
                update_models(folder, "verify", check=False)
            pipeline.dbt("run", "--quiet")
            rows[name] = pipeline.rows(HISTORY)
            (note,) = pipeline.rows(
                "show tblproperties verify.scd2_db__t ('changefold.shown')"
            )
            noted.append(note["value"])
        snapshots = {
            table: len(
                pipeline.rows(
                    f"select snapshot_id from verify.scd2_db__{table}.snapshots"
                )
            )
            for table in ("t", "quiet")
        }
        pipeline.rows(
            "alter table verify.scd2_db__t set tblproperties "
            f"('changefold.shown' = {sql_text(noted[-2])})"
        )
        pipeline.dbt("run", "--quiet", "--select", "scd2_db__t")
        again = pipeline.rows(HISTORY)
        pipeline.land("column", "topic", records)
        pipeline.dbt("run", "--quiet", "--select", "+row_versions")
        update_models(folder, "verify", check=False)
        pipeline.dbt("run", "--quiet", "--select", "scd2_db__t")
        with_column = pipeline.rows(HISTORY.replace("code", "code, more"))
        (folder / "models" / "history" / "above.sql").write_text(
            "select * from {{ ref('scd2_db__t') }}"
        )
        with pytest.raises(DbtFailedError):
            pipeline.dbt("run", "--quiet", "--select", "above")
        said = (folder / "logs" / "dbt.log").read_text("utf-8")
        yield Outcome(rows, again, snapshots, with_column, said)


def version(
    row: int, code: int, since: int, ended_by: str | None = None
) -> dict[str, Any]:
    return {
        "id": row,
        "code": code,
        "is_current": ended_by is None,
        "since": since,
        "ended_by": ended_by,
    }


def test_a_table_follows_the_versions_that_a_build_wrote_and_ended(
    outcome: Outcome,
) -> None:
    assert outcome.rows["first"] == [
        version(1, 7, 150),
        version(2, 8, 150),
        version(3, 9, 150),
    ]
    assert outcome.rows["second"] == [
        version(1, 7, 150, "update"),
        version(1, 6, 260),
        version(2, 8, 150, "snapshot"),
        version(3, 9, 150, "snapshot"),
    ]


def test_a_table_follows_late_changes_and_ends_that_are_taken_away(
    outcome: Outcome,
) -> None:
    assert outcome.rows["late"] == [
        version(1, 7, 150, "update"),
        version(1, 5, 170, "update"),
        version(1, 7, 250, "update"),
        version(1, 6, 260),
        version(2, 8, 150),
        version(3, 9, 150, "snapshot"),
    ]


def test_a_merge_that_was_not_noted_is_done_again(outcome: Outcome) -> None:
    assert outcome.again == outcome.rows["late"]


def test_a_table_without_news_is_not_written(outcome: Outcome) -> None:
    assert outcome.snapshots == {"t": 3, "quiet": 1}


def test_a_table_behind_a_ddl_has_its_new_columns(outcome: Outcome) -> None:
    rows = [
        (row["id"], row["code"], row["more"], row["since"], row["ended_by"])
        for row in outcome.with_column
        if row["since"] >= 260
    ]
    assert rows == [
        (1, 6, None, 260, "ddl"),
        (1, 6, 4, 310, "delete"),
        (2, 8, 4, 310, None),
    ]


def test_a_model_that_reads_another_one_is_refused(outcome: Outcome) -> None:
    assert "got one that reads `scd2_db__t`" in outcome.said
