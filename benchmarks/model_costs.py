"""What each model of a build costs in Spark: jobs, shuffles, rows read and written.

Builds a topic in steps: most of it, some percent more, as much again, and once more with
nothing new. With a recording, the first addition begins with one of its DDLs. The figures
are those of Spark's event log.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table

import topic
from changefold_tools.generate.models import make_models
from changefold_tools.session import run_dbt, spark_session, stop_session
from changefold_tools.verify.run import (
    Files,
    Recording,
    declare_topics,
    declared_by,
    scratch_project,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[1]

_MEASURING = "measuring"

_SETTINGS = """\
spark.eventLog.enabled true
spark.eventLog.compress false
spark.eventLog.rolling.enabled false
spark.eventLog.dir file://{folder}
"""


@dataclass
class Cost:
    """What the statements of one dbt node cost.

    Attributes:
        jobs: Spark jobs.
        shuffles: Stages that wrote a shuffle.
        rows_read: Rows that scans of tables gave.
        seconds: Time of tasks, summed.
    """

    jobs: int = 0
    shuffles: int = 0
    rows_read: int = 0
    seconds: float = 0.0


class Written(NamedTuple):
    """What Iceberg added to a table: rows, and files of rows or of deletions."""

    rows: int
    files: int


@dataclass
class Step:
    """One build.

    Attributes:
        name: What is new in it.
        begin: When it began, in milliseconds since 1970.
        seconds: How long it took.
        written: By table.
    """

    name: str
    begin: int
    seconds: float
    written: dict[str, Written]


def main() -> None:
    """Build step by step, and print what each model cost in each of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--recording", type=Path, help="folder; not the made-up topic")
    parser.add_argument("--variant", default="canal_json_tidb")
    parser.add_argument("--ddl", default="CHANGE COLUMN", help="text of the DDL in it")
    parser.add_argument("--percent", type=int, default=1, help="of the topic, per step")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="changefold-events-") as name:
        events = Path(name)
        (events / "spark-defaults.conf").write_text(_SETTINGS.format(folder=events))
        os.environ["SPARK_CONF_DIR"] = str(events)
        folder = options.recording
        if folder is None:
            folder = events / "bench"
            folder.mkdir()
            topic.write_topic(folder / f"{options.variant}.ndjson", options.messages)
        recording = Recording(folder, options.variant)
        steps = _build(recording, options.ddl, options.percent)
        [log] = [path for path in events.iterdir() if path.name.startswith("local-")]
        with log.open(encoding="utf-8") as file:
            costs = _costs([json.loads(line) for line in file], steps)
    console = Console(width=140)
    for step, of_nodes in zip(steps, costs, strict=True):
        console.print(_table(step, of_nodes))


def _build(recording: Recording, ddl: str, percent: int) -> list[Step]:
    lines = recording.lines()
    added = len(lines) * percent // 100
    at = next(
        (number for number, line in enumerate(lines) if ddl in line),
        len(lines) - 2 * added,
    )
    cuts = [at, at + added, at + 2 * added, at + 2 * added]
    steps: list[Step] = []
    with scratch_project(PROJECT) as copy:
        carrier = Files(copy / "messages")
        declare_topics(copy, carrier.declare(declared_by(recording, lines)))
        begin = 0
        for number, end in enumerate(cuts):
            part = lines[begin:end]
            begin = end
            if part:
                carrier.send(part, number)
            has_ddl = any(ddl in line for line in part)
            made = f"{len(part):,} messages" + (
                f", {ddl} among them" if has_ddl else ""
            )
            steps += _steps(copy, made, make=number == 0 or has_ddl)
        stop_session()
    return steps


def _steps(project: Path, name: str, *, make: bool) -> Iterator[Step]:
    """Build; then, if asked, write the models anew and build what that changes."""
    yield _step(project, name)
    if make:
        make_models(project, check=False)
        yield _step(project, f"after `make models` ({name})")


def _step(project: Path, name: str) -> Step:
    begin = time.time()
    run_dbt(["run", "--quiet"], project)
    seconds = time.time() - begin
    return Step(name, int(begin * 1000), seconds, _written(begin))


def _written(since: float) -> dict[str, Written]:
    """Return what each table got since a time, in seconds since 1970."""
    spark = spark_session()
    spark.sparkContext.setJobDescription(_MEASURING)
    written = {}
    for table in spark.sql("show tables in verify").collect():
        summary = (
            spark.table(f"verify.{table.tableName}.snapshots")
            .where(f"unix_micros(committed_at) >= {int(since * 1e6)}")
            .selectExpr(
                "sum(int(summary['added-records']))",
                "sum(int(summary['added-data-files']))",
                "sum(int(summary['added-delete-files']))",
            )
        )
        [[rows, files, deletes]] = summary.collect()
        written[table.tableName] = Written(rows or 0, (files or 0) + (deletes or 0))
    return written


def _costs(events: list[dict[str, Any]], steps: list[Step]) -> list[dict[str, Cost]]:
    """Sum the costs of each step by the node whose job it was."""
    costs: list[dict[str, Cost]] = [defaultdict(Cost) for _ in steps]
    nodes: dict[int, Cost] = {}
    for event in events:
        if event["Event"] == "SparkListenerJobStart":
            begun = [step for step in steps if step.begin <= event["Submission Time"]]
            if not begun:
                continue
            node = event["Properties"].get("spark.job.description", "")
            if node == _MEASURING:
                continue
            cost = costs[len(begun) - 1][node.rpartition(".")[2]]
            cost.jobs += 1
            for stage in event["Stage IDs"]:
                nodes.setdefault(stage, cost)
        elif event["Event"] == "SparkListenerStageCompleted":
            stage = event["Stage Info"]
            known = nodes.get(stage["Stage ID"])
            if known is None:
                continue
            counted = {
                item["Name"].removeprefix("internal.metrics."): item["Value"]
                for item in stage["Accumulables"]
                if item["Name"].startswith("internal.metrics.")
            }
            known.shuffles += "shuffle.write.recordsWritten" in counted
            known.rows_read += counted.get("input.recordsRead", 0)
            known.seconds += counted.get("executorRunTime", 0) / 1000
    return costs


def _table(step: Step, costs: dict[str, Cost]) -> Table:
    table = Table(title=f"{step.name}: {step.seconds:.0f} s", title_justify="left")
    table.add_column("node")
    for column in ("jobs", "shuffles", "rows read", "task s", "rows written", "files"):
        table.add_column(column, justify="right")
    for name, cost in sorted(costs.items()):
        written = step.written.get(name)
        table.add_row(
            name,
            str(cost.jobs),
            str(cost.shuffles),
            f"{cost.rows_read:,}",
            f"{cost.seconds:.1f}",
            f"{written.rows:,}" if written else "",
            str(written.files) if written else "",
        )
    return table


if __name__ == "__main__":
    main()
