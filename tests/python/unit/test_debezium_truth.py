"""Rows of built tables against what a source printed, strict to the cell."""

from pathlib import Path
from typing import Any

import pytest
from debezium_corpus import MARIADB, POSTGRESQL, SQL_SERVER, Corpus, Fields, Row, field

from changefold_tools.verify.debezium import RecordedMessages, compare_final
from changefold_tools.verify.results import TableResult, is_equal

DECIMAL = "org.apache.kafka.connect.data.Decimal"
ORDERS: Fields = {
    "id": field("int32"),
    "total": field("bytes", DECIMAL, scale="2", **{"connect.decimal.precision": "9"}),
    "paid": field("boolean"),
    "took": field("int64", "io.debezium.time.MicroDuration"),
}
SNAPSHOT = SQL_SERVER | {
    "table": "orders",
    "snapshot": "true",
    "commit_lsn": "00000027:00000758:0005",
}
PRINTED: list[Row] = [
    {"id": "1", "total": "1.25", "paid": "1", "took": "1 mon"},
    {"id": "2", "total": None, "paid": "0", "took": None},
]
OURS: list[Row] = [
    {"id": "1", "total": "1.25", "paid": "true", "took": "2629800000000"},
    {"id": "2", "total": None, "paid": "false", "took": None},
]


def orders(tmp_path: Path, known: list[Row] | None = None) -> Corpus:
    corpus = Corpus(tmp_path / "orders")
    for wire in (
        {"id": 1, "total": "fQ==", "paid": True, "took": 2629800000000},
        {"id": 2, "total": None, "paid": False, "took": None},
    ):
        corpus.add(SNAPSHOT, "r", ORDERS, key={"id": wire["id"]}, after=wire)
    corpus.write(
        "expected_final",
        [
            {"database": "testDB", "schema": "dbo", "table": "orders", "row": row}
            for row in PRINTED
        ],
    )
    if known is not None:
        corpus.write("known_differences", known)
    return corpus


def compared(
    corpus: Corpus, rows: list[Any], name: tuple[str, str] = ("testDB.dbo", "orders")
) -> TableResult:
    lines = [{"database": name[0], "table": name[1], "row": row} for row in rows]
    messages = RecordedMessages(corpus.path)
    (result,) = compare_final(corpus.folder, messages, lines)
    return result


def altered(**cells: str | None) -> list[Row]:
    return [OURS[0] | cells, OURS[1]]


def test_rows_that_say_the_same_are_equal(tmp_path: Path) -> None:
    result = compared(orders(tmp_path), list(reversed(OURS)))
    assert (result.equal, result.rows_expected) == (2, 2)


def test_a_cell_that_is_not_compared_is_counted_and_its_null_is_seen(
    tmp_path: Path,
) -> None:
    corpus = orders(tmp_path)
    result = compared(corpus, altered(took="1"))
    assert result.is_equal
    assert result.not_compared == {
        "cells of took (an interval has another form at the source)": 1
    }
    assert compared(corpus, altered(took=None)).different == 1


@pytest.mark.parametrize(
    "cells", [{"total": "1.26"}, {"total": None}, {"paid": "false"}, {"more": "x"}]
)
def test_any_other_cell_is_a_difference(tmp_path: Path, cells: Row) -> None:
    assert compared(orders(tmp_path), altered(**cells)).different >= 1


def test_a_row_too_few_or_too_many_is_a_difference(tmp_path: Path) -> None:
    corpus = orders(tmp_path)
    assert compared(corpus, OURS[:1]).missing == 1
    assert compared(corpus, [*OURS, OURS[0] | {"id": "3"}]).extra == 1
    assert compared(corpus, [*OURS, OURS[0]]).extra == 1


def test_messages_without_schemas_have_the_types_of_those_that_have(
    tmp_path: Path,
) -> None:
    orders(tmp_path)
    bare = Corpus(tmp_path / "orders", "messages.schemas_false")
    wire = {"id": 1, "total": "fQ==", "paid": True, "took": 1}
    bare.add(SNAPSHOT, "r", ORDERS, key={"id": 1}, after=wire)
    messages = RecordedMessages(bare.path)
    assert messages.events[0].message.after == (
        '{"id":"1","total":"1.25","paid":"true","took":"1"}'
    )
    assert compared(bare, OURS).is_equal


