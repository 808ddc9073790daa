"""One build at a time works on a local warehouse."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from dbt.adapters.sparksession.build_lock import NAME, BuildLock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLD: Final = """
import sys, time
from pathlib import Path
from dbt.adapters.sparksession.build_lock import BuildLock
lock = BuildLock()
assert lock.take(Path(sys.argv[1]), 0) == ""
print("taken", flush=True)
time.sleep(float(sys.argv[2]))
lock.release()
time.sleep(600)
"""


@contextmanager
def holder(warehouse: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock for some time."""
    with subprocess.Popen(  # noqa: S603 - this Python and the text above
        [sys.executable, "-c", HOLD, str(warehouse), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("ends_by", ["release", "kill"])
def test_another_build_is_named_and_waited_for(tmp_path: Path, ends_by: str) -> None:
    lock = BuildLock()
    with holder(tmp_path, 1.0 if ends_by == "release" else 600) as other:
        named = lock.take(tmp_path, 0)
        assert named.startswith(f"process {other.pid} on ")
        assert named.endswith(" UTC")
        if ends_by == "kill":
            other.kill()
        assert lock.take(tmp_path, 30) == ""
    lock.release()


def test_waiting_ends_with_the_name_of_the_other_build(tmp_path: Path) -> None:
    begun = time.monotonic()
    with holder(tmp_path, 600) as other:
        assert f"process {other.pid} " in BuildLock().take(tmp_path, 1)
    assert time.monotonic() - begun >= 1


def test_a_build_takes_its_own_lock_again_and_that_of_another_warehouse(
    tmp_path: Path,
) -> None:
    lock, other = BuildLock(), BuildLock()
    first, second = tmp_path / "first", tmp_path / "second"
    assert [lock.take(first, 0), lock.take(first, 0)] == ["", ""]
    assert other.take(first, 0) != ""
    assert lock.take(second, 0) == ""
    assert other.take(first, 0) == ""
    lock.release()
    other.release()
    assert (first / NAME).read_text() == ""
