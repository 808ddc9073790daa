import copy
import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from changefold.mysql.types import parse_mysql_type
from changefold_tools.verify.compare import compare_final, compare_history
from changefold_tools.verify.report import render
from changefold_tools.verify.results import (
    ABSENT,
    KnownDifference,
    TableResult,
    TableSchema,
    is_equal,
)
from changefold_tools.verify.truth import (
    load_known_differences,
    load_ndjson,
    load_schemas,
    load_truth,
)

Line = dict[str, Any]

ORDERS = ("shop", "orders")
TYPES = {
    "id": "bigint(20)",
    "total": "decimal(12,2)",
    "weight": "float",
    "rate": "double",
    "doc": "json",
    "raw": "varbinary(9)",
    "flags": "bit(9)",
    "twice": "bigint(20)",
}
SCHEMAS = {
    ORDERS: TableSchema(
        key_columns=("id",),
        types={name: parse_mysql_type(text) for name, text in TYPES.items()},
        virtual=frozenset({"twice"}),
    )
}
COMMIT = 470617748797915138
MILLISECOND = COMMIT >> 18


def order(id_: int, **cells: object) -> Line:
    row = {
        "id": str(id_),
        "total": "12.50",
        "weight": "0.1",
        "rate": "1e15",
        "doc": '{"a": 1.0}',
        "raw": {"$hex": "00ff"},
        "flags": {"$hex": "0101"},
        "twice": str(2 * id_),
    }
    return {"database": "shop", "table": "orders", "row": row | cells}


def change(id_: int, op: str, commit_ts: int | None = COMMIT, **cells: object) -> Line:
    line = order(id_, **cells)
    row = None if op == "D" else line["row"]
    return line | {"pk": {"id": str(id_)}, "commitTs": commit_ts, "op": op, "row": row}


def without_commit_ts(line: Line) -> Line:
    return line | {"commitTs": None, "es": line["commitTs"] >> 18}


FINAL = [order(1), order(2, total=None), order(3)]
HISTORY = [
    change(1, "I"),
    change(1, "U", COMMIT + 1, total="13.00"),
    change(1, "D", COMMIT + 2),
    change(2, "I", COMMIT),
]


def final(
    actual: Iterable[Line], expected: Iterable[Line] = FINAL, **options: Any
) -> TableResult:
    (result,) = compare_final(expected, actual, SCHEMAS, **options)
    return result


def history(
    actual: Iterable[Line], expected: Iterable[Line] = HISTORY, **options: Any
) -> TableResult:
    (result,) = compare_history(expected, actual, SCHEMAS, **options)
    return result


def counts(result: TableResult) -> tuple[int, int, int, int]:
    return result.equal, result.missing, result.extra, result.different


def changed(lines: list[Line], index: int, **fields: object) -> list[Line]:
    lines = copy.deepcopy(lines)
    lines[index].update(fields)
    return lines


def with_cell(lines: list[Line], column: str, value: object) -> list[Line]:
    row = lines[0]["row"] | {column: value}
    return changed(lines, 0, row=row)


def test_a_truth_equals_itself_in_any_order() -> None:
    assert counts(final(reversed(FINAL))) == (3, 0, 0, 0)
    assert counts(history(reversed(HISTORY))) == (4, 0, 0, 0)
    assert is_equal([final(FINAL), history(HISTORY)])


CELL_MUTATIONS: list[tuple[str, object]] = [
    ("total", "12.51"),
    ("total", "12.5"),
    ("total", "1.25e1"),
    ("total", None),
    ("total", ""),
    ("weight", "0.10001"),
    ("weight", "0.1x"),
    ("rate", "1000000000000001"),
    ("rate", None),
    ("doc", '{"a": 1}'),
    ("raw", {"$hex": "00fe"}),
    ("raw", "00ff"),
    ("raw", {"$hex": "00ff00"}),
    ("flags", {"$hex": "0001"}),
]