def test_a_replay_in_another_database_has_the_types_of_what_was_replayed(
    tmp_path: Path,
) -> None:
    orders(tmp_path)
    replay = Corpus(tmp_path / "orders_replay", "messages.schemas_false")
    source = SNAPSHOT | {"db": "testDB2"}
    replay.add(source, "r", ORDERS, key={"id": 1}, after={"id": 1, "total": "fQ=="})
    messages = RecordedMessages(replay.path)
    assert set(messages.tables) == {("testDB2.dbo", "orders")}
    assert messages.events[0].message.after == '{"id":"1","total":"1.25"}'


# -------------------------------------------------------------- known differences


def listed(column: str | None, oracle: object, message: object, **key: object) -> Row:
    return {
        "table": "orders",
        "key": key or {"id": 1},
        "column": column,
        "oracle": oracle,
        "message": message,
        "reason": "producer_conversion",
    }


def test_a_listed_cell_may_have_the_message_s_value_and_no_other(
    tmp_path: Path,
) -> None:
    # The message says 1.50, in base64.
    corpus = orders(tmp_path, [listed("total", "1.25", "AJY=")])
    excused = compared(corpus, altered(total="1.50"))
    assert (excused.excused, excused.is_equal) == (1, True)
    assert excused.reasons == {"producer_conversion": 1}
    assert compared(corpus, altered(total="1.51")).different == 1
    assert compared(corpus, altered(total=None)).different == 1
    equal = compared(corpus, OURS)
    assert (equal.equal, equal.stale) == (2, 1)


def test_a_listed_cell_excuses_no_other_cell(tmp_path: Path) -> None:
    corpus = orders(tmp_path, [listed("total", "1.25", "AJY=")])
    assert compared(corpus, altered(paid="false")).different == 1
    other = [OURS[0], OURS[1] | {"total": "1.50"}]
    assert compared(corpus, other).different == 1


def test_a_listed_null_excuses_a_null_and_a_column_that_is_not_there(
    tmp_path: Path,
) -> None:
    corpus = orders(tmp_path, [listed("total", "1.25", None)])
    assert compared(corpus, altered(total=None)).excused == 1
    assert compared(corpus, altered(total="0.00")).different == 1


def test_a_list_that_does_not_name_the_source_s_value_excuses_nothing(
    tmp_path: Path,
) -> None:
    corpus = orders(tmp_path, [listed("total", "1.26", "AJY=")])
    assert compared(corpus, altered(total="1.50")).different == 1


def test_a_value_that_is_listed_cut_short_is_found_by_its_beginning(
    tmp_path: Path,
) -> None:
    corpus = orders(tmp_path, [listed("total", '"1.2...(truncated)', "MISSING")])
    assert compared(corpus, altered(total=None)).excused == 1
    assert compared(corpus, altered(total="1.50")).different == 1


def test_a_listed_row_may_be_there_and_no_other(tmp_path: Path) -> None:
    known = listed(None, None, "row present", id=3)
    corpus = orders(tmp_path, [known])
    third = OURS[0] | {"id": "3"}
    assert compared(corpus, [*OURS, third]).excused == 1
    assert compared(corpus, [*OURS, third | {"id": "4"}]).extra == 1
    # It does not excuse the same row twice, nor one that is missing.
    assert compared(corpus, OURS[1:]).missing == 1


def test_a_key_that_messages_have_otherwise_is_matched_as_listed(
    tmp_path: Path,
) -> None:
    fields = {"k": field("int64"), "v": field("string")}
    source = MARIADB | {"table": "orders", "file": "bin.000001", "pos": 4, "row": 0}
    corpus = Corpus(tmp_path / "keyed")
    wire = {"k": -1, "v": "w"}
    corpus.add(source, "c", fields, key={"k": -1}, after=wire)
    row = {"k": "18446744073709551615", "v": "w"}
    line = {"database": "shop", "schema": None, "table": "orders", "row": row}
    corpus.write("expected_final", [line])
    corpus.write("known_differences", [listed("k", row["k"], -1, k=-1)])
    name = ("shop", "orders")
    assert compared(corpus, [{"k": "-1", "v": "w"}], name).excused == 1
    assert compared(corpus, [{"k": "-1", "v": "x"}], name).different == 1
    wrong = compared(corpus, [{"k": "-2", "v": "w"}], name)
    assert (wrong.missing, wrong.extra) == (1, 1)


