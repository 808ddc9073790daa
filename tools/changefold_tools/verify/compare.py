"""Compare built tables with a truth, row by row and cell by cell.

Both sides are lines with values in MySQL's text form: *current* lines ``{"database",
"table", "row"}`` and *history* lines ``{"database", "table", "pk", "commitTs", "op",
"row"}``. Nothing is left out in silence: what is not compared is counted and named in the
report.

A current line of a built table names in ``unknown`` the columns that are marked as not
known. A mark is right where the truth has a text in brackets, ``(...)``, ``[...]`` or
``<...>``, which stands for a value that no message carries, or null, as the marked column is.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import chain, zip_longest
from typing import Any, Final, Literal

from changefold.mysql.text_protocol import shortest_float32
from changefold.mysql.types import MySqlType
from changefold_tools.verify.results import (
    ABSENT,
    MARKED,
    UNKNOWN,
    Cell,
    Difference,
    DifferenceKind,
    Kind,
    KnownDifference,
    Row,
    Schemas,
    TableName,
    TableResult,
    TableSchema,
    shown,
)
from changefold_tools.verify.truth import table_name

Line = Mapping[str, Any]

_LOGICAL_BITS: Final = 18
"""A TSO is milliseconds shifted by this, plus a counter (TiDB: tso.md)."""

_IN_BRACKETS: Final = re.compile(r"\(.*\)|\[.*\]|<.*>", re.DOTALL)
"""Stands in a truth for a value that no message carries."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class _Entry:
    """One line, with what identifies it."""

    table: TableName
    key: str
    row: Row | None
    op: str = ""
    moment: int | None = None
    only_virtual: bool = False
    unknown: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        cells = json.loads(self.key).items()
        key = ", ".join(f"{column}={shown(cell)}" for column, cell in cells)
        return key if self.moment is None else f"{key} at {self.moment}"


_Pair = tuple[_Entry | None, _Entry | None]
_Align = Callable[[list[_Entry], list[_Entry]], Iterable[_Pair | None]]


class _Excuses:
    """The listed differences, and which of them occurred."""

    def __init__(self, known: Iterable[KnownDifference]) -> None:
        self._known: dict[tuple[str, str, str | None], KnownDifference] = {}
        self._used: set[tuple[str, str, str | None]] = set()
        self._key_columns: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        for one in known:
            columns = tuple(sorted(one.key))
            self._key_columns[one.table].add(columns)
            self._known[one.table, self._key(one.key, columns), one.column] = one

    @staticmethod
    def _key(row: Row, columns: Iterable[str]) -> str:
        return json.dumps([(column, row.get(column)) for column in columns])

    def find(
        self, table: str, row: Row, difference: Difference
    ) -> KnownDifference | None:
        """Return the line that lists this very difference, if there is one."""
        for columns in self._key_columns.get(table, ()):
            place = table, self._key(row, columns), difference.column
            known = self._known.get(place)
            if known is not None and known.lists(difference):
                self._used.add(place)
                return known
        return None

    def unused(self) -> list[KnownDifference]:
        """Return the listed differences that did not occur."""
        return [one for place, one in self._known.items() if place not in self._used]


# ---------- cells


