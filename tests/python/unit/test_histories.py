"""The random histories of the property tests tell the truth, and TiCDC's rules hold."""

import base64
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from deliveries import (
    PARTITIONS,
    Delivery,
    Settings,
    deliver,
    deliveries,
    draw_settings,
    write_corpus,
)
from histories import (
    ITEMS,
    MARKS,
    TABLES,
    Column,
    Ddl,
    Row,
    RowChange,
    Source,
    Statement,
    add_column,
    create_table,
    draw_source,
    drop_column,
    drop_table,
    histories,
    modify_scale,
    rename_column,
    rename_table,
    rename_tables,
    seeded,
    truncate_table,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ticdc_messages import ProtocolName, described

Line = dict[str, Any]

GOLDEN: Final = Path(__file__).parents[2] / "golden" / "ticdc" / "ddl"
PROTOCOLS: Final[tuple[ProtocolName, ...]] = ("canal_json_tidb", "simple_json")


def mark(id_: int, label: str | None) -> Row:
    return {"history_id": "0", "id": str(id_), "label": label}


def item(id_: int, **cells: str | bytes | None) -> Row:
    row: dict[str, str | bytes | None] = {one.name: None for one in TABLES[ITEMS]}
    return {**row, "history_id": "0", "id": str(id_), **cells}


def source_of(*commits: list[RowChange] | Ddl | Statement) -> Source:
    """Tables which are there at 1 and 2, and what happens from 3 on."""
    source = Source()
    for commit_ts, commit in enumerate(
        [create_table(ITEMS), create_table(MARKS), *commits], start=1
    ):
        if isinstance(commit, list):
            source.commit(commit_ts, commit)
        else:
            source.execute(
                commit_ts, *([commit] if isinstance(commit, Ddl) else commit)
            )
    return source


def inserted(*rows: Row) -> list[RowChange]:
    return [RowChange(ITEMS if "note" in row else MARKS, None, row) for row in rows]


def told(source: Source, *, since: int) -> list[tuple[int, str, str, str, Any]]:
    """Return commitTs, op, cause, id and one cell of each history entry."""
    return [entry[:1] + entry[2:] for entry in told_by_table(source, since=since)]


def told_by_table(
    source: Source, *, since: int
) -> list[tuple[int, str, str, str, str, Any]]:
    """Return the same with the table."""
    entries = []
    for line in source.history:
        if line["commitTs"] >= since:
            row = line["row"] or {}
            cell = row.get("label", row.get("amount"))
            names = line["table"], line["op"], line["cause"], line["pk"]["id"]
            entries.append((line["commitTs"], *names, cell))
    return entries


def values_of(source: Source, **options: Any) -> list[Line]:
    delivery = deliver(seeded(1), source, Settings(**options))
    return [json.loads(value) for _, value in delivery.records]


def once(values: Iterable[Line]) -> list[Line]:
    """Return messages in commit order, each once."""
    found = {identity(value): value for value in values}
    return sorted(found.values(), key=commit_ts_of)


def row_messages(source: Source, **options: Any) -> list[Line]:
    """Return the row messages in commit order, each once."""
    values = values_of(source, placement="table", **options)
    return once(value for value in values if kind_of(value) == "row")


def ddl_messages(source: Source, **options: Any) -> list[Line]:
    """Return the DDL messages in commit order, each once."""
    values = values_of(source, **options)
    return once(value for value in values if kind_of(value) == "ddl")


# ---------- reading messages

Kind = Literal["row", "ddl", "watermark", "bootstrap"]


def kind_of(value: Line) -> Kind:
    match value["type"]:
        case "INSERT" | "UPDATE" | "DELETE":
            return "row"
        case "WATERMARK" | "TIDB_WATERMARK":
            return "watermark"
        case "BOOTSTRAP":
            return "bootstrap"
    return "ddl"


def commit_ts_of(value: Line) -> int:
    position = value.get("_tidb", value)
    return int(position.get("commitTs", position.get("watermarkTs")))


def identity(value: Line) -> str:
    """Return what is the same when a message is built again."""
    return json.dumps(
        {**value, "ts": 0, "buildTs": 0, "mysqlType": None}, sort_keys=True
    )


def names_of(value: Line) -> set[str]:
    """Return the tables that a message names."""
    return {name for name, _ in described(value)} or {value["table"]}


@dataclass(frozen=True)
class Images:
    """What a message tells of a row; bytes as the truth shows them."""

    before: Line | None
    after: Line | None


def images_of(value: Line, binary: dict[tuple[str, int], set[str]]) -> Images:
    """Read a row of either protocol.

    Args:
        value: The message.
        binary: Of Simple: the columns with bytes, by table and version.
    """
    if "schemaVersion" in value:
        names = binary[value["table"], value["schemaVersion"]]

        def shown(row: Line) -> Line:
            return {
                name: {"$hex": base64.b64decode(cell).hex()}
                if name in names and cell is not None
                else cell
                for name, cell in row.items()
            }

        images = [value.get(name) for name in ("old", "data")]
        return Images(*(row and shown(row) for row in images))

    def latin(row: Line) -> Line:
        return {
            name: {"$hex": cell.encode("latin-1").hex()}
            if value["mysqlType"][name].startswith("varbinary") and cell is not None
            else cell
            for name, cell in row.items()
        }

    data = latin(value["data"][0])
    before = {**data, **latin((value["old"] or [{}])[0])}
    return Images(
        None if value["type"] == "INSERT" else before,
        None if value["type"] == "DELETE" else data,
    )


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
    columns = source.tables[ITEMS].columns
    assert [one.name for one in columns][:2] == ["extra", "history_id"]


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


def test_a_renamed_table_ends_its_rows_and_begins_them_under_the_new_name() -> None:
    source = source_of(
        inserted(mark(1, "one")),
        rename_table(MARKS, "archive"),
        truncate_table("archive"),
    )
    assert told_by_table(source, since=4) == [
        (4, MARKS, "D", "ddl", "1", None),
        (4, "archive", "I", "ddl", "1", "one"),
        (5, "archive", "D", "ddl", "1", None),
    ]


def test_three_renames_swap_the_rows_of_two_names() -> None:
    source = source_of(
        inserted(mark(1, "one"), item(1, amount="1.0000")),
        rename_table(MARKS, "spare"),
        rename_table(ITEMS, MARKS, "ALTER TABLE"),
        rename_table("spare", ITEMS),
    )
    assert told_by_table(source, since=4) == [
        (4, MARKS, "D", "ddl", "1", None),
        (4, "spare", "I", "ddl", "1", "one"),
        (5, ITEMS, "D", "ddl", "1", None),
        (5, MARKS, "I", "ddl", "1", "1.0000"),
        (6, "spare", "D", "ddl", "1", None),
        (6, ITEMS, "I", "ddl", "1", "one"),
    ]


def test_a_name_handed_over_in_one_statement_shows_the_other_table_at_once() -> None:
    source = source_of(
        inserted(mark(1, "one"), item(1, amount="1.0000"), item(2)),
        rename_tables((ITEMS, "archive"), (MARKS, ITEMS)),
    )
    assert sorted(told_by_table(source, since=4)) == [
        (4, "archive", "I", "ddl", "1", "1.0000"),
        (4, "archive", "I", "ddl", "2", None),
        (4, ITEMS, "D", "ddl", "2", None),
        (4, ITEMS, "U", "ddl", "1", "one"),
        (4, MARKS, "D", "ddl", "1", None),
    ]


def test_a_dropped_table_has_nothing_to_do_with_the_next_one_of_its_name() -> None:
    source = source_of(
        inserted(mark(1, "one")),
        drop_table(MARKS),
        create_table(MARKS, TABLES[ITEMS]),
        [RowChange(MARKS, None, item(1, amount="2.0000"))],
    )
    assert told_by_table(source, since=4) == [
        (4, MARKS, "D", "ddl", "1", None),
        (6, MARKS, "I", "dml", "1", "2.0000"),
    ]


@pytest.mark.parametrize(
    "ddl",
    [
        drop_table("archive"),
        rename_table("archive", "spare"),
        rename_table(ITEMS, MARKS),
        create_table(ITEMS),
    ],
)
def test_the_source_refuses_what_its_tables_do_not_allow(ddl: Ddl) -> None:
    with pytest.raises(ValueError, match="Expected"):
        source_of(ddl)


def test_the_past_of_a_source_is_what_it_was() -> None:
    source = draw_source(seeded(11), 5)
    commit_ts = source.commits[len(source.commits) // 2].commit_ts
    past = source.until(commit_ts)
    assert past.history == [
        line for line in source.history if line["commitTs"] < commit_ts
    ]
    assert past.commits == source.commits[: len(source.commits) // 2]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_corpus_has_the_files_that_verify_reads(
    tmp_path: Path, protocol: ProtocolName
) -> None:
    source = draw_source(seeded(5), 3)
    delivery = deliver(seeded(5), source, Settings(protocol))
    write_corpus(tmp_path, source, delivery)
    lines = (tmp_path / f"{protocol}.ndjson").read_bytes().splitlines()
    assert len(lines) == len(delivery.records)
    history = (tmp_path / "expected_history.ndjson").read_bytes().splitlines()
    assert [json.loads(line) for line in history] == source.history
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{protocol}.ndjson",
        "expected_final.ndjson",
        "expected_history.ndjson",
        "schema_final.ndjson",
        "manifest.json",
    }


# ---------- the messages


def test_a_rename_is_told_as_ticdc_writes_it() -> None:
    source = source_of(
        rename_table(ITEMS, "archive"),
        rename_table(MARKS, ITEMS, "ALTER TABLE"),
        rename_tables(("archive", "spare"), (ITEMS, "archive")),
        drop_table("spare"),
    )
    assert [
        (value["type"], value["table"], value["sql"])
        for value in ddl_messages(source)[2:]
    ] == [
        ("RENAME", "archive", "RENAME TABLE `items` TO `archive`"),
        ("RENAME", ITEMS, "ALTER TABLE `marks` RENAME AS `items`"),
        ("RENAME", "spare", "RENAME TABLE `property`.`archive` TO `property`.`spare`"),
        (
            "RENAME",
            "archive",
            "RENAME TABLE `property`.`items` TO `property`.`archive`",
        ),
        ("ERASE", "spare", "DROP TABLE `property`.`spare`"),
    ]


def test_simple_tells_the_table_before_and_after_a_ddl() -> None:
    source = source_of(
        rename_table(MARKS, "archive"),
        truncate_table("archive"),
        add_column("archive", Column("extra", "int(11)"), "7", "FIRST"),
        modify_scale(ITEMS, Column("amount", "decimal(12,2)")),
        drop_table("archive"),
    )
    schemas = [
        (value.get("preTableSchema"), value["tableSchema"])
        for value in ddl_messages(source, protocol="simple_json")
    ]
    created, renamed, truncated, widened, modified, dropped = schemas[1:]
    assert created[0] is None
    assert renamed == (created[1], created[1] | {"table": "archive"})
    assert truncated[0] == renamed[1]
    assert truncated[1] == renamed[1] | {"tableID": truncated[1]["tableID"]}
    assert truncated[1]["tableID"] != renamed[1]["tableID"]
    assert widened[1]["version"] > truncated[1]["version"]
    # The columns come by age, wherever they are; a value written anew is a new column.
    assert [one["name"] for one in widened[1]["columns"]][2:] == ["label", "extra"]
    assert widened[1]["columns"][-1]["default"] == "7"
    assert modified[1]["columns"][-1]["name"] == "amount"
    assert dropped == (widened[1], widened[1])


def layout(value: Any) -> Any:
    """Return the fields of a message in their order; not those of a row."""
    if not isinstance(value, dict):
        return "list" if isinstance(value, list) else "value"
    rows = {"data", "old", "mysqlType", "sqlType"}
    return tuple(
        (name, "row" if name in rows else layout(part)) for name, part in value.items()
    )


def layouts(values: Iterable[Line]) -> set[Any]:
    """Return the layouts of messages and of the columns that they describe."""
    found = set()
    for value in values:
        found.add((value["type"], layout(value)))
        for name in ("tableSchema", "preTableSchema"):
            for part in ("columns", "indexes"):
                described_parts = value.get(name, {}).get(part, [])
                found |= {(part, layout(one)) for one in described_parts}
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_messages_have_the_fields_of_recorded_ones_in_their_order(
    protocol: ProtocolName,
) -> None:
    recorded = []
    for scenario in ("ddl", "types"):
        path = GOLDEN.parent / scenario / f"{protocol}.ndjson.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                recorded += [json.loads(json.loads(line)["value"]) for line in lines]
    row = item(1, amount="1.0000")
    source = source_of(
        inserted(row),
        [RowChange(ITEMS, row, {**row, "amount": None})],
        [RowChange(ITEMS, {**row, "amount": None}, None)],
        add_column(ITEMS, Column("extra", "varchar(40)"), "x"),
        rename_table(ITEMS, "archive"),
        truncate_table("archive"),
        drop_table("archive"),
    )
    values = values_of(source, protocol=protocol, bootstrap_chance=1.0)
    assert layouts(values) <= layouts(recorded)


# ---------- the delivery


@settings(max_examples=200, deadline=None)
@given(deliveries())
def test_a_delivery_keeps_the_promises_of_ticdc(case: tuple[Source, Delivery]) -> None:
    source, delivery = case
    newest: dict[tuple[int, str], int] = defaultdict(int)
    resolved = [0] * PARTITIONS
    places: dict[str, set[int]] = defaultdict(set)
    ddls: dict[int, list[str]] = defaultdict(list)
    offsets = [0] * PARTITIONS
    for line in delivery.lines():
        partition, value = line["partition"], json.loads(line["value"])
        assert line["offset"] == offsets[partition]
        offsets[partition] += 1
        kind, name, commit_ts = kind_of(value), identity(value), commit_ts_of(value)
        if kind == "watermark":
            resolved[partition] = max(resolved[partition], commit_ts)
        if kind not in {"row", "ddl"} or partition in places[name]:
            continue
        places[name].add(partition)
        assert kind == "ddl" or len(places[name]) == 1
        assert commit_ts >= resolved[partition]
        for table in names_of(value):
            assert commit_ts >= newest[partition, table]
            newest[partition, table] = commit_ts
        if kind == "ddl":
            ddls[partition].append(name)
    assert_ddls_come_in_order(delivery, ddls)
    last = max(commit.commit_ts for commit in source.commits)
    assert min(resolved) > last
    sent = {commit_ts_of(json.loads(name)) for name in places if places[name]}
    unsent = [commit for commit in source.commits if commit.commit_ts not in sent]
    assert all(commit.creates_table for commit in unsent)
    assert len(unsent) == (delivery.settings.unsent_create > 0)


def assert_ddls_come_in_order(delivery: Delivery, ddls: dict[int, list[str]]) -> None:
    """A partition has them all, those it should have, in the order of the source."""
    for names in ddls.values():
        moments = [commit_ts_of(json.loads(name)) for name in names]
        assert moments == sorted(moments)
    match delivery.settings:
        case Settings(protocol="canal_json_tidb"):
            assert ddls.keys() <= {0}
        case Settings(descriptions="all"):
            assert all(ddls[partition] == ddls[0] for partition in range(PARTITIONS))


def test_descriptions_on_some_partitions_come_later_than_rows() -> None:
    source = draw_source(seeded(3), 20)
    late = 0
    for everywhere in ("all", "some"):
        known: set[tuple[str, int]] = set()
        options = Settings("simple_json", descriptions=everywhere, chunk=1)
        for _, text in deliver(seeded(4), source, options).records:
            value = json.loads(text)
            known.update(described(value))
            if kind_of(value) == "row":
                late += (value["table"], value["schemaVersion"]) not in known
        assert (late > 0) == (everywhere == "some")


def test_the_tables_stop_where_no_message_describes_a_row(tmp_path: Path) -> None:
    source = source_of(
        [RowChange(ITEMS, None, item(1))],
        rename_table(ITEMS, "archive"),
        inserted(mark(1, "unread")),
        truncate_table("archive"),
    )
    options = Settings("simple_json", unsent_create=1)
    delivery = deliver(seeded(1), source, options)
    assert delivery.cut == 5
    write_corpus(tmp_path, source, delivery)
    final = (tmp_path / "expected_final.ndjson").read_text().splitlines()
    assert [json.loads(line)["table"] for line in final] == ["archive"]
    options = Settings("simple_json", unsent_create=1, bootstrap_chance=1)
    assert deliver(seeded(1), source, options).cut is None
    source.execute(9, truncate_table(MARKS))
    options = Settings("simple_json", unsent_create=1)
    assert deliver(seeded(1), source, options).cut is None


def test_a_replay_comes_below_a_watermark_with_another_ts() -> None:
    source = draw_source(seeded(3), 20)
    options = Settings(repeat_chance=0, replays=3, watermark_chance=0.5, chunk=1)
    resolved = [0] * PARTITIONS
    built: dict[str, set[int]] = defaultdict(set)
    below = 0
    for partition, text in deliver(seeded(3), source, options).records:
        value = json.loads(text)
        if kind_of(value) == "watermark":
            resolved[partition] = commit_ts_of(value)
            continue
        below += commit_ts_of(value) < resolved[partition]
        assert value["ts"] not in built[identity(value)]
        built[identity(value)].add(value["ts"])
    assert below > 0
    assert max(map(len, built.values())) > 1


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_one_seed_gives_one_delivery(seed: int) -> None:
    records = []
    for _ in range(2):
        random = seeded(seed)
        source = draw_source(random)
        records.append(deliver(random, source, draw_settings(random)).records)
    assert records[0] == records[1]


# ---------- another way to the same truth


class Reader:
    """A plain reader of a whole topic: no cut, no runs, one commit after the other.

    Attributes:
        tables: Rows by table and key.
        history: commitTs, table, op, key and row of each change.
        stop: The first commitTs with a row that it can not read.
    """

    def __init__(self, delivery: Delivery) -> None:
        self.tables: dict[str, dict[tuple[str, str], Line]] = {}
        self.history: list[tuple[int, str, str, Any, Line | None]] = []
        values = [json.loads(text) for _, text in delivery.records]
        self._binary = {
            (schema["table"], schema["version"]): {
                column["name"]
                for column in schema["columns"]
                if column["dataType"]["mysqlType"] == "varbinary"
            }
            for value in values
            for schema in (value.get("tableSchema"), value.get("preTableSchema"))
            if schema
        }
        self.stop = min(
            map(commit_ts_of, filter(self._is_unknown, values)), default=None
        )
        commits: dict[int, dict[str, Line]] = defaultdict(dict)
        for value in values:
            if kind_of(value) in {"row", "ddl"}:
                commits[commit_ts_of(value)].setdefault(identity(value), value)
        for commit_ts in sorted(commits):
            if self.stop is None or commit_ts < self.stop:
                self._read(commit_ts, list(commits[commit_ts].values()))

    def _is_unknown(self, value: Line) -> bool:
        place = value.get("table"), value.get("schemaVersion")
        return "schemaVersion" in value and place not in self._binary

    def _read(self, commit_ts: int, values: list[Line]) -> None:
        before = {name: dict(rows) for name, rows in self.tables.items()}
        rows = [value for value in values if kind_of(value) == "row"]
        images = [(value["table"], images_of(value, self._binary)) for value in rows]
        for table, image in images:
            if image.before is not None:
                present = self.tables[table].pop(self._key(image.before))
                assert present == image.before
        for table, image in images:
            if image.after is not None:
                self.tables.setdefault(table, {})[self._key(image.after)] = image.after
        for value in values:
            if kind_of(value) == "ddl":
                self._execute(value["sql"])
        for name in before.keys() | self.tables.keys():
            earlier, present_rows = before.get(name, {}), self.tables.get(name, {})
            for key in sorted(earlier.keys() | present_rows.keys()):
                old, new = earlier.get(key), present_rows.get(key)
                if old != new:
                    op = "U" if old and new else "I" if new else "D"
                    self.history.append((commit_ts, name, op, key, new))

    def _execute(self, sql: str) -> None:
        found = re.match(r"(\w+) TABLE (?:`property`\.)?`(\w+)`(.*)", sql, re.DOTALL)
        assert found is not None
        verb, table, rest = found.groups()
        rows = self.tables.pop(table, {})
        if target := re.match(r" (?:TO|RENAME AS) (?:`property`\.)?`(\w+)`", rest):
            assert target[1] not in self.tables
            self.tables[target[1]] = rows
        elif verb in {"CREATE", "TRUNCATE"}:
            assert not (verb == "CREATE" and rows)
            self.tables[table] = {}
        elif verb == "ALTER":
            self.tables[table] = {
                key: self._altered(row, sql) for key, row in rows.items()
            }

    @staticmethod
    def _key(row: Line) -> tuple[str, str]:
        return row["history_id"], row["id"]

    @staticmethod
    def _altered(row: Line, sql: str) -> Line:
        row = dict(row)
        if found := re.search(r"ADD COLUMN `(\w+)` (\S+)", sql):
            default = re.search(r"DEFAULT (?:_UTF8MB4'((?:[^']|'')*)'|(\S+))", sql)
            text = default and (default[1] or default[2] or "").replace("''", "'")
            is_decimal = found[2].startswith("DECIMAL")
            row[found[1]] = rounded(text, found[2]) if text and is_decimal else text
        elif found := re.search(r"MODIFY COLUMN `(\w+)` (\S+)", sql):
            if row[found[1]] is not None:
                row[found[1]] = rounded(row[found[1]], found[2])
        elif found := re.search(r"CHANGE COLUMN `(\w+)` `(\w+)`", sql):
            row[found[2]] = row.pop(found[1])
        elif found := re.search(r"DROP COLUMN `(\w+)`", sql):
            del row[found[1]]
        return row


def rounded(number: str, decimal: str) -> str:
    unit = Decimal(f"1E-{decimal.rstrip(')').rpartition(',')[2]}")
    return f"{Decimal(number).quantize(unit, ROUND_HALF_UP):f}"


def assert_reader_agrees(source: Source, delivery: Delivery) -> None:
    reader = Reader(delivery)
    assert reader.stop == delivery.cut
    truth = source if delivery.cut is None else source.until(delivery.cut)
    final = {
        (line["table"], line["row"]["history_id"], line["row"]["id"]): line["row"]
        for line in truth.final()
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
                line["row"],
            )
            for line in truth.history
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
    for protocol in PROTOCOLS:
        for raw_key_changes in (False, True):
            options = Settings(
                protocol, "compatible", raw_key_changes, placement="random"
            )
            assert_reader_agrees(source, deliver(seeded(1), source, options))
