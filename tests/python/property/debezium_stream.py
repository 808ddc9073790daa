"""What a connector of Debezium writes of a history: each message once, in order.

`read_stream` goes through the commits of a history as the connector goes through the log:
it takes snapshots, streams what is committed after them, and notes on the way what the
source itself would say, from its rows and never from a message.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, Literal

from debezium_ddl import schema_change
from debezium_histories import (
    ENTRIES,
    LONG,
    History,
    Statement,
    Transaction,
    apply,
    has_key,
    new_source,
    oracle_row,
    shown_columns,
)
from debezium_log import (
    Position,
    new_log,
    position_fields,
    sequence_text,
    snapshot_fields,
    transaction_id,
)
from debezium_messages import (
    PLACEHOLDER,
    SIGNALS,
    Event,
    Kind,
    Message,
    Op,
    collection_of,
    context_headers,
    envelope,
    heartbeat,
    key_of_row,
    key_only_value,
    row_value,
    source_value,
    topic_of,
    transaction_message,
)
from debezium_settings import Settings
from histories import (
    FIRST_MILLISECOND,
    Column,
    Ddl,
    Line,
    Row,
    RowChange,
    Table,
    create_table,
    happens,
    key_of,
)


@dataclass(frozen=True)
class Stream:
    """What a connector writes, and what the source says.

    Attributes:
        messages: Each message once, in order.
        history: Lines of ``expected_history``; none of MariaDB.
        snapshot_seq: The last of them that only a snapshot shows.
        begins_of_servers: Where the messages of another server begin.
    """

    messages: list[Message] = field(repr=False)
    history: list[Line] = field(repr=False)
    snapshot_seq: int
    begins_of_servers: list[int] = field(repr=False)


Images = tuple[Row | None, Row | None]
"""A row before and after."""


def read_stream(random: Random, history: History, settings: Settings) -> Stream:
    """Draw how a connector reads a history."""
    return _Reader(random, history, settings).run()


_SIGNAL_TABLE: Final = Table(
    SIGNALS,
    (
        Column("id", "varchar(50)", nullable=False),
        Column("type", "varchar(50)", nullable=False),
        Column("data", "text"),
    ),
    0,
    0,
)


_SERIALS: Final[dict[Op, int]] = {"c": 1, "u": 2, "d": 1, "r": 0, "t": 1}
"""SQL Server's numbers of events that are alone at their LSNs."""


