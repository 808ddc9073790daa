"""A seeded topic of one table, for the benchmarks.

Inserts, updates, deletes and re-inserts with consistent keys, 5 % sent twice, a
watermark on every partition each second, three partitions. In Canal-JSON, and the same
messages in the Simple protocol.
"""

from __future__ import annotations

import json
import random
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import fastavro

from changefold.simple_avro import SCHEMA

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
_AVRO_SCHEMA: Final = fastavro.parse_schema(SCHEMA)


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


SCHEMA_VERSION: Final = _START_MS << 18

_TABLE_SCHEMA: Final = {
    "schema": "bench",
    "table": "orders",
    "tableID": 112,
    "version": SCHEMA_VERSION,
    "columns": [
        {
            "name": name,
            "dataType": {
                "mysqlType": kind,
                "charset": "binary",
                "collate": "binary",
                "length": 20,
            },
            "nullable": name != "id",
            "default": None,
        }
        for name, (kind, _) in COLUMNS.items()
    ],
    "indexes": [
        {
            "name": "primary",
            "unique": True,
            "primary": True,
            "nullable": False,
            "columns": ["id"],
        }
    ],
}


def as_simple(value: str) -> dict[str, Any]:
    """Return what a message of the topic is in the Simple protocol.

    Args:
        value: A message in Canal-JSON.
    """
    canal = json.loads(value)
    times = {"commitTs": canal["_tidb"].get("commitTs"), "buildTs": canal["ts"]}
    if canal["type"] == "TIDB_WATERMARK":
        times["commitTs"] = canal["_tidb"]["watermarkTs"]
        return {"version": 1, "type": "WATERMARK", **times}
    if canal["isDdl"]:
        message = {"version": 1, "type": canal["type"], "sql": canal["sql"]}
        return message | times | {"tableSchema": _TABLE_SCHEMA}
    message = {
        "version": 1,
        "database": canal["database"],
        "table": canal["table"],
        "tableID": _TABLE_SCHEMA["tableID"],
        "type": canal["type"],
        **times,
        "schemaVersion": SCHEMA_VERSION,
    }
    [row] = map(_simple_row, canal["data"])
    if canal["type"] == "DELETE":
        return message | {"old": row}
    if canal["type"] == "UPDATE":
        return message | {"data": row, "old": _simple_row(canal["old"][0])}
    return message | {"data": row}


def _simple_row(row: dict[str, str | None]) -> dict[str, Any]:
    return {
        name: {"location": "UTC", "value": row[name]}
        if COLUMNS[name][0] == "timestamp"
        else row[name]
        for name in sorted(row)
    }


def simple_json(message: dict[str, Any]) -> bytes:
    """Return a message of the Simple protocol in JSON."""
    return _dump(message).encode()


def simple_avro(message: dict[str, Any]) -> bytes:
    """Return a message of the Simple protocol in Avro."""
    kinds = {"WATERMARK": "Watermark", "CREATE": "DDL"}
    record = kinds.get(message["type"], "DML")
    payload = dict(message)
    if record == "Watermark":
        del payload["type"]
    if "tableSchema" in payload:
        schema = payload["tableSchema"]
        payload["tableSchema"] = schema | {"database": schema["schema"]}
    for name in {"data", "old"} & payload.keys():
        payload[name] = [
            {"name": column, "value": _avro_value(column, value)}
            for column, value in payload[name].items()
        ]
    stream = BytesIO()
    wrapped = {
        "type": record.upper(),
        "payload": (f"com.pingcap.simple.avro.{record}", payload),
    }
    named = ("com.pingcap.simple.avro.Message", wrapped)
    fastavro.schemaless_writer(stream, _AVRO_SCHEMA, named)
    return stream.getvalue()


def _avro_value(column: str, value: Any) -> Any:
    kind = COLUMNS[column][0]
    if value is None:
        return None
    if kind in {"bigint", "int"}:
        return int(value)
    return float(value) if kind == "double" else value


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