@pytest.mark.parametrize(("column", "value"), CELL_MUTATIONS)
def test_one_altered_cell_is_reported(column: str, value: object) -> None:
    current = final(with_cell(FINAL, column, value))
    past = history(with_cell(HISTORY, column, value))
    assert counts(current) == (2, 0, 0, 1)
    assert counts(past) == (3, 0, 0, 1)
    for result in (current, past):
        (difference,) = result.differences
        assert (difference.kind, difference.column) == ("cell", column)
        assert difference.actual == value
        assert not is_equal([result])


def test_an_altered_truth_is_reported_as_well() -> None:
    for column, value in CELL_MUTATIONS:
        mutated = with_cell(FINAL, column, value)
        assert not final(FINAL, mutated).is_equal


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("weight", "0.10000000149011612"),
        ("weight", "1e-1"),
        ("rate", "1000000000000000"),
        ("rate", "1E+15"),
        ("twice", "999"),
    ],
)
def test_other_notations_of_the_same_number_are_equal(
    column: str, value: object
) -> None:
    assert final(with_cell(FINAL, column, value)).is_equal


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        ("3.40282e38", "3.4028235e38", True),
        ("1.17549e-38", "1.1754944e-38", True),
        ("123457", "123456.79", True),
        ("123456", "123456.79", False),
        # This truth is exact, so six equal digits are not enough.
        ("16777216", "16777218", False),
        ("123456.79", "123456.8", False),
        ("-0", "0", True),
        ("1e39", "1.0e39", True),
        ("1e39", "2e39", False),
    ],
)
def test_a_short_float_of_the_truth_is_compared_to_six_digits(
    expected: str, actual: str, equal: bool
) -> None:
    truth = with_cell(FINAL, "weight", expected)
    assert final(with_cell(FINAL, "weight", actual), truth).is_equal is equal


@pytest.mark.parametrize(
    ("expected", "actual", "equal"),
    [
        ("1e15", "1000000000000000", True),
        ("1000000", "1000000.0", False),
        ("007", "7", False),
        ("1e5", "100001", False),
        ("1e1_0", "1e10", False),
    ],
)
def test_a_column_of_unknown_type_is_strict_but_for_exponents(
    expected: str, actual: str, equal: bool
) -> None:
    truth = with_cell(HISTORY, "gone", expected)
    assert history(with_cell(HISTORY, "gone", actual), truth).is_equal is equal


def test_the_notations_of_the_other_corpora_are_understood_by_type() -> None:
    truth = with_cell(with_cell(FINAL, "raw", "0x00ff"), "flags", "100000001")
    assert final(FINAL, truth).is_equal
    assert not final(with_cell(FINAL, "raw", {"$hex": "ff"}), truth).is_equal


@pytest.mark.parametrize("extra_on", ["expected", "actual"])
def test_a_column_that_one_side_lacks_is_a_difference(extra_on: str) -> None:
    wider = with_cell(FINAL, "note", None)
    sides = (FINAL, wider) if extra_on == "expected" else (wider, FINAL)
    result = final(*sides)
    assert counts(result) == (2, 0, 0, 1)
    assert "(no such column)" in result.differences[0].sentence()


def test_virtual_columns_are_left_out_and_counted() -> None:
    bare = copy.deepcopy(FINAL)
    for line in bare:
        del line["row"]["twice"]
    result = final(bare)
    assert result.is_equal
    assert result.left_out == {"twice": 3}


def test_a_change_of_virtual_columns_only_is_counted_apart_not_missing() -> None:
    truth = [*HISTORY, change(2, "U", COMMIT + 3, twice="0")]
    result = history(HISTORY, truth)
    assert result.is_equal
    assert (result.equal, result.only_virtual) == (4, 1)
    assert counts(history(truth, truth)) == (5, 0, 0, 0)
    real = [*HISTORY, change(2, "U", COMMIT + 3, total="0.00")]
    assert counts(history(HISTORY, real)) == (4, 1, 0, 0)


def test_a_change_of_nothing_is_missing_where_no_column_is_virtual() -> None:
    truth = [change(1, "I"), change(1, "U", COMMIT + 1)]
    (result,) = compare_history(truth, truth[:1], {})
    assert counts(result) == (1, 1, 0, 0)


