"""The Canal-JSON decoder: every kind of message, and every way to be wrong.

The messages are those of the TiCDC reference, or differ from them by one thing.
"""

import json
from typing import Any

import pyarrow as pa
import pytest
from decoding import raising

from changefold.errors import CdcDecodeError
from changefold.json.parse import MAX_DEPTH, MAX_MESSAGE_BYTES
from changefold.protocols import canal_json
from changefold.protocols.canal_json import (
    CANAL_JSON_TYPE,
    CanalJsonMessage,
    parse_batch,
    read_canal_json,
)

decode_canal_json = raising(read_canal_json)

DDL: dict[str, Any] = {
    "id": 0,
    "database": "test",
    "table": "",
    "pkNames": None,
    "isDdl": True,
    "type": "QUERY",
    "es": 1639633094670,
    "ts": 1639633095489,
    "sql": "drop database if exists test",
    "sqlType": None,
    "mysqlType": None,
    "data": None,
    "old": None,
    "_tidb": {"commitTs": 429918007904436226},
}

WATERMARK: dict[str, Any] = {
    "id": 0,
    "database": "",
    "table": "",
    "pkNames": None,
    "isDdl": False,
    "type": "TIDB_WATERMARK",
    "es": 1640007049196,
    "ts": 1640007050284,
    "sql": "",
    "sqlType": None,
    "mysqlType": None,
    "data": None,
    "old": None,
    "_tidb": {"watermarkTs": 429918007904436226},
}

ROW = {
    "c_bigint": "9223372036854775807",
    "c_int": "0",
    "c_smallint": "32767",
    "id": "2",
}
OLD_ROW = ROW | {"c_int": "2147483647"}

INSERT: dict[str, Any] = {
    "id": 0,
    "database": "test",
    "table": "tp_int",
    "pkNames": ["id"],
    "isDdl": False,
    "type": "INSERT",
    "es": 1639633141221,
    "ts": 1639633142960,
    "sql": "",
    "sqlType": {"c_bigint": -5, "c_int": 4, "c_smallint": 5, "id": 4},
    "mysqlType": {
        "c_bigint": "bigint",
        "c_int": "int",
        "c_smallint": "smallint",
        "id": "int",
    },
    "old": None,
    "data": [ROW],
    "_tidb": {"commitTs": 429918007904436226},
}
UPDATE = INSERT | {"type": "UPDATE", "old": [OLD_ROW]}
DELETE = INSERT | {"type": "DELETE"}

# A field that `change` takes out.
ABSENT: Any = object()


