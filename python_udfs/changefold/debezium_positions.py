"""Where a change lies in its source's log, as text that sorts like it.

Of each connector the fields of ``source`` that order its changes:

| Connector | `ordered_by` | Order |
| --- | --- | --- |
| ``sqlserver`` | ``lsn`` | LSN of the commit, stage, LSN of the change, ``event_serial_no`` |
| ``postgresql`` | ``lsn`` | LSN of the commit before, stage, LSN of the change |
| ``mysql``, ``mariadb`` | ``binlog`` | number of the binlog file, position, stage, row |
| ``TiCDC`` | ``commit_ts`` | TSO of the commit |
| others | ``ts_ms`` | commit time in milliseconds, stage: too coarse, the offset must decide |

The stage is 0 for a row of a snapshot and 1 for a change. A snapshot at a position has
what was committed up to there, and is changed by what comes after. A row of an
incremental snapshot lies among the changes and has the position of the last one that
the connector had read: it is of stage 1, and the offset decides against that one.

PostgreSQL's ``source.sequence`` names the LSN of the last commit that the connector had
seen and the LSN of the change. The latter alone goes backwards between transactions that
overlap; the former is the same for all of a transaction and grows from one to the next.
In the first transaction after a snapshot, and only there, it is null: the LSN of the
change stands in for it. That is right unless the transaction wrote it before the
snapshot began. Sent again after a restart, such a change has the LSN of the snapshot in
its place: the only case seen in which one change has two sequences. What tells it apart
is the transaction, the LSN of the change and the key.

One position may have several changes: the delete and the create of an updated key, rows
of one statement (PostgreSQL), of one transaction (TiCDC, where of one key the delete
comes first). They are of different keys, and the offset decides.
"""

import json
import re
from typing import Final, Literal, NamedTuple

from changefold.errors import CdcDecodeError
from changefold.strict_json import (
    MAX_INT64,
    MAX_MILLISECONDS,
    Json,
    NumberToken,
    shorten,
    wrong_type,
)
from changefold.strict_json import missing as missing_field

__all__ = [
    "SNAPSHOTS",
    "Position",
    "optional_int",
    "optional_milliseconds",
    "optional_text",
    "read_position",
]

Stage = Literal["0", "1"]

OnMissing = Literal["refuse", "first", "none"]

SNAPSHOTS: Final = frozenset(
    {
        "true",
        "first",
        "first_in_data_collection",
        "last_in_data_collection",
        "last",
        "incremental",
    }
)
"""Values of ``source.snapshot`` of a row that was read, not changed."""

_INT: Final = re.compile(r"-?[0-9]+")
_LSN: Final = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{4}")
_NO_LSN: Final = "00000000:00000000:0000"
_BINLOG_FILE: Final = re.compile(r".*\.([0-9]{1,10})", re.DOTALL)


class Position(NamedTuple):
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
    commit_ts: int | None = None


def read_position(
    source: Json, path: str, *, connector: str, stage: Stage, missing: OnMissing
) -> Position:
    """Read the position of a change.

    Args:
        source: ``source`` of the message.
        path: Where it lies in the message.
        connector: Its ``connector``.
        stage: ``0`` for a row of a snapshot of the whole table, ``1`` for all else.
        missing: What a position that is not there means: ``refuse`` an error,
            ``first`` one before all others, ``none`` none.

    Raises:
        CdcDecodeError: If the position is malformed, or missing and so refused.
    """
    if connector == "sqlserver":
        return _sqlserver(source, path, stage, missing)
    if connector == "postgresql":
        return _postgresql(source, path, stage, missing)
    if connector in {"mysql", "mariadb"}:
        return _mysql(source, path, stage, missing)
    if connector == "TiCDC":
        commit_ts = optional_int(source, "commit_ts", path)
        _require(source, path, "refuse", commit_ts=commit_ts)
        return Position(f"{commit_ts:020d}", "commit_ts", commit_ts=commit_ts)
    ts_ms = optional_int(source, "ts_ms", path)
    if not _require(source, path, missing, ts_ms=ts_ms):
        return Position()
    return Position(f"{ts_ms or 0:020d}.{stage}", "ts_ms")


def _sqlserver(source: Json, path: str, stage: Stage, missing: OnMissing) -> Position:
    commit_lsn = _lsn(source, "commit_lsn", path)
    change_lsn = _lsn(source, "change_lsn", path)
    serial = optional_int(source, "event_serial_no", path)
    if not _require(source, path, missing, commit_lsn=commit_lsn):
        return Position()
    if missing == "refuse":
        _require(source, path, missing, change_lsn=change_lsn)
    sequence = (
        f"{commit_lsn or _NO_LSN}.{stage}.{change_lsn or _NO_LSN}.{serial or 0:020d}"
    )
    return Position(
        sequence,
        "lsn",
        commit_lsn=commit_lsn,
        lsn=change_lsn,
        event_serial_no=serial,
    )


