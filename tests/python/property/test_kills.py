"""The tables equal the source, however builds have ended before.

``CHANGEFOLD_KILL_SEEDS=30`` tries thirty random histories, each of another seed;
``CHANGEFOLD_KILL_SEED=7`` the one of a failure.
"""

import io
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest
from deliveries import deliver, draw_settings, write_corpus
from histories import draw_source, seeded
from kills import FullDisk, Killer, ReadOnly, Rival
from rich.console import Console

from changefold_tools.verify import Recording, verify

PROJECT: Final = Path(__file__).parents[3]
SEEDS: Final = (
    [int(os.environ["CHANGEFOLD_KILL_SEED"])]
    if "CHANGEFOLD_KILL_SEED" in os.environ
    else range(int(os.environ.get("CHANGEFOLD_KILL_SEEDS", "5")))
)


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_builds_leave_what_the_next_one_makes_right(
    tmp_path: Path, seed: int
) -> None:
    random = seeded(f"kills/{seed}")
    killer = Killer(random)
    report = differences(tmp_path, random, random.randint(1, 2), killer)
    assert not report, f"CHANGEFOLD_KILL_SEED={seed}, kills: {killer.kills}\n{report}"


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
        PROJECT,
        runs=runs,
        before_run=before_run,
        console=Console(file=report, width=120),
    )
    return "" if is_equal else f"{delivery.settings}\n{report.getvalue()}"
