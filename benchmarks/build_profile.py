"""Where the time of a build goes: by dbt node, by Spark stage, and by what tasks did.

Three builds of the made-up topic, each a process of its own: a full load, one percent more,
nothing new. What dbt says of its nodes comes from `run_results.json`, what Spark did for
each of them from Spark's event log.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.bar import Bar
from rich.console import Console
from rich.table import Table

import topic
from changefold_tools.generate.models import make_models
from changefold_tools.session import stop_session
from changefold_tools.verify.run import declare_topics, scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROJECT: Final = Path(__file__).parents[1]
SHORTEST: Final = 0.3
"""Seconds; nodes that took less are one line together, as are stages."""

PHASES: Final = ("Python", "sort", "shuffle", "rest")
"""What the time of tasks goes to; the rest is reading, computing and writing."""

_SETTINGS: Final = """\
spark.eventLog.enabled true
spark.eventLog.compress false
spark.eventLog.rolling.enabled false
spark.eventLog.dir file://{folder}
"""

_PHASE_COLUMNS: Final = tuple(f"tasks: {phase}" for phase in PHASES)

_PHASES: Final = {
    "time to run Python workers": "Python",
    "sort time": "sort",
    "internal.metrics.shuffle.write.writeTime": "shuffle",
    "internal.metrics.shuffle.read.fetchWaitTime": "shuffle",
}
"""A figure of a stage -> the phase it belongs to."""

_WRAPPERS: Final = {"AdaptiveSparkPlan", "WholeStageCodegen", "InputAdapter"}
"""What only holds other operators."""

_NANOSECONDS: Final = {"internal.metrics.shuffle.write.writeTime"}
"""Those that are not in milliseconds."""


@dataclass
class Stage:
    """A stage of a Spark job that ran.

    Attributes:
        node: The dbt node that it ran for.
        operators: Names of the plan's operators in it, those that read first.
        span: When it ran, seconds since 1970.
        parts: How many tasks it had.
        tasks: Phase -> seconds of its tasks, summed.
    """

    node: Node
    operators: list[str]
    span: tuple[float, float]
    parts: int
    tasks: dict[str, float]

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.span[1] - self.span[0]


@dataclass
class Node:
    """A dbt node in a build.

    Attributes:
        name: As dbt has it.
        spans: When dbt compiled and ran it, seconds since 1970.
        jobs: When its Spark jobs ran.
        tasks: Phase -> seconds of its tasks, summed.
    """

    name: str
    spans: list[tuple[float, float]] = field(default_factory=list)
    jobs: list[tuple[float, float]] = field(default_factory=list)
    tasks: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def seconds(self) -> float:
        """How long dbt compiled and ran it."""
        return _covered(self.spans)

    @property
    def around_jobs(self) -> tuple[float, ...]:
        """How long no job of it ran: before the first, between jobs, after the last.

        Before it dbt renders, and Spark analyses, plans and generates code; after it
        tables are committed, and dbt notes what it did. Of hooks only jobs are known.
        """
        if not self.spans:
            return 0.0, 0.0, 0.0
        if not self.jobs:
            return self.seconds, 0.0, 0.0
        before = max(min(self.jobs)[0] - min(self.spans)[0], 0.0)
        last = max(end for _, end in self.jobs)
        after = max(max(end for _, end in self.spans) - last, 0.0)
        without = self.seconds - _covered(self.jobs)
        return before, max(without - before - after, 0.0), after


@dataclass
class Build:
    """A build, its times in seconds since 1970.

    Attributes:
        name: What it built.
        begin: When its process began.
        spark_begin: When Spark's context was there to start the application.
        end: When its process was over.
        nodes: By name, hooks among them.
        stages: Those of their jobs, as they ended.
    """

    name: str
    begin: float
    spark_begin: float
    end: float
    nodes: dict[str, Node]
    stages: list[Stage]


def _covered(spans: list[tuple[float, float]]) -> float:
    total, until = 0.0, 0.0
    for begin, end in sorted(spans):
        total += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return total


def builds(messages: int) -> Iterator[Build]:
    """Build the topic in steps.

    Args:
        messages: Changes of the full load.
    """
    with (
        scratch_project(PROJECT) as project,
        tempfile.TemporaryDirectory(prefix="changefold-events-") as events,
    ):
        folder = project / "messages"
        folder.mkdir()
        declare_topics(
            project,
            [
                {
                    "name": "bench",
                    "protocol": "ticdc_canal_json",
                    "files": [str(folder)],
                    "partitions": topic.PARTITIONS,
                }
            ],
        )
        whole = folder / "bench.ndjson"
        topic.write_topic(whole, messages + messages // 100)
        lines = whole.read_text().splitlines(keepends=True)
        cut = len(lines) * 100 // 101
        whole.write_text("".join(lines[:cut]))
        make_models(project, check=False)
        stop_session()
        for table in (project / "warehouse").rglob("*"):
            if table.is_file():
                table.unlink()
        yield _build(project, Path(events), f"{cut:,} messages")
        (folder / "more.ndjson").write_text("".join(lines[cut:]))
        yield _build(project, Path(events), f"{len(lines) - cut:,} messages more")
        yield _build(project, Path(events), "nothing new")


def _build(project: Path, events: Path, name: str) -> Build:
    for old in events.iterdir():
        old.unlink()
    (events / "spark-defaults.conf").write_text(_SETTINGS.format(folder=events))
    begin = time.time()
    subprocess.run(  # dbt, in this Python
        [
            sys.executable,
            "-c",
            "from dbt.cli.main import cli; cli()",
            "build",
            "--quiet",
        ],
        cwd=project,
        env=os.environ | {"SPARK_CONF_DIR": str(events)},
        check=True,
    )
    end = time.time()
    nodes = _nodes(json.loads((project / "target" / "run_results.json").read_text()))
    [log] = [path for path in events.iterdir() if path.name.startswith("local-")]
    build = Build(name, begin, begin, end, nodes, [])
    with log.open(encoding="utf-8") as file:
        _add_jobs(build, map(json.loads, file))
    return build


def _nodes(results: dict[str, Any]) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for result in results["results"]:
        kind, _, name = result["unique_id"].split(".")[:3]
        shown = f"{kind} {name}" if "test" in kind else name
        node = nodes.setdefault(shown, Node(shown))
        for timing in result["timing"]:
            begin, end = (
                datetime.fromisoformat(timing[key]).timestamp()
                for key in ("started_at", "completed_at")
            )
            node.spans.append((begin, end))
    return nodes


def _add_jobs(build: Build, events: Iterator[dict[str, Any]]) -> None:
    """Add jobs, stages and tasks to the nodes that they ran for, and when Spark began."""
    of_job: dict[int, tuple[Node, float]] = {}
    of_stage: dict[int, Node] = {}
    operators: dict[int, str] = {}
    for event in events:
        match event["Event"].rpartition(".")[2]:
            case "SparkListenerApplicationStart":
                build.spark_begin = event["Timestamp"] / 1000
            case (
                "SparkListenerSQLExecutionStart"
                | "SparkListenerSQLAdaptiveExecutionUpdate"
            ):
                operators |= dict(_operators(event["sparkPlanInfo"]))
            case "SparkListenerJobStart":
                node = _node_of(build.nodes, event["Properties"])
                of_job[event["Job ID"]] = node, event["Submission Time"] / 1000
                for stage in event["Stage IDs"]:
                    of_stage.setdefault(stage, node)
            case "SparkListenerJobEnd":
                node, begin = of_job[event["Job ID"]]
                node.jobs.append((begin, event["Completion Time"] / 1000))
            case "SparkListenerStageCompleted":
                info = event["Stage Info"]
                stage = _stage(of_stage[info["Stage ID"]], info, operators)
                build.stages.append(stage)
                for phase, seconds in stage.tasks.items():
                    stage.node.tasks[phase] += seconds


def _operators(plan: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the figures of a plan with the operators that count them, leaves first."""
    for child in plan["children"]:
        yield from _operators(child)
    for metric in plan["metrics"]:
        yield metric["accumulatorId"], plan["nodeName"]


