"""The decoder of Debezium: every kind of message, every type, every way to be wrong.

The messages are those of Debezium's documentation, or differ from them by one thing; the
recorded ones lie in `tests/golden/debezium`: all messages of some keys, and `expected_final`
with their last rows, which were compared with those of the source database.
"""

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from simple_messages import ABSENT, as_row, change, encode

from changefold.connect.declared import table_name
from changefold.connect.unavailable import UNAVAILABLE
from changefold.errors import CdcDecodeError
from changefold.json.parse import MAX_DEPTH, MAX_MESSAGE_BYTES
from changefold.protocols.batch import spark_type
from changefold.protocols.debezium import (
    DEBEZIUM_TYPE,
    DebeziumMessage,
    decode_debezium,
    parse_batch,
    read_debezium,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "debezium"

JOHN = {"id": 1005, "first_name": "john", "email": "john.doe@example.org"}
JOHN_TEXT = '{"id":"1005","first_name":"john","email":"john.doe@example.org"}'
FIELDS: list[dict[str, Any]] = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": False, "field": "first_name"},
    {"type": "string", "optional": True, "field": "email"},
]
SOURCE = {
    "version": "3.5.0.Final",
    "connector": "sqlserver",
    "name": "server1",
    "ts_ms": 1559729468470,
    "snapshot": "false",
    "db": "testDB",
    "schema": "dbo",
    "table": "customers",
    "change_lsn": "00000027:00000758:0003",
    "commit_lsn": "00000027:00000758:0005",
    "event_serial_no": 1,
}
CREATE: dict[str, Any] = {
    "before": None,
    "after": JOHN,
    "source": SOURCE,
    "op": "c",
    "ts_ms": 1559729471739,
}
UPDATE = CREATE | {"op": "u", "before": JOHN}
DELETE = CREATE | {"op": "d", "before": JOHN, "after": None}
READ: dict[str, Any] = CREATE | {
    "op": "r",
    "source": SOURCE
    | {"snapshot": "true", "change_lsn": None, "event_serial_no": None},
}
TRUNCATE = CREATE | {"op": "t", "after": None}

POSTGRESQL = {
    "connector": "postgresql",
    "name": "shop",
    "ts_ms": 1795263451694,
    "snapshot": "false",
    "db": "shop",
    "schema": "public",
    "table": "orders",
    "sequence": '["203839616","203843080"]',
    "txId": 9748,
    "lsn": 203843080,
}
MYSQL = {
    "connector": "mysql",
    "name": "shop",
    "ts_ms": 1795263474000,
    "snapshot": "false",
    "db": "shop",
    "table": "orders",
    "gtid": "0-223344-37",
    "file": "mysql-bin.000012",
    "pos": 1362816,
    "row": 3,
}
TICDC = {
    "connector": "TiCDC",
    "name": "default",
    "ts_ms": 1795264238955,
    "snapshot": "false",
    "db": "typ",
    "table": "t_int",
    "file": "",
    "pos": 0,
    "row": 0,
    "commit_ts": 470617748656619520,
}
KEY = {"id": 1005}
KEY_FIELDS = FIELDS[:1]


def envelope_schema(fields: list[dict[str, Any]] = FIELDS) -> dict[str, Any]:
    row = {"type": "struct", "fields": fields, "optional": True, "name": "s.Value"}
    return {
        "type": "struct",
        "fields": [row | {"field": "before"}, row | {"field": "after"}],
        "optional": False,
        "name": "server1.testDB.dbo.customers.Envelope",
    }


def wrapped(
    payload: Any, fields: list[dict[str, Any]] = FIELDS, **wrapper: Any
) -> dict[str, Any]:
    return {"schema": envelope_schema(fields), "payload": payload} | wrapper


def key_of(payload: Any, fields: list[dict[str, Any]] = KEY_FIELDS) -> dict[str, Any]:
    return {"schema": {"type": "struct", "fields": fields}, "payload": payload}


TABLE = "testDB.dbo.customers"


def read(
    message: Any, key: Any = KEY, types: dict[str, str] | None = None
) -> DebeziumMessage:
    return read_debezium(
        None if key is None else encode(key),
        None if message is None else encode(message),
        None if types is None else json.dumps({TABLE: types}),
    )


def decode(
    message: Any, key: Any = KEY, types: dict[str, str] | None = None
) -> DebeziumMessage:
    read_message = read(message, key, types)
    if read_message.error is not None:
        raise read_message.error
    return read_message


def error_of(value: bytes | None, key: bytes | None = encode(KEY)) -> CdcDecodeError:
    message = read_debezium(key, value)
    assert message.event_kind == "invalid"
    with pytest.raises(CdcDecodeError) as caught:
        decode_debezium(key, value)
    assert parse_batch(
        pa.array([key], pa.binary()), pa.array([value], pa.binary())
    ).to_pylist()[0]["error"] == {
        "class": caught.value.error_class,
        "path": caught.value.path,
        "message": caught.value.message,
    }
    return caught.value


def key_error_of(value: bytes, key: bytes) -> CdcDecodeError:
    message = read_debezium(key, value)
    assert (message.event_kind, message.key, message.primary_key) == ("row", None, None)
    assert message.error is not None
    assert decode_debezium(key, value).after == message.after
    return message.error


def b64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


# ------------------------------------------------------------------- good messages


def test_a_create_has_the_row_after_and_its_place() -> None:
    message = decode(wrapped(CREATE), key_of(KEY))
    assert message == DebeziumMessage(
        event_kind="row",
        connector="sqlserver",
        source_name="server1",
        source_database="testDB",
        source_schema="dbo",
        source_table="customers",
        op="c",
        key='{"id":"1005"}',
        primary_key='["id"]',
        after=JOHN_TEXT,
        is_typed=True,
        column_types=(
            '{"id":"connect.int32 NOT NULL","first_name":"connect.string NOT NULL",'
            '"email":"connect.string"}'
        ),
        change_sequence=(
            "00000027:00000758:0005.1.00000027:00000758:0003.00000000000000000001"
        ),
        ordered_by="lsn",
        commit_lsn="00000027:00000758:0005",
        lsn="00000027:00000758:0003",
        event_serial_no=1,
        source_ts_ms=1559729468470,
        ts_ms=1559729471739,
    )


@pytest.mark.parametrize(
    ("payload", "op", "before", "after"),
    [
        (UPDATE, "u", JOHN_TEXT, JOHN_TEXT),
        (UPDATE | {"before": None}, "u", None, JOHN_TEXT),
        (DELETE, "d", JOHN_TEXT, None),
        (DELETE | {"before": None}, "d", None, None),
        (READ, "r", None, JOHN_TEXT),
    ],
)
def test_each_change_has_its_rows(
    payload: dict[str, Any], op: str, before: str | None, after: str | None
) -> None:
    for message in (decode(wrapped(payload)), decode(payload)):
        assert (message.event_kind, message.op) == ("row", op)
        assert (message.before, message.after) == (before, after)


def test_a_truncate_has_neither_key_nor_rows() -> None:
    message = decode(wrapped(TRUNCATE), None)
    assert (message.event_kind, message.op) == ("truncate", "t")
    assert (message.key, message.before, message.after) == (None, None, None)
    assert message.change_sequence == decode(CREATE).change_sequence


@pytest.mark.parametrize("value", [None, {"schema": None, "payload": None}])
def test_a_tombstone_has_a_key_and_no_place(value: Any) -> None:
    for key in (KEY, key_of(KEY)):
        assert decode(value, key) == DebeziumMessage(
            event_kind="tombstone", key='{"id":"1005"}', primary_key='["id"]'
        )


@pytest.mark.parametrize(
    "key", [None, key_of(None), key_of({}, []), {"payload": None}, {"payload": {}}]
)
def test_a_row_without_a_key_is_a_row(key: Any) -> None:
    message = decode(wrapped(CREATE), key)
    assert (message.event_kind, message.key) == ("row", None)


def test_without_a_schema_values_stay_as_they_came() -> None:
    row = (
        '{"id":12345678901234567890,"price":1.10,"e":1E400,"t":"1","yes":true,'
        '"none":null,"tags":["a",1.50,null],"point":{"x":0.10}}'
    )
    value = encode(CREATE).replace(encode(JOHN), row.encode())
    message = decode_debezium(None, value)
    assert message.after is not None
    assert json.loads(message.after) == {
        "id": "12345678901234567890",
        "price": "1.10",
        "e": "1E400",
        "t": "1",
        "yes": "true",
        "none": None,
        "tags": '["a","1.50",null]',
        "point": '{"x":"0.10"}',
    }
    assert not message.is_typed
    assert json.loads(str(message.column_types)) == dict.fromkeys(
        json.loads(message.after), "connect.untyped"
    )