@pytest.mark.parametrize("index", range(3))
def test_a_dropped_row_is_missing(index: int) -> None:
    result = final(FINAL[:index] + FINAL[index + 1 :])
    assert counts(result) == (2, 1, 0, 0)
    assert result.differences[0].sentence() == f"id='{index + 1}': the row is missing."


def test_a_row_too_many_is_extra_also_when_it_is_a_duplicate() -> None:
    assert counts(final([*FINAL, order(4)])) == (3, 0, 1, 0)
    assert counts(final([*FINAL, FINAL[0]])) == (3, 0, 1, 0)
    assert counts(final(FINAL, [*FINAL, FINAL[0]])) == (3, 1, 0, 0)
    assert counts(history([*HISTORY, HISTORY[1]])) == (4, 0, 1, 0)


def test_a_table_of_only_one_side_is_reported() -> None:
    stranger = order(1) | {"table": "stranger"}
    _, extra = compare_final(FINAL, [*FINAL, stranger], SCHEMAS)
    assert (extra.table, counts(extra)) == ("stranger", (0, 0, 1, 0))
    _, missing = compare_final([*FINAL, stranger], FINAL, SCHEMAS)
    assert (missing.table, counts(missing)) == ("stranger", (0, 1, 0, 0))


def test_a_table_without_key_is_a_bag_of_rows() -> None:
    lines = [order(1), order(1), order(2)]
    (result,) = compare_final(lines, lines[::-1], {})
    assert counts(result) == (3, 0, 0, 0)
    (result,) = compare_final(lines, [order(1), order(2), order(2)], {})
    assert counts(result) == (2, 1, 1, 0)


def test_a_swapped_operation_is_reported() -> None:
    result = history(changed(HISTORY, 1, op="I"))
    assert counts(result) == (3, 0, 0, 1)
    (difference,) = result.differences
    assert difference.sentence() == (
        f"id='1' at {COMMIT + 1}: the operation should be 'U', not 'I'."
    )


def test_a_delete_in_place_of_a_row_is_reported() -> None:
    result = history(changed(HISTORY, 1, row=None))
    assert counts(result) == (3, 0, 0, 1)
    assert "should be alive" in result.differences[0].sentence()


def test_a_change_at_another_commit_is_missing_and_extra() -> None:
    result = history(changed(HISTORY, 1, commitTs=COMMIT + 9))
    assert counts(result) == (3, 1, 1, 0)


def test_the_visible_truth_may_say_that_there_is_no_row() -> None:
    truth = [
        order(1) | {"pk": {"id": "1"}},
        order(2) | {"pk": {"id": "2"}, "row": None},
    ]
    assert counts(final([order(1)], truth)) == (2, 0, 0, 0)
    assert counts(final([order(1), order(2)], truth)) == (1, 0, 1, 0)
    assert final(truth, truth).is_equal


# ---------- without commit timestamps


def test_changes_are_matched_by_millisecond_and_order() -> None:
    result = history(map(without_commit_ts, HISTORY), by="es")
    assert counts(result) == (4, 0, 0, 0)


def test_intermediate_changes_of_one_millisecond_may_be_folded() -> None:
    truth = [change(1, "I"), change(1, "U", COMMIT + 1, total="13.00")]
    folded = [without_commit_ts(change(1, "I", total="13.00"))]
    result = history(folded, truth, by="es")
    assert result.is_equal
    assert (result.equal, result.not_carried) == (1, 1)
    last_only = [without_commit_ts(truth[1])]
    assert history(last_only, truth, by="es").not_carried == 1


def test_a_row_born_and_gone_in_one_millisecond_may_be_folded_away() -> None:
    truth = [change(1, "I"), change(1, "D", COMMIT + 1), change(2, "I")]
    result = history([without_commit_ts(truth[2])], truth, by="es")
    assert result.is_equal
    assert result.not_carried == 2


