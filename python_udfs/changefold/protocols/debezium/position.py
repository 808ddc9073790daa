"""Where a change lies in its source's log, as text that sorts like the log.

Of each connector the fields of ``source`` that tell it:

| Connector | `ordered_by` | Position, then the place within it |
| --- | --- | --- |
| ``sqlserver`` | ``lsn`` | LSN of the commit, stage; LSN of the change, ``event_serial_no`` |
| ``postgresql`` | ``lsn`` | LSN of the commit before, stage; LSN of the change |
| ``mysql``, ``mariadb`` | ``binlog`` | number of the binlog file, position, stage; row |
| ``TiCDC`` | ``commit_ts`` | TSO of the commit |
| others | ``ts_ms`` | commit time in milliseconds, stage: too coarse, the offset must decide |

What orders changes is that they were delivered in that order (``docs/order.md``): the
position sets partitions beside each other, and the place within it only tells what was
sent before. SQL Server's LSNs of changes need not sort within a commit, and all rows of a
compressed transaction of MySQL have one position.

The stage is 0 for a row of a snapshot and 1 for a change. A snapshot at a position has
what was committed up to there, and is changed by what comes after. A row of an
incremental snapshot lies among the changes and has the position of the last one that
the connector had read: it is of stage 1.

PostgreSQL's ``source.sequence`` names the LSN of the last commit that the connector had
seen and the LSN of the change. The latter alone goes backwards between transactions that
overlap; the former is the same for all of a transaction and grows from one to the next.
In the first transaction after a start it is null: the LSN of the change stands in for it.
Sent again after a restart, such a change has the LSN of the snapshot in its place: the
only case seen in which one change has two positions. What tells it apart is the
transaction, the LSN of the change and the key.
"""

import json
import re
from functools import lru_cache
from typing import Annotated, Final, Literal

import msgspec

from changefold.errors import CdcDecodeError
from changefold.json.encode import shorten
from changefold.json.fields import MAX_INT64, MAX_MILLISECONDS

__all__ = ["MissingPositionError", "OnMissing", "Position", "Source", "read_position"]

Stage = Literal["0", "1"]

OnMissing = Literal["refuse", "first", "none"]

_Integer = msgspec.Meta(ge=0, le=MAX_INT64)

_LSN: Final = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}")
_SQLSERVER: Final = re.compile(rf"{_LSN.pattern}\.[01]\.{_LSN.pattern}\.[0-9]+")
_NO_LSN: Final = "00000000:00000000:0000"
_BINLOG_FILE: Final = re.compile(r".*\.([0-9]{1,10})", re.DOTALL)
_LSN_PAIR: Final = re.compile(
    r'\[(?:null|"([0-9]{1,19})"), ?(?:null|"([0-9]{1,19})")\]'
)


class Source(msgspec.Struct, gc=False):
    """``source`` of a message, as far as it is read.

    The fields of positions are those of some connectors each, see the module.
    """

    connector: str
    name: str
    db: str | None = None
    schema: str | None = None
    table: str | None = None
    ts_ms: Annotated[int, msgspec.Meta(ge=0, le=MAX_MILLISECONDS)] | None = None
    snapshot: str | bool | None = None
    txId: str | int | None = None  # noqa: N815  # the field
    commit_lsn: str | None = None
    change_lsn: str | None = None
    event_serial_no: Annotated[int, _Integer] | None = None
    sequence: str | None = None
    lsn: Annotated[int, _Integer] | None = None
    file: str | None = None
    pos: Annotated[int, _Integer] | None = None
    row: Annotated[int, _Integer] | None = None
    gtid: str | None = None
    server_id: Annotated[int, _Integer] | None = None
    commit_ts: Annotated[int, _Integer] | None = None


