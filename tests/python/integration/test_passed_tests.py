"""A build asks a test again when its statement or what it reads has changed, not else."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pytest
import sqlglot
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark
from sqlglot import exp

from changefold_tools.session import DbtFailedError
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

MART: Final = """\
models:
  - name: mart
    data_tests:
      - changefold.rows_are_sound:
          name: mart_is_sound
          arguments: {conditions: ["x = 1"]}
      - changefold.rows_are_sound:
          name: mart_is_sound_by_the_clock
          arguments: {conditions: ["x = 1", "current_date() > date'2020-01-01'"]}
          config: {meta: {is_deterministic: false}}
unit_tests:
  - name: x_is_one
    model: mart
    given: []
    expect: {rows: [{x: 1}]}
"""


@dataclass
class Build:
    """What became of the tests of a build: those asked, and those that did not pass."""

    asked: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)


def _build(pipeline: Pipeline, *arguments: str) -> Build:
    with contextlib.suppress(DbtFailedError):  # its results tell what failed
        pipeline.dbt(*(arguments or ("build", "--quiet")))
    text = (pipeline.folder / "target" / "run_results.json").read_text()
    build = Build()
    for result in json.loads(text)["results"]:
        kind, _, name, *rest = result["unique_id"].split(".")
        if kind in {"test", "unit_test"}:
            name = rest[0] if kind == "unit_test" else name
            if not str(result["adapter_response"].get("_message")).startswith("passed"):
                build.asked.add(name)
            if result["status"] != "pass":
                build.failed.add(name)
    return build


@dataclass
class Outcome:
    """The builds of the fixture, by what was done before each."""

    builds: dict[str, Build]
    manifest: dict[str, Any]


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(folder, {"topic": 1})
        mart = folder / "models" / "mart.sql"
        mart.write_text("select 1 as x")
        mart.with_suffix(".yml").write_text(MART)
        messages = [
            ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` INT)", 100),
            change("INSERT", {"id": "1", "v": "1"}, 150),
            watermark(200),
        ]
        records = [
            {"partition": 0, "offset": offset, "value": value}
            for offset, value in enumerate(messages)
        ]
        pipeline.land("1", "topic", records)
        builds = {"first": _build(pipeline)}
        builds["nothing"] = _build(pipeline)
        manifest = json.loads((folder / "target" / "manifest.json").read_text())
        builds["dbt test"] = _build(pipeline, "test", "--quiet")
        mart.write_text("select 2 as x")
        builds["another view"] = _build(pipeline)
        pipeline.rows("insert into verify.change_log select * from verify.change_log")
        builds["rows of a table twice"] = _build(pipeline)
        yield Outcome(builds, manifest)


def test_the_first_build_asks_all(outcome: Outcome) -> None:
    assert {"mart_is_sound", "x_is_one", "every_event_has_one_place"} <= (
        outcome.builds["first"].asked
    )


def test_nothing_new_asks_what_did_not_pass_and_what_may_change_by_itself(
    outcome: Outcome,
) -> None:
    by_itself = {"mart_is_sound_by_the_clock", "no_change_waits_for_long"}
    assert outcome.builds["nothing"].asked == by_itself | outcome.builds["first"].failed


def test_dbt_test_asks_all_data_tests(outcome: Outcome) -> None:
    assert outcome.builds["dbt test"].asked >= outcome.builds["first"].asked


def test_another_view_is_tested(outcome: Outcome) -> None:
    assert {"mart_is_sound", "x_is_one"} <= outcome.builds["another view"].failed


def test_what_reads_a_table_that_has_changed_is_asked_also_through_views(
    outcome: Outcome,
) -> None:
    assert "applied_equals_changes" in outcome.builds["rows of a table twice"].failed


def test_deterministic_tests_refer_to_all_that_they_read(outcome: Outcome) -> None:
    nodes = outcome.manifest["nodes"] | outcome.manifest["sources"]

    def relations(node: dict[str, Any]) -> set[str]:
        found = set()
        for one in (nodes[name] for name in node["depends_on"]["nodes"]):
            if one.get("config", {}).get("materialized") == "ephemeral":
                found |= relations(one)
            else:
                found.add(one["relation_name"].replace("`", ""))
        return found

    tests = [
        node
        for node in outcome.manifest["nodes"].values()
        if node["resource_type"] == "test"
        and node["config"]["meta"].get("is_deterministic")
    ]
    assert len(tests) > 20
    for test in tests:
        parsed = sqlglot.parse_one(test["compiled_code"], dialect="spark")
        named = {cte.alias for cte in parsed.find_all(exp.CTE)}
        read = {
            f"{table.db}.{table.name}"
            for table in parsed.find_all(exp.Table)
            if table.db or table.name not in named
        }
        assert read <= relations(test), test["name"]
