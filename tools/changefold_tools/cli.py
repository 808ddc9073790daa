"""Command line ``changefold``: what the Makefile calls."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from changefold_tools.generate.escaping import shown
from changefold_tools.generate.sources import project_settings
from changefold_tools.session import DbtFailedError, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code: 0 fine, 1 found something, 2 failed.

    Why it failed is a sentence on stderr.

    Args:
        arguments: The command line; that of the process by default.
    """
    parser = argparse.ArgumentParser(prog="changefold")
    parser.add_argument("--project-dir", type=Path, default=Path.cwd())
    commands = parser.add_subparsers(dest="command", required=True)
    models = commands.add_parser(
        "models", help="write the models of the topics' tables"
    )
    models.add_argument("--check", action="store_true", help="only tell what is stale")
    verify = commands.add_parser("verify", help="build recordings and compare")
    verify.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="folder",
        help="with messages and truth; several recordings are topics of one project",
    )
    verify.add_argument(
        "--variant",
        help="name of the messages' file without its ending; else all in the folders",
    )
    verify.add_argument(
        "--runs",
        type=lambda text: None if text == "each" else _count(text),
        default=1,
        help="number of increments; `each` makes every message one",
    )
    verify.add_argument("--export", type=Path, help="folder to keep the tables in")
    verify.add_argument("--target", default="local", help="of the profile")
    verify.add_argument(
        "--histories",
        choices=["view", "typed_history"],
        default="view",
        help="how the project keeps them",
    )
    filter_ = commands.add_parser(
        "filter", help="show what the filter of a TiCDC changefeed lets through"
    )
    filter_.add_argument("changefeed", type=Path, help="its configuration, a TOML file")
    filter_.add_argument("tables", nargs="*", metavar="database.table")
    filter_.add_argument(
        "--ddl", action="append", default=[], help="a statement, in the first database"
    )
    commands.add_parser("summary", help="print the balance, the cut and the tables")
    fuzz = commands.add_parser("fuzz", help="decode damaged messages of all protocols")
    fuzz.add_argument("--messages", type=_count, default=20_000, help="how many")
    fuzz.add_argument("--seed", type=int, default=1, help="other numbers, other damage")
    fuzz.add_argument("--only", type=int, help="number of one message: only its batch")
    demo = commands.add_parser(
        "demo-kafka", help="the sample shop through a real Kafka"
    )
    demo.add_argument("--seconds", type=float, default=60, help="that it is sent in")
    options = parser.parse_args(arguments)
    console = Console()
    project = options.project_dir.resolve()
    try:
        _check_project(options.command, project)
        return _COMMANDS[options.command](options, project, console)
    except _failures() as error:
        _print_failure(error)
        return 2


_OF_THIS_PROJECT: Final = frozenset({"verify", "fuzz", "demo-kafka"})
"""Commands that work with files of changefold itself, which no package has."""


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
    return number


def _check_project(command: str, project: Path) -> None:
    """Check that a command is run in a project that it can work with.

    Raises:
        FileNotFoundError: If it needs a dbt project, and this folder is none.
        ValueError: If it needs that of changefold, and this is another.
    """
    if command == "filter":
        return
    name = project_settings(project)["name"]
    if command in _OF_THIS_PROJECT and name != "changefold":
        raise ValueError(
            f"`changefold {command}` works in a clone of changefold, with its own project; "
            f"this one is `{name}`. Run it there, or name the clone: changefold "
            f"--project-dir FOLDER {command}"
        )


