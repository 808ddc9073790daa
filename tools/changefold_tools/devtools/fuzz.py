"""Do the decoders survive anything? Damages recorded messages and decodes them.

Each message is decoded by itself, many times in a batch, and among others, as Spark does.
Whatever is wrong with it, nothing may raise, no message may vanish or change another, and
what can not be read must say why. What is read goes on to the functions that SQL calls
with it.
"""

from __future__ import annotations

import contextlib
import json
import re
import resource
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.table import Table

from changefold.mysql.wire_forms import convert_as_sent
from changefold.register import _fold_table_schemas, _parse_mysql_ddl
from changefold_tools.devtools.mutations import Message, mutate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from changefold_tools.devtools.recorded_topics import Decoder, Topic

Row = dict[str, Any]

BATCH: Final = 50
"""So many damaged messages are decoded together, among as many whole ones at most."""

_NEIGHBOURS: Final = 60
_COPIES: Final = 8

MAX_SECONDS: Final = 2.0
"""A message may take so long, of the processor's time; a batch so much longer than its
messages one by one."""

_STOP_AFTER: Final = 20.0
"""Seconds of the processor's time after which a decoder is stopped."""

_MAX_MEMORY: Final = 2 << 30
"""Bytes that decoding may take."""

_MAX_MILLISECONDS: Final = 10**13 - 1
_MAX_FAILURES: Final = 20


# ------------------------------------------------------------------------ outcome


@dataclass(frozen=True)
class Failure:
    """A message that a decoder does not survive.

    Attributes:
        seed: The seed of the run.
        number: Number of the message in it.
        topic: Of which topic it was.
        mutations: What was done to it.
        reason: What went wrong.
        message: The message.
    """

    seed: int
    number: int
    topic: Topic
    mutations: tuple[str, ...]
    reason: str
    message: Message

    def __str__(self) -> str:
        """Return what happened, and how to see it again."""
        key, value = (
            None if part is None else part[:400] + b"..." * (len(part) > 400)
            for part in self.message
        )
        return (
            f"seed {self.seed}, message {self.number}, {self.topic.protocol} of "
            f"{self.topic.name}{' (bare)' * self.topic.is_bare}, damaged by {' + '.join(self.mutations)}: "
            f"{self.reason}\n  key {key!r}\n  value {value!r}\n"
            f"  again: changefold fuzz --seed {self.seed} --only {self.number}"
        )


@dataclass
class Report:
    """What came of the messages.

    Attributes:
        kinds: By the protocol, how many messages were of each event kind.
        errors: By the protocol, how many of each class of error.
        mutations: How often each kind of damage was done.
        failures: What must not be.
        slowest: Seconds of the processor that the slowest message took.
        seconds: How long all took.
    """

    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    errors: dict[str, Counter[str]] = field(default_factory=dict)
    mutations: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    slowest: float = 0.0
    seconds: float = 0.0

    @property
    def messages(self) -> int:
        """How many messages there were."""
        return sum(kinds.total() for kinds in self.kinds.values())

    def count(self, protocol: str, row: Row) -> None:
        """Count a message."""
        self.kinds.setdefault(protocol, Counter())[row["event_kind"]] += 1
        errors = self.errors.setdefault(protocol, Counter())
        if row["error"] is not None:
            errors[row["error"]["class"]] += 1


def print_report(report: Report, console: Console) -> None:
    """Print the failures, and a table of the decoders."""
    for failure in report.failures:
        console.print(str(failure), style="red", highlight=False, markup=False)
    protocols = sorted(report.kinds)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("decoder", no_wrap=True)
    for protocol in protocols:
        table.add_column(protocol.replace("_", " "), justify="right")
    table.add_column("all", justify="right")

    def add(name: str, counts: list[int], *, ends_section: bool = False) -> None:
        cells = [f"{count:,}" if count else "" for count in [*counts, sum(counts)]]
        table.add_row(name, *cells, end_section=ends_section)

    kinds = [report.kinds[protocol] for protocol in protocols]
    add("messages", [each.total() for each in kinds])
    add("still readable", [each.total() - each["invalid"] for each in kinds])
    add("quarantined", [each["invalid"] for each in kinds], ends_section=True)
    errors = [report.errors[protocol] for protocol in protocols]
    for name, _ in sum(errors, Counter()).most_common():
        add(name, [each[name] for each in errors])
    console.print(table)
    console.print(
        f"{report.messages:,} messages in {report.seconds:.0f} s, the slowest took "
        f"{report.slowest:.2f} s; {len(report.failures)} failure(s)",
        highlight=False,
    )