def change(message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    changed = message | fields
    return {name: value for name, value in changed.items() if value is not ABSENT}


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def decode(message: dict[str, Any]) -> CanalJsonMessage:
    return decode_canal_json(encode(message))


def error_of(value: bytes | None) -> CdcDecodeError:
    with pytest.raises(CdcDecodeError) as caught:
        decode_canal_json(value)
    assert parse_batch(pa.array([value], pa.binary())).to_pylist()[0]["error"] == {
        "class": caught.value.error_class,
        "path": caught.value.path,
        "message": caught.value.message,
    }
    return caught.value


def with_column(type_: str, value: str | None) -> dict[str, Any]:
    return change(INSERT, mysqlType={"c": type_}, sqlType={"c": 1}, data=[{"c": value}])


# ------------------------------------------------------------------- good messages


def test_a_ddl_keeps_its_statement() -> None:
    assert decode(DDL) == CanalJsonMessage(
        event_kind="ddl",
        source_database="test",
        source_table="",
        event_type="QUERY",
        commit_ts=429918007904436226,
        es_ms=1639633094670,
        ts_ms=1639633095489,
        batch_number=0,
        ddl_sql="drop database if exists test",
    )


def test_is_ddl_wins_over_the_type() -> None:
    assert decode(change(DDL, type="TIDB_WATERMARK")).event_kind == "ddl"
    assert decode(change(DDL, type="INSERT")).event_kind == "ddl"


@pytest.mark.parametrize("type_", ["CREATE", "ALTER", "ERASE", "TRUNCATE", "CINDEX"])
def test_a_ddl_of_which_canal_says_that_it_is_none_is_one(type_: str) -> None:
    message = decode(change(DDL, isDdl=False, type=type_))
    assert (message.event_kind, message.event_type) == ("ddl", type_)
    assert message.ddl_sql == DDL["sql"]


def test_a_watermark_has_a_time_and_no_commit() -> None:
    assert decode(WATERMARK) == CanalJsonMessage(
        event_kind="watermark",
        source_database="",
        source_table="",
        event_type="TIDB_WATERMARK",
        watermark_ts=429918007904436226,
        es_ms=1640007049196,
        ts_ms=1640007050284,
        batch_number=0,
    )


def test_an_insert_has_a_row_and_no_old_row() -> None:
    assert decode(INSERT) == CanalJsonMessage(
        event_kind="row",
        source_database="test",
        source_table="tp_int",
        event_type="INSERT",
        commit_ts=429918007904436226,
        es_ms=1639633141221,
        ts_ms=1639633142960,
        batch_number=0,
        primary_key='["id"]',
        column_types='{"c_bigint":"bigint","c_int":"int","c_smallint":"smallint",'
        '"id":"int"}',
        images=((encode(ROW), None),),
    )


def test_an_update_has_both_rows() -> None:
    assert decode(UPDATE).images == ((encode(ROW), encode(OLD_ROW)),)


@pytest.mark.parametrize(
    "old", [{}, {"c_int": "1"}, {"c_int": None}, {"c_int": "1", "id": "3"}]
)
def test_an_update_may_have_only_the_changed_columns(
    old: dict[str, str | None],
) -> None:
    assert decode(change(UPDATE, old=[old])).images[0][1] == encode(old)


def test_the_deleted_row_is_in_data_in_every_version() -> None:
    assert decode(DELETE).images == ((encode(ROW), None),)
    assert decode(change(DELETE, old=[ROW])).images == ((encode(ROW), encode(ROW)),)
    assert decode(change(DELETE, old=ABSENT)).images == ((encode(ROW), None),)


@pytest.mark.parametrize("old", [None, [None], ABSENT])
def test_an_insert_has_no_old_row_however_it_says_so(old: object) -> None:
    assert decode(change(INSERT, old=old)).images == ((encode(ROW), None),)


def test_without_the_extension_there_is_no_commit_ts() -> None:
    assert decode(change(INSERT, _tidb=ABSENT)).commit_ts is None
    assert decode(change(INSERT, _tidb=None)).commit_ts is None
    assert decode(change(DDL, _tidb=ABSENT)).event_kind == "ddl"


def test_row_text_is_kept_byte_for_byte() -> None:
    row = '{ "c" :\t"\\u003c\\/ \\"é😀" }'
    value = encode(with_column("varchar", "x")).replace(b'{"c":"x"}', row.encode())
    assert decode_canal_json(value).images[0][0] == row.encode()


def test_types_come_in_the_order_of_the_row_and_not_of_a_go_map() -> None:
    types = dict(reversed(INSERT["mysqlType"].items())) | {"z": "int", "a": "int"}
    text = decode(change(INSERT, mysqlType=types)).column_types
    assert text is not None
    assert list(json.loads(text)) == ["c_bigint", "c_int", "c_smallint", "id", "a", "z"]


def test_types_may_have_parameters() -> None:
    type_ = "enum('a,b','it''s','(')"
    text = decode(with_column(type_, "1")).column_types
    assert text is not None
    assert json.loads(text) == {"c": type_}


@pytest.mark.parametrize(
    "type_",
    [
        "int unsigned zerofill",
        "bigint(20) unsigned",
        "decimal(10, 4)",
        "double precision",
        "bool",
        "vector(3)",
        "geometrycollection",
        "json",
        "year(4)",
        "set",
        "uuid",
    ],
)
def test_every_type_of_mysql_and_tidb_is_known(type_: str) -> None:
    assert decode(with_column(type_, None)).event_kind == "row"


def test_a_commit_ts_above_2_to_53_is_exact() -> None:
    for commit_ts in (2**53 + 1, 2**63 - 1):
        message = change(INSERT, _tidb={"commitTs": commit_ts})
        assert decode(message).commit_ts == commit_ts


def test_official_canal_has_many_rows_and_other_fields() -> None:
    rows = [ROW, OLD_ROW]
    message = change(UPDATE, data=rows, old=[{"id": "1"}, {"id": "2"}], gtid="", id=7)
    assert decode(message).images == (
        (encode(ROW), b'{"id":"1"}'),
        (encode(OLD_ROW), b'{"id":"2"}'),
    )


def test_a_table_without_a_primary_key_has_no_names_or_null() -> None:
    assert decode(change(INSERT, pkNames=[])).primary_key == "[]"
    assert decode(change(INSERT, pkNames=None)).primary_key is None


def test_the_sixteen_bytes_of_the_reference_are_accepted() -> None:
    text = "\x05\x07\n\x0f$2+cx<&ÿþ-7F"
    assert decode(with_column("varbinary", text)).event_kind == "row"


def test_a_type_name_within_an_enum_does_not_make_it_binary() -> None:
    assert decode(with_column("enum('blob','€')", "€")).event_kind == "row"


def test_an_old_connector_may_leave_out_when_it_made_the_message() -> None:
    assert decode(change(INSERT, ts=0)).ts_ms == 0
    assert decode(change(INSERT, ts=ABSENT)).ts_ms is None


# -------------------------------------------------------------------- bad messages


@pytest.mark.parametrize(
    ("value", "error_class", "message"),
    [
        (None, "null_value", "Expected a message, got a null value"),
        (b"", "not_json", "Expected JSON, got an empty value"),
        (b" \n", "not_json", "Expected JSON, got an empty value"),
        (b"hello", "not_json", "Expected JSON, got `hello` at character 0"),
        (b"\xef\xbb\xbf{}", "not_json", "Expected JSON, got a byte order mark"),
        (b"{} {}", "not_json", "Expected the end of the message, got `{}`"),
        (b'{"a":NaN}', "not_json", "Expected JSON, got `NaN`"),
        (b'{"a":"\n"}', "not_json", "Expected JSON, got "),
        (b'{"a":01}', "not_json", "Expected JSON, got `1}` at character 6"),
        (b'{"a":"\xff"}', "not_utf8", "Expected UTF-8, got byte 0xFF at byte 6"),
        (b'{"a":"\xed\xa0\x80"}', "not_utf8", "Expected UTF-8, got byte 0xED"),
        (b'{"a":1', "truncated_json", "Expected more JSON after 6 characters"),
        (b'{"a":tru', "truncated_json", "Expected more JSON after 8 characters"),
        (b'{"a":"\xc3', "truncated_json", "Expected more bytes after 7"),
        (b"[]", "wrong_type", "Expected `object`, got `array`"),
        (b'"a"', "wrong_type", "Expected `object`, got `str`"),
        (b"1.5", "wrong_type", "Expected `object`, got `float`"),
    ],
)
def test_what_is_not_a_json_object_is_refused(
    value: bytes | None, error_class: str, message: str
) -> None:
    error = error_of(value)
    assert (error.error_class, error.path) == (error_class, "$")
    assert error.message.startswith(message)


def test_a_message_cut_anywhere_is_truncated() -> None:
    value = encode(change(UPDATE, data=[ROW | {"c_int": "É😀 é\\"}]))
    value = value.replace("É😀".encode(), b"\\u00C9\\ud83d\\ude00")
    for end in range(1, len(value)):
        assert error_of(value[:end]).error_class == "truncated_json", value[:end]


def test_a_row_that_is_not_utf8_is_refused() -> None:
    value = encode(INSERT).replace(b'"32767"', b'"3\xff"')
    assert error_of(value).error_class == "not_utf8"


def test_a_message_above_the_limit_is_refused() -> None:
    error = error_of(b" " * (MAX_MESSAGE_BYTES + 1))
    assert error.error_class == "too_large"
    assert error.message == "Expected at most 16777216 bytes, got 16777217"


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
def test_deep_nesting_is_refused_and_harms_nothing(depth: int) -> None:
    value = b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    error = error_of(value)
    assert error.error_class == "too_deep"
    assert error.message.startswith("Expected at most 64 levels of nesting, got more")


def test_brackets_in_a_value_are_no_nesting() -> None:
    assert decode(with_column("varchar", '[{"\\' * 200)).event_kind == "row"
    extra = change(INSERT, extra=json.loads("[" * 60 + "]" * 60))
    assert decode(extra).event_kind == "row"


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"database": ABSENT}, "$.database", "Expected `str`, got no such field"),
        ({"table": ABSENT}, "$.table", "Expected `str`, got no such field"),
        ({"type": ABSENT}, "$.type", "Expected `str`, got no such field"),
        ({"isDdl": ABSENT}, "$.isDdl", "Expected `bool`, got no such field"),
        ({"es": ABSENT}, "$.es", "Expected `int`, got no such field"),
        ({"mysqlType": None}, "$.mysqlType", "Expected `object`, got `null`"),
        ({"mysqlType": ABSENT}, "$.mysqlType", "Expected `object`, got no such field"),
        ({"data": None}, "$.data", "Expected `array`, got `null`"),
        ({"data": ABSENT}, "$.data", "Expected `array`, got no such field"),
        ({"old": None}, "$.old", "Expected `array`, got `null`"),
        ({"_tidb": {}}, "$._tidb.commitTs", "Expected `int`, got no such field"),
    ],
)
def test_a_missing_field_is_named(
    fields: dict[str, Any], path: str, message: str
) -> None:
    error = error_of(encode(change(UPDATE, **fields)))
    assert error.error_class == "missing_field"
    assert str(error) == f"{message} - at `{path}`"


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (change(DDL, sql=None), "$.sql"),
        (change(DDL, sql=ABSENT), "$.sql"),
        (change(DDL, _tidb={}), "$._tidb.commitTs"),
        (change(WATERMARK, _tidb=ABSENT), "$._tidb"),
        (change(WATERMARK, _tidb={"commitTs": 1}), "$._tidb.watermarkTs"),
    ],
)
def test_ddl_and_watermark_need_their_field(message: dict[str, Any], path: str) -> None:
    error = error_of(encode(message))
    assert (error.error_class, error.path) == ("missing_field", path)


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"database": 1}, "$.database", "Expected `str`, got `int`"),
        ({"table": None}, "$.table", "Expected `str`, got `null`"),
        ({"type": ["INSERT"]}, "$.type", "Expected `str`, got `array`"),
        ({"isDdl": "false"}, "$.isDdl", "Expected `bool`, got `str`"),
        ({"isDdl": 0}, "$.isDdl", "Expected `bool`, got `int`"),
        ({"es": "1"}, "$.es", "Expected `int`, got `str`"),
        ({"es": 1.0}, "$.es", "Expected `int`, got `float`"),
        ({"es": True}, "$.es", "Expected `int`, got `bool`"),
        ({"ts": {}}, "$.ts", "Expected `int`, got `object`"),
        ({"pkNames": "id"}, "$.pkNames", "Expected `array | null`, got `str`"),
        ({"pkNames": [1]}, "$.pkNames[0]", "Expected `str`, got `int`"),
        ({"mysqlType": []}, "$.mysqlType", "Expected `object`, got `array`"),
        ({"mysqlType": {"id": 4}}, "$.mysqlType.id", "Expected `str`, got `int`"),
        ({"data": ROW}, "$.data", "Expected `array`, got `object`"),
        ({"data": [None]}, "$.data[0]", "Expected `object`, got `null`"),
        ({"data": ["x"]}, "$.data[0]", "Expected `object`, got `str`"),
        (
            {"data": [ROW | {"id": 2}]},
            "$.data[0].id",
            "Expected `str | null`, got `int`",
        ),
        (
            {"data": [ROW | {"id": {"a": []}}]},
            "$.data[0].id",
            "Expected `str | null`, got `object`",
        ),
        ({"old": ROW}, "$.old", "Expected `array`, got `object`"),
        ({"old": [None]}, "$.old[0]", "Expected `object`, got `null`"),
        ({"old": [{"id": 2}]}, "$.old[0].id", "Expected `str | null`, got `int`"),
        ({"type": "INSERT"}, "$.old", "Expected `null`, got `array`"),
        ({"_tidb": 1}, "$._tidb", "Expected `object | null`, got `int`"),
        (
            {"_tidb": {"commitTs": "1"}},
            "$._tidb.commitTs",
            "Expected `int`, got `str`",
        ),
        (
            {"_tidb": {"commitTs": 4.29918007904436226e17}},
            "$._tidb.commitTs",
            "Expected `int`, got `float`",
        ),
        (
            {"_tidb": {"commitTs": 1, "onlyHandleKey": "true"}},
            "$._tidb.onlyHandleKey",
            "Expected `bool`, got `str`",
        ),
    ],
)
def test_a_wrong_type_is_named_with_its_place(
    fields: dict[str, Any], path: str, message: str
) -> None:
    error = error_of(encode(change(UPDATE, **fields)))
    assert error.error_class == "wrong_type"
    assert str(error) == f"{message} - at `{path}`"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"_tidb": {"commitTs": -1}}, "$._tidb.commitTs"),
        ({"_tidb": {"commitTs": 2**63}}, "$._tidb.commitTs"),
        ({"_tidb": {"commitTs": 10**4000}}, "$._tidb.commitTs"),
    ],
)
def test_a_number_out_of_range_is_refused(fields: dict[str, Any], path: str) -> None:
    error = error_of(encode(change(INSERT, **fields)))
    assert (error.error_class, error.path) == ("out_of_range", path)
    assert error.message.startswith("Expected `int` from 0 to 9223372036854775807, got")


