"""A plain reader of Debezium's topics: no batches, no SQL, and no hurry.

It knows of the messages what the decoder says, and of the source nothing. What it comes to
is compared with what the source says (`debezium_deliveries.Delivery`).
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import msgspec
from debezium_deliveries import Delivery
from debezium_histories import ENTRIES
from histories import ITEMS, MARKS, Line

from changefold.connect.types import ConnectType, parse_connect_type
from changefold.protocols.debezium import DebeziumMessage, read_debezium

Texts = dict[str, str | None]


class Read(NamedTuple):
    """A message as it was read, with the record that it came from."""

    message: DebeziumMessage
    line: Line

    @property
    def table(self) -> str:
        return str(self.message.source_table)

    @property
    def is_change(self) -> bool:
        """Whether it is a change of the tables that are compared."""
        is_change = self.message.event_kind in {"row", "truncate"}
        return is_change and self.table in {ITEMS, MARKS, ENTRIES}

    @property
    def is_read(self) -> bool:
        """Whether a snapshot of the whole source read it."""
        return self.message.is_snapshot and self.message.snapshot != "incremental"

    @property
    def place(self) -> tuple[str, int]:
        return str(self.message.change_sequence), self.line["offset"]

    @property
    def identity(self) -> tuple[object, ...]:
        """What it has in common with the same change that was sent again."""
        message, line = self.message, self.line
        if message.key is None and self.is_read:
            return line["topic"], line["partition"], line["offset"]
        position: object = message.change_sequence
        if message.connector == "postgresql" and message.transaction_id:
            position = transaction_of(message), message.lsn
        return self.table, message.op, message.key, position, message.server_id

    def is_of_another_server(self, before: "Read") -> bool:
        """Tell whether the server is another one than that of the change before."""
        message, known = self.message, before.message
        is_lower = str(message.change_sequence) < str(known.change_sequence)
        if before.is_read and message.connector == "postgresql" and not self.is_read:
            return False  # It was open while the snapshot read.
        if self.is_read or before.is_read:
            return is_lower
        if message.server_id != known.server_id:
            return True
        is_later = (message.source_ts_ms or 0) > (known.source_ts_ms or 0) + 60_000
        return is_lower and is_later

    def columns(self) -> dict[str, ConnectType]:
        types = json.loads(self.message.column_types or "{}")
        return {name: parse_connect_type(text) for name, text in types.items()}


def _in_kafka_order(reads: list[Read]) -> Iterator[Read]:
    """Yield the changes of keys in compacted topics, their tombstones as deletes."""
    reads = sorted(reads, key=lambda read: read.line["timestamp"])
    tables = {read.line["topic"]: read.table for read in reads if read.is_change}
    for read in reads:
        if read.message.event_kind == "tombstone" and read.line["topic"] in tables:
            yield Read(
                msgspec.structs.replace(
                    read.message,
                    event_kind="row",
                    op="d",
                    source_table=tables[read.line["topic"]],
                ),
                read.line,
            )
        elif read.is_change and read.message.key is not None:
            yield read


def transaction_of(message: DebeziumMessage) -> int:
    return int(str(message.transaction_id).partition(":")[0])


@cache
def messages_of(delivery: Delivery) -> list[Read]:
    found = []
    for line in delivery.lines(has_schemas=True):
        texts = line["key"], line["value"]
        key, value = (None if text is None else text.encode() for text in texts)
        found.append(Read(read_debezium(key, value), line))
    return found


class Change(NamedTuple):
    """A change as a reader came to know it."""

    read: Read
    before: Texts | None
    after: Texts | None


class Reader:
    """Reads topics to their end, then applies all changes in the order of the source.

    Those of keys in compacted topics it applies in the order of Kafka, tombstones too.

    Attributes:
        tables: Rows by table and key; of the table without a key by number.
        changes: The changes that were no part of a snapshot.
        ended: How many rows an interrupted snapshot had and the next one had not.
    """

    def __init__(self, delivery: Delivery) -> None:
        self.tables: dict[str, dict[object, Texts]] = defaultdict(dict)
        self.changes: list[Change] = []
        self.ended = 0
        self._connector = delivery.settings.connector
        self._columns: dict[str, dict[str, ConnectType]] = defaultdict(dict)
        self._count = 0
        self._passes: dict[str, list[Read]] = defaultdict(list)
        reads = messages_of(delivery)
        if delivery.settings.compacted:
            keyless = [read for read in reads if read.message.key is None]
            self._reads = [*_in_kafka_order(reads), *self._in_source_order(keyless)]
            self._passes.clear()
        else:
            self._reads = self._in_source_order(reads)
        self._run()

    def _in_source_order(self, reads: list[Read]) -> list[Read]:
        """Return first deliveries: those of a partition in its order.

        The highest position that each partition has reached sets them beside each other.
        """
        # PostgreSQL's first transaction may have two positions: the lowest counts.
        lowest: dict[tuple[object, ...], Read] = {}
        first: dict[tuple[object, ...], Read] = {}
        for read in sorted(reads, key=lambda read: read.line["timestamp"]):
            if read.is_change:
                known = lowest.get(read.identity, read)
                lowest[read.identity] = min(read, known, key=lambda one: one.place)
                first.setdefault(read.identity, read)
        reached: dict[tuple[str, int, int], tuple[str, int, bool]]
        reached = defaultdict(lambda: ("", 0, False))
        placed: list[tuple[tuple[int, str, int, int], Read]] = []
        epoch = 0
        before: Read | None = None
        for identity, read in first.items():
            epoch += before is not None and read.is_of_another_server(before)
            before = read
            topic, partition = read.line["topic"], read.line["partition"]
            highest = reached[topic, partition, epoch]
            position = str(lowest[identity].message.change_sequence)
            own = position, read.message.source_ts_ms or 0, read.is_read
            reached[topic, partition, epoch] = max(highest, own)
            # What was committed before is of a past that was never seen.
            if read.is_read or highest[2] or own[1] >= highest[1]:
                position = max(highest[0], position)
            place = epoch, position, partition, read.line["offset"]
            placed.append((place, lowest[identity]))
        ordered = [read for _, read in sorted(placed, key=lambda one: one[0])]
        for read in ordered:
            if read.is_read:
                self._passes[str(read.message.change_sequence)].append(read)
        return ordered

    def _run(self) -> None:
        last_pass, is_complete = "", True
        for read in self._reads:
            position = str(read.message.change_sequence)
            if position in self._passes and read.is_read and position != last_pass:
                self._begin_pass(self._passes[position], is_complete=is_complete)
                last_pass = position
                is_complete = any(
                    one.message.snapshot == "last" for one in self._passes[position]
                )
            self._apply(read)

    def _begin_pass(self, reads: list[Read], *, is_complete: bool) -> None:
        """End the rows that a new snapshot replaces."""
        keys = {(read.table, read.message.key) for read in reads}
        if not is_complete:
            self.ended += sum(
                (table, key) not in keys
                for table, rows in self.tables.items()
                for key in rows
                if table != ENTRIES
            )
            self.tables.clear()
        if any(read.table == ENTRIES for read in reads):
            self.tables[ENTRIES].clear()

    def _apply(self, read: Read) -> None:
        message, rows = read.message, self.tables[read.table]
        self._add_columns(read)
        before = None if message.before is None else json.loads(message.before)
        after = None if message.after is None else json.loads(message.after)
        key: object = message.key
        if read.table == ENTRIES:
            key = self._key_of_copy(message.op, before)
        if after is not None and message.unavailable_columns:
            present = rows[key]
            names = json.loads(message.unavailable_columns)
            after |= {name: present[name] for name in names}
        if message.op == "t":
            rows.clear()
        elif after is None:
            rows.pop(key, None)
        else:
            # An old row that is sent again may lack a column that is there by now.
            rows[key] = dict.fromkeys(self._columns[read.table]) | after
        if not message.is_snapshot:
            self.changes.append(Change(read, before, after))

    def _key_of_copy(self, op: str | None, before: Texts | None) -> int:
        """Return the number of a row without a key, that of an equal one if it goes."""
        if op in {"u", "d"}:
            for key, row in self.tables[ENTRIES].items():
                if row == before:
                    return int(str(key))
        self._count += 1
        return self._count

    def _add_columns(self, read: Read) -> None:
        """Give the rows that are there the default of a column that is new."""
        known = self._columns[read.table]
        for name, column in read.columns().items():
            if name not in known:
                known[name] = column
                for row in self.tables[read.table].values():
                    row.setdefault(name, column.default)

    def shown(self, table: str, row: Texts | None) -> Texts | None:
        """Return a row as the source prints it."""
        if row is None:
            return None
        columns = self._columns[table]
        return {
            name: self._oracle_text(columns[name], text) for name, text in row.items()
        }

    def _oracle_text(self, column: ConnectType, text: str | None) -> str | None:
        is_postgresql = self._connector == "postgresql"
        if text is None:
            return None
        if column.base == "bytes":
            return ("\\x" if is_postgresql else "0x") + text.encode("latin-1").hex()
        if column.base == "MicroTimestamp" and is_postgresql:
            return text.rstrip("0").rstrip(".")
        return text
