"""Change sequences, and what they tell of rows and DDLs.

The layouts stand in ``macros/order/change_sequence.sql``. Only that file and this one look
inside a sequence.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from changefold.schemas.observed import SeenSchema, SeenVersion

__all__ = [
    "Evidence",
    "commit_ts_of",
    "evidence_of",
    "just_before",
    "log_position_of",
    "millisecond_of",
    "place_of",
    "position_of",
]

_TSO_DIGITS: Final = 20
_LOGICAL_BITS: Final = 18
_PLACE: Final = re.compile(r"\.([0-9]{5})\.([0-9]{19})@")
_MILLISECOND: Final = re.compile(r"([0-9]{20}):")


class Evidence(NamedTuple):
    """A row, as it shows what its table is.

    A commit timestamp, or a position in a log, parts rows and DDLs exactly: a row up to a
    DDL is before it. Where a sequence is a time, nothing tells which came first of a row
    and a DDL of one time.

    Attributes:
        sequence: Sequence of the row.
        row: What the row tells.
    """

    sequence: str
    row: SeenSchema | SeenVersion

    @property
    def begin(self) -> str:
        """A DDL before it is before the row."""
        match = _MILLISECOND.match(self.sequence)
        return match[1] if match else self.sequence

    @property
    def end(self) -> str:
        """A DDL from it on is behind the row."""
        return f"{self.begin}:~" if self.begin != self.sequence else self.sequence


def evidence_of(rows: Iterable[SeenSchema | SeenVersion]) -> list[Evidence]:
    """Return what rows show: the first ones, and the last ones of the same columns.

    A column can have gone between the two and have come back.

    Args:
        rows: What rows tell.

    Returns:
        The evidence, in the order in which all DDLs of its time are known.
    """
    found: list[Evidence] = []
    for row in rows:
        found.append(Evidence(row.sequence, row))
        if isinstance(row, SeenSchema) and row.last_sequence > row.sequence:
            found.append(Evidence(row.last_sequence, row))
    return sorted(found, key=lambda evidence: (evidence.end, evidence.sequence))


def commit_ts_of(sequence: str) -> int | None:
    """Return the commit timestamp (TSO) of a change; ``None`` if it has none."""
    position = position_of(sequence)
    return int(position) if position.isdecimal() else None


def millisecond_of(sequence: str) -> int | None:
    """Return when TiCDC says that a change was; ``None`` of a position."""
    time = sequence[:_TSO_DIGITS]
    is_time = sequence.isdecimal() or _MILLISECOND.match(sequence) is not None
    return int(time) >> _LOGICAL_BITS if is_time else None


def position_of(sequence: str) -> str:
    """Return where a change of Debezium or Canal lies in the log, without the time."""
    return sequence.split("@", maxsplit=1)[0]


def log_position_of(sequence: str) -> str:
    """Return the position in the log at which a change of Debezium stands."""
    return sequence.split("/")[1]


def place_of(sequence: str) -> tuple[int, int] | None:
    """Return the partition and the offset of a change of Debezium or Canal; else ``None``."""
    match = _PLACE.search(sequence)
    return (int(match[1]), int(match[2])) if match else None


def just_before(sequence: str) -> str:
    """Return a text that sorts before a sequence, and behind all those before it.

    Its time can be read as that of the sequence can.
    """
    time, colon, number = sequence.rpartition(":")
    if number.isdecimal():
        return f"{time}{colon}{int(number) - 1:0{len(number)}}~"
    position, at, milliseconds = sequence.partition("@")
    return position[:-1] + chr(ord(position[-1]) - 1) + "~" + at + milliseconds