@pytest.mark.parametrize("payload", [UPDATE, DELETE, CREATE, READ])
def test_without_a_schema_the_columns_of_the_row_have_no_type(
    payload: dict[str, Any],
) -> None:
    assert json.loads(str(decode(payload).column_types)) == dict.fromkeys(
        JOHN, "connect.untyped"
    )


def test_of_a_message_without_schema_and_row_no_column_is_known() -> None:
    for payload in (TRUNCATE, DELETE | {"before": None}):
        assert decode(payload).column_types is None
        assert decode(wrapped(payload)).column_types is not None


def test_declared_types_type_a_message_without_a_schema() -> None:
    fields: list[dict[str, Any]] = [
        {"field": "id", "type": "int32", "optional": False},
        {
            "field": "day",
            "type": "int32",
            "name": "io.debezium.time.Date",
            "optional": True,
            "default": 18294,
        },
        {
            "field": "tags",
            "type": "array",
            "items": {"type": "string", "optional": True},
        },
    ]
    payload = CREATE | {"after": {"id": 1, "day": 19782, "tags": ["a"]}}
    types = {
        "id": "connect.int32 NOT NULL",
        "day": "connect.Date DEFAULT 2020-02-02",
        "tags": "connect.array<connect.string> NOT NULL",
    }
    with_schema = decode(wrapped(payload, fields))
    assert json.loads(str(with_schema.column_types)) == types
    declared = decode(payload, types=types)
    assert declared == with_schema
    assert declared.after == '{"id":"1","day":"2024-02-29","tags":"[\\"a\\"]"}'


def test_declared_types_may_be_less_or_more_than_a_row_has() -> None:
    types = {"gone": "connect.int32", "id": "connect.Date"}
    payload = CREATE | {"after": {"new": 7, "id": 0, "toast": UNAVAILABLE}}
    message = decode(payload, key={"id": 0}, types=types)
    assert message.after == '{"new":"7","id":"1970-01-01"}'
    assert message.unavailable_columns == '["toast"]'
    assert message.key == '{"id":"1970-01-01"}'
    assert message.is_typed
    assert json.loads(str(message.column_types)) == {
        "id": "connect.Date",
        "new": "connect.untyped",
        "toast": "connect.untyped",
    }


def test_a_delete_has_all_types_that_were_declared() -> None:
    types = {"id": "connect.Date", "other": "connect.int32"}
    message = decode(DELETE | {"before": {"id": 0}}, key={"id": 0}, types=types)
    assert json.loads(str(message.column_types)) == types


def test_a_truncate_has_the_types_that_were_declared() -> None:
    message = decode(TRUNCATE, types={"id": "connect.Date"})
    assert message.column_types == '{"id":"connect.Date"}'


def test_the_schema_of_the_message_wins_over_declared_types() -> None:
    types = {"id": "connect.string"}
    assert decode(wrapped(CREATE), types=types) == decode(wrapped(CREATE))


@pytest.mark.parametrize(
    ("source", "table"),
    [
        (SOURCE, "testDB.dbo.customers"),
        (POSTGRESQL, "shop.public.orders"),
        (MYSQL, "shop.orders"),
    ],
)
def test_types_are_declared_by_database_schema_and_table(
    source: dict[str, Any], table: str
) -> None:
    payload = encode(CREATE | {"source": source, "after": {"id": 0}})
    other = {"shop.other": {"id": "connect.Year"}, "orders": {"id": "connect.Year"}}
    types = other | {table: {"id": "connect.Date"}}
    message = read_debezium(None, payload, json.dumps(types))
    assert message.after == '{"id":"1970-01-01"}'
    message = read_debezium(None, payload, json.dumps(other))
    assert (message.after, message.is_typed) == ('{"id":"0"}', False)


def test_a_key_of_a_tombstone_has_no_declared_types() -> None:
    assert decode(None, {"id": 0}, types={"id": "connect.Date"}).key == '{"id":"0"}'


def test_a_row_that_contradicts_a_declared_type_goes_on_as_it_came() -> None:
    types = {"id": "connect.int32", "email": "connect.int32", "raw": "connect.bytes"}
    row = JOHN | {"raw": "é!", "day": "2024-01-01"}
    message = read(CREATE | {"after": row}, types=types)
    assert message.event_kind == "row"
    assert json.loads(str(message.after)) == {
        name: str(value) for name, value in JOHN.items()
    } | {"raw": "Ã©!", "day": "2024-01-01"}
    assert json.loads(str(message.column_types)) == {
        "id": "connect.int32",
        **dict.fromkeys(("email", "raw", "first_name", "day"), "connect.untyped"),
    }
    error = message.error
    assert error is not None
    assert (error.error_class, error.path) == ("contradicted_type", "$.after.email")
    assert error.message == (
        "Expected `int32`, got `john.doe@example.org`: the type of the column was "
        "declared otherwise"
    )


def test_only_rows_that_contradict_a_declared_type_are_marked() -> None:
    types = {"id": "connect.int32", "email": "connect.double"}
    good = CREATE | {"after": {"id": 1, "email": 1.5}}
    bad = CREATE | {"after": {"id": 1, "email": "north"}}
    assert (read(good, types=types).error, read(bad, types=types).after) == (
        None,
        '{"id":"1","email":"north"}',
    )
    key = read(good, {"id": "x"}, types=types)
    assert (key.event_kind, key.key) == ("row", '{"id":"x"}')


def test_white_space_and_order_of_the_parts_change_nothing() -> None:
    message = wrapped(CREATE)
    for value in (
        json.dumps(message, indent=3).encode(),
        encode({"payload": message["payload"], "schema": message["schema"]}),
        b" " + encode(message) + b"\n",
    ):
        assert decode_debezium(encode(KEY), value) == decode(message)
    for payload in (CREATE, {"payload": CREATE}, {"schema": None, "payload": CREATE}):
        assert decode(payload) == decode(CREATE)


def test_a_key_of_columns_named_schema_and_payload_is_a_key() -> None:
    for key in ({"payload": 5}, {"schema": "a", "payload": 5}, {"schema": "a"}):
        message = decode(CREATE | {"after": JOHN | key}, key)
        assert json.loads(str(message.key)) == {
            name: str(value) for name, value in key.items()
        }
        # A wrapper with nothing in it that is a key.
        assert key_error_of(encode(CREATE), encode(key)).path == "$key"


def test_a_key_without_a_schema_gets_the_types_of_the_row() -> None:
    fields = [{"field": "id", "type": "int32", "name": "io.debezium.time.Date"}]
    payload = CREATE | {"after": {"id": 1}}
    assert decode(wrapped(payload, fields), {"id": 1}).key == '{"id":"1970-01-02"}'


# ------------------------------------------------------------------- control messages


def test_a_heartbeat_tells_when_it_was_sent() -> None:
    key = {"serverName": "shop"}
    for value in ({"ts_ms": 5}, {"payload": {"ts_ms": 5, "ts_us": 5000}}):
        message = decode(value, key)
        assert (message.event_kind, message.ts_ms) == ("heartbeat", 5)


def test_begin_and_end_are_a_transaction() -> None:
    end = {
        "status": "END",
        "id": "00000025:00000d08:0025",
        "ts_ms": 1486500577691,
        "event_count": 2,
        "data_collections": [{"data_collection": "testDB.dbo.a", "event_count": 1}],
    }
    for status in ("BEGIN", "END"):
        message = decode(end | {"status": status}, {"id": "00000025:00000d08:0025"})
        assert (message.event_kind, message.event_type) == ("transaction", status)
        assert message.transaction_id == "00000025:00000d08:0025"
        assert message.ts_ms == 1486500577691


def test_a_change_names_its_transaction() -> None:
    message = decode(CREATE | {"source": POSTGRESQL})
    assert (message.transaction_id, message.transaction_order) == ("9748", None)
    block = {"id": "9748:203843080", "total_order": 4, "data_collection_order": 1}
    message = decode(CREATE | {"source": POSTGRESQL, "transaction": block})
    assert (message.transaction_id, message.transaction_order) == ("9748:203843080", 4)


def test_a_schema_change_has_the_statement_and_the_tables() -> None:
    changes = [{"type": "ALTER", "id": '"shop"."orders"', "table": {"columns": []}}]
    ddl = {
        "source": MYSQL,
        "ts_ms": 1795263477091,
        "databaseName": "shop",
        "schemaName": None,
        "ddl": "alter table orders add column phone varchar(30)",
        "tableChanges": changes,
    }
    message = decode(ddl, {"databaseName": "shop"})
    assert (message.event_kind, message.event_type) == ("ddl", "ALTER")
    assert message.ddl_sql == "alter table orders add column phone varchar(30)"
    assert message.table_changes == encode(changes).decode()
    assert message.change_sequence == ("0000000012.00000000000001362816.1.0000000003")
    assert (message.source_database, message.source_table) == ("shop", "orders")
    bare = decode(
        ddl | {"source": MYSQL | {"db": "", "table": None}, "tableChanges": []}
    )
    assert (bare.source_database, bare.source_table) == ("shop", "")
    assert bare.event_type is None


