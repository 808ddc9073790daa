"""Random deliveries by Debezium of what happened in a source.

`deliver` draws how a connector reads a history (`debezium_stream`) and how its messages
reach the reader of its topics: at least once, and the partitions at any speed.
"""

import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, NamedTuple
from zlib import crc32

from debezium_histories import History, draw_history
from debezium_messages import PREFIX, Message
from debezium_settings import Settings, draw_settings
from debezium_stream import Stream, read_stream
from histories import DATABASE, FIRST_MILLISECOND, Line, happens
from hypothesis import strategies as st

PARTITIONS: Final = 3

_Sent = list[tuple[int, Message]]


class Record(NamedTuple):
    """A message in Kafka.

    Attributes:
        partition: Of the message's topic.
        message: As it was sent.
        offset: In the partition.
        timestamp: When it was sent, in milliseconds since 1970.
    """

    partition: int
    message: Message
    offset: int
    timestamp: int


@dataclass(frozen=True, eq=False)
class Delivery:
    """Topics as they were read, and what the source says.

    Attributes:
        settings: How they came about.
        records: What was read, in order.
        final: Lines of ``expected_final``.
        history: Lines of ``expected_history``; none of MariaDB.
        snapshot_seq: The last of PostgreSQL's that only a snapshot shows.
    """

    settings: Settings
    records: Sequence[Record] = field(repr=False)
    final: list[Line] = field(repr=False)
    history: list[Line] = field(repr=False)
    snapshot_seq: int

    def lines(self, *, has_schemas: bool) -> Iterator[Line]:
        """Yield the lines of a recording, with or without the schemas."""
        for partition, message, offset, timestamp in self.records:
            parts = [
                None if part is None else part.text(has_schema=has_schemas)
                for part in (message.key, message.value)
            ]
            yield {
                "topic": message.topic,
                "partition": partition,
                "offset": offset,
                "timestamp": timestamp,
                "key": parts[0],
                "value": parts[1],
                "headers": [list(header) for header in message.headers],
            }


def draw_delivery(
    random: Random,
    settings: Settings,
    histories: int = 1,
    transactions: int = 8,
    *,
    drops: bool = False,
) -> Delivery:
    """Draw a history and how its connector delivers it.

    Args:
        random: Makes the choices.
        settings: What `draw_settings` returned.
        histories: How many histories share the tables.
        transactions: How many transactions each of them has at most.
        drops: Whether columns of the table without a key are dropped, which a plain
            reader does not follow.
    """
    without: set[Literal["default", "truncate", "drop"]] = set()
    if settings.compacted:
        # It takes no message without a key; an old row sent again would lack the default.
        without = {"default", "truncate"}
    elif not settings.has_schemas:
        without = {"default"}
    if not drops:
        without.add("drop")
    drawn = [
        draw_history(
            random, settings.connector, histories, transactions, without=without
        )
        for _ in range(2 if settings.is_routed else 1)
    ]
    return deliver(random, settings, *drawn)


def deliver(
    random: Random, settings: Settings, history: History, other: History | None = None
) -> Delivery:
    """Draw how what happened in a source reaches the reader of its topics.

    Args:
        random: Makes the choices.
        settings: How the connector is set up.
        history: What happened.
        other: What happened in another database, of which the topics have the tables, too.
    """
    stream = read_stream(random, history, settings)
    queues: dict[tuple[str, int], list[Record]] = {}
    sent = _Producer(random, settings, stream).run()
    final = history.final()
    if other is not None:
        others = _Producer(random, settings, read_stream(random, other, settings)).run()
        sent = list(_interleaved(random, sent, others))
        final += [{**line, "database": _SHARD} for line in other.final()]
    for number, (partition, message) in enumerate(sent):
        queue = queues.setdefault((message.topic, partition), [])
        timestamp = FIRST_MILLISECOND + number
        queue.append(Record(partition, message, len(queue), timestamp))
    records: list[Record] = []
    waiting = [
        deque(_compacted(random, queue) if settings.compacted else queue)
        for queue in queues.values()
    ]
    while waiting:
        unread = random.choice(waiting)
        number = min(len(unread), random.randint(1, settings.chunk))
        records += [unread.popleft() for _ in range(number)]
        waiting = [unread for unread in waiting if unread]
    return Delivery(settings, records, final, stream.history, stream.snapshot_seq)