@pytest.mark.parametrize("name", ["es", "ts"])
@pytest.mark.parametrize("time", [-1, 10**13, 2**63 - 1, 2**63])
def test_a_time_that_no_timestamp_can_hold_is_refused(name: str, time: int) -> None:
    error = error_of(encode(change(INSERT, **{name: time})))
    assert (error.error_class, error.path) == ("out_of_range", f"$.{name}")
    assert error.message == f"Expected `int` from 0 to 9999999999999, got {time}"
    assert decode(change(INSERT, **{name: 10**13 - 1})).error is None


def test_a_column_name_that_sql_can_not_read_is_refused() -> None:
    for length, error_class in ((10_000, None), (10_001, "name_too_long")):
        name = "x" * length
        message = change(
            INSERT, data=[{name: "1"}], mysqlType={name: "int"}, sqlType={}
        )
        error = read_canal_json(encode(message)).error
        assert (error and error.error_class) == error_class


def test_a_text_without_end_behind_many_brackets_is_read_once() -> None:
    value = b"[" + b"[]," * 80 + b'"' + b'\\"' * 200_000
    for broken in (value, value + b"\\"):
        assert error_of(broken).error_class == "truncated_json"


def test_a_number_of_any_length_is_out_of_range() -> None:
    value = encode(INSERT).replace(b"429918007904436226", b"9" * 10_000)
    assert error_of(value).error_class == "out_of_range"


