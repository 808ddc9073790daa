"""Which archives the workers of Python do without, and which memory they keep."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from changefold.worker_daemon import without_own_archives


def test_archives_within_an_installed_pyspark_are_left_out(tmp_path: Path) -> None:
    library = tmp_path / "site-packages"
    archives = [
        library / "pyspark" / "python" / "lib" / "pyspark.zip",
        library / "pyspark" / "jars" / "spark-core.jar",
    ]
    for archive in archives:
        archive.parent.mkdir(parents=True)
        archive.touch()
    path = [*map(str, archives), str(library)]
    assert without_own_archives(path) == [str(library)]


def test_archives_of_a_spark_elsewhere_stay(tmp_path: Path) -> None:
    archive = tmp_path / "spark" / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    archive.touch()
    (tmp_path / "site-packages" / "pyspark").mkdir(parents=True)
    path = [str(archive), str(tmp_path / "site-packages")]
    assert without_own_archives(path) == path


def test_archives_stay_where_no_pyspark_is_installed(tmp_path: Path) -> None:
    archive = tmp_path / "pyspark" / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert without_own_archives([str(archive)]) == [str(archive)]


def test_folders_of_code_stay(tmp_path: Path) -> None:
    within = tmp_path / "pyspark" / "python"
    within.mkdir(parents=True)
    path = [str(within), str(tmp_path)]
    assert without_own_archives(path) == path


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="settings of glibc")
def test_memory_that_is_freed_is_taken_again() -> None:
    # In a process of its own, for the settings stay.
    faults = """
import resource
import numpy as np
from changefold.worker_daemon import keep_freed_memory
assert keep_freed_memory()
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(3 << 20, np.uint8), np.ones(5 << 20, np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""
    printed = subprocess.run(  # noqa: S603  # our own text
        [sys.executable, "-c", faults], check=True, capture_output=True, text=True
    ).stdout
    # 20 times 8 MiB would be 40,960 pages.
    assert int(printed) < 2_000
