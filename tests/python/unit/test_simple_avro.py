"""The decoder of the Simple protocol in Avro: it reads what the JSON encoding says.

The recorded samples were written by TiCDC in both encodings. The other messages are
those of the TiCDC reference, or differ from them by one thing.
"""

import base64
import gzip
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from decoding import raising
from simple_messages import (
    BOOTSTRAP,
    DDL,
    DELETE,
    INSERT,
    NULL,
    OLD_USER_ROW,
    PRE_SCHEMA,
    SCHEMA,
    UPDATE,
    USER_ROW,
    WATERMARK,
    Raw,
    as_row,
    binary,
    bootstrap_message,
    change,
    ddl_message,
    double,
    encode,
    image,
    long,
    number,
    row_message,
    single,
    string,
    text,
    timestamp,
    unsigned,
    watermark_message,
)

from changefold.errors import CdcDecodeError
from changefold.json.parse import MAX_MESSAGE_BYTES
from changefold.protocols import simple_avro, simple_json
from changefold.protocols.simple_avro import read_simple_avro
from changefold.protocols.simple_json import SIMPLE_TYPE, SimpleMessage, read_simple

decode_simple_avro = raising(read_simple_avro)

SAMPLES = Path(__file__).parents[2] / "golden" / "ticdc" / "simple_samples"

ROWS = {
    "INSERT": row_message(INSERT, OLD_USER_ROW),
    "UPDATE": row_message(UPDATE, USER_ROW, OLD_USER_ROW),
    "DELETE": row_message(DELETE, None, USER_ROW),
}

CORRUPTED = (
    "Expected a row that agrees with its checksum, got one that TiCDC marked as "
    "corrupted - at `$.checksum.corrupted`"
)

LENGTH = len(ROWS["INSERT"])


def error_of(value: bytes | None) -> CdcDecodeError:
    with pytest.raises(CdcDecodeError) as caught:
        decode_simple_avro(value)
    values = pa.array([value], pa.binary())
    assert simple_avro.parse_batch(values).to_pylist()[0]["error"] == {
        "class": caught.value.error_class,
        "path": caught.value.path,
        "message": caught.value.message,
    }
    return caught.value


def read_values(**values: Raw) -> dict[str, Any]:
    message = decode_simple_avro(row_message(INSERT, values))
    assert message.data is not None
    read: dict[str, Any] = json.loads(message.data)
    return read


# ---------------------------------------------------------------- recorded messages


def recorded(name: str) -> dict[tuple[str, int, int], bytes]:
    values = {}
    with gzip.open(SAMPLES / name) as file:
        for line in file:
            record = json.loads(line)
            place = (record["topic"], record["partition"], record["offset"])
            values[place] = (
                base64.b64decode(record["value_base64"])
                if "value_base64" in record
                else record["value"].encode()
            )
    return values


def comparable(message: SimpleMessage) -> SimpleMessage:
    """Without what differs: each encoding was recorded at a time of its own."""
    message.build_ts_ms = None
    if message.source_table in {"t_num", "t_enum"}:
        message.data = as_signed(message.data)
        message.old = as_signed(message.old)
    return message


def as_signed(row: str | None) -> str | None:
    """Write the columns of 64 bits, a BIT and a SET, as the numbers that Avro has."""
    if row is None:
        return None
    values = json.loads(row)
    for name in {"c_b64", "c_s64"} & values.keys():
        if values[name] is not None and int(values[name]) >= 2**63:
            values[name] = str(int(values[name]) - 2**64)
    return encode(values).decode()


def test_recorded_messages_say_the_same_in_both_encodings() -> None:
    in_json = recorded("simple_json.ndjson.gz")
    in_avro = recorded("simple_avro.ndjson.gz")
    assert in_json.keys() == in_avro.keys()
    kinds = set()
    for place, value in in_json.items():
        message = read_simple_avro(in_avro[place])
        assert message.error is None
        assert comparable(message) == comparable(read_simple(value)), place
        kinds.add((message.event_kind, message.event_type))
    assert len(kinds) == 13  # three of rows, eight of DDL, watermark and bootstrap


def test_the_recorded_values_are_byte_for_byte_those_of_json() -> None:
    in_json = recorded("simple_json.ndjson.gz")
    for place, value in recorded("simple_avro.ndjson.gz").items():
        message, expected = read_simple_avro(value), read_simple(in_json[place])
        if message.source_table not in {"t_num", "t_enum"}:
            assert message.data == expected.data, place
            assert message.old == expected.old, place


# ------------------------------------------------------------------- good messages


