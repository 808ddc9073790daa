"""The truth beside a recording of Debezium, in the one form of `canonical_text`.

The rows of ``expected_final`` are as the source printed them, the rows of the built
tables in this project's texts, and ``known_differences`` holds values as the connector
encodes them. All become lines of one form, which `compare` takes as they are. What the
columns mean is read from the recorded messages, not from the built models.

Counted and named, never called equal:

- cells whose kind has another form at the source (`canonical_text.why_not_compared`);
- cells of a column that was dropped at the source: no message says so to rows that did
  not change since;
- rows of the signal table, which the truth leaves out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from changefold.json.parse import strict_tokens
from changefold_tools.verify.canonical_text import (
    Kind,
    oracle_form,
    our_form,
    why_not_compared,
)
from changefold_tools.verify.compare import compare_final as compare_rows
from changefold_tools.verify.debezium_recording import (
    Event,
    RecordedTable,
    Schema,
    TableName,
    connect_text,
    read_events,
    read_records,
    recorded_tables,
    same_tables,
    source_of_types,
    tables_without_schema,
)
from changefold_tools.verify.results import KnownDifference, TableResult, is_listed
from changefold_tools.verify.truth import load_ndjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from changefold_tools.verify.canonical_text import Encoding

Line = dict[str, Any]
Row = dict[str, "str | None"]

SIGNALS: Final = "dbz_signal"
"""Table through which snapshots are asked for."""

_STRING_MODES: Final = "_string_modes"
"""Ends the name of a folder whose connector sends numbers and bytes as texts."""

_TOLD: Final = frozenset(
    {"bytes", "Decimal", "VariableScaleDecimal"} | {f"int{n}" for n in (8, 16, 32, 64)}
)
"""Kinds of the sibling recording by which a text is compared."""


class RecordedMessages:
    """The messages of a recording, and what they say of the tables.

    Attributes:
        path: The recording.
        events: Its changes and reads of rows, by place.
        tables: What they say, or what the messages with schemas say that have the same
            tables.
    """

    def __init__(self, path: Path) -> None:
        """Read the messages.

        Args:
            path: The recording.
        """
        self.path = path
        known: dict[TableName, RecordedTable] = {}
        told_by = source_of_types(path)
        if told_by is not None and told_by != path:
            told = recorded_tables(read_events(read_records(told_by)))
            known = same_tables(told, tables_without_schema(read_records(path)))
        events = read_events(read_records(path), known)
        self.events: list[Event] = sorted(events, key=lambda event: event.place)
        self.tables = recorded_tables(self.events)
        for name, table in known.items():
            self.tables[name].schemas = table.schemas

    @cached_property
    def kinds(self) -> dict[str, dict[str, Kind]]:
        """Of each table, what the texts of its columns mean."""
        kinds = {table: recorded.kinds for (_, table), recorded in self.tables.items()}
        folder = self.path.parent
        if not folder.name.endswith(_STRING_MODES):
            return kinds
        sibling = folder.with_name(folder.name.removesuffix(_STRING_MODES))
        told_by = source_of_types(sibling / self.path.name)
        if told_by is None:
            return kinds
        encoding = _bytes_as(folder)
        told = recorded_tables(read_events(read_records(told_by)))
        for (_, table), recorded in told.items():
            for name, kind in recorded.kinds.items():
                if kinds[table][name].base == "string" and kind.base in _TOLD:
                    kinds[table][name] = replace(kind, encoding=encoding)
        return kinds


def _bytes_as(folder: Path) -> Encoding:
    """Return how the connector writes bytes as texts, by the folder's README."""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    found = re.search(r"`binary\.handling\.mode=(hex|base64)`", readme)
    if found is None:
        return ""
    return "hex" if found[1] == "hex" else "base64"


@dataclass
class Forms:
    """Turns rows of both sides into the one form, and counts what it leaves out.

    Attributes:
        messages: Of the recording.
        not_compared: Cells that are not compared, by table, with the reason.
    """

    messages: RecordedMessages
    not_compared: dict[TableName, Counter[str]] = field(default_factory=dict)

    def of_source(self, table: str, row: Mapping[str, str | None]) -> Row:
        """Return a row as the source printed it in the one form."""
        kinds = self.messages.kinds.get(table, {})
        return {
            name: text if text is None else oracle_form(text, _kind(kinds, name))
            for name, text in row.items()
        }

    def of_ours(self, table: str, row: Mapping[str, str | None]) -> Row:
        """Return a row of a built table in the one form."""
        kinds = self.messages.kinds.get(table, {})
        return {
            name: text if text is None else our_form(text, _kind(kinds, name))
            for name, text in row.items()
        }

    def count(self, name: TableName, row: Mapping[str, str | None]) -> None:
        """Count the cells of a row of the source that are not compared."""
        kinds = self.messages.kinds.get(name[1], {})
        for column, text in row.items():
            if text is None:
                continue
            why = why_not_compared(text, _kind(kinds, column))
            if why is not None:
                self.leave_out(name, f"cells of {column} ({why})")

    def leave_out(self, name: TableName, what: str) -> None:
        """Count one thing that is not compared."""
        self.not_compared.setdefault(name, Counter())[what] += 1


def _kind(kinds: Mapping[str, Kind], column: str) -> Kind:
    return kinds.get(column) or Kind("string")


