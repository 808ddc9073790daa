"""What a comparison is told of a table, and what it finds."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, Literal

from changefold.mysql.types import MySqlType

Cell = str | Mapping[str, str] | None
Row = Mapping[str, Cell]
TableName = tuple[str, str]
Kind = Literal["current", "history"]
DifferenceKind = Literal["missing", "extra", "cell", "op", "row"]

ABSENT: Final = "(no such column)"
"""Stands in a difference for a cell whose column one side does not have."""

MARKED: Final = "(marked as not known)"
"""Stands in a difference for a value that the tables say they don't know."""

ANY: Final = "(any value)"
"""Stands in a known difference for a value whose form is not known here."""

_CUT: Final = "...(truncated)"
"""Ends a long value of a known difference."""

_SHOWN: Final = 5
"""How many differences of a table are kept for the report."""


@dataclass(frozen=True)
class TableSchema:
    """What is known of a table beyond its lines.

    Attributes:
        key_columns: Columns that identify a row; none: the whole row does.
        types: Declared types, as far as known.
        virtual: Virtual generated columns: in the truth, in no message.
    """

    key_columns: tuple[str, ...] = ()
    types: Mapping[str, MySqlType] = field(default_factory=dict)
    virtual: frozenset[str] = frozenset()


Schemas = Mapping[TableName, TableSchema]
UNKNOWN: Final = TableSchema()


@dataclass(frozen=True)
class KnownDifference:
    """One line of ``known_differences.ndjson``: what messages cannot carry.

    Attributes:
        table: Name of the table.
        key: Key of the row, values as text.
        column: The cell; ``None``: the whole row, which the messages have too many.
        oracle: The true value. Long ones are JSON text, cut and ``...(truncated)``.
        message: What the messages have instead, as they encode it.
        reason: Why, in one word.
        actual: What the tables have then; `ANY`: as ``message`` is encoded by its
            protocol, only its being null is compared.
    """

    table: str
    key: Mapping[str, str | None]
    column: str | None
    oracle: str | None
    message: object
    reason: str
    actual: object = ANY

    def lists(self, difference: "Difference") -> bool:
        """Whether ``difference``, in the listed row and column, is the listed one."""
        if self.column is None or difference.kind == "extra":
            return self.column is None and difference.kind == "extra"
        is_null = difference.actual in (None, ABSENT, MARKED)
        if self.message is None and not is_null:
            return False
        return is_listed(self.oracle, difference.expected) and (
            self.actual == ANY
            or is_listed(self.actual, difference.actual)
            or (self.actual is None and is_null)
        )


def is_listed(listed: object, value: object) -> bool:
    """Return whether a value is the one listed, which may be cut JSON text."""
    if isinstance(listed, str) and listed.endswith(_CUT):
        start = listed.removesuffix(_CUT)
        return json.dumps(value, ensure_ascii=False).startswith(start)
    return listed == value


@dataclass(frozen=True)
class Difference:
    """One thing that is not equal.

    Attributes:
        kind: ``missing`` or ``extra`` row, ``cell``, ``op``, or ``row`` (one side
            says deleted).
        key: The row, as text.
        column: The column of a cell.
        expected: What the truth has.
        actual: What the tables have.
    """

    kind: DifferenceKind
    key: str
    column: str | None = None
    expected: object = None
    actual: object = None

    def sentence(self) -> str:
        """Return the difference as a sentence without its table."""
        expected, actual = _excerpts(self.expected, self.actual)
        match self.kind:
            case "missing":
                return f"{self.key}: the row is missing."
            case "extra":
                return f"{self.key}: the row should not be there."
            case "cell":
                return (
                    f"{self.key}: column {self.column} should be {expected},"
                    f" but is {actual}."
                )
            case "op":
                return f"{self.key}: the operation should be {expected}, not {actual}."
            case "row":
                verb = "should not" if self.expected is None else "should"
                return f"{self.key}: the row {verb} be alive after this change."


@dataclass
class TableResult:
    """How one table compares. All counts are rows (history: changes).

    Each expected row is one of ``equal``, ``missing``, ``different``, ``excused``,
    ``not_carried`` and ``only_virtual``. Where the visible truth says "no row"
    (``row`` null), no row is equal, and a row is extra and was not expected.

    Attributes:
        kind: ``current`` or ``history``.
        database: Database of the table.
        table: Name of the table.
        rows_expected: Rows of the truth.
        equal: Rows that are equal in every cell.
        missing: Rows of the truth that the tables lack.
        extra: Rows of the tables that the truth lacks.
        different: Rows with at least one unlisted difference.
        excused: Rows whose every difference is listed as known.
        not_carried: Intermediate changes which a form without commitTs folds.
        only_virtual: Changes which the tables lack and which changed nothing but
            virtual columns (or added or dropped one).
        stale: Listed differences that did not occur.
        left_out: Virtual columns and how many of their cells were not compared.
        not_compared: Other things that were not compared: what, such as cells of a
            column, with the reason in brackets, and how many.
        marked: Columns and in how many current rows they are marked as not known.
        reasons: Reasons of the excused cells and rows.
        differences: The first few differences.
    """

    kind: Kind
    database: str
    table: str
    rows_expected: int = 0
    equal: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    excused: int = 0
    not_carried: int = 0
    only_virtual: int = 0
    stale: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    not_compared: Counter[str] = field(default_factory=Counter)
    marked: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """Whether nothing is missing, extra or different."""
        return not (self.missing or self.extra or self.different)

    def show(self, differences: Iterable[Difference]) -> None:
        """Keep ``differences`` for the report, as long as there is room."""
        self.differences = [*self.differences, *differences][:_SHOWN]


@dataclass(frozen=True)
class Judgement:
    """What came of a comparison.

    Attributes:
        results: A result per kind and table.
        remarks: What else is to know, a sentence each.
    """

    results: list[TableResult]
    remarks: list[str] = field(default_factory=list)


def is_equal(results: Iterable[TableResult]) -> bool:
    """Return whether nothing is missing, extra or different in any table."""
    return all(result.is_equal for result in results)


def shown(value: object) -> str:
    """Return a value as differences show it."""
    if isinstance(value, str) and value not in {ABSENT, MARKED}:
        return repr(value)
    if isinstance(value, Mapping) and "$hex" in value:
        return f"0x{value['$hex']}"
    return "NULL" if value is None else str(value)


def _excerpts(expected: object, actual: object, width: int = 60) -> tuple[str, str]:
    """Return both values, long ones cut so that the first difference is seen."""
    texts = shown(expected), shown(actual)
    if max(map(len, texts)) <= width:
        return texts
    pairs = enumerate(zip_longest(*texts))
    place = next((index for index, (one, other) in pairs if one != other), 0)
    start = max(place - width // 3, 0)
    first, second = (
        ("..." if start else "") + text[start : start + width]
        + ("..." if start + width < len(text) else "")
        for text in texts
    )  # fmt: skip
    return first, second
