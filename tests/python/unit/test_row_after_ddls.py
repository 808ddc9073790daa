"""A row under the columns that DDLs made which sent no row."""

import json
from typing import Any

import msgspec
import pytest

from changefold.schemas.row_after_ddls import row_after_ddls

Row = dict[str, str | None]


def after(row: Row, *changes: dict[str, Any]) -> Row:
    common = {"since": "1", "value_accuracy": "exact", "wire_form": "canal"}
    return row_after_ddls(row, json.dumps([common | change for change in changes]))


def added(name: str, default: str | None, **more: Any) -> dict[str, Any]:
    told = {} if default is None else {"default_value": default}
    return {"kind": "added", "to_name": name, **told, **more}


def renamed(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"kind": "renamed", "from_name": old, "to_name": new, **more}


def retyped(old: str, new: str, before: str, to: str, **more: Any) -> dict[str, Any]:
    types = {"from_type": before, "to_type": to}
    return {"kind": "retyped", "from_name": old, "to_name": new, **types, **more}


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ([added("c", "5")], {"a": "1", "b": "x", "c": "5"}),
        ([added("c", None)], {"a": "1", "b": "x", "c": None}),
        ([added("c", "5", value_accuracy="unknown")], {"a": "1", "b": "x"}),
        ([added("c", "5", value_accuracy="approximate")], {"a": "1", "b": "x"}),
        ([{"kind": "dropped", "from_name": "b"}], {"a": "1"}),
        ([renamed("b", "c")], {"a": "1", "c": "x"}),
        # One statement gives each the other's name.
        ([renamed("a", "b"), renamed("b", "a")], {"a": "x", "b": "1"}),
        (
            [{"kind": "dropped", "from_name": "b"}, added("b", "new")],
            {"a": "1", "b": "new"},
        ),
        (
            [renamed("b", "c", since="1"), added("b", "new", since="2")],
            {"a": "1", "b": "new", "c": "x"},
        ),
        (
            [retyped("a", "a", "int", "decimal(6,2)")],
            {"a": "1.00", "b": "x"},
        ),
        (
            [retyped("b", "b", "text", "text", to_charset="latin1")],
            {"a": "1", "b": "x"},
        ),
        (
            [renamed("a", "n"), retyped("a", "n", "int", "decimal(6,2)")],
            {"n": "1.00", "b": "x"},
        ),
        (
            [renamed("a", "n"), retyped("n", "n", "int", "decimal(6,2)")],
            {"n": "1.00", "b": "x"},
        ),
        (
            [retyped("a", "a", "int", "int", value_accuracy="unknown")],
            {"b": "x"},
        ),
        ([retyped("a", "a", "", "bigint")], {"a": "1", "b": "x"}),
    ],
)
def test_a_row_is_brought_under_later_columns(
    changes: list[dict[str, Any]], row: Row
) -> None:
    assert after({"a": "1", "b": "x"}, *changes) == row


def test_bytes_of_the_simple_protocol_are_converted_as_it_writes_them() -> None:
    change = retyped("a", "a", "varbinary(4)", "varchar(4)", wire_form="simple")
    assert after({"a": "eHk="}, change) == {"a": "xy"}


def test_a_text_of_another_form_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        after({}, {"kind": "moved"})


def test_a_smaller_character_set_loses_characters() -> None:
    row: Row = {"a": "żó", "b": None}
    both = [retyped(name, name, "text", "text", to_charset="latin1") for name in "ab"]
    assert after(row, *both) == {"a": "?ó", "b": None}


def test_a_text_of_which_nobody_knows_what_is_lost_is_left_out() -> None:
    row: Row = {"a": "żó", "b": "o"}
    both = [retyped(name, name, "text", "text", to_charset="gbk") for name in "ab"]
    assert after(row, *both) == {"b": "o"}