@pytest.mark.parametrize(
    ("message", "value"),
    [
        (INSERT, ROWS["INSERT"]),
        (UPDATE, ROWS["UPDATE"]),
        (DELETE, ROWS["DELETE"]),
        (DDL, ddl_message(DDL)),
        (WATERMARK, watermark_message(WATERMARK)),
        (BOOTSTRAP, bootstrap_message(BOOTSTRAP)),
    ],
)
def test_a_message_is_what_it_is_in_json(message: dict[str, Any], value: bytes) -> None:
    assert decode_simple_avro(value) == read_simple(encode(message))


def test_a_ddl_on_a_database_has_no_table() -> None:
    message = change(DDL, type="QUERY", tableSchema=None, preTableSchema=None)
    assert decode_simple_avro(ddl_message(message)) == read_simple(encode(message))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NULL, None),
        (long(0), "0"),
        (long(-(2**63)), "-9223372036854775808"),
        (unsigned(2**64 - 1), "18446744073709551615"),
        (unsigned(2**63), "9223372036854775808"),
        (unsigned(7), "7"),
        (string(""), ""),
        (string('é😀"\\\n'), 'é😀"\\\n'),
        (binary(b""), ""),
        (binary(b"\x00\xff\xfe"), "AP/+"),
        (single(0.1), "0.1"),
        (single(3.4028234663852886e38), "340282350000000000000000000000000000000"),
        (single(16777216), "16777216"),
        (single(1e-7), "0.0000001"),
        (single(-0.0), "-0"),
        (double(0.1), "0.1"),
        (double(0.10000000149011612), "0.10000000149011612"),
        (double(1e21), "1000000000000000000000"),
        (double(-1e-7), "-0.0000001"),
        (double(5e-324), f"0.{'0' * 323}5"),
        (double(100), "100"),
        (
            timestamp("Asia/Shanghai", "2024-02-26 13:01:01.5"),
            {"location": "Asia/Shanghai", "value": "2024-02-26 13:01:01.5"},
        ),
    ],
)
def test_a_value_has_the_form_of_json(value: Raw, expected: object) -> None:
    assert read_values(c=value) == {"c": expected}


def test_columns_come_in_the_order_of_json() -> None:
    names = ["😀", "é", "b", "B", "a_", "a", "\uffff"]
    message = decode_simple_avro(row_message(INSERT, dict.fromkeys(names, NULL)))
    assert message.data is not None
    assert list(json.loads(message.data)) == ["B", "a", "a_", "b", "é", "\uffff", "😀"]


def test_text_is_escaped_as_go_does() -> None:
    value = string("<a href='x'>&\u2028\u2029\x01\x7f")
    message = decode_simple_avro(row_message(INSERT, {"<>": value}))
    assert message.data == (
        '{"\\u003c\\u003e":"\\u003ca href=\'x\'\\u003e\\u0026\\u2028\\u2029\\u0001\x7f"}'
    )


def test_a_map_may_come_in_blocks_with_their_size() -> None:
    block = text("id") + number(1) + number(7)
    blocks = number(-1) + number(len(block)) + block
    blocks += number(1) + text("name") + number(0) + number(0)
    message = decode_simple_avro(row_message(INSERT, blocks))
    assert message.data == '{"id":"7","name":null}'


@pytest.mark.parametrize(
    ("type_", "default", "expected"),
    [
        ("bit", b"", "0"),
        ("bit", b"\x03", "3"),
        ("bit", b"\xff" * 8, "18446744073709551615"),
        ("varchar", "é", "é"),
        ("varchar", "", ""),
        ("varbinary", b"a\x00\xff\xc3", "a\0\ufffd\ufffd"),
        ("int", None, None),
    ],
)
def test_a_default_is_that_of_json(
    type_: str, default: bytes | str | None, expected: str | None
) -> None:
    first = PRE_SCHEMA["columns"][0]
    column = first | {
        "dataType": first["dataType"] | {"mysqlType": type_},
        "default": default,
    }
    schema = PRE_SCHEMA | {"columns": [column]}
    value = bootstrap_message(BOOTSTRAP | {"tableSchema": schema})
    read = decode_simple_avro(value).table_schema
    assert read is not None
    assert json.loads(read)["columns"][0]["default"] == expected


def test_flags_of_a_whole_row_change_nothing() -> None:
    flags = {
        "handleKeyOnly": False,
        "claimCheckLocation": "",
        "checksum": {"version": 0, "corrupted": False, "current": 1, "previous": 2},
    }
    value = row_message(INSERT | flags, OLD_USER_ROW)
    assert decode_simple_avro(value) == decode_simple_avro(ROWS["INSERT"])


