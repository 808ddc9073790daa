"""Versions of built tables against the changes as a source made them."""

from pathlib import Path
from typing import Any

import pytest
from debezium_corpus import POSTGRESQL, SQL_SERVER, Corpus, Fields, Row, field

from changefold_tools.verify.debezium import RecordedMessages
from changefold_tools.verify.debezium_history import compare_history
from changefold_tools.verify.results import TableResult

FIELDS: Fields = {"id": field("int32"), "v": field("string")}
PLACEHOLDER = "__debezium_unavailable_value"
NAME = ("shop.shop", "t")


def row(id_: int, v: str | None) -> Row:
    return {"id": str(id_), "v": v}


def truth(*changes: tuple[int, str, Row | None, Row | None]) -> list[Row]:
    """Lines of transaction, operation, row before and after."""
    return [
        {"seq": seq, "xid": xid, "op": op, "table": "t", "before": before}
        | {"after": after}
        for seq, (xid, op, before, after) in enumerate(changes, start=1)
    ]


class Postgresql(Corpus):
    """One table, whose messages are told apart by their transaction."""

    def read(self, xid: int, id_: int, v: str, snapshot: str = "true") -> None:
        source = POSTGRESQL | {"table": "t", "snapshot": snapshot, "lsn": xid}
        wire = {"id": id_, "v": v}
        self.add(source | {"txId": xid}, "r", FIELDS, key={"id": id_}, after=wire)

    def change(self, xid: int, op: str, id_: int | None, v: str | None = None) -> None:
        source = POSTGRESQL | {"table": "t", "lsn": xid, "txId": xid}
        source |= {"sequence": f'["{xid - 1}","{xid}"]'}
        key = None if id_ is None else {"id": id_}
        wire: Row = {"id": id_, "v": v}
        side: dict[str, Row | None] = {} if op == "t" else {"after": wire}
        self.add(
            source, op, FIELDS, key=key, **({"before": wire} if op == "d" else side)
        )

    def finish(self, changes: list[Row], finals: list[Row]) -> None:
        self.write("expected_history", changes)
        final = {"database": "shop", "schema": "shop", "table": "t"}
        self.write("expected_final", [final | {"row": one} for one in finals])


def line(op: str, id_: int, v: str | None = None, **more: Any) -> Row:
    known = {"database": NAME[0], "table": NAME[1], "pk": {"id": str(id_)}, "op": op}
    shown = None if op == "D" else row(id_, v) | more
    return known | {"commitTs": None, "sequence": "1.1.1@1", "row": shown}


def compared(corpus: Corpus, lines: list[Row]) -> TableResult:
    messages = RecordedMessages(corpus.path)
    (result,) = compare_history(corpus.folder, messages, lines)
    return result


def streamed(tmp_path: Path) -> Postgresql:
    """Key 1 is read as `b`, changed to `c` and deleted; key 2 comes and is truncated."""
    corpus = Postgresql(tmp_path / "shop")
    corpus.read(10, 1, "b", "first")
    corpus.change(11, "u", 1, "c")
    corpus.change(12, "d", 1)
    corpus.change(13, "c", 2, "x")
    corpus.change(14, "t", None)
    corpus.finish(
        truth(
            (1, "c", None, row(1, "a")),
            (2, "u", row(1, "a"), row(1, "b")),
            (11, "u", row(1, "b"), row(1, "c")),
            (12, "d", row(1, "c"), None),
            (13, "c", None, row(2, "x")),
            (14, "t", None, None),
        ),
        [],
    )
    return corpus


RIGHT = [
    line("I", 1, "b"),
    line("U", 1, "c"),
    line("D", 1),
    line("I", 2, "x"),
    line("D", 2),
]


def test_a_key_begins_as_the_snapshot_read_it_and_a_truncate_ends_all(
    tmp_path: Path,
) -> None:
    result = compared(streamed(tmp_path), RIGHT)
    assert (result.equal, result.is_equal) == (5, True)
    # Its two changes before the snapshot are seen as one row.
    assert (result.not_carried, result.rows_expected) == (1, 6)


@pytest.mark.parametrize("position", range(len(RIGHT)))
def test_a_version_that_is_missing_or_too_many_is_told(
    tmp_path: Path, position: int
) -> None:
    corpus = streamed(tmp_path)
    fewer = [*RIGHT[:position], *RIGHT[position + 1 :]]
    assert not compared(corpus, fewer).is_equal
    twice = [*RIGHT[: position + 1], *RIGHT[position:]]
    assert not compared(corpus, twice).is_equal