_SHARD: Final = f"{DATABASE}_2"


def _interleaved(
    random: Random, sent: _Sent, others: _Sent
) -> Iterator[tuple[int, Message]]:
    """Yield what two connectors send into the same topics, each in its order."""
    waiting = [
        deque(sent),
        deque((partition, _of_shard(message)) for partition, message in others),
    ]
    while waiting:
        unread = random.choice(waiting)
        for _ in range(min(len(unread), random.randint(1, 20))):
            yield unread.popleft()
        waiting = [unread for unread in waiting if unread]


def _of_shard(message: Message) -> Message:
    """Return a message as of the other database, with the schemas and topic of the first.

    Each database has a connector; one of SQL Server reads both.
    """
    if message.value is None:
        return message
    payload = message.value.payload
    named: Line = {}
    if payload.get("source"):
        source = payload["source"]
        is_read_by_one = source["connector"] == "sqlserver"
        name = PREFIX if is_read_by_one else f"{PREFIX}_2"
        named["source"] = {**source, "name": name, "db": _SHARD}
    if "databaseName" in payload:
        named["databaseName"] = _SHARD
        named["tableChanges"] = [
            {**change, "id": change["id"].replace(f'"{DATABASE}"', f'"{_SHARD}"')}
            for change in payload["tableChanges"]
        ]
    value = message.value._replace(payload={**payload, **named})
    return replace(message, value=value)


def _compacted(random: Random, queue: Sequence[Record]) -> Iterator[Record]:
    """Yield what compaction leaves, of one stretch of a partition after the other.

    A stretch is what was there when the reader had read the one before.
    """
    begin = 0
    while begin < len(queue):
        end = begin + random.choice((1, 10, 100, len(queue)))
        stretch = queue[begin:end]
        last = {
            record.message.key.text(has_schema=False): record.offset
            for record in stretch
            if record.message.key is not None
        }
        for record in stretch:
            key = record.message.key
            if key is None or last[key.text(has_schema=False)] == record.offset:
                yield record
        begin = end