# -------------------------------------------------------------------- bad messages


@pytest.mark.parametrize(
    ("value", "error_class", "path", "message"),
    [
        (None, "null_value", "$", "Expected a message, got a null value"),
        (b"", "truncated_avro", "$", "Expected more bytes after 0, got the end"),
        (b"\x16", "truncated_avro", "$", "Expected more bytes after 1, got the end"),
        (
            b'{"version":1}',
            "not_simple_avro",
            "$",
            "Expected a message (byte 0x16), got 0x7B",
        ),
        (
            b"\x00\x00\x00\x00\x07" + ROWS["INSERT"],
            "schema_registry_header",
            "$",
            "Expected Avro without a header, got the magic byte 0 of a schema registry",
        ),
        (
            b"\x14" + ROWS["INSERT"][1:],
            "not_simple_avro",
            "$",
            "Expected a message (byte 0x16), got 0x14",
        ),
        (
            b"\x16\x08" + ROWS["INSERT"][2:],
            "not_simple_avro",
            "$.type",
            "Expected a type of message, got byte 0x08",
        ),
        (
            b"\x16\x05" + ROWS["INSERT"][2:],
            "not_simple_avro",
            "$.type",
            "Expected a type of message, got byte 0x05",
        ),
        (
            b"\x16\x06\x04" + ROWS["INSERT"][3:],
            "not_simple_avro",
            "$.payload",
            "Expected the payload of a DML, got DDL",
        ),
        (
            b"\x16\x06\x01" + ROWS["INSERT"][3:],
            "not_simple_avro",
            "$.payload",
            "Expected the payload of a DML, got byte 0x01",
        ),
        (
            ROWS["INSERT"] + b"\x00\x01",
            "trailing_bytes",
            "$",
            f"Expected the end of the message, got 2 more bytes at byte {LENGTH}",
        ),
    ],
)
def test_what_is_not_a_message_is_refused(
    value: bytes | None, error_class: str, path: str, message: str
) -> None:
    error = error_of(value)
    assert error.error_class == error_class
    assert str(error) == f"{message} - at `{path}`"


@pytest.mark.parametrize(
    "value",
    [ROWS["UPDATE"], ddl_message(DDL), bootstrap_message(BOOTSTRAP)],
)
def test_a_message_cut_anywhere_is_truncated(value: bytes) -> None:
    for end in range(len(value)):
        error = error_of(value[:end])
        assert error.error_class == "truncated_avro", end
        assert error.message == f"Expected more bytes after {end}, got the end"


def test_a_message_above_the_limit_is_refused() -> None:
    assert error_of(b"\x16" * (MAX_MESSAGE_BYTES + 1)).error_class == "too_large"


def test_text_that_is_not_utf8_is_refused() -> None:
    value = row_message(INSERT, {"name": string(b"ab\xff")})
    error = error_of(value)
    assert error.error_class == "not_utf8"
    place = value.index(b"\xff")
    assert str(error) == f"Expected UTF-8, got byte 0xFF at byte {place} - at `$`"


@pytest.mark.parametrize("branch", [8, 64])
def test_an_index_beyond_a_union_is_refused(branch: int) -> None:
    value = row_message(INSERT, {"name": Raw(branch, b"")})
    error = error_of(value)
    assert error.error_class == "not_simple_avro"
    place = value.index(b"name") + len(b"name") + len(number(branch))
    assert error.message == (
        "Expected Avro of the Simple protocol, got an index that its schema does not "
        f"have, before byte {place}"
    )


def test_avro_of_another_schema_is_refused() -> None:
    value = bytearray(b"\x16")
    value += struct.pack(">q", 447984074911121426) * 20
    assert error_of(bytes(value)).error_class == "not_simple_avro"


def test_a_column_name_that_sql_can_not_read_is_refused() -> None:
    error = error_of(row_message(INSERT, {"x" * 10_001: string("1")}))
    assert (error.error_class, error.path) == ("name_too_long", "$.data")


def test_a_column_that_comes_twice_is_named() -> None:
    member = text("id") + number(0)
    value = row_message(UPDATE, image(USER_ROW), number(2) + member * 2 + number(0))
    error = error_of(value)
    assert error.error_class == "duplicate_key"
    assert str(error) == "Expected each key once, got `id` twice - at `$.old.id`"


