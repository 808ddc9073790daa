"""Exported lines show a name as who reads it sees it."""

import json
from typing import Any

import pytest

from changefold_tools.generate.table_history import TableName, TableShape, parse_type
from changefold_tools.verify.export import (
    Handovers,
    _image,
    _Layout,
    _marks,
    _moment,
)

AT = f"{7:020}"


def shape(*names: TableName) -> TableShape:
    last = names[-1]
    return TableShape(
        topic="t",
        database=last.database,
        table=last.table,
        columns={},
        live=[],
        key_columns=["id"],
        unsent=[],
        reshaped_at=[],
        names=list(names),
    )


def line(table: str, id_: str, op: str, row: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "database": "shop",
        "table": table,
        "pk": {"id": id_},
        "commitTs": 7,
        "op": op,
        "row": row,
    }


def test_a_key_of_two_tables_is_updated_where_one_takes_the_name_of_the_other() -> None:
    handovers = Handovers(
        [
            shape(TableName("shop", "a", None, AT), TableName("shop", "old", AT)),
            shape(TableName("shop", "new", None, AT), TableName("shop", "a", AT)),
        ]
    )
    first, second = {"id": "1", "v": "x"}, {"id": "1", "w": "y"}
    assert not handovers.holds(line("old", "1", "I", first), None)
    assert not handovers.holds(line("new", "1", "D", None), second)
    assert handovers.holds(line("a", "1", "D", None), first)
    assert handovers.holds(line("a", "1", "I", second), None)
    assert handovers.holds(line("a", "2", "D", None), {"id": "2", "v": None})
    assert handovers.holds(line("a", "3", "I", {"id": "3"}), None)
    assert handovers.holds(line("a", "4", "D", None), {"id": "4"})
    assert handovers.holds(line("a", "4", "I", {"id": "4"}), None)
    assert list(handovers.lines()) == [
        line("a", "1", "U", second),
        line("a", "2", "D", None),
        line("a", "3", "I", {"id": "3"}),
    ]


def test_a_name_that_is_taken_later_shows_no_row_in_between() -> None:
    later = f"{8:020}"
    handovers = Handovers(
        [
            shape(TableName("shop", "a", None, AT), TableName("shop", "old", AT)),
            shape(TableName("shop", "new", None, later), TableName("shop", "a", later)),
        ]
    )
    assert not handovers.holds(line("a", "1", "D", None), {"id": "1"})


@pytest.mark.parametrize(
    ("sequence", "moment"),
    [
        (f"{7:020}", {"commitTs": 7}),
        (f"{7 << 18:020}:{1:019}", {"commitTs": None, "es": 7}),
        (f"{7:020}@1559729468470", {"commitTs": 7}),
        (
            "00000027:00000758:0005.1.00000027:00000758:0003.0001@1559729468470",
            {"commitTs": None},
        ),
    ],
)
def test_a_line_of_the_history_tells_its_position(
    sequence: str, moment: dict[str, Any]
) -> None:
    whole = {"sequence": sequence} if "@" in sequence else {}
    assert _moment(sequence) == moment | whole


def test_values_of_a_debezium_table_have_the_texts_that_came() -> None:
    cells = {
        "at": "2024-02-29 12:00:00.000500",
        "fine": "2024-02-29 12:00:00.000500",
        "raw": bytearray(b"\xff"),
        "gone": None,
    }
    kept = "2024-02-29 12:00:00.000500100"
    failures = {"_cdc_conversion_failures": {"fine": kept, "gone": "infinity"}}
    columns = [
        (name, name, parse_type(f"connect.{type_}"))
        for name, type_ in [
            ("at", "ZonedTimestamp"),
            ("fine", "NanoTimestamp"),
            ("raw", "bytes"),
            ("gone", "Date"),
        ]
    ]
    row = cells | failures
    assert _image(row, _Layout("", columns)) == {  # type: ignore[arg-type]  # it asks for fields only
        "at": "2024-02-29 12:00:00.000500Z",
        "fine": kept,
        "raw": "\xff",
        "gone": "infinity",
    }


@pytest.mark.parametrize(
    ("zone", "clock", "shown"),
    [
        ("America/Coyhaique", "2025-03-01 10:00:00", None),
        ("Local", "2025-03-01 10:00:00", None),
        ("UTC", "2025-02-30 10:00:00", "2025-02-30 10:00:00"),
        ("Asia/Shanghai", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
        (None, "2026-10-25 02:30:00", None),
        (None, "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
    ],
)
def test_a_wall_clock_that_tells_no_instant_is_marked(
    zone: str | None, clock: str, shown: str | None
) -> None:
    text = json.dumps({"location": zone, "value": clock}) if zone else clock
    row: Any = {
        "at": None,
        "_cdc_conversion_failures": {"at": text},
        "_cdc_unknown_columns": None,
    }
    layout = _Layout("", [("at", "at", parse_type("timestamp"))])
    assert _image(row, layout) == {"at": shown}
    assert _marks(row, layout) == ({} if shown else {"unknown": ["at"]})


def test_columns_without_a_value_are_marked_by_their_names_at_the_source() -> None:
    row: Any = {
        "doc": None,
        "size": None,
        "_cdc_conversion_failures": {"doc": "JSON_REPLACE(`doc`, '$.a', 5)"},
        "_cdc_unknown_columns": ["size"],
    }
    layout = _Layout(
        "",
        [
            ("Doc", "doc", parse_type("json")),
            ("Size", "size", parse_type("int")),
        ],
    )
    assert _image(row, layout) == {"Doc": None, "Size": None}
    assert _marks(row, layout) == {"unknown": ["Doc", "Size"]}
