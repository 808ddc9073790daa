"""The truth of a topic that begins in the middle."""

from __future__ import annotations

from typing import Any

from changefold_tools.verify.late_start import Midstream, PendingChange
from changefold_tools.verify.results import TableResult, TableSchema
from changefold_tools.verify.truth import Truth

SCHEMAS = {("d", "t"): TableSchema(key_columns=("id",))}


def _change(id_: str, at: int, cause: str = "dml", op: str = "U") -> dict[str, Any]:
    named = {"database": "d", "table": "t", "pk": {"id": id_}}
    return {**named, "commitTs": at, "op": op, "cause": cause, "row": {"id": id_}}


def _row(id_: str) -> dict[str, Any]:
    return {"database": "d", "table": "t", "row": {"id": id_}}


def _visible(id_: str, *, exists: bool = True) -> dict[str, Any]:
    return {**_row(id_), "pk": {"id": id_}, "row": {"id": id_} if exists else None}


def _midstream(
    visible: Truth,
    whole: Truth,
    current: list[dict[str, Any]],
    history: list[dict[str, Any]],
    pending: list[PendingChange] | None = None,
) -> Midstream:
    built = {"current": current, "history": history}
    return Midstream(visible, whole, built, pending or [], SCHEMAS)


def test_what_a_ddl_did_to_a_row_before_the_log_shows_it_is_not_carried() -> None:
    lines = [_change("1", 5, "ddl"), _change("1", 9)]
    found = _midstream(Truth([], lines), Truth([], None), [], [_change("1", 9)])
    assert found.truth.history == lines[1:]
    result = TableResult("history", "d", "t")
    found.add_to([result])
    assert (result.not_carried, result.rows_expected) == (1, 1)


def test_without_commit_timestamps_milliseconds_tell_what_came_before() -> None:
    lines = [_change("1", 5 << 18, "ddl"), _change("1", 9 << 18)]
    history = [_change("1", 0) | {"commitTs": None, "es": 9}]
    found = _midstream(Truth([], lines), Truth([], None), [], history)
    assert found.truth.history == lines[1:]


def test_what_a_ddl_did_to_a_row_that_was_shown_must_be_there() -> None:
    lines = [_change("1", 5), _change("1", 9, "ddl")]
    found = _midstream(Truth([], lines), Truth([], None), [], [_change("1", 5)])
    assert found.truth.history == lines
    assert not found.left_out


def test_a_change_that_waits_for_its_schema_is_not_carried() -> None:
    pending = [PendingChange("d", "t", {"id": "1"})]
    truth = Truth([_visible("1"), _visible("2")], [_change("1", 5), _change("2", 6)])
    found = _midstream(truth, Truth([], None), [], [], pending)
    assert found.truth.history == [_change("2", 6)]
    assert found.truth.final == [_visible("2")]
    assert found.left_out.total() == 2


def test_a_lost_change_is_expected() -> None:
    truth = Truth([_visible("1")], [_change("1", 5)])
    found = _midstream(truth, Truth([], None), [], [])
    assert found.truth.history == [_change("1", 5)]
    assert found.truth.final == [_visible("1")]


def test_a_row_shown_under_an_old_name_is_compared_with_the_whole_truth() -> None:
    whole = Truth([_row("1"), _row("2")], None)
    found = _midstream(Truth([], []), whole, [_row("1")], [])
    assert found.truth.final == [_row("1")]


def test_the_end_of_a_row_that_was_never_shown_is_not_carried() -> None:
    lines = [_change("1", 9, op="D")]
    found = _midstream(Truth([], lines), Truth([], None), [], [])
    assert found.truth.history == []
    assert found.left_out["history", "d", "t"] == 1


def test_the_end_of_a_row_that_was_shown_must_be_there() -> None:
    lines = [_change("1", 5), _change("1", 9, op="D")]
    found = _midstream(Truth([], lines), Truth([], None), [], [_change("1", 5)])
    assert found.truth.history == lines