def test_a_query_without_rows_is_the_text_of_a_statement() -> None:
    # As official Canal 1.1.7 passes MariaDB's annotate-rows event on.
    no_row = dict.fromkeys(("data", "old", "mysqlType", "sqlType", "pkNames"))
    value = encode(
        {
            **no_row,
            "database": "",
            "table": "",
            "es": 1795263416000,
            "ts": 1795263416945,
            "gtid": "",
            "id": 3,
            "isDdl": False,
            "sql": "insert into t values(1)",
            "type": "QUERY",
        }
    )
    message = decode_canal_json(value)
    assert message.event_kind == "statement"
    assert message.images == ()


@pytest.mark.parametrize("type_", ["QUERY", "TRUNCATE", "insert", ""])
def test_an_unknown_event_type_is_refused(type_: str) -> None:
    error = error_of(encode(change(INSERT, type=type_)))
    assert error.error_class == "unknown_event_type"
    assert error.message == (
        f"Expected `INSERT`, `UPDATE`, `DELETE` or `TIDB_WATERMARK`, got `{type_}`"
    )


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"data": []}, "$.data", "Expected at least one row, got none"),
        ({"old": []}, "$.old", "Expected as many rows as in `data`, 1, got 0"),
        ({"data": [ROW, ROW]}, "$.old", "Expected as many rows as in `data`, 2, got 1"),
    ],
)
def test_data_and_old_must_have_as_many_rows(
    fields: dict[str, Any], path: str, message: str
) -> None:
    error = error_of(encode(change(UPDATE, **fields)))
    assert error.error_class == "row_count_mismatch"
    assert str(error) == f"{message} - at `{path}`"


