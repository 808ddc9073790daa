"""What holds for every message of the Simple protocol, found by trying very many."""

import base64
import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simple_messages import (
    BOOTSTRAP,
    DDL,
    DELETE,
    INSERT,
    NULL,
    PRE_SCHEMA,
    UPDATE,
    USER_ROW,
    WATERMARK,
    Raw,
    as_row,
    binary,
    bootstrap_message,
    ddl_message,
    double,
    long,
    row_message,
    single,
    string,
    timestamp,
    unsigned,
    watermark_message,
)

from changefold.protocols import simple_avro
from changefold.protocols.simple_avro import read_simple_avro
from changefold.protocols.simple_json import (
    _read_row,
    _read_strictly,
    parse_batch,
    read_simple,
)

COLUMNS = ["created", "größe", "id", "name", "photo"]

texts = st.text(
    st.sampled_from('ab":,{}[]\\ \x00\n\x7fé€😀') | st.characters(codec="utf-8")
)
values = st.none() | texts


def located(location: str, value: str) -> dict[str, str]:
    return {"location": location, "value": value}


# In the layout of TiCDC a location has no escapes.
plain_timestamps = st.builds(
    located,
    st.sampled_from(["UTC", "Asia/Shanghai", "System"]),
    st.sampled_from(["2024-02-26 13:01:01", "0000-00-00 00:00:00", "é"]),
)
timestamps = plain_timestamps | st.builds(located, texts, texts)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    row: dict[str, Any] = {name: draw(values) for name in COLUMNS}
    row["created"] = draw(st.none() | plain_timestamps)
    return row


numbers = st.integers(10**17, 10**18 - 1) | st.integers(0, 2**63 - 1)
VERSION = 447984074911121426


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """A good row message of one table."""
    event_type = draw(st.sampled_from(["INSERT", "UPDATE", "DELETE"]))
    message = {
        "version": 1,
        "database": "shop",
        "table": "products",
        "tableID": 148,
        "type": event_type,
        "commitTs": draw(numbers),
        "buildTs": draw(st.integers(10**12, 10**13 - 1) | st.integers(0, 10**13 - 1)),
        "schemaVersion": draw(st.just(VERSION) | numbers),
    }
    if event_type != "DELETE":
        message["data"] = draw(rows())
    if event_type != "INSERT":
        message["old"] = draw(rows())
    return message


def compact(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def spaced(message: dict[str, Any]) -> bytes:
    return json.dumps(message, indent=1, separators=(" ,", " : ")).encode()


def escaped(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


encoders = st.sampled_from([compact, escaped, spaced])


def mutate(draw: st.DrawFn, value: bytes, pieces: list[bytes]) -> bytes:
    """Take a few pieces out of a message, put in, double or exchange them."""
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(value)))
        end = min(len(value), start + draw(st.integers(0, 12)))
        piece = draw(
            st.sampled_from([b"", value[start:end] * 2, *pieces])
            | st.binary(max_size=3)
        )
        value = value[:start] + piece + value[end:]
    return value


PIECES = [
    *('"id":"1",', '"id":"1"', ',"id":null', '"commitTs":1,', "}},", '},"old":{'),
    *('{"location":"UTC"}', '{"location":"UTC","value":"1"}', ',"old":{}'),
    *('"', "\\", "\\u0069", "\\ud800", " ", ":", ",", "null", "0", "-", "€"),
]


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    value = draw(encoders)(draw(messages()))
    return mutate(draw, value, [*(piece.encode() for piece in PIECES), b"\xff"])


@st.composite
def repeated_members(draw: st.DrawFn) -> bytes:
    """A message with a member of one of its objects twice, or somewhere else too."""
    encode: Callable[[dict[str, Any]], bytes] = draw(encoders)
    text = encode(draw(messages())).decode()
    ends = [i + 1 for i, character in enumerate(text) if character in "{,"]
    start, end = sorted((draw(st.sampled_from(ends)), draw(st.sampled_from(ends))))
    place = draw(st.sampled_from(ends))
    return (text[:place] + text[start:end] + text[place:]).encode()


