"""The tables equal the source, however often the builds were killed.

``CHANGEFOLD_KILL_SEEDS=30`` tries thirty random histories, each of another seed;
``CHANGEFOLD_KILL_SEED=7`` the one of a failure.
"""

import io
import os
from pathlib import Path
from typing import Final

import pytest
from deliveries import deliver, draw_settings, write_corpus
from histories import draw_source, seeded
from kills import Killer
from rich.console import Console

from changefold_tools.verify import Recording, verify

PROJECT: Final = Path(__file__).parents[3]
SEEDS: Final = (
    [int(os.environ["CHANGEFOLD_KILL_SEED"])]
    if "CHANGEFOLD_KILL_SEED" in os.environ
    else range(int(os.environ.get("CHANGEFOLD_KILL_SEEDS", "2")))
)


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_builds_leave_what_the_next_one_makes_right(
    tmp_path: Path, seed: int
) -> None:
    random = seeded(f"kills/{seed}")
    source = draw_source(random, 10)
    delivery = deliver(random, source, draw_settings(random))
    write_corpus(tmp_path, source, delivery)
    recording = Recording(tmp_path, delivery.settings.protocol)
    report, killer = io.StringIO(), Killer(random)
    is_equal = verify(
        recording,
        PROJECT,
        runs=random.randint(1, 2),
        before_run=killer,
        console=Console(file=report, width=120),
    )
    assert is_equal, (
        f"CHANGEFOLD_KILL_SEED={seed}, {delivery.settings}, kills: {killer.kills}\n"
        f"{report.getvalue()}"
    )
