"""Readers see tables after a whole build has passed its tests, all of them at once."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.generate.models import update_models
from changefold_tools.session import DbtFailedError, spark_session
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Rows = list[dict[str, Any]]

MARTS: Final = {
    "totals.sql": "{{ config(materialized='table', file_format='iceberg') }}"
    " select count(*) as row_count from {{ ref('cur_db__t') }}",
    "rows_and_totals.sql": "select t.id, row_count, cut_sequence from {{ ref('cur_db__t') }} as t"
    " cross join {{ ref('totals') }} cross join {{ ref('resolved_cuts') }}",
    "_marts.yml": """
models:
  - name: rows_and_totals
    columns:
      - {name: id, data_tests: [{accepted_values: {arguments: {values: ['1', '2']}}}]}
""",
}


FIRST: Final = [
    ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` INT)", 100),
    ddl("CREATE TABLE `u` (`id` INT PRIMARY KEY,`v` INT)", 110, table="u"),
    change("INSERT", {"id": "1", "v": "1"}, 150),
    change("INSERT", {"id": "1", "v": "1"}, 150, table="u"),
    watermark(200),
]
REFUSED: Final = [
    ddl("ALTER TABLE `t` ADD COLUMN `w` INT", 210),
    change("INSERT", {"id": "3", "v": "1", "w": "7"}, 250),
    change("INSERT", {"id": "3", "v": "1"}, 250, table="u"),
    watermark(300),
]
MENDED: Final = [
    change("DELETE", {"id": "3", "v": "1", "w": "7"}, 310),
    change("INSERT", {"id": "2", "v": "1", "w": "8"}, 350),
    change("INSERT", {"id": "2", "v": "1"}, 350, table="u"),
    watermark(400),
]


class Reader:
    """Counts the versions of two tables in one statement, again and again.

    Attributes:
        seen: The pairs of counts.
    """

    def __init__(self) -> None:
        self.seen: set[tuple[int, int]] = set()
        self._is_done = threading.Event()
        self._failures: list[Exception] = []
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        try:
            is_last = False
            while not is_last:
                is_last = self._is_done.wait(1)
                (row,) = (
                    spark_session()
                    .sql(
                        "select (select count(*) from verify_readers.scd2_db__t),"
                        " (select count(*) from verify_readers.scd2_db__u)"
                    )
                    .collect()
                )
                self.seen.add((row[0], row[1]))
        except Exception as error:  # noqa: BLE001 - told to the test by __exit__
            self._failures.append(error)

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self._thread.join()
        if self._failures:
            raise self._failures[0]


@dataclass
class Outcome:
    """What readers saw, and when.

    Attributes:
        states: Name of a moment -> rows of the view mart then.
        columns: Columns of a current table before and after a DDL.
        seen: Pairs of counts that a reader saw meanwhile.
        tagged: The table under a tag, when the DDL had been applied.
        rolled_back: Rows of the table with the DDL, before it was published.
        cuts: What `published_cuts` had at the end.
        refused: Operations that were refused.
        views: Names of the views for readers.
        without_views: Rows after a build that left out the views.
    """

    states: dict[str, Rows] = field(default_factory=dict)
    columns: list[list[str]] = field(default_factory=list)
    seen: set[tuple[int, int]] = field(default_factory=set)
    tagged: Rows = field(default_factory=list)
    rolled_back: Rows = field(default_factory=list)
    cuts: Rows = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    views: set[str] = field(default_factory=set)
    without_views: Rows = field(default_factory=list)


def write_marts(folder: Path) -> None:
    marts = folder / "models" / "marts"
    marts.mkdir()
    for name, text in MARTS.items():
        config = "{{ config(contract={'enforced': false}) }}"
        (marts / name).write_text(config + text if name.endswith(".sql") else text)


def records(values: list[str], first: int) -> Rows:
    return [
        {"partition": 0, "offset": first + position, "value": value}
        for position, value in enumerate(values)
    ]


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    found = Outcome()
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(folder, {"topic": 1})
        settings = folder / "dbt_project.yml"
        text = settings.read_text()
        assert "published_schema: ''" in text
        settings.write_text(
            text.replace("published_schema: ''", "published_schema: readers")
        )

        def note(moment: str) -> None:
            found.states[moment] = pipeline.rows(
                "select * from verify_readers.rows_and_totals order by id"
            )

        pipeline.land("1", "topic", records(FIRST, 0))
        pipeline.dbt("run", "--quiet", "--select", "+table_schemas")
        update_models(folder, "verify", check=False)
        write_marts(folder)
        pipeline.dbt("build", "--quiet")
        note("first")
        tables = "select * from verify_readers.cur_db__t"
        found.columns.append(spark_session().sql(tables).columns)
        pipeline.dbt("run-operation", "tag_published", "--args", "{name: month_end}")
        with Reader() as reader:
            pipeline.land("2", "topic", records(REFUSED, len(FIRST)))
            with pytest.raises(DbtFailedError):
                pipeline.dbt("build", "--quiet")
            note("a test failed")
            update_models(folder, "verify", check=False)
            pipeline.land("3", "topic", records(MENDED, len(FIRST + REFUSED)))
            pipeline.dbt("build", "--quiet", "--select", "+cur_db__t")
            note("one table was built")
            pipeline.dbt("build", "--quiet")
            note("all tests passed")
        found.seen = reader.seen
        found.columns.append(spark_session().sql(tables).columns)
        found.cuts = pipeline.rows("select * from verify_readers.published_cuts")
        compiled = pipeline.dbt(
            "compile",
            "--inline",
            "{{ changefold.as_of(ref('scd2_db__t'), tag='month_end') }}",
        )
        found.tagged = pipeline.rows(compiled.results[0].node.compiled_code)
        pipeline.dbt("run-operation", "roll_back_published")
        note("rolled back")
        found.rolled_back = pipeline.rows(tables)
        for operation in (
            ["roll_back_published"],
            ["tag_published", "--args", "{name: month_end}"],
            ["tag_published", "--args", "{name: published_a}"],
        ):
            with pytest.raises(DbtFailedError):
                pipeline.dbt("run-operation", *operation)
            found.refused.append(operation[0])
        found.views = {
            row["viewName"]
            for row in pipeline.rows("show views in verify_readers")
            if not row["isTemporary"]
        }
        shutil.rmtree(folder / "models" / "marts")
        sent = len(FIRST + REFUSED + MENDED)
        last = [change("INSERT", {"id": "5", "v": "1", "w": "9"}, 450), watermark(500)]
        pipeline.land("4", "topic", records(last, sent))
        pipeline.dbt(
            *("build", "--quiet", "--exclude"),
            *("path:models/history", "path:models/current"),
        )
        found.without_views = pipeline.rows(tables)
        yield found


def ids(rows: Rows) -> list[int]:
    return [row["id"] for row in rows]


def test_what_passed_its_tests_is_published(outcome: Outcome) -> None:
    assert ids(outcome.states["first"]) == [1]
    assert ids(outcome.states["all tests passed"]) == [1, 2]


def test_a_build_with_a_failed_test_publishes_nothing(outcome: Outcome) -> None:
    assert outcome.states["a test failed"] == outcome.states["first"]


def test_a_build_of_some_tables_publishes_nothing(outcome: Outcome) -> None:
    assert outcome.states["one table was built"] == outcome.states["first"]


@pytest.mark.parametrize(
    ("moment", "count", "cut"),
    [("a test failed", 1, 200), ("all tests passed", 2, 400), ("rolled back", 1, 200)],
)
def test_a_view_a_table_and_the_cut_are_of_one_state(
    outcome: Outcome, moment: str, count: int, cut: int
) -> None:
    for row in outcome.states[moment]:
        assert (row["row_count"], int(row["cut_sequence"])) == (count, cut)


def test_no_statement_sees_rows_of_two_builds(outcome: Outcome) -> None:
    # The new column stands a moment before the rows, and cuts the version at its DDL.
    assert {(1, 1), (4, 3)} <= outcome.seen <= {(1, 1), (2, 1), (4, 3)}


def test_readers_get_a_new_column_with_the_tables(outcome: Outcome) -> None:
    before, after = outcome.columns
    assert "w" not in before
    assert "w" in after


def test_readers_are_told_the_cut(outcome: Outcome) -> None:
    assert [int(row["cut_sequence"]) for row in outcome.cuts] == [400]


def test_a_tag_keeps_the_published_state(outcome: Outcome) -> None:
    assert [(row["id"], row["w"]) for row in outcome.tagged] == [(1, None)]


def test_what_was_published_before_comes_back_for_all_tables(outcome: Outcome) -> None:
    assert outcome.states["rolled back"] == outcome.states["first"]
    assert [(row["id"], row["w"]) for row in outcome.rolled_back] == [(1, None)]


def test_operations_that_can_not_be_done_are_refused(outcome: Outcome) -> None:
    assert outcome.refused == ["roll_back_published", "tag_published", "tag_published"]


def test_a_build_that_leaves_out_views_of_readers_is_published(
    outcome: Outcome,
) -> None:
    assert sorted(ids(outcome.without_views)) == [1, 2, 5]


def test_readers_have_what_the_views_need_and_no_more(outcome: Outcome) -> None:
    assert outcome.views == {
        "cur_db__t",
        "cur_db__u",
        "published_cuts",
        "resolved_cuts",
        "row_versions",
        "rows_and_totals",
        "scd2_db__t",
        "scd2_db__u",
        "table_rows",
        "totals",
    }
