"""The benchmark's contestants give the same rows; how quick they are is not asked here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def test_all_contestants_give_the_same_tables() -> None:
    done = subprocess.run(  # noqa: S603 # a script of this project
        [
            *(sys.executable, str(BENCHMARKS / "contest.py")),
            *("--messages", "3000", "--runs", "1", "--more-columns", "3"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert "All histories and current tables are equal." in done.stdout
