"""What holds for every Canal-JSON message, found by trying very many."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from changefold.protocols.canal_json import (
    CanalJsonMessage,
    _read_rows,
    _read_strictly,
    parse_batch,
    read_canal_json,
)

TYPES = {
    "id": "bigint unsigned",
    "name": "varchar",
    "photo": "blob",
    "kind": "enum('a','b')",
    "größe": "decimal(10,2)",
}

values = st.none() | st.text(
    st.sampled_from('ab":,{}[]\\ \x00\n\x7fé€😀') | st.characters(codec="utf-8")
)
latin1 = st.none() | st.text(st.characters(max_codepoint=0xFF))


times = st.integers(10**12, 10**13 - 1) | st.integers(0, 10**13 - 1)
timestamps = st.integers(10**17, 10**18 - 1) | st.integers(0, 2**63 - 1)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, str | None]:
    return {
        name: draw(latin1 if type_ == "blob" else values)
        for name, type_ in TYPES.items()
    }


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """A good row message of one table, as one of its producers writes it."""
    event_type = draw(st.sampled_from(["INSERT", "UPDATE", "DELETE"]))
    old: list[Any] | None = None
    if event_type == "UPDATE":
        row = draw(rows())
        changed = draw(st.sets(st.sampled_from(list(row))) | st.just(set(row)))
        old = [{name: text for name, text in row.items() if name in changed}]
    message = {
        "id": 0,
        "database": "shop",
        "table": "products",
        "pkNames": ["id"],
        "isDdl": False,
        "type": event_type,
        "es": draw(times),
        "ts": draw(times),
        "sql": "",
        "sqlType": dict.fromkeys(TYPES, 3),
        "mysqlType": TYPES,
        "old": old,
        "data": [draw(rows())],
    }
    if draw(st.booleans()):
        message["_tidb"] = {"commitTs": draw(timestamps)}
    return message


def compact(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def spaced(message: dict[str, Any]) -> bytes:
    return json.dumps(message, indent=1, separators=(" ,", " : ")).encode()


def escaped(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


encoders = st.sampled_from([compact, escaped, spaced])


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """A message with a few pieces taken out, put in, doubled or exchanged."""
    value: bytes = draw(encoders)(draw(messages()))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(value)))
        end = min(len(value), start + draw(st.integers(0, 12)))
        piece = draw(
            st.sampled_from(
                [
                    b"",
                    value[start:end] * 2,
                    b'"id":"1",',
                    b'"id":"1"',
                    b',"id":null',
                    b'"es":1,',
                    b"}],",
                    b'},{"id":"1"},{',
                    b'"',
                    b"\\",
                    b"\\u0069",
                    b"\\ud800",
                    b" ",
                    b":",
                    b",",
                    b"null",
                    b"0",
                    b"-",
                    b"\xff",
                    "€".encode(),
                ]
            )
            | st.binary(max_size=3)
        )
        value = value[:start] + piece + value[end:]
    return value


def members(draw: st.DrawFn, value: bytes) -> bytes:
    """Repeat one of the members of an object somewhere in the message."""
    text = value.decode()
    ends = [i + 1 for i, character in enumerate(text) if character in "{,"]
    start, end = sorted((draw(st.sampled_from(ends)), draw(st.sampled_from(ends))))
    place = draw(st.sampled_from(ends))
    return (text[:place] + text[start:end] + text[place:]).encode()


@st.composite
def repeated_members(draw: st.DrawFn) -> bytes:
    return members(draw, draw(encoders)(draw(messages())))


def has_duplicate_key(value: bytes) -> bool:
    """Say by another way than the decoder's whether a key comes twice."""
    found = False

    def hook(pairs: list[tuple[str, object]]) -> None:
        nonlocal found
        found = found or len({name for name, _ in pairs}) < len(pairs)

    json.loads(value, object_pairs_hook=hook)
    return found


@given(messages(), encoders)
def test_a_good_message_gives_back_its_rows(
    message: dict[str, Any], encode: Callable[[dict[str, Any]], bytes]
) -> None:
    decoded = read_canal_json(encode(message))
    assert decoded.error is None
    assert decoded.event_kind == "row"
    assert decoded.es_ms == message["es"]
    assert decoded.commit_ts == message.get("_tidb", {}).get("commitTs")
    assert [json.loads(image) for image, _ in decoded.images] == message["data"]
    old = decoded.images[0][1]
    assert (old and [json.loads(old)]) == message["old"]


