"""Kills a run of dbt at a random moment, as a power failure would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from histories import happens

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

LONGEST_SECONDS: Final = 30
"""Until a run on few messages has ended, from the start of its process."""

MOST_FILES: Final = 250
"""That it writes into the warehouse."""

_DBT: Final = "from dbt.cli.main import cli; cli()"


@dataclass
class Killer:
    """Starts runs and kills them, with all processes they have started.

    Half of the kills come at any time, half when a number of files has been written: most
    of a run is computing, and what matters are its commits.

    Attributes:
        random: Makes the choices.
        kills: What was done, a sentence each.
    """

    random: Random
    kills: list[str] = field(default_factory=list)

    def __call__(self, project: Path) -> None:
        """Start a run on a project, and kill it."""
        seconds, files = float("inf"), sys.maxsize
        if happens(self.random, 0.5):
            seconds = self.random.uniform(3, LONGEST_SECONDS)
        else:
            files = self.random.randint(1, MOST_FILES)
        warehouse = project / "warehouse"
        before = _count_files(warehouse)
        begun = time.monotonic()
        with subprocess.Popen(  # noqa: S603 - dbt, in this Python
            [sys.executable, "-c", _DBT, "run", "--quiet", "--project-dir", "."],
            cwd=project,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            while process.poll() is None:
                elapsed = time.monotonic() - begun
                written = _count_files(warehouse) - before
                if elapsed >= seconds or written >= files:
                    os.killpg(process.pid, signal.SIGKILL)
                    self.kills.append(f"after {elapsed:.1f} s and {written} files")
                    return
                time.sleep(0.005)
        self.kills.append(f"not killed, it ended with {process.returncode}")


def _count_files(folder: Path) -> int:
    """Count files; they may come and go meanwhile."""
    return sum(len(names) for _, _, names in os.walk(folder))
