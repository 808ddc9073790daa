"""A history as a view and as a table: what the table costs, and what readers gain.

One project has the history of one topic twice: its model, a view, and a copy of it that is
`materialized: typed_history`. After a full load, one percent more, and a DDL, it prints
what the nodes took; then readers ask both, in turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

import contest
import topic as bench_topic
from changefold_tools.generate.models import update_models
from changefold_tools.session import run_dbt, spark_session
from contestants.changefold_dbt import Changefold

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMA: Final = "verify"
_VIEW: Final = "scd2_bench__orders"
_TABLE: Final = "scd2_bench__orders_kept"
_NODES: Final = ("change_log", "row_versions", _TABLE)
"""Models whose seconds are printed."""

_READERS: Final = {
    "all current rows, four columns": (
        "select id, status, total, updated_at from {history} where is_current"
    ),
    "one current row by its key": "select * from {history} where is_current and id = 4711",
    "an aggregate of all versions": (
        "select status, count(*), sum(total) from {history} group by status"
    ),
    "all versions, all columns": "select * from {history}",
}
_DDL: Final = "ALTER TABLE `orders` ADD COLUMN `more` INT NOT NULL DEFAULT 4"


def main() -> None:
    """Print seconds of builds, then those of readers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    console = Console(width=120)
    with tempfile.TemporaryDirectory(prefix="changefold-histories-") as name:
        topic, work = Path(name) / "topic", Path(name) / "work"
        topic.mkdir()
        work.mkdir()
        contest.write_topic(topic, options.messages, 0)
        paths, changefold = contest.paths_of(topic, work), Changefold()
        changefold.start(paths)
        builds = Table("build", *_NODES, "whole run")
        for build, seconds in _builds(changefold, paths):
            builds.add_row(build, *(f"{second:.1f}" for second in seconds))
        readers = Table("reader", "view", "table")
        for reader, sql in _READERS.items():
            medians = _medians(sql, options.runs)
            readers.add_row(reader, *(f"{median:.2f}" for median in medians))
        versions, current = (
            spark_session()
            .sql(f"select count(*), count_if(is_current) from {_SCHEMA}.{_TABLE}")
            .collect()[0]
        )
        console.print(f"{current:,} current rows of {versions:,} versions, seconds")
        console.print(builds, readers)


def _builds(
    changefold: Changefold, paths: contest.Paths
) -> Iterator[tuple[str, list[float]]]:
    """Yield each build with the seconds of its nodes, and of all of it."""
    project = changefold.project
    _keep_a_table(project)
    for build, messages in {
        "all messages": paths.load,
        "1 % more": paths.batch,
        "2,000 more": paths.last,
    }.items():
        changefold.land(messages)
        yield build, _seconds(project)
    _alter(paths.last)
    yield "an ADD COLUMN", _seconds(project)
    update_models(project, _SCHEMA, check=False)
    _keep_a_table(project)
    yield "the same, behind `changefold models`", _seconds(project)


def _keep_a_table(project: Path) -> None:
    """Write the copy of the history's model."""
    for path in (project / "models" / "history").rglob(f"{_VIEW}.*"):
        text = path.read_text(encoding="utf-8")
        kept = text.replace(_VIEW, _TABLE).replace(
            "{{ config(\n", "{{ config(\n    materialized='typed_history',\n"
        )
        path.with_name(path.name.replace(_VIEW, _TABLE)).write_text(
            kept, encoding="utf-8"
        )


def _alter(messages: str) -> None:
    """Send a DDL, and that there is nothing else."""
    spark = spark_session()
    commit_ts = (
        spark.sql(
            "select max(cast(get_json_object(cast(value as string), '$._tidb.watermarkTs')"
            f" as bigint)) as last from parquet.`{messages}`"
        )
        .collect()[0]
        .last
    )
    ddl = bench_topic.envelope(
        commit_ts + 1,
        isDdl=True,
        type="ALTER",
        sql=_DDL,
        _tidb={"commitTs": commit_ts + 1},
    )
    mark = bench_topic.envelope(
        commit_ts + 2,
        database="",
        table="",
        type="TIDB_WATERMARK",
        _tidb={"watermarkTs": commit_ts + 2},
    )
    for partition, values in enumerate([[ddl, mark], [mark], [mark]]):
        for value in values:
            spark.sql(
                "insert into landing.kafka_bench select topic, partition,"
                " (select max(offset) + 1 from landing.kafka_bench"
                f" where partition = {partition}), timestamp, key, encode(:value, 'utf-8')"
                f" from landing.kafka_bench where partition = {partition} limit 1",
                args={"value": json.dumps(value)},
            )


def _seconds(project: Path) -> list[float]:
    """Run all models; return the seconds of the nodes, and of all of it."""
    begin = time.monotonic()
    run_dbt(["run", "--quiet"], project)
    whole = time.monotonic() - begin
    results = json.loads((project / "target" / "run_results.json").read_text())
    taken = {
        result["unique_id"].split(".")[-1]: result["execution_time"]
        for result in results["results"]
    }
    return [*(taken[node] for node in _NODES), whole]


def _medians(sql: str, runs: int) -> list[float]:
    """Ask the view and the table in turns; return the median seconds of each."""
    taken: dict[str, list[float]] = {_VIEW: [], _TABLE: []}
    for run in range(runs + 1):
        for history, seconds in taken.items():
            begin = time.monotonic()
            frame = spark_session().sql(sql.format(history=f"{_SCHEMA}.{history}"))
            frame.write.format("noop").mode("overwrite").save()
            if run:
                seconds.append(time.monotonic() - begin)
    return [statistics.median(seconds) for seconds in taken.values()]


if __name__ == "__main__":
    main()
