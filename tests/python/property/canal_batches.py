"""Random streams of Canal over three partitions by key, of which Kafka took batches in part.

One table has a key of two columns, which statements move, exchange and take back; one has
no key. Most statements lie within one second. A batch that was sent in part is sent again
as the next one, perhaps with more behind it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

__all__ = ["write_stream"]

Row = dict[str, Any]

PARTITIONS: Final = 3
BEGIN: Final = 1_795_264_000
TYPES: Final = {
    "line": {"a": "int", "b": "int", "v": "varchar(9)"},
    "audit": {"m": "varchar(9)", "n": "int"},
}
CREATES: Final = {
    "line": "CREATE TABLE `line` (`a` int NOT NULL, `b` int NOT NULL, `v` varchar(9), "
    "PRIMARY KEY (`a`, `b`))",
    "audit": "CREATE TABLE `audit` (`m` varchar(9), `n` int)",
}


@dataclass(frozen=True)
class _Statement:
    """One statement: rows after it, and of an UPDATE the columns that it changed."""

    table: str
    event_type: str
    second: int
    rows: Sequence[Row] = ()
    old: Sequence[Row] = ()


@dataclass
class _Source:
    random: Random
    lines: dict[tuple[int, int], str] = field(default_factory=dict)
    audit: list[Row] = field(default_factory=list)

    def statements(self) -> Iterator[_Statement]:
        """Yield what a session does, beginning with two CREATE TABLE."""
        yield from (_Statement(table, "CREATE", 0) for table in CREATES)
        second = 0
        acts = (self._insert, self._update, self._delete, self._move, self._log)
        for _ in range(self.random.randint(15, 40)):
            second += self.random.random() < 0.15
            act = self.random.choices(acts, (2, 2, 1, 3, 2))[0]
            event_type, rows, old = act()
            if rows:
                table = "audit" if act == self._log else "line"
                yield _Statement(table, event_type, second, rows, old)

    def _insert(self) -> tuple[str, list[Row], list[Row]]:
        rows = []
        for _ in range(self.random.randint(1, 4)):
            key = (self.random.randint(1, 2), self.random.randint(1, 6))
            if key not in self.lines:
                self.lines[key] = self.random.choice("xyz")
                rows.append(self._line(key))
        return "INSERT", rows, []

    def _update(self) -> tuple[str, list[Row], list[Row]]:
        value = self.random.choice("xyz")
        changed = [k for k, v in self.lines.items() if v != value and self._happens()]
        old = [{"v": self.lines[key]} for key in changed]
        self.lines.update(dict.fromkeys(changed, value))
        return "UPDATE", [self._line(key) for key in changed], old

    def _delete(self) -> tuple[str, list[Row], list[Row]]:
        rows = [self._line(key) for key in self.lines if self._happens()]
        for row in rows:
            del self.lines[row["a"], row["b"]]
        return "DELETE", rows, []

    def _move(self) -> tuple[str, list[Row], list[Row]]:
        a, by = self.random.randint(1, 2), self.random.choice((-100, 100))
        rows, old = [], []
        for key in sorted(self.lines):
            target = (a, key[1] + by)
            if key[0] == a and 0 < target[1] < 300 and target not in self.lines:
                self.lines[target] = self.lines.pop(key)
                rows.append(self._line(target))
                old.append({"b": key[1]})
        return "UPDATE", rows, old

    def _log(self) -> tuple[str, list[Row], list[Row]]:
        row = {"m": self.random.choice("pq"), "n": self.random.randint(1, 2)}
        self.audit.append(row)
        return "INSERT", [row], []

    def _line(self, key: tuple[int, int]) -> Row:
        return {"a": key[0], "b": key[1], "v": self.lines[key]}

    def _happens(self) -> bool:
        return self.random.random() < 0.5


def write_stream(folder: Path, random: Random) -> None:
    """Write a recording, with the rows that the source has at its end.

    Args:
        folder: Is made; its name is the topic.
        random: Draws all of it.
    """
    source = _Source(random)
    statements = list(source.statements())
    offsets = [0] * PARTITIONS
    lines = []
    for partition, message in _deliveries(statements, random):
        record = {
            "topic": folder.name,
            "partition": partition,
            "offset": offsets[partition],
            "timestamp": message["ts"] + 5,
            "key": None,
            "value": json.dumps(message),
        }
        offsets[partition] += 1
        lines.append(json.dumps(record))
    truth = [("line", {"a": a, "b": b, "v": v}) for (a, b), v in source.lines.items()]
    truth += [("audit", row) for row in source.audit]
    folder.mkdir()
    (folder / "messages.ndjson").write_text("\n".join(lines), "utf-8")
    (folder / "expected_final.ndjson").write_text(
        "\n".join(
            json.dumps({"database": "shop", "table": table, "row": _texts(row)})
            for table, row in truth
        ),
        "utf-8",
    )


def _deliveries(
    statements: Sequence[_Statement], random: Random
) -> Iterator[tuple[int, Row]]:
    """Yield the messages that Kafka took, with their partitions, in order."""
    number, sent_ms, first = 0, BEGIN * 1000 + 500, 0
    while first < len(statements):
        size = random.randint(1, 8) if first else 2
        while first and random.random() < 0.35:
            number += 1
            batch = list(_messages(statements[first : first + size], number, sent_ms))
            yield from _in_part(batch, random)
            sent_ms += random.choice((1, 1, 2, 7, 40))
            size += random.choice((0, 0, 3))
        number += 1
        yield from _messages(statements[first : first + size], number, sent_ms)
        first += size
        sent_ms += random.choice((1, 1, 2, 7, 200))


def _in_part(
    batch: Sequence[tuple[int, Row]], random: Random
) -> Iterator[tuple[int, Row]]:
    """Yield what each partition took before the sending failed."""
    left = [random.randint(0, len(batch)) for _ in range(PARTITIONS)]
    for partition, message in batch:
        left[partition] -= 1
        if left[partition] >= 0:
            yield partition, message


def _messages(
    batch: Sequence[_Statement], number: int, sent_ms: int
) -> Iterator[tuple[int, Row]]:
    for statement in batch:
        types = TYPES[statement.table]
        message = {
            "id": number,
            "database": "shop",
            "table": statement.table,
            "type": statement.event_type,
            "isDdl": statement.event_type == "CREATE",
            "es": (BEGIN + statement.second) * 1000,
            "ts": sent_ms,
            "sql": CREATES[statement.table] if not statement.rows else "",
            "data": None,
            "old": None,
            "mysqlType": types,
            "sqlType": {name: 4 if t == "int" else 12 for name, t in types.items()},
            "pkNames": ["a", "b"] if statement.table == "line" else None,
        }
        if not statement.rows:
            yield 0, message
        for partition in range(PARTITIONS):
            chosen = [
                place
                for place, row in enumerate(statement.rows)
                if (row["a"] * 7 + row["b"] if "a" in row else 0) % PARTITIONS
                == partition
            ]
            if chosen:
                old = (
                    [_texts(statement.old[n]) for n in chosen]
                    if statement.old
                    else None
                )
                data = [_texts(statement.rows[place]) for place in chosen]
                yield partition, message | {"data": data, "old": old}


def _texts(row: Row) -> dict[str, str]:
    return {name: str(value) for name, value in row.items()}
