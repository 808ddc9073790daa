"""The small cases of `tests/cases`, as topics of one project, in one run and in two."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from changefold_tools.verify.run import recordings_in, verify_together

PROJECT: Final = Path(__file__).parents[3]
CASES: Final = sorted(
    folder for folder in (PROJECT / "tests" / "cases").iterdir() if folder.is_dir()
)


RUNS: Final = {1: "local", 2: "interpreted"}
"""Number of runs, and the target of the profile: users' own, and the quicker one."""


@pytest.fixture(scope="module", params=RUNS)
def outcome(request: pytest.FixtureRequest) -> tuple[dict[str, bool], str]:
    """By the case, whether its rows are those of the source; and the report."""
    report = io.StringIO()
    recordings = [each for folder in CASES for each in recordings_in(folder)]
    equal = verify_together(
        recordings,
        PROJECT,
        runs=request.param,
        target=RUNS[request.param],
        console=Console(file=report, width=120),
    )
    return equal, report.getvalue()


@pytest.mark.parametrize("case", [folder.name for folder in CASES])
def test_rows_are_those_of_the_source(
    case: str, outcome: tuple[dict[str, bool], str]
) -> None:
    equal, report = outcome
    assert equal[case], report


LOST: Final = {
    "before_differs": 4,
    "delete_of_no_row": 1,
    "insert_of_a_row": 1,
    "update_of_no_row": 1,
}
DISAGREEMENTS: Final = {
    ("canal_lost_messages", "bank.ledger"): LOST,
    ("ticdc_lost_messages", "bank.ledger"): LOST,
    ("postgresql_lost_messages", "bank.public.full"): LOST | {"before_differs": 2},
    # Its updates have no row before them.
    ("postgresql_lost_messages", "bank.public.part"): {
        kind: number for kind, number in LOST.items() if kind != "before_differs"
    },
}


def test_only_lost_messages_are_found_missing(
    outcome: tuple[dict[str, bool], str],
) -> None:
    found: dict[tuple[str, str], dict[str, int]] = {}
    topic = ""
    for line in outcome[1].splitlines():
        topic = line.partition(", ")[0] if line.endswith("run(s)") else topic
        told = re.match(r"(\S+) disagrees \((\w+)\): (\d+) changes", line)
        if told:
            found.setdefault((topic, told[1]), {})[told[2]] = int(told[3])
    assert found == DISAGREEMENTS, outcome[1]


def test_no_row_without_a_key_is_there_twice(
    outcome: tuple[dict[str, bool], str], request: pytest.FixtureRequest
) -> None:
    """A second run may see such rows of a second sending before the rows that tell it."""
    if request.node.callspec.params["outcome"] == 1:
        assert "copies of rows that were sent again" not in outcome[1]


def test_runs_fold_what_one_fold_of_the_whole_log_does(
    outcome: tuple[dict[str, bool], str], request: pytest.FixtureRequest
) -> None:
    equal, report = outcome
    runs = request.node.callspec.params["outcome"]
    assert equal.get("row_versions", runs == 1), report