def _canonical(cell: Cell, mysql_type: MySqlType | None) -> Cell:
    """Return the one notation of a value whose type has several."""
    if mysql_type is None or not isinstance(cell, str):
        return cell
    base = mysql_type.base
    if base in {"float", "double"} and _NUMBER.fullmatch(cell):
        return _canonical_number(cell, single=base == "float")
    # The truth of the Canal and Debezium corpora: `0x00ff`, and BIT as digits.
    if mysql_type.is_binary and cell.startswith("0x"):
        return {"$hex": cell[2:]}
    if base == "bit" and re.fullmatch("[01]+", cell):
        return {"$hex": int(cell, 2).to_bytes((len(cell) + 7) // 8, "big").hex()}
    return cell


def _canonical_number(text: str, *, single: bool) -> str:
    number = float(text) + 0.0  # + 0.0: minus zero is zero
    if not single:
        return repr(number)
    try:
        return repr(float(shortest_float32(number)))
    except OverflowError:
        return text


def _cells_equal(expected: Cell, actual: Cell, mysql_type: MySqlType | None) -> bool:
    if _canonical(expected, mysql_type) == _canonical(actual, mysql_type):
        return True
    if not (isinstance(expected, str) and isinstance(actual, str)):
        return False
    if not (_NUMBER.fullmatch(expected) and _NUMBER.fullmatch(actual)):
        return False
    if mysql_type is None:
        # Only a floating-point number is ever written with an exponent.
        has_exponent = "e" in (expected + actual).lower()
        return has_exponent and Decimal(expected) == Decimal(actual)
    if mysql_type.base == "float":
        # The text protocol may print a FLOAT with 6 digits only. A truth that has
        # more digits is exact and was compared as float32 above.
        digits = re.split("[eE]", expected)[0].lstrip("+-").replace(".", "")
        is_short = len(digits.strip("0")) <= 6
        return is_short and f"{float(expected):.6g}" == f"{float(actual):.6g}"
    return False


def _is_in_brackets(cell: Cell) -> bool:
    return isinstance(cell, str) and _IN_BRACKETS.fullmatch(cell) is not None


def _row_differences(
    expected: _Entry, actual: _Entry, schema: TableSchema
) -> list[Difference]:
    differences: list[Difference] = []

    def differ(
        kind: DifferenceKind, column: str | None, mine: object, other: object
    ) -> None:
        differences.append(Difference(kind, expected.label, column, mine, other))

    if expected.op != actual.op:
        differ("op", None, expected.op, actual.op)
    if expected.row is None or actual.row is None:
        if expected.row is not actual.row:
            differ("row", None, expected.row, actual.row)
        return differences
    for column in dict.fromkeys(chain(expected.row, actual.row)):
        if column in schema.virtual:
            continue
        mine = expected.row.get(column, ABSENT)
        other = actual.row.get(column, ABSENT)
        in_both = column in expected.row and column in actual.row
        if column in actual.unknown and column in expected.row:
            if not (mine is None or _is_in_brackets(mine)):
                differ("cell", column, mine, MARKED)
        elif not in_both or not _cells_equal(mine, other, schema.types.get(column)):
            differ("cell", column, mine, other)
    return differences


def _key_text(pk: Row, schema: TableSchema) -> str:
    """Return a key as text that is the same in every notation of its values."""
    canonical = {
        column: _canonical(pk[column], schema.types.get(column))
        for column in sorted(pk)
        if column not in schema.virtual
    }
    return json.dumps(canonical, ensure_ascii=False)


# ---------- lines


@contextmanager
def _naming(line: Line) -> Iterator[None]:
    """Turn a missing field into a sentence that shows the line."""
    try:
        yield
    except KeyError as error:
        text = json.dumps(line, ensure_ascii=False, default=str)[:200]
        raise ValueError(f"Expected the field {error}, got {text}") from error


def _final_entries(lines: Iterable[Line], schemas: Schemas) -> Iterator[_Entry]:
    for line in lines:
        with _naming(line):
            table, row = table_name(line), line["row"]
            schema = schemas.get(table, UNKNOWN)
            pk = line.get("pk")
            if pk is None:
                columns = schema.key_columns
                has_key = columns and all(column in row for column in columns)
                pk = {column: row[column] for column in columns} if has_key else row
            if None in pk.values():
                # A null in a unique index tells no rows apart.
                pk = row
            unknown = frozenset(line.get("unknown", ()))
            entry = _Entry(table, _key_text(pk, schema), row, unknown=unknown)
        yield entry


def _history_entries(
    lines: Iterable[Line], schemas: Schemas, by: Literal["commitTs", "es"]
) -> Iterator[_Entry]:
    before: dict[tuple[TableName, str], Row | None] = {}
    for line in lines:
        with _naming(line):
            table, op = table_name(line), line["op"]
            schema = schemas.get(table, UNKNOWN)
            moment = moment_of(line, by)
            key = _key_text(line["pk"], schema)
            real = _without(schema.virtual, line["row"])
            is_same = op == "U" and before.get((table, key)) == real
            only_virtual = is_same and bool(schema.virtual)
            before[table, key] = real
            entry = _Entry(table, key, line["row"], op, moment, only_virtual)
        yield entry


def times_of(lines: Iterable[Line]) -> Literal["commitTs", "es"]:
    """Return which times the lines of a built history have."""
    return "es" if any(line["commitTs"] is None for line in lines) else "commitTs"


def moment_of(line: Line, by: Literal["commitTs", "es"]) -> int:
    """Return when a line of a history begins: its TSO, or its milliseconds (``es``).

    The lines of a connector have neither: ``None``, by ``commitTs``.
    """
    if by == "es" and line["commitTs"] is None:
        es: int = line["es"]
        return es
    moment: int = line["commitTs"]
    return moment >> _LOGICAL_BITS if by == "es" else moment


def _without(columns: frozenset[str], row: Row | None) -> Row | None:
    if row is None or columns.isdisjoint(row):
        return row
    return {column: row[column] for column in row if column not in columns}


# ---------- comparing


def compare_final(
    expected: Iterable[Line],
    actual: Iterable[Line],
    schemas: Schemas,
    *,
    known_differences: Sequence[KnownDifference] = (),
) -> list[TableResult]:
    """Compare the current rows of all tables.

    Args:
        expected: Lines of the truth. ``row`` null (visible truth): no such row.
        actual: Lines of the built tables, ``unknown`` where columns are marked.
        schemas: Keys and types, see `load_schemas`. Lines may bring their own
            ``pk``; without any key the whole row is the key.
        known_differences: Differences that count as excused; others never do.

    Returns:
        A result per table of either side, by name.
    """
    comparison = _Comparison("current", schemas, _Excuses(known_differences))
    alive = (line for line in actual if line.get("row", ...) is not None)
    results = comparison.run(
        _final_entries(expected, schemas), _final_entries(alive, schemas), zip_longest
    )
    for known in comparison.excuses.unused():
        named = [result for result in results if result.table == known.table]
        if not named:
            named = [TableResult("current", "", known.table)]
            results += named
        named[0].stale += 1
    return results


def compare_history(
    expected: Iterable[Line],
    actual: Iterable[Line],
    schemas: Schemas,
    *,
    by: Literal["commitTs", "es"] = "commitTs",
) -> list[TableResult]:
    """Compare every change of every row: its operation and its row.

    Types are those of the final schema: a column that had another type before is
    compared by its last one, a dropped column by its text.

    Args:
        expected: Lines of the truth.
        actual: Lines of the built tables. Without commit timestamps: ``commitTs``
            null and ``es`` in milliseconds, in order.
        schemas: Types, see `load_schemas`.
        by: ``es`` matches on the millisecond. Several changes of a row in one
            millisecond are compared in order; the last state must be right, changes
            before it may be folded into it (counted as ``not_carried``).

    Returns:
        A result per table of either side, by name.
    """
    return _Comparison("history", schemas).run(
        _history_entries(expected, schemas, by),
        _history_entries(actual, schemas, by),
        zip_longest if by == "commitTs" else partial(_align_by_es, schemas),
    )


@dataclass
class _Comparison:
    """Groups both sides by table, key and moment, and judges each aligned pair."""

    kind: Kind
    schemas: Schemas
    excuses: _Excuses = field(default_factory=lambda: _Excuses(()))

    def run(
        self, expected: Iterable[_Entry], actual: Iterable[_Entry], align: _Align
    ) -> list[TableResult]:
        groups: dict[
            tuple[TableName, str, int | None], tuple[list[_Entry], list[_Entry]]
        ] = defaultdict(lambda: ([], []))
        for side, entries in enumerate((expected, actual)):
            for entry in entries:
                groups[entry.table, entry.key, entry.moment][side].append(entry)
        results: dict[TableName, TableResult] = {}
        for (table, _, _), (wanted, found) in groups.items():
            result = results.setdefault(table, TableResult(self.kind, *table))
            schema = self.schemas.get(table, UNKNOWN)
            result.rows_expected += len(wanted)
            for entry in wanted:
                result.left_out.update((entry.row or {}).keys() & schema.virtual)
            for pair in align(wanted, found):
                if pair is None:
                    result.not_carried += 1
                else:
                    self._judge(result, pair, schema)
        return [results[table] for table in sorted(results)]

    def _judge(self, result: TableResult, pair: _Pair, schema: TableSchema) -> None:
        """Count a pair of an expected and an actual row, either may be missing."""
        expected, actual = pair
        if self.kind == "current" and expected is not None and expected.row is None:
            # The visible truth says that there is no such row.
            if actual is None:
                result.equal += 1
                return
            result.rows_expected -= 1
            expected = None
        if expected is None and actual is not None:
            extra = Difference("extra", actual.label)
            known = self.excuses.find(result.table, actual.row or {}, extra)
            if known is not None:
                result.excused += 1
                result.reasons[known.reason] += 1
            else:
                result.extra += 1
                result.show([extra])
        elif actual is None and expected is not None and expected.only_virtual:
            result.only_virtual += 1
        elif actual is None and expected is not None:
            result.missing += 1
            result.show([Difference("missing", expected.label)])
        elif actual is not None and expected is not None:
            self._judge_both(result, expected, actual, schema)

    def _judge_both(
        self,
        result: TableResult,
        expected: _Entry,
        actual: _Entry,
        schema: TableSchema,
    ) -> None:
        result.marked.update(actual.unknown)
        differences = _row_differences(expected, actual, schema)
        unlisted: list[Difference] = []
        for one in differences:
            # A key may be listed as the messages have it.
            row = {**(expected.row or {}), **json.loads(expected.key)}
            known = self.excuses.find(result.table, row, one)
            if known is None:
                unlisted.append(one)
            else:
                result.reasons[known.reason] += 1
        if unlisted:
            result.different += 1
            result.show(unlisted)
        elif differences:
            result.excused += 1
        else:
            result.equal += 1


def _align_by_es(
    schemas: Schemas, expected: list[_Entry], actual: list[_Entry]
) -> Iterator[_Pair | None]:
    """Pair the changes of one row in one millisecond; `None`: folded, not carried."""
    if expected and not actual and expected[0].op == "I" and not expected[-1].row:
        # Born and gone within the millisecond: no form has to show it.
        yield from (None for _ in expected)
        return
    if not actual or len(actual) >= len(expected):
        yield from zip_longest(expected, actual)
        return
    start = 0
    *earlier, last = actual
    for entry in earlier:
        schema = schemas.get(entry.table, UNKNOWN)
        for end in range(start + 1, len(expected)):
            folded = _fold(expected[start:end], entry.op)
            if not _row_differences(folded, entry, schema):
                yield from (None for _ in range(start, end - 1))
                yield folded, entry
                start = end
                break
        else:
            yield None, entry
    yield from (None for _ in expected[start:-1])
    yield _fold(expected[start:], last.op), last


def _fold(changes: list[_Entry], op: str) -> _Entry:
    """Return the last change, with the net operation of all if ``op`` is that."""
    was_there, last = changes[0].op != "I", changes[-1]
    net = {(False, True): "I", (True, True): "U", (True, False): "D"}
    is_net = op == net.get((was_there, last.row is not None))
    return replace(last, op=op) if is_net else last
