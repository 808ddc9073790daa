"""Where changes lie in the log of a source, as Debezium tells it.

Positions only grow with the commits, as in the sources themselves: transactions of SQL
Server and PostgreSQL that touch different rows overlap in the log, so that the LSN of a
change alone goes backwards; a binlog has one transaction after the other, and goes on
in another file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from debezium_histories import ENTRIES, Connector, Statement, Transaction, keys_of
from histories import Cell, Line, happens

FIRST_LSN: Final = 0xF00_0007_0000
_STEP: Final = 8


@dataclass(frozen=True)
class Position:
    """Where a change, or a snapshot, lies.

    Attributes:
        transaction: Number of its transaction.
        lsn: LSN or position in the binlog.
        commit: LSN of the commit; of a snapshot its own.
        before: PostgreSQL: the commit before, as far as the connector knows it.
        before_again: The same after a restart.
        file: Number of the binlog file.
        row: Row of the event there.
        server: Id of the server that wrote it.
    """

    transaction: int
    lsn: int
    commit: int
    before: int | None = None
    before_again: int | None = None
    file: int = 1
    row: int = 0
    server: int = 223344


class Log(Protocol):
    """Gives positions, in the order of the commits."""

    def write(self, transaction: Transaction) -> list[Position]:
        """Return the positions of its changes and DDLs, in order."""

    def snapshot(self, *, is_at_commit: bool) -> Position:
        """Return the position of a snapshot.

        Args:
            is_at_commit: Whether it is that of the last commit, as with SQL Server
                when nothing else has happened since.
        """

    def of_another_server(self) -> "Log":
        """Return the log of the server that takes over: its positions begin anew."""


def new_log(
    random: Random, connector: Connector, overlap: float, *, waits: bool = False
) -> Log:
    """Return the log of a source.

    Args:
        random: Makes the choices.
        connector: What reads it.
        overlap: Chance of a transaction that begins before another has ended.
        waits: Whether none is open while a snapshot reads.
    """
    if connector == "mariadb":
        return _Binlog(random)
    return _Lsns(random, overlap, is_exclusive=connector == "sqlserver", waits=waits)


def _events(transaction: Transaction) -> Iterator[tuple[Statement, int]]:
    """Yield each statement once for each of its changes, which are numbered."""
    for statement in transaction:
        for row in range(max(len(statement.changes), 1)):
            yield statement, row


Touched = frozenset[tuple[str, tuple[Cell, ...] | None]]


def _touched(transaction: Transaction) -> Touched:
    """Return the rows that a transaction locks; of a DDL all of the table."""
    found: set[tuple[str, tuple[Cell, ...] | None]] = set()
    for statement in transaction:
        name = statement.table.name
        if statement.ddl is not None:
            found.add((name, None))
        for change in statement.changes:
            found |= {(name, key) for key in keys_of(change)}
    return frozenset(found)


def _wait(one: Touched, other: Touched) -> bool:
    """Tell whether two transactions can not overlap."""
    whole = {table for table, key in one | other if key is None}
    tables = {table for table, _ in one} & {table for table, _ in other}
    return bool(one & other or whole & tables)


class _Lsns:
    """The log of PostgreSQL or SQL Server."""

    def __init__(
        self,
        random: Random,
        overlap: float,
        *,
        is_exclusive: bool,
        waits: bool,
        server: int = 0,
    ) -> None:
        first = FIRST_LSN - server * 2**40
        self._random = random
        self._overlap = overlap
        self._server = server
        self._is_exclusive = is_exclusive
        self._waits = waits
        # A commit of SQL Server has an LSN; PostgreSQL's end is where the next begins.
        self._gap = _STEP if is_exclusive else 0
        self._end = first
        self._taken: set[int] = set()
        self._recent: list[tuple[int, Touched]] = [(first, frozenset())]
        self._number = 700 - 200 * server
        self._before: int | None = None
        self._before_again: int | None = first
        self._floor = first

    def write(self, transaction: Transaction) -> list[Position]:
        events = list(_events(transaction))
        touched = _touched(transaction)
        first = self._first(touched)
        # Once in a while the log goes on in another file.
        jump = self._random.choice((1, 1, 1, 1, 2, 2, 9, 9, 300, 5000, 2**29))
        commit = self._end + _STEP * (len(events) + jump)
        start = max(first + self._gap, commit - _STEP * (len(events) + 30))
        places = [lsn for lsn in range(start, commit, _STEP) if lsn not in self._taken]
        chosen = sorted(self._random.sample(places, len(events)))
        self._taken.update(chosen)
        self._number += self._random.choice((1, 1, 2))
        found = [
            Position(self._number, lsn, commit, self._before, self._before_again)
            for lsn in chosen
        ]
        self._end = self._before = self._before_again = commit
        self._recent = [*self._recent[-2:], (commit, touched)]
        return found

    def _first(self, touched: Touched) -> int:
        """Return from where on a transaction may write."""
        if not happens(self._random, self._overlap):
            return self._end
        known = [end for end, other in self._recent if _wait(touched, other)]
        # Rows without a key lie in any partition, also in one that no snapshot reached;
        # a snapshot waits for a DDL.
        waits = self._waits or any(
            name == ENTRIES or key is None for name, key in touched
        )
        floor = self._floor if waits else 0
        return max([floor, self._recent[0][0], *known])

    def snapshot(self, *, is_at_commit: bool) -> Position:
        if not is_at_commit:
            self._end += _STEP * self._random.randint(1, 20)
        self._number += 1
        # Debezium does not know the commit before the first one that follows. That one
        # may have been open while the snapshot read, and lie before it.
        self._before, self._before_again = None, self._end
        self._floor = self._end
        return Position(self._number, self._end, self._end)

    def of_another_server(self) -> "_Lsns":
        # Nothing but the time tells of it.
        return _Lsns(
            self._random,
            self._overlap,
            is_exclusive=self._is_exclusive,
            waits=self._waits,
            server=self._server + 1,
        )


class _Binlog:
    """The binlog of MariaDB."""

    def __init__(self, random: Random, file: int = 0, server: int = 223344) -> None:
        self._random = random
        self._file = file or random.choice((1, 9, 99, 999_998))
        self._position = 4
        self._number = 36
        self._server = server

    def write(self, transaction: Transaction) -> list[Position]:
        if happens(self._random, 0.03):
            self._file += 1
            self._position = 4
        self._number += 1
        # What begins the transaction.
        self._position += 42
        found: list[Position] = []
        for _, row in _events(transaction):
            if row == 0:
                self._position += self._random.choice((70, 300, 9000, 10**6))
            place = self._number, self._position, self._number
            found.append(
                Position(*place, file=self._file, row=row, server=self._server)
            )
        self._position += 100
        return found

    def snapshot(self, *, is_at_commit: bool) -> Position:
        if not is_at_commit:
            self._position += 31
        return Position(self._number, self._position, 0, file=self._file)

    def of_another_server(self) -> "_Binlog":
        return _Binlog(self._random, max(1, self._file // 2), self._server + 1)


# ---------- as Debezium writes them


def lsn_text(lsn: int) -> str:
    """Return an LSN of SQL Server: virtual log file, block and slot."""
    return f"{lsn >> 32:08x}:{lsn >> 8 & 0xFFFFFF:08x}:{lsn & 0xFF:04x}"


def position_fields(
    connector: Connector, position: Position, *, serial: int = 1
) -> Line:
    """Return what ``source`` tells of the position of a change.

    Args:
        connector: What reads the source.
        position: Where the change lies.
        serial: SQL Server's number of the event there.
    """
    match connector:
        case "sqlserver":
            return {
                "change_lsn": lsn_text(position.lsn),
                "commit_lsn": lsn_text(position.commit),
                "event_serial_no": serial,
            }
        case "postgresql":
            return {
                "sequence": sequence_text(position.before, position.lsn),
                "txId": position.transaction,
                "lsn": position.lsn,
            }
        case "mariadb":
            return {
                "server_id": position.server,
                "gtid": transaction_id(connector, position),
                "file": f"mysql-bin.{position.file:06d}",
                "pos": position.lsn,
                "row": position.row,
            }


def snapshot_fields(connector: Connector, position: Position) -> Line:
    """Return what ``source`` tells of the position of a row that a snapshot read."""
    fields = position_fields(connector, position)
    if connector == "sqlserver":
        return {**fields, "change_lsn": None, "event_serial_no": None}
    if connector == "mariadb":
        return {**fields, "server_id": 0, "gtid": None}
    return {**fields, "sequence": sequence_text(None, position.lsn)}


def sequence_text(before: int | None, lsn: int) -> str:
    """Return ``source.sequence`` of PostgreSQL."""
    first = "null" if before is None else f'"{before}"'
    return f'[{first},"{lsn}"]'


def transaction_id(connector: Connector, position: Position) -> str:
    """Return the id of a transaction; PostgreSQL's is another for each change."""
    match connector:
        case "sqlserver":
            return lsn_text(position.commit)
        case "postgresql":
            return f"{position.transaction}:{position.lsn}"
        case "mariadb":
            return f"0-{position.server}-{position.transaction}"