# ------------------------------------------------------------------------- checks

_CLASS: Final = re.compile("[a-z][a-z0-9_]{2,40}")
_MAX_PATH: Final = 6000
_MAX_SENTENCE: Final = 600
_MAX_TEXT: Final = 2_000_000
_INTERNALS: Final = (
    *("Traceback", 'File "', "<class", "<object", " object at 0x", "NumberToken("),
    *("Decimal(", "Raw(", "b'", "{'", "['", "None"),
)
_JSON_FIELDS: Final = {
    "key": dict,
    "before": dict,
    "after": dict,
    "data": dict,
    "old": dict,
    "column_types": dict,
    "table_schema": dict,
    "pre_table_schema": dict,
    "logical_message": dict,
    "primary_key": list,
    "unavailable_columns": list,
    "table_changes": list,
}
_TIMES: Final = ("es_ms", "ts_ms", "build_ts_ms", "source_ts_ms")


def _faults(decoder: Decoder, message: Message, row: Row) -> Iterator[str]:
    """Yield what is wrong with a decoded message, as sentences."""
    kind, error = row["event_kind"], row["error"]
    if kind not in decoder.kinds:
        yield f"unknown event kind {kind!r}"
    if (kind == "invalid") != (error is not None) and not _is_remark(kind, error):
        yield f"event kind {kind} with the error {error}"
    if error is not None:
        yield from _faults_of_error(message, error)
    texts = list(_texts(row))
    size = sum(len(part or b"") for part in message)
    if sum(map(len, texts)) > _MAX_TEXT + 12 * size:
        yield f"{sum(map(len, texts))} characters made of {size} bytes"
    if kind == "row" and "images" in row and not row["images"]:
        yield "a row message without rows"
    # Those of other connectors are recorded, and do nothing.
    acts = kind == "ddl" and row.get("connector") in {None, "TiCDC"}
    if acts and row["ddl_sql"] is None:
        yield "a DDL without a statement"
    for name in _TIMES:
        if name == "ts_ms" and "source_ts_ms" in row:
            # Of Debezium, where nothing depends on it: SQL takes it or leaves it.
            continue
        if not 0 <= (row.get(name) or 0) <= _MAX_MILLISECONDS:
            yield f"{name} = {row[name]} is no time"
    for each in [row, *row.get("images", ())]:
        for name, expected in _JSON_FIELDS.items():
            if each.get(name) is not None and not _is_json(each[name], expected):
                yield f"{name} is no JSON {expected.__name__}: {each[name][:200]}"


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _is_remark(kind: str, error: Row | None) -> bool:
    """Tell whether a row says what is wrong with its key, or a declared type."""
    return (
        kind == "row"
        and error is not None
        and (error["path"].startswith("$key") or error["class"] == "contradicted_type")
    )


def _faults_of_error(message: Message, error: Row) -> Iterator[str]:
    sentence = error["message"]
    if not _CLASS.fullmatch(error["class"]):
        yield f"error class {error['class']!r}"
    if not error["path"].startswith("$") or len(error["path"]) > _MAX_PATH:
        yield f"error path {error['path'][:200]!r}"
    if len(sentence) > _MAX_SENTENCE:
        yield f"a sentence of {len(sentence)} characters: {sentence[:200]}"
    if not sentence.startswith("Expected ") or ", got " not in sentence:
        yield f"no sentence: {sentence[:200]}"
    for text in _INTERNALS:
        # Unless it quotes the message.
        if text in sentence and not any(
            text.encode() in part for part in message if part
        ):
            yield f"a sentence with `{text}`: {sentence[:200]}"


