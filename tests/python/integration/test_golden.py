"""Recorded topics of the real producer, against the source database's own outcome."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from changefold_tools.verify import Recording, verify

PROJECT = Path(__file__).parents[3]
GOLDEN = PROJECT / "tests" / "golden"


@pytest.mark.parametrize(
    ("scenario", "variant", "runs"),
    [
        ("ticdc_canal_json/types", "canal_json_tidb", 1),
        ("ticdc_canal_json/types", "canal_json_compatible", 2),
        ("ticdc_canal_json/shop", "canal_json_tidb", 5),
        ("ticdc_canal_json/shop", "canal_json", 2),
        ("ticdc_simple/types", "simple_avro", 1),
        ("ticdc_simple/ddl", "canal_json_tidb", 1),
        ("ticdc_simple/ddl", "simple_json", 2),
    ],
)
def test_tables_equal_the_source(scenario: str, variant: str, runs: int) -> None:
    report = io.StringIO()
    is_equal = verify(
        Recording(GOLDEN / scenario, variant),
        PROJECT,
        runs=runs,
        console=Console(file=report, width=120),
    )
    assert is_equal, report.getvalue()
