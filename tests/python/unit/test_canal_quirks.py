"""What the official Canal does otherwise than one would think, and what comes of it.

The messages are those of Canal 1.1.7 on MariaDB 10.11, cut down to the columns that
matter. What a message does not hold is not guessed.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import pyarrow as pa
import pytest
from decoding import raising
from simple_messages import ABSENT, change, encode

from changefold.errors import CdcDecodeError
from changefold.mysql.conversion import convert_value
from changefold.mysql.ddl import NoEffect, parse_ddl
from changefold.mysql.types import parse_mysql_type
from changefold.mysql.wire_forms import CANAL, from_wire
from changefold.protocols.canal_json import (
    CanalJsonMessage,
    parse_batch,
    read_canal_json,
)
from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import DdlEvent, TableVersion

decode_canal_json = raising(read_canal_json)

Row = dict[str, str | None]

DDL: Final[dict[str, Any]] = {
    "data": None,
    "database": "shop_my",
    "es": 1795263474000,
    "gtid": "",
    "id": 83,
    "isDdl": True,
    "mysqlType": None,
    "old": None,
    "pkNames": None,
    "sql": "truncate table cart_sessions",
    "sqlType": None,
    "table": "cart_sessions",
    "ts": 1795263474989,
    "type": "TRUNCATE",
}
DELETE: Final[dict[str, Any]] = {
    "data": [{"id": "133", "customer_id": "1229", "data": ", ,"}],
    "database": "shop_my_r",
    "es": 1795263891000,
    "gtid": "",
    "id": 504,
    "isDdl": False,
    "mysqlType": {"id": "bigint(20)", "customer_id": "bigint(20)", "data": "text"},
    "old": None,
    "pkNames": ["id"],
    "sql": "",
    "sqlType": {"id": -5, "customer_id": -5, "data": 2005},
    "table": "cart_sessions",
    "ts": 1795263891860,
    "type": "DELETE",
}
UNKEYED: Final[dict[str, Any]] = DELETE | {
    "data": [
        {
            "at": "2022-02-26 00:07:45.318502",
            "actor": "sys",
            "action": "x",
            "detail": None,
        }
    ],
    "es": 1795263864000,
    "id": 144,
    "mysqlType": {
        "at": "datetime(6)",
        "actor": "varchar(100)",
        "action": "varchar(100)",
        "detail": "text",
    },
    "pkNames": None,
    "sqlType": {"at": 93, "actor": 12, "action": 12, "detail": 2005},
    "table": "audit_log",
    "ts": 1795263864464,
    "type": "INSERT",
}


def decode(message: dict[str, Any]) -> CanalJsonMessage:
    """Decode a message, by itself and in a batch."""
    value = encode(message)
    decoded = decode_canal_json(value)
    (row,) = parse_batch(pa.array([value], pa.binary())).to_pylist()
    assert [image["data"].encode() for image in row["images"]] == [
        image[0] for image in decoded.images
    ]
    assert row["event_kind"] == decoded.event_kind
    return decoded


def insert(type_: str, text: str | None) -> CanalJsonMessage:
    """Decode an insert of one value."""
    return decode(
        DELETE
        | {
            "type": "INSERT",
            "data": [{"id": "1", "v": text}],
            "mysqlType": {"id": "int(11)", "v": type_},
            "sqlType": {"id": 4, "v": 0},
        }
    )


def sent(type_: str, text: str | None) -> str | None:
    """Return a value as the decoder hands it on."""
    value: Row = json.loads(insert(type_, text).images[0][0])
    return value["v"]


def converted(text: str, from_type: str, to_type: str) -> str | None:
    """Return a value as it is after a DDL has changed the type of its column."""
    of_type = parse_mysql_type(from_type)
    plain, _ = from_wire(text, of_type, CANAL)
    return convert_value(plain, of_type, parse_mysql_type(to_type))


def fold(*messages: dict[str, Any]) -> list[TableVersion]:
    """Fold the statements of DDL messages."""
    events = []
    for number, message in enumerate(messages, start=1):
        decoded = decode(message)
        assert decoded.event_kind == "ddl"
        events.append(
            DdlEvent(
                f"{(decoded.es_ms or 0) << 18:020}:{number:019}",
                str(decoded.source_database),
                str(decoded.source_table),
                str(decoded.ddl_sql),
            )
        )
    return fold_schemas(events)


def create(table: str, sql: str) -> dict[str, Any]:
    return DDL | {"type": "CREATE", "table": table, "sql": sql, "es": 1795263469000}


CART: Final = create(
    "cart_sessions",
    "create table cart_sessions(id int primary key,customer_id bigint,data text)",
)


# ------------------------------------------------------------------------------ values


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("bigint(20) unsigned", "18446744073709551615"),
        ("tinyint(1)", "127"),
        ("year(4)", "1901"),
        ("timestamp(3)", "2026-11-21 12:16:56.709"),
        ("time(6)", "-12:34:56.654321"),
        ("longtext", '{"b" :1, "a":[1, 2.50,null]}'),
        ("date", "2024-00-00"),
        ("datetime", "0000-00-00 00:00:00"),
        ("int(11)", None),
    ],
)
def test_a_value_of_any_type_is_a_text_or_null(type_: str, text: str | None) -> None:
    assert sent(type_, text) == text


@pytest.mark.parametrize(
    ("type_", "number", "members"),
    [
        ("enum('a','b c','d,e','','é')", "3", "d,e"),
        ("enum('a','b c','d,e','','é')", "5", "é"),
        ("set('x','y z','é')", "0", ""),
        ("set('x','y z','é')", "3", "x,y z"),
        ("set('x','y z','é')", "7", "x,y z,é"),
    ],
)
def test_a_member_is_a_number_and_its_name_is_in_the_type(
    type_: str, number: str, members: str
) -> None:
    assert sent(type_, number) == number
    types = json.loads(str(insert(type_, number).column_types))
    assert converted(number, types["v"], "varchar(20)") == members


def test_the_number_0_of_an_enum_is_the_empty_text_of_a_wrong_value() -> None:
    type_ = "enum('a','b')"
    assert sent(type_, "0") == "0"
    assert converted("0", type_, "varchar(9)") == ""


@pytest.mark.parametrize(
    ("type_", "text", "octets"),
    [
        ("bit(1)", "1", b"\x01"),
        ("bit(12)", "2049", b"\x08\x01"),
        ("bit(64)", "9223372036854775808", b"\x80" + bytes(7)),
        ("bit(64)", "18446744073709551615", b"\xff" * 8),
    ],
)
def test_bits_are_a_decimal_number(type_: str, text: str, octets: bytes) -> None:
    assert sent(type_, text) == text
    as_bytes = converted(text, type_, "varbinary(8)")
    assert str(as_bytes).encode("latin-1") == octets


@pytest.mark.parametrize(
    ("type_", "octets"),
    [
        ("varbinary(300)", b"\xde\xad\xbe\xef"),
        ("tinyblob", b"\xff"),
        ("blob", b"\x80\x81"),
        ("blob", "é".encode()),
        ("longblob", b"\x00\x01\\"),
    ],
)
def test_bytes_are_the_characters_of_iso_8859_1(type_: str, octets: bytes) -> None:
    text = sent(type_, octets.decode("latin-1"))
    assert str(text).encode("latin-1") == octets


@pytest.mark.parametrize("octets", [b"", b"abc", b"\x00\x01"])
def test_fixed_bytes_stay_without_the_zeros_that_canal_cut_off(octets: bytes) -> None:
    text = octets.decode("latin-1")
    assert sent("binary(8)", text) == text


@pytest.mark.parametrize(
    ("type_", "to_type", "text"),
    [
        ("decimal(18,2)", "decimal(18,4)", "0.0000"),
        ("decimal(18,2)", "int(11)", "0"),
        ("float(7,2)", "decimal(7,2)", "0.00"),
        ("double", "bigint(20)", "0"),
    ],
)
def test_a_zero_printed_without_its_digits_is_the_number_0(
    type_: str, to_type: str, text: str
) -> None:
    assert sent(type_, "0.0") == "0.0"
    assert converted("0.0", type_, to_type) == text


@pytest.mark.parametrize(
    ("type_", "text", "to_type", "number"),
    [
        ("double unsigned", "1.0E10", "decimal(20,2)", "10000000000.00"),
        ("double unsigned", "1.2345678912345679E8", "bigint(20)", "123456789"),
        ("double", "8.671493589777531E-111", "decimal(20,2)", "0.00"),
        ("float", "1.17549E-38", "int(11)", "0"),
    ],
)
def test_a_number_in_the_notation_of_java_is_the_number(
    type_: str, text: str, to_type: str, number: str
) -> None:
    assert sent(type_, text) == text
    assert converted(text, type_, to_type) == number


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("varchar(40)", "\ufffd"),
        ("varchar(40)", "N-e\ufffd"),
        ("varchar(40)", "\x00\ufffd"),
        ("uuid", ""),
        ("uuid", "\ufffd" * 16),
        ("uuid", "\x12>Eg\ufffd\x12\u04e4VBfUD"),
    ],
)
def test_a_text_that_canal_decoded_wrongly_stays_as_it_came(
    type_: str, text: str
) -> None:
    assert sent(type_, text) == text


# -------------------------------------------------------------------------- statements


def test_a_column_is_in_old_if_an_earlier_row_of_the_message_changed_it() -> None:
    data = [
        {"id": "1102", "d": "7370-01-06", "ts3": None, "note": "multi"},
        {"id": "1104", "d": None, "ts3": "2036-11-14 22:19:47.954", "note": "multi"},
    ]
    old = [{"d": "7370-01-05", "note": "null"}, {"d": None, "note": "alpha , --c"}]
    types = {"id": "int(11)", "d": "date", "ts3": "timestamp(3)", "note": "text"}
    update = {"type": "UPDATE", "table": "times", "data": data, "old": old}
    message = decode(change(DELETE, **update, mysqlType=types, sqlType=None))
    images = [
        (json.loads(image[0]), json.loads(image[1] or b"")) for image in message.images
    ]
    assert images == list(zip(data, old, strict=True))
    row, changed = images[1]
    assert (row | changed)["d"] is row["d"] is None


def test_an_updated_key_is_one_update_with_the_old_key_in_old() -> None:
    row = {"order_id": "50024", "line_no": "101", "sku": "SKU-00026"}
    update = DELETE | {
        "type": "UPDATE",
        "table": "order_items",
        "data": [row],
        "old": [{"line_no": "1"}],
        "pkNames": ["order_id", "line_no"],
        "mysqlType": {
            "order_id": "bigint(20)",
            "line_no": "smallint(6)",
            "sku": "varchar(32)",
        },
        "sqlType": {"order_id": -5, "line_no": 5, "sku": 12},
    }
    message = decode(update)
    assert (message.event_kind, message.event_type) == ("row", "UPDATE")
    assert message.primary_key == '["order_id","line_no"]'
    (image,) = message.images
    before = json.loads(image[0]) | json.loads(image[1] or b"")
    assert before == row | {"line_no": "1"}


def test_a_statement_may_come_in_parts_and_each_has_the_rows_of_its_partition() -> None:
    types = {"order_id": "bigint(20)", "line_no": "smallint(6)"}
    part = DELETE | {
        "table": "order_items",
        "mysqlType": types,
        "sqlType": {"order_id": -5, "line_no": 5},
        "pkNames": list(types),
    }
    parts = [
        decode(part | {"data": [{"order_id": "50016", "line_no": n} for n in lines]})
        for lines in (["3", "5"], ["1", "2", "4"])
    ]
    lines = [
        json.loads(image[0])["line_no"] for message in parts for image in message.images
    ]
    assert lines == ["3", "5", "1", "2", "4"]
    assert parts[0] == msgspec.structs.replace(parts[1], images=parts[0].images)


def test_a_table_with_a_unique_key_alone_names_none_in_its_messages() -> None:
    sql = (
        "create table uniq_only(a int not null,b varchar(20) not null,c text,"
        "unique key(a,b))"
    )
    message = change(
        DELETE,
        table="uniq_only",
        pkNames=None,
        data=[{"a": "1000", "b": "b", "c": "café"}],
        mysqlType={"a": "int(11)", "b": "varchar(20)", "c": "text"},
        sqlType={"a": 4, "b": 12, "c": 2005},
    )
    assert decode(message).primary_key is None
    (version,) = fold(create("uniq_only", sql))
    assert version.key_columns == ("a", "b")


def test_a_query_with_is_ddl_is_a_statement_on_a_database() -> None:
    sql = "create database shop_my character set utf8mb4"
    message = DDL | {"type": "QUERY", "table": "", "sql": sql}
    assert decode(message).event_kind == "ddl"
    assert fold(message) == []
    annotation = message | {
        "isDdl": False,
        "database": "",
        "sql": "insert into t values(1)",
    }
    assert decode(annotation).event_kind == "statement"


def test_a_truncate_is_a_ddl_that_ends_all_rows() -> None:
    created, truncated = fold(CART, DDL)
    assert truncated.row_effect == "close_all"
    assert truncated.columns == created.columns


def test_a_drop_of_a_table_is_an_erase_that_ends_its_rows() -> None:
    erase = DDL | {"type": "ERASE", "sql": "DROP TABLE `cart_sessions`"}
    _, dropped = fold(CART, erase)
    assert (dropped.is_dropped, dropped.row_effect) == (True, "close_all")


# ------------------------------------------------------------------- order, duplicates


@pytest.mark.parametrize("message", [DELETE, UNKEYED, DDL])
def test_a_commit_is_told_to_the_second_and_has_no_other_place(
    message: dict[str, Any],
) -> None:
    decoded = decode(message)
    assert decoded.es_ms is not None
    assert decoded.es_ms % 1000 == 0
    assert decoded.commit_ts is None
    assert decoded == decode(message | {"gtid": "0-1-2"})


@pytest.mark.parametrize(
    ("message", "again"),
    [
        (DELETE, {"id": 505, "ts": 1795263891862}),
        (UNKEYED, {"id": 145, "ts": 1795263864468}),
    ],
)
def test_what_is_sent_again_differs_in_when_it_was_converted_alone(
    message: dict[str, Any], again: dict[str, int]
) -> None:
    first, second = decode(message), decode(message | again)
    assert second == msgspec.structs.replace(
        first, ts_ms=again["ts"], batch_number=again["id"]
    )


# ------------------------------------------------------------------ UPDATE without old


UPDATE: Final[dict[str, Any]] = DELETE | {
    "type": "UPDATE",
    "data": [{"id": "1", "name": "n1"}, {"id": "2", "name": "n2"}],
    "mysqlType": {"id": "int(11)", "name": "varchar(20)"},
    "sqlType": {"id": 4, "name": 12},
    "table": "rooms",
}


@pytest.mark.parametrize("old", [None, ABSENT])
def test_an_update_without_old_has_the_key_that_the_row_had(old: object) -> None:
    """Canal before 1.1.7 left out an `old` that was empty."""
    images = decode(change(UPDATE, old=old)).images
    assert [json.loads(image[0]) for image in images] == UPDATE["data"]
    assert [image[1] for image in images] == [None, None]


def test_rows_without_old_are_the_first_of_a_message() -> None:
    images = decode(change(UPDATE, old=[{"name": "m2"}])).images
    assert [image[1] for image in images] == [None, b'{"name":"m2"}']


@pytest.mark.parametrize(
    "fields",
    [
        {"pkNames": None},
        {"pkNames": []},
        {"pkNames": ["id", "part"]},
        {"data": [{"name": "n1"}]},
    ],
)
def test_an_update_without_old_and_without_its_key_is_refused(
    fields: dict[str, Any],
) -> None:
    message = encode(change(UPDATE, old=None, **fields))
    with pytest.raises(CdcDecodeError, match="leaves out an empty one") as raised:
        decode_canal_json(message)
    assert raised.value.error_class == "no_row_before"
    (row,) = parse_batch(pa.array([message], pa.binary())).to_pylist()
    assert row["error"]["class"] == "no_row_before"


def test_a_statement_in_place_of_its_rows_is_refused() -> None:
    """Canal sends it if binlog_format is STATEMENT or MIXED."""
    message = change(UPDATE, data=None, mysqlType=None, sql="UPDATE rooms SET a = 1")
    with pytest.raises(CdcDecodeError, match="binlog_format is not ROW") as raised:
        decode_canal_json(encode(message))
    assert raised.value.error_class == "statement_without_rows"


def test_ticdc_leaves_out_no_old() -> None:
    with pytest.raises(CdcDecodeError, match=r"Expected `array`, got `null`"):
        decode_canal_json(encode(change(UPDATE, id=0, old=None)))
    with pytest.raises(CdcDecodeError, match=r"as many rows as in `data`, 2, got 1"):
        decode_canal_json(encode(change(UPDATE, id=0, old=[{}])))


# ------------------------------------------------------------------------ transactions


XA: Final[dict[str, Any]] = DDL | {
    "isDdl": False,
    "database": "",
    "table": "",
    "sql": "XA COMMIT X'6731',X'',1",
    "type": "XACOMMIT",
}


def test_the_end_of_an_xa_transaction_is_read() -> None:
    committed = decode(XA)
    assert (committed.event_kind, committed.event_type) == ("statement", "XACOMMIT")
    sql = "XA ROLLBACK X'6731',X'',1"
    rolled_back = decode(change(XA, type="XAROLLBACK", sql=sql))
    assert (rolled_back.event_kind, rolled_back.ddl_sql) == ("ddl", sql)
    assert rolled_back.images == ()
    (action,) = parse_ddl(sql, "").actions
    assert isinstance(action, NoEffect)


def test_an_xa_rollback_changes_no_schema() -> None:
    rollback = change(XA, type="XAROLLBACK", sql="XA ROLLBACK X'31',X'',1")
    assert fold(CART, rollback) == fold(CART)