# ------------------------------------------------------------------ what is left out


def test_a_column_that_was_dropped_is_left_out_where_a_row_is_older(
    tmp_path: Path,
) -> None:
    corpus = orders(tmp_path)
    corpus.write(
        "expected_final",
        [
            {"database": "testDB", "schema": "dbo", "table": "orders"}
            | {"row": {name: row[name] for name in ("id", "total", "paid")}}
            for row in PRINTED
        ],
    )
    # The rows say that the column is still there.
    assert compared(corpus, OURS).different == 2
    fields = {name: ORDERS[name] for name in ("id", "total", "paid")}
    change = SNAPSHOT | {"snapshot": "false", "event_serial_no": 1}
    lsn = {
        "commit_lsn": "00000028:00000758:0005",
        "change_lsn": "00000028:00000758:0001",
    }
    after = {"id": 2, "total": None, "paid": False}
    corpus.add(change | lsn, "c", fields, key={"id": 2}, after=after)
    result = compared(corpus, OURS)
    assert result.is_equal
    assert result.not_compared == {"cells of took (dropped at the source)": 1}


def test_a_column_that_only_newer_rows_have_is_null_in_the_others(
    tmp_path: Path,
) -> None:
    rows = [OURS[0], {name: OURS[1][name] for name in ("id", "paid")}]
    assert compared(orders(tmp_path), rows).is_equal


def test_the_signal_table_is_named_and_not_compared(tmp_path: Path) -> None:
    corpus = orders(tmp_path)
    lines = [{"database": "testDB.dbo", "table": "orders", "row": row} for row in OURS]
    signal = {"database": "testDB.dbo", "table": "dbz_signal", "row": {"id": "x"}}
    results = compare_final(
        corpus.folder, RecordedMessages(corpus.path), [*lines, signal, signal]
    )
    assert is_equal(results)
    assert results[1].not_compared == {
        "rows of the signal table (the truth has none)": 2
    }


def test_a_table_without_a_key_is_compared_as_equal_rows_are_counted(
    tmp_path: Path,
) -> None:
    fields = {"at": field("string", "io.debezium.time.ZonedTimestamp")}
    source = POSTGRESQL | {"table": "log", "lsn": 5, "txId": 1, "sequence": '["1","5"]'}
    corpus = Corpus(tmp_path / "log")
    wire = {"at": "2020-01-01T00:00:00Z"}
    corpus.add(source, "c", fields, key=None, after=wire)
    row = {"at": "2020-01-01 00:00:00+00"}
    line = {"database": "shop", "schema": "shop", "table": "log", "row": row}
    corpus.write("expected_final", [line, line])
    ours = {"at": "2020-01-01 00:00:00.000000Z"}
    name = ("shop.shop", "log")
    assert compared(corpus, [ours, ours], name).equal == 2
    assert compared(corpus, [ours], name).missing == 1
    assert compared(corpus, [ours] * 3, name).extra == 1


def test_texts_of_a_connector_in_string_modes_mean_what_the_sibling_s_do(
    tmp_path: Path,
) -> None:
    fields: Fields = {"id": field("int32"), "n": ORDERS["total"], "b": field("bytes")}
    source = POSTGRESQL | {"table": "t", "lsn": 5, "txId": 1, "sequence": '["1","5"]'}
    precise = Corpus(tmp_path / "types")
    wire = {"id": 1, "n": "fQ==", "b": "AP8="}
    precise.add(source, "c", fields, key={"id": 1}, after=wire)
    texts = {"id": field("int32"), "n": field("string"), "b": field("string")}
    corpus = Corpus(tmp_path / "types_string_modes")
    wire = {"id": 1, "n": "1.25", "b": "AP8="}
    corpus.add(source, "c", texts, key={"id": 1}, after=wire)
    (corpus.folder / "README.md").write_text("- `binary.handling.mode=base64`\n")
    row = {"id": "1", "n": "$1.25", "b": "\\x00ff"}
    line = {"database": "shop", "schema": "shop", "table": "t", "row": row}
    corpus.write("expected_final", [line])
    ours = {"id": "1", "n": "1.250", "b": "AP8="}
    name = ("shop.shop", "t")
    assert compared(corpus, [ours], name).is_equal
    assert compared(corpus, [ours | {"b": "AP4="}], name).different == 1
    assert compared(corpus, [ours | {"n": "1.26"}], name).different == 1
