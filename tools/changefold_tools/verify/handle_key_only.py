"""What messages with key columns only can not show, taken out of the truth.

A row that is too large for its topic comes as its key (`large-message-handle-option`),
and is quarantined. Of a truth with such changes, counted and named, never called equal:

- the change itself;
- a change back to the row that the tables show still;
- the end of a row that they never showed;
- the row as it is now, if its last change is among them.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from changefold_tools.verify.results import Schemas, TableResult
    from changefold_tools.verify.truth import Truth

Line = dict[str, Any]
_Key = tuple[str, str, str]


@dataclass(frozen=True)
class CutDownChange:
    """A change of which only the key came.

    Attributes:
        database: Database of the table.
        table: The table.
        key: The key columns, as the message writes them.
        commit_ts: Its commit timestamp.
    """

    database: str
    table: str
    key: Mapping[str, str | None]
    commit_ts: int

    @classmethod
    def from_message(cls, value: bytes) -> CutDownChange:
        """Read one from a quarantined message, Canal-JSON or Simple JSON."""
        message = json.loads(value)
        data = message["data"]
        commit_ts = message.get("commitTs") or message["_tidb"]["commitTs"]
        return cls(
            message["database"],
            message["table"],
            data[0] if isinstance(data, list) else data,
            commit_ts,
        )


class CutDown:
    """A truth and built tables, as far as a topic with such messages can show them.

    Attributes:
        truth: The lines to compare with.
        current: The lines of the built current tables to compare.
        left_out: Lines that can not be shown, per kind and table.
    """

    def __init__(
        self,
        truth: Truth,
        current: list[Line],
        changes: Iterable[CutDownChange],
        schemas: Schemas,
    ) -> None:
        """Sort the lines.

        Args:
            truth: The whole truth.
            current: The lines of the built current tables.
            changes: What came as a key only.
            schemas: Keys of the tables.
        """
        self.left_out: Counter[tuple[str, str, str]] = Counter()
        self._at = {
            (_key(change.database, change.table, change.key), change.commit_ts)
            for change in changes
        }
        self._schemas = schemas
        self._stale: set[_Key] = set()
        history = truth.history
        if history is not None:
            history = self._history(history)
        self.current = [line for line in current if not self._is_stale(line)]
        final = [line for line in truth.final if not self._is_stale(line)]
        for line in truth.final:
            if self._is_stale(line):
                self.left_out["current", line["database"], line["table"]] += 1
        self.truth = replace(truth, final=final, history=history)

    def add_to(self, results: Iterable[TableResult]) -> None:
        """Count what was left out as not carried."""
        for result in results:
            count = self.left_out[result.kind, result.database, result.table]
            result.rows_expected += count
            result.not_carried += count

    def _history(self, lines: list[Line]) -> list[Line]:
        kept = []
        shown: dict[_Key, Any] = {}
        for line in lines:
            key = _key(line["database"], line["table"], line["pk"])
            is_cut_down = (key, line["commitTs"]) in self._at
            if is_cut_down:
                self._stale.add(key)
            elif key in self._stale:
                # It is shown again from here on.
                self._stale.discard(key)
                if line["row"] == shown.get(key):
                    is_cut_down = True
            if is_cut_down:
                self.left_out["history", line["database"], line["table"]] += 1
            else:
                kept.append(line)
                shown[key] = line["row"]
        return kept

    def _is_stale(self, line: Line) -> bool:
        if not self._stale:
            return False
        columns = self._schemas[line["database"], line["table"]].key_columns
        pk = {name: line["row"].get(name) for name in columns}
        return _key(line["database"], line["table"], pk) in self._stale


def _key(database: str, table: str, pk: Mapping[str, Any]) -> _Key:
    return database, table, json.dumps(pk, sort_keys=True)