@pytest.mark.parametrize(
    "wrong",
    [
        [change(1, "I")],  # the last state is not the last one
        [change(1, "D", total="14.00")],
        [change(1, "I"), change(1, "U", total="13.01")],
        [change(1, "U", total="13.01"), change(1, "U", total="14.00")],
        [change(1, "D"), change(1, "U", total="14.00")],
        [change(1, "U", total="14.00"), change(1, "I")],
        [],
    ],
)
def test_a_wrong_state_in_the_millisecond_is_reported(wrong: list[Line]) -> None:
    truth = [
        change(1, "I"),
        change(1, "U", COMMIT + 1, total="13.00"),
        change(1, "U", COMMIT + 2, total="14.00"),
        change(2, "I"),
    ]
    actual = [without_commit_ts(line) for line in [*wrong, change(2, "I")]]
    assert not history(actual, truth, by="es").is_equal


def test_a_part_of_the_changes_of_a_millisecond_is_found_in_order() -> None:
    totals = ["1.00", "2.00", "3.00", "4.00"]
    truth = [
        change(1, "U" if index else "I", COMMIT + index, total=total)
        for index, total in enumerate(totals)
    ]
    some = [without_commit_ts(truth[1]), without_commit_ts(truth[3])]
    result = history(some, truth, by="es")
    assert (result.equal, result.not_carried, result.is_equal) == (2, 2, True)


# ---------- known differences


def known(**fields: Any) -> KnownDifference:
    line: Line = {"table": "orders", "key": {"id": "1"}, "column": "total"}
    line |= {"oracle": "12.50", "message": None, "reason": "no_row_event"}
    return KnownDifference(**(line | fields))


def test_a_listed_cell_is_excused_and_counted_apart() -> None:
    result = final(with_cell(FINAL, "total", None), known_differences=[known()])
    assert result.is_equal
    assert (result.equal, result.excused, result.stale) == (2, 1, 0)
    assert result.reasons == {"no_row_event": 1}


@pytest.mark.parametrize(
    "other", [{"key": {"id": "2"}}, {"column": "rate"}, {"oracle": "12.51"}]
)
def test_an_unlisted_difference_is_never_excused(other: Line) -> None:
    listed = [known(**other)]
    result = final(with_cell(FINAL, "total", None), known_differences=listed)
    assert counts(result) == (2, 0, 0, 1)
    assert (result.excused, result.stale) == (0, 1)


def test_a_value_is_not_excused_by_a_line_that_lists_a_null() -> None:
    actual = with_cell(FINAL, "total", "9.99")
    assert final(actual, known_differences=[known()]).different == 1
    listed = [known(message="CUc=")]  # in the encoding of the protocol
    assert final(actual, known_differences=listed).excused == 1


def test_one_unlisted_cell_makes_a_row_different() -> None:
    actual = with_cell(with_cell(FINAL, "total", None), "doc", "{}")
    result = final(actual, known_differences=[known()])
    assert counts(result) == (2, 0, 0, 1)
    assert [one.column for one in result.differences] == ["doc"]


def test_a_listed_difference_that_did_not_occur_is_stale_and_no_failure() -> None:
    listed = [known(), known(table="elsewhere")]
    results = compare_final(FINAL, FINAL, SCHEMAS, known_differences=listed)
    assert is_equal(results)
    assert [(one.table, one.stale) for one in results] == [
        ("orders", 1),
        ("elsewhere", 1),
    ]


def test_a_listed_row_too_many_is_excused() -> None:
    row = known(key={"id": "9"}, column=None, oracle=None, reason="no_delete_event")
    result = final([*FINAL, order(9)], known_differences=[row])
    assert (counts(result), result.excused) == ((3, 0, 0, 0), 1)
    assert counts(final([*FINAL, order(8)], known_differences=[row])) == (3, 0, 1, 0)


def test_a_missing_row_is_never_excused_by_its_cells() -> None:
    assert counts(final(FINAL[1:], known_differences=[known()])) == (2, 1, 0, 0)