@pytest.mark.parametrize("type_", ["integ", "", "varchar2(10)", "(10)"])
def test_an_unknown_mysql_type_is_refused(type_: str) -> None:
    error = error_of(encode(with_column(type_, "1")))
    assert error.error_class == "unknown_mysql_type"
    assert str(error) == f"Expected a MySQL type, got `{type_}` - at `$.mysqlType.c`"


@pytest.mark.parametrize("field", ["data", "old"])
def test_a_column_without_a_type_is_refused(field: str) -> None:
    rows = [ROW | {"my column": "1"}]
    error = error_of(encode(change(UPDATE, **{field: rows})))
    assert error.error_class == "missing_type"
    assert str(error) == (
        "Expected a column of `mysqlType`, got `my column` "
        f'- at `$.{field}[0]["my column"]`'
    )


@pytest.mark.parametrize(
    ("text", "repeated", "path"),
    [
        ('"id":"int"', '"id":"int"', "$.mysqlType.id"),
        ('"c_int":"0"', '"c_int":null', "$.data[0].c_int"),
        ('"c_int":"0"', '"c_\\u0069nt":"0"', "$.data[0].c_int"),
        ('"c_int":"2147483647"', '"c_int":"1"', "$.old[0].c_int"),
    ],
)
def test_a_key_that_comes_twice_is_named(text: str, repeated: str, path: str) -> None:
    value = encode(UPDATE).decode()
    assert value.count(text) == 1
    error = error_of(value.replace(text, f"{repeated},{text}").encode())
    assert error.error_class == "duplicate_key"
    key = path.rpartition(".")[2]
    assert str(error) == f"Expected each key once, got `{key}` twice - at `{path}`"