def _stage(node: Node, info: dict[str, Any], operators: dict[int, str]) -> Stage:
    figures = info["Accumulables"]
    counted = {figure["ID"] for figure in figures}
    named = dict.fromkeys(
        re.sub(r"^BatchScan lake\.\w+\.", "Scan ", re.sub(r" \(\d+\)$", "", name))
        for metric, name in operators.items()
        if metric in counted
    )
    return Stage(
        node,
        [name for name in named if name not in _WRAPPERS],
        (info["Submission Time"] / 1000, info["Completion Time"] / 1000),
        info["Number of Tasks"],
        _tasks(figures),
    )


def _node_of(nodes: dict[str, Node], properties: dict[str, str]) -> Node:
    described = properties.get("spark.job.description", "").split(".")
    kind, name = described[0], described[2] if len(described) > 2 else "hooks"
    shown = f"{kind} {name}" if "test" in kind else name
    return nodes.setdefault(shown, Node(shown))


def _tasks(figures: list[dict[str, Any]]) -> dict[str, float]:
    tasks = dict.fromkeys(PHASES, 0.0)
    ran = 0.0
    for figure in figures:
        phase = _PHASES.get(figure["Name"])
        if phase is not None:
            unit = 1e9 if figure["Name"] in _NANOSECONDS else 1e3
            tasks[phase] += float(figure["Value"]) / unit
        elif figure["Name"] == "internal.metrics.executorRunTime":
            ran = float(figure["Value"]) / 1000
    tasks["rest"] = max(ran - sum(tasks.values()), 0.0)
    return tasks


