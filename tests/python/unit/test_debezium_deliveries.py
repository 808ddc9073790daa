"""The random deliveries of Debezium tell the truth, and have what real ones have.

A plain reader of whole topics comes to the same rows and the same history as the model,
from the messages and what the decoder says of them alone.
"""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from debezium_deliveries import (
    PARTITIONS,
    Delivery,
    debezium_deliveries,
    draw_delivery,
    write_corpus,
)
from debezium_histories import CONNECTORS, ENTRIES, Connector
from debezium_reader import Read, Reader, Texts, messages_of, transaction_of
from debezium_settings import Settings, draw_settings
from histories import KEY_COLUMNS, Line, seeded
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

GOLDEN: Final = Path(__file__).parents[2] / "golden" / "debezium"
RECORDED: Final[dict[Connector, tuple[str, ...]]] = {
    "sqlserver": ("sqlserver_shop_synthetic",),
    "postgresql": ("postgresql_shop", "postgresql_replays"),
    "mariadb": ("mariadb_shop",),
}
SEEDS: Final = 60


@cache
def delivered(
    connector: Connector,
    seed: int,
    *,
    compacted: bool = False,
    in_order: bool = False,
) -> Delivery:
    random = seeded(f"{connector}/{seed}")
    settings = draw_settings(random, connector)
    while settings.compacted != compacted or (
        in_order and (settings.failovers or settings.loses or settings.snapshots)
    ):
        settings = draw_settings(random, connector)
    return draw_delivery(random, settings, 3)


# ---------- the truth


def counted(rows: Iterator[tuple[str, Texts | None]]) -> Counter[tuple[str, str]]:
    return Counter((table, json.dumps(row, sort_keys=True)) for table, row in rows)


@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("compacted", [False, True])
def test_a_reader_comes_to_the_rows_of_the_source(
    connector: Connector, seed: int, *, compacted: bool
) -> None:
    delivery = delivered(connector, seed, compacted=compacted)
    reader = Reader(delivery)
    read = (
        (table, reader.shown(table, row))
        for table, rows in reader.tables.items()
        for row in rows.values()
    )
    expected = ((line["table"], line["row"]) for line in delivery.final)
    assert counted(read) == counted(expected)


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)
@given(debezium_deliveries())
def test_a_reader_comes_to_the_rows_of_any_source(delivery: Delivery) -> None:
    assert all(read.message.error is None for read in messages_of(delivery))
    rows = Counter(line["table"] for line in delivery.final)
    tables = {table: len(rows) for table, rows in Reader(delivery).tables.items()}
    assert {table: number for table, number in tables.items() if number} == rows


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_reader_comes_to_the_history_of_sql_server(seed: int) -> None:
    delivery = delivered("sqlserver", seed, in_order=True)
    reader = Reader(delivery)
    assert delivery.history == [
        {
            "seq": seq,
            "commit_lsn": read.message.commit_lsn,
            "change_lsn": read.message.lsn,
            "event_serial_no": read.message.event_serial_no,
            "op": read.message.op,
            "table": read.table,
            "before": reader.shown(read.table, before),
            "after": reader.shown(read.table, after),
        }
        for seq, (read, before, after) in enumerate(reader.changes, 1)
    ]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_reader_comes_to_the_history_of_postgresql(seed: int) -> None:
    delivery = delivered("postgresql", seed, in_order=True)
    reader = Reader(delivery)
    expected = [
        (line["xid"], line["table"], op, after)
        for line in delivery.history[delivery.snapshot_seq :]
        for op, after in split(line)
    ]
    # The two of a changed key have one position, and maybe two partitions.
    changes = sorted(
        reader.changes,
        key=lambda change: (change.read.place[0], change.read.message.op != "d"),
    )
    assert expected == [
        (
            transaction_of(read.message),
            read.table,
            read.message.op,
            reader.shown(read.table, after),
        )
        for read, _, after in changes
    ]


def split(line: Line) -> list[tuple[str, Line | None]]:
    """Return what Debezium makes of a change: of a key that changed, two events."""
    before, after = line["before"], line["after"]
    is_move = line["op"] == "u" and line["table"] != ENTRIES
    if is_move and any(before[name] != after[name] for name in KEY_COLUMNS):
        return [("d", None), ("c", after)]
    return [(line["op"], after)]


# ---------- as the recorded messages


def shape(document: object) -> object:
    """Return the names of an object in their order, and those within."""
    if not isinstance(document, dict):
        return type(document).__name__ if document is not None else None
    return [(name, shape(value)) for name, value in document.items()]


