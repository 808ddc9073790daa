"""The tables equal the source after a full disk, a read-only one, and beside a rival."""

from pathlib import Path

from histories import seeded
from kills import FullDisk, ReadOnly, Rival, differences


def test_builds_that_found_the_disk_full_leave_what_the_next_one_makes_right(
    tmp_path: Path,
) -> None:
    random = seeded("full disk")
    disk = FullDisk(random)
    report = differences(tmp_path, random, 1, disk)
    assert not report, f"{disk.failures}\n{report}"
    assert disk.failures


def test_builds_that_may_not_write_say_so_and_leave_the_tables_as_they_are(
    tmp_path: Path,
) -> None:
    read_only = ReadOnly()
    report = differences(tmp_path, seeded("read-only"), 1, read_only)
    assert not report
    assert len(read_only.refusals) == 2
    for refusal in read_only.refusals:
        assert "can not be written" in refusal, refusal


def test_of_two_builds_at_once_one_waits_or_stops_with_a_sentence(
    tmp_path: Path,
) -> None:
    rival = Rival()
    report = differences(tmp_path, seeded("rival"), 1, rival)
    assert not report
    process, code = rival.wait()
    assert code == 0
    assert f"process {process} on" in rival.refusal
