"""The truth beside a recording of the official Canal, in MySQL's text form.

Types and keys are those of the recorded messages. Compared is what the messages can
tell. Counted and named, never called equal:

- shapes, which the source prints in another form;
- copies of a row without a key that were sent again: nothing tells them apart.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from changefold.mysql.types import MySqlType, parse_mysql_type
from changefold.protocols.canal_json import is_binary
from changefold_tools.verify.canonical_text import NOT_COMPARED
from changefold_tools.verify.compare import compare_final as compare_rows
from changefold_tools.verify.debezium_recording import TableName, read_records
from changefold_tools.verify.results import KnownDifference, TableResult, TableSchema
from changefold_tools.verify.truth import load_known_differences, load_ndjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

Line = dict[str, Any]
Row = dict[str, Any]

_SHAPES: Final = (
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
    *("multipolygon", "geometrycollection", "geomcollection"),
)


@dataclass
class CanalTable:
    """What the messages of a table say of it.

    Attributes:
        types: Last type of each column, as the messages name it.
        key_columns: Columns of its key; none without one.
        inserted: How often each row of a table without a key was inserted.
    """

    types: dict[str, str] = field(default_factory=dict)
    key_columns: tuple[str, ...] = ()
    inserted: Counter[str] = field(default_factory=Counter)

    def parsed(self) -> dict[str, MySqlType]:
        """Return the types that this project knows."""
        types = {}
        for name, text in self.types.items():
            try:
                types[name] = parse_mysql_type(text, declared=False)
            except ValueError:
                continue
        return types


def canal_tables(records: Iterable[Mapping[str, Any]]) -> dict[TableName, CanalTable]:
    """Collect what the messages of a recording say of their tables."""
    tables: dict[TableName, CanalTable] = {}
    for record in records:
        message = json.loads(record["value"])
        if message["isDdl"] or not message.get("data"):
            continue
        name = (message["database"], message["table"])
        table = tables.setdefault(name, CanalTable())
        table.types |= message["mysqlType"]
        table.key_columns = tuple(message["pkNames"] or ())
        if message["type"] == "INSERT" and not table.key_columns:
            table.inserted.update(map(_copy, message["data"]))
    return tables


def _copy(row: Mapping[str, Any]) -> str:
    return json.dumps(sorted(row.items()), ensure_ascii=False)


def compare_final(
    folder: Path, path: Path, current: Iterable[Line]
) -> list[TableResult]:
    """Compare the current rows with ``expected_final``.

    Args:
        folder: Of the recording and its truth.
        path: The recording.
        current: Lines of the built tables, in MySQL's text form.

    Returns:
        A result per table of either side, by name.
    """
    tables = canal_tables(read_records(path))
    forms = _Forms(tables)
    expected = [
        forms.line(line, is_truth=True)
        for line in load_ndjson(folder / "expected_final.ndjson")
    ]
    found = forms.without_resent(expected, [forms.line(line) for line in current])
    schemas = {
        name: TableSchema(table.key_columns, table.parsed())
        for name, table in tables.items()
    }
    known = [
        replace(one, actual=_actual(one, tables))
        for one in load_known_differences(folder)
    ]
    results = compare_rows(expected, found, schemas, known_differences=known)
    for result in results:
        name = (result.database, result.table)
        result.not_compared += forms.not_compared.get(name, Counter())
    return results


def _actual(known: KnownDifference, tables: Mapping[TableName, CanalTable]) -> object:
    """Return what a table shows for the value of a message."""
    types = {name[1]: table.types for name, table in tables.items()}
    text = types.get(known.table, {}).get(str(known.column), "")
    if isinstance(known.message, str) and is_binary(text):
        return {"$hex": known.message.encode("latin-1").hex()}
    return known.message


@dataclass
class _Forms:
    """Turns lines of both sides into what can be compared."""

    tables: Mapping[TableName, CanalTable]
    not_compared: dict[TableName, Counter[str]] = field(default_factory=dict)

    def line(self, line: Line, *, is_truth: bool = False) -> Line:
        name = (line["database"], line["table"])
        types = self.tables.get(name, CanalTable()).types
        row = {
            column: self._cell(name, column, types.get(column, ""), cell, is_truth)
            for column, cell in line["row"].items()
        }
        unknown = line.get("unknown", ())
        return {"database": name[0], "table": name[1], "row": row, "unknown": unknown}

    def _cell(
        self, name: TableName, column: str, type_: str, cell: Any, is_truth: bool
    ) -> Any:  # a text, bytes or null
        base = type_.split("(", maxsplit=1)[0].split(" ", maxsplit=1)[0].lower()
        if cell is None:
            return None
        if base in _SHAPES:
            if is_truth:
                self.leave_out(name, f"cells of {column} (a shape has another form)")
            return NOT_COMPARED
        if "zerofill" in type_ and isinstance(cell, str):
            return cell.lstrip("0") or "0"
        return cell

    def leave_out(self, name: TableName, what: str) -> None:
        """Count one thing that is not compared."""
        self.not_compared.setdefault(name, Counter())[what] += 1

    def without_resent(self, expected: list[Line], found: list[Line]) -> list[Line]:
        """Leave out the copies, of tables without a key, that were sent again."""
        wanted = Counter(_place(line) for line in expected)
        seen: Counter[tuple[TableName, str]] = Counter()
        kept = []
        for line in found:
            name, copy = _place(line)
            table = self.tables.get(name)
            seen[name, copy] += 1
            count = seen[name, copy]
            is_again = count > wanted[name, copy]
            if (
                table is not None
                and not table.key_columns
                and is_again
                # Its DELETE may have come once only.
                and count <= table.inserted[copy] - (not wanted[name, copy])
            ):
                self.leave_out(name, "copies of rows that were sent again (no key)")
            else:
                kept.append(line)
        return kept


def _place(line: Line) -> tuple[TableName, str]:
    return (line["database"], line["table"]), _copy(line["row"])
