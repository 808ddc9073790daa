"""Recorded topics of the real producer, against the source database's own outcome."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from changefold_tools.verify.run import Recording, verify

PROJECT: Final = Path(__file__).parents[3]
GOLDEN: Final = PROJECT / "tests" / "golden"
BUILDS: Final = [
    ("ticdc/types", "canal_json_tidb", 1, "interpreted", "view"),
    ("ticdc/ddl", "canal_json_tidb", 2, "local", "typed_history"),
    ("ticdc/midstream", "simple_json", 1, "interpreted", "view"),
    ("connectors/sqlserver_types", "messages.schemas_false", 1, "interpreted", "view"),
    (
        "connectors/postgresql_interrupted",
        "messages.schemas_true",
        2,
        "interpreted",
        "typed_history",
    ),
]
"""Scenario, variant, into how many increments its messages are split, the target, and how
histories are kept.

The shop is built by `test_package` at once and by `test_kafka` in steps, `ticdc/midstream` as
Avro by `tests/cluster`, `ticdc/ddl` with tables of Delta by `tests/delta`.
"""


@pytest.mark.parametrize(("scenario", "variant", "runs", "target", "histories"), BUILDS)
def test_tables_equal_the_source(
    scenario: str, variant: str, runs: int, target: str, histories: str
) -> None:
    report = io.StringIO()
    is_equal = verify(
        Recording(GOLDEN / scenario, variant),
        PROJECT,
        runs=runs,
        target=target,
        histories=histories,
        console=Console(file=report, width=120),
    )
    assert is_equal, report.getvalue()
    assert "disagrees" not in report.getvalue(), report.getvalue()
