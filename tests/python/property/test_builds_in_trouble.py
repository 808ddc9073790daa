"""The tables equal the source after a full disk, a read-only one, and beside a rival."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from histories import seeded
from kills import FullDisk, ReadOnly, Rival, differences

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Troubles:
    """What befalls a project before each run.

    Attributes:
        read_only: A warehouse without tables, then one that has some.
        disk: Full, the first time.
        rival: Another run, the second time.
        report: How the tables differ in the end.
    """

    disk: FullDisk
    read_only: ReadOnly = field(default_factory=ReadOnly)
    rival: Rival = field(default_factory=Rival)
    report: str = ""

    def __call__(self, project: Path) -> None:
        """Let it all happen."""
        self.read_only(project)
        if len(self.read_only.refusals) == 1:
            self.disk(project)
        else:
            self.rival(project)


@pytest.fixture(scope="module")
def troubles(tmp_path_factory: pytest.TempPathFactory) -> Troubles:
    random = seeded("troubles")
    troubles = Troubles(FullDisk(random))
    folder = tmp_path_factory.mktemp("troubles")
    troubles.report = differences(folder, random, 1, troubles)
    return troubles


def test_the_tables_equal_the_source_after_all(troubles: Troubles) -> None:
    assert not troubles.report, f"{troubles.disk.failures}\n{troubles.report}"


def test_builds_found_the_disk_full(troubles: Troubles) -> None:
    assert troubles.disk.failures


def test_a_build_that_may_not_write_says_so(troubles: Troubles) -> None:
    assert len(troubles.read_only.refusals) == 2
    for refusal in troubles.read_only.refusals:
        assert "can not be written" in refusal, refusal


def test_of_two_builds_at_once_one_waits_or_stops_with_a_sentence(
    troubles: Troubles,
) -> None:
    process, code = troubles.rival.wait()
    assert code == 0
    assert f"process {process} on" in troubles.rival.refusal
