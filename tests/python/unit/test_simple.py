"""The decoder of the Simple protocol in JSON: every kind of message, every way to be wrong.

The messages are those of the TiCDC reference, or differ from them by one thing.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from decoding import raising
from simple_messages import (
    ABSENT,
    BOOTSTRAP,
    DDL,
    DELETE,
    INSERT,
    OLD_ROW,
    PRE_SCHEMA,
    PRIMARY,
    ROW,
    SCHEMA,
    UPDATE,
    WATERMARK,
    as_row,
    change,
    encode,
)

from changefold.errors import CdcDecodeError
from changefold.json.parse import MAX_DEPTH, MAX_MESSAGE_BYTES
from changefold.protocols import simple_json
from changefold.protocols.batch import spark_type
from changefold.protocols.simple_json import (
    DDL_TYPES,
    SIMPLE_TYPE,
    SimpleMessage,
    parse_batch,
    read_simple,
)

decode_simple = raising(read_simple)

SAMPLES = Path(__file__).parents[2] / "golden" / "ticdc" / "simple_samples"

TIMESTAMP = {"location": "Asia/Shanghai", "value": "2024-02-26 13:01:01"}


def decode(message: dict[str, Any]) -> SimpleMessage:
    return decode_simple(encode(message))


def error_of(value: bytes | None) -> CdcDecodeError:
    with pytest.raises(CdcDecodeError) as caught:
        decode_simple(value)
    assert parse_batch(pa.array([value], pa.binary())).to_pylist()[0]["error"] == {
        "class": caught.value.error_class,
        "path": caught.value.path,
        "message": caught.value.message,
    }
    return caught.value


def with_columns(*columns: dict[str, Any]) -> dict[str, Any]:
    """A BOOTSTRAP of a table without indexes."""
    schema = PRE_SCHEMA | {"columns": list(columns), "indexes": []}
    return change(BOOTSTRAP, tableSchema=schema)


def column(**changes: Any) -> dict[str, Any]:
    """The first column of the sample; `dataType` is changed, not replaced."""
    first = PRE_SCHEMA["columns"][0]
    data_type = change(first["dataType"], **changes.pop("dataType", {}))
    return change(first, dataType=data_type, **changes)


def read_column(**changes: Any) -> dict[str, Any]:
    text = decode(with_columns(column(**changes))).table_schema
    assert text is not None
    [read] = json.loads(text)["columns"]
    assert isinstance(read, dict)
    return read


# ------------------------------------------------------------------- good messages


def test_an_insert_has_a_row_and_no_old_row() -> None:
    assert decode(INSERT) == SimpleMessage(
        event_kind="row",
        source_database="simple",
        source_table="user",
        event_type="INSERT",
        commit_ts=447984084414103554,
        build_ts_ms=1708923662983,
        schema_version=447984074911121426,
        table_id=148,
        data=encode(OLD_ROW).decode(),
    )


def test_an_update_has_both_rows() -> None:
    message = decode(UPDATE)
    assert message.event_type == "UPDATE"
    assert message.data == encode(ROW).decode()
    assert message.old == encode(OLD_ROW).decode()


def test_the_deleted_row_is_in_old() -> None:
    message = decode(DELETE)
    assert message.data is None
    assert message.old == encode(ROW).decode()


def test_a_watermark_has_a_time_and_no_commit() -> None:
    assert decode(WATERMARK) == SimpleMessage(
        event_kind="watermark",
        source_database="",
        source_table="",
        event_type="WATERMARK",
        watermark_ts=447984124732375041,
        build_ts_ms=1708923816911,
    )


def test_a_ddl_has_the_table_before_and_after() -> None:
    message = decode(DDL)
    assert message.event_kind == "ddl"
    assert message.event_type == "ALTER"
    assert message.ddl_sql == "ALTER TABLE `user` ADD COLUMN `createTime` TIMESTAMP"
    assert message.commit_ts == 447987408682614795
    assert message.schema_version == 447987408682614791
    assert (message.source_database, message.source_table) == ("simple", "user")
    assert message.table_id == 148
    versions = [
        json.loads(text or "")["version"]
        for text in (message.pre_table_schema, message.table_schema)
    ]
    assert versions == [447984074911121426, 447987408682614791]


def test_a_bootstrap_has_a_schema_and_no_time() -> None:
    message = decode(BOOTSTRAP)
    assert message.event_kind == "bootstrap"
    assert (message.source_database, message.source_table) == ("simple", "new_user")
    assert message.schema_version == 447984074911121426
    assert message.commit_ts is None
    assert message.build_ts_ms == 1708924603278
    assert message.pre_table_schema is None


def test_a_schema_comes_in_one_form() -> None:
    schema = PRE_SCHEMA | {"columns": PRE_SCHEMA["columns"][:2]}
    assert decode(change(BOOTSTRAP, tableSchema=schema)).table_schema == (
        '{"database":"simple","table":"user","table_id":148,'
        '"version":447984074911121426,"columns":['
        '{"name":"id","type":"int","length":11,"decimal":null,"elements":null,'
        '"unsigned":null,"zerofill":null,"charset":"binary","collate":"binary",'
        '"nullable":false,"default":null},'
        '{"name":"name","type":"varchar","length":255,"decimal":null,"elements":null,'
        '"unsigned":null,"zerofill":null,"charset":"utf8mb4","collate":"utf8mb4_bin",'
        '"nullable":true,"default":null}],"indexes":[{"name":"primary","unique":true,'
        '"primary":true,"nullable":false,"columns":["id"]}]}'
    )


@pytest.mark.parametrize(
    ("message", "event_kind"),
    [
        (INSERT, "row"),
        (UPDATE, "row"),
        (DELETE, "row"),
        (DDL, "ddl"),
        (WATERMARK, "watermark"),
        (BOOTSTRAP, "bootstrap"),
    ],
)
def test_white_space_and_other_fields_change_nothing(
    message: dict[str, Any], event_kind: str
) -> None:
    value = json.dumps(message | {"later": {"a": [1.5]}}, indent=3).encode()
    read = decode_simple(value)
    assert read.event_kind == event_kind
    for name in ("data", "old"):
        text = getattr(read, name)
        assert (text and json.loads(text)) == message.get(name)
        setattr(read, name, getattr(decode(message), name))
    assert read == decode(message)


@pytest.mark.parametrize("type_", sorted(DDL_TYPES))
def test_every_type_of_ddl_is_a_ddl(type_: str) -> None:
    assert decode(change(DDL, type=type_)).event_kind == "ddl"


def test_a_ddl_on_a_database_has_no_table() -> None:
    message = decode(change(DDL, tableSchema=ABSENT, preTableSchema=None))
    assert (message.source_database, message.source_table) == ("", "")
    assert message.table_schema is None
    assert (message.table_id, message.schema_version) == (None, None)


def test_a_ddl_may_have_only_one_of_the_schemas() -> None:
    created = decode(change(DDL, type="CREATE", preTableSchema=ABSENT))
    assert created.pre_table_schema is None
    assert created.schema_version == SCHEMA["version"]
    erased = decode(change(DDL, type="ERASE", tableSchema=ABSENT))
    assert erased.table_schema is None
    assert erased.source_table == "user"
    assert erased.schema_version == PRE_SCHEMA["version"]


def test_a_rename_is_of_the_new_name() -> None:
    renamed = change(DDL, type="RENAME", tableSchema=SCHEMA | {"table": "person"})
    assert decode(renamed).source_table == "person"


def test_row_text_is_kept_byte_for_byte() -> None:
    row = '{ "c" :\t"\\u003c\\/ \\"é😀" , "d":null}'
    value = encode(INSERT).replace(encode(OLD_ROW), row.encode())
    assert decode_simple(value).data == row


def test_a_value_may_be_a_timestamp_with_its_location() -> None:
    message = decode(change(INSERT, data={"c": TIMESTAMP}))
    assert message.data == encode({"c": TIMESTAMP}).decode()
    turned = {"value": "2024-02-26 13:01:01", "location": "UTC"}
    assert decode(change(INSERT, data={"c": turned})).event_kind == "row"


def test_flags_of_a_whole_row_change_nothing() -> None:
    checksum = {"version": 0, "corrupted": False, "current": 1, "previous": 2}
    for flags in (
        {"handleKeyOnly": False, "claimCheckLocation": "", "checksum": checksum},
        {"handleKeyOnly": None, "claimCheckLocation": None, "checksum": None},
    ):
        assert decode(INSERT | flags) == decode(INSERT)


@pytest.mark.parametrize("message", [INSERT, DDL, WATERMARK, BOOTSTRAP])
@pytest.mark.parametrize("time", [-1, 10**13, 2**63 - 1])
def test_a_time_that_no_timestamp_can_hold_is_refused(
    message: dict[str, Any], time: int
) -> None:
    error = error_of(encode(message | {"buildTs": time}))
    assert (error.error_class, error.path) == ("out_of_range", "$.buildTs")
    assert decode(message | {"buildTs": 10**13 - 1}).error is None


def test_a_column_name_that_sql_can_not_read_is_refused() -> None:
    error = error_of(encode(INSERT | {"data": {"x" * 10_001: "1"}}))
    assert (error.error_class, error.path) == ("name_too_long", "$.data")


def test_numbers_above_2_to_53_are_exact() -> None:
    for at in (2**53 + 1, 2**63 - 1):
        message = decode(change(INSERT, commitTs=at, schemaVersion=at, tableID=at))
        assert message.commit_ts == message.schema_version == message.table_id == at


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        ({}, {"length": 11, "decimal": None, "unsigned": None, "zerofill": None}),
        ({"length": ABSENT}, {"length": None}),
        ({"length": -1, "decimal": -1}, {"length": None, "decimal": None}),
        ({"length": 0, "decimal": 0}, {"length": None, "decimal": None}),
        ({"mysqlType": "decimal", "length": 12, "decimal": 2}, {"decimal": 2}),
        ({"unsigned": True, "zerofill": True}, {"unsigned": True, "zerofill": True}),
        ({"unsigned": False, "zerofill": None}, {"unsigned": None, "zerofill": None}),
        ({"mysqlType": "enum", "elements": ["a", ""]}, {"elements": ["a", ""]}),
        ({"elements": []}, {"elements": None}),
        ({"mysqlType": "unspecified", "charset": ""}, {"type": "unspecified"}),
        ({"mysqlType": "json", "length": 4294967295}, {"length": 4294967295}),
        ({"mysqlType": "vector", "length": -1}, {"type": "vector"}),
    ],
)
def test_what_a_type_leaves_out_is_null(
    data_type: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert read_column(dataType=data_type).items() >= expected.items()


@pytest.mark.parametrize(
    ("type_", "length", "decimal"),
    [
        ("datetime", 19, None),
        ("datetime", 26, 6),
        ("timestamp", 23, 3),
        ("time", 10, None),
        ("time", 14, 3),
        ("date", 10, None),
        ("year", 4, None),
    ],
)
def test_the_length_of_a_time_tells_its_digits(
    type_: str, length: int, decimal: int | None
) -> None:
    for left_out in ({}, {"decimal": -1}, {"decimal": 0}):
        data_type = {"mysqlType": type_, "length": length, **left_out}
        assert read_column(dataType=data_type)["decimal"] == decimal


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        (None, None),
        ("", ""),
        ("it's", "it's"),
        (5, "5"),
        (2**64 - 1, "18446744073709551615"),
    ],
)
def test_a_default_is_text(default: object, expected: str | None) -> None:
    assert read_column(default=default)["default"] == expected


def test_an_index_is_nullable_if_one_of_its_columns_is() -> None:
    index = PRIMARY | {"name": "u", "primary": False}
    for columns, nullable in ((["id"], False), (["id", "name"], True)):
        for said in (False, True):
            schema = PRE_SCHEMA | {
                "indexes": [index | {"columns": columns, "nullable": said}]
            }
            text = decode(change(BOOTSTRAP, tableSchema=schema)).table_schema
            assert text is not None
            assert json.loads(text)["indexes"][0]["nullable"] is nullable


# -------------------------------------------------------------------- bad messages


@pytest.mark.parametrize(
    ("value", "error_class", "message"),
    [
        (None, "null_value", "Expected a message, got a null value"),
        (b"", "not_json", "Expected JSON, got an empty value"),
        (b"\x16\x06\x06", "not_json", "Expected JSON, got "),
        (b"{} {}", "not_json", "Expected the end of the message, got `{}`"),
        (b'{"a":"\xff"}', "not_utf8", "Expected UTF-8, got byte 0xFF at byte 6"),
        (b'{"a":1', "truncated_json", "Expected more JSON after 6 characters"),
        (b"[]", "wrong_type", "Expected `object`, got `array`"),
    ],
)
def test_what_is_not_a_json_object_is_refused(
    value: bytes | None, error_class: str, message: str
) -> None:
    error = error_of(value)
    assert (error.error_class, error.path) == (error_class, "$")
    assert error.message.startswith(message)


@pytest.mark.parametrize("message", [UPDATE, WATERMARK, BOOTSTRAP])
def test_a_message_cut_anywhere_is_truncated(message: dict[str, Any]) -> None:
    value = encode(message)
    for end in range(1, len(value)):
        assert error_of(value[:end]).error_class == "truncated_json", value[:end]


def test_a_message_above_the_limit_is_refused() -> None:
    assert error_of(b" " * (MAX_MESSAGE_BYTES + 1)).error_class == "too_large"


def test_deep_nesting_is_refused_and_harms_nothing() -> None:
    value = b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}"
    assert error_of(value).error_class == "too_deep"


@pytest.mark.parametrize(
    ("message", "field", "expected"),
    [
        *((INSERT, name, "str") for name in ("type", "database", "table")),
        *((INSERT, name, "int") for name in ("version", "tableID", "commitTs")),
        *((INSERT, name, "int") for name in ("buildTs", "schemaVersion")),
        (INSERT, "data", "object"),
        (UPDATE, "data", "object"),
        (UPDATE, "old", "object"),
        (DELETE, "old", "object"),
        (DDL, "sql", "str"),
        (DDL, "commitTs", "int"),
        (DDL, "buildTs", "int"),
        (WATERMARK, "commitTs", "int"),
        (WATERMARK, "buildTs", "int"),
        (BOOTSTRAP, "commitTs", "int"),
        (BOOTSTRAP, "buildTs", "int"),
        (BOOTSTRAP, "tableSchema", "object"),
    ],
)
def test_a_missing_field_is_named(
    message: dict[str, Any], field: str, expected: str
) -> None:
    error = error_of(encode(change(message, **{field: ABSENT})))
    assert error.error_class == "missing_field"
    assert str(error) == f"Expected `{expected}`, got no such field - at `$.{field}`"


@pytest.mark.parametrize(
    ("message", "field"),
    [(INSERT, "data"), (UPDATE, "old"), (DELETE, "old"), (BOOTSTRAP, "tableSchema")],
)
def test_null_is_not_an_object(message: dict[str, Any], field: str) -> None:
    error = error_of(encode(change(message, **{field: None})))
    assert error.error_class == "missing_field"
    assert str(error) == f"Expected `object`, got `null` - at `$.{field}`"


@pytest.mark.parametrize(
    ("message", "fields", "path", "expected"),
    [
        (INSERT, {"version": "1"}, "$.version", "Expected `int`, got `str`"),
        (INSERT, {"type": ["INSERT"]}, "$.type", "Expected `str`, got `array`"),
        (INSERT, {"database": None}, "$.database", "Expected `str`, got `null`"),
        (INSERT, {"table": 1}, "$.table", "Expected `str`, got `int`"),
        (INSERT, {"tableID": 1.0}, "$.tableID", "Expected `int`, got `float`"),
        (INSERT, {"commitTs": True}, "$.commitTs", "Expected `int`, got `bool`"),
        (INSERT, {"buildTs": {}}, "$.buildTs", "Expected `int`, got `object`"),
        (INSERT, {"data": [ROW]}, "$.data", "Expected `object`, got `array`"),
        (INSERT, {"old": ROW}, "$.old", "Expected `null`, got `object`"),
        (DELETE, {"data": ROW}, "$.data", "Expected `null`, got `object`"),
        (UPDATE, {"old": "x"}, "$.old", "Expected `object`, got `str`"),
        (
            UPDATE,
            {"old": {"id": 1}},
            "$.old.id",
            "Expected `str | object | null`, got `int`",
        ),
        (
            INSERT,
            {"data": {"my column": [1]}},
            '$.data["my column"]',
            "Expected `str | object | null`, got `array`",
        ),
        (
            INSERT,
            {"data": {"c": TIMESTAMP | {"value": None}}},
            "$.data.c.value",
            "Expected `str`, got `null`",
        ),
        (
            INSERT,
            {"handleKeyOnly": "true"},
            "$.handleKeyOnly",
            "Expected `bool`, got `str`",
        ),
        (
            INSERT,
            {"claimCheckLocation": 1},
            "$.claimCheckLocation",
            "Expected `str`, got `int`",
        ),
        (
            INSERT,
            {"checksum": 1},
            "$.checksum",
            "Expected `object | null`, got `int`",
        ),
        (
            INSERT,
            {
                "checksum": {
                    "version": 1,
                    "corrupted": 0,
                    "current": 1,
                    "previous": 1,
                }
            },
            "$.checksum.corrupted",
            "Expected `bool`, got `int`",
        ),
        (DDL, {"sql": None}, "$.sql", "Expected `str`, got `null`"),
        (
            DDL,
            {"tableSchema": [SCHEMA]},
            "$.tableSchema",
            "Expected `object | null`, got `array`",
        ),
    ],
)
def test_a_wrong_type_is_named_with_its_place(
    message: dict[str, Any], fields: dict[str, Any], path: str, expected: str
) -> None:
    error = error_of(encode(change(message, **fields)))
    assert error.error_class == "wrong_type"
    assert str(error) == f"{expected} - at `{path}`"


@pytest.mark.parametrize(
    ("value", "error_class", "path", "expected"),
    [
        (
            {"location": "UTC"},
            "missing_field",
            "$.data.c.value",
            "Expected `str`, got no such field",
        ),
        (
            TIMESTAMP | {"fsp": "3"},
            "unknown_field",
            "$.data.c.fsp",
            "Expected `location` and `value`, got `fsp`",
        ),
    ],
)
def test_a_timestamp_has_its_two_fields_and_no_other(
    value: dict[str, str], error_class: str, path: str, expected: str
) -> None:
    error = error_of(encode(change(INSERT, data={"c": value})))
    assert error.error_class == error_class
    assert str(error) == f"{expected} - at `{path}`"


@pytest.mark.parametrize(
    ("message", "field"),
    [
        *((INSERT, name) for name in ("tableID", "commitTs", "schemaVersion")),
        (WATERMARK, "commitTs"),
    ],
)
@pytest.mark.parametrize("number", [-1, 2**63, 10**4000])
def test_a_number_out_of_range_is_refused(
    message: dict[str, Any], field: str, number: int
) -> None:
    error = error_of(encode(change(message, **{field: number})))
    assert (error.error_class, error.path) == ("out_of_range", f"$.{field}")
    assert error.message.startswith("Expected `int` from 0 to 9223372036854775807, got")


@pytest.mark.parametrize("version", [0, 2])
def test_another_version_of_the_protocol_is_refused(version: int) -> None:
    for message in (INSERT, DDL, WATERMARK, BOOTSTRAP):
        error = error_of(encode(change(message, version=version)))
        assert error.error_class == "unsupported_version"
        assert str(error) == (
            f"Expected version 1 of the Simple protocol, got {version} - at `$.version`"
        )


@pytest.mark.parametrize("type_", ["insert", "TIDB_WATERMARK", "", "DML"])
def test_an_unknown_event_type_is_refused(type_: str) -> None:
    error = error_of(encode(change(INSERT, type=type_)))
    assert (error.error_class, error.path) == ("unknown_event_type", "$.type")
    assert error.message == (
        "Expected a type of the Simple protocol, such as `INSERT`, `CREATE`, "
        f"`WATERMARK` or `BOOTSTRAP`, got `{type_}`"
    )


@pytest.mark.parametrize(
    ("fields", "error_class", "path", "message"),
    [
        (
            {"handleKeyOnly": True},
            "key_only_message",
            "$.handleKeyOnly",
            "Expected a full row, got its key columns only: the changefeed runs with",
        ),
        (
            {"handleKeyOnly": True, "claimCheckLocation": "s3://bucket/a.json"},
            "claim_check_message",
            "$.claimCheckLocation",
            "Expected a full row, got a reference to `s3://bucket/a.json`: the",
        ),
        (
            {
                "checksum": {
                    "version": 1,
                    "corrupted": True,
                    "current": 1,
                    "previous": 2,
                }
            },
            "corrupted_row",
            "$.checksum.corrupted",
            "Expected a row that agrees with its checksum, got one that TiCDC marked",
        ),
    ],
)
def test_a_row_that_is_cut_down_or_corrupted_is_refused(
    fields: dict[str, Any], error_class: str, path: str, message: str
) -> None:
    for row in (INSERT, UPDATE):
        error = error_of(encode(row | fields))
        assert (error.error_class, error.path) == (error_class, path)
        assert error.message.startswith(message)


def test_a_delete_that_does_not_agree_with_its_checksum_is_refused() -> None:
    checksum = {"version": 1, "corrupted": True, "current": 1, "previous": 2}
    error = error_of(encode(DELETE | {"checksum": checksum}))
    assert error.error_class == "corrupted_row"


def test_a_delete_with_its_key_only_is_enough() -> None:
    message = decode(change(DELETE, handleKeyOnly=True))
    assert (message.event_kind, message.event_type) == ("row", "DELETE")


def test_recorded_rows_with_a_key_only_are_refused() -> None:
    with gzip.open(SAMPLES / "simple_json_large_handle_key_only.ndjson.gz") as file:
        values = [json.loads(line)["value"].encode() for line in file]
    assert [error_of(value).error_class for value in values] == ["key_only_message"] * 3


@pytest.mark.parametrize(
    ("text", "repeated", "path"),
    [
        ('"commitTs":447984099186180098', '"commitTs":1', "$.commitTs"),
        ('"data":{', '"data":null', "$.data"),
        ('"score":"95"', '"score":null', "$.data.score"),
        ('"score":"95"', '"s\\u0063ore":"95"', "$.data.score"),
        ('"score":"90.5"', '"score":"1"', "$.old.score"),
    ],
)
def test_a_key_that_comes_twice_is_named(text: str, repeated: str, path: str) -> None:
    value = encode(UPDATE).decode()
    assert value.count(text) == 1
    error = error_of(value.replace(text, f"{repeated},{text}").encode())
    assert error.error_class == "duplicate_key"
    key = path.rpartition(".")[2]
    assert str(error) == f"Expected each key once, got `{key}` twice - at `{path}`"


def test_half_of_a_surrogate_pair_is_refused() -> None:
    error = error_of(encode(INSERT).replace(b"John", b"\\ud800"))
    assert (error.error_class, error.path) == ("lone_surrogate", "$.data.name")


# ---------------------------------------------------------------------- bad schemas


@pytest.mark.parametrize(
    ("schema", "error_class", "path", "message"),
    [
        ({"schema": ABSENT}, "missing_field", ".schema", "Expected `str`, got no such"),
        ({"table": 1}, "wrong_type", ".table", "Expected `str`, got `int`"),
        ({"tableID": -1}, "out_of_range", ".tableID", "Expected `int` from 0 to"),
        ({"version": "1"}, "wrong_type", ".version", "Expected `int`, got `str`"),
        ({"columns": ABSENT}, "missing_field", ".columns", "Expected `array`, got no"),
        ({"columns": {}}, "wrong_type", ".columns", "Expected `array`, got `object`"),
        ({"columns": [1]}, "wrong_type", ".columns[0]", "Expected `object`, got `int`"),
        (
            {"columns": []},
            "no_columns",
            ".columns",
            "Expected at least one column, got none",
        ),
        (
            {"columns": [column(), column(name="other"), column()]},
            "duplicate_column",
            ".columns[2].name",
            "Expected each column once, got `id` twice",
        ),
        ({"indexes": None}, "wrong_type", ".indexes", "Expected `array`, got `null`"),
        (
            {"indexes": [PRIMARY, PRIMARY | {"columns": ["id", "x"]}]},
            "unknown_column",
            ".indexes[1].columns[1]",
            "Expected a column of the table, got `x`",
        ),
        (
            {"indexes": [PRIMARY | {"columns": []}]},
            "no_columns",
            ".indexes[0].columns",
            "Expected at least one column, got none",
        ),
        (
            {"indexes": [PRIMARY | {"columns": "id"}]},
            "wrong_type",
            ".indexes[0].columns",
            "Expected `array`, got `str`",
        ),
        (
            {"indexes": [PRIMARY | {"columns": [1]}]},
            "wrong_type",
            ".indexes[0].columns[0]",
            "Expected `str`, got `int`",
        ),
        *(
            (
                {"indexes": [PRIMARY | {name: None}]},
                "wrong_type",
                f".indexes[0].{name}",
                "Expected `bool`, got `null`",
            )
            for name in ("unique", "primary", "nullable")
        ),
    ],
)
def test_a_bad_schema_is_refused(
    schema: dict[str, Any], error_class: str, path: str, message: str
) -> None:
    for name in ("tableSchema", "preTableSchema"):
        error = error_of(encode(change(DDL, **{name: change(SCHEMA, **schema)})))
        assert (error.error_class, error.path) == (error_class, f"$.{name}{path}")
        assert error.message.startswith(message)


@pytest.mark.parametrize(
    ("changes", "error_class", "path", "message"),
    [
        ({"name": ABSENT}, "missing_field", ".name", "Expected `str`, got no such"),
        ({"nullable": 1}, "wrong_type", ".nullable", "Expected `bool`, got `int`"),
        (
            {"default": ABSENT},
            "missing_field",
            ".default",
            "Expected `str | int | null`",
        ),
        (
            {"default": 1.5},
            "wrong_type",
            ".default",
            "Expected `str | int | null`, got",
        ),
        ({"default": False}, "wrong_type", ".default", "Expected `str | int | null`"),
        ({"default": -1}, "out_of_range", ".default", "Expected `int` from 0 to 18446"),
        (
            {"default": 2**64},
            "out_of_range",
            ".default",
            "Expected `int` from 0 to 18446744073709551615, got 18446744073709551616",
        ),
        *(
            ({"dataType": {name: value}}, class_, f".dataType.{name}", message)
            for name, value, class_, message in [
                ("mysqlType", ABSENT, "missing_field", "Expected `str`, got no such"),
                (
                    "mysqlType",
                    "integ",
                    "unknown_mysql_type",
                    "Expected the name of a MySQL type, got `integ`",
                ),
                (
                    "mysqlType",
                    "int(11)",
                    "unknown_mysql_type",
                    "Expected the name of a MySQL type, got `int(11)`",
                ),
                (
                    "mysqlType",
                    "bigint unsigned",
                    "unknown_mysql_type",
                    "Expected the name of a MySQL type, got `bigint unsigned`",
                ),
                ("charset", None, "wrong_type", "Expected `str`, got `null`"),
                ("collate", ABSENT, "missing_field", "Expected `str`, got no such"),
                ("length", "11", "wrong_type", "Expected `int`, got `str`"),
                ("length", -2, "out_of_range", "Expected `int` from 0 to"),
                ("decimal", 1.5, "wrong_type", "Expected `int`, got `float`"),
                ("unsigned", "yes", "wrong_type", "Expected `bool`, got `str`"),
                ("elements", "a", "wrong_type", "Expected `array`, got `str`"),
            ]
        ),
    ],
)
def test_a_bad_column_is_refused(
    changes: dict[str, Any], error_class: str, path: str, message: str
) -> None:
    error = error_of(encode(with_columns(column(**changes))))
    assert error.error_class == error_class
    assert error.path == f"$.tableSchema.columns[0]{path}"
    assert error.message.startswith(message)


def test_a_column_without_an_object_as_its_type_is_refused() -> None:
    error = error_of(encode(with_columns(column() | {"dataType": "int"})))
    assert str(error) == (
        "Expected `object`, got `str` - at `$.tableSchema.columns[0].dataType`"
    )


# -------------------------------------------------------------------------- batches


def batch(*values: bytes | None) -> list[dict[str, Any]]:
    rows = parse_batch(pa.array(values, pa.binary()))
    rows.validate(full=True)
    assert rows.type == SIMPLE_TYPE
    listed: list[dict[str, Any]] = rows.to_pylist()
    return listed


def test_the_type_for_spark_is_that_of_the_messages() -> None:
    text = spark_type(SIMPLE_TYPE)
    assert text.startswith("struct<event_kind: string, ")
    assert "commit_ts: bigint" in text
    assert text.endswith("error: struct<class: string, path: string, message: string>>")


def test_a_batch_keeps_order_and_loses_nothing() -> None:
    values = [encode(m) for m in (DDL, INSERT, WATERMARK, UPDATE, BOOTSTRAP, DELETE)]
    rows = batch(*values, None, b"{")
    assert rows == [as_row(read_simple(value)) for value in (*values, None, b"{")]
    assert [row["event_kind"] for row in rows] == [
        *("ddl", "row", "watermark", "row", "bootstrap", "row", "invalid", "invalid")
    ]


def test_an_empty_batch_is_an_empty_array() -> None:
    assert batch() == []


def test_a_bad_message_tells_what_could_be_read_of_it() -> None:
    row = batch(encode(change(INSERT, data=None)))[0]
    assert row["source_database"] == "simple"
    assert row["source_table"] == "user"
    assert row["event_type"] == "INSERT"
    assert row["commit_ts"] == 447984084414103554
    assert row["schema_version"] == 447984074911121426


@pytest.mark.parametrize("type_", [pa.large_binary(), pa.binary(), pa.string()])
def test_other_types_of_bytes_are_cast(type_: pa.DataType) -> None:
    values = pa.array([encode(INSERT), None], pa.binary()).cast(type_)
    assert parse_batch(values).field("event_kind").to_pylist() == ["row", "invalid"]


# ----------------------------------------------------------------- read without checks


def is_read_quickly(value: bytes) -> bool:
    """Whether a message needs no strict reader."""
    return simple_json._read_row(value) is not None


@pytest.mark.parametrize(
    "message",
    [
        INSERT,
        UPDATE,
        DELETE,
        change(INSERT, data=ROW | {"name": None}),
        change(INSERT, data=ROW | {"name": TIMESTAMP}),
        change(UPDATE, old=ROW | {"name": 'x\\"<\t"},"old":{é😀[{'}),
        change(DELETE, old=ROW | {"old": "1"}),
        change(INSERT, data={}),
        change(INSERT, tableID=0),
    ],
)
def test_a_row_as_ticdc_writes_it_needs_no_strict_reader(
    message: dict[str, Any],
) -> None:
    value = encode(message)
    assert is_read_quickly(value)
    assert read_simple(value) == simple_json._read_strictly(value)


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ('"version":1', '"version":2'),
        ('"age":"25"', '"age":25'),
        ('"age":"25"', '"age":"25","age":"26"'),
        ('"age":"25"', '"age":"\\ud800"'),
        ('"age":"25"', '"age":"\\x"'),
        ('"age":"25"', '"age":{"location":"UTC"}'),
        ('"age":"25"', '"age":{"location":"UTC","value":null}'),
        ('"age":"25"', '"age":{"location":"UTC","value":"1","x":"1"}'),
        ('"score":"95"}', '"score":"95",}'),
        ('"tableID":148', '"tableID":0148'),
        ('"commitTs":4', '"commitTs":04'),
        ("447984099186180098", "9999999999999999999"),
        (',"data":', ',"handleKeyOnly":true,"data":'),
        ('"data":{', '"data":null,"data":{'),
        (',"old":{', ',"old":{},"old":{'),
        ("}}", "}},"),
    ],
)
def test_what_may_be_wrong_is_read_strictly(text: str, replacement: str) -> None:
    good = encode(UPDATE)
    assert is_read_quickly(good)
    value = good.decode().replace(text, replacement).encode()
    assert value != good
    assert not is_read_quickly(value)


def test_a_row_with_the_images_of_another_type_is_read_strictly() -> None:
    for message in (INSERT, UPDATE, DELETE):
        for type_ in ("INSERT", "UPDATE", "DELETE"):
            turned = encode(change(message, type=type_))
            assert is_read_quickly(turned) == (type_ == message["type"])


def test_a_row_with_its_checksum_is_read_unless_it_is_corrupted() -> None:
    checksum = {"version": 1, "corrupted": False, "current": 1, "previous": 0}
    good = encode(change(UPDATE, checksum=checksum))
    assert is_read_quickly(good)
    assert read_simple(good) == simple_json._read_strictly(good)
    checksum["corrupted"] = True
    assert not is_read_quickly(encode(change(UPDATE, checksum=checksum)))


def test_a_table_with_very_many_columns_is_read() -> None:
    row = {f"column_{number}": "1" for number in range(20_000)}
    assert batch(encode(change(INSERT, data=row)))[0]["event_kind"] == "row"