@pytest.mark.parametrize(
    ("position", "wrong"),
    [
        (0, line("I", 1, "a")),
        (1, line("U", 1, "d")),
        (1, line("I", 1, "c")),
        (2, line("U", 1, "c")),
        (3, line("I", 2, None)),
    ],
)
def test_a_version_that_is_wrong_is_told(
    tmp_path: Path, position: int, wrong: Row
) -> None:
    lines = [*RIGHT[:position], wrong, *RIGHT[position + 1 :]]
    assert not compared(streamed(tmp_path), lines).is_equal


def test_an_update_that_changes_nothing_is_no_version(tmp_path: Path) -> None:
    corpus = Postgresql(tmp_path / "shop")
    corpus.change(11, "c", 1, "a")
    corpus.change(12, "u", 1, "a")
    changes = truth((11, "c", None, row(1, "a")), (12, "u", row(1, "a"), row(1, "a")))
    corpus.finish(changes, [row(1, "a")])
    assert compared(corpus, [line("I", 1, "a")]).is_equal
    assert not compared(corpus, [line("I", 1, "a"), line("U", 1, "a")]).is_equal


def test_without_a_key_an_update_that_changes_nothing_makes_no_copy(
    tmp_path: Path,
) -> None:
    corpus = Postgresql(tmp_path / "shop")
    corpus.change(11, "c", None, "a")
    corpus.change(12, "u", None, "a")
    only: Row = {"id": None, "v": "a"}
    changes = truth((11, "c", None, only), (12, "u", only, only))
    corpus.finish(changes, [only])
    inserted = line("I", 1, "a") | {"pk": only, "row": only}
    assert compared(corpus, [inserted]).is_equal
    assert not compared(corpus, [inserted, inserted]).is_equal


def test_a_change_that_was_sent_again_is_one(tmp_path: Path) -> None:
    corpus = Postgresql(tmp_path / "shop")
    for _ in range(2):
        corpus.change(11, "c", 1, "a")
        corpus.change(12, "u", 1, "b")
    changes = truth((11, "c", None, row(1, "a")), (12, "u", row(1, "a"), row(1, "b")))
    corpus.finish(changes, [row(1, "b")])
    assert compared(corpus, [line("I", 1, "a"), line("U", 1, "b")]).is_equal


def test_an_updated_key_ends_and_another_begins(tmp_path: Path) -> None:
    corpus = Postgresql(tmp_path / "shop")
    corpus.change(11, "c", 1, "a")
    corpus.change(12, "d", 1)
    corpus.change(12, "c", 2, "a")
    changes = truth((11, "c", None, row(1, "a")), (12, "u", row(1, "a"), row(2, "a")))
    corpus.finish(changes, [row(2, "a")])
    lines = [line("I", 1, "a"), line("D", 1), line("I", 2, "a")]
    assert compared(corpus, lines).is_equal
    assert not compared(corpus, lines[::2]).is_equal


def test_a_value_that_no_message_had_may_be_null_and_nothing_else(
    tmp_path: Path,
) -> None:
    corpus = Postgresql(tmp_path / "shop")
    corpus.change(11, "c", 1, "long")
    corpus.change(12, "d", 1)
    corpus.change(12, "c", 2, PLACEHOLDER)
    changes = truth(
        (11, "c", None, row(1, "long")), (12, "u", row(1, "long"), row(2, "long"))
    )
    corpus.finish(changes, [row(2, "long")])
    begin = [line("I", 1, "long"), line("D", 1)]
    filled = compared(corpus, [*begin, line("I", 2, "long")])
    assert (filled.equal, sum(filled.not_compared.values())) == (3, 0)
    lacking = compared(corpus, [*begin, line("I", 2, None)])
    assert lacking.is_equal
    assert lacking.not_compared == {"cells of v (no message had the value)": 1}
    assert not compared(corpus, [*begin, line("I", 2, "other")]).is_equal
    # What the key itself had before has to be filled in.
    assert not compared(
        corpus, [line("I", 1, None), line("D", 1), line("I", 2, "long")]
    ).is_equal