def frame(text: str) -> tuple[str, object]:
    """Return the kind of a value, and all that does not depend on the table."""
    value = json.loads(text)
    schema, payload = value["schema"], value["payload"]
    if "op" not in payload:
        names = list(payload)
        return f"{names} {payload.get('status')}", (schema, names)
    fields = [
        [field.pop("fields"), field.pop("name"), field]
        if field["field"] in {"before", "after"}
        else field
        for field in schema.pop("fields")
    ]
    kept = [field[-1] if isinstance(field, list) else field for field in fields]
    del schema["name"]
    source = payload["source"]
    kind = f"{payload['op']} {source['snapshot']} {payload['transaction'] is None}"
    told = [payload[name] is None for name in ("before", "after")]
    # A first commit before, and rows before, are there or not.
    source["sequence"] = source["sequence"] and "[]"
    if payload["op"] == "u":
        told = told[1:]
    return kind, (schema, kept, list(payload), shape(source), told)


@pytest.mark.parametrize("connector", CONNECTORS)
def test_fields_and_their_order_are_those_of_recorded_messages(
    connector: Connector,
) -> None:
    recorded: dict[str, object] = {}
    for name in RECORDED[connector]:
        with gzip.open(GOLDEN / name / "messages.ndjson.gz", "rt") as lines:
            values = [json.loads(line)["value"] for line in lines]
        recorded |= dict(frame(value) for value in values if value)
    drawn: dict[str, object] = {}
    for seed in range(SEEDS):
        for line in delivered(connector, seed).lines(has_schemas=True):
            if line["value"] is not None:
                kind, found = frame(line["value"])
                assert drawn.setdefault(kind, found) == found
    common = recorded.keys() & drawn.keys()
    assert {kind[0] for kind in common} >= set("rcud")
    assert {kind: drawn[kind] for kind in common} == {
        kind: recorded[kind] for kind in common
    }


@pytest.mark.parametrize("connector", CONNECTORS)
def test_messages_without_schemas_are_the_payloads(connector: Connector) -> None:
    delivery = delivered(connector, 1)
    pairs = zip(
        delivery.lines(has_schemas=True),
        delivery.lines(has_schemas=False),
        strict=True,
    )
    for with_schema, without in pairs:
        for part in ("key", "value"):
            if with_schema[part] is not None:
                payload = json.loads(with_schema[part])["payload"]
                assert json.loads(without[part]) == payload
            assert (with_schema[part] is None) == (without[part] is None)


# ---------- what occurs


@dataclass
class Seen:
    """What there is in a delivery."""

    delivery: Delivery

    def names(self) -> Iterator[str]:
        reads = messages_of(self.delivery)
        yield from self._kinds(reads)
        yield from self._order(reads)
        reader = Reader(self.delivery)
        if reader.ended:
            yield "rows that only an interrupted snapshot had"
        rows = [tuple(sorted(row.items())) for row in reader.tables[ENTRIES].values()]
        if len(set(map(str, rows))) < len(rows):
            yield "equal rows"
        passes = {read.place[0]: read for read in reads if read.is_read}
        if len({sequence[:50] for sequence in passes}) > 1:
            yield "several snapshots"
        columns = (column for read in reads for column in read.columns().values())
        if any(column.default is not None for column in columns):
            yield "default"

    def _kinds(self, reads: list[Read]) -> Iterator[str]:
        for message, line in reads:
            yield message.event_kind
            if message.event_kind in {"ddl", "transaction"}:
                yield f"{message.event_type}"
            if message.event_kind == "row":
                yield f"{message.op} {message.snapshot or ''}".strip()
                yield f"{message.op} {'with' if message.before else 'without'} before"
                yield "no key" if message.key is None else "key"
            if message.unavailable_columns:
                yield "placeholder"
            if message.source_table == "dbz_signal":
                yield "signal"
            for name, _ in line["headers"]:
                yield name
            if message.connector == "postgresql" and message.op in {"c", "u", "d", "t"}:
                yield "commit before" if message.commit_lsn else "no commit before"

    def _order(self, reads: list[Read]) -> Iterator[str]:
        copies: dict[tuple[object, ...], set[Any]] = defaultdict(set)
        for read in reads:
            if read.message.event_kind in {"row", "truncate"} and not read.is_read:
                copies[read.identity].add((read.place[0], read.message.ts_ms))
        for found in copies.values():
            if len(found) > 1:
                yield "sent again"
            if len({sequence for sequence, _ in found}) > 1:
                yield "sent again at another place"
        changes = [read for read in reads if read.is_change]
        if any(two.is_of_another_server(one) for one, two in pairwise(changes)):
            yield "another server"
        by_place = sorted(
            (read for read in reads if read.message.op in {"c", "u", "d"}),
            key=lambda read: read.place,
        )
        for one, other in pairwise(by_place):
            if (one.message.lsn or "").rjust(30) > (other.message.lsn or "").rjust(30):
                yield "LSN goes back"
            if (one.message.binlog_pos or 0) > (other.message.binlog_pos or 0):
                yield "another binlog file"
        for partition in range(PARTITIONS):
            if any(read.line["partition"] == partition for read in reads):
                yield f"partition {partition}"