@pytest.mark.parametrize("write", [single, double])
@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_a_number_that_no_column_can_have_is_refused(
    write: Callable[[float], Raw], value: str
) -> None:
    error = error_of(row_message(INSERT, {"score": write(float(value))}))
    assert error.error_class == "out_of_range"
    assert str(error) == f"Expected a finite number, got `{value}` - at `$.data.score`"


@pytest.mark.parametrize(
    ("message", "data", "old", "error_class", "sentence"),
    [
        (
            INSERT,
            None,
            None,
            "missing_field",
            "Expected `object`, got `null` - at `$.data`",
        ),
        (
            INSERT,
            USER_ROW,
            USER_ROW,
            "wrong_type",
            "Expected `null`, got `object` - at `$.old`",
        ),
        (
            DELETE,
            USER_ROW,
            USER_ROW,
            "wrong_type",
            "Expected `null`, got `object` - at `$.data`",
        ),
        (
            UPDATE,
            USER_ROW,
            None,
            "missing_field",
            "Expected `object`, got `null` - at `$.old`",
        ),
        (
            INSERT | {"version": 2},
            USER_ROW,
            None,
            "unsupported_version",
            "Expected version 1 of the Simple protocol, got 2 - at `$.version`",
        ),
        (
            INSERT | {"commitTs": -1},
            USER_ROW,
            None,
            "out_of_range",
            "Expected `int` from 0 to 9223372036854775807, got -1 - at `$.commitTs`",
        ),
        (
            INSERT
            | {
                "checksum": {
                    "version": 1,
                    "corrupted": True,
                    "current": 1,
                    "previous": 1,
                }
            },
            USER_ROW,
            None,
            "corrupted_row",
            CORRUPTED,
        ),
    ],
)
def test_a_row_message_is_checked_as_in_json(
    message: dict[str, Any],
    data: Mapping[str, Raw] | None,
    old: Mapping[str, Raw] | None,
    error_class: str,
    sentence: str,
) -> None:
    error = error_of(row_message(message, data, old))
    assert error.error_class == error_class
    assert str(error) == sentence


def test_a_row_that_is_cut_down_is_refused() -> None:
    key = {"id": USER_ROW["id"]}
    only_key = INSERT | {"handleKeyOnly": True}
    assert error_of(row_message(only_key, key)).error_class == "key_only_message"
    located = only_key | {"claimCheckLocation": "s3://bucket/a.json"}
    assert error_of(row_message(located, key)).error_class == "claim_check_message"


def test_a_bad_schema_is_refused_with_its_place() -> None:
    schema = SCHEMA | {"columns": SCHEMA["columns"][1:]}
    error = error_of(ddl_message(DDL | {"tableSchema": schema}))
    assert str(error) == (
        "Expected a column of the table, got `id` - at "
        "`$.tableSchema.indexes[0].columns[0]`"
    )


def test_a_bad_message_tells_what_could_be_read_of_it() -> None:
    message = read_simple_avro(row_message(UPDATE, USER_ROW, None))
    assert message.event_kind == "invalid"
    assert (message.source_database, message.source_table) == ("simple", "user")
    assert message.event_type == "UPDATE"
    assert message.commit_ts == 447984099186180098


# -------------------------------------------------------------------------- batches


def test_a_batch_keeps_order_and_equals_that_of_json() -> None:
    in_avro = [*ROWS.values(), ddl_message(DDL), watermark_message(WATERMARK)]
    in_json = [encode(message) for message in (INSERT, UPDATE, DELETE, DDL, WATERMARK)]
    rows = simple_avro.parse_batch(pa.array(in_avro, pa.binary()))
    rows.validate(full=True)
    assert rows.type == SIMPLE_TYPE
    assert rows.equals(simple_json.parse_batch(pa.array(in_json, pa.binary())))


def test_bad_messages_and_nulls_keep_their_places() -> None:
    values = [None, ROWS["INSERT"], b"", ROWS["DELETE"]]
    rows = simple_avro.parse_batch(pa.array(values, pa.large_binary())).to_pylist()
    assert rows == [as_row(read_simple_avro(value)) for value in values]
    assert [row["event_kind"] for row in rows] == ["invalid", "row", "invalid", "row"]
    assert simple_avro.parse_batch(pa.array([], pa.binary())).to_pylist() == []


def test_a_message_is_the_last_type_of_the_schema() -> None:
    names = [record["name"].rpartition(".")[2] for record in simple_avro.SCHEMA]
    assert names == [
        *("DataType", "ColumnSchema", "IndexSchema", "TableSchema", "Checksum"),
        *("Watermark", "Bootstrap", "DDL", "Timestamp", "UnsignedBigint", "DML"),
        "Message",
    ]
