"""Rows of built tables against the rows that the official Canal's source printed."""

import json
from pathlib import Path
from typing import Any

import pytest

from changefold_tools.verify.canal import compare_final
from changefold_tools.verify.results import TableResult

Row = dict[str, Any]

TYPES = {
    "id": "int(10) unsigned zerofill",
    "price": "float",
    "raw": "binary(4)",
    "place": "point",
}
PRINTED: Row = {
    "id": "0000000001",
    "price": "57.47761154174805",
    "raw": "0x61000000",
    "place": "SRID=0;POINT(1 2)",
}
OURS: Row = {
    "id": "1",
    "price": "57.47761",
    "raw": {"$hex": "61000000"},
    "place": "\x00",
}


def corpus(
    folder: Path, *, keys: list[str] | None, inserts: int = 1, known: str = ""
) -> Path:
    data = {"id": "1", "price": "57.47761", "raw": "a", "place": "\x00"}
    message = {
        "database": "shop",
        "table": "t",
        "pkNames": keys,
        "isDdl": False,
        "type": "INSERT",
        "mysqlType": TYPES,
        "data": [data],
    }
    line = json.dumps({"value": json.dumps(message)}) + "\n"
    (folder / "messages.ndjson").write_text(line * inserts)
    final = {"database": "shop", "schema": None, "table": "t", "row": PRINTED}
    (folder / "expected_final.ndjson").write_text(json.dumps(final) + "\n")
    (folder / "known_differences.ndjson").write_text(known)
    return folder


def compared(folder: Path, *rows: Row) -> TableResult:
    lines = [{"database": "shop", "table": "t", "row": row} for row in rows]
    (result,) = compare_final(folder, folder / "messages.ndjson", lines)
    return result


def test_rows_that_say_the_same_are_equal(tmp_path: Path) -> None:
    result = compared(corpus(tmp_path, keys=["id"]), OURS)
    assert (result.equal, result.is_equal) == (1, True)
    assert result.not_compared == {"cells of place (a shape has another form)": 1}


@pytest.mark.parametrize(
    "cells",
    [
        {"price": "57.4776"},
        {"raw": {"$hex": "61"}},
        {"raw": None},
        {"place": None},
        {"more": "x"},
    ],
)
def test_any_other_cell_is_a_difference(tmp_path: Path, cells: Row) -> None:
    result = compared(corpus(tmp_path, keys=["id"]), OURS | cells)
    assert result.different == 1


def test_a_listed_cell_may_have_the_message_s_value_and_no_other(
    tmp_path: Path,
) -> None:
    known = {"table": "t", "key": {"id": "1"}, "column": "raw", "message": "a"}
    line = known | {"oracle": "0x61000000", "reason": "zero_bytes_removed"}
    folder = corpus(tmp_path, keys=["id"], known=json.dumps(line))
    assert compared(folder, OURS | {"raw": {"$hex": "61"}}).excused == 1
    assert compared(folder, OURS | {"raw": {"$hex": "62"}}).different == 1
    assert compared(folder, OURS).equal == 1


def test_copies_without_a_key_may_be_as_many_as_were_sent(tmp_path: Path) -> None:
    folder = corpus(tmp_path, keys=None, inserts=2)
    # The copy is told by its row as the message has it.
    printed = {"id": "1", "price": "57.47761", "raw": None, "place": None}
    message = json.loads((folder / "messages.ndjson").read_text().splitlines()[0])
    value = json.loads(message["value"]) | {"data": [printed]}
    line = json.dumps({"value": json.dumps(value)}) + "\n"
    (folder / "messages.ndjson").write_text(line * 2)
    final = {"database": "shop", "table": "t", "row": printed}
    (folder / "expected_final.ndjson").write_text(json.dumps(final) + "\n")
    twice = compared(folder, printed, printed)
    assert (twice.equal, twice.is_equal) == (1, True)
    assert twice.not_compared == {"copies of rows that were sent again (no key)": 1}
    assert compared(folder, printed, printed, printed).extra == 1
    assert compared(folder, printed | {"price": "1"}).extra == 1


def test_a_copy_without_a_key_may_be_left_whose_delete_was_not_sent_again(
    tmp_path: Path,
) -> None:
    folder = corpus(tmp_path, keys=None)
    gone = {"id": "1", "price": "57.47761", "raw": None, "place": None}
    other = gone | {"id": "2"}
    final = {"database": "shop", "table": "t", "row": other}
    (folder / "expected_final.ndjson").write_text(json.dumps(final) + "\n")
    message = json.loads((folder / "messages.ndjson").read_text())
    value = json.loads(message["value"]) | {"data": [gone]}
    line = json.dumps({"value": json.dumps(value)}) + "\n"
    (folder / "messages.ndjson").write_text(line)
    assert compared(folder, other, gone).extra == 1
    (folder / "messages.ndjson").write_text(line * 2)
    assert compared(folder, other, gone).is_equal
    assert compared(folder, other, gone, gone).extra == 1