def has_duplicate_key(value: bytes) -> bool:
    """Say by another way than the decoder's whether a key comes twice."""
    found = False

    def hook(pairs: list[tuple[str, object]]) -> None:
        nonlocal found
        found = found or len({name for name, _ in pairs}) < len(pairs)

    json.loads(value, object_pairs_hook=hook)
    return found


# ---------------------------------------------------------------------------- JSON


@given(messages(), encoders)
def test_a_good_message_gives_back_its_rows(
    message: dict[str, Any], encode: Callable[[dict[str, Any]], bytes]
) -> None:
    decoded = read_simple(encode(message))
    assert decoded.error is None
    assert decoded.event_kind == "row"
    assert decoded.commit_ts == message["commitTs"]
    assert decoded.schema_version == message["schemaVersion"]
    for name in ("data", "old"):
        text = getattr(decoded, name)
        assert (text and json.loads(text)) == message.get(name)


@settings(max_examples=1000)
@given(mutations() | repeated_members())
def test_what_is_read_quickly_is_what_the_strict_reader_reads(value: bytes) -> None:
    message = _read_row(value)
    if message is not None:
        assert message == _read_strictly(value)


@given(messages())
def test_a_compact_message_needs_no_strict_reader(message: dict[str, Any]) -> None:
    value = compact(message)
    # A text that begins with a colon looks like the end of a name.
    assert b':":' in value or _read_row(value) is not None


@settings(max_examples=500)
@given(repeated_members())
def test_a_duplicate_key_is_found_wherever_it_is(value: bytes) -> None:
    try:
        expected = has_duplicate_key(value)
    except ValueError:
        return
    error = read_simple(value).error
    assert (error is not None and error.error_class == "duplicate_key") == expected


@given(st.lists(st.none() | st.binary(max_size=20) | mutations(), max_size=8))
def test_a_batch_never_raises_and_equals_its_messages(
    batch: list[bytes | None],
) -> None:
    array = parse_batch(pa.array(batch, pa.binary()))
    array.validate(full=True)
    assert array.to_pylist() == [as_row(read_simple(value)) for value in batch]


@given(st.text())
def test_any_text_is_decoded_or_explained(text: str) -> None:
    message = read_simple(text.encode("utf-8", "surrogatepass"))
    assert message.event_kind == "invalid"
    assert message.error is not None
    assert message.error.message.startswith("Expected ")
    assert ", got " in message.error.message


names = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(
    ['"', "\\", "\n", "\x7f", "]", "}", "(.*)", "é", "😀", " ", "<&>", "old", "data"]
)


@settings(deadline=None)
@given(st.dictionaries(names, values | timestamps, max_size=4), st.tuples(names, names))
def test_names_of_any_kind_are_decoded_alike_by_both_readers(
    row: dict[str, Any], table: tuple[str, str]
) -> None:
    value = compact(
        UPDATE | {"database": table[0], "table": table[1], "data": row, "old": row}
    )
    parsed = as_row(_read_strictly(value))
    assert parsed["error"] is None
    assert parse_batch(pa.array([value], pa.binary())).to_pylist() == [parsed]


# ---------------------------------------------------------------------------- Avro


def plain(value: float) -> str:
    """The digits of a number, without exponent."""
    digits = f"{Decimal(repr(value)):f}"
    return digits.removesuffix(".0")


def as_single(value: float) -> float:
    narrow: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return narrow


def pair(write: Callable[[Any], Raw], read: Callable[[Any], Any]) -> Any:
    """A value in Avro, and in JSON."""
    return lambda value: (write(value), read(value))