def _is_json(text: str, expected: type) -> bool:
    try:
        # Python refuses numbers of more than 4300 digits.
        return isinstance(json.loads(text, parse_int=str), expected)
    except ValueError:
        return False


# What SQL does with a row that was read; a type is what the source had or has now.
_TYPES: Final = (
    *("tinyint", "int unsigned", "bigint unsigned", "decimal(10,2)", "double", "float"),
    *("bit(8)", "bit(64)", "year", "date", "time(3)", "datetime", "datetime(6)"),
    *("timestamp(3)", "char(5)", "varchar(20)", "text", "binary(3)", "varbinary(20)"),
    *("blob", "json", "enum('a','b')", "set('a','b','c')"),
)


def _use(decoder: Decoder, row: Row, chance: Random) -> None:
    """Call the functions that SQL calls with what was read of a message."""
    if row["ddl_sql"] is not None:
        _parse_mysql_ddl(row["ddl_sql"], row["source_database"])
    if row["event_kind"] != "row":
        return
    images = row.get("images") or [row]
    for name in ("data", "after"):
        values = json.loads(images[0].get(name) or "{}")
        for column in chance.sample(list(values), min(3, len(values))):
            value = values[column]
            if value is not None:
                text = value if isinstance(value, str) else json.dumps(value)
                before, after = chance.choices(_TYPES, k=2)
                converted = convert_as_sent(text, before, after, decoder.wire_form)
                (converted or "").encode()


def _fold(rows: Sequence[Row]) -> None:
    """Fold the schemas of a batch, as SQL does it for a topic."""
    events, described, seen = [], [], []
    for place, row in enumerate(rows):
        sequence = f"{row['commit_ts'] or place:020d}"
        schema = row.get("source_schema")
        names = [name for name in (row["source_database"], schema) if name is not None]
        named = {"database": ".".join(names), "table": row["source_table"]}
        if row["event_kind"] == "ddl" and row["ddl_sql"] is not None:
            event = {
                **named,
                "sequence": sequence,
                "sql": row["ddl_sql"],
                "statement": _parse_mysql_ddl(row["ddl_sql"], row["source_database"]),
                "table_schema": row.get("table_schema"),
                "previous_table_schema": row.get("pre_table_schema"),
            }
            events.append(
                {name: text for name, text in event.items() if text is not None}
            )
        schemas = (row.get("table_schema"), row.get("pre_table_schema"))
        described += [
            {"table_schema": schema, "first_sequence": sequence}
            for schema in schemas
            if schema is not None
        ]
        if row["event_kind"] == "row" and row.get("column_types") is not None:
            seen.append(
                {
                    **named,
                    "sequence": sequence,
                    "last_sequence": sequence,
                    "column_types": json.loads(row["column_types"]),
                    "primary_key": json.loads(row["primary_key"] or "null"),
                }
            )
    folded = _fold_table_schemas(
        json.dumps(events), json.dumps(described), json.dumps(seen)
    )
    versions = Counter(
        (version["table_uid"], version["version"]) for version in json.loads(folded)
    )
    for version, count in versions.most_common(1):
        if count > 1:
            raise ValueError(f"version {version} comes {count} times")


# ---------------------------------------------------------------------------- run


@dataclass(frozen=True)
class _Damaged:
    """A damaged message: its number, and what was done."""

    number: int
    message: Message
    mutations: tuple[str, ...]