def compare_final(
    folder: Path, messages: RecordedMessages, current: Iterable[Line]
) -> list[TableResult]:
    """Compare the current rows with ``expected_final``.

    Args:
        folder: Of the recording and its truth.
        messages: The recording.
        current: Lines of the built tables, in this project's texts.

    Returns:
        A result per table of either side, by name.
    """
    forms = Forms(messages)
    truth = list(load_ndjson(folder / "expected_final.ndjson"))
    known = list(known_differences(folder, messages, truth))
    expected = list(_expected(truth, forms, known))
    columns = {
        (line["database"], line["table"]): frozenset(line["row"]) for line in expected
    }
    found = []
    signals: Counter[TableName] = Counter()
    for line in _with_all_columns(current):
        name = (line["database"], line["table"])
        if name[1] == SIGNALS:
            signals[name] += 1
            continue
        row = _without_dropped(line["row"], name, columns.get(name), forms)
        ours = _line(name, forms.of_ours(name[1], row), messages)
        found.append({**ours, "unknown": line.get("unknown", ())})
    results = compare_rows(expected, found, {}, known_differences=known)
    for result in results:
        result.not_compared += forms.not_compared.get(
            (result.database, result.table), Counter()
        )
    for name, count in signals.items():
        result = TableResult("current", *name)
        result.not_compared["rows of the signal table (the truth has none)"] = count
        results.append(result)
    return results


def _line(
    name: TableName, row: Row, messages: RecordedMessages, key: Row | None = None
) -> Line:
    """Return a line of the one form; its key is the whole row where there is none."""
    columns = messages.tables[name].key_columns if name in messages.tables else ()
    if key is None and columns and all(column in row for column in columns):
        key = {column: row[column] for column in columns}
    pk = row if key is None else key
    return {"database": name[0], "table": name[1], "row": row, "pk": pk}


def name_of(line: Line) -> TableName:
    """Return the table of a line, of either side."""
    schema = line.get("schema")
    database = line["database"]
    return (f"{database}.{schema}" if schema else database), line["table"]


def _expected(
    truth: Iterable[Line], forms: Forms, known: Iterable[KnownDifference]
) -> Iterator[Line]:
    """Yield the rows of the source in the one form, by the keys that messages have."""
    # Where the messages have another key, that is listed: which row, it tells.
    rekeyed = {
        (one.table, _text({**one.key, str(one.column): one.oracle})): dict(one.key)
        for one in known
        if one.column in one.key and isinstance(one.oracle, str)
    }
    for line in truth:
        name = name_of(line)
        forms.count(name, line["row"])
        row = forms.of_source(name[1], line["row"])
        result = _line(name, row, forms.messages)
        key = rekeyed.get((name[1], _text(result["pk"])))
        yield _line(name, row, forms.messages, key)


def _text(key: Mapping[str, object]) -> str:
    return json.dumps(sorted(key.items()))


def _with_all_columns(lines: Iterable[Line]) -> list[Line]:
    """Return rows with every column of their table: null where a row is older."""
    lines = list(lines)
    columns: dict[TableName, dict[str, None]] = {}
    for line in lines:
        known = columns.setdefault((line["database"], line["table"]), {})
        known |= dict.fromkeys(line["row"])
    return [
        line | {"row": columns[line["database"], line["table"]] | line["row"]}
        for line in lines
    ]


def _without_dropped(
    row: Mapping[str, str | None],
    name: TableName,
    expected: frozenset[str] | None,
    forms: Forms,
) -> Mapping[str, str | None]:
    """Return a row without the columns that its table does not have any more."""
    table = forms.messages.tables.get(name)
    if table is None or expected is None:
        return row
    gone = {
        column
        for column in row
        if column in table.schemas
        and column not in expected
        and column not in table.live
    }
    for column in gone:
        if row[column] is not None:
            forms.leave_out(name, f"cells of {column} (dropped at the source)")
    return {column: text for column, text in row.items() if column not in gone}


# ------------------------------------------------------------- known differences


def known_differences(
    folder: Path, messages: RecordedMessages, truth: Iterable[Line] = ()
) -> Iterator[KnownDifference]:
    """Yield the listed differences in the one form of keys and values.

    Args:
        folder: Of the recording and its truth.
        messages: The recording.
        truth: Rows of the source, for the values of cells.
    """
    path = folder / "known_differences.ndjson"
    if not path.exists():
        return
    forms = Forms(messages)
    schemas = {
        table: recorded.schemas for (_, table), recorded in messages.tables.items()
    }
    rows: dict[tuple[str, str], Mapping[str, str | None]] = {}
    for line in truth:
        name = name_of(line)
        pk = _line(name, forms.of_source(name[1], line["row"]), messages)["pk"]
        rows[name[1], _text(pk)] = line["row"]
    for text in path.read_text(encoding="utf-8").splitlines():
        listed = strict_tokens(text.encode())
        table, column = str(listed["table"]), listed["column"]
        own = schemas.get(table, {})
        key = forms.of_ours(
            table,
            {
                part: connect_text(value, own.get(part))
                for part, value in listed["key"].items()
            },
        )
        oracle = listed["oracle"]
        source_key = dict(key)
        if column in key and oracle is not None:
            source_key |= forms.of_source(table, {column: oracle})
        printed = rows.get((table, _text(source_key)), {}).get(str(column))
        if oracle is not None and is_listed(oracle, printed):
            oracle = forms.of_source(table, {str(column): printed})[str(column)]
        yield KnownDifference(
            table=table,
            key=key,
            column=column,
            oracle=oracle,
            message=listed["message"],
            reason=str(listed["reason"]),
            actual=_actual(listed, own, forms),
        )


def _actual(
    listed: Mapping[str, Any], schemas: Mapping[str, Schema], forms: Forms
) -> object:
    """Return the value that a table shows in a listed cell, in the one form."""
    message, column = listed["message"], listed["column"]
    if column is None or message is None or message == "MISSING":
        return None
    if isinstance(message, str) and message.endswith("...(truncated)"):
        return message
    text = connect_text(message, schemas.get(column))
    return forms.of_ours(str(listed["table"]), {column: text})[column]
