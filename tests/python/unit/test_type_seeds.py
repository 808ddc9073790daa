"""The seeds of types: nobody edits them but here, so no build has to test them again."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[3]
SEEDS: Final = {
    path.stem: list(csv.DictReader(path.read_text("utf-8").splitlines()))
    for path in sorted((ROOT / "seeds").glob("*.csv"))
}
TYPES: Final = [(name, row) for name, rows in SEEDS.items() for row in rows]


def test_the_seeds_are_those_of_mysql_and_of_connect() -> None:
    assert list(SEEDS) == ["connect_types", "mysql_types"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_type_and_variant_is_there_once(seed: str) -> None:
    types = [(row[seed.removesuffix("s")], row["variant"]) for row in SEEDS[seed]]
    assert len(types) == len(set(types))


@pytest.mark.parametrize(("seed", "row"), TYPES)
def test_only_the_variant_may_be_empty(seed: str, row: dict[str, str]) -> None:
    assert [name for name, text in row.items() if not text] in ([], ["variant"]), seed
    assert row["is_lossless"] in {"true", "false"}


@pytest.mark.parametrize(("seed", "row"), TYPES)
def test_the_conversion_is_a_macro(seed: str, row: dict[str, str]) -> None:
    macro = ROOT / "macros" / "types" / f"{row['conversion']}.sql"
    assert macro.exists(), seed
