"""Messages as TiCDC writes them, for tests that need few of them."""

from __future__ import annotations

import json
from typing import Any

_SHARED: dict[str, Any] = {"id": 0, "es": 1, "ts": 2}
_NO_ROW = {
    "pkNames": None,
    "sqlType": None,
    "mysqlType": None,
    "data": None,
    "old": None,
}


def ddl(sql: str, commit_ts: int | None, table: str = "t", es: int = 1) -> str:
    """Return the message of a DDL; without commit timestamp it has no extension."""
    message = {
        **_SHARED,
        **_NO_ROW,
        "database": "db",
        "table": table,
        "isDdl": True,
        "type": "ALTER",
        "es": es,
        "sql": sql,
    }
    if commit_ts is not None:
        message["_tidb"] = {"commitTs": commit_ts}
    return json.dumps(message)


def watermark(watermark_ts: int) -> str:
    """Return the message of a watermark."""
    return json.dumps(
        {
            **_SHARED,
            **_NO_ROW,
            "database": "",
            "table": "",
            "isDdl": False,
            "type": "TIDB_WATERMARK",
            "sql": "",
            "_tidb": {"watermarkTs": watermark_ts},
        }
    )


def change(
    event_type: str,
    data: dict[str, str | None],
    commit_ts: int | None,
    *,
    old: dict[str, str | None] | None = None,
    types: dict[str, str] | None = None,
    **envelope: str | int | None,
) -> str:
    """Return the message of a row change; the key is `id`.

    Args:
        event_type: INSERT, UPDATE or DELETE.
        data: The row, or the one that is gone.
        commit_ts: Without, the message has no extension.
        old: The row before an UPDATE.
        types: Column -> type; INT by default.
        envelope: Other fields that are not as always.
    """
    message: dict[str, Any] = {
        **_SHARED,
        "database": "db",
        "table": "t",
        "pkNames": ["id"],
        "isDdl": False,
        "type": event_type,
        "sql": "",
        "sqlType": dict.fromkeys(data, 4),
        "mysqlType": types or dict.fromkeys(data, "int"),
        "old": None if old is None else [old],
        "data": [data],
        **envelope,
    }
    if commit_ts is not None:
        message["_tidb"] = {"commitTs": commit_ts}
    return json.dumps(message)


def debezium_of_ticdc(op: str, row: dict[str, int], commit_ts: int) -> str:
    """Return a change of the table `unmarked` as TiCDC writes it for Debezium.

    Args:
        op: c, u or d.
        row: The row, or the one that is gone.
        commit_ts: Its commit timestamp.
    """
    source = {
        "connector": "TiCDC",
        "name": "default",
        "db": "db",
        "table": "unmarked",
        "ts_ms": commit_ts >> 18,
        "commit_ts": commit_ts,
    }
    rows = {"before": row if op == "d" else None, "after": None if op == "d" else row}
    return json.dumps({"payload": {"op": op, "ts_ms": 1, "source": source, **rows}})


def simple_watermark(watermark_ts: int) -> str:
    """Return a watermark of the Simple protocol."""
    return json.dumps(
        {"version": 1, "type": "WATERMARK", "commitTs": watermark_ts, "buildTs": 1}
    )


def simple_insert(table: str, id_: int, *, version: int, commit_ts: int) -> str:
    """Return an INSERT of the Simple protocol; the row has a key only."""
    return json.dumps(
        {
            "version": 1,
            "database": "db",
            "table": table,
            "tableID": 1,
            "type": "INSERT",
            "commitTs": commit_ts,
            "buildTs": 1,
            "schemaVersion": version,
            "data": {"id": str(id_)},
        }
    )


def bootstrap(table: str, *, version: int) -> str:
    """Return a BOOTSTRAP of the Simple protocol, of such a table."""
    column = {
        "name": "id",
        "dataType": {
            "mysqlType": "int",
            "charset": "binary",
            "collate": "binary",
            "length": 11,
        },
        "nullable": False,
        "default": None,
    }
    key = {
        "name": "primary",
        "unique": True,
        "primary": True,
        "nullable": False,
        "columns": ["id"],
    }
    return json.dumps(
        {
            "version": 1,
            "type": "BOOTSTRAP",
            "commitTs": 0,
            "buildTs": 1,
            "tableSchema": {
                "schema": "db",
                "table": table,
                "tableID": 1,
                "version": version,
                "columns": [column],
                "indexes": [key],
            },
        }
    )
