"""Damaged messages of all protocols through the whole pipeline: none stops it.

`make fuzz` tries the decoders. Here SQL gets what they make of such messages, among whole
ones, in two builds.
"""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline

from changefold_tools.devtools.fuzz import BATCH, Fuzzer
from changefold_tools.devtools.recorded_topics import DECODERS, read_topics
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from changefold_tools.devtools.mutations import Message

DAMAGED: Final = 600
WHOLE: Final = 30
"""Messages of one recording of each protocol that come first: so tables are known."""

SEED: Final = 600
PLACES: Final = (
    *("applied", "filtered", "duplicates", "pending", "beyond_cut"),
    *("quarantined", "control"),
)

Rows = list[dict[str, Any]]


def messages_by_protocol() -> dict[str, list[Message]]:
    """Whole messages, then damaged ones of every recorded topic."""
    topics = read_topics(PROJECT / "tests" / "golden")
    found: dict[str, list[Message]] = {}
    for topic in topics:
        if topic.protocol not in found:
            found[topic.protocol] = topic.messages[:WHOLE]
    fuzzer = Fuzzer(topics, SEED)
    count = BATCH * len(topics)
    for number in range(0, count, -(-count // DAMAGED)):
        topic, message = fuzzer.damaged(number)
        found[topic.protocol].append(message)
    return found


def record(offset: int, message: Message) -> dict[str, Any]:
    """A line of a recorded topic; its bytes need not be text."""
    line: dict[str, Any] = {"partition": 0, "offset": offset}
    for name, content in message._asdict().items():
        if content is None:
            line[name] = None
        else:
            line[f"{name}_base64"] = base64.b64encode(content).decode()
    return line


@dataclass
class Outcome:
    """What was landed, by the topic, and what stood in the tables after both builds."""

    messages: dict[str, list[Message]]
    balances: list[Rows]
    logged: Rows
    quarantined: Rows


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    by_protocol = messages_by_protocol()
    protocols = {f"damaged_{protocol}": protocol for protocol in by_protocol}
    messages = {topic: by_protocol[protocols[topic]] for topic in protocols}
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(
            folder,
            dict.fromkeys(protocols, 1),
            **{topic: {"protocol": protocol} for topic, protocol in protocols.items()},
        )
        balances = []
        for build in range(2):
            for topic, all_of_topic in messages.items():
                records = [record(*each) for each in enumerate(all_of_topic)]
                half = len(records) // 2
                part = records[half:] if build else records[:half]
                pipeline.land(str(build), topic, part)
            # That one names what this topic has: some values with a schema, some without.
            mixed = "values_were_read_by_their_types"
            pipeline.dbt("build", "--quiet", "--exclude", mixed)
            balances.append(pipeline.rows("select * from verify.balance"))
        yield Outcome(
            messages,
            balances,
            pipeline.rows("select kafka_topic, kafka_offset from verify.change_log"),
            pipeline.rows("select * from verify.quarantined_messages"),
        )


def test_every_damaged_message_is_read_and_has_a_place(outcome: Outcome) -> None:
    for build, balance in enumerate(outcome.balances):
        read = {row["kafka_topic"]: row["messages_read"] for row in balance}
        assert read == {
            topic: len(messages) if build else len(messages) // 2
            for topic, messages in outcome.messages.items()
        }
        for row in balance:
            assert row["events"] >= row["messages_read"]
            assert row["events"] == sum(row[place] for place in PLACES), row


def test_every_damaged_message_is_in_the_log(outcome: Outcome) -> None:
    logged: dict[str, set[int]] = {}
    for row in outcome.logged:
        logged.setdefault(row["kafka_topic"], set()).add(row["kafka_offset"])
    assert logged == {
        topic: set(range(len(messages))) for topic, messages in outcome.messages.items()
    }


def test_what_is_quarantined_is_what_the_decoders_can_not_read(
    outcome: Outcome,
) -> None:
    expected: dict[str, Counter[str]] = {}
    for topic, messages in outcome.messages.items():
        decoder = DECODERS[topic.removeprefix("damaged_")]
        rows = decoder.decode(messages, None).to_pylist()
        expected[topic] = Counter(
            row["error"]["class"] for row in rows if row["event_kind"] == "invalid"
        )
    found: dict[str, Counter[str]] = {topic: Counter() for topic in expected}
    for row in outcome.quarantined:
        found[row["kafka_topic"]][row["error_class"]] += 1
        assert row["error_path"].startswith("$")
        assert row["error_message"].startswith("Expected ")
    assert found == expected


def test_a_quarantined_message_keeps_its_bytes_however_damaged(
    outcome: Outcome,
) -> None:
    for row in outcome.quarantined:
        message = outcome.messages[row["kafka_topic"]][row["kafka_offset"]]
        kept = None if row["value"] is None else bytes(row["value"])
        assert kept == message.value
