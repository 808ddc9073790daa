"""The same tables in Delta's format."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).parents[2]
CASES: Final = ("ticdc_late_below_an_exchange", "canal_another_key")
"""The second one has histories of tables that are gone, by their names and moments."""


def test_tables_equal_the_source_in_increments() -> None:
    # A process of its own: the jars of a target are those of its JVM.
    verified = subprocess.run(  # noqa: S603 # this project's own command
        [
            *(sys.executable, "-m", "changefold_tools.cli"),
            *("--project-dir", str(PROJECT), "verify"),
            *(str(PROJECT / "tests" / "cases" / case) for case in CASES),
            *("--runs", "2", "--target", "delta", "--histories", "typed_history"),
        ],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0, verified.stdout[-5000:] + verified.stderr[-5000:]