def test_a_cut_oracle_is_compared_by_its_beginning() -> None:
    cut = known(column="doc", message="x", oracle='"{\\"a\\": 1...(truncated)')
    actual = with_cell(FINAL, "doc", "x")
    assert final(actual, known_differences=[cut]).excused == 1
    other = known(column="doc", message="x", oracle='"{\\"b\\": 1...(truncated)')
    assert final(actual, known_differences=[other]).different == 1


# ---------- files and report


def write(path: Path, lines: Iterable[Line]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def expected(tmp_path: Path) -> Path:
    columns = [
        {
            "name": name,
            "column_type": text,
            "extra": "VIRTUAL GENERATED" if name == "twice" else "",
        }
        for name, text in TYPES.items()
    ]
    schema = {"database": "shop", "table": "orders", "key_columns": ["id"]}
    write(tmp_path / "schema_final.ndjson", [schema | {"columns": columns}])
    write(tmp_path / "expected_final.ndjson", FINAL)
    write(tmp_path / "expected_history.ndjson.gz", HISTORY)
    return tmp_path


def test_a_missing_file_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"Expected the file current\.ndjson in"
    ):
        list(load_ndjson(tmp_path / "current.ndjson"))


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_broken_line_is_told_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "current.ndjson"
    path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"Expected .* at line 1 of current\.ndjson"):
        list(load_ndjson(path))


def test_a_line_without_a_table_is_told_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="Expected the field 'table', got"):
        compare_final([], [{"database": "shop", "row": {}}], {})


def test_the_visible_truth_is_taken_when_asked_and_there(
    expected: Path,
) -> None:
    assert load_truth(expected, visible=True).final == FINAL
    write(expected / "expected_final_visible.ndjson", FINAL[:1])
    write(expected / "expected_history_visible.ndjson", HISTORY[:1])
    assert load_truth(expected).final == FINAL
    truth = load_truth(expected, visible=True)
    assert (truth.final, truth.history) == (FINAL[:1], HISTORY[:1])


def test_a_statement_on_two_tables_acts_on_each_at_its_own_ddl(
    expected: Path,
) -> None:
    statement = "drop table orders, other"
    drops = [
        {"statement": statement, "database": "shop", "table": name, "commitTs": at}
        for name, at in (("orders", COMMIT + 5), ("other", COMMIT + 9))
    ]
    write(expected / "ddl_log.ndjson", drops)
    ended = {"op": "D", "cause": "ddl", "commitTs": COMMIT + 9, "row": None}
    write(expected / "expected_history.ndjson.gz", [change(1, "D") | ended])
    truth = load_truth(expected)
    assert truth.history is not None
    assert truth.history[0]["commitTs"] == COMMIT + 5
    (remark,) = truth.remarks
    assert remark.startswith("history shop.orders: 1 rows")


def test_a_history_in_another_form_is_no_history(expected: Path) -> None:
    audit: Line = {"seq": 1, "op": "c", "table": "orders", "before": None, "after": {}}
    write(expected / "expected_history.ndjson.gz", [audit])
    assert load_truth(expected).history is None


def test_schemas_tell_keys_types_and_virtual_columns(
    expected: Path,
) -> None:
    ddl = {"database": "shop", "table": "old", "preDatabase": "", "preTable": ""}
    ddl["actionType"] = "create table"
    ddl["ticdcQuery"] = (
        "CREATE TABLE `old` (`k` INT PRIMARY KEY,"
        "`s``1` INT GENERATED ALWAYS AS(ABS(`k`)*2) STORED,"
        "`v``2` INT GENERATED ALWAYS AS(ABS(`k`)+1) VIRTUAL NOT NULL)"
    )
    rename = ddl | {"table": "new", "preDatabase": "shop", "preTable": "old"}
    rename["actionType"] = "rename table"
    rename["ticdcQuery"] = "RENAME TABLE `old` TO `new`"
    taken = rename | {"table": "orders", "preTable": "earlier"}
    write(expected / "ddl_log.ndjson", [ddl, rename, taken])
    earlier = change(0, "I") | {"table": "earlier"}
    old = change(1, "I") | {"table": "old", "pk": {"k": "1"}}
    write(expected / "expected_history.ndjson.gz", [*HISTORY, earlier, old])
    schemas = load_schemas(expected)
    assert schemas[ORDERS] == SCHEMAS[ORDERS]
    assert schemas["shop", "old"] == TableSchema(("k",), {}, frozenset({"v`2"}))
    assert schemas["shop", "new"].virtual == {"v`2"}
    assert schemas["shop", "earlier"].types == schemas[ORDERS].types