def test_a_schema_change_may_lack_a_position() -> None:
    ddl: dict[str, Any] = {
        "source": SOURCE | {"change_lsn": None},
        "ddl": None,
        "tableChanges": [],
    }
    message = decode(ddl)
    assert message.event_kind == "ddl"
    assert message.change_sequence is not None
    assert message.change_sequence < sequence(SOURCE)
    ddl["source"] = SOURCE | {"commit_lsn": None}
    assert decode(ddl).change_sequence is None


def test_m_of_ticdc_is_a_watermark() -> None:
    value = {"source": TICDC | {"db": "", "table": ""}, "ts_ms": 1, "op": "m"}
    assert decode({"payload": value}, {"payload": {}}) == DebeziumMessage(
        event_kind="watermark",
        connector="TiCDC",
        source_name="default",
        source_database="",
        source_table="",
        op="m",
        watermark_ts=470617748656619520,
        source_ts_ms=1795264238955,
        ts_ms=1,
    )


@pytest.mark.parametrize("content", ["3q2+7w==", "3q2-7w==", "deadbeef", None])
def test_m_of_postgresql_is_a_message_in_whatever_form_its_bytes_are(
    content: str | None,
) -> None:
    fields = {"transactional": True, "prefix": "p", "content": content}
    value = {"source": POSTGRESQL, "ts_ms": 1, "op": "m", "message": fields}
    message = decode(value, {"prefix": "p"})
    assert message.event_kind == "message"
    assert json.loads(str(message.logical_message)) == fields


# ---------------------------------------------------------------------------- values


def connect(type_: str, name: str = "", **parts: Any) -> dict[str, Any]:
    schema = {"type": type_, "optional": True, **parts}
    return schema | ({"name": name} if name else {})


def decimal(scale: int) -> dict[str, Any]:
    return connect(
        "bytes",
        "org.apache.kafka.connect.data.Decimal",
        parameters={"scale": str(scale)},
    )


def bits(length: int) -> dict[str, Any]:
    parameters = {"length": str(length)}
    return connect("bytes", "io.debezium.data.Bits", parameters=parameters)


TIME = "io.debezium.time"
DATA = "io.debezium.data"
KAFKA = "org.apache.kafka.connect.data"
VARIABLE = connect(
    "struct",
    f"{DATA}.VariableScaleDecimal",
    fields=[
        {"field": "scale", "type": "int32", "optional": False},
        {"field": "value", "type": "bytes", "optional": False},
    ],
)
POINT = connect(
    "struct",
    f"{DATA}.geometry.Point",
    fields=[
        {"field": "x", "type": "double", "optional": False},
        {"field": "y", "type": "double", "optional": False},
        {"field": "wkb", "type": "bytes", "optional": True},
        {"field": "srid", "type": "int32", "optional": True},
    ],
)


def value_text(schema: dict[str, Any], wire: str) -> str | None:
    """The text of a value, given as JSON text so that its digits are what they are."""
    payload = encode(wrapped(CREATE | {"after": {"v": 0}}, [schema | {"field": "v"}]))
    value = payload.replace(b'{"v":0}', b'{"v":' + wire.encode() + b"}")
    message = decode_debezium(encode(KEY), value)
    texts: dict[str, str | None] = json.loads(str(message.after))
    return texts["v"]


@pytest.mark.parametrize(
    ("schema", "wire", "text"),
    [
        (connect("int8"), "-128", "-128"),
        (connect("int16"), "32767", "32767"),
        (connect("int32"), "-2147483648", "-2147483648"),
        (connect("int64"), "9007199254740993", "9007199254740993"),
        (connect("int64"), "-9223372036854775808", "-9223372036854775808"),
        (connect("boolean"), "true", "true"),
        (connect("boolean"), "false", "false"),
        (connect("float"), "0.1", "0.1"),
        (connect("float"), "17.26528", "17.26528"),
        (connect("float32"), "3.4028235e+38", "3.4028235e+38"),
        (connect("double"), "5e-324", "5e-324"),
        (connect("double"), "0.1", "0.1"),
        (connect("double"), "1.0E10", "10000000000.0"),
        (connect("double"), '"NaN"', "NaN"),
        (connect("float64"), '"-Infinity"', "-Infinity"),
        (connect("string"), '"line1\\n\\u0001é😀"', "line1\n\x01é😀"),
        (connect("string"), '""', ""),
        (connect("string"), "null", None),
        (connect("bytes"), '"3q2+7w=="', "\xde\xad\xbe\xef"),
        (connect("bytes"), '""', ""),
        (decimal(2), '"AA=="', "0.00"),
        (decimal(2), '"/w=="', "-0.01"),
        (decimal(2), '"8h9JTFicAAE="', "-9999999999999999.99"),
        (decimal(0), '"SztMqFqGxHoJiiI//////w=="', "9" * 38),
        (decimal(18), '"AQ=="', "0.000000000000000001"),
        (decimal(5), '"/Bk="', "-0.00999"),
        (decimal(-2), '"ew=="', "12300"),
        (decimal(2), "12.5", "12.50"),
        (decimal(2), "99999999999999999999.99", "99999999999999999999.99"),
        (decimal(0), "1E+3", "1000"),
        (VARIABLE, '{"scale":20,"value":"AQ=="}', "0.00000000000000000001"),
        (VARIABLE, '{"scale":1,"value":"/w=="}', "-0.1"),
        (connect("string"), '"-1.50"', "-1.50"),
        (connect("int32", f"{TIME}.Date"), "19782", "2024-02-29"),
        (connect("int32", f"{TIME}.Date"), "-719162", "0001-01-01"),
        (connect("int32", f"{TIME}.Date"), "-719163", "0000-12-31"),
        (connect("int32", f"{TIME}.Date"), "2932897", "10000-01-01"),
        (connect("int32", f"{TIME}.Date"), "-735160", "-0043-03-15"),
        (connect("int32", f"{TIME}.Date"), "-622191234", "infinity"),
        (connect("int32", f"{KAFKA}.Date"), "19782", "2024-02-29"),
        (connect("string", f"{TIME}.IsoDate"), '"2020-02-02Z"', "2020-02-02"),
        (connect("int32", f"{TIME}.Time"), "43200500", "12:00:00.500000"),
        (connect("int32", f"{KAFKA}.Time"), "1", "00:00:00.001000"),
        (connect("int64", f"{TIME}.MicroTime"), "86400000000", "24:00:00.000000"),
        (connect("int64", f"{TIME}.MicroTime"), "-3020399000000", "-838:59:59.000000"),
        (connect("int64", f"{TIME}.NanoTime"), "86399999999900", "23:59:59.999999900"),
        (connect("string", f"{TIME}.IsoTime"), '"12:00:00.5Z"', "12:00:00.500000"),
        (connect("string", f"{TIME}.ZonedTime"), '"11:02:03.5Z"', "11:02:03.500000Z"),
        (connect("string", f"{TIME}.ZonedTime"), '"01:00+02:00"', "23:00:00.000000Z"),
        (connect("int64", f"{TIME}.Timestamp"), "-1", "1969-12-31 23:59:59.999000"),
        (connect("int64", f"{KAFKA}.Timestamp"), "1", "1970-01-01 00:00:00.001000"),
        (
            connect("int64", f"{TIME}.MicroTimestamp"),
            "253402300799999999",
            "9999-12-31 23:59:59.999999",
        ),
        (
            connect("int64", f"{TIME}.MicroTimestamp"),
            "9223372036825200000",
            "infinity",
        ),
        (
            connect("int64", f"{KAFKA}.Timestamp"),
            "-9223372036832400",
            "-infinity",
        ),
        (
            connect("int64", f"{TIME}.NanoTimestamp"),
            "-9223372036854775800",
            "1677-09-21 00:12:43.145224200",
        ),
        (
            connect("string", f"{TIME}.IsoTimestamp"),
            '"2024-01-01T00:00:00.001Z"',
            "2024-01-01 00:00:00.001000",
        ),
        (
            connect("string", f"{TIME}.ZonedTimestamp"),
            '"2024-03-31T01:30:00.5Z"',
            "2024-03-31 01:30:00.500000Z",
        ),
        (
            connect("string", f"{TIME}.ZonedTimestamp"),
            '"2024-01-01T01:30:00.1234567+02:00"',
            "2024-01-01 01:30:00.123456700+02:00",
        ),
        (
            connect("string", f"{TIME}.ZonedTimestamp"),
            '"1970-01-01T00:00Z"',
            "1970-01-01 00:00:00.000000Z",
        ),
        (
            connect("string", f"{TIME}.ZonedTimestamp"),
            '"0000-12-30T00:00:00Z"',
            "0000-12-30 00:00:00.000000Z",
        ),
        (connect("string", f"{TIME}.ZonedTimestamp"), '"-infinity"', "-infinity"),
        (
            connect("int64", f"{TIME}.MicroDuration"),
            "9223372036854775807",
            "9" + "223372036854775807",
        ),
        (
            connect("string", f"{TIME}.Interval"),
            '"P1Y2M3DT4H5M6.7S"',
            "P1Y2M3DT4H5M6.7S",
        ),
        (connect("int32", f"{TIME}.Year"), "2024", "2024"),
        (bits(12), '"/w8="', "111111111111"),
        (bits(12), '"AQg="', "100000000001"),
        (bits(12), '""', "000000000000"),
        (bits(2**31 - 1), '"Cg=="', "1010"),
        (bits(64), '"AAAAAAAAAIA="', "1" + "0" * 63),
        (connect("string", f"{DATA}.Json"), '"{\\"a\\": 2.50}"', '{"a": 2.50}'),
        (connect("string", f"{DATA}.Xml"), '"<a>1</a>"', "<a>1</a>"),
        (connect("string", f"{DATA}.Uuid"), '"A0EE-b"', "A0EE-b"),
        (connect("string", f"{DATA}.Enum"), '"happy day"', "happy day"),
        (connect("string", f"{DATA}.EnumSet"), '"x,y z"', "x,y z"),
        (connect("string", f"{DATA}.Ltree"), '"a.b.c"', "a.b.c"),
        (connect("string", f"{DATA}.Tsvector"), "\"'a':1 'cat':2\"", "'a':1 'cat':2"),
        (connect("array", items=connect("int32")), "[1,null]", '["1",null]'),
        (connect("array", items=connect("int32")), "[]", "[]"),
        (connect("array", items=decimal(2)), '["fQ=="]', '["1.25"]'),
        (
            connect("array", items=connect("array", items=connect("string"))),
            '[["a"],null]',
            '[["a"],null]',
        ),
        (
            connect("map", keys=connect("string"), values=connect("string")),
            '{"a":"1","b":null}',
            '{"a":"1","b":null}',
        ),
        (
            connect("map", keys=connect("int32"), values=connect("boolean")),
            "[[1,true]]",
            '[["1","true"]]',
        ),
        (
            POINT,
            '{"x":1.5,"y":-2.0,"wkb":"3q0=","srid":4326}',
            '{"x":"1.5","y":"-2.0","wkb":"Þ\xad","srid":"4326"}',
        ),
        (connect("string", "org.example.Later"), '"as it is"', "as it is"),
        (connect("int64", "org.example.Later"), "5", "5"),
        (connect("int64", tidb_type="bigint unsigned"), "-1", "18446744073709551615"),
        (connect("double", tidb_type="decimal"), "493.830", "493.830"),
        (connect("double", tidb_type="decimal"), "-1e+20", "-1" + "0" * 20),
        (connect("string", tidb_type="varbinary"), '"AGj/"', "\x00h\xff"),
        (connect("string", tidb_type="varchar"), '"AGj/"', "AGj/"),
    ],
)
def test_a_value_has_one_text_by_its_type(
    schema: dict[str, Any], wire: str, text: str | None
) -> None:
    assert value_text(schema, wire) == text


