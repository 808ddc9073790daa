"""A seeded topic of one table, for the benchmarks.

Inserts, updates, deletes and re-inserts with consistent keys, 5 % sent twice, a
watermark on every partition each second, three partitions. In Canal-JSON, and the same
messages in the Simple protocol; and the same changes as Debezium's connector for SQL
Server sends them.
"""

from __future__ import annotations

import base64
import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import fastavro

from changefold.protocols.simple_avro import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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

_MORE_COLUMNS: Final = (("varchar", 12), ("decimal", 3), ("bigint", -5))
"""What the other columns of a wide table are, in turns."""

_CREATE: Final = (
    "CREATE TABLE `orders` (`id` BIGINT PRIMARY KEY,`customer_id` BIGINT NOT NULL,"
    "`status` VARCHAR(16) NOT NULL,`total` DECIMAL(14,2) NOT NULL,`currency` CHAR(3),"
    "`note` VARCHAR(400),`created_at` DATETIME NOT NULL,`updated_at` TIMESTAMP NOT NULL,"
    "`quantity` INT,`weight` DOUBLE{more})"
)

_DECLARED: Final = {
    "varchar": "VARCHAR(100)",
    "decimal": "DECIMAL(14,2)",
    "bigint": "BIGINT",
}

_START_MS: Final = 1_700_000_000_000
_AVRO_SCHEMA: Final = fastavro.parse_schema(SCHEMA)


def columns(more: int = 0) -> dict[str, tuple[str, int]]:
    """Return the table's columns with their MySQL types and JDBC codes.

    Args:
        more: Number of columns beside those of `COLUMNS`.
    """
    return COLUMNS | {
        f"attribute_{number}": _MORE_COLUMNS[number % len(_MORE_COLUMNS)]
        for number in range(more)
    }


def _create(types: dict[str, str]) -> str:
    more = [
        f",`{name}` {_DECLARED[kind]}"
        for name, kind in types.items()
        if name not in COLUMNS
    ]
    return _CREATE.format(more="".join(more))


def envelope(commit_ts: int, **fields: Any) -> dict[str, Any]:
    """Return a message of the table, with some of its fields."""
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


def _row(
    chance: random.Random, key: int, ms: int, types: dict[str, str]
) -> dict[str, str | None]:
    second = ms // 1000 % 60
    row: dict[str, str | None] = {
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
    for name, kind in types.items():
        if name not in row:
            text = str(chance.randrange(10**9))
            row[name] = f"{text}.50" if kind == "decimal" else text
    return row


def _dump(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))


