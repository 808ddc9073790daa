"""Recorded topics of the real producer, against the source database's own outcome."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from changefold_tools.verify import Recording, verify

PROJECT: Final = Path(__file__).parents[3]
GOLDEN: Final = PROJECT / "tests" / "golden"
BUILDS: Final = [
    ("ticdc/types", "canal_json_tidb", 1),
    ("ticdc/ddl", "canal_json_tidb", 1),
    ("ticdc/ddl", "simple_json", 2),
    ("ticdc/midstream", "canal_json_tidb", 2),
    ("connectors/sqlserver_types", "messages.schemas_false", 2),
    ("connectors/postgresql_interrupted", "messages.schemas_true", 2),
]
"""Scenario, variant, and into how many increments its messages are split.

The shop is built by `test_package` at once and by `test_kafka` in steps, `ticdc/types` as Avro
by `tests/cluster`.
"""


class Builds:
    """Builds a recording when it is first asked for, and keeps what came of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reports: dict[tuple[str, str, int], tuple[bool, str]] = {}

    def verify(self, scenario: str, variant: str, runs: int) -> tuple[bool, str]:
        """Return whether the tables equal the source, and the report."""
        build = (scenario, variant, runs)
        if build not in self._reports:
            report = io.StringIO()
            is_equal = verify(
                Recording(GOLDEN / scenario, variant),
                PROJECT,
                runs=runs,
                export=self._folder / scenario / variant,
                console=Console(file=report, width=120),
            )
            self._reports[build] = is_equal, report.getvalue()
        return self._reports[build]

    def tables(self, scenario: str, variant: str, runs: int) -> dict[str, str]:
        """Return the exported tables: all current ones, and all histories."""
        self.verify(scenario, variant, runs)
        folder = self._folder / scenario / variant
        return {path.stem: path.read_text() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    return Builds(tmp_path_factory.mktemp("exports"))


@pytest.mark.parametrize(("scenario", "variant", "runs"), BUILDS)
def test_tables_equal_the_source(
    builds: Builds, scenario: str, variant: str, runs: int
) -> None:
    is_equal, report = builds.verify(scenario, variant, runs)
    assert is_equal, report


def test_tables_are_the_same_through_every_protocol(builds: Builds) -> None:
    first, other = (build for build in BUILDS if build[0] == "ticdc/ddl")
    assert builds.tables(*other) == builds.tables(*first)