def test_a_decimal_of_any_length_keeps_its_digits() -> None:
    unscaled = -(10**40_000) + 7
    octets = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    text = value_text(decimal(1), f'"{b64(octets)}"')
    assert text == "-" + "9" * 39_999 + ".3"


def test_a_negative_scale_that_lost_its_sign_has_no_thousand_zeros() -> None:
    unscaled = 9_999_900 * 10**2046
    octets = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    assert value_text(decimal(2046), f'"{b64(octets)}"') == "9999900"
    assert value_text(decimal(2046), '"AA=="') == "0"


@pytest.mark.parametrize(
    ("schema", "wire"),
    [
        (connect("string"), f'"{UNAVAILABLE}"'),
        (connect("string", f"{DATA}.Json"), f'"{UNAVAILABLE}"'),
        (
            connect("string", f"{DATA}.Json"),
            json.dumps(f'{{"{UNAVAILABLE}":"{UNAVAILABLE}"}}'),
        ),
        (connect("bytes"), f'"{b64(UNAVAILABLE.encode())}"'),
        (connect("array", items=connect("string")), f'["{UNAVAILABLE}"]'),
        (connect("array", items=connect("int32")), str(list(UNAVAILABLE.encode()))),
        (
            connect("map", keys=connect("string"), values=connect("string")),
            f'{{"{UNAVAILABLE}":"{UNAVAILABLE}"}}',
        ),
    ],
)
def test_an_unavailable_value_is_named_and_left_out(
    schema: dict[str, Any], wire: str
) -> None:
    fields = [connect("int32") | {"field": "id"}, schema | {"field": "big"}]
    row = b'{"id":1,"big":' + wire.encode() + b"}"
    update = UPDATE | {"before": {"id": 1, "big": None}, "after": {"id": 0}}
    for payload in (wrapped(update, fields), update):
        value = encode(payload).replace(b'{"id":0}', row)
        message = decode_debezium(None, value)
        assert message.after == '{"id":"1"}'
        assert message.unavailable_columns == '["big"]'


def test_an_unavailable_value_of_the_row_before_is_left_out_only() -> None:
    update = UPDATE | {"before": JOHN | {"email": UNAVAILABLE}}
    message = decode(wrapped(update))
    assert message.before == '{"id":"1005","first_name":"john"}'
    assert message.unavailable_columns is None


def test_the_placeholder_may_be_another() -> None:
    update = UPDATE | {"after": JOHN | {"email": "-"}}
    for payload in (update, wrapped(update)):
        message = decode_debezium(None, encode(payload), options='{"placeholder": "-"}')
        assert message.unavailable_columns == '["email"]'
        other = UPDATE | {"after": JOHN | {"email": UNAVAILABLE}}
        kept = decode_debezium(None, encode(other), options='{"placeholder": "-"}')
        assert kept.unavailable_columns is None


def test_the_row_before_may_be_its_key_and_nulls() -> None:
    delete = DELETE | {"before": {"id": 1005, "first_name": None, "email": None}}
    message = decode(wrapped(delete))
    assert message.before == '{"id":"1005","first_name":null,"email":null}'


# ----------------------------------------------------------------------------- order


def sequence(source: dict[str, Any], **payload: Any) -> str:
    text = decode(CREATE | {"source": source} | payload, None).change_sequence
    assert text is not None
    return text


def test_sql_server_is_ordered_by_commit_change_and_number() -> None:
    lsn = "0000002f:0000010c:"
    places = [
        (lsn + "0001", None, None),
        (lsn + "0001", lsn + "0001", 1),
        (lsn + "0005", lsn + "0002", 1),
        (lsn + "0005", lsn + "0002", 2),
        (lsn + "0005", lsn + "0002", 10),
        (lsn + "0005", lsn + "000a", 1),
        (lsn + "000a", lsn + "0006", 1),
        ("00000030:00000000:0001", lsn + "0009", 1),
    ]
    sequences = [
        sequence(
            SOURCE
            | {"commit_lsn": commit, "change_lsn": at, "event_serial_no": number}
            | {"snapshot": "false" if at else "true"}
        )
        for commit, at, number in places
    ]
    assert sequences == sorted(sequences)
    assert len(set(sequences)) == len(places)
    assert len({len(text) for text in sequences}) == 1


def test_a_number_as_text_and_a_bool_as_snapshot_are_as_in_the_documentation() -> None:
    source = SOURCE | {"event_serial_no": "1", "snapshot": False}
    assert decode(CREATE | {"source": source}) == decode(CREATE)
    assert decode(READ | {"source": source | {"snapshot": True}}).is_snapshot


@pytest.mark.parametrize("commit_lsn", ["00000026:0000ffe0:0001", None, "NULL"])
def test_a_row_that_was_read_comes_before_every_later_change(
    commit_lsn: str | None,
) -> None:
    source = READ["source"] | {"commit_lsn": commit_lsn}
    assert sequence(source, op="r") < sequence(SOURCE)


def test_postgresql_is_ordered_by_the_commit_before_and_the_change() -> None:
    # The second transaction wrote before the first one committed, and committed later.
    first = [sequence(POSTGRESQL | place(100, lsn)) for lsn in (150, 170)]
    second = [sequence(POSTGRESQL | place(180, lsn)) for lsn in (110, 175, 1000)]
    assert [*first, *second] == sorted([*second, *first])


def place(before: int | None, lsn: int | None) -> dict[str, Any]:
    pair = [None if part is None else str(part) for part in (before, lsn)]
    return {"sequence": json.dumps(pair), "lsn": lsn}


