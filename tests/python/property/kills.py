"""Runs of dbt that end badly: killed, on a full or read-only disk, or beside another."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deliveries import deliver, draw_settings, write_corpus
from histories import draw_source, happens
from rich.console import Console

from changefold_tools.verify.run import Recording, verify
from dbt.adapters.sparksession.build_lock import NAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_PROJECT: Final = Path(__file__).parents[3]

LONGEST_SECONDS: Final = 30
"""Until a run on few messages has ended, from the start of its process."""

MOST_FILES: Final = 250
"""That it writes into the warehouse."""

SLOWEST_SECONDS: Final = 300
"""That a run may take on a busy machine."""

_DBT: Final = "from dbt.cli.main import cli; cli()"
_WITH_LIMIT: Final = (
    "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0})); " + _DBT
)

# What root may write in spite of its rights, the JVM that it starts then may not.
_WITHOUT_PRIVILEGE: Final = (
    "import ctypes; getattr(ctypes.CDLL(None), 'prctl', print)(24, 1); " + _DBT
)


def start(project: Path, program: str = _DBT) -> subprocess.Popen[bytes]:
    """Start a run on a project, in a process group of its own."""
    return subprocess.Popen(  # noqa: S603 - dbt, in this Python
        [sys.executable, "-c", program, "run", "--quiet", "--project-dir", "."],
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


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
        with start(project) as process:
            while process.poll() is None:
                elapsed = time.monotonic() - begun
                written = _count_files(warehouse) - before
                if elapsed >= seconds or written >= files:
                    os.killpg(process.pid, signal.SIGKILL)
                    self.kills.append(f"after {elapsed:.1f} s and {written} files")
                    return
                time.sleep(0.005)
        self.kills.append(f"not killed, it ended with {process.returncode}")


@dataclass
class FullDisk:
    """Starts runs that can write no file beyond a size, as if the disk were full.

    Attributes:
        random: Makes the choices.
        failures: What was done, a sentence each.
    """

    random: Random
    failures: list[str] = field(default_factory=list)

    def __call__(self, project: Path) -> None:
        """Start a run on a project, and wait until it has failed."""
        most = self.random.choice((2_000, 9_000, 30_000, 60_000))
        with start(project, _WITH_LIMIT.format(most)) as process:
            if process.wait(timeout=SLOWEST_SECONDS) != 0:
                self.failures.append(f"at {most} bytes of a file")


@dataclass
class ReadOnly:
    """Starts runs that may write nothing: into a warehouse without tables, and with some.

    Attributes:
        refusals: What they said.
    """

    refusals: list[str] = field(default_factory=list)

    def __call__(self, project: Path) -> None:
        """Run on a project, and wait until that has failed."""
        if len(self.refusals) == 2:
            return
        warehouse = project / "warehouse"
        warehouse.mkdir(exist_ok=True)
        places = [warehouse, *warehouse.rglob("*")]
        for place in places:
            place.chmod(0o555 if place.is_dir() else 0o444)
        try:
            run = _run(project, _WITHOUT_PRIVILEGE)
        finally:
            for place in places:
                place.chmod(0o755 if place.is_dir() else 0o644)
        assert run.returncode != 0
        self.refusals.append(" ".join(run.stdout.split()))


@dataclass
class Rival:
    """Starts a run and, while it goes on, one that does not wait for it. Does so once.

    Attributes:
        refusal: What the second one said.
    """

    refusal: str = ""
    _first: subprocess.Popen[bytes] | None = None

    def __call__(self, project: Path) -> None:
        """Leave a run on a project behind that has the lock."""
        if self._first is not None:
            return
        self._first = start(project)
        lock = project / "warehouse" / NAME
        deadline = time.monotonic() + SLOWEST_SECONDS
        while str(self._first.pid) not in _text(lock):
            if self._first.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("Expected a run that takes the lock, got none")
            time.sleep(0.05)
        # It keeps the lock for as long as the second one runs.
        os.kill(self._first.pid, signal.SIGSTOP)
        try:
            second = _run(project, _DBT, "--vars", "lock_wait_seconds: 0")
        finally:
            os.kill(self._first.pid, signal.SIGCONT)
        self.refusal = " ".join(second.stdout.split())

    def wait(self) -> tuple[int, int]:
        """Return the process of the first one, and what it ended with."""
        assert self._first is not None
        return self._first.pid, self._first.wait(timeout=SLOWEST_SECONDS)


def differences(
    folder: Path, random: Random, runs: int, before_run: Callable[[Path], None]
) -> str:
    """Return where the tables of a random history are not the source's."""
    source = draw_source(random, 10)
    delivery = deliver(random, source, draw_settings(random))
    write_corpus(folder, source, delivery)
    report = io.StringIO()
    is_equal = verify(
        Recording(folder, delivery.settings.protocol),
        _PROJECT,
        runs=runs,
        before_run=before_run,
        target="interpreted",
        console=Console(file=report, width=120),
    )
    return "" if is_equal else f"{delivery.settings}\n{report.getvalue()}"


def _run(
    project: Path, program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run dbt on a project, to its end, and keep what it prints."""
    return subprocess.run(  # noqa: S603 - dbt, in this Python
        [sys.executable, "-c", program, "run", "--project-dir", ".", *arguments],
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=False,
        text=True,
    )


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def _count_files(folder: Path) -> int:
    """Count files; they may come and go meanwhile."""
    return sum(len(names) for _, _, names in os.walk(folder))