@settings(max_examples=1000)
@given(mutations() | repeated_members())
def test_what_is_read_quickly_is_what_the_strict_reader_reads(value: bytes) -> None:
    message = _read_rows(value)
    if message is None:
        return
    strict = _read_strictly(value)
    if strict.error is None:
        assert as_row(message) == as_row(strict)
        return
    # A field twice, or bytes in one that is not read.
    assert strict.error.error_class in {"duplicate_key", "not_utf8"}
    assert not strict.error.path.startswith(("$.data[", "$.old[", "$.mysqlType."))


@given(messages())
def test_a_compact_message_needs_no_strict_reader(message: dict[str, Any]) -> None:
    value = compact(message)
    # A text that begins with a colon looks like the end of a name.
    assert b':":' in value or _read_rows(value) is not None


@settings(max_examples=500)
@given(repeated_members())
def test_a_duplicate_key_is_found_wherever_it_is(value: bytes) -> None:
    try:
        expected = has_duplicate_key(value)
    except ValueError:
        return
    error = _read_strictly(value).error
    assert (error is not None and error.error_class == "duplicate_key") == expected


@given(st.lists(st.none() | st.binary(max_size=20) | mutations(), max_size=8))
def test_a_batch_never_raises_and_equals_its_messages(
    batch: list[bytes | None],
) -> None:
    array = parse_batch(pa.array(batch, pa.binary()))
    array.validate(full=True)
    assert len(array) == len(batch)
    for row, value in zip(array.to_pylist(), batch, strict=True):
        assert row == as_row(read_canal_json(value))


def as_row(message: CanalJsonMessage) -> dict[str, Any]:
    error = message.error
    return {
        "event_kind": message.event_kind,
        "source_database": message.source_database,
        "source_table": message.source_table,
        "event_type": message.event_type,
        "commit_ts": message.commit_ts,
        "watermark_ts": message.watermark_ts,
        "es_ms": message.es_ms,
        "ts_ms": message.ts_ms,
        "batch_number": message.batch_number,
        "ddl_sql": message.ddl_sql,
        "primary_key": message.primary_key,
        "column_types": message.column_types,
        "images": [
            {"data": data.decode(), "old": None if old is None else old.decode()}
            for data, old in message.images
        ],
        "error": error
        and {
            "class": error.error_class,
            "path": error.path,
            "message": error.message,
        },
    }


@given(st.text())
def test_any_text_is_decoded_or_explained(text: str) -> None:
    message = read_canal_json(text.encode("utf-8", "surrogatepass"))
    assert message.event_kind == "invalid"
    assert message.error is not None
    assert message.error.message.startswith("Expected ")
    assert ", got " in message.error.message


names = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(
    ['"', "\\", "\n", "\x7f", "]", "}", "(.*)", "é", "😀", " ", "<&>"]
)
types = st.sampled_from(["int", "varbinary(9)", "set('}','\"')", "text"])


@settings(deadline=None)
@given(st.dictionaries(names, types, max_size=4), st.tuples(names, names), st.data())
def test_names_of_any_kind_are_decoded_alike_by_both_readers(
    columns: dict[str, str], table: tuple[str, str], data: st.DataObject
) -> None:
    value = compact(
        {
            "id": 0,
            "database": table[0],
            "table": table[1],
            "pkNames": list(columns)[:2],
            "isDdl": False,
            "type": "UPDATE",
            "es": 1,
            "ts": 1,
            "sql": "",
            "sqlType": dict.fromkeys(columns, 1),
            "mysqlType": {
                name: columns[name]
                for name in data.draw(st.permutations(list(columns)))
            },
            "old": [dict.fromkeys(data.draw(st.permutations(list(columns))), "ÿ")],
            "data": [dict.fromkeys(columns, "1")],
        }
    )
    parsed = as_row(_read_strictly(value))
    assert parsed["error"] is None
    assert parse_batch(pa.array([value], pa.binary())).to_pylist() == [parsed]