@pytest.mark.parametrize("text", ["\\ud800", "\\uDC00\\uD800", "\\ud83dx"])
def test_half_of_a_surrogate_pair_is_refused(text: str) -> None:
    value = encode(INSERT).replace(b"32767", text.encode())
    error = error_of(value)
    assert error.error_class == "lone_surrogate"
    assert error.path == "$.data[0].c_smallint"
    assert (
        decode_canal_json(encode(INSERT).replace(b"32767", b"\\ud83d\\ude00"))
        .images[0][0]
        .endswith(b'"c_smallint":"\\ud83d\\ude00","id":"2"}')
    )


def test_an_error_about_half_of_a_pair_can_be_stored() -> None:
    error = error_of(b'{"\\ud800":1}')
    assert (error.error_class, error.path) == ("lone_surrogate", '$["\\ud800"]')
    error = error_of(b'{"\\ud800":1,"\\ud800":2}')
    assert error.message == "Expected each key once, got `\\ud800` twice"


@pytest.mark.parametrize("type_", ["blob", "binary(16)", "varbinary", "longblob"])
def test_a_binary_column_has_no_character_above_ff(type_: str) -> None:
    error = error_of(encode(with_column(type_, "aÿ€")))
    assert error.error_class == "not_latin1"
    base = type_.partition("(")[0]
    assert str(error) == (
        f"Expected characters up to U+00FF in a {base}, got U+20AC - at `$.data[0].c`"
    )
    escaped = encode(with_column(type_, "x")).replace(b'"x"', b'"\\u20ac"')
    assert error_of(escaped).error_class == "not_latin1"