def _failures() -> tuple[type[Exception], ...]:
    """What a command may raise: each says in a sentence why it failed."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return DbtFailedError, OSError, ValueError, PySparkException, Py4JError


def _print_failure(error: Exception) -> None:
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif not isinstance(error, (DbtFailedError, OSError, ValueError)):
        # Spark answers with a stack trace of Java.
        from dbt.adapters.sparksession.errors import explain

        text = explain(text)
    text = "\n".join(map(shown, text.split("\n")))
    # One line stays one line, however narrow the terminal.
    Console(stderr=True, soft_wrap=True).print(
        text, style="red", highlight=False, markup=False
    )


def _models(options: argparse.Namespace, project: Path, console: Console) -> int:
    from changefold_tools.generate.models import make_models

    check = options.check
    outcome = make_models(project, check=check)
    for path in outcome.written:
        console.print(f"{'stale' if check else 'wrote'}    {path}", highlight=False)
    for path in outcome.removed:
        console.print(f"{'stale' if check else 'removed'}  {path}", highlight=False)
    for path, difference in outcome.edited.items():
        console.print(f"edited   {path}: left as it is", highlight=False)
        for line in difference.split("\n"):
            console.print(shown(line), highlight=False, markup=False)
    for path in outcome.orphaned:
        console.print(f"orphaned {path}: edited, and of no table", highlight=False)
    for name, versions in outcome.large.items():
        console.print(
            f"large    {name}: a view, which casts {versions:,} versions for whoever reads "
            "it; `materialized: typed_history` keeps them typed (docs/row_versions.md)",
            highlight=False,
        )
    stale = len(outcome.written) + len(outcome.removed)
    changed = (
        f"{stale} stale"
        if check
        else f"{len(outcome.written)} written, {len(outcome.removed)} removed"
    )
    console.print(
        f"{changed}, {len(outcome.unchanged)} unchanged, {len(outcome.edited)} edited, "
        f"{len(outcome.orphaned)} orphaned"
    )
    return 1 if check and (stale or outcome.orphaned) else 0


def _filter(options: argparse.Namespace, project: Path, console: Console) -> int:
    from changefold_tools.filter_report import print_filter

    print_filter(options.changefeed, options.tables, options.ddl, console)
    return 0


def _summary(options: argparse.Namespace, project: Path, console: Console) -> int:
    from changefold_tools.summary import print_summary

    print_summary(project, schema_of(project), console)
    return 0


def _fuzz(options: argparse.Namespace, project: Path, console: Console) -> int:
    from changefold_tools.devtools.fuzz import Fuzzer, print_report
    from changefold_tools.devtools.recorded_topics import read_topics

    fuzzer = Fuzzer(read_topics(project / "tests" / "golden"), options.seed)
    if options.only is not None:
        topic, message = fuzzer.damaged(options.only)
        console.print(f"{topic.name}: {message}", highlight=False, markup=False)
    report = fuzzer.run(options.messages, options.only)
    print_report(report, console)
    return 1 if report.failures else 0


def _demo_kafka(options: argparse.Namespace, project: Path, console: Console) -> int:
    from changefold_tools.devtools.demo_kafka import run_demo
    from changefold_tools.devtools.kafka_broker import BrokerError

    try:
        run_demo(project, console, options.seconds)
    except BrokerError as error:
        raise ValueError(str(error)) from error
    return 0


def _verify(options: argparse.Namespace, project: Path, console: Console) -> int:
    from changefold_tools.verify.run import (
        Recording,
        recordings_in,
        verify,
        verify_together,
    )

    recordings = [
        recording
        for folder in map(Path.resolve, options.folders)
        for recording in (
            [Recording(folder, options.variant)]
            if options.variant
            else recordings_in(folder)
        )
    ]
    if len(recordings) == 1:
        (recording,) = recordings
        is_equal = verify(
            recording,
            project,
            runs=options.runs or len(recording.lines()),
            export=options.export,
            target=options.target,
            histories=options.histories,
            console=console,
        )
        return 0 if is_equal else 1
    outcomes = verify_together(
        recordings,
        project,
        runs=options.runs,
        export=options.export,
        target=options.target,
        histories=options.histories,
        console=console,
    )
    for name, is_equal in outcomes.items():
        text = "equal" if is_equal else "differs"
        console.print(f"{text:8} {name}", highlight=False, markup=False)
    return 0 if all(outcomes.values()) else 1


_COMMANDS: Final[dict[str, Callable[[argparse.Namespace, Path, Console], int]]] = {
    "models": _models,
    "filter": _filter,
    "summary": _summary,
    "fuzz": _fuzz,
    "demo-kafka": _demo_kafka,
    "verify": _verify,
}


if __name__ == "__main__":
    sys.exit(main())
