"""TiCDC's messages of what happens in a source, in Canal-JSON and the Simple protocol.

Fields, their order and their notation are those of the recorded messages in
``tests/golden``.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal, Protocol

from histories import (
    DATABASE,
    KEY_COLUMNS,
    LOGICAL_BITS,
    Cell,
    Column,
    Commit,
    DdlEvent,
    Line,
    Row,
    RowChange,
    Table,
)

ProtocolName = Literal["canal_json_tidb", "simple_json"]
"""A protocol, as its recordings are named."""

Variant = Literal["full", "updated_columns", "compatible"]

_JAVA_CODES: Final = {
    "int": 4,
    "bigint": -5,
    "decimal": 3,
    "varchar": 12,
    "text": 2005,
    "datetime": 93,
    "varbinary": 2004,
}
_LENGTHS: Final = {"int": 11, "bigint": 20, "text": 65535}


class Messages(Protocol):
    """Makes the messages of a protocol, without the time at which they are built."""

    @property
    def clock(self) -> str:
        """The field with that time."""

    def ddl(self, commit_ts: int, event: DdlEvent) -> Line:
        """Return the message of a DDL."""

    def row(self, random: Random, commit: Commit, event: RowChange) -> Line:
        """Return the message of a row that was inserted, updated or deleted."""

    def watermark(self, watermark_ts: int) -> Line:
        """Return a watermark."""

    def bootstrap(self, table: Table) -> Line | None:
        """Return what describes a table, if the protocol has such a message."""


def rank(event: RowChange) -> int:
    """Where TiCDC splits an UPDATE it sends deletes first and inserts last."""
    return 0 if event.after is None else 2 if event.before is None else 1


def _row_type(event: RowChange) -> str:
    return ("DELETE", "UPDATE", "INSERT")[rank(event)]


# ---------- Canal-JSON


@dataclass(frozen=True)
class CanalJson:
    """Canal-JSON with the TiDB extension.

    Attributes:
        variant: What ``old`` of an UPDATE holds, and with ``compatible`` also whether
            types have parameters.
    """

    variant: Variant = "full"
    clock: str = "ts"

    def ddl(self, commit_ts: int, event: DdlEvent) -> Line:
        """A DDL names the table as it is called afterwards."""
        fields = {
            "pkNames": None,
            "isDdl": True,
            "sql": event.ddl.sql,
            "data": None,
            "old": None,
        }
        table = event.ddl.target or event.ddl.table
        return _envelope(commit_ts, table, event.ddl.type, **fields)

    def row(self, random: Random, commit: Commit, event: RowChange) -> Line:
        """The order in ``mysqlType`` is that of a Go map: any, another each time."""
        columns = commit.tables[event.table].columns
        turn = random.randrange(len(columns))
        is_full_type = self.variant == "compatible"
        data = event.after or event.before or {}
        fields: dict[str, Any] = {
            "sqlType": {one.name: _JAVA_CODES[one.base] for one in columns},
            "mysqlType": {
                one.name: one.type if is_full_type else one.base
                for one in columns[turn:] + columns[:turn]
            },
            "old": None,
            "data": [{one.name: _latin(data[one.name]) for one in columns}],
        }
        before, after = event.before, event.after
        if before and after:
            is_shown = {
                one.name: self.variant == "full" or before[one.name] != after[one.name]
                for one in columns
            }
            fields["old"] = [
                {name: _latin(before[name]) for name in is_shown if is_shown[name]}
            ]
        return _envelope(commit.commit_ts, event.table, _row_type(event), **fields)

    def watermark(self, watermark_ts: int) -> Line:
        """A watermark is a message without a table."""
        fields = {"pkNames": None, "data": None, "old": None}
        return _envelope(watermark_ts, "", "TIDB_WATERMARK", **fields)

    def bootstrap(self, table: Table) -> None:
        """Canal-JSON describes no table."""
        return


def _envelope(commit_ts: int, table: str, type_: str, **fields: Any) -> Line:
    """A message; what comes behind ``mysqlType`` keeps its order."""
    return {
        "id": 0,
        "database": DATABASE if table else "",
        "table": table,
        "pkNames": list(KEY_COLUMNS),
        "isDdl": False,
        "type": type_,
        "es": commit_ts >> LOGICAL_BITS,
        "ts": 0,
        "sql": "",
        "sqlType": None,
        "mysqlType": None,
        **fields,
        "_tidb": {"commitTs" if table else "watermarkTs": commit_ts},
    }


def _latin(cell: Cell) -> str | None:
    return cell.decode("latin-1") if isinstance(cell, bytes) else cell


# ---------- the Simple protocol


@dataclass(frozen=True)
class SimpleJson:
    """The Simple protocol in JSON."""

    clock: str = "buildTs"

    def ddl(self, commit_ts: int, event: DdlEvent) -> Line:
        """A DDL describes the table afterwards and, but for CREATE, before it."""
        body = _simple(event.ddl.type, commit_ts, sql=event.ddl.sql)
        body["tableSchema"] = _schema(event.after)
        if event.before is not None:
            body["preTableSchema"] = _schema(event.before)
        return body

    def row(self, random: Random, commit: Commit, event: RowChange) -> Line:
        """Both images hold every column, sorted by name."""
        table = commit.tables[event.table]
        body = {
            "version": 1,
            "database": DATABASE,
            "table": event.table,
            "tableID": table.id,
            "type": _row_type(event),
            "commitTs": commit.commit_ts,
            "buildTs": 0,
            "schemaVersion": table.version,
        }
        images = {"data": event.after, "old": event.before}
        return body | {name: _image(row) for name, row in images.items() if row}

    def watermark(self, watermark_ts: int) -> Line:
        """A watermark is its commitTs."""
        return _simple("WATERMARK", watermark_ts)

    def bootstrap(self, table: Table) -> Line:
        """A bootstrap is of no commit."""
        return _simple("BOOTSTRAP", 0) | {"tableSchema": _schema(table)}


def described(body: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the names and versions of the tables that a message describes."""
    schemas = [body.get(name) for name in ("tableSchema", "preTableSchema")]
    return [(schema["table"], schema["version"]) for schema in schemas if schema]


