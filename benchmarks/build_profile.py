"""Where the time of a build goes: by dbt node, and in Spark by what its tasks did.

Three builds of the made-up topic, each a process of its own: a full load, one percent more,
nothing new. What dbt says of its nodes comes from `run_results.json`, what Spark did for
each of them from Spark's event log.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.bar import Bar
from rich.console import Console
from rich.table import Table

import topic
from changefold_tools.models import make_models
from changefold_tools.session import stop_session
from changefold_tools.verify import declare_topics, scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT: Final = Path(__file__).parents[1]
SHORTEST: Final = 0.3
"""Seconds; nodes that took less are one line together."""

_SETTINGS: Final = """\
spark.eventLog.enabled true
spark.eventLog.compress false
spark.eventLog.rolling.enabled false
spark.eventLog.dir file://{folder}
"""

_PHASES: Final = {
    "time to run Python workers": "Python",
    "sort time": "sort",
    "internal.metrics.shuffle.write.writeTime": "shuffle",
    "internal.metrics.shuffle.read.fetchWaitTime": "shuffle",
}
"""A figure of a stage -> the phase it belongs to."""

_NANOSECONDS: Final = {"internal.metrics.shuffle.write.writeTime"}
"""Those that are not in milliseconds."""


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
    def outside_jobs(self) -> float:
        """How long no job of it ran: dbt, analysis, planning, code generation, commits."""
        return max(self.seconds - _covered(self.jobs), 0.0)


@dataclass
class Build:
    """A build, its times in seconds since 1970.

    Attributes:
        name: What it built.
        begin: When its process began.
        spark_begin: When Spark's context was there to start the application.
        end: When its process was over.
        nodes: By name, hooks among them.
    """

    name: str
    begin: float
    spark_begin: float
    end: float
    nodes: dict[str, Node]


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
    with log.open(encoding="utf-8") as file:
        spark_begin = _add_jobs(nodes, map(json.loads, file))
    return Build(name, begin, spark_begin, end, nodes)


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


def _add_jobs(nodes: dict[str, Node], events: Iterator[dict[str, Any]]) -> float:
    """Add jobs and tasks to the nodes that they ran for; return when Spark began."""
    spark_begin = 0.0
    of_job: dict[int, tuple[Node, float]] = {}
    of_stage: dict[int, Node] = {}
    for event in events:
        match event["Event"]:
            case "SparkListenerApplicationStart":
                spark_begin = event["Timestamp"] / 1000
            case "SparkListenerJobStart":
                node = _node_of(nodes, event["Properties"])
                of_job[event["Job ID"]] = node, event["Submission Time"] / 1000
                for stage in event["Stage IDs"]:
                    of_stage.setdefault(stage, node)
            case "SparkListenerJobEnd":
                node, begin = of_job[event["Job ID"]]
                node.jobs.append((begin, event["Completion Time"] / 1000))
            case "SparkListenerStageCompleted":
                stage = event["Stage Info"]
                _add_tasks(of_stage[stage["Stage ID"]].tasks, stage["Accumulables"])
    return spark_begin


def _node_of(nodes: dict[str, Node], properties: dict[str, str]) -> Node:
    described = properties.get("spark.job.description", "").split(".")
    kind, name = described[0], described[2] if len(described) > 2 else "hooks"
    shown = f"{kind} {name}" if "test" in kind else name
    return nodes.setdefault(shown, Node(shown))


def _add_tasks(tasks: dict[str, float], figures: list[dict[str, Any]]) -> None:
    told = 0.0
    for figure in figures:
        phase = _PHASES.get(figure["Name"])
        if phase is not None:
            unit = 1e9 if figure["Name"] in _NANOSECONDS else 1e3
            tasks[phase] += float(figure["Value"]) / unit
            told += float(figure["Value"]) / unit
    ran = sum(
        float(figure["Value"]) / 1000
        for figure in figures
        if figure["Name"] == "internal.metrics.executorRunTime"
    )
    tasks["read, compute, write"] += max(ran - told, 0.0)


def table(build: Build) -> Table:
    """Return the nodes of a build: when each ran, and what its time went to."""
    phases = ["Python", "sort", "shuffle", "read, compute, write"]
    shown = Table(
        title=f"{build.name}: {build.end - build.begin:.1f} s, of which "
        f"{build.spark_begin - build.begin:.1f} until Spark starts",
        title_justify="left",
    )
    shown.add_column("node")
    shown.add_column("from start to end of the process", width=40)
    for column in ("s", "outside jobs", *(f"tasks: {phase}" for phase in phases)):
        shown.add_column(column, justify="right")
    size = build.end - build.begin
    short = Node(f"those below {SHORTEST} s each")
    for node in sorted(
        build.nodes.values(), key=lambda node: min(node.spans or node.jobs)
    ):
        if node.spans and node.seconds < SHORTEST:
            short.spans += node.spans
            short.jobs += node.jobs
            for phase, seconds in node.tasks.items():
                short.tasks[phase] += seconds
            continue
        _add_row(shown, build.begin, size, node, phases)
    if short.spans:
        _add_row(shown, build.begin, size, short, phases)
    return shown


def _add_row(
    shown: Table, start: float, size: float, node: Node, phases: list[str]
) -> None:
    spans = node.spans or node.jobs
    begin, end = min(spans)[0] - start, max(end for _, end in spans) - start
    shown.add_row(
        node.name,
        Bar(size, begin, end),
        f"{_covered(spans):.1f}",
        f"{node.outside_jobs:.1f}" if node.spans else "",
        *(
            f"{node.tasks[phase]:.1f}" if node.tasks[phase] >= 0.05 else ""
            for phase in phases
        ),
    )


def main() -> None:
    """Print a table of each build, and draw them into a file if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--svg", type=Path, help="file to draw the tables into")
    options = parser.parse_args()
    console = Console(width=170, record=True)
    for build in builds(options.messages):
        console.print(table(build))
    if options.svg:
        console.save_svg(str(options.svg), title="dbt build")


if __name__ == "__main__":
    main()
