"""The small cases of `tests/cases`, as topics of one project, in one run and in two."""

from __future__ import annotations

import io
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


def test_runs_fold_what_one_fold_of_the_whole_log_does(
    outcome: tuple[dict[str, bool], str], request: pytest.FixtureRequest
) -> None:
    equal, report = outcome
    runs = request.node.callspec.params["outcome"]
    assert equal.get("row_versions", runs == 1), report
