"""Another dbt project has this one as a package: it declares topics, and no more."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import PROJECT
from rich.console import Console

from changefold_tools.generate.models import Outcome, make_models
from changefold_tools.session import (
    DbtFailedError,
    run_dbt,
    schema_of,
    spark_session,
    stop_session,
)
from changefold_tools.verify.export import export_tables
from changefold_tools.verify.run import NotApplied, Recording, compare_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOP = Recording(PROJECT / "tests" / "golden" / "ticdc" / "shop", "canal_json_tidb")
STORES = PROJECT / "tests" / "golden" / "debezium" / "postgresql_shop"


@dataclass
class Built:
    """What came of the other project.

    Attributes:
        schema: That of its profile.
        is_equal: Whether the tables of its TiCDC topic equal the source.
        report: How they differ.
        stores: Table -> number of current rows, of its Debezium connector.
        nodes: Unique ids of what was built.
        revenue: Rows of its mart.
        truth: What they are by the tables below it.
        again: What `changefold models --check` finds afterwards.
    """

    schema: str
    is_equal: bool
    report: str
    stores: dict[str, int]
    nodes: set[str]
    revenue: list[Any]
    truth: list[Any]
    again: Outcome


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Built]:
    home = tmp_path_factory.mktemp("package")
    for entry in PROJECT.iterdir():
        if entry.name not in {"integration_tests", "target"}:
            (home / entry.name).symlink_to(entry)
    project, marts = home / "integration_tests", Path("models", "marts")
    own = PROJECT / project.name
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP_WAREHOUSE", str(home / "shop_warehouse"))
        stop_session()
        try:
            # First what a team writes by hand, then what builds on generated models.
            shutil.copytree(
                own, project, ignore=lambda *_: {"models", "dbt_packages", "target"}
            )
            run_dbt(["deps", "--quiet"], project)
            make_models(project, check=False)
            shutil.copytree(own / marts, project / marts)
            results = run_dbt(["build", "--quiet"], project).results
            schema, report = schema_of(project), io.StringIO()
            export_tables(spark_session(), schema, home / "tables")
            stores = _take_out(home / "tables", "stores")
            yield Built(
                schema,
                compare_tables(
                    SHOP, home / "tables", NotApplied([], [], []), Console(file=report)
                ),
                report.getvalue(),
                stores,
                {result.node.unique_id for result in results},
                _rows("select * from analytics.customer_revenue order by customer_id"),
                _rows(
                    "select cust, count(*), sum(total), cut_at"
                    " from analytics.cur_shop__orders, analytics.resolved_cuts"
                    " where kafka_topic = 'webshop' group by cust, cut_at order by cust"
                ),
                make_models(project, check=True),
            )
        finally:
            stop_session()


def _rows(sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark_session().sql(sql).collect()]


def _take_out(tables: Path, database: str) -> dict[str, int]:
    """Take the lines of a database out of exported tables; count its current rows."""
    counts: dict[str, int] = {}
    for path in (tables / "current.ndjson", tables / "history.ndjson"):
        kept = []
        for text in path.read_text(encoding="utf-8").splitlines(keepends=True):
            line = json.loads(text)
            if line["database"] != database:
                kept.append(text)
            elif path.stem == "current":
                counts[line["table"]] = counts.get(line["table"], 0) + 1
        path.write_text("".join(kept), encoding="utf-8")
    return counts


def test_the_tables_of_another_project_equal_the_source(built: Built) -> None:
    assert built.is_equal, built.report


def test_tables_of_a_debezium_connector_beside_it_have_the_rows_of_its_source(
    built: Built,
) -> None:
    truth: dict[str, int] = {}
    with gzip.open(STORES / "expected_final.ndjson.gz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            truth[row["table"]] = truth.get(row["table"], 0) + 1
    tables = ("customers", "orders", "cart_sessions")  # those of the pattern
    assert built.stores == {table: truth[table] for table in tables if table in truth}


def test_misspelt_topics_are_not_replaced_by_those_of_the_packages_sample(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "own"
    shutil.copytree(
        PROJECT / "integration_tests",
        project,
        ignore=shutil.ignore_patterns("models", "dbt_packages", "target", "*lock*"),
    )
    (project / "packages.yml").write_text(f"packages: [{{local: '{PROJECT}'}}]")
    path = project / "dbt_project.yml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("  topics:\n", "  topicz:\n"), encoding="utf-8")
    run_dbt(["deps", "--quiet"], project)
    with pytest.raises(DbtFailedError):
        run_dbt(["parse"], project)
    printed = " ".join(capfd.readouterr().out.split())
    assert "there is a var `topicz`. Did you mean `topics`?" in printed


def test_a_mart_of_another_project_reads_tables_and_the_cut(built: Built) -> None:
    assert built.revenue == built.truth
    assert len(built.revenue) > 100


def test_tables_and_rules_are_in_the_schema_of_the_other_profile(built: Built) -> None:
    assert built.schema == "analytics"


def test_the_package_brings_its_rules_and_tests_and_no_sample(built: Built) -> None:
    models = {node for node in built.nodes if node.startswith("model.")}
    assert "model.changefold.changes" in models
    assert "model.shop_analytics.scd2_shop__orders" in models
    assert not [node for node in models if node.startswith("model.changefold.scd2_")]
    tests = {node.split(".")[2] for node in built.nodes if node.startswith("test.")}
    assert {"every_event_has_one_place", "models_have_every_source_column"} <= tests
    # They name the topics of the sample.
    assert not [node for node in built.nodes if node.startswith("unit_test.")]


def test_generated_models_of_another_project_are_up_to_date(built: Built) -> None:
    again = built.again
    assert (again.written, again.removed, again.edited) == ([], [], {})
    assert "models/history/shop/scd2_shop__orders.sql" in again.unchanged


def test_views_of_many_versions_are_named(built: Built) -> None:
    assert built.again.large["scd2_shop__orders"] > 100
    assert not [name for name in built.again.large if "stores" in name]