@pytest.mark.parametrize(
    ("member", "error_class"),
    [
        ({"onlyHandleKey": True}, "key_only_message"),
        ({"claimCheckLocation": "s3://bucket/a.json"}, "claim_check_message"),
        (
            {"onlyHandleKey": True, "claimCheckLocation": "file:///a"},
            "claim_check_message",
        ),
    ],
)
def test_a_message_without_the_full_row_names_the_option(
    member: dict[str, Any], error_class: str
) -> None:
    error = error_of(encode(change(UPDATE, _tidb={"commitTs": 1} | member)))
    assert error.error_class == error_class
    assert "large-message-handle-option" in error.message
    assert "the row's full content is not in the topic" in error.message
    nothing = {"onlyHandleKey": False, "claimCheckLocation": ""}
    assert decode(change(UPDATE, _tidb={"commitTs": 1} | nothing)).event_kind == "row"


def test_a_delete_with_its_key_only_is_enough() -> None:
    extension = {
        "commitTs": 1,
        "onlyHandleKey": True,
        "claimCheckLocation": "file:///a",
    }
    message = decode(change(DELETE, _tidb=extension))
    assert (message.event_kind, message.event_type) == ("row", "DELETE")


# -------------------------------------------------------------------------- batches


def batch(*values: bytes | None) -> list[dict[str, Any]]:
    array = parse_batch(pa.array(values, pa.binary()))
    assert array.type == CANAL_JSON_TYPE
    array.validate(full=True)
    rows: list[dict[str, Any]] = array.to_pylist()
    return rows


def test_a_batch_keeps_the_order_of_every_kind_of_message() -> None:
    rows = batch(encode(UPDATE), None, encode(DDL), encode(WATERMARK), b"{")
    kinds = [row["event_kind"] for row in rows]
    assert kinds == ["row", "invalid", "ddl", "watermark", "invalid"]
    assert rows[0]["images"] == [
        {"data": encode(ROW).decode(), "old": encode(OLD_ROW).decode()}
    ]
    assert [row["error"] is None for row in rows] == [True, False, True, True, False]
    assert [row["ddl_sql"] for row in rows][2] == "drop database if exists test"
    assert [row["watermark_ts"] for row in rows][3] == 429918007904436226
    assert all(row["images"] == [] for row in rows[1:])


def test_an_empty_batch_is_an_empty_array() -> None:
    assert batch() == []


def test_a_slice_of_an_array_is_read_from_its_start() -> None:
    values = pa.array([b"\xff", b"\n", encode(INSERT), b"\xff"], pa.binary())
    rows = parse_batch(values.slice(2, 1)).to_pylist()
    assert [row["event_kind"] for row in rows] == ["row"]


