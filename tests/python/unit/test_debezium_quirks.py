"""What Debezium's connectors do otherwise than one would think, and what comes of it.

The messages are recorded ones, from `tests/golden` where they lie there; else a cell or
two is copied into an envelope. What a message has wrong stays as it was sent, and what it
does not hold is not guessed.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pytest
from debezium_corpus import MARIADB, POSTGRESQL, SQL_SERVER, field
from simple_messages import encode

from changefold.connect.declared import table_name
from changefold.connect.unavailable import UNAVAILABLE
from changefold.protocols.debezium import DebeziumMessage, decode_debezium
from changefold.schemas.fold import fold_schemas
from changefold.schemas.observed import SeenSchema

if TYPE_CHECKING:
    from changefold.schemas.model import TableVersion

Row = dict[str, Any]
Texts = dict[str, str | None]

GOLDEN: Final = Path(__file__).parents[2] / "golden"
MARIADB_SHOP: Final = "debezium/mariadb_shop"
MARIADB_TYPES: Final = "debezium/mariadb_types"
MARIADB_STRINGS: Final = "debezium/mariadb_types_string_modes"
POSTGRESQL_SHOP: Final = "debezium/postgresql_shop"
POSTGRESQL_REPLAYS: Final = "debezium/postgresql_replays"
POSTGRESQL_INTERRUPTED: Final = "connectors/postgresql_interrupted"
POSTGRESQL_TYPES: Final = "debezium/postgresql_types"
SQL_SERVER_SHOP: Final = "debezium/sqlserver_shop_synthetic"
SQL_SERVER_TYPES: Final = "debezium/sqlserver_types_synthetic"

ON_MARIADB: Final = MARIADB | {
    "ts_ms": 1795263713000,
    "snapshot": "false",
    "table": "orders",
    "gtid": "0-223344-1412",
    "file": "mysql-bin.000001",
    "pos": 7757001,
    "row": 0,
}
ON_POSTGRESQL: Final = POSTGRESQL | {
    "ts_ms": 1795264077480,
    "snapshot": "false",
    "table": "audit_log",
    "sequence": '["296623552","296625592"]',
    "txId": 16151,
    "lsn": 296625592,
}
ON_SQL_SERVER: Final = SQL_SERVER | {
    "ts_ms": 1742000005500,
    "snapshot": "false",
    "table": "audit_log",
    "change_lsn": "00000028:00000371:0004",
    "commit_lsn": "00000028:00000391:0006",
    "event_serial_no": 1,
}

KAFKA: Final = "org.apache.kafka.connect.data"
DATA: Final = "io.debezium.data"
TIME: Final = "io.debezium.time"


class Record(NamedTuple):
    """A recorded message.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
        headers: Its headers.
        payload: What its value says, without the schema.
        message: What the decoder says.
    """

    topic: str
    partition: int
    offset: int
    headers: dict[str, str]
    payload: Any
    message: DebeziumMessage

    @property
    def place(self) -> str:
        return str(self.message.change_sequence)


def octets(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


@cache
def recorded(recording: str) -> tuple[Record, ...]:
    """Return all messages of a recording, in the order in which they were sent."""
    (path,) = (GOLDEN / recording).glob("messages*.ndjson.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return tuple(
        Record(
            line["topic"],
            line["partition"],
            line["offset"],
            dict(line["headers"]),
            None if line["value"] is None else json.loads(line["value"])["payload"],
            decode_debezium(octets(line["key"]), octets(line["value"])),
        )
        for line in lines
    )


def changes(recording: str, table: str | None = None) -> list[Record]:
    """Return what happened to rows, in the order in which it was sent."""
    return [
        record
        for record in recorded(recording)
        if record.message.event_kind in {"row", "truncate"}
        and table in {None, record.message.source_table}
    ]


def images(recording: str, table: str, id_: int) -> list[tuple[str, Texts]]:
    """Return the rows of a key, each with ``before`` or the `op` of its change."""
    found: list[tuple[str, Texts]] = []
    for record in changes(recording, table):
        message = record.message
        sides = (("before", message.before), (str(message.op), message.after))
        rows = ((side, json.loads(text)) for side, text in sides if text is not None)
        found += (pair for pair in rows if pair[1]["id"] == str(id_))
    return found


def image(recording: str, table: str, id_: int, side: str) -> Texts:
    """Return the first row of a key that stands on this side."""
    return next(row for name, row in images(recording, table, id_) if name == side)


def types_of(recording: str, table: str) -> dict[str, str]:
    """Return the types of the first message of a table."""
    types: dict[str, str] = json.loads(
        str(changes(recording, table)[0].message.column_types)
    )
    return types


def seen(recording: str, table: str) -> list[SeenSchema]:
    """Return what the rows of a table tell of its columns."""
    places: dict[str, list[str]] = defaultdict(list)
    for record in changes(recording, table):
        if record.message.column_types is not None:
            places[record.message.column_types].append(record.place)
    return [
        SeenSchema("db", table, min(found), max(found), json.loads(types), ("id",))
        for types, found in places.items()
    ]


def column_types(version: TableVersion) -> dict[str, str]:
    return {column.name: column.type for column in version.columns}


def change(source: Row, op: str = "c", **parts: Any) -> DebeziumMessage:
    """Decode a change without a schema and without a key."""
    payload = {"before": None, "after": None, "source": source, "op": op, **parts}
    return decode_debezium(None, encode(payload))


def cells(source: Row, columns: dict[str, Row], row: Row) -> DebeziumMessage:
    """Decode a row with its schema, and without one but with its types declared."""
    fields = [schema | {"field": name} for name, schema in columns.items()]
    sides = [
        {"type": "struct", "fields": fields, "optional": True, "field": side}
        for side in ("before", "after")
    ]
    payload = {"before": None, "after": row, "source": source, "op": "c"}
    schema = {"type": "struct", "fields": sides}
    message = decode_debezium(None, encode({"schema": schema, "payload": payload}))
    table = table_name(
        message.source_database, message.source_schema, message.source_table
    )
    types = json.dumps({table: json.loads(str(message.column_types))})
    assert decode_debezium(None, encode(payload), types) == message
    return message


def cell(source: Row, schema: Row, wire: Any) -> str | None:
    """Return the text of a value."""
    texts: Texts = json.loads(str(cells(source, {"v": schema}, {"v": wire}).after))
    return texts["v"]


# ------------------------------------------------------- changes of every connector


@pytest.mark.parametrize("recording", [MARIADB_SHOP, POSTGRESQL_SHOP])
def test_an_updated_key_is_a_delete_a_tombstone_and_a_create_at_one_place(
    recording: str,
) -> None:
    by_topic = {(record.topic, record.offset): record for record in recorded(recording)}
    moves = 0
    for delete in changes(recording):
        create = by_topic.get((delete.topic, delete.offset + 2))
        if "__debezium.newkey" not in delete.headers or create is None:
            continue
        tombstone = by_topic[delete.topic, delete.offset + 1]
        kinds = [record.message.event_kind for record in (delete, tombstone, create)]
        assert kinds == ["row", "tombstone", "row"]
        assert (delete.message.op, create.message.op) == ("d", "c")
        assert delete.place == create.place
        assert delete.message.key == tombstone.message.key != create.message.key
        new_key = json.loads(delete.headers["__debezium.newkey"])
        assert new_key == {"id": create.payload["after"]["id"]}
        moves += 1
    assert moves >= 2


@pytest.mark.parametrize(
    ("recording", "id_"),
    [(MARIADB_SHOP, 1052), (POSTGRESQL_SHOP, 1056), (SQL_SERVER_SHOP, 1025)],
)
def test_a_key_deleted_and_inserted_in_one_transaction_has_two_places(
    recording: str, id_: int
) -> None:
    of_key = [
        record
        for record in changes(recording, "customers")
        if record.message.key == f'{{"id":"{id_}"}}'
    ]
    at = next(
        number
        for number, record in enumerate(of_key)
        if record.payload["after"] is None
    )
    delete, create = of_key[at : at + 2]
    assert (delete.message.op, create.message.op) == ("d", "c")
    assert delete.message.transaction_id == create.message.transaction_id
    assert delete.message.gtid == create.message.gtid
    assert delete.message.source_ts_ms == create.message.source_ts_ms
    assert delete.place < create.place


def test_the_order_across_partitions_is_in_the_place_alone() -> None:
    carts = changes(POSTGRESQL_REPLAYS, "cart_sessions")
    in_order = sorted(
        {(record.place, record.message.op, record.partition) for record in carts}
    )
    assert [(op, partition) for _, op, partition in in_order] == [
        ("t", 0),
        ("c", 2),
        ("d", 2),
        ("t", 1),
        ("t", 0),
        ("c", 1),
    ]


@pytest.mark.parametrize("recording", [MARIADB_SHOP, POSTGRESQL_SHOP])
def test_changes_at_one_time_of_the_source_have_places_of_their_own(
    recording: str,
) -> None:
    streamed = [
        (record.place, record.message.source_ts_ms or 0)
        for record in changes(recording)
        if not record.message.is_snapshot
    ]
    streamed.sort()
    times = [time for _, time in streamed]
    assert times == sorted(times)
    assert len(set(times)) < len({place for place, _ in streamed})
    if recording == MARIADB_SHOP:
        assert all(time % 1000 == 0 for time in times)


@pytest.mark.parametrize(
    "recording", [MARIADB_SHOP, POSTGRESQL_SHOP, POSTGRESQL_REPLAYS]
)
def test_what_lies_beside_the_topics_of_tables_has_no_row(recording: str) -> None:
    name = changes(recording)[0].message.source_name
    beside = {f"__debezium-heartbeat.{name}", f"{name}.transaction", str(name)}
    for record in recorded(recording):
        message = record.message
        has_row = message.before is not None or message.after is not None
        if record.topic in beside:
            assert message.event_kind in {"heartbeat", "transaction", "ddl"}
            assert not has_row
        else:
            assert message.event_kind in {"row", "truncate", "tombstone"}
            assert has_row == (message.event_kind == "row")


def test_a_record_of_the_signal_table_is_a_row_of_that_table() -> None:
    row = {
        "id": "sig-155630",
        "type": "execute-snapshot",
        "data": '{"data-collections": ["shop.orders"], "type": "incremental"}',
    }
    message = change(ON_MARIADB | {"table": "dbz_signal"}, after=row)
    assert (message.event_kind, message.source_table) == ("row", "dbz_signal")
    assert json.loads(str(message.after)) == row


# -------------------------------------------------------------- sent again, snapshots


def test_a_change_that_is_sent_again_differs_in_when_it_was_sent_alone() -> None:
    streamed = [
        record
        for record in changes(POSTGRESQL_REPLAYS)
        if not record.message.is_snapshot and record.message.key is not None
    ]
    copies = defaultdict(list)
    for record in streamed:
        copies[record.message.key, record.message.op, record.place].append(record)
    again = [found for found in copies.values() if len(found) > 1]
    assert len(again) >= 4
    for first, *others in again:
        for other in others:
            assert first.partition == other.partition
            assert first.offset < other.offset
            assert first.message.ts_ms != other.message.ts_ms
            assert first.message == msgspec.structs.replace(
                other.message, ts_ms=first.message.ts_ms
            )


@pytest.mark.parametrize(
    ("source", "at", "times"),
    [
        (
            ON_MARIADB | {"table": "audit_log", "pos": 10878259},
            1673184717508404,
            (1795263856269, 1795263858306),
        ),
        (ON_POSTGRESQL, "2023-11-15T06:44:48.430249Z", (1795264077497, 1795264080075)),
        (ON_SQL_SERVER, 1572890577723656, (1742000006230, 1742000036303)),
    ],
)
def test_a_copy_of_a_row_without_a_key_is_told_by_its_place(
    source: Row, at: Any, times: tuple[int, int]
) -> None:
    row = {"at": at, "actor": "c2", "action": "x", "detail": None}
    first, again = (change(source, after=row, ts_ms=ts_ms) for ts_ms in times)
    assert first.key is None
    assert first.after == again.after
    assert first.change_sequence == again.change_sequence
    later = {"pos": 10878260, "lsn": 296625593, "event_serial_no": 2}
    other = change(source | later, after=row, ts_ms=times[1])
    assert other.after == first.after
    assert str(other.change_sequence) > str(first.change_sequence)


@pytest.mark.parametrize("recording", [MARIADB_SHOP, POSTGRESQL_SHOP])
def test_equal_rows_without_a_key_in_one_snapshot_differ_in_their_offset_alone(
    recording: str,
) -> None:
    first, second = (
        record
        for record in changes(recording, "audit_log")
        if record.message.is_snapshot
    )
    same = {"ts_ms": None, "snapshot": None}
    assert msgspec.structs.replace(first.message, **same) == msgspec.structs.replace(
        second.message, **same
    )
    assert first.offset < second.offset


def test_a_snapshot_that_is_taken_again_has_a_place_of_its_own() -> None:
    read = [
        record
        for record in changes(POSTGRESQL_INTERRUPTED)
        if record.message.is_snapshot
    ]
    passes = {
        place: list(found)
        for place, found in groupby(read, lambda record: record.place)
    }
    first, second = passes.values()
    assert first[0].place < second[0].place
    kinds = [[record.message.snapshot for record in found] for found in (first, second)]
    assert [found[0] for found in kinds] == ["first", "first"]
    assert ["last" in found for found in kinds] == [False, True]
    keys = [
        {(record.message.source_table, record.message.key) for record in found}
        for found in (first, second)
    ]
    assert keys[0] & keys[1]


def test_a_row_deleted_while_a_snapshot_was_interrupted_has_no_event_but_its_read() -> (
    None
):
    every = changes(POSTGRESQL_INTERRUPTED)
    interrupted = every[0].place
    others = {
        (record.message.source_table, record.message.key)
        for record in every
        if record.place != interrupted
    }
    stale = [
        record
        for record in every
        if (record.message.source_table, record.message.key) not in others
    ]
    assert stale
    assert {record.message.op for record in stale} == {"r"}
    assert max(record.place for record in stale) < min(
        record.place for record in every if record.message.snapshot == "last"
    )


def test_rows_of_an_incremental_read_of_mariadb_share_the_place_of_a_change() -> None:
    at = {"gtid": "0-223344-1414", "pos": 7758182}
    read = ON_MARIADB | at | {"snapshot": "incremental", "ts_ms": 1795263713180}
    first, second = (change(read, "r", after={"id": id_}) for id_ in (50000, 50001))
    assert first.change_sequence == second.change_sequence
    # The offset decides between them and a change that is there too.
    assert (
        first.change_sequence
        == change(ON_MARIADB | at, after={"id": 1}).change_sequence
    )
    before = change(ON_MARIADB, after={"id": 50124}).change_sequence
    assert str(before) < str(first.change_sequence)


def test_a_key_that_two_snapshots_read_is_last_where_the_later_one_read_it() -> None:
    initial = ON_MARIADB | {"snapshot": "true", "gtid": None, "pos": 7585735}
    later = ON_MARIADB | {"snapshot": "incremental", "pos": 7758182}
    first, second = (
        change(source, "r", after={"id": 50000}) for source in (initial, later)
    )
    assert (first.is_snapshot, second.is_snapshot) == (True, True)
    between = change(ON_MARIADB, "u", after={"id": 50000})
    places = [str(message.change_sequence) for message in (first, between, second)]
    assert places == sorted(places)


# ---------------------------------------------------------------- columns over time


@pytest.mark.parametrize(
    ("recording", "table", "column", "default"),
    [
        (MARIADB_SHOP, "customers", "loyalty", "7"),
        (MARIADB_SHOP, "order_items", "discount", "0.50"),
        (POSTGRESQL_SHOP, "customers", "loyalty", "7"),
        (POSTGRESQL_SHOP, "order_items", "discount", "0.50"),
    ],
)
def test_a_column_added_with_a_default_gives_it_to_rows_without_an_event(
    recording: str, table: str, column: str, default: str
) -> None:
    versions = fold_schemas([], seen=seen(recording, table))
    (added,) = (
        made
        for version in versions
        for made in version.image_changes
        if made.kind == "added"
    )
    assert (added.to_name, added.value) == (column, default)


def test_a_column_added_without_a_default_gives_null_to_rows_without_an_event() -> None:
    first, *_, last = fold_schemas([], seen=seen(SQL_SERVER_SHOP, "customers"))
    assert column_types(last).keys() - column_types(first) == {"phone", "loyalty"}
    assert not any(column.original_default for column in last.columns)
    assert last.image_changes == ()


@pytest.mark.parametrize("recording", [MARIADB_SHOP, POSTGRESQL_SHOP])
def test_a_column_that_was_widened_has_its_new_type_with_the_next_row(
    recording: str,
) -> None:
    versions = fold_schemas([], seen=seen(recording, "cart_sessions"))
    assert [column_types(version)["id"] for version in versions] == [
        "connect.int32",
        "connect.int64",
    ]


@pytest.mark.parametrize(
    ("recording", "default"), [(MARIADB_TYPES, "x''y"), (POSTGRESQL_TYPES, "x")]
)
def test_a_default_with_a_quote_is_what_the_connector_read_of_it(
    recording: str, default: str
) -> None:
    assert types_of(recording, "defaults")["b"] == f"connect.string DEFAULT {default}"
    assert changes(recording, "defaults")[0].payload["after"]["b"] == "x'y"


@pytest.mark.parametrize("source", [ON_MARIADB, ON_POSTGRESQL])
@pytest.mark.parametrize(
    ("schema", "wire", "text"),
    [
        (field("int32") | {"default": 5}, 5, "5"),
        (field("string") | {"default": "x''y"}, "x''y", "x''y"),
        (
            field("bytes", f"{KAFKA}.Decimal", scale="2") | {"default": "fQ=="},
            "fQ==",
            "1.25",
        ),
        (field("int32", f"{TIME}.Date") | {"default": 18294}, 18294, "2020-02-02"),
    ],
)
def test_a_null_that_came_as_the_default_stays_the_default(
    source: Row, schema: Row, wire: Any, text: str
) -> None:
    assert cell(source, schema, wire) == text


@pytest.mark.parametrize("source", [ON_MARIADB, ON_POSTGRESQL])
def test_a_null_in_a_column_with_a_default_that_came_as_null_is_null(
    source: Row,
) -> None:
    assert cell(source, field("int32") | {"default": 5}, None) is None


# ------------------------------------------------------------------------- PostgreSQL


def test_changes_of_sessions_that_overlap_are_in_the_order_of_their_commits() -> None:
    streamed = [
        record.message
        for record in changes(POSTGRESQL_INTERRUPTED)
        if not record.message.is_snapshot
    ]

    def committed(message: DebeziumMessage) -> int:
        return message.source_ts_ms or 0

    by_place = sorted(streamed, key=lambda message: str(message.change_sequence))
    by_lsn = sorted(streamed, key=lambda message: int(str(message.lsn)))
    in_time = sorted(map(committed, streamed))
    assert [committed(message) for message in by_place] == in_time
    assert [committed(message) for message in by_lsn] != in_time


@pytest.mark.parametrize(
    ("table", "has_before"), [("orders", True), ("customers", False)]
)
def test_an_update_of_postgresql_has_a_row_before_by_replica_identity_full_alone(
    table: str, *, has_before: bool
) -> None:
    updates = [
        record.message
        for record in changes(POSTGRESQL_SHOP, table)
        if record.message.op == "u"
    ]
    assert updates
    assert {message.before is not None for message in updates} == {has_before}


def test_a_delete_of_postgresql_has_its_key_and_what_may_stand_for_null() -> None:
    before = image(POSTGRESQL_SHOP, "customers", 1056, "before")
    assert before == dict.fromkeys(before) | {
        "id": "1056",
        "email": "",
        "balance": "0.00",
        "is_active": "true",
        "created_at": "1970-01-01 00:00:00.000000Z",
    }
    (key,) = {
        record.message.key
        for record in changes(POSTGRESQL_SHOP, "customers")
        if record.message.op == "d" and '"1056"' in str(record.message.before)
    }
    assert key == '{"id":"1056"}'


def test_an_unchanged_long_value_of_any_type_is_unavailable() -> None:
    (update,) = (
        record
        for record in changes(POSTGRESQL_TYPES, "toasty")
        if record.message.op == "u"
    )
    long = {name: update.payload["after"][name] for name in ("big", "bigj")}
    assert set(long.values()) == {UNAVAILABLE}
    assert update.message.unavailable_columns == '["big","bigb","bigj","bigarr"]'
    assert update.message.after == '{"id":"1004","small":"5"}'


def test_an_unchanged_long_value_is_unavailable_under_the_new_key() -> None:
    (create,) = (
        record
        for record in changes(POSTGRESQL_REPLAYS, "products")
        if "__debezium.oldkey" in record.headers
    )
    assert create.message.op == "c"
    assert create.message.unavailable_columns == '["spec"]'
    assert "spec" not in json.loads(str(create.message.after))
    old_key = json.loads(create.headers["__debezium.oldkey"])
    assert json.loads(str(create.message.key)) != old_key


def test_a_text_that_is_the_placeholder_is_taken_for_it() -> None:
    columns = {"id": field("int32"), "big": field("string"), "small": field("int32")}
    row = {"id": 1005, "big": UNAVAILABLE, "small": 5}
    message = cells(ON_POSTGRESQL, columns, row)
    assert message.unavailable_columns == '["big"]'
    assert message.after == '{"id":"1005","small":"5"}'


def test_unchanged_long_bytes_in_base64_mode_are_the_null_that_was_sent() -> None:
    columns = {"id": field("int32"), "big": field("string"), "bigb": field("string")}
    row = {"id": 1005, "big": UNAVAILABLE, "bigb": None}
    message = cells(ON_POSTGRESQL, columns, row)
    assert message.unavailable_columns == '["big"]'
    assert message.after == '{"id":"1005","bigb":null}'


def test_a_timestamp_before_1582_is_by_the_calendar_of_its_sender() -> None:
    read, streamed = (
        image(POSTGRESQL_TYPES, "times", 1001, side)["ts"] for side in ("r", "before")
    )
    assert read == "0000-12-30 00:00:00.000000"
    assert streamed == "0001-01-01 00:00:00.000000"


@pytest.mark.parametrize(
    ("name", "wire", "text"),
    [
        ("Date", -622191234, "infinity"),
        ("Date", -2147472692, "infinity"),
        ("Date", -625821272, "-infinity"),
        ("Date", -2147472691, "-infinity"),
        ("MicroTimestamp", 9223372036825200000, "infinity"),
        ("MicroTimestamp", -9223372036832400000, "-infinity"),
        ("Timestamp", 9223372036825200, "infinity"),
        ("ZonedTimestamp", "infinity", "infinity"),
        ("ZonedTimestamp", "-infinity", "-infinity"),
    ],
)
def test_an_infinite_time_of_postgresql_is_the_word(
    name: str, wire: Any, text: str
) -> None:
    types = {"Date": "int32", "ZonedTimestamp": "string"}
    schema = field(types.get(name, "int64"), f"{TIME}.{name}")
    assert cell(ON_POSTGRESQL, schema, wire) == text


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ({"scale": 0, "value": "AA=="}, "0"),
        (
            {"scale": 9, "value": "XODppWAV/sWq36MorjmBFQ=="},
            "123456789012345678901234567890.123456789",
        ),
        ({"scale": 20, "value": "AQ=="}, "0.00000000000000000001"),
    ],
)
def test_a_number_without_precision_has_the_scale_of_its_value(
    wire: Row, text: str
) -> None:
    parts = [{"type": "int32", "field": "scale"}, {"type": "bytes", "field": "value"}]
    schema = field("struct", f"{DATA}.VariableScaleDecimal") | {"fields": parts}
    assert cell(ON_POSTGRESQL, schema, wire) == text


@pytest.mark.parametrize(
    ("schema", "wire"),
    [
        (
            field("struct", f"{DATA}.VariableScaleDecimal")
            | {
                "fields": [
                    {"type": "int32", "field": "scale"},
                    {"type": "bytes", "field": "value"},
                ]
            },
            None,
        ),
        (field("string"), "NAN"),
    ],
)
def test_a_nan_of_numeric_stays_null_or_the_word_that_was_sent(
    schema: Row, wire: str | None
) -> None:
    assert cell(ON_POSTGRESQL, schema, wire) == wire


@pytest.mark.parametrize(
    ("id_", "digits"), [(1001, "100"), (1002, "-12300"), (1003, "9999900")]
)
def test_a_number_of_negative_scale_has_the_digits_of_the_source(
    id_: int, digits: str
) -> None:
    assert types_of(POSTGRESQL_TYPES, "decs_odd")["nneg"] == "connect.Decimal(5,2046)"
    assert image(POSTGRESQL_TYPES, "decs_odd", id_, "r")["nneg"] == digits


def test_money_that_a_snapshot_rounded_stays_rounded() -> None:
    read, streamed = (
        image(POSTGRESQL_TYPES, "decs", 1001, side)["m"] for side in ("r", "before")
    )
    assert read == "-92233720368547760.00"
    assert streamed == "-92233720368547758.08"


@pytest.mark.parametrize(
    ("id_", "time"), [(1001, "11:59:59.999999Z"), (1002, "06:30:00.000000Z")]
)
def test_a_time_with_a_zone_is_in_utc(id_: int, time: str) -> None:
    assert image(POSTGRESQL_TYPES, "times", id_, "r")["tz"] == time


@pytest.mark.parametrize(
    "wire",
    [-2629800000000, 360000000000, 9223372036854775807],
    ids=["-1 month", "100 hours", "178000000 years"],
)
def test_an_interval_is_the_microseconds_that_were_sent(wire: int) -> None:
    schema = field("int64", f"{TIME}.MicroDuration")
    assert cell(ON_POSTGRESQL, schema, wire) == str(wire)


@pytest.mark.parametrize(
    ("length", "wire", "text"),
    [
        (12, "AQg=", "100000000001"),
        (12, "AQ==", "000000000001"),
        (12, "", "000000000000"),
        (20, "Cg==", "00000000000000001010"),
        (20, "", "00000000000000000000"),
    ],
)
def test_bits_are_little_endian_and_as_many_as_the_schema_says(
    length: int, wire: str, text: str
) -> None:
    schema = field("bytes", f"{DATA}.Bits", length=str(length))
    assert cell(ON_POSTGRESQL, schema, wire) == text


def test_a_generated_column_of_postgresql_is_in_what_was_read_and_in_no_change() -> (
    None
):
    read = types_of(POSTGRESQL_TYPES, "defaults")
    streamed = {name: type_ for name, type_ in read.items() if name != "g"}
    at = [f"{number:020}" for number in range(4)]
    versions = fold_schemas(
        [],
        seen=[
            SeenSchema("db", "defaults", at[0], at[1], read, ("id",)),
            SeenSchema(
                "db",
                "defaults",
                at[2],
                at[3],
                streamed,
                ("id",),
                leaves_out_generated=True,
            ),
        ],
    )
    assert image(POSTGRESQL_TYPES, "defaults", 1, "r")["g"] == "10"
    assert all("g" in column_types(version) for version in versions)


def test_a_column_of_type_name_is_what_was_read_and_null_in_a_change() -> None:
    assert image(POSTGRESQL_TYPES, "texts", 1001, "r")["nm"] == "n2"
    message = cells(ON_POSTGRESQL, {"nm": field("string")}, {"nm": None})
    assert (message.after, message.unavailable_columns) == ('{"nm":null}', None)


def test_an_array_of_an_enum_is_its_members_or_null() -> None:
    members = [
        image(POSTGRESQL_TYPES, "arrs", id_, side)["ena"]
        for id_, side in ((1003, "r"), (2001, "c"))
    ]
    # The source has {sad,NULL,"happy day"} in the second.
    assert members == ['["ok"]', None]


@pytest.mark.parametrize("type_", ["float", "double"])
@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_finite_number_is_the_word(type_: str, word: str) -> None:
    assert cell(ON_POSTGRESQL, field(type_), word) == word


def test_a_number_beyond_the_precision_of_a_double_is_exact() -> None:
    read = image(POSTGRESQL_TYPES, "ints", 1003, "r")
    assert read["b"] == "9007199254740993"
    line = encode(
        {"before": None, "source": ON_POSTGRESQL, "op": "c", "after": {"n": 0}}
    )
    number = "123456789012345678901234567890.123456789"
    exact = line.replace(b'{"n":0}', b'{"n":%b}' % number.encode())
    assert json.loads(str(decode_debezium(None, exact).after)) == {"n": number}


# ---------------------------------------------------------------------------- MariaDB


def test_a_unique_key_is_the_key_of_a_table_without_a_primary_one() -> None:
    messages = [record.message for record in changes(MARIADB_TYPES, "uniq_only")]
    assert {message.primary_key for message in messages} == {'["a","b"]'}
    assert messages[0].key == '{"a":"1000","b":"b"}'


def test_a_large_unsigned_number_stays_the_negative_one_that_was_sent() -> None:
    assert types_of(MARIADB_TYPES, "ints")["biu"] == "connect.int64"
    assert image(MARIADB_TYPES, "ints", 1002, "r")["biu"] == str(-(2**63))
    assert image(MARIADB_TYPES, "ints", 2001, "c")["biu"] == "-1"
    keys = {
        json.loads(str(record.message.key))["k5"]
        for record in changes(MARIADB_TYPES, "keyed")
    }
    assert keys == {"-1003", "-1007", "-1008"}


@pytest.mark.parametrize("wire", [-1, -(2**63), -1003])
def test_a_large_unsigned_number_that_is_declared_so_is_itself(wire: int) -> None:
    row = {"k5": wire}
    payload = {"before": None, "after": row, "source": ON_MARIADB, "op": "c"}
    types = json.dumps({"shop.orders": {"k5": "connect.uint64"}})
    message = decode_debezium(encode(row), encode(payload), types)
    assert message.after == message.key == f'{{"k5":"{wire % 2**64}"}}'


def test_a_large_unsigned_number_in_precise_mode_is_itself_in_keys_too() -> None:
    assert types_of(MARIADB_STRINGS, "keyed")["k5"] == "connect.Decimal(20,0) NOT NULL"
    keys = {
        json.loads(str(record.message.key))["k5"]
        for record in changes(MARIADB_STRINGS, "keyed")
    }
    assert keys == {"18446744073709550609", "18446744073709550608"}


def test_a_float_that_a_snapshot_rounded_stays_rounded() -> None:
    weights = [
        json.loads(text)["weight"]
        for record in changes(MARIADB_SHOP, "products")
        if record.message.key == '{"sku":"SKU-00026"}'
        for text in (record.message.before, record.message.after)
        if text is not None
    ]
    assert weights[:2] == ["11.2977", "11.297671"]
    assert set(weights[1:]) == {"11.297671"}


def test_a_member_with_a_comma_has_the_backslash_that_its_sender_added() -> None:
    read, streamed = (
        image(MARIADB_TYPES, "texts", 1002, side)["e"] for side in ("r", "u")
    )
    assert (read, streamed) == ("d,e", "d\\,e")


def test_a_uuid_that_was_sent_shifted_stays_shifted() -> None:
    shifted = "0000123e-4567-e89b-12d3-a45642665544"
    assert cell(ON_MARIADB, field("string", f"{DATA}.Uuid"), shifted) == shifted


@pytest.mark.parametrize(
    ("column", "time"),
    [
        ("t", "-838:59:59.000000"),
        ("t3", "-00:00:00.001000"),
        ("t6", "-12:34:56.654321"),
    ],
)
def test_a_time_of_mariadb_may_be_negative_or_longer_than_a_day(
    column: str, time: str
) -> None:
    assert image(MARIADB_TYPES, "times", 2002, "c")[column] == time
    assert image(MARIADB_TYPES, "times", 1001, "r")["t"] == "838:59:59.000000"


@pytest.mark.parametrize("column", ["t", "t3", "t6"])
def test_a_time_beyond_a_day_is_null_where_the_connector_writes_texts(
    column: str,
) -> None:
    assert types_of(MARIADB_STRINGS, "times")[column] == "connect.IsoTime"
    assert image(MARIADB_STRINGS, "times", 2002, "c")[column] is None


@pytest.mark.parametrize(
    ("type_", "name", "wire", "text"),
    [
        ("int32", "Date", 11323, "2001-01-01"),
        ("int64", "Timestamp", 978307200000, "2001-01-01 00:00:00.000000"),
        ("string", "IsoDate", "2001-01-01Z", "2001-01-01"),
    ],
)
def test_a_year_below_100_stays_the_one_that_was_sent(
    type_: str, name: str, wire: Any, text: str
) -> None:
    assert cell(ON_MARIADB, field(type_, f"{TIME}.{name}"), wire) == text


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        (-12218860800000, "1582-10-20 00:00:00.000000"),
        (-12219724800000, "1582-10-10 00:00:00.000000"),
    ],
    ids=["read", "streamed"],
)
def test_a_datetime_before_1582_is_by_the_calendar_of_its_sender(
    wire: int, text: str
) -> None:
    assert cell(ON_MARIADB, field("int64", f"{TIME}.Timestamp"), wire) == text


def test_a_zero_date_stays_null_or_the_first_day_of_1970() -> None:
    for recording in (MARIADB_TYPES, MARIADB_STRINGS):
        row = image(recording, "zeros", 2001, "c")
        assert (row["d"], row["dt"], row["dn"]) == (None, None, "1970-01-01")


def test_a_zero_timestamp_stays_the_first_second_of_1970() -> None:
    schema = field("string", f"{TIME}.ZonedTimestamp")
    wire = "1970-01-01T00:00:00Z"
    assert cell(ON_MARIADB, schema, wire) == "1970-01-01 00:00:00.000000Z"


def test_generated_columns_of_mariadb_are_in_every_row() -> None:
    rows = [row for id_ in (3, 11) for _, row in images(MARIADB_TYPES, "defaults", id_)]
    assert len(rows) >= 4
    for row in rows:
        number = int(str(row["a"]))
        assert (row["g"], row["v"]) == (str(number * 2), str(number * 3))


def test_a_single_bit_of_mariadb_is_a_boolean_and_more_are_little_endian() -> None:
    types = types_of(MARIADB_TYPES, "bins")
    assert [types[name] for name in ("b1", "b12", "b64")] == [
        "connect.boolean",
        "connect.Bits(12)",
        "connect.Bits(64)",
    ]
    row = image(MARIADB_TYPES, "bins", 2002, "c")
    assert (row["b1"], row["b12"]) == ("false", "100000000001")
    assert row["b64"] == "1" + "0" * 63


def test_bytes_that_the_connector_writes_in_hex_are_the_text_that_was_sent() -> None:
    assert types_of(MARIADB_STRINGS, "bins")["b"] == "connect.string"
    in_hex = image(MARIADB_STRINGS, "bins", 2002, "c")
    in_bytes = image(MARIADB_TYPES, "bins", 2002, "c")
    for column in ("b", "vb", "tb", "bl", "lb"):
        sent = str(in_bytes[column]).encode("latin-1")
        assert in_hex[column] == sent.hex()


def test_a_boolean_of_mariadb_is_a_small_number() -> None:
    assert types_of(MARIADB_TYPES, "ints")["bo"] == "connect.int16"
    assert image(MARIADB_TYPES, "ints", 1002, "r")["bo"] == "127"


def test_json_of_mariadb_is_a_text_as_it_was_written() -> None:
    assert types_of(MARIADB_TYPES, "texts")["j"] == "connect.string"
    written = image(MARIADB_TYPES, "texts", 1004, "r")["j"]
    assert (written, image(MARIADB_TYPES, "texts", 1003, "r")["j"]) == ("null", None)


# ------------------------------------------------------------------------- SQL Server


def test_a_row_of_a_snapshot_of_sql_server_has_the_lsn_of_the_snapshot_alone() -> None:
    read = [
        record.message
        for record in changes(SQL_SERVER_SHOP)
        if record.message.is_snapshot
    ]
    assert {message.op for message in read} == {"r"}
    assert len({message.commit_lsn for message in read}) == 1
    assert {(message.lsn, message.event_serial_no) for message in read} == {
        (None, None)
    }
    assert {message.snapshot for message in read} == {"first", "true"}


def test_an_event_of_sql_server_has_number_2_if_it_ends_an_update() -> None:
    numbers = {
        (record.message.op, record.message.event_serial_no)
        for record in changes(SQL_SERVER_SHOP)
        if not record.message.is_snapshot
    }
    # A create with number 2 is that of a changed key.
    assert numbers == {("c", 1), ("c", 2), ("d", 1), ("u", 2)}


def test_a_changed_key_of_sql_server_has_no_headers_that_tell_it() -> None:
    names = {name for record in recorded(SQL_SERVER_SHOP) for name in record.headers}
    assert not names & {"__debezium.newkey", "__debezium.oldkey"}


def test_a_table_that_sql_server_emptied_has_a_delete_for_each_row() -> None:
    assert "t" not in {record.message.op for record in changes(SQL_SERVER_SHOP)}
    deletes = [
        record
        for record in changes(SQL_SERVER_SHOP, "coupons")
        if record.message.op == "d"
    ]
    assert len({record.message.commit_lsn for record in deletes}) == 1
    assert len({record.place for record in deletes}) == len(deletes) == 3
    tombstones = [
        record.message.key
        for record in recorded(SQL_SERVER_SHOP)
        if record.message.event_kind == "tombstone"
    ]
    assert {record.message.key for record in deletes} <= set(tombstones)


@pytest.mark.parametrize("recording", [MARIADB_SHOP, POSTGRESQL_SHOP, SQL_SERVER_SHOP])
def test_a_table_without_a_key_has_neither_keys_nor_tombstones(recording: str) -> None:
    log = [record for record in recorded(recording) if "audit_log" in record.topic]
    assert {record.message.event_kind for record in log} == {"row"}
    assert {record.message.key for record in log} == {None}


def test_a_topic_of_sql_server_is_named_by_database_schema_and_table() -> None:
    for record in changes(SQL_SERVER_SHOP):
        message = record.message
        table = table_name(
            message.source_database, message.source_schema, message.source_table
        )
        assert record.topic == f"{message.source_name}.{table}"


@pytest.mark.parametrize(
    ("column", "type_", "text"),
    [
        ("c_bit", "boolean", "true"),
        ("c_tinyint", "int16", "255"),
        ("c_smallint", "int16", "-32768"),
        ("c_int", "int32", "-2147483648"),
        ("c_bigint", "int64", "-9223372036854775808"),
        ("c_real", "float", "0.5"),
        ("c_float", "double", "0.1"),
        ("c_decimal_38_18", "Decimal(38,18)", "0.000000000000000001"),
        ("c_numeric_18_2", "Decimal(18,2)", "-0.01"),
        ("c_money", "Decimal(19,4)", "922337203685477.5807"),
        ("c_char", "string", "          "),
        ("c_xml", "Xml", '<r><b x="1"/>é</r>'),
        ("c_uniqueidentifier", "string", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"),
        ("c_varbinary", "bytes", "\x00"),
        ("c_rowversion", "bytes", "\x00\x00\x00\x00\x00\x00\x07Ñ"),
        ("c_date", "Date", "0001-01-01"),
        ("c_time_3", "Time", "23:59:59.999000"),
        ("c_time_6", "MicroTime", "23:59:59.999999"),
        ("c_datetime2_3", "Timestamp", "1969-12-31 23:59:59.999000"),
        ("c_datetime2_6", "MicroTimestamp", "1969-12-31 23:59:59.999999"),
    ],
)
def test_a_type_of_sql_server_is_one_of_the_message_and_loses_nothing(
    column: str, type_: str, text: str
) -> None:
    assert types_of(SQL_SERVER_TYPES, "all_types")[column] == f"connect.{type_}"
    assert image(SQL_SERVER_TYPES, "all_types", 1001, "r")[column] == text


@pytest.mark.parametrize(
    ("column", "type_", "text"),
    [
        ("c_time_7", "NanoTime", "23:59:59.999999900"),
        ("c_datetime2_7", "NanoTimestamp", "2262-04-11 23:47:16.854775800"),
    ],
)
def test_a_time_of_seven_digits_keeps_them(column: str, type_: str, text: str) -> None:
    assert types_of(SQL_SERVER_TYPES, "all_types")[column] == f"connect.{type_}"
    assert image(SQL_SERVER_TYPES, "all_types", 1001, "r")[column] == text


@pytest.mark.parametrize(
    ("id_", "instant"),
    [
        (1000, "1970-01-01 00:00:00.000000100Z"),
        (1001, "2024-06-30 10:00:00.123456700Z"),
        (1003, "2024-03-31 01:30:00.500000Z"),
    ],
)
def test_an_instant_of_sql_server_is_in_utc_with_the_digits_that_it_needs(
    id_: int, instant: str
) -> None:
    row = image(SQL_SERVER_TYPES, "all_types", id_, "r")
    assert row["c_datetimeoffset_7"] == instant