def test_a_snapshot_of_postgresql_lies_between_what_it_has_and_what_follows() -> None:
    snapshot = POSTGRESQL | place(None, 200) | {"snapshot": "first"}
    read = sequence(snapshot, op="r")
    assert sequence(POSTGRESQL | place(150, 190)) < read
    assert read < sequence(POSTGRESQL | place(None, 200))
    assert read < sequence(POSTGRESQL | place(200, 160))
    again = sequence(snapshot | place(None, 300), op="r")
    assert sequence(POSTGRESQL | place(220, 290)) < again
    assert again < sequence(POSTGRESQL | place(300, 280))


def test_an_incremental_read_lies_among_the_changes() -> None:
    source = POSTGRESQL | {
        "snapshot": "incremental",
        "lsn": None,
        "txId": None,
        "sequence": '["180","190"]',
    }
    message = decode(CREATE | {"op": "r", "source": source})
    assert (message.is_snapshot, message.snapshot) == (True, "incremental")
    assert message.change_sequence is not None
    assert sequence(POSTGRESQL | place(180, 185)) < message.change_sequence
    assert message.change_sequence < sequence(POSTGRESQL | place(180, 191))
    # The offset decides against the change that it comes after.
    assert message.change_sequence == sequence(POSTGRESQL | place(180, 190))


@pytest.mark.parametrize(
    ("source", "place"),
    [
        (SOURCE, {"commit_lsn": None, "change_lsn": None, "event_serial_no": None}),
        (SOURCE, {"change_lsn": None, "event_serial_no": None}),
        (POSTGRESQL, {"lsn": None, "sequence": None}),
        (MYSQL, {"file": None, "pos": None, "row": None}),
    ],
)
@pytest.mark.parametrize("snapshot", ["true", "incremental"])
def test_a_row_that_was_read_may_lack_a_position(
    source: dict[str, Any], place: dict[str, Any], snapshot: str
) -> None:
    read = sequence(source | place | {"snapshot": snapshot}, op="r")
    assert read < sequence(source)
    assert len(read) == len(sequence(source))


@pytest.mark.parametrize("connector", ["mysql", "mariadb"])
def test_mysql_is_ordered_by_file_position_and_row(connector: str) -> None:
    places = [
        ("mysql-bin.000002", 500, 0, "true"),
        ("mysql-bin.000002", 500, 0, "false"),
        ("mysql-bin.000002", 500, 1, "false"),
        ("mysql-bin.000002", 1000, 0, "false"),
        ("mysql-bin.000010", 4, 0, "false"),
        ("mysql-bin.1000000", 4, 0, "false"),
    ]
    sequences = [
        sequence(
            MYSQL
            | {"connector": connector, "snapshot": snapshot}
            | {"file": file, "pos": pos, "row": row}
        )
        for file, pos, row, snapshot in places
    ]
    assert sequences == sorted(sequences)
    assert len(set(sequences)) == len(places)
    assert decode(CREATE | {"source": MYSQL}).gtid == "0-223344-37"


def test_ticdc_is_ordered_by_commit_ts() -> None:
    message = decode(CREATE | {"source": TICDC})
    assert message.commit_ts == 470617748656619520
    assert message.change_sequence == "00470617748656619520"
    assert message.ordered_by == "commit_ts"


def test_an_unknown_connector_is_ordered_by_time_as_a_makeshift() -> None:
    source = {"connector": "later", "name": "n", "table": "t", "ts_ms": 1000}
    message = decode(CREATE | {"source": source})
    assert message.ordered_by == "ts_ms"
    assert message.change_sequence == "00000000000000001000.1"
    assert sequence(source | {"snapshot": "true"}) < message.change_sequence


# -------------------------------------------------------------------- bad messages


@pytest.mark.parametrize(
    ("value", "error_class", "message"),
    [
        (b"", "not_json", "Expected JSON, got an empty value"),
        (b"\x00\x00\x00\x00\x01\x02", "not_json", "Expected JSON, got "),
        (b"{} {}", "not_json", "Expected the end of the message, got `{}`"),
        (b'{"a":"\xff"}', "not_utf8", "Expected UTF-8, got byte 0xFF at byte 6"),
        (b'{"payload":{"op"', "truncated_json", "Expected more JSON after 16"),
        (b"[]", "wrong_type", "Expected `object`, got `array`"),
        (b"null", "wrong_type", "Expected `object`, got `null`"),
        (b'{"op":NaN}', "not_json", "Expected JSON, got `NaN`"),
    ],
)
def test_what_is_not_a_json_object_is_refused(
    value: bytes, error_class: str, message: str
) -> None:
    error = error_of(value)
    assert (error.error_class, error.path) == (error_class, "$")
    assert error.message.startswith(message)


@pytest.mark.parametrize("message", [wrapped(CREATE), CREATE])
def test_a_message_cut_anywhere_is_truncated(message: dict[str, Any]) -> None:
    value = encode(message)
    for end in range(1, len(value), 7):
        assert read_debezium(None, value[:end]).error is not None
        assert error_of(value[:end]).error_class == "truncated_json", value[:end]


def test_a_message_above_the_limit_is_refused() -> None:
    assert error_of(b" " * (MAX_MESSAGE_BYTES + 1)).error_class == "too_large"


@pytest.mark.parametrize("part", ["schema", "payload"])
def test_deep_nesting_of_a_megabyte_is_refused_and_harms_nothing(part: str) -> None:
    deep = b'{"type":"array","items":' * 40_000 + b"1" + b"}" * 40_000
    other = b"payload" if part == "schema" else b"schema"
    value = b'{"%b":%b,"%b":%b}' % (part.encode(), deep, other, b'{"type":"struct"}')
    assert error_of(value).error_class == "too_deep"
    nested = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert error_of(b'{"payload":{"op":' + nested + b"}}").error_class == "too_deep"


def test_a_wide_schema_of_a_megabyte_is_read() -> None:
    fields = [
        {"field": f"column_{number}", "type": "int32", "optional": True}
        for number in range(9500)
    ]
    value = encode(wrapped(CREATE | {"after": {"column_5": 1}}, fields))
    assert len(value) > 1_000_000
    message = decode_debezium(None, value)
    assert message.after == '{"column_5":"1"}'
    assert len(json.loads(str(message.column_types))) == 9500


def test_a_column_that_may_be_null_may_be_missing() -> None:
    row = {"id": 1005, "first_name": "john"}
    message = decode(wrapped(CREATE | {"after": row}))
    assert message.after == '{"id":"1005","first_name":"john"}'


def test_of_a_field_that_comes_twice_the_last_one_counts() -> None:
    for text in (b'"id":1005', b'"op":"c"', b'"name":"server1"'):
        value = encode(wrapped(CREATE))
        assert text in value
        twice = value.replace(text, text.partition(b":")[0] + b":null," + text)
        assert read_debezium(None, twice) == read_debezium(None, value)
        (row, *_) = batch(*[(None, twice)] * 20)
        assert row == batch((None, value))[0]


def test_a_key_that_a_schema_has_twice_is_refused() -> None:
    value = encode(wrapped(CREATE)).replace(
        b'"type":"int32"', b'"type":"int32","type":"int64"', 1
    )
    error = error_of(value)
    assert error.error_class == "duplicate_key"
    assert error.path == "$.schema.fields[0].fields[0].type"


def test_an_envelope_without_a_payload_is_refused() -> None:
    error = error_of(encode({"schema": envelope_schema()}))
    assert error.error_class == "missing_payload"
    assert str(error) == (
        "Expected a payload beside the schema, got no such field - at `$.payload`"
    )
    error = error_of(encode(wrapped(None)))
    assert error.error_class == "missing_payload"
    assert str(error) == "Expected a payload, got `null` - at `$.payload`"


def test_a_plain_row_is_no_envelope() -> None:
    for value, path in ((JOHN, "$"), ({"payload": JOHN}, "$.payload")):
        error = error_of(encode(value))
        assert (error.error_class, error.path) == ("no_envelope", path)
        assert error.message == (
            "Expected a change event with `op` and `source`, got an object of "
            "`id, first_name, email`: a row by itself has no order, so the connector "
            "must run without a transform that unwraps it"
        )


@pytest.mark.parametrize("op", ["x", "", "C", "INSERT"])
def test_an_unknown_op_is_refused(op: str) -> None:
    error = error_of(encode(wrapped(CREATE | {"op": op})))
    assert error.error_class == "unknown_op"
    assert str(error) == (
        f"Expected `c`, `u`, `d`, `r`, `t` or `m`, got `{op}` - at `$.payload.op`"
    )


def test_a_tombstone_without_a_key_is_refused() -> None:
    for key in (None, encode(key_of(None))):
        error = error_of(None, key)
        assert error.error_class == "null_tombstone_key"
        assert str(error) == "Expected the key of a deleted row, got `null` - at `$key`"