def test_a_bad_message_tells_what_could_be_read_of_it() -> None:
    row = batch(encode(change(INSERT, data=None)))[0]
    assert row["source_database"] == "test"
    assert row["source_table"] == "tp_int"
    assert row["event_type"] == "INSERT"
    assert row["commit_ts"] == 429918007904436226


@pytest.mark.parametrize("type_", [pa.large_binary(), pa.binary(), pa.string()])
def test_other_types_of_bytes_are_cast(type_: pa.DataType) -> None:
    values = pa.array([encode(INSERT), None], pa.binary()).cast(type_)
    assert parse_batch(values).field("event_kind").to_pylist() == ["row", "invalid"]


# ----------------------------------------------------------------- read without checks


def is_read_quickly(value: bytes) -> bool:
    """Whether a message needs no strict reader."""
    return canal_json._read_rows(value) is not None


@pytest.mark.parametrize(
    "message",
    [
        INSERT,
        UPDATE,
        DELETE,
        change(INSERT, _tidb=ABSENT, id=9223372036854775807),
        change(UPDATE, old=[{"id": "1"}]),
        change(UPDATE, old=[{"c_bigint": None, "id": "1"}]),
        change(UPDATE, data=[ROW | {"c_int": None}]),
        change(UPDATE, data=[ROW | {"c_int": 'x\\"<\t"},é😀[{'}]),
        with_column("varbinary", "\x00ÿ"),
    ],
)
def test_a_row_as_producers_write_it_needs_no_strict_reader(
    message: dict[str, Any],
) -> None:
    value = encode(message)
    assert is_read_quickly(value)
    assert read_canal_json(value) == canal_json._read_strictly(value)


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ('"c_int":"0"', '"c_int":0'),
        ('"c_int":"0"', '"c_int":"0","c_int":"1"'),
        ('"c_int":"0"', '"c_int":"\\ud800"'),
        ('"c_int":"0"', '"c_int":"\\x"'),
        ('"c_int":"0"', '"d_int":"0"'),
        ('"c_int":"2147483647"', '"c_int":"1","c_int":"2"'),
        ('"c_int":"2147483647"', '"x":"1"'),
        ('"c_int":"2147483647"', '"x":"\\":"'),
        ('"id":"2"}]', '"id":"2",}]'),
        ('"c_int":"int"', '"c_int":"integ"'),
        ('"c_int":"int"', '"c_int":"int","c_int":"int"'),
        ('"isDdl":false', '"isDdl":null'),
        ('"es":1639633141221', '"es":01639633141221'),
        ("429918007904436226", "9999999999999999999"),
        ('"old":[{', '"old":[{},{'),
        ('"_tidb":{', '"_tidb":{"onlyHandleKey":true,'),
    ],
)
def test_what_may_be_wrong_is_read_strictly(text: str, replacement: str) -> None:
    good = encode(UPDATE)
    assert is_read_quickly(good)
    value = good.decode().replace(text, replacement).encode()
    assert value != good
    assert not is_read_quickly(value)


@pytest.mark.parametrize("number", [ABSENT, None, "7", -1, 1.5, True, 2**63])
def test_a_row_without_the_number_of_its_batch_is_read(number: object) -> None:
    message = decode(change(INSERT, id=number))
    assert (message.event_kind, message.batch_number) == ("row", None)


def test_columns_may_come_in_any_order() -> None:
    other = encode(change(INSERT, data=[dict(reversed(ROW.items()))]))
    for value in (encode(INSERT), other, encode(INSERT)):
        assert is_read_quickly(value)
    first, second = read_canal_json(encode(INSERT)), read_canal_json(other)
    assert json.loads(first.column_types or "") == json.loads(second.column_types or "")
    assert first.column_types != second.column_types


def test_a_table_with_very_many_columns_is_read() -> None:
    row = {f"column_{number}": "1" for number in range(20_000)}
    types = dict.fromkeys(row, "int")
    value = encode(change(INSERT, data=[row], mysqlType=types, sqlType={}))
    assert batch(value)[0]["event_kind"] == "row"
