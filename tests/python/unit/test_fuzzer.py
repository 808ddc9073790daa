"""The search for messages that break a decoder: it finds what is broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from rich.console import Console
from simple_messages import BOOTSTRAP, DDL, INSERT, UPDATE, WATERMARK, encode

from changefold_tools.devtools import fuzz
from changefold_tools.devtools.fuzz import Fuzzer, print_report
from changefold_tools.devtools.mutations import (
    AVRO,
    BYTES,
    JSON,
    RECORD,
    Message,
    mutate,
)
from changefold_tools.devtools.recorded_topics import DECODERS, Topic, read_topics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


PROTOCOL: Final = "ticdc_simple"
GOOD: Final = DECODERS[PROTOCOL]


@pytest.fixture
def topics(tmp_path: Path) -> list[Topic]:
    folder = tmp_path / "ticdc" / "simple"
    folder.mkdir(parents=True)
    values = [encode(message).decode() for message in (DDL, BOOTSTRAP, WATERMARK)]
    values += [encode(message).decode() for message in (INSERT, UPDATE)] * 30
    lines = [json.dumps({"key": None, "value": value}) for value in values]
    (folder / "simple_json.ndjson").write_text("\n".join(lines))
    return read_topics(tmp_path)


# ------------------------------------------------------------------------- damage

TEXTS: Final = [b"", b"{", b'"', b'"\\', b"null", b"[[]", b'{"a":', encode(DDL)]


@pytest.mark.parametrize("name", [*JSON, *BYTES, *AVRO])
def test_damage_can_be_done_to_any_text(name: str) -> None:
    for group in (JSON, BYTES, AVRO):
        if name in group:
            for number in range(40):
                chance = Random(number)  # noqa: S311  # the same each time
                for text in [*TEXTS, chance.randbytes(30)]:
                    changed = group[name](chance, text, chance.choice(TEXTS))
                    assert isinstance(changed, bytes)


@pytest.mark.parametrize("name", ["no member", "member twice", "name", "type", "null"])
def test_damage_to_json_leaves_the_rest_as_it_was(name: str) -> None:
    text = encode(INSERT)
    chance = Random(name)  # noqa: S311  # the same each time
    for _ in range(50):
        changed = JSON[name](chance, text, text)
        both = min(len(text), len(changed))
        start = next((i for i in range(both) if text[i] != changed[i]), both)
        end = next((i for i in range(both) if text[~i] != changed[~i]), both)
        assert start + end >= both - 200
        json.loads(changed)


def test_a_record_may_lose_its_parts_or_exchange_them() -> None:
    message = Message(b"k", b"v")
    assert [change(message) for change in RECORD.values()] == [
        Message(b"k", None),
        Message(None, b"v"),
        Message(b"v", b"k"),
    ]


def test_the_same_random_numbers_do_the_same_damage() -> None:
    message, other = Message(b'{"id":1}', encode(UPDATE)), Message(None, encode(DDL))
    for number in range(50):
        first, second = (
            mutate(Random(number), message, other)  # noqa: S311  # the same each time
            for _ in range(2)
        )
        assert first == second


# ------------------------------------------------------------------------- search


def test_a_seed_and_a_number_tell_the_message(topics: list[Topic]) -> None:
    numbers = range(0, 500, 7)
    first = [Fuzzer(topics, 1).damaged(number)[1] for number in numbers]
    assert first == [Fuzzer(topics, 1).damaged(number)[1] for number in numbers]
    assert first != [Fuzzer(topics, 2).damaged(number)[1] for number in numbers]


def test_good_decoders_have_no_failure_and_all_messages_are_counted(
    topics: list[Topic],
) -> None:
    report = Fuzzer(topics).run(100)
    assert report.failures == []
    assert report.messages == 100
    console = Console(record=True, width=100)
    print_report(report, console)
    printed = console.export_text()
    assert "still readable" in printed
    assert "0 failure(s)" in printed


Decode = Callable[["Sequence[Message]", "str | None"], "pa.StructArray"]


def _has_damage(messages: Sequence[Message]) -> bool:
    return any(message.value == b"{}" for message in messages)


def _raising(messages: Sequence[Message], types: str | None) -> pa.StructArray:
    if _has_damage(messages):
        raise IndexError("no such place")
    return GOOD.decode(messages, types)


def _never_ending(messages: Sequence[Message], types: str | None) -> pa.StructArray:
    while _has_damage(messages):
        pass
    return GOOD.decode(messages, types)


def _hungry(messages: Sequence[Message], types: str | None) -> pa.StructArray:
    if _has_damage(messages):
        bytearray(1 << 40)
    return GOOD.decode(messages, types)


def _losing(messages: Sequence[Message], types: str | None) -> pa.StructArray:
    return GOOD.decode(messages, types)[_has_damage(messages) :]


def _moody(messages: Sequence[Message], types: str | None) -> pa.StructArray:
    good = Message(None, encode(INSERT))
    return GOOD.decode([good] if len(messages) == 1 else messages, types)


def _with(**fields: object) -> Decode:
    def decode(messages: Sequence[Message], types: str | None) -> pa.StructArray:
        rows = GOOD.decode(messages, types).to_pylist()
        for message, row in zip(messages, rows, strict=True):
            if message.value == b"{}":
                error = row["error"] | fields.get("error", {})
                row.update(fields | {"error": error})
        return pa.array(rows, GOOD.type)

    return decode


def _saying(**error: str) -> Decode:
    return _with(error=error)


@pytest.mark.parametrize(
    ("decode", "reason"),
    [
        (_raising, "decoding it alone raises IndexError: no such place"),
        (_never_ending, "decoding it alone raises _TookTooLongError"),
        (_hungry, "decoding it alone raises MemoryError"),
        (_losing, "decoding it alone raises TypeError: The batch is of 7"),
        (_moody, "decoding it again, or many of it, gives another result"),
        (_saying(message="Wrong."), "no sentence: Wrong."),
        (
            _saying(message="Expected this, got <object object at 0x7f>"),
            "a sentence with ` object at 0x`",
        ),
        (_saying(message="Expected a, got " + "b" * 1000), "a sentence of 1016"),
        (_saying(path="data"), "error path 'data'"),
        (_saying(**{"class": "Wrong type"}), "error class 'Wrong type'"),
        (_with(event_kind="row"), "event kind row with the error"),
        (_with(event_kind="none"), "unknown event kind 'none'"),
        (_with(data="{"), "data is no JSON dict: {"),
        (_with(build_ts_ms=2**62), "build_ts_ms = 4611686018427387904 is no time"),
        (_with(data=json.dumps({"a": "b" * 3_000_000})), "characters made of 2 bytes"),
    ],
)
def test_a_decoder_that_is_wrong_about_a_message_is_found(
    topics: list[Topic],
    monkeypatch: pytest.MonkeyPatch,
    decode: Decode,
    reason: str,
) -> None:
    monkeypatch.setitem(DECODERS, PROTOCOL, replace(GOOD, decode=decode))
    monkeypatch.setattr(fuzz, "_STOP_AFTER", 0.5)
    monkeypatch.setattr(fuzz, "mutate", lambda *_, **__: (Message(None, b"{}"), ["x"]))
    (failure, *_) = [
        each for each in Fuzzer(topics, 3).run(1).failures if reason in each.reason
    ]
    assert "again: changefold fuzz --seed 3 --only 0" in str(failure)


def test_what_sql_does_with_a_message_may_not_raise(
    topics: list[Topic], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise KeyError("sql")

    monkeypatch.setattr(fuzz, "_parse_mysql_ddl", refuse)
    monkeypatch.setattr(
        fuzz, "mutate", lambda *_, **__: (Message(None, encode(DDL)), [])
    )
    failures = Fuzzer(topics, 3).run(1).failures
    assert "what SQL does with it raises KeyError: 'sql'" in {
        each.reason for each in failures
    }


def _refusing(messages: Sequence[Message], types: str | None) -> pa.StructArray:
    if len(messages) > 20 and _has_damage(messages):
        raise KeyError("data")
    return GOOD.decode(messages, types)


def _spreading(messages: Sequence[Message], types: str | None) -> pa.StructArray:
    if _has_damage(messages):
        messages = [Message(None, b"{}")] * len(messages)
    return GOOD.decode(messages, types)


@pytest.mark.parametrize(
    ("decode", "reason"),
    [
        (_refusing, "decoding a batch with it raises KeyError: 'data'"),
        (_spreading, "it changes a whole message: event_kind is invalid, without it "),
    ],
)
def test_a_decoder_that_is_wrong_about_a_batch_is_found_with_the_message(
    topics: list[Topic], monkeypatch: pytest.MonkeyPatch, decode: Decode, reason: str
) -> None:
    damaged = iter([b"x"] * 20 + [b"{}"] + [b"y"] * 40)
    monkeypatch.setitem(DECODERS, PROTOCOL, replace(GOOD, decode=decode))
    monkeypatch.setattr(
        fuzz, "mutate", lambda *_, **__: (Message(None, next(damaged)), ["x"])
    )
    failures = Fuzzer(topics, 3).run(1).failures
    assert {each.number for each in failures if reason in each.reason} == {20}


def test_recordings_that_are_not_there_are_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no recorded topics"):
        read_topics(tmp_path)