@pytest.mark.parametrize(
    ("key", "error_class", "error"),
    [
        (
            b"Struct{id=1}",
            "not_json",
            "Expected JSON, got `Struct{id=1}` at character 0 - at `$key`",
        ),
        (b"5", "wrong_type", "Expected `object`, got `int` - at `$key`"),
        (
            encode(key_of({"id": "1"})),
            "schema_mismatch",
            "Expected `int32`, got `1` - at `$key.payload.id`",
        ),
        (
            encode(key_of({"id": None})),
            "schema_mismatch",
            "Expected `a value`, got `null` - at `$key.payload.id`",
        ),
        (
            encode({"schema": {"type": "int32"}, "payload": {"id": 1}}),
            "schema_mismatch",
            "Expected `struct`, got `int32` - at `$key.schema.type`",
        ),
    ],
)
def test_a_key_that_can_not_be_read_does_not_spoil_its_row(
    key: bytes, error_class: str, error: str
) -> None:
    for payload in (CREATE, UPDATE, DELETE):
        found = key_error_of(encode(payload), key)
        assert (found.error_class, str(found)) == (error_class, error)
    # Of a row that only its key could tell, nothing is known.
    found = error_of(encode(DELETE | {"before": None}), key)
    assert (found.error_class, str(found)) == (error_class, error)


@pytest.mark.parametrize("key", [b"Struct{id=1}", b"5", b"\xff", b""])
def test_a_key_that_can_not_be_read_says_nothing_of_other_messages(key: bytes) -> None:
    for value in (None, encode({"ts_ms": 5})):
        message = decode_debezium(key, value)
        assert (message.key, message.error) == (None, None)
    compacted = read_debezium(key, None, options='{"is_compacted": true}')
    assert compacted.event_kind == "invalid"


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (change(CREATE, after=None), "Expected `object`, got `null` - at `$.after`"),
        (
            change(UPDATE, after=ABSENT),
            "Expected `object`, got no such field - at `$.after`",
        ),
        (change(READ, after=None), "Expected `object`, got `null` - at `$.after`"),
        (
            change(CREATE, source=ABSENT),
            "Expected `object`, got no such field - at `$.source`",
        ),
        (change(CREATE, op=ABSENT), "Expected `str`, got no such field - at `$.op`"),
        (
            CREATE | {"source": change(SOURCE, connector=ABSENT)},
            "Expected `str`, got no such field - at `$.source.connector`",
        ),
        (
            CREATE | {"source": change(SOURCE, table=None)},
            "Expected `str`, got `null` - at `$.source.table`",
        ),
        (
            {"source": POSTGRESQL, "op": "m"},
            "Expected `object`, got no such field - at `$.message`",
        ),
    ],
)
def test_a_missing_field_is_named(payload: dict[str, Any], error: str) -> None:
    found = error_of(encode(payload))
    assert (found.error_class, str(found)) == ("missing_field", error)


def test_a_delete_needs_a_row_or_a_key() -> None:
    value = encode(DELETE | {"before": None})
    assert error_of(value, None).error_class == "missing_field"
    assert decode_debezium(encode(KEY), value).key == '{"id":"1005"}'


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (CREATE | {"before": JOHN}, "Expected `null`, got `object` - at `$.before`"),
        (DELETE | {"after": JOHN}, "Expected `null`, got `object` - at `$.after`"),
        (TRUNCATE | {"after": JOHN}, "Expected `null`, got `object` - at `$.after`"),
        (CREATE | {"after": "{}"}, "Expected `object`, got `str` - at `$.after`"),
        (CREATE | {"source": 1}, "Expected `object`, got `int` - at `$.source`"),
        (CREATE | {"op": 1}, "Expected `str`, got `int` - at `$.op`"),
        (CREATE | {"ts_ms": "x"}, "Expected `int | null`, got `x` - at `$.ts_ms`"),
        (CREATE | {"ts_ms": 1.5}, "Expected `int | null`, got `float` - at `$.ts_ms`"),
        (
            CREATE | {"transaction": "5"},
            "Expected `object | null`, got `str` - at `$.transaction`",
        ),
        (
            CREATE | {"source": SOURCE | {"snapshot": 1}},
            "Expected `str | bool | null`, got `int` - at `$.source.snapshot`",
        ),
        (
            CREATE | {"source": SOURCE | {"commit_lsn": 5}},
            "Expected `str | null`, got `int` - at `$.source.commit_lsn`",
        ),
    ],
)
def test_a_wrong_type_is_named_with_its_place(
    payload: dict[str, Any], error: str
) -> None:
    found = error_of(encode(payload))
    assert (found.error_class, str(found)) == ("wrong_type", error)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (
            SOURCE | {"commit_lsn": "27:758:5"},
            (
                "Expected an LSN of 8, 8 and 4 hexadecimal digits such as "
                "`00000027:00000758:0005`, got `27:758:5` - at `$.source.commit_lsn`"
            ),
        ),
        (
            SOURCE | {"change_lsn": "0000002x:00000758:0005"},
            (
                "Expected an LSN of 8, 8 and 4 hexadecimal digits such as "
                "`00000027:00000758:0005`, got `0000002x:00000758:0005` - at "
                "`$.source.change_lsn`"
            ),
        ),
        (
            SOURCE | {"change_lsn": None},
            "Expected `a position`, got `null` - at `$.source.change_lsn`",
        ),
        (
            SOURCE | {"commit_lsn": "NULL"},
            "Expected `a position`, got `null` - at `$.source.commit_lsn`",
        ),
        (
            POSTGRESQL | {"lsn": None, "sequence": None},
            "Expected `a position`, got `null` - at `$.source.lsn`",
        ),
        *(
            (
                POSTGRESQL | {"sequence": text},
                (
                    'Expected two LSNs such as `["203839616","203843080"]`, got '
                    f"`{text}` - at `$.source.sequence`"
                ),
            )
            for text in (
                "",
                "[1,2]",
                '["5"]',
                '["a","5"]',
                '["99999999999999999999",null]',
                "[" * 58,
            )
        ),
        (
            MYSQL | {"file": ""},
            "Expected `a position`, got `null` - at `$.source.file`",
        ),
        (
            MYSQL | {"file": "mysql-bin"},
            (
                "Expected a binlog file with a number such as `mysql-bin.000003`, got "
                "`mysql-bin` - at `$.source.file`"
            ),
        ),
        (
            MYSQL | {"pos": None},
            "Expected `a position`, got `null` - at `$.source.pos`",
        ),
        (
            TICDC | {"commit_ts": None},
            "Expected `a position`, got `null` - at `$.source.commit_ts`",
        ),
    ],
)
def test_a_position_that_can_not_order_is_refused(
    source: dict[str, Any], error: str
) -> None:
    found = error_of(encode(CREATE | {"source": source}))
    assert found.error_class == "bad_position"
    assert str(found).replace("no such field", "`null`") == error


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (SOURCE | {"event_serial_no": -1}, "$.source.event_serial_no"),
        (POSTGRESQL | {"lsn": 2**63}, "$.source.lsn"),
        (POSTGRESQL | {"lsn": -5}, "$.source.lsn"),
        (MYSQL | {"pos": 10**4000}, "$.source.pos"),
        (TICDC | {"commit_ts": -1}, "$.source.commit_ts"),
    ],
)
def test_a_number_out_of_range_is_refused(source: dict[str, Any], path: str) -> None:
    error = error_of(encode(CREATE | {"source": source}))
    assert (error.error_class, error.path) == ("out_of_range", path)
    assert error.message.startswith("Expected `int` from 0 to 9223372036854775807, got")


def test_an_unknown_kind_of_snapshot_is_refused() -> None:
    error = error_of(encode(READ | {"source": SOURCE | {"snapshot": "later"}}))
    assert error.error_class == "unknown_snapshot"
    assert error.path == "$.source.snapshot"


@pytest.mark.parametrize(
    ("row", "error"),
    [
        (
            JOHN | {"id": "1005"},
            "Expected `int32`, got `1005` - at `$.payload.after.id`",
        ),
        (
            JOHN | {"id": 2**31},
            "Expected `int32`, got `2147483648` - at `$.payload.after.id`",
        ),
        (JOHN | {"id": 1.0}, "Expected `int32`, got `1.0` - at `$.payload.after.id`"),
        (
            JOHN | {"id": None},
            "Expected `a value`, got `null` - at `$.payload.after.id`",
        ),
        (JOHN | {"email": 5}, "Expected `str`, got `5` - at `$.payload.after.email`"),
        (
            JOHN | {"email": True},
            "Expected `str`, got `true` - at `$.payload.after.email`",
        ),
        (
            JOHN | {"email": ["a"]},
            "Expected `str`, got `array` - at `$.payload.after.email`",
        ),
        (
            JOHN | {"my phone": "1"},
            'Expected a column of the schema, got `my phone` - at `$.payload.after["my phone"]`',
        ),
        (
            {"id": 1005, "email": None},
            "Expected `a value`, got no such field - at `$.payload.after.first_name`",
        ),
    ],
)
def test_a_row_that_is_not_as_its_schema_says_is_refused(
    row: dict[str, Any], error: str
) -> None:
    found = error_of(encode(wrapped(CREATE | {"after": row})))
    assert (found.error_class, str(found)) == ("schema_mismatch", error)


