"""What TiCDC's Debezium messages can not carry, taken out of a truth of TiDB.

A truth is changed to what the messages say, where they can not say what is so. Each such
cell and row is counted and named, never called equal:

- a DECIMAL comes as a double: what has more digits is another number;
- a date with a zero in it, or of no day, comes as null, or as the first second of 1970;
- a year below 100 of a DATE or DATETIME comes as one of 1970 to 2069;
- NULL comes as the default of its column;
- TRUNCATE TABLE is not sent: its rows end with their table, or when they come again
  with other values;
- a row that TiCDC could not encode has no message;
- without a schema a number does not tell its scale: a DDL that changes only that changes
  no text.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from changefold.mysql.wire_forms import CONNECT, from_wire
from changefold.protocols.debezium import read_debezium
from changefold_tools.verify.debezium_recording import read_records
from changefold_tools.verify.handle_key_only import CutDownChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from changefold.mysql.types import MySqlType
    from changefold_tools.verify.results import Schemas, TableResult
    from changefold_tools.verify.truth import Truth

Line = dict[str, Any]
Cell = Any
"""A text, an object with bytes, or null."""

_Key = tuple[str, str, str]

_SPARK_DIGITS: Final = 38


@dataclass(frozen=True)
class _Message:
    """A row change as it came.

    Attributes:
        row: Its row, or the one that is gone: column -> text.
        given: Columns that the JSON itself has a value of, not null.
        is_delete: Whether the row is gone.
    """

    row: Mapping[str, str | None]
    given: frozenset[str]
    is_delete: bool


def in_mysql_form(lines: Iterable[Line], schemas: Schemas) -> Iterator[Line]:
    """Print the cells of columns with Connect types as MySQL would.

    A table whose CREATE TABLE is not in the topic has such columns.

    Args:
        lines: Exported lines of built tables.
        schemas: Types of the source's tables.
    """
    for line in lines:
        types = schemas[line["database"], line["table"]].types
        row = {
            name: _in_mysql_form(cell, types[name])
            if isinstance(cell, str) and name in types
            else cell
            for name, cell in (line["row"] or {}).items()
        }
        yield line | {"row": row if line["row"] is not None else None}


def _in_mysql_form(cell: str, mysql_type: MySqlType) -> Cell:
    if mysql_type.base == "bit":
        size = ((mysql_type.length or 1) + 7) // 8
        number = int(from_wire(cell, mysql_type, CONNECT)[0])
        return {"$hex": number.to_bytes(size, "big").hex()}
    if mysql_type.is_binary:
        return {"$hex": cell.encode("latin-1").hex()}
    if mysql_type.base == "timestamp" and cell.endswith("Z"):
        return from_wire(cell, mysql_type, CONNECT)[0]
    if mysql_type.base == "decimal":
        shown = f"{Decimal(cell):.{mysql_type.scale or 0}f}"
        return shown if Decimal(shown) == Decimal(cell) else cell
    return cell


class TicdcDebezium:
    """A truth, as far as TiCDC's Debezium messages carry it.

    Attributes:
        truth: The lines to compare with.
        missing: Changes that have no message.
    """

    def __init__(
        self,
        truth: Truth,
        path: Path,
        types: Mapping[str, Mapping[str, str]],
        ddl_log: Iterable[Line],
        schemas: Schemas,
    ) -> None:
        """Change the lines.

        Args:
            truth: The whole truth, with a history.
            path: The recording.
            types: Declared types of messages without a schema; empty if they have it.
            ddl_log: The DDLs of the source.
            schemas: Keys and types of the tables.
        """
        self.missing: list[CutDownChange] = []
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._cells: Counter[tuple[str, str, str, str]] = Counter()
        self._messages = _messages(path, types)
        self._has_schemas = not types
        self._ddls = list(ddl_log)
        self._schemas = schemas
        self._sent: dict[_Key, dict[str, tuple[Cell, Cell]]] = {}
        self._last: dict[_Key, Line] = {}
        self._open: dict[_Key, Line] = {}
        history = [shown for line in truth.history or [] for shown in self._shown(line)]
        history += self._ended_with_their_table()
        final = truth.final + [self._last[key] for key in self._open]
        final = [self._as_sent(line, self._key(line), "current") for line in final]
        self.truth = replace(truth, final=final, history=history)

    @property
    def remarks(self) -> list[str]:
        """What has no message, a sentence for each table."""
        counts = Counter(f"{change.database}.{change.table}" for change in self.missing)
        return [
            f"{table}: {count} changes have no message, as TiCDC could not encode them."
            for table, count in counts.items()
        ]

    def add_to(self, results: Iterable[TableResult]) -> None:
        """Count what is not compared, or not carried."""
        for result in results:
            count = self._left_out[result.database, result.table]
            if result.kind == "history":
                result.rows_expected += count
                result.not_carried += count
            for (kind, database, table, what), cells in self._cells.items():
                if (kind, database, table) == (
                    result.kind,
                    result.database,
                    result.table,
                ):
                    result.not_compared[what] += cells

    # ---------- history

    def _shown(self, line: Line) -> Iterator[Line]:
        """Return a line of the history as messages show it; nothing if they do not."""
        key = self._key(line)
        if line["cause"] == "dml":
            message = self._message(line)
            if message is None:
                pk = line["pk"]
                self.missing.append(
                    CutDownChange(line["database"], line["table"], pk, line["commitTs"])
                )
                yield line
                return
            self._note(line, key, message)
        elif self._is_truncate(line) or self._has_other_scale_only(line, key):
            # A log that begins in the middle may never have shown the row.
            if line["op"] == "D" and key in self._last:
                self._open[key] = line
            self._left_out[line["database"], line["table"]] += 1
            return
        shown = self._as_sent(line, key, "history")
        if key in self._open and line["op"] == "I":
            del self._open[key]
            if line["row"] == self._last[key]["row"]:
                self._left_out[line["database"], line["table"]] += 1
                return
            shown["op"] = "U"
        if line["op"] != "D":
            self._last[key] = {
                name: line[name] for name in ("database", "table", "row")
            }
        yield shown

    def _has_other_scale_only(self, line: Line, key: _Key) -> bool:
        if self._has_schemas or line["op"] != "U" or key not in self._last:
            return False
        before, after = self._last[key]["row"], line["row"]
        types = self._schemas[line["database"], line["table"]].types
        decimals = {name for name, type_ in types.items() if type_.base == "decimal"}
        return before.keys() == after.keys() and all(
            before[name] == after[name]
            or (name in decimals and Decimal(before[name]) == Decimal(after[name]))
            for name in after
        )

    def _message(self, line: Line) -> _Message | None:
        place = (line["database"], line["table"], line["commitTs"])
        found = self._messages.get(place, [])
        # TiCDC splits an update of a unique key: a delete, and a create of the same key.
        found = [m for m in found if m.is_delete == (line["op"] == "D")] or found
        types = self._schemas[line["database"], line["table"]].types
        mine = [
            message
            for message in found
            if all(
                _shown(message.row.get(name), types.get(name)) == text
                for name, text in line["pk"].items()
            )
        ]
        return next(iter(mine or found), None)

    def _note(self, line: Line, key: _Key, message: _Message) -> None:
        """Note the cells of a row that came otherwise; one that is gone keeps them."""
        if line["row"] is None:
            return
        types = self._schemas[line["database"], line["table"]].types
        self._sent[key] = {}
        for name, cell in line["row"].items():
            if name in message.row:
                sent = _as_sent(cell, message, name, types.get(name))
                if sent != cell:
                    self._sent[key][name] = (cell, sent)

    def _as_sent(self, line: Line, key: _Key, kind: str) -> Line:
        row = dict(line["row"]) if line["row"] is not None else None
        pk = dict(line.get("pk") or {})
        for name, (cell, sent) in self._sent.get(key, {}).items():
            if name in pk and pk[name] == cell:
                pk[name] = sent
            if row is not None and name in row and row[name] == cell:
                row[name] = sent
                what = f"cells of {name} (the message has another value, which was)"
                self._cells[kind, line["database"], line["table"], what] += 1
        return line | {"row": row} | ({"pk": pk} if "pk" in line else {})

    def _is_truncate(self, line: Line) -> bool:
        return line["op"] == "D" and any(
            ddl["actionType"] == "truncate table"
            and (ddl["database"], ddl["table"], ddl["commitTs"])
            == (line["database"], line["table"], line["commitTs"])
            for ddl in self._ddls
        )

    def _ended_with_their_table(self) -> Iterator[Line]:
        """Return the ends of rows that a TRUNCATE had ended, where the table went."""
        for key, line in list(self._open.items()):
            for ddl in self._ddls:
                if (
                    ddl["actionType"] == "drop table"
                    and (ddl["database"], ddl["table"])
                    == (line["database"], line["table"])
                    and ddl["commitTs"] > line["commitTs"]
                ):
                    del self._open[key]
                    yield line | {"commitTs": ddl["commitTs"]}
                    break

    def _key(self, line: Line) -> _Key:
        database, table = line["database"], line["table"]
        pk = line.get("pk")
        if pk is None:
            columns = self._schemas[database, table].key_columns
            pk = {name: line["row"].get(name) for name in columns}
        return database, table, json.dumps(pk, sort_keys=True)


def _messages(
    path: Path, types: Mapping[str, Mapping[str, str]]
) -> dict[tuple[str, str, int], list[_Message]]:
    """Return the row changes of a recording by table and commit timestamp."""
    declared = json.dumps(types) if types else None
    found: dict[tuple[str, str, int], list[_Message]] = defaultdict(list)
    for record in read_records(path):
        key, value = record["key"], record["value"]
        message = read_debezium(
            None if key is None else str(key).encode(), str(value).encode(), declared
        )
        if message.op not in {"c", "u", "d"} or message.commit_ts is None:
            continue
        given = json.loads(str(value))
        given = given.get("payload", given)
        given = given.get("after") or given.get("before") or {}
        row = json.loads(message.after or message.before or "{}")
        place = (
            str(message.source_database),
            str(message.source_table),
            message.commit_ts,
        )
        found[place].append(
            _Message(
                row,
                frozenset(name for name, cell in given.items() if cell is not None),
                message.op == "d",
            )
        )
    return found


def _as_sent(
    cell: Cell, message: _Message, name: str, mysql_type: MySqlType | None
) -> Cell:
    """Return a cell of the truth as a message has it, if that can not carry it.

    The rules are those of TiCDC's encoder (pkg/sink/codec/debezium/codec.go): it writes the
    column's default for a NULL, and takes a year below 100 for one of two digits.
    """
    sent = _shown(message.row[name], mysql_type)
    if cell is None and name in message.given:
        return sent
    if mysql_type is None or not isinstance(cell, str):
        return cell
    if mysql_type.base == "decimal":
        return _as_double(cell, mysql_type)
    if mysql_type.base in _DAYS and (_is_no_day(cell) or sent == _of_two_digits(cell)):
        return sent
    return cell


def _shown(sent: str | None, mysql_type: MySqlType | None) -> Cell:
    """Return a value of a message as MySQL prints it."""
    if sent is None or mysql_type is None:
        return sent
    if mysql_type.base in _DAYS or mysql_type.base == "time":
        return from_wire(sent, mysql_type, CONNECT)[0]
    return _in_mysql_form(sent, mysql_type)


_DAYS: Final = frozenset({"date", "datetime", "timestamp"})


def _is_no_day(text: str) -> bool:
    """Whether a text begins with a date that no calendar has."""
    year, month, day = map(int, text[:10].split("-"))
    try:
        date(year or 2000, month, day)  # 2000 is a leap year, as year 0 is
    except ValueError:
        return True
    return False


def _of_two_digits(text: str) -> str:
    """Return a date with its year as two digits mean it; as it is from year 100 on."""
    year = int(text[:4])
    century = 2000 if year < 70 else 1900 if year < 100 else 0
    return f"{year + century:04}{text[4:]}"


def _as_double(text: str, mysql_type: MySqlType) -> str:
    """Return a decimal as a double has it, with its scale where the type holds it."""
    number = Decimal(repr(float(text)))
    if number == Decimal(text):
        return text
    length, scale = mysql_type.length or 0, mysql_type.scale or 0
    digits = f"{number:f}".partition(".")[0].lstrip("-")
    is_held = len(digits) <= length - scale or length > _SPARK_DIGITS
    return f"{number:.{scale}f}" if is_held else f"{number:f}".removesuffix(".0")
