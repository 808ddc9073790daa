"""Random deliveries by TiCDC of what happened in a source.

`deliver` writes the commits of a `histories.Source` as messages, at least once, with
all the freedom that TiCDC has, and some more: the partitions of a topic are read at
any speed.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final, Literal
from zlib import crc32

from histories import (
    DATABASE,
    FIRST_MILLISECOND,
    KEY_COLUMNS,
    LOGICAL_BITS,
    Commit,
    Key,
    Line,
    RowChange,
    Source,
    draw_source,
    happens,
    key_of,
)
from hypothesis import strategies as st
from ticdc_messages import (
    CanalJson,
    Messages,
    ProtocolName,
    SimpleJson,
    Variant,
    described,
    rank,
)

TOPIC: Final = "ticdc_property"
PARTITIONS: Final = 3

Placement = Literal["key", "random", "table"]
Descriptions = Literal["all", "some"]


@dataclass(frozen=True)
class Settings:
    """How a changefeed is set up and how its day goes.

    Attributes:
        protocol: The protocol.
        variant: Of Canal-JSON: what ``old`` of an UPDATE holds, and with
            ``compatible`` also whether types have parameters.
        raw_key_changes: A change of the key is one UPDATE
            (``output-raw-change-event``), not DELETE and INSERT.
        placement: What a row's partition depends on: its key, nothing (a key keeps
            its partition until it is deleted), or only its table.
        watermark_chance: Of a watermark after a message.
        repeat_chance: Of one old message again after a message.
        replays: How often the changefeed starts again from an old checkpoint.
        chunk: Longest run of messages read from one partition.
        descriptions: Of Simple: partitions to which a DDL or BOOTSTRAP goes. With
            ``some``, which TiCDC does for BOOTSTRAP only, a row may come before any
            message that describes it.
        bootstrap_chance: Of Simple: of a BOOTSTRAP of its table around a row.
        unsent_create: Of Simple: which CREATE TABLE a filter ignores, counted from the
            last; 0: none. A row of that table may be described by no message.
        switches: Of Canal-JSON: whether the TiDB extension is switched on on the way. What
            was committed before has the millisecond of its commit, so no two commits may
            share one, nor is there a watermark.
    """

    protocol: ProtocolName = "canal_json_tidb"
    variant: Variant = "full"
    raw_key_changes: bool = False
    placement: Placement = "key"
    watermark_chance: float = 0.1
    repeat_chance: float = 0.05
    replays: int = 1
    chunk: int = 20
    descriptions: Descriptions = "all"
    bootstrap_chance: float = 0.0
    unsent_create: int = 0
    switches: bool = False

    @property
    def messages(self) -> Messages:
        """What makes the messages."""
        if self.protocol == "simple_json":
            return SimpleJson()
        return CanalJson(self.variant)


@dataclass(frozen=True)
class Message:
    """A message that is to be sent, any number of times.

    Attributes:
        partition: Where.
        commit_ts: Its commitTs, or the watermark.
        streams: Those in which it has its place: rows and DDLs of a table, and all
            DDLs, keep their order in a partition.
        body: What it says, but for the time at which it is built.
        bootstrap: What describes the table of a row, if the protocol has that.
    """

    partition: int
    commit_ts: int
    streams: tuple[str, ...]
    body: Mapping[str, Any]
    bootstrap: Mapping[str, Any] | None = None

    def encode(self, clock: str, built_at: int) -> str:
        """Return its text.

        TiCDC writes non-ASCII as it is and escapes what has a meaning in HTML, and
        the line separators of JavaScript.
        """
        text = json.dumps(
            {**self.body, clock: built_at}, ensure_ascii=False, separators=(",", ":")
        )
        for character in "<>&\u2028\u2029":
            text = text.replace(character, f"\\u{ord(character):04x}")
        return text


@dataclass(frozen=True, repr=False)
class Delivery:
    """A topic as it was read.

    Attributes:
        settings: How it came about.
        records: ``(partition, value)`` in order.
        cut: The first commitTs whose rows can not be read, as no message describes
            them: the tables stop there. None: all can.
    """

    settings: Settings
    records: Sequence[tuple[int, str]]
    cut: int | None = None

    def __repr__(self) -> str:
        """Without the records, which no report has room for."""
        return f"Delivery({self.settings}, cut={self.cut})"

    def lines(self) -> list[Line]:
        """Return the lines of a recording."""
        offsets = [0] * PARTITIONS
        lines: list[Line] = []
        for partition, value in self.records:
            lines.append(
                {
                    "topic": TOPIC,
                    "partition": partition,
                    "offset": offsets[partition],
                    "timestamp": FIRST_MILLISECOND + len(lines),
                    "key": None,
                    "value": value,
                }
            )
            offsets[partition] += 1
        return lines


def draw_settings(random: Random) -> Settings:
    """Draw the settings of a delivery."""
    protocols: tuple[ProtocolName, ...] = ("canal_json_tidb", "simple_json")
    variants: tuple[Variant, ...] = ("full", "updated_columns", "compatible")
    placements: tuple[Placement, ...] = ("key", "random", "random", "table")
    descriptions: tuple[Descriptions, ...] = ("all", "some")
    protocol = random.choice(protocols)
    settings = Settings(
        protocol=protocol,
        variant=random.choice(variants) if protocol == "canal_json_tidb" else "full",
        raw_key_changes=happens(random, 0.25),
        placement=random.choice(placements),
        watermark_chance=random.choice((0.01, 0.1, 0.5)),
        repeat_chance=random.choice((0.0, 0.05, 0.3)),
        replays=random.randint(0, 3),
        chunk=random.choice((1, 20, 2000)),
    )
    if protocol == "canal_json_tidb":
        return settings
    return replace(
        settings,
        descriptions=random.choice(descriptions),
        bootstrap_chance=random.choice((0.0, 0.02, 0.2)),
        unsent_create=random.choice((0, 0, 0, 1, 1, 2)),
    )


def deliver(random: Random, source: Source, settings: Settings) -> Delivery:
    """Draw how the commits of a source reach the reader of a topic."""
    messages = list(_messages(random, source, settings))
    end = source.commits[-1].commit_ts
    switched_at = 0
    if settings.switches:
        switched_at = random.choice(source.commits).commit_ts
        messages = [
            _without_extension(message) if message.commit_ts < switched_at else message
            for message in messages
        ]
    sent = _Producer(random, settings, messages, switched_at, end).run()
    partitions = [deque[str]() for _ in range(PARTITIONS)]
    for message, value in sent:
        partitions[message.partition].append(value)
    records: list[tuple[int, str]] = []
    while any(partitions):
        partition = random.choice([n for n, left in enumerate(partitions) if left])
        left = partitions[partition]
        number = min(len(left), random.randint(1, settings.chunk))
        records += [(partition, left.popleft()) for _ in range(number)]
    return Delivery(settings, records, _undescribed([message for message, _ in sent]))


def _without_extension(message: Message) -> Message:
    body = {name: value for name, value in message.body.items() if name != "_tidb"}
    return replace(message, body=body)


def _undescribed(sent: Iterable[Message]) -> int | None:
    """Return the first commitTs of a row whose schema no message describes."""
    sent = list(sent)
    known = {version for message in sent for version in described(message.body)}
    waiting = [
        message.commit_ts
        for message in sent
        if "schemaVersion" in message.body
        and (message.body["table"], message.body["schemaVersion"]) not in known
    ]
    return min(waiting, default=None)


def _messages(random: Random, source: Source, settings: Settings) -> Iterable[Message]:
    """Yield the messages of all commits in order, each with its partition."""
    place = _Placement(random, settings)
    messages = settings.messages
    creates = [commit for commit in source.commits if commit.creates_table]
    unsent = creates[-settings.unsent_create] if settings.unsent_create else None
    for commit in source.commits:
        if commit is not unsent:
            yield from _ddl_messages(random, commit, settings)
        for ddl_event in commit.ddls:
            place.forget(ddl_event.names)
        events = [
            event
            for change in commit.changes
            for event in events_of(change, is_raw=settings.raw_key_changes)
        ]
        events.sort(key=rank)
        for event, partition in zip(events, place.partitions(events), strict=True):
            yield Message(
                partition,
                commit.commit_ts,
                (event.table,),
                messages.row(random, commit, event),
                messages.bootstrap(commit.tables[event.table]),
            )


def _ddl_messages(
    random: Random, commit: Commit, settings: Settings
) -> Iterable[Message]:
    """Yield the messages of a statement, together on each of their partitions."""
    partitions = [0]
    if settings.protocol == "simple_json":
        partitions = _describing(random, settings)
    for partition in partitions:
        for event in commit.ddls:
            body = settings.messages.ddl(commit.commit_ts, event)
            streams = ("", *sorted(event.names))
            yield Message(partition, commit.commit_ts, streams, body)


def _describing(random: Random, settings: Settings) -> list[int]:
    """Draw the partitions to which a description goes."""
    some = PARTITIONS
    if settings.descriptions == "some":
        some = random.randint(1, PARTITIONS)
    return sorted(random.sample(range(PARTITIONS), some))


def events_of(change: RowChange, *, is_raw: bool) -> list[RowChange]:
    """Return the events that a change is sent as."""
    before, after = change.before, change.after
    if before and after and key_of(before) != key_of(after) and not is_raw:
        return [
            RowChange(change.table, before, None),
            RowChange(change.table, None, after),
        ]
    return [change]


def _place(event: RowChange) -> tuple[str, Key]:
    return event.table, key_of(event.after or event.before or {})


class _Placement:
    """Decides on which partition the events of a row lie."""

    def __init__(self, random: Random, settings: Settings) -> None:
        self._random = random
        self._placement = settings.placement
        self._known: dict[tuple[str, Key], int] = {}

    def partitions(self, events: Sequence[RowChange]) -> list[int]:
        """Return the partitions of the events of one commit, deletes first."""
        if self._placement == "table":
            return [crc32(event.table.encode()) % PARTITIONS for event in events]
        places = [_place(event) for event in events]
        if self._placement == "key":
            return [crc32(repr(place).encode()) % PARTITIONS for place in places]
        left = {
            (event.table, key_of(event.before)): position
            for position, event in enumerate(events)
            if event.before is not None
            and (event.after is None or key_of(event.before) != key_of(event.after))
        }
        # Of a row that came under another name of its table, no partition is known.
        deleted = {
            position: self._known.pop(place, self._random.randrange(PARTITIONS))
            for place, position in left.items()
        }
        return [
            self._known.setdefault(place, self._random.randrange(PARTITIONS))
            if event.after is not None
            else deleted[position]
            for position, (event, place) in enumerate(zip(events, places, strict=True))
        ]

    def forget(self, tables: Iterable[str]) -> None:
        """Let the rows of tables go to other partitions from now on."""
        gone = set(tables)
        self._known = {
            place: partition
            for place, partition in self._known.items()
            if place[0] not in gone
        }


class _Producer:
    """Sends messages as TiCDC does: in order where it promises so, at least once.

    There is a queue for each table and partition, as only there commitTs never goes
    down, and one for the DDLs of a partition, which come one after the other. That
    TiCDC holds back the rows of all partitions for a DDL of their table is left out: a
    reader of several partitions sees nothing of it. No watermark overtakes a message
    below it.
    """

    def __init__(
        self,
        random: Random,
        settings: Settings,
        messages: Sequence[Message],
        switched_at: int,
        end: int,
    ) -> None:
        self._random = random
        self._settings = settings
        self._clock = settings.messages.clock
        self._queues: dict[tuple[str, int], deque[Message]] = {}
        for message in messages:
            for stream in message.streams:
                place = stream, message.partition
                self._queues.setdefault(place, deque()).append(message)
        self._end = end
        self._restarts = {
            random.randint(0, len(messages)) for _ in range(settings.replays)
        }
        self._built_at = FIRST_MILLISECOND + 1500
        self._out: list[tuple[Message, str]] = []
        self._first: list[Message] = []
        self._late: list[deque[Message]] = [deque() for _ in range(PARTITIONS)]
        self._switched_at = switched_at
        self._watermarks = [0]

    def run(self) -> list[tuple[Message, str]]:
        """Return all that is sent, in order, with its text."""
        random, settings = self._random, self._settings
        while (message := self._next()) is not None:
            describes_first = happens(random, 0.5)
            if describes_first:
                self._bootstrap(message)
            self._first.append(message)
            self._send(message)
            if not describes_first:
                self._bootstrap(message)
            frontier = min(
                (queue[0].commit_ts for queue in self._queues.values() if queue),
                default=self._end,
            )
            if happens(random, settings.watermark_chance):
                self._resolve(frontier - random.choice((0, 0, 1, 5 << LOGICAL_BITS)))
            for late in self._late:
                if late and happens(random, 0.5):
                    self._send(late.popleft())
            if happens(random, settings.repeat_chance):
                self._repeat()
            if len(self._first) in self._restarts:
                self._replay()
        self._resolve(self._end + (1 << LOGICAL_BITS))
        for late in self._late:
            while late:
                self._send(late.popleft())
        return self._out

    def _next(self) -> Message | None:
        """Take one of the messages that are the first of all their streams."""
        heads = {id(queue[0]): queue[0] for queue in self._queues.values() if queue}
        ready = [
            message
            for message in heads.values()
            if all(queue[0] is message for queue in self._queues_of(message))
        ]
        if not ready:
            return None
        message = self._random.choice(ready)
        for queue in self._queues_of(message):
            queue.popleft()
        return message

    def _queues_of(self, message: Message) -> list[deque[Message]]:
        return [self._queues[stream, message.partition] for stream in message.streams]

    def _send(self, message: Message) -> None:
        self._built_at += 1
        self._out.append((message, message.encode(self._clock, self._built_at)))

    def _bootstrap(self, message: Message) -> None:
        """Describe the table of a row, now and then."""
        if message.bootstrap is None:
            return
        if happens(self._random, self._settings.bootstrap_chance):
            for partition in _describing(self._random, self._settings):
                self._send(Message(partition, 0, (), message.bootstrap))

    def _resolve(self, watermark_ts: int) -> None:
        """Broadcast a watermark, unless it would go back or the extension is off."""
        if watermark_ts <= max(self._watermarks[-1], self._switched_at):
            return
        self._watermarks.append(watermark_ts)
        body = self._settings.messages.watermark(watermark_ts)
        for partition, late in enumerate(self._late):
            late.append(Message(partition, watermark_ts, (), body))

    def _repeat(self) -> None:
        """Send one message again: its bytes, or built anew."""
        message, text = self._random.choice(self._out)
        if happens(self._random, 0.5):
            self._out.append((message, text))
        else:
            self._send(message)

    def _replay(self) -> None:
        """Start again from an old checkpoint: all that lies above it comes again."""
        checkpoint = self._random.choice(self._watermarks)
        for message in self._first:
            if message.commit_ts > checkpoint:
                self._send(message)


# ---------- files and strategies


def write_corpus(
    folder: Path,
    source: Source,
    delivery: Delivery,
    seen: Callable[[Source], Source] = lambda source: source,
) -> None:
    """Write messages and truth as a recording that `changefold verify` reads.

    The truth is that of the cut, if the tables have to stop before the end.

    Args:
        folder: Where to write.
        source: What happened.
        delivery: How it was sent.
        seen: Returns what the tables are to show of a source.
    """
    folder.mkdir(parents=True, exist_ok=True)
    truth = seen(source if delivery.cut is None else source.until(delivery.cut))
    schema = [
        {
            "database": DATABASE,
            "table": table.name,
            "key_columns": list(KEY_COLUMNS),
            "key_kind": "PRIMARY KEY",
            "columns": [
                {
                    "name": one.name,
                    "column_type": one.type,
                    "nullable": one.nullable,
                    "extra": "",
                    "generation_expression": "",
                }
                for one in table.columns
            ],
        }
        for table in truth.tables.values()
    ]
    files = {
        delivery.settings.protocol: delivery.lines(),
        "expected_final": truth.final(),
        "schema_final": schema,
    }
    if not delivery.settings.switches:
        # A version that begins in a millisecond has no timestamp to be compared with.
        files["expected_history"] = truth.history
    for name, lines in files.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.ndjson").write_text(text, encoding="utf-8")
    manifest = {
        "partitions": PARTITIONS,
        "timezone": "UTC",
        "settings": vars(delivery.settings),
        "cut": delivery.cut,
        "ddl": [event.ddl.sql for commit in source.commits for event in commit.ddls],
        "commits": len(source.commits),
        "records": len(delivery.records),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[Source, Delivery]:
    """Some histories and one of their deliveries, by a seed that Hypothesis draws."""
    random = draw(st.randoms(use_true_random=True))
    source = draw_source(random, histories=random.randint(1, 4))
    return source, deliver(random, source, draw_settings(random))
