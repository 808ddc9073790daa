"""The history of each key beside a recording of Debezium, against the built one.

``expected_history`` holds the changes as the source made them. The stream shows less:

- what was committed before a snapshot is seen as the rows which that read;
- a row that no snapshot read is seen from its first change on, its end alone not at all;
- a long value that did not change is not sent, and is known only if the key had it.

So the versions to expect are made of the source's own rows; the messages tell which rows
a snapshot delivered and where it lies among the changes. What the stream can not show is
counted as not carried or not compared, and so are versions that only the built tables
have: rows show a column that was added with its default, or that a column is not known any
more, and no trigger of the source saw that. A value is compared with that of the row's
next change, or of the row at the end.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from changefold.schemas.ordering import log_position_of, place_of
from changefold_tools.verify.compare import compare_history as compare_changes
from changefold_tools.verify.debezium import SIGNALS, Forms, known_differences, name_of
from changefold_tools.verify.results import TableResult
from changefold_tools.verify.truth import load_ndjson, load_optional

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from changefold_tools.verify.debezium import Line, RecordedMessages
    from changefold_tools.verify.debezium_recording import Event, TableName

Row = dict[str, str]
"""A row in the one form, without its nulls: columns come and go."""

Key = str
"""Key of a row, as JSON; of a table without one, the row."""

_NO_LSN: Final = "00000000:00000000:0000"


# ----------------------------------------------------------------------- versions


@dataclass(frozen=True)
class Version:
    """A line of the history of one key.

    Attributes:
        op: ``I``, ``U`` or ``D``.
        row: The row; of a ``D``, the last one, as far as known.
        position: Where the change lies, if that is compared.
        not_sent: Columns whose value no message had.
        is_read: A snapshot read the row.
        unknown: Columns that the built row marks as not known.
    """

    op: str
    row: Row
    position: str | None = None
    not_sent: frozenset[str] = frozenset()
    is_read: bool = False
    unknown: frozenset[str] = frozenset()

    def says(self, other: Version) -> bool:
        """Whether two versions are the same change to the same row."""
        is_same_row = self.op == "D" or self.row == other.row
        return (self.op, self.position) == (other.op, other.position) and is_same_row


@dataclass
class _Key:
    """The versions of one key; consecutive equal rows are one.

    Attributes:
        versions: In order.
        shown: The row as the last change or read showed it.
        not_sent: Its columns whose value no message had.
        otherwise: Columns that the snapshot read otherwise than the first change had
            them before: they are expected as the message has them.
    """

    versions: list[Version] = field(default_factory=list)
    shown: Row | None = None
    not_sent: frozenset[str] = frozenset()
    otherwise: frozenset[str] = frozenset()

    def show(
        self,
        row: Row,
        position: str | None = None,
        op: str = "I",
        unavailable: frozenset[str] = frozenset(),
    ) -> None:
        """Add what a change or a read shows.

        Args:
            row: The row at the source.
            position: Where the change lies.
            op: Of a row that was not known before: ``U`` if it is an update, ``R`` if
                a snapshot read it.
            unavailable: Columns that the message leaves out.
        """
        is_known = self.shown is not None
        not_sent = self.not_sent & unavailable if is_known else unavailable
        if (row, not_sent) != (self.shown, self.not_sent):
            is_read = op == "R"
            op = "U" if is_known else "I" if is_read else op
            self.versions.append(Version(op, row, position, not_sent, is_read))
        self.shown, self.not_sent = row, not_sent

    def end(self, last: Row | None = None, position: str | None = None) -> bool:
        """Add the end of the row; return whether it was shown."""
        is_known = self.shown is not None
        if self.shown is not None:
            self.versions.append(Version("D", last or self.shown, position))
        self.shown, self.not_sent = None, frozenset()
        return is_known


def _as_if_sent(versions: Iterable[Version]) -> list[Version]:
    """Return the versions as if no value had been left out."""
    kept: list[Version] = []
    for version in versions:
        if version.op != "U" or not kept or version.row != kept[-1].row:
            kept.append(replace(version, not_sent=frozenset()))
    return kept


def _as_sent(versions: Iterable[Version]) -> list[Version]:
    """Return the versions with nulls for the values that were left out."""
    return [
        replace(
            version,
            row={
                name: text
                for name, text in version.row.items()
                if name not in version.not_sent
            },
        )
        for version in versions
    ]


# ------------------------------------------------------------- changes of the source


@dataclass(frozen=True)
class _Change:
    """What the source did to one key, or with no key to all.

    Attributes:
        key: The key.
        row: The row after; none if it ended.
        last: The row before its end.
        transaction: Number of the transaction.
        position: Where it lies, if the truth tells.
        number: Of the change, in the order of the source.
    """

    key: Key | None
    row: Row | None
    last: Row | None = None
    number: int = 0
    transaction: int = 0
    position: str | None = None


class _Rows:
    """Reads rows and keys of both sides."""

    def __init__(self, messages: RecordedMessages, forms: Forms) -> None:
        self.messages = messages
        self.forms = forms
        self.names = {name[1]: name for name in messages.tables}

    def of_source(self, table: str, row: Mapping[str, Any]) -> Row:
        return _without_nulls(self.forms.of_source(table, row))

    def of_ours(self, table: str, row: Mapping[str, Any]) -> Row:
        return _without_nulls(self.forms.of_ours(table, row))

    def has_key(self, table: str) -> bool:
        return bool(self.messages.tables[self.names[table]].key_columns)

    def key(self, table: str, row: Row) -> Key:
        columns = self.messages.tables[self.names[table]].key_columns
        return _json({name: row.get(name) for name in columns or sorted(row)})

    def key_of(self, event: Event) -> Key | None:
        message = event.message
        row = message.key or message.after or message.before
        if row is None:
            return None
        return self.key(event.table[1], self.of_ours(event.table[1], json.loads(row)))


def _without_nulls(row: Mapping[str, str | None]) -> Row:
    return {name: text for name, text in row.items() if text is not None}


def _json(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False)


def _changes(lines: Iterable[Line], rows: _Rows) -> dict[str, list[_Change]]:
    """Return the changes of each table in the order of their commits."""
    changes: dict[str, list[_Change]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: int(line["seq"])):
        changes[line["table"]] += _of_line(line, rows)
    return changes


def _of_line(line: Line, rows: _Rows) -> Iterator[_Change]:
    table = line["table"]
    where: dict[str, Any] = {
        "transaction": int(line.get("xid") or 0),
        "number": int(line["seq"]),
    }
    if "commit_lsn" in line:
        where["position"] = f"{line['commit_lsn']}.1.{line['change_lsn']}"
    before, after = (
        None if line[part] is None else rows.of_source(table, line[part])
        for part in ("before", "after")
    )
    if line["after"] is not None:
        rows.forms.count(rows.names[table], line["after"])
    if line["op"] == "t":
        yield _Change(None, None, **where)
        return
    if before is not None and (
        after is None or rows.key(table, before) != rows.key(table, after)
    ):
        yield _Change(rows.key(table, before), None, before, **where)
    elif before is not None and not rows.has_key(table):
        return  # There are as many copies of the row as before.
    if after is not None:
        yield _Change(rows.key(table, after), after, before, **where)


# -------------------------------------------------------------- tables without a key


def _copies(
    before: Iterable[_Change],
    changes: Iterable[_Change],
    snapshot: str | None,
    finals: Counter[Key] | None,
) -> dict[Key, _Key]:
    """Return what to expect of each row of which there may be several copies.

    Args:
        before: Changes before the snapshot.
        changes: Those after it.
        snapshot: Its position, if that is compared.
        finals: How many copies there are at the end, if `before` does not tell.
    """
    rows: dict[Key, Row] = {}
    copies: Counter[Key] = Counter()
    for change in before:
        _count(change, copies, rows)
    if finals is not None:
        after: Counter[Key] = Counter()
        for change in changes:
            _count(change, after, rows)
        copies = Counter({key: finals[key] - after[key] for key in {*finals, *after}})
    keys: dict[Key, _Key] = defaultdict(_Key)
    for key, count in copies.items():
        read = Version("I", rows.get(key) or json.loads(key), snapshot, is_read=True)
        keys[key].versions += [read] * count
    for change in changes:
        for key in [change.key] if change.key is not None else list(copies):
            op = "I" if change.row is not None else "D"
            row = change.row or change.last or {}
            times = 1 if change.key is not None else copies[key]
            keys[key].versions += [Version(op, row, change.position)] * times
        _count(change, copies, rows)
    return keys


def _count(change: _Change, copies: Counter[Key], rows: dict[Key, Row]) -> None:
    if change.key is None:
        copies.clear()
    elif change.row is not None:
        copies[change.key] += 1
        rows[change.key] = change.row
    else:
        copies[change.key] -= 1


# ---------------------------------------------------------------------- SQL Server


def _of_sqlserver(
    changes: list[_Change],
    finals: Mapping[Key, Row],
    read: Mapping[Key, Row],
    snapshot: str,
) -> dict[Key, _Key]:
    """Return what to expect: the rows at the snapshot, and each change at its LSNs.

    Args:
        changes: Of the table.
        finals: Its rows at the end.
        read: What the snapshot delivered.
        snapshot: Its position.
    """
    keys: dict[Key, _Key] = defaultdict(_Key)
    changed = {change.key for change in changes}
    for key, row in finals.items():
        if key not in changed:
            keys[key].show(row, snapshot, "R")
    for change in changes:
        key = str(change.key)
        if key not in keys and change.last is not None:
            # What the first change replaced was there at the snapshot.
            keys[key].show(read.get(key, change.last), snapshot, "R")
            keys[key].otherwise = _unlike(read.get(key, change.last), change.last)
        if change.row is None:
            keys[key].end(change.last, change.position)
        else:
            keys[key].show(change.row, change.position)
    return keys


def _unlike(row: Row, other: Row) -> frozenset[str]:
    """Return the columns in which two rows differ."""
    return frozenset(
        name for name in {*row, *other} if row.get(name) != other.get(name)
    )


def _read_rows(events: Iterable[Event], rows: _Rows) -> dict[Key, Row]:
    """Return the rows that the initial snapshot delivered."""
    read = {}
    for event in events:
        key = rows.key_of(event)
        if _is_initial(event) and event.message.after and key is not None:
            after = json.loads(event.message.after)
            read[key] = rows.of_ours(event.table[1], after)
    return read


def _is_initial(event: Event) -> bool:
    """Whether a row was read when there was none yet: a later read repeats it."""
    return event.message.op == "r" and event.message.snapshot != "incremental"


def _snapshot_position(events: Iterable[Event]) -> str:
    """Return where a table's initial snapshot lies; the form of a change's position."""
    lsns = {event.message.commit_lsn for event in events if _is_initial(event)}
    return f"{max(str(lsn) for lsn in lsns)}.0.{_NO_LSN}" if lsns else ""


def _position(event: Event) -> str:
    """Return where a change lies, without its number at that LSN."""
    return ".".join(str(event.message.change_sequence).split(".")[:3])


# ---------------------------------------------------------------------- PostgreSQL


@dataclass
class _Stream:
    """What the messages of a table show, in the order of the source.

    Attributes:
        passes: Transactions in which a snapshot read the whole table, in order.
        delivered: Of each of them, the keys it delivered.
        events: Of each key, what came for it; a TRUNCATE is of the key none.
        streamed: Transactions of all changes that came.
    """

    passes: list[int] = field(default_factory=list)
    delivered: dict[int, set[Key]] = field(default_factory=dict)
    events: dict[Key | None, list[Event]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def of_key(self, key: Key) -> list[Event]:
        """Return what came for a key, with what came for all."""
        events = [*self.events.get(key, ()), *self.events.get(None, ())]
        return sorted(events, key=lambda event: event.place)


def _stream(events: Iterable[Event], rows: _Rows) -> _Stream:
    stream = _Stream()
    seen: set[tuple[object, ...]] = set()
    for event in events:
        message = event.message
        key = None if message.op == "t" else rows.key_of(event)
        if message.is_snapshot and message.snapshot != "incremental":
            transaction = _transaction(event)
            if transaction not in stream.passes:
                stream.passes.append(transaction)
            stream.delivered.setdefault(transaction, set()).add(str(key))
            continue
        if not message.is_snapshot:
            # Sent again, it may have another place.
            identity = (_transaction(event), message.lsn, message.op, key)
            if identity in seen:
                continue
            seen.add(identity)
        stream.events[key].append(event)
    return stream


def _transaction(event: Event) -> int:
    return int(str(event.message.transaction_id).split(":", maxsplit=1)[0])


@dataclass
class _PostgresqlTable:
    """Makes the versions to expect of a table.

    Attributes:
        changes: All of them, in order.
        stream: What the messages show.
        streamed: Transactions whose changes came one by one.
        not_carried: Changes that the stream can not show.
    """

    changes: list[_Change]
    stream: _Stream
    streamed: set[int]
    not_carried: int = 0

    def keys(self) -> dict[Key, _Key]:
        """Return what to expect of each key."""
        at_pass = {number: self._rows_at(number) for number in self.stream.passes}
        base = self._rows_at(None)
        later: dict[Key | None, list[_Change]] = defaultdict(list)
        for change in self._streamed():
            later[change.key].append(change)
        ends = later.pop(None, [])
        known = {*later, *base, *(key for rows in at_pass.values() for key in rows)}
        keys = {}
        for key in known:
            if key is not None:
                own = sorted(
                    [*later.get(key, ()), *ends], key=lambda change: change.number
                )
                keys[key] = self._key(key, own, base.get(key), at_pass)
        self.not_carried += len(self.changes) - len(self._streamed())
        self.not_carried -= sum(
            1 for key in keys.values() if key.versions and key.versions[0].is_read
        )
        return keys

    def copies(self) -> dict[Key, _Key]:
        """Return what to expect of each row, of a table without a key."""
        before = [change for change in self.changes if change not in self._streamed()]
        return _copies(before, self._streamed(), None, None)

    def _streamed(self) -> list[_Change]:
        return [each for each in self.changes if each.transaction in self.streamed]

    def _rows_at(self, transaction: int | None) -> dict[Key, Row]:
        """Return the rows before a transaction, or before all that was streamed."""
        rows: dict[Key, Row] = {}
        for change in self.changes:
            if change.transaction in self.streamed:
                continue
            if transaction is not None and change.transaction >= transaction:
                continue
            if change.key is None:
                rows.clear()
            elif change.row is None:
                rows.pop(change.key, None)
            else:
                rows[change.key] = change.row
        return rows

    def _key(
        self,
        key: Key,
        changes: list[_Change],
        row: Row | None,
        at_pass: Mapping[int, Mapping[Key, Row]],
    ) -> _Key:
        built = _Key()
        for number, rows in at_pass.items():
            is_last = number == self.stream.passes[-1]
            if not is_last and key not in self.stream.delivered[number]:
                continue
            if key in rows:
                built.show(rows[key], op="R")
            else:
                built.end()
        pending = iter(changes)
        for event in self.stream.of_key(key):
            message = event.message
            unavailable = frozenset(json.loads(message.unavailable_columns or "[]"))
            if message.is_snapshot:
                if row is not None:
                    built.show(row, op="R", unavailable=unavailable)
                continue
            change = next(pending, None)
            if change is not None:
                row = change.row
                op = "U" if message.op == "u" else "I"
                self._apply(built, change, op, unavailable)
        for change in pending:
            # The messages lack it: so will the tables, and that is told.
            self._apply(built, change, "I", frozenset())
        return built

    def _apply(
        self, built: _Key, change: _Change, op: str, unavailable: frozenset[str]
    ) -> None:
        if change.row is not None:
            built.show(change.row, op=op, unavailable=unavailable)
        elif not built.end(change.last) and change.key is not None:
            self.not_carried += 1


# ----------------------------------------------------------------------- comparing


@dataclass
class _Table:
    """What to expect of a table.

    Attributes:
        keys: The versions of each key.
        finals: Its rows at the end.
        not_carried: Changes that the stream can not show.
    """

    keys: dict[Key, _Key]
    finals: dict[Key, Row]
    not_carried: int = 0


def compare_history(
    folder: Path, messages: RecordedMessages, history: Iterable[Line]
) -> list[TableResult]:
    """Compare the versions of every key with ``expected_history``.

    Args:
        folder: Of the recording and its truth.
        messages: The recording.
        history: Lines of the built tables, in this project's texts.

    Returns:
        A result per table of either side, by name; none without a truth.
    """
    truth = list(load_optional(folder, "expected_history"))
    if not truth:
        return []
    forms = Forms(messages)
    rows = _Rows(messages, forms)
    finals: dict[str, list[Row]] = defaultdict(list)
    for line in load_ndjson(folder / "expected_final.ndjson"):
        finals[line["table"]].append(rows.of_source(line["table"], line["row"]))
    tables = _tables(_changes(truth, rows), finals, rows)
    listed = {
        (one.table, rows.key(one.table, _without_nulls(one.key)))
        for one in known_differences(folder, messages)
        if one.column is None
    }
    return _Judge(tables, rows, listed).run(history)


def _tables(
    changes: Mapping[str, list[_Change]],
    finals: Mapping[str, list[Row]],
    rows: _Rows,
) -> dict[str, _Table]:
    events: dict[str, list[Event]] = defaultdict(list)
    streamed = set()
    is_sqlserver = False
    for event in rows.messages.events:
        events[event.table[1]].append(event)
        is_sqlserver = event.message.connector == "sqlserver"
        if not is_sqlserver and not event.message.is_snapshot:
            streamed.add(_transaction(event))
    tables = {}
    for table in {*changes, *finals}:
        own = changes.get(table, [])
        last = {rows.key(table, row): row for row in finals.get(table, ())}
        if is_sqlserver:
            at = _snapshot_position(events[table])
            copies = Counter(rows.key(table, row) for row in finals.get(table, ()))
            keys = (
                _of_sqlserver(own, last, _read_rows(events[table], rows), at)
                if rows.has_key(table)
                else _copies([], own, at, copies)
            )
            tables[table] = _Table(keys, last)
            continue
        made = _PostgresqlTable(own, _stream(events[table], rows), streamed)
        keys = made.keys() if rows.has_key(table) else made.copies()
        tables[table] = _Table(keys, last, made.not_carried)
    return tables


class _Judge:
    """Compares the versions of each key."""

    def __init__(
        self, tables: dict[str, _Table], rows: _Rows, listed: set[tuple[str, str]]
    ) -> None:
        self._tables = tables
        self._rows = rows
        self._listed = listed
        self._not_compared: dict[TableName, Counter[str]] = defaultdict(Counter)
        self._excused: Counter[TableName] = Counter()
        self._positions = {
            (event.table[1], event.in_kafka): _position(event)
            for event in rows.messages.events
        }
        self._lines: tuple[list[Line], list[Line]] = ([], [])

    def run(self, history: Iterable[Line]) -> list[TableResult]:
        found: dict[TableName, dict[Key, list[Version]]] = defaultdict(
            lambda: defaultdict(list)
        )
        signals: Counter[TableName] = Counter()
        for line in history:
            name = name_of(line)
            if name[1] == SIGNALS:
                signals[name] += 1
            else:
                found[name][self._key(name, line)].append(self._version(name, line))
        for table in self._tables:
            found.setdefault(self._rows.names.get(table, ("", table)), {})
        for name, keys in found.items():
            expected = self._tables.get(name[1], _Table({}, {}))
            for key in dict.fromkeys([*expected.keys, *keys]):
                self._judge(name, key, keys.get(key, []))
        expected_lines, found_lines = self._lines
        results = compare_changes(expected_lines, found_lines, {})
        for result in results:
            self._add_to(result)
        for name, count in signals.items():
            result = TableResult("history", *name)
            result.not_compared["lines of the signal table (the truth has none)"] = (
                count
            )
            results.append(result)
        return results

    def _key(self, name: TableName, line: Line) -> Key:
        if name[1] not in self._rows.names:
            return _json(line["pk"])
        pk = self._rows.of_ours(name[1], line["pk"])
        return self._rows.key(name[1], pk)

    def _version(self, name: TableName, line: Line) -> Version:
        row = self._rows.of_ours(name[1], line["row"] or {})
        position = None
        if self._has_positions(name):
            sequence = str(line.get("sequence"))
            place = place_of(sequence)
            position = (
                f"{log_position_of(sequence)}.{_NO_LSN}"
                if place is None
                else self._positions[name[1], place]
            )
        unknown = frozenset(line.get("unknown", ()))
        return Version(line["op"], row, position, unknown=unknown)

    def _has_positions(self, name: TableName) -> bool:
        keys = self._tables.get(name[1], _Table({}, {})).keys
        return any(
            version.position for key in keys.values() for version in key.versions
        )

    def _judge(self, name: TableName, key: Key, found: list[Version]) -> None:
        table = self._tables.get(name[1], _Table({}, {}))
        final = table.finals.get(key)
        expected_key = table.keys.get(key, _Key())
        wanted = expected_key.versions
        expected = _as_if_sent(wanted)
        if name[1] not in self._rows.names or not self._rows.has_key(name[1]):
            expected, found = _sorted(expected), _sorted(found)
        kept, added = _without_added(expected, found, final)
        if not _are_same(expected, kept):
            partly = _as_sent(wanted)
            others, more = _without_added(partly, found, final)
            if _are_same(partly, others):
                expected, kept, added = partly, others, more
                for version in wanted:
                    for column in version.not_sent & version.row.keys():
                        what = f"cells of {column} (no message had the value)"
                        self._not_compared[name][what] += 1
        for column in expected_key.otherwise:
            what = f"cells of {column} (read by the snapshot otherwise than changed)"
            self._not_compared[name][what] += 1
        if added:
            what = "versions with only a column more (the truth has none)"
            self._not_compared[name][what] += added
        is_listed = (name[1], key) in self._listed and expected[-1:] != kept[-1:]
        if is_listed and _are_same(expected[:-1], kept) and expected[-1].op == "D":
            self._excused[name] += 1
            expected = expected[:-1]
        self._lines[0].extend(_lines(name, key, expected))
        self._lines[1].extend(_lines(name, key, kept))

    def _add_to(self, result: TableResult) -> None:
        name = (result.database, result.table)
        result.not_compared += self._not_compared[name]
        result.not_compared += self._rows.forms.not_compared.get(name, Counter())
        not_carried = self._tables.get(result.table, _Table({}, {})).not_carried
        result.not_carried += not_carried
        result.excused += self._excused[name]
        result.rows_expected += not_carried + self._excused[name]
        if self._excused[name]:
            result.reasons["the end of a row that is listed as there"] += self._excused[
                name
            ]


def _are_same(expected: list[Version], found: list[Version]) -> bool:
    return len(expected) == len(found) and all(map(Version.says, expected, found))


def _sorted(versions: list[Version]) -> list[Version]:
    """Return the versions of all copies of a row in one order."""
    return sorted(
        versions, key=lambda version: (version.position or "", version.op == "D")
    )


def _without_added(
    expected: list[Version], found: list[Version], final: Row | None
) -> tuple[list[Version], int]:
    """Take out the versions that only show a column which was added to the table.

    Args:
        expected: What the source saw.
        found: What the tables have.
        final: The row at the end, if it is there.

    Returns:
        The other versions, and how many were taken out.
    """
    kept: list[Version] = []
    shown: Row | None = None
    taken = 0
    for version in found:
        wanted = expected[len(kept)] if len(kept) < len(expected) else None
        is_wanted = wanted is not None and wanted.says(version)
        following = final if wanted is None else wanted.row
        if not is_wanted and shown and _is_added(shown, version, following):
            taken += 1
        else:
            kept.append(version)
        shown = version.row
    return kept, taken


def _is_added(shown: Row, version: Version, following: Row | None) -> bool:
    """Whether a version only has a column more, with the value that comes next.

    Or it has columns less: such that are marked as not known.
    """
    if version.op != "U" or following is None:
        return False
    added = version.row.keys() - shown.keys()
    kept = {name: text for name, text in shown.items() if name not in version.unknown}
    return (
        bool(added or version.unknown)
        and all(version.row.get(name) == text for name, text in kept.items())
        and all(version.row[name] == following.get(name) for name in added)
    )


def _lines(name: TableName, key: Key, versions: Iterable[Version]) -> Iterator[Line]:
    for version in versions:
        yield {
            "database": name[0],
            "table": name[1],
            "pk": json.loads(key),
            "commitTs": version.position,
            "op": version.op,
            "row": None if version.op == "D" else version.row,
        }
