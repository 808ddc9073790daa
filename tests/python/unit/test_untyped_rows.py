"""Rows without a schema, read by the types that other messages told."""

from __future__ import annotations

import json

import pytest

from changefold.connect.untyped_rows import read_untyped


@pytest.mark.parametrize(
    ("type_text", "text", "read"),
    [
        ("connect.Date", "20031", "2024-11-04"),
        ("connect.Date", "2024-11-04", None),
        ("connect.Decimal(10,2)", "BRQ=", "13.00"),
        ("connect.Decimal(10,2)", "12.5", "12.50"),
        # A number of four digits is base64, too.
        ("connect.Decimal(10,2)", "1250", None),
        ("connect.MicroTimestamp", "1730678400000001", "2024-11-04 00:00:00.000001"),
        ("connect.MicroTimestamp", "2024-11-04T00:00:00Z", None),
        (
            "connect.ZonedTimestamp",
            "2024-11-04T00:00:00Z",
            "2024-11-04 00:00:00.000000Z",
        ),
        ("connect.int32", "7", "7"),
        ("connect.int32", "7.5", None),
        ("connect.double", "7.50", "7.5"),
        ("connect.string", "7.50", "7.50"),
        ("connect.boolean", "true", "true"),
        ("connect.bytes", "AAE=", "\x00\x01"),
        ("connect.bytes", "no base64", None),
        ("connect.Json", '{"a": 1}', '{"a": 1}'),
        ("connect.VariableScaleDecimal", '{"scale":"1","value":"fQ=="}', "12.5"),
        ("connect.array<connect.int32>", '["1",null]', '["1",null]'),
        ("connect.array<connect.int32>", '["one"]', None),
        ("connect.array<connect.string>", "[broken", None),
        (None, "20031", None),
    ],
)
def test_a_value_is_read_by_the_type_that_others_told(
    type_text: str | None, text: str, read: str | None
) -> None:
    row = read_untyped(
        json.dumps({"id": "1", "x": text}),
        json.dumps({"id": "connect.int32", "x": "connect.untyped"}),
        json.dumps({"id": "connect.Date", "x": type_text}),
        None,
    )
    expected = {"id": "1"} if read is None else {"id": "1", "x": read}
    assert json.loads(row) == expected


def test_a_null_stays_and_so_does_a_column_of_which_nobody_told() -> None:
    row = '{"x":null,"other":"20031"}'
    untyped = '{"x":"connect.untyped","other":"connect.untyped"}'
    assert read_untyped(row, untyped, '{"x":"connect.Date"}', None) == row
