"""TiCDC's large-message-handle-compression: every value is compressed by itself."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simple_messages import (
    BOOTSTRAP,
    INSERT,
    OLD_USER_ROW,
    bootstrap_message,
    encode,
    row_message,
)

from changefold.errors import CdcDecodeError
from changefold.json.parse import MAX_MESSAGE_BYTES
from changefold.protocols import canal_json, simple_avro, simple_json
from changefold.protocols.canal_json import read_canal_json
from changefold.protocols.compression import JSON_START, decompress
from changefold.protocols.simple_avro import read_simple_avro
from changefold.protocols.simple_json import read_simple

if TYPE_CHECKING:
    from collections.abc import Callable


def lz4(value: bytes) -> bytes:
    """Write a frame, as pierrec/lz4 does."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as stream:
        stream.write(value)
    return bytes(sink.getvalue().to_pybytes())


def snappy(value: bytes) -> bytes:
    return bytes(pa.compress(value, codec="snappy", asbytes=True))


CODECS: Final = [lz4, snappy]

ROW: Final[dict[str, Any]] = {
    "id": 0,
    "database": "inn",
    "table": "guests",
    "pkNames": ["id"],
    "isDdl": False,
    "type": "INSERT",
    "es": 1732199007000,
    "ts": 1732199007123,
    "sql": "",
    "sqlType": {"id": 4, "name": 12},
    "mysqlType": {"id": "int", "name": "varchar"},
    "old": None,
    "data": [{"id": "1", "name": "Ann, Ann, Ann, Ann, Ann, Ann"}],
    "_tidb": {"commitTs": 470617749254307842},
}
DDL: Final = ROW | {
    "isDdl": True,
    "type": "CREATE",
    "sql": "CREATE TABLE `guests` (`id` INT PRIMARY KEY)",
    "sqlType": None,
    "mysqlType": None,
    "data": None,
    "pkNames": None,
}
WATERMARK: Final = ROW | {
    "type": "TIDB_WATERMARK",
    "data": None,
    "_tidb": {"watermarkTs": 470617749280522242},
}


def compact(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("message", [ROW, DDL, WATERMARK])
def test_a_compressed_canal_json_message_is_read_as_the_plain_one(
    codec: Callable[[bytes], bytes], message: dict[str, Any]
) -> None:
    plain = compact(message)
    assert read_canal_json(codec(plain)) == read_canal_json(plain)
    assert read_canal_json(plain).error is None


@pytest.mark.parametrize("codec", CODECS)
def test_a_compressed_simple_message_is_read_as_the_plain_one(
    codec: Callable[[bytes], bytes],
) -> None:
    plain = encode(INSERT)
    assert read_simple(codec(plain)) == read_simple(plain)
    assert read_simple(plain).error is None
    binary = row_message(INSERT, OLD_USER_ROW)
    assert read_simple_avro(codec(binary)) == read_simple_avro(binary)
    assert read_simple_avro(binary).error is None


@pytest.mark.parametrize(
    ("parse", "message"),
    [
        (canal_json.parse_batch, compact(ROW)),
        (simple_json.parse_batch, encode(INSERT)),
        (simple_avro.parse_batch, bootstrap_message(BOOTSTRAP)),
    ],
)
def test_a_batch_of_compressed_and_plain_messages_is_read_as_a_plain_one(
    parse: Callable[[pa.Array], pa.StructArray], message: bytes
) -> None:
    plain = [message] * 60
    mixed = plain[:20] + [lz4(message), snappy(message)] * 20
    expected = parse(pa.array(plain, pa.binary()))
    assert parse(pa.array(mixed, pa.binary())) == expected
    assert expected.field("error").null_count == 60


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("start", [JSON_START, b"\x16"])
def test_a_message_of_any_length_comes_back(
    codec: Callable[[bytes], bytes], start: bytes
) -> None:
    for length in [*range(1, 300), 16384, 70_000, 3_000_000]:
        message = start + bytes(range(32, 96)) * (length // 64) + b"!" * (length % 64)
        assert decompress(codec(message), start) == message


@given(st.binary(), st.sampled_from([JSON_START, b"\x16"]))
def test_any_bytes_are_opened_left_or_refused(value: bytes, start: bytes) -> None:
    with suppress(CdcDecodeError):
        assert decompress(value, start) is not None


@pytest.mark.parametrize(
    "message",
    [b'{"a":1}', b"{ }", b"{}", b"", b"{", b'  {"a": 1}', b"\n{ }", b"{\xf0{", b"null"],
)
def test_a_plain_message_stays_as_it_is(message: bytes) -> None:
    assert decompress(message, JSON_START) is message


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("damage", ["cut", "more"])
def test_a_broken_message_is_refused_with_the_name_of_the_codec(
    codec: Callable[[bytes], bytes], damage: str
) -> None:
    value = codec(compact(ROW))
    value = value[:-5] if damage == "cut" else value + b"xyz"
    message = read_canal_json(value)
    assert message.event_kind == "invalid"
    assert message.error is not None
    assert message.error.error_class == "broken_compression"
    name = "LZ4" if codec is lz4 else "Snappy"
    assert f"that {name} has compressed (large-message-handle-compression)" in str(
        message.error
    )
    (row,) = canal_json.parse_batch(pa.array([value])).to_pylist()
    assert row["error"]["message"] == message.error.message


@pytest.mark.parametrize("codec", CODECS)
def test_a_message_that_is_too_large_is_refused_before_it_is_whole(
    codec: Callable[[bytes], bytes],
) -> None:
    value = codec(JSON_START + b" " * MAX_MESSAGE_BYTES)
    with pytest.raises(CdcDecodeError, match="after decompression") as raised:
        decompress(value, JSON_START)
    assert raised.value.error_class == "too_large"


def test_a_message_that_was_compressed_twice_is_refused_alone_and_in_a_batch() -> None:
    value = lz4(snappy(compact(ROW)))
    error = read_canal_json(value).error
    assert error is not None
    (row,) = canal_json.parse_batch(pa.array([value])).to_pylist()
    assert row["error"]["message"] == error.message
