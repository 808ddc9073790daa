"""The tables equal the source, however builds have been killed before.

``CHANGEFOLD_KILL_SEEDS=30`` tries thirty random histories, each of another seed;
``CHANGEFOLD_KILL_SEED=7`` the one of a failure.
"""

import os
from pathlib import Path
from typing import Final

import pytest
from histories import seeded
from kills import Killer, differences

SEEDS: Final = (
    [int(os.environ["CHANGEFOLD_KILL_SEED"])]
    if "CHANGEFOLD_KILL_SEED" in os.environ
    else range(int(os.environ["CHANGEFOLD_KILL_SEEDS"]))
    if "CHANGEFOLD_KILL_SEEDS" in os.environ
    else (3, 6, 7, 16, 29)  # those that take few builds
)


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_builds_leave_what_the_next_one_makes_right(
    tmp_path: Path, seed: int
) -> None:
    random = seeded(f"kills/{seed}")
    killer = Killer(random)
    report = differences(tmp_path, random, random.randint(1, 2), killer)
    assert not report, f"CHANGEFOLD_KILL_SEED={seed}, kills: {killer.kills}\n{report}"
