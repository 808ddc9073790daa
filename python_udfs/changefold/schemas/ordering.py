"""When rows show what a table is, and which DDLs are of the same moment."""

from collections.abc import Iterable
from typing import NamedTuple

from changefold.schemas.observed import SeenSchema, SeenVersion

__all__ = ["Evidence", "evidence_of", "just_before"]


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
        return self.sequence[:13] if _is_time(self.sequence) else self.sequence

    @property
    def end(self) -> str:
        """A DDL from it on is behind the row."""
        return f"{self.begin}.~" if _is_time(self.sequence) else self.sequence


def _is_time(sequence: str) -> bool:
    """Whether a sequence is milliseconds and an offset."""
    return sequence[13:14] == "."


def evidence_of(rows: Iterable[SeenSchema | SeenVersion]) -> list[Evidence]:
    """Return what rows show: the first ones, and the last ones of the same columns.

    A column can have gone between the two and have come back. But not the last ones of
    Canal: its times are the seconds in which statements began, so rows that were there
    before a long DDL can come behind it.

    Args:
        rows: What rows tell.

    Returns:
        The evidence, in the order in which all DDLs of its time are known.
    """
    found: list[Evidence] = []
    for row in rows:
        found.append(Evidence(row.sequence, row))
        if isinstance(row, SeenSchema) and _is_last_evidence(row):
            found.append(Evidence(row.last_sequence, row))
    return sorted(found, key=lambda evidence: (evidence.end, evidence.sequence))


def _is_last_evidence(row: SeenSchema) -> bool:
    is_of_canal = _is_time(row.last_sequence) and row.last_sequence[10:13] == "000"
    return row.last_sequence > row.sequence and not is_of_canal


def just_before(sequence: str) -> str:
    """Return a text that sorts before a sequence, and behind all those before it.

    Its time can be read as that of the sequence can.
    """
    position, at, milliseconds = sequence.partition("@")
    time, point, number = position.rpartition(".")
    if not at and number.isdecimal():
        return f"{time}{point}{int(number) - 1:0{len(number)}}~"
    return position[:-1] + chr(ord(position[-1]) - 1) + "~" + at + milliseconds
