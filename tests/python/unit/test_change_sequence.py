"""Change sequences: nobody but their two owners looks inside one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from conftest import PROJECT

from changefold.schemas.ordering import (
    commit_ts_of,
    millisecond_of,
    place_of,
    position_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWNERS = {
    "macros/order/change_sequence.sql",
    "python_udfs/changefold/schemas/ordering.py",
}

LOOKS_INSIDE = re.compile(
    r"""
    (?:left|substr|substring|split_part|split|rlike|contains)\( [^()\n]* sequence\b
    | \w*(?:sequence|first_unapplied|_until|_since)\w* (?:\[ [^\]"'\n]* : | \.(?:split|partition|startswith)\()
    | sequence\b [^\n]{0,20} \brlike\b
    | ["'](?:@|~?@)["'] \s (?:not\s)? in
    """,
    re.VERBOSE,
)


def sources() -> Iterator[Path]:
    for folder in ("macros", "models", "tests/dbt", "python_udfs", "tools"):
        for ending in ("sql", "py"):
            yield from sorted((PROJECT / folder).rglob(f"*.{ending}"))


def test_nobody_else_looks_inside_a_sequence() -> None:
    found = {
        f"{path.relative_to(PROJECT)}: {match[0]}"
        for path in sources()
        if str(path.relative_to(PROJECT)) not in OWNERS
        for match in LOOKS_INSIDE.finditer(path.read_text())
    }
    assert found == set()


def test_a_look_inside_is_found() -> None:
    text = (PROJECT / "macros/order/change_sequence.sql").read_text()
    assert len(LOOKS_INSIDE.findall(text)) > 2


COMMIT_TS = 470617751621206020
DEBEZIUM = "00000/0000000003.00000000000000000154.1/~0000000001.00003.0000000000000000012@1559729468470"
WHOLE_SECOND = 1_795_264_241_000 << 18


@pytest.mark.parametrize(
    ("sequence", "commit_ts", "millisecond"),
    [
        (f"{COMMIT_TS:020}", COMMIT_TS, COMMIT_TS >> 18),
        (f"{WHOLE_SECOND:020}:{7:019}", None, WHOLE_SECOND >> 18),
        (f"{WHOLE_SECOND + (1 << 18):020}:{7:019}~", None, 1_795_264_241_001),
        (DEBEZIUM, None, None),
        (f"{COMMIT_TS:020}@1559729468470", COMMIT_TS, None),
    ],
)
def test_a_sequence_tells_its_time(
    sequence: str, commit_ts: int | None, millisecond: int | None
) -> None:
    assert commit_ts_of(sequence) == commit_ts
    assert millisecond_of(sequence) == millisecond
    assert sequence.startswith(position_of(sequence))


def test_a_sequence_of_debezium_tells_its_place_in_kafka() -> None:
    assert place_of(DEBEZIUM) == (3, 12)
    assert place_of(f"{COMMIT_TS:020}") is None


def test_changes_sort_alike_with_the_extension_of_tidb_and_without() -> None:
    before = f"{(COMMIT_TS >> 18) - 1 << 18:020}:{900:019}"
    after = f"{(COMMIT_TS >> 18) + 1 << 18:020}:{3:019}"
    assert before < f"{COMMIT_TS:020}" < after
