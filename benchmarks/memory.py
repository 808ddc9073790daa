"""Peak memory of a first build: of some messages, and of ten times as many.

Nothing of the data goes through dbt's process, and Spark's own memory is bounded, so
ten times the input must not need much more. Each build is a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

import topic
from changefold_tools.generate.models import make_models
from changefold_tools.session import run_dbt
from changefold_tools.verify.run import declare_topics, scratch_project
from process_needs import ProcessNeeds

PROJECT = Path(__file__).parents[1]


def _build(files: Path) -> None:
    with scratch_project(PROJECT) as copy:
        declare_topics(
            copy,
            [
                {
                    "name": "bench",
                    "protocol": "ticdc_canal_json",
                    "files": [str(files)],
                    "partitions": topic.PARTITIONS,
                }
            ],
        )
        make_models(copy, check=False)
        run_dbt(["run", "--quiet"], copy)


def _peak(messages: int) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        # The generator remembers each row: not in a process that is measured.
        topic.write_topic(Path(folder) / "bench.ndjson", messages)
        command = [sys.executable, __file__, "--build", folder]
        child = subprocess.Popen(command)  # noqa: S603  # this file
        with ProcessNeeds(child.pid) as needs:
            code = child.wait()
    if code:
        raise SystemExit(f"The build of {messages} messages failed.")
    return needs.peak


def main() -> None:
    """Print the peaks and their ratios; exit 1 above the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--bound", type=float, default=1.2)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        _build(options.build)
        return
    console = Console()
    small = _peak(options.messages)
    large = _peak(10 * options.messages)
    for kind in small:
        console.print(
            f"{kind}: {small[kind]:,.0f} MB with {options.messages:,} messages, "
            f"{large[kind]:,.0f} MB with ten times as many: "
            f"{large[kind] / small[kind]:.2f} x"
        )
    if (large["main"] + large["java"]) > options.bound * (
        small["main"] + small["java"]
    ):
        raise SystemExit(f"The driver's peak grew by more than {options.bound} x.")


if __name__ == "__main__":
    main()