@pytest.mark.parametrize(
    ("schema", "wire", "error_class", "error"),
    [
        (connect("bytes"), '"abc"', "bad_base64", "Expected base64, got `abc`"),
        (connect("bytes"), '"a b="', "bad_base64", "Expected base64, got `a b=`"),
        (decimal(2), '"=="', "bad_base64", "Expected base64, got `==`"),
        (decimal(2), '"é"', "bad_base64", "Expected base64, got `é`"),
        (connect("bytes"), "5", "schema_mismatch", "Expected base64, got `5`"),
        (
            decimal(2),
            '""',
            "schema_mismatch",
            "Expected the bytes of a number in base64, got ``",
        ),
        (bits(3), '"CA=="', "schema_mismatch", "Expected at most 3 bits, got `CA==`"),
        (connect("boolean"), "1", "schema_mismatch", "Expected `bool`, got `1`"),
        (connect("double"), '"1.5"', "schema_mismatch", "Expected `double`, got `1.5`"),
        (
            connect("double"),
            "1e400",
            "schema_mismatch",
            "Expected `double`, got `1e400`",
        ),
        (connect("float"), "1e39", "schema_mismatch", "Expected `float`, got `1e39`"),
        (
            VARIABLE,
            '{"scale":1}',
            "schema_mismatch",
            "Expected an object of `scale` and `value`, got `object`",
        ),
        (
            VARIABLE,
            '{"scale":999999999,"value":"AQ=="}',
            "schema_mismatch",
            "Expected at most 100000 digits, got `more`",
        ),
        (
            connect("string", f"{TIME}.ZonedTimestamp"),
            '"2024-02-30T00:00:00Z"',
            "schema_mismatch",
            (
                "Expected a zoned timestamp in the form of ISO 8601, "
                "got `2024-02-30T00:00:00Z`"
            ),
        ),
        (
            connect("string", f"{TIME}.ZonedTimestamp"),
            '"2024-02-28T00:00:00"',
            "schema_mismatch",
            (
                "Expected a zoned timestamp in the form of ISO 8601, "
                "got `2024-02-28T00:00:00`"
            ),
        ),
        (
            connect("string", f"{TIME}.ZonedTime"),
            '"25:00:00Z"',
            "schema_mismatch",
            "Expected a zoned time in the form of ISO 8601, got `25:00:00Z`",
        ),
        (
            POINT,
            '{"x":1.5}',
            "schema_mismatch",
            "Expected an object with `y`, got `object`",
        ),
        (
            connect("array", items=connect("string")),
            '"a"',
            "schema_mismatch",
            "Expected `array`, got `a`",
        ),
    ],
)
def test_a_value_that_is_not_of_its_type_is_refused(
    schema: dict[str, Any], wire: str, error_class: str, error: str
) -> None:
    with pytest.raises(CdcDecodeError) as caught:
        value_text(schema, wire)
    assert caught.value.error_class == error_class
    assert str(caught.value) == f"{error} - at `$.payload.after.v`"


def test_a_value_within_an_array_is_named_with_its_place() -> None:
    with pytest.raises(CdcDecodeError) as caught:
        value_text(
            connect("array", items=connect("array", items=decimal(1))),
            '[[],["AQ==","?"]]',
        )
    assert (
        str(caught.value) == "Expected base64, got `?` - at `$.payload.after.v[1][1]`"
    )


@pytest.mark.parametrize(
    ("field", "error_class", "error"),
    [
        (
            {"type": "uint7"},
            "unknown_connect_type",
            (
                "Expected a type of Kafka Connect, got `uint7` - at "
                "`$.schema.fields[0].fields[0].type`"
            ),
        ),
        (
            change(decimal(2), parameters=ABSENT),
            "missing_field",
            (
                "Expected `int`, got no such field - at "
                "`$.schema.fields[0].fields[0].parameters.scale`"
            ),
        ),
        (
            decimal(2) | {"parameters": {"scale": "two"}},
            "schema_mismatch",
            (
                "Expected `int`, got `two` - at "
                "`$.schema.fields[0].fields[0].parameters.scale`"
            ),
        ),
        (
            {"type": "array"},
            "wrong_type",
            "Expected `object`, got `null` - at `$.schema.fields[0].fields[0].items`",
        ),
    ],
)
def test_a_schema_that_says_nothing_is_refused(
    field: dict[str, Any], error_class: str, error: str
) -> None:
    value = encode(wrapped(CREATE, [field | {"field": "v"}]))
    found = error_of(value)
    assert (found.error_class, str(found)) == (error_class, error)


def test_a_schema_of_something_else_is_refused() -> None:
    schema = {"type": "struct", "fields": [{"field": "ts_ms", "type": "int64"}]}
    error = error_of(encode({"schema": schema, "payload": CREATE}))
    assert (error.error_class, error.path) == ("schema_mismatch", "$.schema.fields")


def test_more_bits_or_digits_than_the_memory_holds_are_refused() -> None:
    for length, error_class in (
        (1_000_000, None),
        (2**31 - 1, None),
        (1_000_001, "schema_mismatch"),
        (9_999_999_999, "schema_mismatch"),
    ):
        fields = [*FIELDS, bits(length) | {"field": "b"}]
        row = JOHN | {"b": "AQ=="}
        error = read(wrapped(CREATE | {"after": row}, fields)).error
        assert (error and error.error_class) == error_class
    fields = [*FIELDS, decimal(9_999_999_999) | {"field": "price"}]
    error = error_of(encode(wrapped(CREATE | {"after": JOHN | {"price": 1}}, fields)))
    assert error.message == "Expected at most 100000 digits, got `1`"
    fields = [*FIELDS, VARIABLE | {"field": "n"}]
    row = JOHN | {"n": {"scale": 2**31 - 1, "value": 1}}
    error = error_of(encode(wrapped(CREATE | {"after": row}, fields)))
    assert error.message == "Expected at most 100000 digits, got `1`"


def test_an_error_names_only_some_parts_of_a_struct() -> None:
    parts = [{"field": "part" * 20 + str(part), "type": "int32"} for part in range(99)]
    fields = [*FIELDS, connect("struct", fields=parts) | {"field": "s"}]
    for value in ({"x": 1}, {}):
        row = JOHN | {"s": value}
        error = error_of(encode(wrapped(CREATE | {"after": row}, fields)))
        assert len(error.message) < 150


def test_the_schema_of_a_key_must_be_a_struct() -> None:
    for type_, message in (
        ("int32", "Expected `struct`, got `int32`"),
        ({"a": 1}, "Expected `str`, got `object`"),
        (None, "Expected `str`, got `null`"),
    ):
        key = {"schema": {"type": type_, "fields": []}, "payload": KEY}
        error = key_error_of(encode(wrapped(CREATE)), encode(key))
        assert (error.path, error.message) == ("$key.schema.type", message)


@pytest.mark.parametrize("transaction", [True, [1], {"a": 1}])
def test_a_transaction_is_a_number_or_a_text(transaction: object) -> None:
    source = POSTGRESQL | {"txId": transaction}
    error = error_of(encode(wrapped(CREATE | {"source": source})))
    assert (error.error_class, error.path) == ("wrong_type", "$.payload.source.txId")


@pytest.mark.parametrize("time", [10**13, 2**63 - 1])
def test_a_time_that_no_timestamp_can_hold_is_refused(time: int) -> None:
    source = SOURCE | {"ts_ms": time}
    for message in (CREATE | {"source": source}, {"source": source, "ddl": ""}):
        error = error_of(encode(message))
        assert (error.error_class, error.path) == ("out_of_range", "$.source.ts_ms")
    assert decode(CREATE | {"source": SOURCE | {"ts_ms": 10**13 - 1}}).error is None


def test_a_ddl_of_ticdc_has_a_statement() -> None:
    message: dict[str, Any] = {
        "source": TICDC,
        "ddl": None,
        "tableChanges": [],
        "ts_ms": 1,
    }
    error = error_of(encode(message))
    assert (error.error_class, error.path) == ("missing_field", "$.ddl")
    assert decode(message | {"source": SOURCE}).ddl_sql is None


def test_a_column_name_that_sql_can_not_read_is_refused() -> None:
    name = "x" * 10_001
    for message in (
        CREATE | {"after": {name: 1}},
        wrapped(CREATE, [*FIELDS, connect("int32") | {"field": name}]),
    ):
        assert error_of(encode(message)).error_class == "name_too_long"