def messages(count: int, seed: int = 1, more: int = 0) -> Iterator[tuple[int, str]]:
    """Yield about ``count`` messages as (partition, value).

    Args:
        count: Number of row changes, repeats not counted.
        seed: The same seed gives the same topic.
        more: Number of columns beside those of `COLUMNS`.
    """
    types = {name: kind for name, (kind, _) in columns(more).items()}
    codes = {name: code for name, (_, code) in columns(more).items()}
    chance = random.Random(seed)  # noqa: S311  # test data
    rows: dict[int, dict[str, str | None]] = {}
    keys: list[int] = []
    commit_ts = _START_MS << 18
    yield (
        0,
        _dump(
            envelope(
                commit_ts,
                isDdl=True,
                type="CREATE",
                sql=_create(types),
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
        data = old if event_type == "DELETE" and old else _row(chance, key, ms, types)
        message = envelope(
            commit_ts,
            pkNames=["id"],
            type=event_type,
            sqlType=codes,
            mysqlType=types,
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
                        envelope(
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


_DEBEZIUM_COLUMNS: Final = (
    {"type": "int64", "optional": False, "field": "id"},
    {"type": "int64", "optional": False, "field": "customer_id"},
    {"type": "string", "optional": False, "field": "status"},
    {
        "type": "bytes",
        "optional": False,
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "14"},
        "field": "total",
    },
    {"type": "string", "optional": True, "field": "currency"},
    {"type": "string", "optional": True, "field": "note"},
    {
        "type": "int64",
        "optional": False,
        "name": "io.debezium.time.MicroTimestamp",
        "version": 1,
        "field": "created_at",
    },
    {
        "type": "string",
        "optional": False,
        "name": "io.debezium.time.ZonedTimestamp",
        "version": 1,
        "field": "updated_at",
    },
    {"type": "int32", "optional": True, "field": "quantity"},
    {"type": "double", "optional": True, "field": "weight"},
)

DEBEZIUM_TYPES: Final = json.dumps(
    {
        "bench.dbo.orders": {
            "id": "connect.int64",
            "customer_id": "connect.int64",
            "status": "connect.string",
            "total": "connect.Decimal(14,2)",
            "currency": "connect.string",
            "note": "connect.string",
            "created_at": "connect.MicroTimestamp",
            "updated_at": "connect.ZonedTimestamp",
            "quantity": "connect.int32",
            "weight": "connect.double",
        }
    }
)
"""What to declare, so that messages without a schema are read as those with one."""


def _struct(name: str, field: str | None, fields: Any) -> dict[str, Any]:
    schema = {"type": "struct", "fields": fields, "optional": field is not None}
    schema |= {"name": f"server1.bench.dbo.orders.{name}"}
    return schema if field is None else schema | {"field": field}


def _fields(type_: str, *names: str) -> list[dict[str, Any]]:
    return [{"type": type_, "optional": True, "field": name} for name in names]


_DEBEZIUM_SCHEMA: Final = _struct(
    "Envelope",
    None,
    [
        _struct("Value", "before", _DEBEZIUM_COLUMNS),
        _struct("Value", "after", _DEBEZIUM_COLUMNS),
        {
            "type": "struct",
            "fields": [
                *_fields("string", "version", "connector", "name"),
                *_fields("int64", "ts_ms"),
                *_fields("string", "snapshot", "db", "sequence"),
                *_fields("int64", "ts_us", "ts_ns"),
                *_fields("string", "schema", "table", "change_lsn", "commit_lsn"),
                *_fields("int64", "event_serial_no"),
            ],
            "optional": False,
            "name": "io.debezium.connector.sqlserver.Source",
            "version": 1,
            "field": "source",
        },
        *_fields("string", "op"),
        *_fields("int64", "ts_ms", "ts_us", "ts_ns"),
        {
            "type": "struct",
            "fields": [
                *_fields("string", "id"),
                *_fields("int64", "total_order", "data_collection_order"),
            ],
            "optional": True,
            "name": "event.block",
            "version": 1,
            "field": "transaction",
        },
    ],
)


def debezium_messages(
    values: Iterable[str], *, schemas: bool
) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of the row changes of the topic, as SQL Server's.

    Args:
        values: The messages in Canal-JSON.
        schemas: Whether each message brings its schema.
    """
    head = f'{{"schema":{_dump(_DEBEZIUM_SCHEMA)},"payload":'
    key_schema = _struct("Key", None, _DEBEZIUM_COLUMNS[:1]) | {"optional": False}
    key_head = f'{{"schema":{_dump(key_schema)},"payload":'
    for number, value in enumerate(values):
        canal = json.loads(value)
        if canal["isDdl"] or canal["type"] == "TIDB_WATERMARK":
            continue
        payload = _dump(_debezium_payload(canal, number))
        key = _dump({"id": int(canal["data"][0]["id"])})
        if schemas:
            payload, key = f"{head}{payload}}}", f"{key_head}{key}}}"
        yield key.encode(), payload.encode()


def _debezium_payload(canal: dict[str, Any], number: int) -> dict[str, Any]:
    [row] = map(_debezium_row, canal["data"])
    op = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}[canal["type"]]
    before = _debezium_row(canal["old"][0]) if op == "u" else None
    ms = canal["es"]
    return {
        "before": row if op == "d" else before,
        "after": None if op == "d" else row,
        "source": {
            "version": "3.5.0.Final",
            "connector": "sqlserver",
            "name": "server1",
            "ts_ms": ms,
            "snapshot": "false",
            "db": "bench",
            "sequence": None,
            "ts_us": ms * 1000,
            "ts_ns": ms * 1_000_000,
            "schema": "dbo",
            "table": "orders",
            "change_lsn": f"00000027:{number:08x}:0003",
            "commit_lsn": f"00000027:{number:08x}:0005",
            "event_serial_no": 2 if op == "u" else 1,
        },
        "op": op,
        "ts_ms": ms + 800,
        "ts_us": ms * 1000 + 800_123,
        "ts_ns": ms * 1_000_000 + 800_123_456,
        "transaction": None,
    }


def _debezium_row(row: dict[str, str | None]) -> dict[str, Any]:
    unscaled = int(Decimal(row["total"] or 0).scaleb(2))
    octets = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    created_at = datetime.fromisoformat(f"{row['created_at']}+00:00").astimezone(UTC)
    return row | {
        "id": int(row["id"] or 0),
        "customer_id": int(row["customer_id"] or 0),
        "total": base64.b64encode(octets).decode(),
        "created_at": int(created_at.timestamp()) * 1_000_000,
        "updated_at": f"{row['updated_at']}Z".replace(" ", "T"),
        "quantity": int(row["quantity"] or 0),
        "weight": float(row["weight"] or 0),
    }


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
