"""What a process and those below it need while they run: memory, and what they write."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Self

import psutil

if TYPE_CHECKING:
    from types import TracebackType

_INTERVAL: Final = 0.2
"""Seconds between two looks."""

_MEGABYTE: Final = 1_000_000


class ProcessNeeds:
    """Watches a process from entering to leaving a context.

    Attributes:
        peak: Kind of process (`main`, `java`, `workers`) -> highest memory, in MB. Pages
            that several processes share are divided among them.
        peak_of_all: The same of all together.
    """

    def __init__(self, pid: int) -> None:
        self.peak: dict[str, float] = {}
        self.peak_of_all = 0.0
        self._process = psutil.Process(pid)
        self._written: dict[int, float] = {}
        self._is_done = threading.Event()
        self._watcher = threading.Thread(target=self._watch)

    @property
    def written(self) -> float:
        """What the processes gave to disks to write, in MB, with what they deleted later."""
        return sum(self._written.values())

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_done.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._is_done.wait(_INTERVAL):
            now: dict[str, float] = {}
            for process in self._family():
                try:
                    name = process.name()
                    memory = process.memory_full_info().pss / _MEGABYTE
                    written = process.io_counters().write_bytes / _MEGABYTE
                except (psutil.NoSuchProcess, psutil.ZombieProcess):
                    continue
                kind = "java" if name == "java" else "workers"
                if process == self._process:
                    kind = "main"
                now[kind] = now.get(kind, 0) + memory
                self._written[process.pid] = written
            for kind, memory in now.items():
                self.peak[kind] = max(self.peak.get(kind, 0), memory)
            self.peak_of_all = max(self.peak_of_all, sum(now.values()))

    def _family(self) -> list[psutil.Process]:
        try:
            return [self._process, *self._process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []
