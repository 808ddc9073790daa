"""PySpark's daemon, whose workers read the installed pyspark and not its archives.

Spark puts ``pyspark.zip`` and a jar first on the path of its workers. Before each task a
worker drops what Python knows of its path, and Python 3.11 then reads the directory of
an archive again for every package that came from it: 0.1 s of each task, often more
than the rest of it. (Spark 4.2 drops less, Python 3.12 reads less.)

The adapter names this module in ``spark.python.daemon.module``.
"""

import runpy
import sys
from pathlib import Path

__all__ = ["without_own_archives"]


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
    sys.path[:] = without_own_archives(sys.path)
    sys.path_importer_cache.clear()
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
