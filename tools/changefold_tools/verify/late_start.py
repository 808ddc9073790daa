"""What a topic that begins in the middle can not show, taken out of its truth.

Counted and named, never called equal:

- a change that waits for a schema which no message describes;
- what a DDL did to a row that the log shows only later, or never;
- the DELETE of a row that was written before the log begins: there is no version that
  it could end.

A row that such a topic shows under an old name of its table is there under the new one
too; the truth of what the log touches does not list it, the whole truth does.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from changefold_tools.verify.compare import moment_of, times_of
from changefold_tools.verify.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from changefold_tools.verify.results import Schemas, TableResult

Line = dict[str, Any]
_Key = tuple[str, str, str]


@dataclass(frozen=True)
class PendingChange:
    """A change that waits for its schema.

    Attributes:
        database: Database of the table.
        table: The table.
        image: Its row, as far as it can be read without a schema.
    """

    database: str
    table: str
    image: Mapping[str, Any]


class Midstream:
    """The truth of a topic that begins in the middle, as far as it can be shown.

    Attributes:
        truth: The lines to compare with.
        left_out: Lines that can not be shown, per kind and table.
    """

    def __init__(
        self,
        visible: Truth,
        whole: Truth,
        built: Mapping[str, list[Line]],
        pending: list[PendingChange],
        schemas: Schemas,
    ) -> None:
        """Sort the lines of the truth.

        Args:
            visible: The truth of what the log touches.
            whole: The whole truth.
            built: The lines of the built tables: ``current`` and ``history``.
            pending: What waits for its schema.
            schemas: Keys of the tables.
        """
        self._by = times_of(built["history"])
        self.left_out: Counter[tuple[str, str, str]] = Counter()
        self._pending = pending
        self._first: dict[_Key, int] = {}
        for line in built["history"]:
            key, moment = _key(line, line["pk"]), moment_of(line, self._by)
            self._first[key] = min(self._first.get(key, moment), moment)
        history = None
        if visible.history is not None:
            history = [line for line in visible.history if self._shows_change(line)]
        self.truth = Truth(self._final(visible, whole, built, schemas), history)

    def add_to(self, results: Iterable[TableResult]) -> None:
        """Count what was left out as not carried."""
        for result in results:
            count = self.left_out[result.kind, result.database, result.table]
            result.rows_expected += count
            result.not_carried += count

    def _final(
        self,
        visible: Truth,
        whole: Truth,
        built: Mapping[str, list[Line]],
        schemas: Schemas,
    ) -> list[Line]:
        def key_of(line: Line) -> _Key:
            if "pk" in line:
                return _key(line, line["pk"])
            columns = schemas[line["database"], line["table"]].key_columns
            return _key(line, {name: line["row"].get(name) for name in columns})

        shown = {key_of(line) for line in built["current"]}
        final = []
        for line in visible.final:
            if key_of(line) in shown or line["row"] is None or not self._waits(line):
                final.append(line)
            else:
                self.left_out["current", line["database"], line["table"]] += 1
        known = {key_of(line) for line in visible.final}
        for line in whole.final:
            key = key_of(line)
            if key in shown and key not in known:
                final.append(line)
        return final

    def _shows_change(self, line: Line) -> bool:
        first = self._first.get(_key(line, line["pk"]))
        is_unseen = first is None or moment_of(line, self._by) < first
        is_by_ddl = str(line.get("cause", "")).startswith("ddl")
        if is_unseen and (is_by_ddl or line["op"] == "D" or self._waits(line)):
            self.left_out["history", line["database"], line["table"]] += 1
            return False
        return True

    def _waits(self, line: Line) -> bool:
        """Whether a pending change concerns the row of a line."""
        return any(
            (change.database, change.table) == (line["database"], line["table"])
            and all(change.image.get(name) == text for name, text in line["pk"].items())
            for change in self._pending
        )


def _key(line: Line, pk: Mapping[str, Any]) -> _Key:
    return line["database"], line["table"], json.dumps(pk, sort_keys=True)
