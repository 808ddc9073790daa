"""The random histories of the property tests tell the truth, and TiCDC's rules hold."""

import json
import re
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from histories import (
    ITEMS,
    MARKS,
    PARTITIONS,
    TABLES,
    Column,
    Ddl,
    Delivery,
    Row,
    RowChange,
    Settings,
    Source,
    add_column,
    create_table,
    deliver,
    deliveries,
    draw_source,
    drop_column,
    histories,
    modify_scale,
    rename_column,
    seeded,
    truncate_table,
    write_corpus,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Line = dict[str, Any]


def mark(id_: int, label: str | None) -> Row:
    return {"history_id": "0", "id": str(id_), "label": label}


def item(id_: int, **cells: str | bytes | None) -> Row:
    row: dict[str, str | bytes | None] = {one.name: None for one in TABLES[ITEMS]}
    return {**row, "history_id": "0", "id": str(id_), **cells}


def source_of(*commits: list[RowChange] | Ddl) -> Source:
    """Tables which are there at 1 and 2, and what happens from 3 on."""
    source = Source()
    for commit_ts, commit in enumerate(
        [create_table(ITEMS), create_table(MARKS), *commits], start=1
    ):
        if isinstance(commit, Ddl):
            source.execute(commit_ts, commit)
        else:
            source.commit(commit_ts, commit)
    return source


def inserted(*rows: Row) -> list[RowChange]:
    return [RowChange(ITEMS if "note" in row else MARKS, None, row) for row in rows]


def told(source: Source, *, since: int) -> list[tuple[int, str, str, str, Any]]:
    """Return commitTs, op, cause, id and one cell of each history entry."""
    entries = []
    for line in source.history:
        if line["commitTs"] >= since:
            row = line["row"] or {}
            cell = row.get("label", row.get("amount"))
            entries.append(
                (line["commitTs"], line["op"], line["cause"], line["pk"]["id"], cell)
            )
    return entries


def values_of(source: Source, **options: Any) -> list[Line]:
    delivery = deliver(seeded(1), source, Settings(**options))
    return [json.loads(value) for _, value in delivery.records]


def row_messages(source: Source, **options: Any) -> list[Line]:
    """Return the row messages in commit order, each once."""
    found = {
        identity(value): value
        for value in values_of(source, placement="table", **options)
        if value["data"]
    }
    return sorted(found.values(), key=lambda value: value["_tidb"]["commitTs"])


# ---------- the truth


def test_a_swap_of_keys_updates_both_rows() -> None:
    one, two = mark(1, "one"), mark(2, "two")
    swap = [
        RowChange(MARKS, one, {**one, "id": "2"}),
        RowChange(MARKS, two, {**two, "id": "1"}),
    ]
    source = source_of(inserted(one, two), swap)
    assert told(source, since=4) == [
        (4, "U", "dml", "1", "two"),
        (4, "U", "dml", "2", "one"),
    ]
    sent = row_messages(source, replays=0)[2:]
    assert [value["type"] for value in sent] == ["DELETE", "DELETE", "INSERT", "INSERT"]
    assert [value["data"][0]["id"] for value in sent] == ["1", "2", "2", "1"]


def test_a_raw_key_change_is_one_update() -> None:
    one = mark(1, "one")
    source = source_of(inserted(one), [RowChange(MARKS, one, {**one, "id": "2"})])
    assert told(source, since=4) == [
        (4, "D", "dml", "1", None),
        (4, "I", "dml", "2", "one"),
    ]
    (sent,) = row_messages(source, raw_key_changes=True, variant="compatible")[1:]
    assert (sent["type"], sent["old"]) == ("UPDATE", [{"id": "1"}])


def test_delete_and_insert_of_a_key_is_an_update() -> None:
    one, again = mark(1, "one"), mark(1, "again")
    as_one = source_of(inserted(one), [RowChange(MARKS, one, again)])
    as_two = source_of(
        inserted(one), [RowChange(MARKS, one, None), RowChange(MARKS, None, again)]
    )
    expected = [(4, "U", "dml", "1", "again")]
    assert told(as_one, since=4) == told(as_two, since=4) == expected
    assert [value["type"] for value in row_messages(as_one)] == ["INSERT", "UPDATE"]
    assert [value["type"] for value in row_messages(as_two)[1:]] == ["DELETE", "INSERT"]


def test_an_update_that_changes_nothing_is_sent_but_is_no_history() -> None:
    one = mark(1, "one")
    source = source_of(inserted(one), [RowChange(MARKS, one, dict(one))])
    assert told(source, since=4) == []
    full, partial = (
        row_messages(source, variant=variant)[1]["old"]
        for variant in ("full", "updated_columns")
    )
    assert (full, partial) == ([one], [{}])


@pytest.mark.parametrize(
    "changes",
    [
        [RowChange(MARKS, mark(1, "other"), None)],
        [RowChange(MARKS, mark(2, "none"), None)],
        [RowChange(MARKS, None, mark(1, "twice"))],
    ],
)
def test_the_source_refuses_what_its_rows_do_not_allow(
    changes: list[RowChange],
) -> None:
    source = source_of(inserted(mark(1, "one")))
    with pytest.raises(ValueError, match="Expected"):
        source.commit(9, changes)


def test_a_ddl_changes_every_row_that_it_makes_look_different() -> None:
    one, two = item(1, amount="0.0050", note="a"), item(2)
    source = source_of(
        inserted(one, two),
        add_column(ITEMS, Column("extra", "decimal(6,2)"), "1.5", "FIRST"),
        modify_scale(ITEMS, Column("amount", "decimal(12,2)")),
        modify_scale(ITEMS, Column("amount", "decimal(20,2)")),
        rename_column(ITEMS, "note", Column("remark", "varchar(200)")),
        drop_column(ITEMS, "quantity"),
    )
    assert [entry[:4] for entry in told(source, since=4)] == [
        (4, "U", "ddl", "1"),
        (4, "U", "ddl", "2"),
        (5, "U", "ddl", "1"),
        (7, "U", "ddl", "1"),
        (7, "U", "ddl", "2"),
        (8, "U", "ddl", "1"),
        (8, "U", "ddl", "2"),
    ]
    first, second = (line["row"] for line in source.final())
    assert (first["amount"], first["extra"], first["remark"]) == ("0.01", "1.50", "a")
    assert {"note", "quantity"}.isdisjoint(second)
    assert [one.name for one in source.columns[ITEMS]][:2] == ["extra", "history_id"]


def test_truncate_ends_every_row() -> None:
    source = source_of(inserted(mark(1, "one"), item(1)), truncate_table(MARKS))
    assert told(source, since=4) == [(4, "D", "ddl", "1", None)]
    assert [line["table"] for line in source.final()] == [ITEMS]


def test_messages_have_text_and_types_as_ticdc_writes_them() -> None:
    row = item(1, note="<'\"\\\n😀", photo=b"\x00\xff<")
    source = source_of(inserted(row))
    (value,) = {
        text
        for _, text in deliver(seeded(1), source, Settings(replays=0)).records
        if '"INSERT"' in text
    }
    assert "\\u003c" in value
    assert "😀" in value
    message = json.loads(value)
    assert message["data"][0]["note"] == row["note"]
    assert message["data"][0]["photo"].encode("latin-1") == row["photo"]
    assert message["mysqlType"]["amount"] == "decimal"
    (compatible,) = row_messages(source, variant="compatible")
    assert compatible["mysqlType"]["amount"] == "decimal(12,4)"
    assert source.final()[0]["row"]["photo"] == {"$hex": "00ff3c"}


def test_a_corpus_has_the_files_that_verify_reads(tmp_path: Path) -> None:
    source = draw_source(seeded(5), 3)
    delivery = deliver(seeded(5), source, Settings())
    write_corpus(tmp_path, source, delivery)
    lines = (tmp_path / "canal_json_tidb.ndjson").read_bytes().splitlines()
    assert len(lines) == len(delivery.records)
    history = (tmp_path / "expected_history.ndjson").read_bytes().splitlines()
    assert [json.loads(line) for line in history] == source.history
    assert {path.name for path in tmp_path.iterdir()} == {
        "canal_json_tidb.ndjson",
        "expected_final.ndjson",
        "expected_history.ndjson",
        "schema_final.ndjson",
        "manifest.json",
    }


# ---------- the delivery


def identity(value: Line) -> str:
    return json.dumps({**value, "ts": 0, "mysqlType": None}, sort_keys=True)


@settings(max_examples=200, deadline=None)
@given(deliveries())
def test_a_delivery_keeps_the_promises_of_ticdc(case: tuple[Source, Delivery]) -> None:
    source, delivery = case
    newest: dict[tuple[int, str], int] = defaultdict(int)
    resolved = [0] * PARTITIONS
    place: dict[str, int] = {}
    offsets = [0] * PARTITIONS
    for line in delivery.lines():
        partition, value = line["partition"], json.loads(line["value"])
        assert line["offset"] == offsets[partition]
        offsets[partition] += 1
        if value["type"] == "TIDB_WATERMARK":
            watermark = value["_tidb"]["watermarkTs"]
            resolved[partition] = max(resolved[partition], watermark)
            continue
        name, commit_ts = identity(value), value["_tidb"]["commitTs"]
        assert place.setdefault(name, partition) == partition
        assert not value["isDdl"] or partition == 0
        if (partition, name) not in newest:
            newest[partition, name] = commit_ts
            assert commit_ts >= resolved[partition]
            assert commit_ts >= newest[partition, value["table"]]
            newest[partition, value["table"]] = commit_ts
    last = max(commit.commit_ts for commit in source.commits)
    assert min(resolved) > last
    assert {json.loads(name)["_tidb"]["commitTs"] for name in place} == {
        commit.commit_ts for commit in source.commits
    }


def test_a_replay_comes_below_a_watermark_with_another_ts() -> None:
    source = draw_source(seeded(3), 20)
    options = Settings(repeat_chance=0, replays=3, watermark_chance=0.5, chunk=1)
    resolved = [0] * PARTITIONS
    built: dict[str, set[int]] = defaultdict(set)
    below = 0
    for partition, text in deliver(seeded(3), source, options).records:
        value = json.loads(text)
        if value["type"] == "TIDB_WATERMARK":
            resolved[partition] = value["_tidb"]["watermarkTs"]
            continue
        below += value["_tidb"]["commitTs"] < resolved[partition]
        assert value["ts"] not in built[identity(value)]
        built[identity(value)].add(value["ts"])
    assert below > 0
    assert max(map(len, built.values())) > 1


@given(st.integers(0, 2**32))
def test_one_seed_gives_one_delivery(seed: int) -> None:
    records = []
    for _ in range(2):
        random = seeded(seed)
        records.append(deliver(random, draw_source(random), Settings()).records)
    assert records[0] == records[1]


# ---------- another way to the same truth


class Reader:
    """A plain reader of a whole topic: no cut, no runs, one commit after the other."""

    def __init__(self, delivery: Delivery) -> None:
        self.tables: dict[str, dict[tuple[str, str], Line]] = {}
        self.history: list[tuple[int, str, str, Any, Line | None]] = []
        commits: dict[int, dict[str, Line]] = defaultdict(dict)
        for _, text in delivery.records:
            value = json.loads(text)
            if value["type"] != "TIDB_WATERMARK":
                commits[value["_tidb"]["commitTs"]][identity(value)] = value
        for commit_ts in sorted(commits):
            before = {name: dict(rows) for name, rows in self.tables.items()}
            values = list(commits[commit_ts].values())
            for value in values:
                self._remove(value)
            for value in values:
                self._put(value)
            for name, rows in self.tables.items():
                earlier = before.get(name, {})
                for key in sorted(earlier.keys() | rows.keys()):
                    old, new = earlier.get(key), rows.get(key)
                    if old != new:
                        op = "U" if old and new else "I" if new else "D"
                        self.history.append((commit_ts, name, op, key, new))

    def _remove(self, value: Line) -> None:
        if value["isDdl"] or value["type"] == "INSERT":
            return
        row = {**value["data"][0], **(value["old"] or [{}])[0]}
        present = self.tables[value["table"]].pop(self._key(row))
        assert present == row

    def _put(self, value: Line) -> None:
        if value["isDdl"]:
            rows = self.tables.setdefault(value["table"], {})
            self.tables[value["table"]] = {
                key: self._altered(row, value["sql"])
                for key, row in rows.items()
                if value["type"] != "TRUNCATE"
            }
        elif value["type"] != "DELETE":
            row = value["data"][0]
            self.tables[value["table"]][self._key(row)] = row

    @staticmethod
    def _key(row: Line) -> tuple[str, str]:
        return row["history_id"], row["id"]

    @staticmethod
    def _altered(row: Line, sql: str) -> Line:
        row = dict(row)
        if found := re.search(r"ADD COLUMN `(\w+)` (\S+)", sql):
            default = re.search(r"DEFAULT (?:_UTF8MB4'((?:[^']|'')*)'|(\S+))", sql)
            text = default and (default[1] or default[2]).replace("''", "'")
            row[found[1]] = "1.50" if found[2] == "DECIMAL(6,2)" else text
        elif found := re.search(r"MODIFY COLUMN `(\w+)` DECIMAL\(\d+,(\d+)\)", sql):
            if row[found[1]] is not None:
                unit = Decimal(f"1E-{found[2]}")
                number = Decimal(row[found[1]]).quantize(unit, ROUND_HALF_UP)
                row[found[1]] = str(number)
        elif found := re.search(r"CHANGE COLUMN `(\w+)` `(\w+)`", sql):
            row[found[2]] = row.pop(found[1])
        elif found := re.search(r"DROP COLUMN `(\w+)`", sql):
            del row[found[1]]
        return row


def as_sent(row: Line | None) -> Line | None:
    """A row of the truth with bytes as a message shows them."""
    return row and {
        name: bytes.fromhex(cell["$hex"]).decode("latin-1")
        if isinstance(cell, dict)
        else cell
        for name, cell in row.items()
    }


def assert_reader_agrees(source: Source, delivery: Delivery) -> None:
    reader = Reader(delivery)
    final = {
        (line["table"], *line["pk"]): as_sent(line["row"])
        for line in (
            {**line, "pk": (line["row"]["history_id"], line["row"]["id"])}
            for line in source.final()
        )
    }
    assert final == {
        (name, *key): row
        for name, rows in reader.tables.items()
        for key, row in rows.items()
    }
    expected = sorted(
        (
            (
                line["commitTs"],
                line["table"],
                line["op"],
                tuple(line["pk"].values()),
                as_sent(line["row"]),
            )
            for line in source.history
        ),
        key=lambda entry: entry[:4],
    )
    assert expected == sorted(reader.history, key=lambda entry: entry[:4])


@settings(max_examples=200, deadline=None)
@given(deliveries())
def test_messages_and_truth_agree(case: tuple[Source, Delivery]) -> None:
    assert_reader_agrees(*case)


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(histories())
def test_messages_of_one_history_and_its_truth_agree(source: Source) -> None:
    for raw_key_changes in (False, True):
        options = Settings("compatible", raw_key_changes, placement="random")
        assert_reader_agrees(source, deliver(seeded(1), source, options))
