"""What TiCDC's Debezium messages can not carry is taken out of the truth, and counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from changefold.mysql.types import parse_mysql_type
from changefold_tools.verify.results import TableResult, TableSchema
from changefold_tools.verify.ticdc_debezium import TicdcDebezium, in_mysql_form
from changefold_tools.verify.truth import Truth

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]

TYPES = {
    "id": "int",
    "price": "decimal(20,4)",
    "day": "date",
    "at": "timestamp",
    "n": "int",
    "made": "datetime(3)",
    "flags": "bit(9)",
}
TRUTH: Row = {
    "id": "1",
    "price": "1.5000",
    "day": "2024-01-01",
    "at": None,
    "n": "7",
    "made": "2024-01-01 00:00:00.000",
    "flags": {"$hex": "0001"},
}
SCHEMAS = {
    ("db", "t"): TableSchema(
        ("id",), {name: parse_mysql_type(text) for name, text in TYPES.items()}
    )
}


def field(name: str, type_: str, /, **others: Any) -> Row:
    return {"field": name, "type": type_, "optional": True, **others}


SENT = [
    field("id", "int32"),
    field("price", "double", tidb_type="decimal"),
    field("day", "int32", name="io.debezium.time.Date"),
    field("at", "string", name="io.debezium.time.ZonedTimestamp"),
    field("n", "int32", default=5),
    field("made", "int64", name="io.debezium.time.Timestamp", default=0),
    field("flags", "bytes", name="io.debezium.data.Bits", parameters={"length": "9"}),
]


def message(commit_ts: int, row: Row) -> str:
    value = {
        "schema": {
            "type": "struct",
            "fields": [
                {"field": part, "type": "struct", "optional": True, "fields": SENT}
                for part in ("before", "after")
            ],
        },
        "payload": {
            "op": "c",
            "before": None,
            "after": row,
            "ts_ms": 1,
            "source": {
                "connector": "TiCDC",
                "name": "default",
                "db": "db",
                "table": "t",
                "commit_ts": commit_ts,
                "ts_ms": 1,
            },
        },
    }
    return json.dumps({"key": None, "value": json.dumps(value)})


def line(commit_ts: int, row: Row | None, op: str = "I", cause: str = "dml") -> Row:
    table = {"database": "db", "table": "t", "pk": {"id": "1"}}
    return table | {"commitTs": commit_ts, "op": op, "cause": cause, "row": row}


def carried(
    folder: Path,
    history: list[Row],
    messages: list[str],
    ddl_log: list[Row] | None = None,
) -> TicdcDebezium:
    path = folder / "debezium_ticdc.ndjson"
    path.write_text("\n".join(messages))
    last = history[-1]["row"]
    final = [] if last is None else [{"database": "db", "table": "t", "row": last}]
    return TicdcDebezium(Truth(final, history), path, {}, ddl_log or [], SCHEMAS)


ROW: Row = {
    "id": 1,
    "price": 1.5,
    "day": 19723,
    "at": None,
    "n": 7,
    "made": 1704067200000,
    "flags": "AQA=",
}


@pytest.mark.parametrize(
    ("column", "truth", "sent", "expected"),
    [
        ("price", "9999999999999999.9999", 1e16, "10000000000000000"),
        ("price", "1234567890123456.7891", 1234567890123456.8, "1234567890123456.8000"),
        ("day", "2024-06-00", None, None),
        ("at", "0000-00-00 00:00:00", "1970-01-01T00:00:00Z", "1970-01-01 00:00:00"),
        ("n", None, 5, "5"),
        # A year below 100 is one of two digits to TiCDC.
        ("day", "0001-01-01", 11323, "2001-01-01"),
        ("day", "0000-02-29", 11016, "2000-02-29"),
        ("day", "0070-01-01", 0, "1970-01-01"),
        (
            *("made", "0099-12-31 23:59:59.500"),
            *(946684799500, "1999-12-31 23:59:59.500"),
        ),
        # No day, which sql_mode can allow.
        ("day", "2024-02-31", None, None),
        ("day", "2024-02-31", 0, "1970-01-01"),
        # NULL comes as the default, in whatever form that has.
        ("day", None, 10957, "2000-01-01"),
        ("made", None, 0, "1970-01-01 00:00:00.000"),
        ("at", None, "2000-01-01T00:00:00Z", "2000-01-01 00:00:00"),
        ("price", None, 1.5, "1.5000"),
        ("flags", None, "KgE=", {"$hex": "012a"}),
    ],
)
def test_a_cell_that_a_message_can_not_carry_is_as_it_was_sent(
    tmp_path: Path, column: str, truth: str | None, sent: object, expected: object
) -> None:
    history = [line(10, TRUTH | {column: truth})]
    done = carried(tmp_path, history, [message(10, ROW | {column: sent})])
    [shown] = done.truth.history or []
    assert shown["row"] == TRUTH | {column: expected}
    assert done.truth.final[0]["row"] == TRUTH | {column: expected}
    result = TableResult("history", "db", "t")
    done.add_to([result])
    what = f"cells of {column} (the message has another value, which was)"
    assert result.not_compared == {what: 1}


def test_a_cell_that_a_message_can_carry_stays(tmp_path: Path) -> None:
    other = ROW | {"price": 2.5, "n": 8, "day": None, "made": 1, "flags": None}
    done = carried(tmp_path, [line(10, TRUTH)], [message(10, other)])
    assert done.truth.history == [line(10, TRUTH)]


def test_a_year_below_100_that_came_as_another_one_is_a_difference(
    tmp_path: Path,
) -> None:
    history = [line(10, TRUTH | {"day": "0001-01-01"})]
    done = carried(tmp_path, history, [message(10, ROW | {"day": 11324})])
    assert done.truth.history == history


def test_a_null_is_no_default_of_the_decoders_own(tmp_path: Path) -> None:
    history = [line(10, TRUTH | {"n": None, "made": None})]
    done = carried(tmp_path, history, [message(10, ROW | {"n": None, "made": None})])
    assert done.truth.history == history


def test_a_key_that_came_otherwise_is_that_of_the_row_and_of_its_end(
    tmp_path: Path,
) -> None:
    def keyed(commit_ts: int, row: Row | None, op: str) -> Row:
        return {**line(commit_ts, row, op), "pk": {"day": "0001-01-01"}}

    schemas = {("db", "t"): TableSchema(("day",), SCHEMAS["db", "t"].types)}
    path = tmp_path / "debezium_ticdc.ndjson"
    sent = ROW | {"day": 11323}
    gone = message(20, sent).replace('\\"op\\": \\"c\\"', '\\"op\\": \\"d\\"')
    path.write_text("\n".join([message(10, sent), gone]))
    history = [keyed(10, TRUTH | {"day": "0001-01-01"}, "I"), keyed(20, None, "D")]
    done = TicdcDebezium(Truth([], history), path, {}, [], schemas)
    shown = done.truth.history or []
    assert [each["pk"] for each in shown] == [{"day": "2001-01-01"}] * 2


def test_of_a_split_update_the_row_is_that_of_the_create(tmp_path: Path) -> None:
    before = message(10, ROW | {"n": 5}).replace(
        '\\"op\\": \\"c\\"', '\\"op\\": \\"d\\"'
    )
    history = [line(10, TRUTH | {"n": None}, "U")]
    done = carried(tmp_path, history, [before, message(10, ROW | {"n": None})])
    assert done.truth.history == history


def test_a_change_without_a_message_is_missing(tmp_path: Path) -> None:
    done = carried(tmp_path, [line(10, TRUTH)], [message(11, ROW)])
    [missing] = done.missing
    assert (missing.key, missing.commit_ts) == ({"id": "1"}, 10)
    assert done.remarks == [
        "db.t: 1 changes have no message, as TiCDC could not encode them."
    ]


TRUNCATE: Row = {
    "actionType": "truncate table",
    "database": "db",
    "table": "t",
    "commitTs": 20,
}


def test_a_row_that_a_truncate_ended_is_there_until_it_comes_again(
    tmp_path: Path,
) -> None:
    again = TRUTH | {"n": "8"}
    history = [line(10, TRUTH), line(20, None, "D", "ddl"), line(30, again)]
    messages = [message(10, ROW), message(30, ROW | {"n": 8})]
    done = carried(tmp_path, history, messages, [TRUNCATE])
    assert done.truth.history == [line(10, TRUTH), line(30, again, "U")]
    result = TableResult("history", "db", "t")
    done.add_to([result])
    assert (result.rows_expected, result.not_carried) == (1, 1)


def test_a_row_that_a_truncate_ended_ends_with_its_table_or_never(
    tmp_path: Path,
) -> None:
    history = [line(10, TRUTH), line(20, None, "D", "ddl")]
    drop = TRUNCATE | {"actionType": "drop table", "commitTs": 40}
    dropped = carried(tmp_path, history, [message(10, ROW)], [TRUNCATE, drop])
    assert dropped.truth.history == [line(10, TRUTH), line(40, None, "D", "ddl")]
    left = carried(tmp_path, history, [message(10, ROW)], [TRUNCATE])
    assert left.truth.history == [line(10, TRUTH)]
    assert [final["row"] for final in left.truth.final] == [TRUTH]


def test_a_row_that_comes_again_as_it_was_after_a_truncate_is_one_version(
    tmp_path: Path,
) -> None:
    history = [line(10, TRUTH), line(20, None, "D", "ddl"), line(30, TRUTH)]
    done = carried(tmp_path, history, [message(10, ROW), message(30, ROW)], [TRUNCATE])
    assert done.truth.history == [line(10, TRUTH)]
    result = TableResult("history", "db", "t")
    done.add_to([result])
    assert (result.rows_expected, result.not_carried) == (2, 2)


def test_a_row_that_a_truncate_ended_before_the_log_showed_it_is_new(
    tmp_path: Path,
) -> None:
    history = [line(20, None, "D", "ddl"), line(30, TRUTH)]
    done = carried(tmp_path, history, [message(30, ROW)], [TRUNCATE])
    assert done.truth.history == [line(30, TRUTH)]


@pytest.mark.parametrize(
    ("type_", "cell", "expected"),
    [
        ("bit(9)", "101100100", {"$hex": "0164"}),
        ("bit(1)", "1", {"$hex": "01"}),
        ("varbinary(3)", "\x00d\xff", {"$hex": "0064ff"}),
        ("timestamp(3)", "2024-01-02 00:00:00.001000Z", "2024-01-02 00:00:00.001"),
        ("timestamp", "2024-01-02 00:00:00", "2024-01-02 00:00:00"),
        ("decimal(20,6)", "10.5", "10.500000"),
        ("decimal(20,2)", "10.555", "10.555"),
        ("varchar(9)", "10.5", "10.5"),
        ("int", None, None),
        ("blob", {"$hex": "00"}, {"$hex": "00"}),
    ],
)
def test_a_cell_of_a_connect_type_is_printed_as_mysql_would(
    type_: str, cell: object, expected: object
) -> None:
    schemas = {("db", "t"): TableSchema(("id",), {"c": parse_mysql_type(type_)})}
    shown = in_mysql_form([line(1, {"c": cell, "other": "x"}), line(2, None)], schemas)
    assert [one["row"] for one in shown] == [{"c": expected, "other": "x"}, None]