def test_a_column_that_comes_twice_in_a_schema_is_refused() -> None:
    error = error_of(encode(wrapped(CREATE, [*FIELDS, FIELDS[0]])))
    assert error.error_class == "duplicate_column"


ODD: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    [None],
    {"a": 1},
]


def paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(node, dict):
        items = node.items()
    elif isinstance(node, list):
        items = enumerate(node)
    for name, child in items:
        yield (*path, name)
        yield from paths(child, (*path, name))


@pytest.mark.parametrize("source", [SOURCE, POSTGRESQL, MYSQL, TICDC])
def test_whatever_stands_anywhere_nothing_is_raised(source: dict[str, Any]) -> None:
    fields = [*FIELDS, decimal(2) | {"field": "price"}, VARIABLE | {"field": "n"}]
    row = JOHN | {"price": "fQ==", "n": {"scale": 1, "value": "AQ=="}}
    message = wrapped(UPDATE | {"before": row, "after": row, "source": source}, fields)
    text = json.dumps(message)
    for path in paths(message):
        for odd in ODD:
            broken = json.loads(text)
            node = broken
            for name in path[:-1]:
                node = node[name]
            node[path[-1]] = odd
            read_message = read_debezium(encode(KEY), json.dumps(broken).encode())
            assert (read_message.error is None) == (
                read_message.event_kind != "invalid"
            )


def test_an_invalid_message_keeps_what_could_be_read() -> None:
    message = read(CREATE | {"after": None})
    assert (message.event_kind, message.op) == ("invalid", "c")
    assert message.source_table == "customers"
    assert message.change_sequence is not None


# --------------------------------------------------------------- recorded messages


def declared(messages: list[DebeziumMessage]) -> str:
    """What to declare, so that messages need no schema."""
    return json.dumps(
        {
            table_name(
                message.source_database, message.source_schema, message.source_table
            ): json.loads(str(message.column_types))
            for message in messages
        }
    )


def records(scenario: str) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of each message of a sample."""
    with gzip.open(GOLDEN / scenario / "messages.ndjson.gz", "rt") as lines:
        for line in lines:
            record = json.loads(line)
            key, value = record["key"], record["value"]
            yield (
                record["offset"],
                None if key is None else key.encode(),
                None if value is None else value.encode(),
            )


def final_rows(scenario: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The last row of each key, found by position alone."""
    changes = []
    for offset, key, value in records(scenario):
        message = decode_debezium(key, value)
        if message.event_kind in {"row", "truncate"}:
            # A delete and an insert of TiCDC may have one position.
            is_upsert = message.connector == "TiCDC" and message.op != "d"
            place = (message.change_sequence, is_upsert, offset)
            changes.append((place, message))
    changes.sort(key=lambda change: change[0])
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for _, message in changes:
        table = str(message.source_table)
        if message.op == "t":
            rows = {at: row for at, row in rows.items() if at[0] != table}
        elif message.key is not None and message.op == "d":
            rows.pop((table, message.key), None)
        elif message.key is not None:
            row = json.loads(str(message.after))
            last = rows.get((table, message.key), {})
            for column in json.loads(message.unavailable_columns or "[]"):
                row[column] = last.get(column)
            rows[table, message.key] = row
    return rows


SCENARIOS = sorted(path.parent.name for path in GOLDEN.glob("*/messages.ndjson.gz"))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_last_rows_of_a_recording_are_those_of_the_source(scenario: str) -> None:
    with gzip.open(GOLDEN / scenario / "expected_final.ndjson.gz", "rt") as lines:
        expected = {
            (row["table"], json.dumps(row["key"], ensure_ascii=False)): row["row"]
            for row in map(json.loads, lines)
        }
    found = {
        (table, json.dumps(json.loads(key), ensure_ascii=False)): row
        for (table, key), row in final_rows(scenario).items()
    }
    assert found == expected
    assert found


@pytest.mark.parametrize(
    ("scenario", "kinds"),
    [
        ("postgresql_shop", {"row", "truncate", "tombstone", "heartbeat"}),
        (
            "postgresql_replays",
            {"row", "truncate", "tombstone", "transaction", "heartbeat"},
        ),
        ("mariadb_shop", {"row", "truncate", "tombstone", "ddl", "heartbeat"}),
        ("ticdc_types", {"row", "ddl", "watermark"}),
    ],
)
def test_a_recording_has_all_kinds_of_messages(scenario: str, kinds: set[str]) -> None:
    found = {
        decode_debezium(key, value).event_kind for _, key, value in records(scenario)
    }
    assert found == kinds


def without_schemas(value: bytes | None) -> bytes | None:
    """What the converter writes with schemas.enable=false."""
    if value is None:
        return None
    start = value.index(b'"payload":') + len(b'"payload":')
    if value.startswith(b'{"payload":'):
        return value[start : value.rindex(b',"schema":')]
    return value[start:-1]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_message_without_its_schema_is_the_same_by_declared_types(
    scenario: str,
) -> None:
    for _, key, value in records(scenario):
        message = decode_debezium(key, value)
        if message.event_kind != "row":
            continue
        bare = decode_debezium(key, without_schemas(value), declared([message]))
        types = json.loads(str(message.column_types))
        if message.after is not None:
            # Rows of TiCDC have no virtual columns, their schema names these.
            shown = json.loads(message.after).keys()
            shown |= set(json.loads(message.unavailable_columns or "[]"))
            types = {name: types[name] for name in types if name in shown}
        assert json.loads(str(bare.column_types)) == types
        bare.column_types = message.column_types
        assert bare == message


def test_a_key_update_of_sql_server_is_delete_tombstone_create_at_one_commit() -> None:
    messages = [
        decode_debezium(key, value)
        for _, key, value in records("sqlserver_shop_synthetic")
    ]
    places = {
        (message.commit_lsn, message.lsn, message.op): message for message in messages
    }
    pairs = [
        (message, places[message.commit_lsn, message.lsn, "c"])
        for message in messages
        if message.op == "d" and (message.commit_lsn, message.lsn, "c") in places
    ]
    assert pairs
    for delete, create in pairs:
        assert (delete.event_serial_no, create.event_serial_no) == (1, 2)
        assert delete.key != create.key
        assert str(delete.change_sequence) < str(create.change_sequence)


# -------------------------------------------------------------------------- batches


def batch(*messages: tuple[bytes | None, bytes | None]) -> list[dict[str, Any]]:
    rows = parse_batch(
        pa.array([key for key, _ in messages], pa.binary()),
        pa.array([value for _, value in messages], pa.binary()),
    )
    rows.validate(full=True)
    assert rows.type == DEBEZIUM_TYPE
    listed: list[dict[str, Any]] = rows.to_pylist()
    return listed


def test_the_type_for_spark_is_that_of_the_messages() -> None:
    text = spark_type(DEBEZIUM_TYPE)
    assert text.startswith("struct<event_kind: string, ")
    assert "commit_ts: bigint" in text
    assert text.endswith("error: struct<class: string, path: string, message: string>>")


def test_the_fields_of_a_batch_are_those_of_a_message() -> None:
    names = [field.name for field in DEBEZIUM_TYPE]
    assert tuple(names) == DebeziumMessage.__struct_fields__


def test_a_batch_keeps_order_and_loses_nothing() -> None:
    messages = [
        (encode(KEY), encode(wrapped(CREATE))),
        (encode(KEY), encode(DELETE)),
        (encode(KEY), None),
        (None, None),
        (None, b"{"),
        (None, encode({"ts_ms": 5})),
    ]
    rows = batch(*messages)
    assert rows == [
        as_row(read_debezium(key, value))  # type: ignore[arg-type]  # as above
        for key, value in messages
    ]


def test_a_batch_takes_declared_types_beside_its_messages() -> None:
    types = json.dumps({TABLE: {"id": "connect.Date"}})
    rows = parse_batch(
        pa.array([None, None], pa.binary()),
        pa.array([encode(CREATE | {"after": {"id": 0}})] * 2, pa.large_binary()),
        pa.array([types, None], pa.string()),
    ).to_pylist()
    assert [row["after"] for row in rows] == ['{"id":"1970-01-01"}', '{"id":"0"}']


def test_declared_types_that_are_wrong_are_refused_whatever_the_message() -> None:
    types = json.dumps({TABLE: {"id": "dates"}})
    expected = f"Column `id` of the table `{TABLE}`: Expected a type such as"
    for value in (None, b"{", encode(wrapped(CREATE))):
        with pytest.raises(ValueError, match=expected):
            read_debezium(None, value, types)
        with pytest.raises(ValueError, match=expected):
            parse_batch(
                pa.array([None], pa.binary()),
                pa.array([value], pa.binary()),
                pa.array([types]),
            )


def test_an_empty_batch_has_no_rows() -> None:
    assert batch() == []