avro_values = st.one_of(
    st.just((NULL, None)),
    st.integers(-(2**63), 2**63 - 1).map(pair(long, str)),
    st.integers(0, 2**64 - 1).map(pair(unsigned, str)),
    st.floats(allow_nan=False, allow_infinity=False).map(pair(double, plain)),
    texts.map(pair(string, str)),
    st.binary().map(pair(binary, lambda value: base64.b64encode(value).decode())),
    st.tuples(texts, texts).map(lambda parts: (timestamp(*parts), located(*parts))),
)


@given(st.dictionaries(texts, avro_values))
def test_a_row_in_avro_is_the_row_in_json(row: dict[str, tuple[Raw, Any]]) -> None:
    message = read_simple_avro(
        row_message(INSERT, {name: raw for name, (raw, _) in row.items()})
    )
    assert message.error is None
    assert message.data is not None
    expected = {name: value for name, (_, value) in row.items()}
    assert json.loads(message.data) == expected
    assert list(json.loads(message.data)) == sorted(expected)
    # The text is fit for the other decoder, which finds the same in it.
    text = compact(INSERT | {"data": None}).replace(b"null", message.data.encode())
    assert read_simple(text) == message


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_has_the_shortest_digits_that_give_it_back(value: float) -> None:
    message = read_simple_avro(row_message(INSERT, {"c": single(value)}))
    assert message.data is not None
    digits = json.loads(message.data)["c"]
    assert "e" not in digits
    assert as_single(float(digits)) == value
    significant = digits.lstrip("-0.").replace(".", "").strip("0")
    assert len(significant) <= 9


GOOD_IN_AVRO = [
    row_message(INSERT, USER_ROW),
    row_message(UPDATE, USER_ROW, USER_ROW | {"photo": binary(b"\xff")}),
    row_message(DELETE, None, {"at": timestamp("UTC", "2024-02-26 13:01:01")}),
    ddl_message(DDL),
    watermark_message(WATERMARK),
    bootstrap_message(BOOTSTRAP),
]


@st.composite
def avro_mutations(draw: st.DrawFn) -> bytes:
    value = draw(st.sampled_from(GOOD_IN_AVRO))
    return mutate(draw, value, [b"\x00", b"\x01", b"\x7f", b"\x80" * 11, b"\xff" * 9])


@settings(max_examples=1000)
@given(st.lists(st.none() | st.binary(max_size=20) | avro_mutations(), max_size=4))
def test_a_batch_in_avro_never_raises_and_every_error_is_explained(
    batch: list[bytes | None],
) -> None:
    array = simple_avro.parse_batch(pa.array(batch, pa.binary()))
    array.validate(full=True)
    for row, value in zip(array.to_pylist(), batch, strict=True):
        assert row == as_row(read_simple_avro(value))
        assert (row["event_kind"] == "invalid") == (row["error"] is not None)
        if row["error"] is not None:
            assert row["error"]["message"].startswith("Expected ")
            assert ", got " in row["error"]["message"]


@pytest.mark.parametrize("value", GOOD_IN_AVRO)
def test_every_change_of_the_length_of_a_message_is_seen(value: bytes) -> None:
    assert read_simple_avro(value).error is None
    for end in range(len(value)):
        assert read_simple_avro(value[:end]).error is not None
        assert read_simple_avro(value + value[end:]).error is not None


lengths = st.none() | st.integers(-1, 2**32)


@given(lengths, lengths, st.none() | st.booleans(), st.none() | texts)
def test_a_schema_is_the_same_from_both_encodings(
    length: int | None, decimal: int | None, flag: bool | None, default: str | None
) -> None:
    first = PRE_SCHEMA["columns"][0]
    sizes = {"length": length or 0, "decimal": decimal, "unsigned": flag}
    column = first | {"dataType": first["dataType"] | sizes, "default": default}
    message = BOOTSTRAP | {"tableSchema": PRE_SCHEMA | {"columns": [column]}}
    expected = read_simple(compact(message))
    assert expected.error is None
    assert read_simple_avro(bootstrap_message(message)) == expected