def _simple(type_: str, commit_ts: int, **fields: str) -> Line:
    return {
        "version": 1,
        "type": type_,
        **fields,
        "commitTs": commit_ts,
        "buildTs": 0,
    }


def _image(row: Row) -> dict[str, str | None]:
    return {
        name: base64.b64encode(cell).decode() if isinstance(cell, bytes) else cell
        for name, cell in sorted(row.items())
    }


def _schema(table: Table) -> dict[str, Any]:
    """Describe a table: columns by their age, not by their place."""
    return {
        "schema": DATABASE,
        "table": table.name,
        "tableID": table.id,
        "version": table.version,
        "columns": [
            {
                "name": one.name,
                "dataType": _data_type(one),
                "nullable": one.nullable,
                "default": one.default,
            }
            for one in sorted(table.columns, key=lambda one: one.id)
        ],
        "indexes": [
            {
                "name": "PRIMARY",
                "unique": True,
                "primary": True,
                "nullable": False,
                "columns": list(KEY_COLUMNS),
            }
        ],
    }


def _data_type(column: Column) -> dict[str, str | int]:
    is_text = column.base in {"varchar", "text"}
    decimal = column.scale if column.base in {"decimal", "datetime"} else 0
    length = _LENGTHS.get(column.base) or column.parameters[0]
    if column.base == "datetime":
        length = len("2024-02-29 23:59:59.") + decimal
    return {
        "mysqlType": column.base,
        "charset": "utf8mb4" if is_text else "binary",
        "collate": "utf8mb4_bin" if is_text else "binary",
        "length": length,
    } | ({"decimal": decimal} if decimal else {})