def test_a_row_that_an_interrupted_snapshot_sent_ends_with_the_next(
    tmp_path: Path,
) -> None:
    corpus = Postgresql(tmp_path / "shop")
    corpus.read(10, 1, "a", "first")
    corpus.read(10, 2, "a")
    corpus.read(20, 2, "b", "first")
    corpus.read(20, 3, "c", "last")
    corpus.finish(
        truth(
            (1, "c", None, row(1, "a")),
            (1, "c", None, row(2, "a")),
            (15, "d", row(1, "a"), None),
            (16, "u", row(2, "a"), row(2, "b")),
            (17, "c", None, row(3, "c")),
        ),
        [row(2, "b"), row(3, "c")],
    )
    second = [line("I", 2, "a"), line("U", 2, "b"), line("I", 3, "c")]
    assert compared(corpus, [line("I", 1, "a"), line("D", 1), *second]).is_equal
    assert not compared(corpus, [line("I", 1, "a"), *second]).is_equal
    listed = {"table": "t", "key": {"id": 1}, "column": None, "oracle": None}
    corpus.write(
        "known_differences", [listed | {"message": "row present", "reason": "stale"}]
    )
    excused = compared(corpus, [line("I", 1, "a"), *second])
    assert (excused.is_equal, excused.excused) == (True, 1)
    assert not compared(corpus, second).is_equal


def test_a_row_that_no_snapshot_read_begins_with_its_first_change(
    tmp_path: Path,
) -> None:
    corpus = Postgresql(tmp_path / "shop")
    corpus.change(11, "u", 1, "b")
    corpus.change(12, "d", 2)
    corpus.finish(
        truth(
            (1, "c", None, row(1, "a")),
            (1, "c", None, row(2, "a")),
            (11, "u", row(1, "a"), row(1, "b")),
            (12, "d", row(2, "a"), None),
        ),
        [row(1, "b")],
    )
    result = compared(corpus, [line("U", 1, "b")])
    assert (result.is_equal, result.equal, result.not_carried) == (True, 1, 3)
    assert not compared(corpus, [line("I", 1, "b")]).is_equal


def test_a_column_that_was_added_may_make_a_version_with_the_right_value(
    tmp_path: Path,
) -> None:
    corpus = Postgresql(tmp_path / "shop")
    corpus.change(11, "c", 1, "a")
    corpus.finish(truth((11, "c", None, row(1, "a"))), [row(1, "a") | {"n": "7"}])
    begin = line("I", 1, "a")
    result = compared(corpus, [begin, line("U", 1, "a", n="7")])
    assert result.is_equal
    assert result.not_compared == {
        "versions with only a column more (the truth has none)": 1
    }
    assert not compared(corpus, [begin, line("U", 1, "a", n="8")]).is_equal
    assert not compared(corpus, [begin, line("U", 1, "b", n="7")]).is_equal


def test_a_change_of_sql_server_is_at_its_lsns(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "sqlserver")
    source = SQL_SERVER | {"table": "t"}
    first, second = "00000027:00000758:0005", "00000028:00000758:0005"
    change = "00000028:00000758:0003"
    read = source | {"snapshot": "true", "commit_lsn": first}
    corpus.add(read, "r", FIELDS, key={"id": 1}, after={"id": 1, "v": "a"})
    at = {"commit_lsn": second, "change_lsn": change, "event_serial_no": 2}
    corpus.add(source | at, "u", FIELDS, key={"id": 1}, after={"id": 1, "v": "b"})
    again = source | at | {"snapshot": "incremental"}
    corpus.add(again, "r", FIELDS, key={"id": 1}, after={"id": 1, "v": "b"})
    (told,) = truth((0, "u", row(1, "a"), row(1, "b")))
    corpus.write("expected_history", [told | at])
    final = {"database": "testDB", "schema": "dbo", "table": "t", "row": row(1, "b")}
    corpus.write("expected_final", [final])
    name = {"database": "testDB.dbo"}
    places = [
        f"00000/{first}.0/{1:013}@{1:013}",
        f"00000/{second}.1/~.{0:05}.{1:019}@{1:013}",
    ]
    lines = [
        line("I", 1, "a") | name | {"sequence": places[0]},
        line("U", 1, "b") | name | {"sequence": places[1]},
    ]
    assert compared(corpus, lines).is_equal
    for position, other in ((0, places[1]), (1, places[0])):
        moved = [*lines]
        moved[position] = lines[position] | {"sequence": other}
        result = compared(corpus, moved)
        assert (result.missing, result.extra) == (1, 1)


def test_without_a_truth_there_is_nothing_to_compare(tmp_path: Path) -> None:
    corpus = Postgresql(tmp_path / "shop")
    corpus.change(11, "c", 1, "a")
    assert compare_history(corpus.folder, RecordedMessages(corpus.path), []) == []