class _Reader:
    """A connector at work."""

    def __init__(self, random: Random, history: History, settings: Settings) -> None:
        self._random = random
        self._history = history
        self._settings = settings
        self._connector = settings.connector
        # In a partition without a row that was read, nothing tells that a transaction
        # went on behind a snapshot that replaces an interrupted one.
        self._log = new_log(
            random,
            settings.connector,
            settings.overlap,
            waits=settings.interrupted > 0,
        )
        self._past = new_source()
        self._headers = context_headers(settings.connector)
        self._messages: list[Message] = []
        self._lines: list[Line] = []
        self._snapshot_seq = 0
        self._is_streaming = False
        # When things happen, in microseconds since 1970.
        self._at = FIRST_MILLISECOND * 1000 + random.randrange(10**6)
        # How much the source's clock is off.
        self._off = 0
        self._last: tuple[Position, int] | None = None
        self._signals = 0
        self._orders: Counter[str] = Counter()
        self._begins_of_servers: list[int] = []
        # Since the last snapshot.
        self._has_streamed = False

    def run(self) -> Stream:
        """Return all that is written."""
        transactions = self._history.transactions
        steps = self._plan()
        for index in range(len(transactions) + 1):
            for step in steps.get(index, []):
                step()
            if index < len(transactions):
                self._commit(transactions[index])
        return Stream(
            self._messages, self._lines, self._snapshot_seq, self._begins_of_servers
        )

    def _plan(self) -> dict[int, list[Callable[[], None]]]:
        """Draw before which transactions a snapshot is taken."""
        settings, random = self._settings, self._random
        rows_before = self._history.rows_before
        end = len(rows_before) - 1
        starts = [random.randint(0, end // 2)]
        for _ in range(settings.interrupted):
            # Of a source without rows nothing would tell that the snapshot is complete.
            later = range(starts[-1], min(starts[-1] + end // 3, end) + 1)
            possible = [index for index in later if rows_before[index]]
            starts += [random.choice(possible)] if possible else []
        steps: dict[int, list[Callable[[], None]]] = {}
        for index in starts[:-1]:
            steps.setdefault(index, []).append(self._interrupted_snapshot)
        steps.setdefault(starts[-1], []).append(self._first_snapshot)
        for again, number in (
            (self._snapshot_again, settings.snapshots),
            (self._chunk, settings.chunks),
            (self._fail_over, settings.failovers),
        ):
            for _ in range(number):
                index = random.randint(starts[-1], end)
                steps.setdefault(index, []).append(again)
        return steps

    # -------------------------------------------------------------------- snapshots

    def _interrupted_snapshot(self) -> None:
        self._snapshot(list(self._past.tables), is_complete=False)

    def _first_snapshot(self) -> None:
        self._snapshot(list(self._past.tables))
        self._is_streaming = True
        self._snapshot_seq = len(self._lines)

    def _snapshot_again(self) -> None:
        tables = list(self._past.tables)
        if not self._settings.rereads_keyless:
            tables.remove(ENTRIES)
        # Without a key, what is of the snapshot and of the last commit is there twice.
        is_at_commit = not self._settings.rereads_keyless and happens(self._random, 0.5)
        self._snapshot(tables, is_at_commit=is_at_commit)

    def _snapshot(
        self,
        tables: list[str],
        *,
        is_complete: bool = True,
        is_at_commit: bool = False,
    ) -> None:
        """Read all rows, or only the first of them."""
        self._has_streamed = False
        position = self._log.snapshot(is_at_commit=is_at_commit)
        fields = snapshot_fields(self._connector, position)
        self._at += self._random.randint(1, 3 * 10**6)
        if self._connector == "mariadb":
            for name in tables:
                table = self._past.tables[name]
                sql = create_table(name, shown_columns(table)).sql
                self._schema_change("CREATE", table, sql, fields, "true")
        self._random.shuffle(tables)
        rows = [
            (name, row) for name in tables for row in self._past.rows[name].values()
        ]
        sent = len(rows)
        if not is_complete and rows:
            # The last one waits until the snapshot is complete.
            sent = self._random.randrange(len(rows))
        for index, (name, row) in enumerate(rows[:sent]):
            # PostgreSQL reads all in one transaction.
            if self._connector != "postgresql":
                self._at += self._random.choice((7, 900, 30_000))
            self._read(name, row, fields, _marker(rows, index, tables[0]), "read")

    def _read(self, name: str, row: Row, fields: Line, marker: str, kind: Kind) -> None:
        table = self._past.tables[name]
        source = source_value(
            self._connector, name, self._at + self._off, fields, marker
        )
        event = Event("r", after=row_value(table, row))
        value = envelope(self._connector, table, source, event)
        key = key_of_row(self._connector, table, row)
        topic = topic_of(self._connector, name)
        self._messages.append(Message(topic, key, value, kind, self._headers))

    def _chunk(self) -> None:
        """Read some rows of a table among the changes.

        Between two signals the connector leaves out rows that changed: what it sends
        is as it is at the second one, and comes before it.
        """
        by_signal = self._settings.has_signals or self._connector == "postgresql"
        names = [name for name in self._past.tables if has_key(name)]
        name = self._random.choice(names)
        rows = list(self._past.rows[name].values())
        chosen = self._random.sample(rows, self._random.randint(0, len(rows)))
        if not by_signal:
            if self._last is not None:
                position, serial = self._last
                self._read_chunk(name, chosen, position, serial)
            return
        self._signal("snapshot-window-open")
        self._at += self._random.randint(1000, 9000)
        self._signal(
            "snapshot-window-close",
            lambda position: self._read_chunk(name, chosen, position, 1),
        )

    def _read_chunk(
        self, name: str, rows: list[Row], position: Position, serial: int
    ) -> None:
        fields = position_fields(self._connector, position, serial=serial)
        if self._connector == "postgresql":
            fields |= {"txId": None, "lsn": None}
        for row in rows:
            self._at += self._random.choice((9, 1100))
            self._read(name, row, fields, "incremental", "chunk")

    def _signal(
        self, type_: str, first: Callable[[Position], None] = lambda _: None
    ) -> None:
        """Write a signal: a row in a table of its own."""
        self._signals += 1
        self._at += self._random.randint(1000, 9000)
        row: Row = {"id": f"window-{self._signals}", "type": type_, "data": "{}"}
        (position,) = self._log.write((Statement(_SIGNAL_TABLE),))
        begin = len(self._messages)
        first(position)
        self._orders.clear()
        self._event("c", _SIGNAL_TABLE, (None, row), position)
        if self._orders:
            self._surround(begin, [position])
        self._begin(begin)

    # ---------------------------------------------------------------------- changes

    def _fail_over(self) -> None:
        """Go on with another server, later than any clock of the one before tells.

        Right behind a snapshot, nothing would tell PostgreSQL's changes from those that
        were open while it read.
        """
        if self._connector == "postgresql" and not self._has_streamed:
            return
        self._log = self._log.of_another_server()
        self._at += (2 * 3600 + 61) * 10**6
        self._off = 0
        self._last = None
        self._begins_of_servers.append(len(self._messages))

    def _commit(self, transaction: Transaction) -> None:
        """Stream a transaction, and note what it did."""
        self._at += self._random.choice((0, 300, 300, 5000, 900_000, 61 * 10**6))
        if happens(self._random, self._settings.clock_jumps):
            self._off = self._random.choice((0, 3600, -3600)) * 10**6
        positions = self._log.write(transaction)
        following = iter(positions)
        begin = len(self._messages)
        self._orders.clear()
        for statement in transaction:
            apply(self._past, statement)
            if statement.ddl is not None:
                self._ddl(statement.table, statement.ddl, next(following))
            for change in statement.changes:
                self._change(statement.table, change, next(following))
        if not self._is_streaming:
            return
        if self._orders:
            self._surround(begin, positions)
        self._begin(begin)
        if happens(self._random, self._settings.heartbeat_chance):
            self._messages.append(heartbeat())

    def _surround(self, begin: int, positions: list[Position]) -> None:
        """Tell of the begin and the end of a transaction."""
        last = positions[-1]
        first_id = transaction_id(self._connector, positions[0])
        last_id = transaction_id(self._connector, replace(last, lsn=last.commit))
        counts = dict(self._orders)
        self._messages.insert(begin, transaction_message(first_id, self._at, None))
        self._messages.append(transaction_message(last_id, self._at, counts))

    def _begin(self, begin: int) -> None:
        """Mark where a transaction begins."""
        for message in self._messages[begin : begin + 1]:
            self._messages[begin] = replace(message, begins=True)

    def _ddl(self, table: Table, ddl: Ddl, position: Position) -> None:
        if ddl.type == "TRUNCATE":
            self._note("t", table, (None, None), position)
            self._event("t", table, (None, None), position)
        elif self._connector == "mariadb":
            fields = position_fields(self._connector, position)
            self._schema_change("ALTER", table, ddl.sql, fields)

    def _schema_change(
        self,
        type_: Literal["CREATE", "ALTER"],
        table: Table,
        sql: str,
        fields: Line,
        snapshot: str = "false",
    ) -> None:
        if self._is_streaming or snapshot == "true":
            source = source_value(
                "mariadb", table.name, self._at + self._off, fields, snapshot
            )
            message = schema_change(type_, table, sql, source)
            self._messages.append(replace(message, headers=self._headers))

    def _change(self, table: Table, change: RowChange, position: Position) -> None:
        """Stream and note what happened to a row."""
        before, after = change.before, change.after
        op: Op = "c" if before is None else "d" if after is None else "u"
        is_move = (
            has_key(table.name)
            and before is not None
            and after is not None
            and key_of(before) != key_of(after)
        )
        if not is_move:
            self._note(op, table, (before, after), position, _SERIALS[op])
            self._event(op, table, (before, after), position)
            return
        if self._connector == "sqlserver":
            self._note("d", table, (before, None), position, 1)
            self._note("c", table, (None, after), position, 2)
        else:
            self._note("u", table, (before, after), position)
        self._event("d", table, (before, None), position, moved=after)
        self._event("c", table, (None, after), position, moved=before)

    def _event(
        self,
        op: Op,
        table: Table,
        rows: Images,
        position: Position,
        moved: Row | None = None,
    ) -> None:
        """Stream a change, and the tombstone that follows a delete.

        Args:
            op: The operation.
            table: The table at that time.
            rows: The row before and after.
            position: Where it lies.
            moved: The row under its other key, if its key changed.
        """
        if not self._is_streaming:
            return
        connector = self._connector
        # Of a changed key, SQL Server numbers the two events.
        serial = 2 if op == "c" and moved is not None else _SERIALS[op]
        fields = position_fields(connector, position, serial=serial)
        again = None
        if connector == "postgresql" and position.before != position.before_again:
            again = {"sequence": sequence_text(position.before_again, position.lsn)}
        source = source_value(connector, table.name, self._at + self._off, fields)
        order = self._order(op, table.name, position)
        event = Event(op, *self._images(op, table, rows), order)
        value = envelope(connector, table, source, event)
        present = rows[1] or rows[0]
        key = key_of_row(connector, table, present) if present else None
        headers = self._headers
        if moved is not None and connector != "sqlserver":
            other = key_of_row(connector, table, moved)
            name = "__debezium.newkey" if op == "d" else "__debezium.oldkey"
            text = other.text(has_schema=False) if other else ""
            headers = ((name, text), *headers)
        topic = topic_of(connector, table.name)
        self._messages.append(Message(topic, key, value, "change", headers, again))
        self._last = position, serial
        self._has_streamed |= table.name != SIGNALS
        if op == "d" and key is not None and self._settings.has_tombstones:
            self._messages.append(
                Message(topic, key, None, "tombstone", headers, again)
            )

    def _images(
        self, op: Op, table: Table, rows: Images
    ) -> tuple[Line | None, Line | None]:
        """Return the rows of a message, as far as the source tells them."""
        before, after = rows
        old = None if before is None else row_value(table, before)
        new = None if after is None else row_value(table, after)
        is_full = self._settings.full_rows or not has_key(table.name)
        if self._connector != "postgresql" or is_full or before is None:
            return old, new
        if op == "d" or new is None or after is None:
            return key_only_value(table, before), None
        for one in table.columns:
            cell = after[one.name]
            is_long = isinstance(cell, str) and len(cell) >= LONG
            if is_long and cell == before[one.name] and happens(self._random, 0.8):
                new[one.name] = PLACEHOLDER
        return None, new

    def _order(self, op: Op, table: str, position: Position) -> Line | None:
        """Return the place of a change in its transaction, if that is told."""
        is_alone = op == "t" and self._connector == "mariadb"
        if not self._settings.has_transactions or is_alone:
            return None
        collection = collection_of(self._connector, table)
        self._orders[collection] += 1
        return {
            "id": transaction_id(self._connector, position),
            "total_order": self._orders.total(),
            "data_collection_order": self._orders[collection],
        }

    # ---------------------------------------------------------------------- history

    def _note(
        self,
        op: Op,
        table: Table,
        rows: Images,
        position: Position,
        serial: int = 1,
    ) -> None:
        """Add a line to ``expected_history``, in the layout of the connector."""
        if self._connector == "mariadb":
            return
        where: Line = {"xid": position.transaction}
        if self._connector == "sqlserver":
            # Its history begins with the stream.
            if not self._is_streaming:
                return
            where = position_fields(self._connector, position, serial=serial)
            where = {name: where[name] for name in sorted(where)}
            where = {"commit_lsn": where.pop("commit_lsn"), **where}
        shown = [
            None if row is None else oracle_row(self._connector, table, row)
            for row in rows
        ]
        self._lines.append(
            {
                "seq": len(self._lines) + 1,
                **where,
                "op": op,
                "table": table.name,
                "before": shown[0],
                "after": shown[1],
            }
        )


def _marker(rows: Sequence[tuple[str, Row]], index: int, first_table: str) -> str:
    """Return what ``source.snapshot`` tells of one of the rows of a snapshot."""
    name = rows[index][0]
    is_first = index == 0 or rows[index - 1][0] != name
    if index == len(rows) - 1:
        return "last"
    # So no row is the first where the first table is empty.
    if is_first and name == first_table:
        return "first"
    if rows[index + 1][0] != name:
        return "last_in_data_collection"
    return "first_in_data_collection" if is_first else "true"