class _Producer:
    """Sends messages in order, at least once."""

    def __init__(self, random: Random, settings: Settings, stream: Stream) -> None:
        self._random = random
        self._settings = settings
        self._messages = messages = stream.messages
        self._begins_of_servers = stream.begins_of_servers
        self._built_at = (FIRST_MILLISECOND + 1500) * 1000
        # Partition, message, and which one of the stream it is.
        self._out: list[tuple[int, Message, int]] = []
        # Whether it was started after its last snapshot.
        self._is_restarted = False
        # The order in the transaction behind which it was started.
        self._started_behind = 0
        self._crashes = {
            random.randint(0, len(messages)) for _ in range(settings.restarts)
        }
        # Where PostgreSQL's first transaction after a snapshot goes on.
        firsts = [
            index
            for index, (one, other) in enumerate(pairwise(messages), 1)
            if one.again and other.again
        ]
        if firsts and settings.cuts_first:
            self._crashes.add(random.choice(firsts))

    def run(self) -> list[tuple[int, Message]]:
        """Return all that is sent, in order, but for what was lost."""
        next_ = 0
        while next_ < len(self._messages):
            self._send(next_)
            next_ += 1
            if happens(self._random, self._settings.repeat_chance):
                self._repeat()
            if next_ in self._crashes:
                self._crashes.remove(next_)
                next_ = self._restart(next_)
        return [(partition, message) for partition, message, _ in self._out]

    def _send(self, index: int) -> None:
        message = self._messages[index]
        if message.kind == "read":
            self._is_restarted = False
        if message.begins:
            self._started_behind = 0
        self._built_at += self._random.choice((1, 40, 3000))
        sent = message.stamped(
            self._built_at,
            is_restarted=self._is_restarted,
            behind=self._started_behind,
        )
        self._out.append((self._partition(sent), sent, index))

    def _partition(self, message: Message) -> int:
        """Return the partition of a message; without a key it may be any."""
        if message.key is None:
            return self._random.randrange(PARTITIONS)
        key = message.key.text(has_schema=self._settings.has_schemas)
        return crc32(key.encode()) % PARTITIONS

    def _repeat(self) -> None:
        """Send one message again, as it was.

        A row without a key that a snapshot read is none of them: nothing would tell it
        from another.
        """
        if not self._out:
            return
        partition, message, index = self._random.choice(self._out)
        if message.key is not None or message.kind != "read":
            self._out.append((partition, message, index))

    def _restart(self, stopped: int) -> int:
        """Return from where on the connector starts again.

        That is where a transaction began or, if the topic did not lack what was sent, in
        one: then the order in it counts from there. A snapshot that is not complete would be taken anew, so it goes on here. The log of
        another server is gone.
        """
        messages = self._messages
        begins: list[int] = []
        for index in range(stopped - 1, -1, -1):
            if messages[index].kind == "read":
                break
            if messages[index].begins:
                begins.append(index)
            if index in self._begins_of_servers:
                break
        is_first = stopped > 0 and messages[stopped - 1].again is not None
        if not begins or (is_first and not self._settings.cuts_first):
            return stopped
        self._is_restarted = True
        self._built_at += 5_000_000
        begin = self._random.choice(begins)
        self._started_behind = 0
        if self._settings.loses:
            self._lose(begin, stopped)
        elif happens(self._random, 0.5):
            return self._within(begin, stopped)
        return begin

    def _within(self, begin: int, stopped: int) -> int:
        """Return a place in the transaction that begins there, or its begin."""
        places = [begin]
        for index in range(begin + 1, stopped):
            if self._messages[index].begins or self._messages[index].again:
                break
            if self._messages[index].transaction_order:
                places.append(index)
        within = self._random.choice(places)
        if within > begin:
            self._started_behind = self._messages[within].transaction_order - 1
        return within

    def _lose(self, begin: int, stopped: int) -> None:
        """Leave out the first of what is sent again, some whole transactions.

        What is left was committed later, so that its time tells.
        """
        ends = [
            end
            for end in range(begin + 1, stopped)
            if self._messages[end].begins
            and self._last_ms(begin, end) < self._first_ms(end, stopped)
            and all(message.is_change for message in self._messages[begin:end])
        ]
        if ends:
            lost = range(begin, self._random.choice(ends))
            self._out = [sent for sent in self._out if sent[2] not in lost]

    def _last_ms(self, begin: int, end: int) -> int:
        return max(message.source_ms for message in self._messages[begin:end])

    def _first_ms(self, begin: int, end: int) -> int:
        found = [
            message.source_ms
            for message in self._messages[begin:end]
            if message.source_ms
        ]
        return min(found, default=0)


# ---------- files and strategies


def write_corpus(folder: Path, delivery: Delivery) -> str:
    """Write messages and truth as a recording that `changefold verify` reads.

    Of messages without schemas there is a second file that has them, the same
    otherwise: it tells the types that have to be declared. Where the source is read by
    several snapshots, which of its states they saw is not in its history, compacted topics
    do not have all of them, and that of two databases is not put together: only the last
    rows are written then.

    Returns:
        The file with the messages to read, without its ending.
    """
    folder.mkdir(parents=True, exist_ok=True)
    has_schemas = delivery.settings.has_schemas
    name = f"messages.schemas_{'true' if has_schemas else 'false'}"
    files: dict[str, Sequence[Line]] = {
        name: list(delivery.lines(has_schemas=has_schemas)),
        "messages.schemas_true": list(delivery.lines(has_schemas=True)),
        "expected_final": delivery.final,
    }
    settings = delivery.settings
    is_read_once = settings.interrupted == settings.snapshots == settings.failovers == 0
    has_all = (
        is_read_once
        and not settings.compacted
        and not settings.loses
        and not settings.is_routed
    )
    if settings.connector != "mariadb" and has_all:
        files["expected_history"] = delivery.history
    for file, lines in files.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{file}.ndjson").write_text(text, encoding="utf-8")
    manifest: dict[str, Any] = {
        "partitions": PARTITIONS,
        "timezone": "UTC",
        "settings": vars(delivery.settings),
        "snapshot_seq": delivery.snapshot_seq,
        "records": len(delivery.records),
        "is_compacted": settings.compacted,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return name


@st.composite
def debezium_deliveries(draw: st.DrawFn) -> Delivery:
    """Some histories and one of their deliveries, by a seed that Hypothesis draws."""
    random = draw(st.randoms(use_true_random=True))
    return draw_delivery(random, draw_settings(random), random.randint(1, 4))