EVERYWHERE: Final = {
    "row",
    "tombstone",
    "heartbeat",
    "transaction",
    "BEGIN",
    "END",
    "c",
    "u",
    "d",
    "r first",
    "r true",
    "r first_in_data_collection",
    "r last_in_data_collection",
    "r last",
    "r incremental",
    "signal",
    "no key",
    "key",
    "u with before",
    "d with before",
    "equal rows",
    "several snapshots",
    "rows that only an interrupted snapshot had",
    "sent again",
    "another server",
    "partition 0",
    "partition 1",
    "partition 2",
}
OWN: Final[dict[Connector, set[str]]] = {
    "sqlserver": {"LSN goes back"},
    "postgresql": {
        "truncate",
        "default",
        "u without before",
        "placeholder",
        "commit before",
        "no commit before",
        "sent again at another place",
        "LSN goes back",
        "__debezium.newkey",
        "__debezium.oldkey",
    },
    "mariadb": {
        "truncate",
        "default",
        "ddl",
        "CREATE",
        "ALTER",
        "another binlog file",
        "__debezium.newkey",
        "__debezium.oldkey",
    },
}


@pytest.mark.parametrize("connector", CONNECTORS)
def test_all_that_real_streams_have_occurs(connector: Connector) -> None:
    names: set[str] = set()
    for seed in range(SEEDS):
        names.update(Seen(delivered(connector, seed)).names())
    assert (EVERYWHERE | OWN[connector]) - names == set()
    if connector == "sqlserver":
        assert names & {"truncate", "default", "u without before"} == set()


@pytest.mark.parametrize("connector", CONNECTORS)
def test_each_delete_has_its_tombstone_unless_switched_off(
    connector: Connector,
) -> None:
    for seed in range(SEEDS):
        delivery = delivered(connector, seed)
        reads = messages_of(delivery)
        deletes = {
            (read.line["topic"], read.message.key)
            for read in reads
            if read.message.op == "d" and read.message.key is not None
        }
        tombstones = {
            (read.line["topic"], read.message.key)
            for read in reads
            if read.message.event_kind == "tombstone"
        }
        expected = deletes if delivery.settings.has_tombstones else set()
        assert tombstones == expected


@pytest.mark.parametrize("connector", ["sqlserver", "postgresql"])
def test_the_lsn_of_one_row_never_goes_back(connector: Connector) -> None:
    for seed in range(SEEDS):
        last: dict[tuple[str, str], str] = {}
        for read, _, _ in Reader(delivered(connector, seed, in_order=True)).changes:
            if read.message.key is not None:
                lsn = str(read.message.lsn).rjust(30)
                assert last.setdefault((read.table, read.message.key), lsn) <= lsn
                last[read.table, read.message.key] = lsn


# ---------- files


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32))
def test_one_seed_gives_one_delivery(seed: int) -> None:
    deliveries = []
    for _ in range(2):
        random = seeded(seed)
        deliveries.append(draw_delivery(random, draw_settings(random), 2))
    first, second = deliveries
    assert first.records == second.records
    assert first.final == second.final
    assert first.history == second.history


@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize("has_schemas", [True, False])
def test_a_corpus_has_the_files_of_a_recording(
    tmp_path: Path, connector: Connector, *, has_schemas: bool
) -> None:
    chosen = Settings(connector, has_schemas=has_schemas)
    delivery = draw_delivery(seeded(5), chosen, 3)
    name = write_corpus(tmp_path, delivery)
    assert name == f"messages.schemas_{str(has_schemas).lower()}"
    names = {path.name for path in tmp_path.iterdir()}
    assert names - {"expected_history.ndjson"} == {
        f"{name}.ndjson",
        "messages.schemas_true.ndjson",
        "expected_final.ndjson",
        "manifest.json",
    }
    assert ("expected_history.ndjson" in names) == (connector != "mariadb")
    offsets: Counter[tuple[str, int]] = Counter()
    for text in (tmp_path / f"{name}.ndjson").read_bytes().splitlines():
        line = json.loads(text)
        place = line["topic"], line["partition"]
        assert line["offset"] == offsets[place]
        assert ("schema" in json.loads(line["key"] or "{}")) <= has_schemas
        offsets[place] += 1
    assert offsets.total() == len(delivery.records)