def _lsn(source: Json, name: str, path: str) -> str | None:
    text = optional_text(source, name, path)
    # So the connector prints an LSN that is not there.
    if text is None or text == "NULL":
        return None
    lsn = text.lower()
    if _LSN.fullmatch(lsn) is None:
        raise CdcDecodeError(
            "bad_position",
            f"{path}.{name}",
            "Expected an LSN of 8, 8 and 4 hexadecimal digits such as "
            f"`00000027:00000758:0005`, got `{shorten(text)}`",
        )
    return lsn


def _postgresql(source: Json, path: str, stage: Stage, missing: OnMissing) -> Position:
    lsn = optional_int(source, "lsn", path)
    commit_lsn, sequence_lsn = _sequence(source, path)
    # An incremental snapshot has no LSN of its own.
    lsn = sequence_lsn if lsn is None else lsn
    if not _require(source, path, missing, lsn=lsn):
        return Position()
    # All that was committed up to its LSN is in a snapshot.
    before = lsn if stage == "0" or commit_lsn is None else commit_lsn
    return Position(
        f"{before or 0:020d}.{stage}.{lsn or 0:020d}",
        "lsn",
        commit_lsn=None if commit_lsn is None else str(commit_lsn),
        lsn=None if lsn is None else str(lsn),
    )


def _sequence(source: Json, path: str) -> tuple[int | None, int | None]:
    """Return PostgreSQL's LSN of the commit before, and of the change."""
    text = optional_text(source, "sequence", path)
    if text is None:
        return None, None
    try:
        # Two LSNs are short, and a long text may be nested too deep.
        pair = json.loads(text[:100])
    except ValueError:
        pair = None
    if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_lsn, pair)):
        raise CdcDecodeError(
            "bad_position",
            f"{path}.sequence",
            'Expected two LSNs such as `["203839616","203843080"]`, '
            f"got `{shorten(text)}`",
        )
    first, second = (None if lsn is None else int(lsn) for lsn in pair)
    return first, second


def _is_lsn(lsn: object) -> bool:
    if lsn is None:
        return True
    return (
        isinstance(lsn, str)
        and re.fullmatch("[0-9]{1,19}", lsn) is not None
        and int(lsn) <= MAX_INT64
    )


def _mysql(source: Json, path: str, stage: Stage, missing: OnMissing) -> Position:
    file = optional_text(source, "file", path)
    pos = optional_int(source, "pos", path)
    row = optional_int(source, "row", path)
    if not _require(source, path, missing, file=file or None, pos=pos):
        return Position()
    number = 0
    if file:
        match = _BINLOG_FILE.fullmatch(file)
        if match is None:
            raise CdcDecodeError(
                "bad_position",
                f"{path}.file",
                "Expected a binlog file with a number such as `mysql-bin.000003`, "
                f"got `{shorten(file)}`",
            )
        number = int(match[1])
    return Position(
        f"{number:010d}.{pos or 0:020d}.{stage}.{row or 0:010d}",
        "binlog",
        binlog_file=file,
        binlog_pos=pos,
        binlog_row=row,
        gtid=optional_text(source, "gtid", path),
    )


def _require(source: Json, path: str, missing: OnMissing, **fields: object) -> bool:
    """Tell whether there is a position, or one is to be made of what there is."""
    for name, value in fields.items():
        if value is None and missing == "refuse":
            error = missing_field("a position", f"{path}.{name}", source, name)
            raise CdcDecodeError("bad_position", error.path, error.message)
    return missing != "none" or None not in fields.values()


def optional_int(
    fields: Json, name: str, parent: str, *, maximum: int = MAX_INT64
) -> int | None:
    """Return a whole number from 0 to `maximum`, or ``None`` where there is none.

    Args:
        fields: An object of the message, parsed by `strict_tokens`. Some samples of
            Debezium's documentation have numbers as texts: both are read.
        name: The field.
        parent: Where the object lies in the message.
        maximum: The largest number.

    Raises:
        CdcDecodeError: If the field is something else.
    """
    value = fields.get(name)
    if value is None:
        return None
    path = f"{parent}.{name}"
    if not isinstance(value, str):
        raise wrong_type("int | null", value, path)
    if _INT.fullmatch(value) is None:
        if isinstance(value, NumberToken):
            raise wrong_type("int | null", value, path)
        raise CdcDecodeError(
            "wrong_type", path, f"Expected `int | null`, got `{shorten(value)}`"
        )
    # Python refuses more than 4300 digits; 40 are far out of range already.
    number = int(value[:40])
    if not 0 <= number <= maximum:
        raise CdcDecodeError(
            "out_of_range",
            path,
            f"Expected `int` from 0 to {maximum}, got {shorten(value)}",
        )
    return number


def optional_milliseconds(fields: Json, name: str, parent: str) -> int | None:
    """Return a time, or ``None`` where there is none; as `optional_int` otherwise."""
    return optional_int(fields, name, parent, maximum=MAX_MILLISECONDS)


def optional_text(fields: Json, name: str, parent: str) -> str | None:
    """Return a text, or ``None`` where there is none; as `optional_int` otherwise."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, NumberToken) or not isinstance(value, str):
        raise wrong_type("str | null", value, f"{parent}.{name}")
    return str(value)