def table(build: Build) -> Table:
    """Return the nodes of a build: when each ran, and what its time went to."""
    shown = Table(
        title=f"{build.name}: {build.end - build.begin:.1f} s, of which "
        f"{build.spark_begin - build.begin:.1f} until Spark starts",
        title_justify="left",
    )
    shown.add_column("node", no_wrap=True)
    shown.add_column("from start to end of the process", width=40)
    for column in ("s", "before jobs", "between", "after", *_PHASE_COLUMNS):
        shown.add_column(column, justify="right")
    size = build.end - build.begin
    short = Node(f"those below {SHORTEST} s each")
    around_short: tuple[float, ...] = (0.0, 0.0, 0.0)
    for node in sorted(
        build.nodes.values(), key=lambda node: min(node.spans or node.jobs)
    ):
        around = node.around_jobs
        if node.spans and node.seconds < SHORTEST:
            short.spans += node.spans
            around_short = tuple(map(add, around_short, around))
            for phase, seconds in node.tasks.items():
                short.tasks[phase] += seconds
            continue
        _add_row(shown, build.begin, size, node, around)
    if short.spans:
        _add_row(shown, build.begin, size, short, around_short)
    return shown


def _add_row(
    shown: Table, start: float, size: float, node: Node, around: Iterable[float]
) -> None:
    spans = node.spans or node.jobs
    begin, end = min(spans)[0] - start, max(end for _, end in spans) - start
    shown.add_row(
        node.name,
        Bar(size, begin, end),
        f"{_covered(spans):.1f}",
        *_seconds(around),
        *_seconds(node.tasks[phase] for phase in PHASES),
    )


def _seconds(figures: Iterable[float]) -> Iterator[str]:
    for seconds in figures:
        yield f"{seconds:.1f}" if seconds >= 0.05 else ""


def stage_table(build: Build) -> Table:
    """Return the stages of a build: for which node, of what, and what their tasks did."""
    shown = Table(title=f"{build.name}: Spark's stages", title_justify="left")
    for column in ("node", "operators"):
        shown.add_column(column)
    for column in ("tasks", "s", *_PHASE_COLUMNS):
        shown.add_column(column, justify="right")
    short = dict.fromkeys(PHASES, 0.0)
    seconds, parts, stages = 0.0, 0, 0
    for stage in build.stages:
        if stage.seconds < SHORTEST:
            stages, parts = stages + 1, parts + stage.parts
            seconds += stage.seconds
            for phase in PHASES:
                short[phase] += stage.tasks[phase]
            continue
        shown.add_row(
            stage.node.name,
            ", ".join(stage.operators),
            str(stage.parts),
            f"{stage.seconds:.1f}",
            *_seconds(stage.tasks.values()),
        )
    shown.add_row(
        f"{stages} below {SHORTEST} s each",
        "",
        str(parts),
        f"{seconds:.1f}",
        *_seconds(short.values()),
    )
    return shown


def main() -> None:
    """Print a table of each build, and draw them into a file if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--svg", type=Path, help="file to draw the tables into")
    options = parser.parse_args()
    console = Console(width=200, record=True)
    for build in builds(options.messages):
        console.print(table(build), stage_table(build), sep="\n\n")
    if options.svg:
        console.save_svg(str(options.svg), title="dbt build")


if __name__ == "__main__":
    main()
