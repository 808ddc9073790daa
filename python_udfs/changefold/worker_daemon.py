"""PySpark's daemon, whose workers start quickly and keep the memory that they free.

Spark puts ``pyspark.zip`` and a jar first on the path of its workers. Before each task a
worker drops what Python knows of its path, and Python 3.11 then reads the directory of
an archive again for every package that came from it: 0.1 s of each task, often more
than the rest of it. (Spark 4.2 drops less, Python 3.12 reads less.)

The columns of a batch are large. By default the C library gives such memory back to the
kernel when it is freed, and the next batch waits for it: a tenth of the time of a parser.

The adapter names this module in ``spark.python.daemon.module``.
"""

import ctypes
import runpy
import sys
from pathlib import Path
from typing import Final

__all__ = ["keep_freed_memory", "without_own_archives"]

_MEMORY_SETTINGS: Final = {
    -1: 256 << 20,  # M_TRIM_THRESHOLD: give back what is more than this
    -2: 16 << 20,  # M_TOP_PAD: take so much more than is needed
    -3: 32 << 20,  # M_MMAP_THRESHOLD: what is smaller can be kept; its highest value
}
"""Parameters of mallopt(3), in bytes."""


def keep_freed_memory() -> bool:
    """Let this process and its children keep up to 256 MB of what they free.

    Returns:
        Whether the C library has such settings: glibc does.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(
        mallopt(parameter, size) == 1 for parameter, size in _MEMORY_SETTINGS.items()
    )


def without_own_archives(path: list[str]) -> list[str]:
    """Leave out archives that lie within a pyspark which stands on the path itself.

    Those hold the same code. The archives of a Spark somewhere else stay, as they may
    be of another version than what is installed.

    Args:
        path: As `sys.path`.
    """
    packages = [Path(entry).resolve() / "pyspark" for entry in path]
    return [
        entry
        for entry in path
        if not (
            Path(entry).is_file()
            and any(Path(entry).resolve().is_relative_to(each) for each in packages)
        )
    ]


if __name__ == "__main__":
    keep_freed_memory()
    sys.path[:] = without_own_archives(sys.path)
    sys.path_importer_cache.clear()
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