def test_known_differences_are_read_and_give_keys_where_no_schema_does(
    tmp_path: Path,
) -> None:
    line: Line = {"table": "orders", "key": {"id": 1}, "column": "total"}
    line |= {"oracle": "12.50", "message": None, "reason": "no_row_event"}
    write(tmp_path / "known_differences.ndjson", [line])
    write(tmp_path / "expected_final.ndjson", FINAL)
    assert load_known_differences(tmp_path) == [known()]
    assert load_schemas(tmp_path) == {ORDERS: TableSchema(("id",))}


def test_the_report_shows_where_long_values_begin_to_differ() -> None:
    long = "x" * 500
    truth = with_cell(FINAL, "doc", long + "a" + long)
    result = final(with_cell(FINAL, "doc", long + "b" + long), truth)
    buffer = io.StringIO()
    render([result], Console(file=buffer, width=200))
    assert "xa" in buffer.getvalue()
    assert "xb" in buffer.getvalue()
    assert max(map(len, buffer.getvalue().splitlines())) < 300


def test_the_report_names_what_was_left_out_and_says_that_all_rows_are_equal() -> None:
    buffer = io.StringIO()
    render([final(FINAL)], Console(file=buffer, width=200))
    assert (
        "current shop.orders: 3 cells of the virtual column twice" in buffer.getvalue()
    )
    assert "all 3 rows equal" in buffer.getvalue()


@pytest.mark.parametrize("text", ["(no message tells)", "[a\nb]", "<null>", None])
def test_a_mark_is_right_where_no_message_carries_the_value(text: str | None) -> None:
    truth = with_cell(FINAL, "total", text)
    built = changed(with_cell(FINAL, "total", None), 0, unknown=["total"])
    result = final(built, truth)
    assert counts(result) == (3, 0, 0, 0)
    assert result.marked == {"total": 1}
    buffer = io.StringIO()
    render([result], Console(file=buffer, width=200))
    assert "1 values of total are marked as not known" in buffer.getvalue()


@pytest.mark.parametrize("text", ["12.50", "(12.50", "x (12.50)"])
def test_a_mark_is_wrong_where_messages_carry_the_value(text: str) -> None:
    truth = with_cell(FINAL, "total", text)
    built = changed(with_cell(FINAL, "total", None), 0, unknown=["total"])
    result = final(built, truth)
    assert counts(result) == (2, 0, 0, 1)
    (difference,) = result.differences
    assert "but is (marked as not known)" in difference.sentence()


def test_a_mark_is_wrong_in_a_column_that_the_source_does_not_have() -> None:
    built = changed(with_cell(FINAL, "gone", None), 0, unknown=["gone"])
    (difference,) = final(built).differences
    assert (difference.column, difference.expected) == ("gone", ABSENT)


def test_a_value_is_wrong_where_no_message_carries_it() -> None:
    truth = with_cell(FINAL, "total", "(not in any message)")
    assert counts(final(FINAL, truth)) == (2, 0, 0, 1)
    assert counts(final(with_cell(FINAL, "total", None), truth)) == (2, 0, 0, 1)


def test_the_report_takes_brackets_of_names_literally() -> None:
    line = order(1, **{"[bold]": "1"}) | {"table": "[red]"}
    buffer = io.StringIO()
    render(compare_final([line], [], {}), Console(file=buffer, width=200))
    assert "shop.[red]" in buffer.getvalue()
    assert "NOT EQUAL: 1 missing, 0 extra, 0 different" in buffer.getvalue()