class MissingPositionError(Exception):
    """A change has no position.

    Attributes:
        name: The field of ``source`` that would have it.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Position(msgspec.Struct, gc=False):
    """Where a change lies.

    Attributes:
        change_sequence: Text that sorts like the changes of its source.
        ordered_by: What it is made of: ``lsn``, ``binlog``, ``commit_ts``, ``ts_ms``.
        commit_lsn: SQL Server: the commit; PostgreSQL: the commit before.
        lsn: The change: PostgreSQL's as a number.
        event_serial_no: SQL Server's number of the event at these LSNs.
        binlog_file: Binlog file.
        binlog_pos: Position in it.
        binlog_row: Row of the event there.
        gtid: Global transaction id of MySQL or MariaDB.
        server_id: Number of the server of MySQL or MariaDB that made the change; 0 of a
            row that was read.
        commit_ts: TiDB's commit timestamp.
    """

    change_sequence: str | None = None
    ordered_by: str | None = None
    commit_lsn: str | None = None
    lsn: str | None = None
    event_serial_no: int | None = None
    binlog_file: str | None = None
    binlog_pos: int | None = None
    binlog_row: int | None = None
    gtid: str | None = None
    server_id: int | None = None
    commit_ts: int | None = None


def read_position(
    source: Source, path: str, *, stage: Stage, missing: OnMissing
) -> Position:
    """Read the position of a change.

    Args:
        source: Where it comes from.
        path: Where that lies in the message.
        stage: ``0`` for a row of a snapshot of the whole table, ``1`` for all else.
        missing: What a position that is not there means: ``refuse`` an error,
            ``first`` one before all others, ``none`` none.

    Raises:
        CdcDecodeError: If the position is malformed.
        MissingPositionError: If it is missing and so refused.
    """
    connector = source.connector
    if connector == "sqlserver":
        return _sqlserver(source, path, stage, missing)
    if connector == "postgresql":
        return _postgresql(source, path, stage, missing)
    if connector in {"mysql", "mariadb"}:
        return _mysql(source, path, stage, missing)
    if connector == "TiCDC":
        if source.commit_ts is None:
            raise MissingPositionError("commit_ts")
        sequence = f"{source.commit_ts:020d}"
        return Position(sequence, "commit_ts", commit_ts=source.commit_ts)
    if source.ts_ms is None and not _is_needed("ts_ms", missing):
        return Position()
    return Position(f"{source.ts_ms or 0:020d}.{stage}", "ts_ms")


def _is_needed(name: str, missing: OnMissing) -> bool:
    """Tell whether to make a position where a field is not there."""
    if missing == "refuse":
        raise MissingPositionError(name)
    return missing == "first"


def _sqlserver(source: Source, path: str, stage: Stage, missing: OnMissing) -> Position:
    commit_lsn, change_lsn = source.commit_lsn, source.change_lsn
    serial = source.event_serial_no
    sequence = f"{commit_lsn}.{stage}.{change_lsn}.{serial or 0:020d}"
    if _SQLSERVER.fullmatch(sequence) is None:
        commit_lsn = _lsn(commit_lsn, f"{path}.commit_lsn")
        change_lsn = _lsn(change_lsn, f"{path}.change_lsn")
        if commit_lsn is None and not _is_needed("commit_lsn", missing):
            return Position()
        if change_lsn is None and missing == "refuse":
            raise MissingPositionError("change_lsn")
        sequence = (
            f"{commit_lsn or _NO_LSN}.{stage}.{change_lsn or _NO_LSN}."
            f"{serial or 0:020d}"
        )
    return Position(sequence, "lsn", commit_lsn, change_lsn, serial)


def _lsn(text: str | None, path: str) -> str | None:
    # So the connector prints an LSN that is not there.
    if text is None or text == "NULL":
        return None
    lsn = text.lower()
    if _LSN.fullmatch(lsn) is None:
        raise CdcDecodeError(
            "bad_position",
            path,
            "Expected an LSN of 8, 8 and 4 hexadecimal digits such as "
            f"`00000027:00000758:0005`, got `{shorten(text)}`",
        )
    return lsn


def _postgresql(
    source: Source, path: str, stage: Stage, missing: OnMissing
) -> Position:
    commit_lsn, sequence_lsn = _sequence(source.sequence, f"{path}.sequence")
    # An incremental snapshot has no LSN of its own.
    lsn = sequence_lsn if source.lsn is None else source.lsn
    if lsn is None and not _is_needed("lsn", missing):
        return Position()
    # All that was committed up to its LSN is in a snapshot.
    before = lsn if stage == "0" or commit_lsn is None else commit_lsn
    return Position(
        f"{before or 0:020d}.{stage}.{lsn or 0:020d}",
        "lsn",
        None if commit_lsn is None else str(commit_lsn),
        None if lsn is None else str(lsn),
    )


def _sequence(text: str | None, path: str) -> tuple[int | None, int | None]:
    """Return PostgreSQL's LSN of the commit before, and of the change."""
    if text is None:
        return None, None
    match = _LSN_PAIR.fullmatch(text)
    first, second = match.groups() if match else _parse_pair(text, path)
    if max(int(first or 0), int(second or 0)) > MAX_INT64:
        raise _bad_sequence(text, path)
    return None if first is None else int(first), None if second is None else int(
        second
    )


def _parse_pair(text: str, path: str) -> tuple[str | None, str | None]:
    """Return two LSNs of JSON that is written in another way."""
    try:
        # Two LSNs are short, and a long text may be nested too deep.
        pair = json.loads(text[:100])
    except ValueError:
        pair = None
    if not isinstance(pair, list) or len(pair) != 2:
        raise _bad_sequence(text, path)
    for lsn in pair:
        if lsn is not None and not (
            isinstance(lsn, str) and re.fullmatch("[0-9]{1,19}", lsn)
        ):
            raise _bad_sequence(text, path)
    return pair[0], pair[1]


def _bad_sequence(text: str, path: str) -> CdcDecodeError:
    return CdcDecodeError(
        "bad_position",
        path,
        f'Expected two LSNs such as `["203839616","203843080"]`, got `{shorten(text)}`',
    )


def _mysql(source: Source, path: str, stage: Stage, missing: OnMissing) -> Position:
    file, pos, row = source.file, source.pos, source.row
    for name, value in (("file", file or None), ("pos", pos)):
        if value is None and not _is_needed(name, missing):
            return Position()
    number = _file_number(file) if file else 0
    if number is None:
        raise CdcDecodeError(
            "bad_position",
            f"{path}.file",
            "Expected a binlog file with a number such as `mysql-bin.000003`, "
            f"got `{shorten(str(file))}`",
        )
    return Position(
        f"{number:010d}.{pos or 0:020d}.{stage}.{row or 0:010d}",
        "binlog",
        binlog_file=file,
        binlog_pos=pos,
        binlog_row=row,
        gtid=source.gtid,
        server_id=source.server_id,
    )


@lru_cache(maxsize=256)
def _file_number(file: str) -> int | None:
    match = _BINLOG_FILE.fullmatch(file)
    return int(match[1]) if match else None
