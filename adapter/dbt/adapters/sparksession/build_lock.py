"""One build at a time: a lock on a file of a local warehouse.

Two builds that land or read the same messages would both append them. The operating system
gives the lock back when its process ends, however that comes about.
"""

from __future__ import annotations

import fcntl
import os
import platform
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

__all__ = ["NAME", "BuildLock", "this_process"]

NAME: Final = "build.lock"
"""Name of the file in the folder of the warehouse."""

_POLL_SECONDS: Final = 0.5


def this_process() -> str:
    """Name this process, its machine and the time, as a sentence tells them."""
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {os.getpid()} on {platform.node()} since {since}"


class BuildLock:
    """The lock of this process; it can be taken again while it is held."""

    def __init__(self) -> None:
        self._file: IO[str] | None = None
        self._guard = threading.Lock()

    def take(self, warehouse: Path, wait_seconds: float) -> str:
        """Take the lock, or say who has it.

        Args:
            warehouse: Folder of the tables.
            wait_seconds: How long to wait for it, in seconds.

        Returns:
            Nothing, if this process has the lock now; else who has it, such as
            ``process 4711 on analytics1 since 2026-01-31 06:30:00 UTC``.
        """
        path = warehouse / NAME
        with self._guard:
            if self._file is not None:
                if Path(self._file.name) == path:
                    return ""
                self._release()
            warehouse.mkdir(parents=True, exist_ok=True)
            file = path.open("a+", encoding="utf-8")
            deadline = time.monotonic() + wait_seconds
            while not _is_taken(file):
                if time.monotonic() >= deadline:
                    file.seek(0)
                    holder = file.read().strip()
                    file.close()
                    return holder or "another process"
                time.sleep(_POLL_SECONDS)
            file.truncate(0)
            file.write(this_process() + "\n")
            file.flush()
            self._file = file
            return ""

    def release(self) -> None:
        """Give the lock back, if this process has it."""
        with self._guard:
            self._release()

    def _release(self) -> None:
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None


def _is_taken(file: IO[str]) -> bool:
    """Try to take the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
