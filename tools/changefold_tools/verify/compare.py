"""Compare built tables with a truth, row by row and cell by cell.

Both sides are lines of NDJSON with values in MySQL's text form: *current* lines
``{"database", "table", "row"}`` and *history* lines ``{"database", "table", "pk",
"commitTs", "op", "row"}``. Nothing is left out in silence: what is not compared is
counted and named in the report.

    python -m changefold_tools.compare --expected FOLDER --actual FOLDER
"""

import argparse
import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from changefold.mysql.text_protocol import shortest_float32
from changefold.mysql.types import MySqlType, parse_mysql_type

__all__ = [
    "Difference",
    "Judgement",
    "KnownDifference",
    "Schemas",
    "TableResult",
    "TableSchema",
    "Truth",
    "compare_final",
    "compare_history",
    "is_equal",
    "load_known_differences",
    "load_ndjson",
    "load_schemas",
    "load_truth",
    "main",
    "render",
]

Cell = str | Mapping[str, str] | None
Row = Mapping[str, Cell]
TableName = tuple[str, str]
Kind = Literal["current", "history"]
DifferenceKind = Literal["missing", "extra", "cell", "op", "row"]
Line = Mapping[str, Any]

ABSENT: Final = "(no such column)"
"""Stands in a difference for a cell whose column one side does not have."""

ANY: Final = "(any value)"
"""Stands in a known difference for a value whose form is not known here."""

_CUT: Final = "...(truncated)"
"""Ends a long value of a known difference."""

_SHOWN: Final = 5
"""How many differences of a table are kept for the report."""

_LOGICAL_BITS: Final = 18
"""A TSO is milliseconds shifted by this, plus a counter (TiDB: tso.md)."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

# A virtual column as TiDB's parser restores it in `ticdcQuery`. No second
# GENERATED may stand between the name and VIRTUAL: that would be another column.
_VIRTUAL_DDL: Final = re.compile(
    r"`((?:[^`]|``)+)` [^`]*?GENERATED ALWAYS AS\((?:(?!GENERATED ALWAYS).)*?"
    r"\) (VIRTUAL|STORED)"
)


# ---------- what is compared


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
_UNKNOWN: Final = TableSchema()


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
        if self.message is None and difference.actual not in (None, ABSENT):
            return False
        return is_listed(self.oracle, difference.expected) and (
            self.actual == ANY
            or is_listed(self.actual, difference.actual)
            or (self.actual is None and difference.actual == ABSENT)
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
class _Entry:
    """One line, with what identifies it."""

    table: TableName
    key: str
    row: Row | None
    op: str = ""
    moment: int | None = None
    only_virtual: bool = False

    @property
    def label(self) -> str:
        cells = json.loads(self.key).items()
        key = ", ".join(f"{column}={_shown(cell)}" for column, cell in cells)
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
        if not in_both or not _cells_equal(mine, other, schema.types.get(column)):
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


def _table_name(line: Line) -> TableName:
    # PostgreSQL and SQL Server have a schema between database and table.
    schema = line.get("schema")
    database: str = line["database"]
    return (f"{database}.{schema}" if schema else database), line["table"]


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
            table, row = _table_name(line), line["row"]
            schema = schemas.get(table, _UNKNOWN)
            pk = line.get("pk")
            if pk is None:
                columns = schema.key_columns
                has_key = columns and all(column in row for column in columns)
                pk = {column: row[column] for column in columns} if has_key else row
            entry = _Entry(table, _key_text(pk, schema), row)
        yield entry


def _history_entries(
    lines: Iterable[Line], schemas: Schemas, by: Literal["commitTs", "es"]
) -> Iterator[_Entry]:
    before: dict[tuple[TableName, str], Row | None] = {}
    for line in lines:
        with _naming(line):
            table, op = _table_name(line), line["op"]
            schema = schemas.get(table, _UNKNOWN)
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
        actual: Lines of the built tables.
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
            schema = self.schemas.get(table, _UNKNOWN)
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
        schema = schemas.get(entry.table, _UNKNOWN)
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


def is_equal(results: Iterable[TableResult]) -> bool:
    """Return whether nothing is missing, extra or different in any table."""
    return all(result.is_equal for result in results)


# ---------- files


@dataclass(frozen=True)
class Truth:
    """The lines of a truth.

    Attributes:
        final: The current lines.
        history: The history lines; `None` where the folder has none.
        remarks: What was read otherwise than it stands there, a sentence each.
    """

    final: list[dict[str, Any]]
    history: list[dict[str, Any]] | None
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Judgement:
    """What came of a comparison.

    Attributes:
        results: A result per kind and table.
        remarks: What else is to know, a sentence each.
    """

    results: list[TableResult]
    remarks: list[str] = field(default_factory=list)


def load_ndjson(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of JSON lines, also when it is compressed.

    Args:
        path: The file; ``.gz`` is added or taken away if only that one is there.

    Yields:
        One object per line.

    Raises:
        FileNotFoundError: If there is neither form of the file.
        ValueError: If a line is not a JSON object.
    """
    found = _either_form(path)
    if found is None:
        raise FileNotFoundError(
            f"Expected the file {path.name} in the folder {path.parent},"
            " got neither it nor its compressed form"
        )
    opener = gzip.open if found.suffix == ".gz" else open
    with opener(found, "rt", encoding="utf-8") as lines:
        for number, text in enumerate(lines, start=1):
            where = f"at line {number} of {found.name}"
            try:
                line = json.loads(text)
            except json.JSONDecodeError as error:
                raise ValueError(f"Expected JSON, got {error} - {where}") from error
            if not isinstance(line, dict):
                raise ValueError(  # noqa: TRY004 - the file is wrong, not a type
                    f"Expected an object, got {text[:80]!r} - {where}"
                )
            yield line


