"""The truth of a topic in which too large rows are their key only."""

from __future__ import annotations

import json
from typing import Any

from changefold_tools.verify.handle_key_only import CutDown, CutDownChange
from changefold_tools.verify.results import TableResult, TableSchema
from changefold_tools.verify.truth import Truth

SCHEMAS = {("d", "t"): TableSchema(key_columns=("id",))}


def _line(at: int, op: str, text: str | None) -> dict[str, Any]:
    row = None if text is None else {"id": "1", "v": text}
    named = {"database": "d", "table": "t", "pk": {"id": "1"}}
    return {**named, "commitTs": at, "op": op, "row": row}


def _row(text: str) -> dict[str, Any]:
    return {"database": "d", "table": "t", "row": {"id": "1", "v": text}}


def _cut_down(
    lines: list[dict[str, Any]], final: list[dict[str, Any]], *at: int
) -> CutDown:
    changes = [CutDownChange("d", "t", {"id": "1"}, commit) for commit in at]
    return CutDown(Truth(final, lines), list(final), changes, SCHEMAS)


def test_a_change_that_came_as_its_key_only_is_not_carried() -> None:
    lines = [_line(1, "I", "a"), _line(2, "U", "large"), _line(3, "U", "b")]
    found = _cut_down(lines, [_row("b")], 2)
    assert found.truth.history == [lines[0], lines[2]]
    assert found.truth.final == found.current == [_row("b")]
    result = TableResult("history", "d", "t")
    found.add_to([result])
    assert (result.not_carried, result.rows_expected) == (1, 1)


def test_a_change_back_to_the_row_that_is_shown_is_not_carried() -> None:
    lines = [_line(1, "I", "a"), _line(2, "U", "large"), _line(3, "U", "a")]
    assert _cut_down(lines, [_row("a")], 2).truth.history == lines[:1]


def test_the_end_of_a_row_that_came_as_its_key_only_is_not_carried() -> None:
    lines = [_line(1, "I", "large"), _line(2, "D", None), _line(3, "I", "b")]
    assert _cut_down(lines, [_row("b")], 1).truth.history == lines[2:]


def test_a_row_whose_last_change_came_as_its_key_only_is_not_compared() -> None:
    found = _cut_down([_line(1, "I", "a"), _line(2, "U", "x")], [_row("x")], 2)
    assert found.truth.final == found.current == []
    assert found.left_out["current", "d", "t"] == 1


def test_every_other_change_must_be_there() -> None:
    lines = [_line(1, "I", "a"), _line(2, "U", "a"), _line(3, "D", None)]
    found = _cut_down(lines, [], 7)
    assert found.truth.history == lines
    assert not found.left_out


def test_the_key_is_read_from_either_protocol() -> None:
    extension = {"commitTs": 5, "onlyHandleKey": True}
    named = {"database": "d", "table": "t"}
    canal = {**named, "data": [{"id": "1"}], "_tidb": extension}
    simple = {**named, "data": {"id": "1"}, "commitTs": 5}
    for message in (canal, simple):
        found = CutDownChange.from_message(json.dumps(message).encode())
        assert found == CutDownChange("d", "t", {"id": "1"}, 5)