@dataclass(frozen=True)
class Fuzzer:
    """Damages the messages of topics and decodes them.

    The seed and the number of a message tell which one it is, and what is done to it,
    whatever the number of messages.

    Attributes:
        topics: The topics.
        seed: The seed.
    """

    topics: Sequence[Topic]
    seed: int = 1

    def run(self, messages: int, only: int | None = None) -> Report:
        """Damage and decode messages.

        Args:
            messages: How many; a batch that was begun is finished.
            only: Number of one message: only its batch is decoded.
        """
        began = time.perf_counter()
        report = Report()
        batches = range(-(-messages // BATCH)) if only is None else [only // BATCH]
        with _limited_memory():
            for batch in batches:
                self._run_batch(batch, report)
                if len(report.failures) >= _MAX_FAILURES:
                    break
        report.seconds = time.perf_counter() - began
        return report

    def damaged(self, number: int) -> tuple[Topic, Message]:
        """Return a damaged message, and the topic it was of."""
        topic, _ = self._setting(number // BATCH)
        return topic, self._damage(topic, number).message

    def _setting(self, batch: int) -> tuple[Topic, Random]:
        # By a text: neighbouring numbers begin alike.
        chance = Random(f"{self.seed} {batch}")  # noqa: S311  # the same each time
        # Every topic in turn.
        order = list(self.topics)
        Random(f"{self.seed} {batch // len(order)}").shuffle(order)  # noqa: S311  # the same each time
        return order[batch % len(order)], chance

    def _damage(self, topic: Topic, number: int) -> _Damaged:
        chance = Random(f"{self.seed} {number} {topic.name}")  # noqa: S311  # the same each time
        # Now and then of any kind, however rare.
        message, other = (
            chance.choice(
                topic.messages
                if chance.random() < 0.7
                else chance.choice(topic.by_kind)
            )
            for _ in range(2)
        )
        is_avro = topic.decoder.is_avro
        changed, names = mutate(chance, message, other, is_avro=is_avro)
        return _Damaged(number, changed, tuple(names))

    def _run_batch(self, batch: int, report: Report) -> None:
        topic, chance = self._setting(batch)
        first = batch * BATCH
        damaged = [
            self._damage(topic, number) for number in range(first, first + BATCH)
        ]
        for each in damaged:
            report.mutations.update(each.mutations)
        types = topic.types if chance.random() < 0.5 else None
        _Batch(self.seed, topic, types, damaged, chance, report).check()


@dataclass
class _Batch:
    """A batch of damaged messages among whole ones of its topic."""

    seed: int
    topic: Topic
    types: str | None
    damaged: list[_Damaged]
    chance: Random
    report: Report

    def check(self) -> None:
        """Decode all messages, and note what is wrong."""
        messages = self.topic.messages
        start = self.chance.randrange(max(1, len(messages) - _NEIGHBOURS))
        whole = messages[start : start + _NEIGHBOURS]
        whole_rows = self._decode(whole)
        rows: list[Row] = []
        decoded: list[_Damaged] = []
        began = time.thread_time()
        for each in self.damaged:
            row = self._check_alone(each)
            if row is not None:
                rows.append(row)
                decoded.append(each)
        seconds = time.thread_time() - began
        # The damaged ones between the others, wherever they come to lie.
        order = list(range(len(decoded) + len(whole)))
        self.chance.shuffle(order)
        for places in (order, order[::-1]):
            self._check_together(decoded, whole, whole_rows, places, seconds)
        self._check_fold(rows + whole_rows)

    def _decode(self, messages: Sequence[Message]) -> list[Row]:
        with _stopped_in_time():
            array = self.topic.decoder.decode(messages, self.types)
        array.validate(full=True)
        if array.type != self.topic.decoder.type or len(array) != len(messages):
            raise TypeError(f"The batch is of {len(array)} {array.type}.")
        rows: list[Row] = array.to_pylist()
        return rows

    def _check_alone(self, each: _Damaged) -> Row | None:
        """Decode a damaged message by itself; ``None`` if that raises."""
        began = time.thread_time()
        try:
            # Debezium's decoder reads messages that are alike together.
            row, *copies = self._decode([each.message] * _COPIES)
            is_same = [row] == self._decode([each.message]) and copies == [row] * len(
                copies
            )
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not be
            self._fail(each, f"decoding it alone raises {_named(error)}")
            return None
        seconds = time.thread_time() - began
        self.report.slowest = max(self.report.slowest, seconds)
        if seconds > MAX_SECONDS:
            self._fail(each, f"decoding it alone takes {seconds:.1f} s")
        self.report.count(self.topic.protocol, row)
        for fault in _faults(self.topic.decoder, each.message, row):
            self._fail(each, fault)
        if not is_same:
            self._fail(each, "decoding it again, or many of it, gives another result")
        began = time.thread_time()
        try:
            with _stopped_in_time():
                _use(self.topic.decoder, row, self.chance)
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not be
            self._fail(each, f"what SQL does with it raises {_named(error)}")
        seconds = time.thread_time() - began
        if seconds > MAX_SECONDS:
            self._fail(each, f"what SQL does with it takes {seconds:.1f} s")
        return row

    def _check_together(
        self,
        damaged: Sequence[_Damaged],
        whole: Sequence[Message],
        expected: Sequence[Row],
        places: Sequence[int],
        seconds: float,
    ) -> None:
        """Decode the batch in one order.

        Args:
            damaged: The damaged messages.
            whole: The others.
            expected: What the others are among themselves.
            places: The order.
            seconds: How long the damaged messages took by themselves.
        """
        messages = [*(each.message for each in damaged), *whole]
        began = time.thread_time()
        try:
            rows = self._decode([messages[place] for place in places])
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not be
            culprit = self._culprit(damaged, whole, expected)
            self._fail(culprit, f"decoding a batch with it raises {_named(error)}")
            return
        taken = time.thread_time() - began - seconds
        if taken > MAX_SECONDS:
            self._fail(damaged[0], f"its batch takes {taken:.1f} s more")
        for place, row in zip(places, rows, strict=True):
            if place < len(damaged):
                for fault in _faults(self.topic.decoder, messages[place], row):
                    self._fail(damaged[place], f"in a batch: {fault}")
            elif row != expected[place - len(damaged)]:
                difference = _difference(expected[place - len(damaged)], row)
                culprit = self._culprit(damaged, whole, expected)
                self._fail(culprit, f"it changes a whole message: {difference}")
                return

    def _culprit(
        self,
        damaged: Sequence[_Damaged],
        whole: Sequence[Message],
        expected: Sequence[Row],
    ) -> _Damaged:
        """Return the damaged message that spoils a batch; the first if none alone does."""
        for each in damaged:
            try:
                if self._decode([*whole, each.message])[:-1] != expected:
                    return each
            except Exception:  # noqa: BLE001  # whatever it is, it is this message
                return each
        return damaged[0]

    def _check_fold(self, rows: Sequence[Row]) -> None:
        """Fold the schemas; where that fails, find the message by which it does."""
        try:
            with _stopped_in_time():
                _fold(rows)
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not be
            culprit = self.damaged[0]
            for count in range(1, len(rows)):
                try:
                    _fold(rows[:count])
                except Exception:  # noqa: BLE001  # as above
                    culprit = self.damaged[min(count, len(self.damaged)) - 1]
                    break
            self._fail(culprit, f"folding its schema raises {_named(error)}")

    def _fail(self, each: _Damaged, reason: str) -> None:
        self.report.failures.append(
            Failure(
                self.seed, each.number, self.topic, each.mutations, reason, each.message
            )
        )


class _TookTooLongError(Exception):
    """A decoder was stopped: it might never have come to an end."""


@contextlib.contextmanager
def _limited_memory() -> Iterator[None]:
    """Let what needs far too much memory fail, and not the machine: on Linux."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except FileNotFoundError:
        yield
        return
    size = pages * resource.getpagesize() + _MAX_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


@contextlib.contextmanager
def _stopped_in_time() -> Iterator[None]:
    """Stop what is done within, if it takes too long."""

    def stop(*_: object) -> None:
        raise _TookTooLongError(f"stopped after {_STOP_AFTER:.0f} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _STOP_AFTER)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"


def _difference(expected: Row, row: Row) -> str:
    """Say in which fields two rows differ."""
    names = [name for name in expected if row.get(name) != expected[name]]
    texts = [
        f"{name} is {str(row.get(name))[:200]}, without it {str(expected[name])[:200]}"
        for name in names[:3]
    ]
    return "; ".join(texts)