def _either_form(path: Path) -> Path | None:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    packed = plain.with_name(plain.name + ".gz")
    return next((form for form in (path, plain, packed) if form.is_file()), None)


def load_optional(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Read a file of a corpus folder, a line an object; nothing if it is not there."""
    path = folder / f"{name}.ndjson"
    return iter(()) if _either_form(path) is None else load_ndjson(path)


def load_truth(folder: Path, *, visible: bool = False) -> Truth:
    """Read the truth of a corpus folder.

    Args:
        folder: Holds ``expected_final`` and, if there is one, ``expected_history``.
        visible: Take the truth of what the log shows (``expected_final_visible``,
            ``expected_history_visible``) where the folder has one.

    Returns:
        The lines. A history in another form than TiCDC's (without ``commitTs``) is
        no history.
    """

    def pick(name: str) -> Path:
        seen = folder / f"{name}_visible.ndjson"
        return seen if visible and _either_form(seen) else folder / f"{name}.ndjson"

    final = list(load_ndjson(pick("expected_final")))
    path = pick("expected_history")
    history = list(load_ndjson(path)) if _either_form(path) else None
    if history and "commitTs" not in history[0]:
        history = None
    remarks: list[str] = []
    if history is not None:
        remarks = _at_own_ddl(history, list(load_optional(folder, "ddl_log")))
    return Truth(final, history, remarks)


def _at_own_ddl(
    history: list[dict[str, Any]], ddl_log: list[dict[str, Any]]
) -> list[str]:
    """Move the effects of a statement on many tables to each table's own DDL.

    The truth looks at the tables when a statement is done. But ``DROP TABLE a, b`` is
    two DDLs with a commit timestamp each, by the log of the source itself.
    """
    moved: dict[tuple[str, str, int], int] = {}
    together: list[dict[str, Any]] = []
    for event in [*ddl_log, {"table": None}]:
        tables = {other["table"] for other in together}
        if together and (
            event.get("statement") is None
            or event["statement"] != together[-1].get("statement")
            or event["table"] in tables
        ):
            last = together[-1]["commitTs"]
            for other in together[:-1]:
                moved[other["database"], other["table"], last] = other["commitTs"]
            together = []
        together.append(event)
    counts: Counter[str] = Counter()
    for line in history:
        own = moved.get((line["database"], line["table"], line["commitTs"]))
        if own is not None and own != line["commitTs"] and line.get("cause") == "ddl":
            line["commitTs"] = own
            counts[f"{line['database']}.{line['table']}"] += 1
    return [
        f"history {table}: {count} rows are expected at the table's own DDL; the truth "
        "has the last DDL of the statement."
        for table, count in counts.items()
    ]


def load_known_differences(folder: Path) -> list[KnownDifference]:
    """Read ``known_differences`` of a corpus folder; none if it has no such file."""
    return [
        KnownDifference(
            table=line["table"],
            key={
                column: None if value is None else str(value)
                for column, value in line["key"].items()
            },
            column=line["column"],
            oracle=line["oracle"],
            message=line.get("message"),
            reason=line["reason"],
        )
        for line in load_optional(folder, "known_differences")
    ]


def load_schemas(folder: Path) -> dict[TableName, TableSchema]:
    """Collect what a corpus folder tells of keys, types and virtual columns.

    ``schema_final`` tells all three of the tables that exist at the end. A name that
    was given away has the types of the table that it stood for. For others the key is that of the last history entry, else that of the known differences,
    and virtual columns dropped before the end are found in ``ddl_log``.
    """
    keys: dict[TableName, tuple[str, ...]] = {}
    keys_by_table = {
        known.table: tuple(known.key) for known in load_known_differences(folder)
    }
    for line in load_optional(folder, "expected_final"):
        name = _table_name(line)
        keys[name] = keys_by_table.get(line["table"], ())
    for line in load_optional(folder, "expected_history"):
        if "pk" in line:
            keys[_table_name(line)] = tuple(line["pk"])
    virtual = _virtual_in_ddl(folder)
    schemas = {
        name: TableSchema(keys.get(name, ()), {}, frozenset(virtual[name]))
        for name in keys.keys() | virtual.keys()
    }
    for line in load_optional(folder, "schema_final"):
        name, columns = _table_name(line), line["columns"]
        present = {column["name"] for column in columns}
        schemas[name] = TableSchema(
            key_columns=tuple(line["key_columns"] or ()),
            types={
                one["name"]: parse_mysql_type(one["column_type"]) for one in columns
            },
            virtual=frozenset(
                one["name"] for one in columns if one["extra"] == "VIRTUAL GENERATED"
            )
            | (virtual[name] - present),
        )
    for line in reversed(list(load_optional(folder, "ddl_log"))):
        before = str(line.get("preDatabase")), str(line.get("preTable"))
        if line["actionType"] == "rename table" and before in schemas:
            schema = schemas[before]
            types = schema.types or schemas[_table_name(line)].types
            schemas[before] = replace(schema, types=types)
    return schemas


def _virtual_in_ddl(folder: Path) -> dict[TableName, set[str]]:
    """Return the columns that were virtual at any time, as far as DDL names them."""
    virtual: dict[TableName, set[str]] = defaultdict(set)
    for line in load_optional(folder, "ddl_log"):
        name = line["database"], line["table"]
        before = str(line.get("preDatabase")), str(line.get("preTable"))
        if before != name:  # a renamed table keeps its columns
            virtual[name] |= virtual.get(before, set())
        virtual[name].update(
            column.replace("``", "`")
            for column, stored in _VIRTUAL_DDL.findall(line["ticdcQuery"])
            if stored == "VIRTUAL"
        )
    return virtual


# ---------- the report


def _shown(value: object) -> str:
    if isinstance(value, str) and value != ABSENT:
        return repr(value)
    if isinstance(value, Mapping) and "$hex" in value:
        return f"0x{value['$hex']}"
    return "NULL" if value is None else str(value)


def _excerpts(expected: object, actual: object, width: int = 60) -> tuple[str, str]:
    """Return both values, long ones cut so that the first difference is seen."""
    texts = _shown(expected), _shown(actual)
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


def render(results: Sequence[TableResult], console: Console) -> None:
    """Print a table for current and one for history, the differences, the verdict."""
    for kind in ("current", "history"):
        chosen = [result for result in results if result.kind == kind]
        if chosen:
            console.print(_table_of(kind, chosen))
    for result in results:
        for sentence in _remarks(result):
            console.print(sentence, markup=False, highlight=False, soft_wrap=True)
    style = "green" if is_equal(results) else "bold red"
    console.print(_verdict(results), style=style, highlight=False, soft_wrap=True)


_COUNTS: Final = {
    "rows_expected": "rows expected",
    "equal": "equal",
    "missing": "missing",
    "extra": "extra",
    "different": "different",
    "excused": "excused",
    "not_carried": "not carried by this form",
    "only_virtual": "only virtual columns",
}


def _table_of(kind: Kind, results: Sequence[TableResult]) -> Table:
    # Columns which most corpora have no use for are shown only when they count.
    optional = {"excused", "not_carried", "only_virtual"}
    counts = [
        name
        for name in _COUNTS
        if name not in optional or any(getattr(result, name) for result in results)
    ]
    table = Table(title=kind, title_justify="left")
    table.add_column("table")
    for name in counts:
        table.add_column(_COUNTS[name], justify="right")
    for result in results:
        style = None if result.is_equal else "red"
        cells = [str(getattr(result, name)) for name in counts]
        table.add_row(escape(f"{result.database}.{result.table}"), *cells, style=style)
    return table


def _remarks(result: TableResult) -> Iterator[str]:
    name = f"{result.kind} {result.database}.{result.table}"
    for column, count in sorted(result.left_out.items()):
        yield f"{name}: {count} cells of the virtual column {column} were left out."
    for what, count in sorted(result.not_compared.items()):
        yield f"{name}: {count} {what} were not compared."
    for reason, count in sorted(result.reasons.items()):
        yield f"{name}: {count} listed differences are excused: {reason}."
    if result.stale:
        yield f"{name}: {result.stale} listed differences did not occur (stale)."
    for one in result.differences:
        yield f"{name}, {one.sentence()}"


def _verdict(results: Sequence[TableResult]) -> str:
    total = {name: sum(getattr(one, name) for one in results) for name in _COUNTS}
    aside = ", ".join(
        f"{total[name]} {_COUNTS[name]}"
        for name in ("excused", "not_carried", "only_virtual")
        if total[name]
    )
    others = sum(sum(one.not_compared.values()) for one in results)
    if others:
        aside += f"{', ' if aside else ''}{others} cells or others not compared"
    if is_equal(results):
        return f"all {total['equal']} rows equal" + (f" ({aside})" if aside else "")
    wrong = ", ".join(
        f"{total[name]} {name}" for name in ("missing", "extra", "different")
    )
    return f"NOT EQUAL: {wrong}; {total['equal']} of {total['rows_expected']} equal" + (
        f", {aside}" if aside else ""
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two folders and print the report.

    Returns:
        0: all equal, 1: a difference, 2: a file is missing or cannot be read.
    """
    parser = argparse.ArgumentParser(
        prog="python -m changefold_tools.compare", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--expected", type=Path, required=True, help="corpus folder")
    parser.add_argument(
        "--actual",
        type=Path,
        required=True,
        help="folder with current.ndjson and history.ndjson",
    )
    parser.add_argument(
        "--visible", action="store_true", help="only what the log itself shows"
    )
    parser.add_argument("--by", choices=("commitTs", "es"), default="commitTs")
    parser.add_argument(
        "--current-only", action="store_true", help="do not compare history"
    )
    options = parser.parse_args(arguments)
    console = Console()
    try:
        results = _compare_folders(
            options.expected,
            options.actual,
            visible=options.visible,
            by=options.by,
            current_only=options.current_only,
        )
    except (FileNotFoundError, ValueError) as error:
        console.print(str(error), style="bold red", markup=False, soft_wrap=True)
        return 2
    render(results, console)
    return 0 if is_equal(results) else 1


def _compare_folders(
    expected: Path,
    actual: Path,
    *,
    visible: bool,
    by: Literal["commitTs", "es"],
    current_only: bool,
) -> list[TableResult]:
    schemas = load_schemas(expected)
    truth = load_truth(expected, visible=visible)
    results = compare_final(
        truth.final,
        load_ndjson(actual / "current.ndjson"),
        schemas,
        known_differences=load_known_differences(expected),
    )
    if current_only:
        return results
    if truth.history is None:
        raise FileNotFoundError(
            f"Expected a history with commitTs in the folder {expected}, got none"
            " - `--current-only` compares without it"
        )
    found = load_ndjson(actual / "history.ndjson")
    return results + compare_history(truth.history, found, schemas, by=by)


if __name__ == "__main__":
    sys.exit(main())
