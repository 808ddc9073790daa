"""A seeded Canal-JSON topic of one table, for the benchmarks.

Inserts, updates, deletes and re-inserts with consistent keys, 5 % sent twice, a
watermark on every partition each second, three partitions.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARTITIONS: Final = 3

COLUMNS: Final = {
    "id": ("bigint", -5),
    "customer_id": ("bigint", -5),
    "status": ("varchar", 12),
    "total": ("decimal", 3),
    "currency": ("char", 1),
    "note": ("varchar", 12),
    "created_at": ("datetime", 93),
    "updated_at": ("timestamp", 93),
    "quantity": ("int", 4),
    "weight": ("double", 8),
}
"""Column -> MySQL type and JDBC code."""

CREATE: Final = (
    "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`customer_id` BIGINT NOT NULL,"
    "`status` VARCHAR(16) NOT NULL,`total` DECIMAL(14,2) NOT NULL,`currency` CHAR(3),"
    "`note` VARCHAR(400),`created_at` DATETIME NOT NULL,`updated_at` TIMESTAMP NOT NULL,"
    "`quantity` INT,`weight` DOUBLE)"
)

_TYPES: Final = {name: kind for name, (kind, _) in COLUMNS.items()}
_CODES: Final = {name: code for name, (_, code) in COLUMNS.items()}
_START_MS: Final = 1_700_000_000_000


def _envelope(commit_ts: int, **fields: Any) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": 0,
        "database": "bench",
        "table": "orders",
        "pkNames": None,
        "isDdl": False,
        "type": "",
        "es": commit_ts >> 18,
        "ts": (commit_ts >> 18) + 800,
        "sql": "",
        "sqlType": None,
        "mysqlType": None,
        "old": None,
        "data": None,
    }
    return {**message, **fields}


def _row(chance: random.Random, key: int, ms: int) -> dict[str, str | None]:
    second = ms // 1000 % 60
    return {
        "id": str(key),
        "customer_id": str(chance.randrange(10**6)),
        "status": chance.choice(["new", "paid", "packed", "shipped", "returned"]),
        "total": f"{chance.randrange(10**7) / 100:.2f}",
        "currency": chance.choice(["EUR", "USD", None]),
        "note": "note " * chance.randrange(8, 32),
        "created_at": f"2024-05-05 05:05:{second:02d}",
        "updated_at": f"2024-06-06 06:06:{second:02d}",
        "quantity": str(chance.randrange(100)),
        "weight": str(round(chance.random() * 100, 6)),
    }


def _dump(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))


def messages(count: int, seed: int = 1) -> Iterator[tuple[int, str]]:
    """Yield about ``count`` messages as (partition, value).

    Args:
        count: Number of row changes, repeats not counted.
        seed: The same seed gives the same topic.
    """
    chance = random.Random(seed)  # noqa: S311  # test data
    rows: dict[int, dict[str, str | None]] = {}
    keys: list[int] = []
    commit_ts = _START_MS << 18
    yield (
        0,
        _dump(
            _envelope(
                commit_ts,
                isDdl=True,
                type="CREATE",
                sql=CREATE,
                _tidb={"commitTs": commit_ts},
            )
        ),
    )
    for number in range(count):
        ms = _START_MS + number // 2 + 1
        commit_ts = (ms << 18) + number % 2
        draw = chance.random()
        if draw < 0.5 or not keys:
            key = len(keys) + 1 if draw < 0.48 or not keys else chance.choice(keys)
            event_type, old = (
                ("INSERT", None) if key not in rows else ("UPDATE", rows[key])
            )
            if key == len(keys) + 1:
                keys.append(key)
        else:
            key = chance.choice(keys)
            old = rows.get(key)
            event_type = (
                "INSERT" if old is None else "DELETE" if draw > 0.9 else "UPDATE"
            )
        data = old if event_type == "DELETE" and old else _row(chance, key, ms)
        message = _envelope(
            commit_ts,
            pkNames=["id"],
            type=event_type,
            sqlType=_CODES,
            mysqlType=_TYPES,
            old=[old] if event_type == "UPDATE" else None,
            data=[data],
            _tidb={"commitTs": commit_ts},
        )
        if event_type == "DELETE":
            rows.pop(key, None)
        else:
            rows[key] = data
        value = _dump(message)
        yield key % PARTITIONS, value
        if chance.random() < 0.05:
            yield key % PARTITIONS, value
        if number % 2000 == 1999 or number == count - 1:
            mark = (ms + 1) << 18
            for partition in range(PARTITIONS):
                yield (
                    partition,
                    _dump(
                        _envelope(
                            mark,
                            database="",
                            table="",
                            type="TIDB_WATERMARK",
                            _tidb={"watermarkTs": mark},
                        )
                    ),
                )


def write_topic(path: Path, count: int, seed: int = 1) -> int:
    """Write a recording of a topic; return the number of its messages.

    Args:
        path: File to write, NDJSON.
        count: Number of row changes.
        seed: Seed of the topic.
    """
    offsets = [0] * PARTITIONS
    with path.open("w", encoding="utf-8") as file:
        for partition, value in messages(count, seed):
            record = {
                "topic": "bench",
                "partition": partition,
                "offset": offsets[partition],
                "timestamp": _START_MS,
                "key": None,
                "value": value,
            }
            offsets[partition] += 1
            file.write(json.dumps(record) + "\n")
    return sum(offsets)
