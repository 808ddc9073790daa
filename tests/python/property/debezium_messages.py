"""Debezium's messages, as Kafka Connect's JSON converter writes them.

Fields, their order and their schemas are those of the recorded messages in
``tests/golden/debezium``.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Final, Literal, NamedTuple

from debezium_histories import SCHEMAS, Connector, has_key, shown_columns
from histories import DATABASE, KEY_COLUMNS, Cell, Column, Line, Row, Table

PREFIX: Final = "prop"
PLACEHOLDER: Final = "__debezium_unavailable_value"
SIGNALS: Final = "dbz_signal"

Op = Literal["c", "u", "d", "r", "t"]
Headers = tuple[tuple[str, str], ...]
Kind = Literal["read", "chunk", "change", "tombstone", "other"]


class Part(NamedTuple):
    """A key or a value: its schema and what it says."""

    schema: Line
    payload: Line

    def text(self, *, has_schema: bool) -> str:
        """Return it as the converter writes it."""
        document = {"schema": self.schema, "payload": self.payload}
        return _json(document if has_schema else self.payload)


def _json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Message:
    """A message that is to be sent, any number of times.

    Attributes:
        topic: Where.
        key: Its key, if it has one.
        value: Its value; None: a tombstone.
        kind: What it is: ``read`` by a snapshot of the whole source, a ``chunk`` by
            an incremental one.
        headers: Its headers.
        again: What ``source`` of the value tells otherwise after a restart.
        begins: Whether a transaction begins here, so that a restart may.
    """

    topic: str
    key: Part | None
    value: Part | None
    kind: Kind
    headers: Headers = ()
    again: Mapping[str, str] | None = None
    begins: bool = False

    @property
    def source_ms(self) -> int:
        """When the source committed it; 0 of what is no change."""
        source = None if self.value is None else self.value.payload.get("source")
        return 0 if source is None else int(source["ts_ms"])

    @property
    def is_change(self) -> bool:
        """Whether it is a change, or what belongs to one or to its transaction."""
        has_ddl = self.value is not None and "ddl" in self.value.payload
        return self.kind not in {"read", "chunk"} and not has_ddl

    @property
    def transaction_order(self) -> int:
        """Its order in its transaction, from 1; 0 where that is not told."""
        block = None if self.value is None else self.value.payload.get("transaction")
        return 0 if block is None else int(block["total_order"])

    def stamped(
        self, built_at: int, *, is_restarted: bool, behind: int = 0
    ) -> "Message":
        """Return it as it is built at a time.

        Args:
            built_at: Microseconds since 1970.
            is_restarted: Whether the connector was started after its last snapshot.
            behind: The order in its transaction behind which the connector was started.
        """
        if self.value is None or "ts_ms" not in self.value.payload:
            return self
        payload = dict(self.value.payload)
        if payload["ts_ms"] is None:
            payload["ts_ms"] = built_at // 1000
        if "ts_us" in payload:
            payload |= {"ts_us": built_at, "ts_ns": built_at * 1000 + 7}
        if is_restarted and self.again:
            payload["source"] = payload["source"] | self.again
        if behind and self.transaction_order:
            order = {"total_order": self.transaction_order - behind}
            payload["transaction"] = payload["transaction"] | order
        return replace(self, value=self.value._replace(payload=payload))


# ---------- names


def _names(connector: Connector, table: str) -> list[str]:
    return [DATABASE, SCHEMAS[connector] or "", table]


def collection_of(connector: Connector, table: str) -> str:
    """Return the name of a table in transactions."""
    database, schema, _ = _names(connector, table)
    named = {
        "sqlserver": [database, schema, table],
        "postgresql": [schema, table],
        "mariadb": [database, table],
    }
    return ".".join(named[connector])


def topic_of(connector: Connector, table: str) -> str:
    """Return the topic of a table."""
    return f"{PREFIX}.{collection_of(connector, table)}"


def context_headers(connector: Connector) -> Headers:
    """Return the headers that tell of the connector."""
    if connector == "sqlserver":
        return ()
    fields = {
        "connectorLogicalName": PREFIX,
        "taskId": "0",
        "connectorName": connector,
        "runId": "01a1fe13-7454-77c4-97a7-3952efd75217",
    }
    return tuple((f"__debezium.context.{name}", text) for name, text in fields.items())


# ---------- schemas


def field_schema(
    field: str, type_: str, *, optional: bool = False, **more: object
) -> Line:
    """Return the schema of a field."""
    return {"type": type_, "optional": optional, **more, "field": field}


def struct_schema(name: str, fields: list[Line], **more: object) -> Line:
    """Return the schema of a struct."""
    described = {"type": "struct", "fields": fields, "optional": False, "name": name}
    return described | more


def _logical(name: str, parameters: Mapping[str, str] | None = None) -> Line:
    """Return what makes a type a logical one."""
    logical: Line = {"name": name, "version": 1}
    return logical if parameters is None else {**logical, "parameters": parameters}


_TYPES: Final = {
    "int": "int32",
    "bigint": "int64",
    "decimal": "bytes",
    "datetime": "int64",
    "varbinary": "bytes",
}


def _column_schema(column: Column) -> Line:
    logical: Line = {}
    if column.base == "datetime":
        logical = _logical("io.debezium.time.MicroTimestamp")
    if column.base == "decimal":
        precision, scale = map(str, column.parameters)
        logical = _logical(
            "org.apache.kafka.connect.data.Decimal",
            {"scale": scale, "connect.decimal.precision": precision},
        )
    if column.default is not None:
        logical["default"] = cell_value(column, column.default)
    type_ = _TYPES.get(column.base, "string")
    return field_schema(column.name, type_, optional=column.nullable, **logical)


_SNAPSHOTS: Final = (
    "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
)


def source_schema(connector: Connector) -> Line:
    text, number = "string", "int64"
    fields = [field_schema(name, text) for name in ("version", "connector", "name")]
    fields += [
        field_schema("ts_ms", number),
        field_schema(
            "snapshot",
            text,
            optional=True,
            **_logical("io.debezium.data.Enum", {"allowed": _SNAPSHOTS}),
            default="false",
        ),
        field_schema("db", text),
        field_schema("sequence", text, optional=True),
        field_schema("ts_us", number, optional=True),
        field_schema("ts_ns", number, optional=True),
    ]
    if connector == "mariadb":
        fields += [
            field_schema("table", text, optional=True),
            field_schema("server_id", number),
            field_schema("gtid", text, optional=True),
            field_schema("file", text),
            field_schema("pos", number),
            field_schema("row", "int32"),
            field_schema("thread", number, optional=True),
            field_schema("query", text, optional=True),
        ]
    else:
        fields += [field_schema("schema", text), field_schema("table", text)]
    if connector == "sqlserver":
        fields += [
            field_schema("change_lsn", text, optional=True),
            field_schema("commit_lsn", text, optional=True),
            field_schema("event_serial_no", number, optional=True),
        ]
    if connector == "postgresql":
        fields += [
            field_schema("txId", number, optional=True),
            field_schema("lsn", number, optional=True),
            field_schema("xmin", number, optional=True),
            field_schema("origin", text, optional=True),
            field_schema("origin_lsn", number, optional=True),
        ]
    name = f"io.debezium.connector.{connector}.Source"
    return struct_schema(name, fields, version=1, field="source")


@cache
def _envelope_schema(connector: Connector, table: Table) -> Line:
    name = topic_of(connector, table.name)
    columns = [_column_schema(one) for one in shown_columns(table)]
    rows = [
        struct_schema(f"{name}.Value", columns, optional=True, field=field)
        for field in ("before", "after")
    ]
    orders = [
        field_schema("id", "string"),
        field_schema("total_order", "int64"),
        field_schema("data_collection_order", "int64"),
    ]
    transaction = struct_schema(
        "event.block", orders, optional=True, version=1, field="transaction"
    )
    times = [
        field_schema("op", "string"),
        *(
            field_schema(field, "int64", optional=True)
            for field in ("ts_ms", "ts_us", "ts_ns")
        ),
    ]
    # Only the one of SQL Server has the transaction at the end.
    ends = [*times, transaction] if connector == "sqlserver" else [transaction, *times]
    fields = [*rows, source_schema(connector), *ends]
    return struct_schema(f"{name}.Envelope", fields, version=2)


# ---------- values


def cell_value(column: Column, cell: Cell) -> object:
    """Return a cell as the converter writes it."""
    if cell is None:
        return None
    if isinstance(cell, bytes):
        return base64.b64encode(cell).decode()
    match column.base:
        case "int" | "bigint":
            return int(cell)
        case "decimal":
            unscaled = int(Decimal(cell).scaleb(column.scale))
            # As many bytes as the number and its sign need.
            bits = unscaled.bit_length() if unscaled >= 0 else (~unscaled).bit_length()
            content = unscaled.to_bytes(bits // 8 + 1, "big", signed=True)
            return base64.b64encode(content).decode()
        case "datetime":
            moment = datetime.fromisoformat(cell).replace(tzinfo=UTC)
            return (moment - _EPOCH) // timedelta(microseconds=1)
    return cell


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def row_value(table: Table, row: Row) -> Line:
    """Return a row as the converter writes it."""
    return {one.name: cell_value(one, row[one.name]) for one in shown_columns(table)}


def key_only_value(table: Table, row: Row) -> Line:
    """Return a row of which PostgreSQL knows the key: nulls, or zeros, for the rest."""
    zeros = {"int": 0, "bigint": 0, "decimal": "AA==", "datetime": 0}
    return {
        one.name: cell_value(one, row[one.name])
        if one.name in KEY_COLUMNS
        else None
        if one.nullable
        else zeros.get(one.base, "")
        for one in shown_columns(table)
    }


def key_of_row(connector: Connector, table: Table, row: Row) -> Part | None:
    """Return the key of a row's messages."""
    if not has_key(table.name):
        return None
    columns = [one for one in table.columns if one.name in KEY_COLUMNS]
    # In the order of the key, whatever that of the table.
    columns.sort(key=lambda one: KEY_COLUMNS.index(one.name))
    name = f"{topic_of(connector, table.name)}.Key"
    return Part(
        struct_schema(name, [_column_schema(one) for one in columns]),
        {one.name: cell_value(one, row[one.name]) for one in columns},
    )


def source_value(
    connector: Connector, table: str, at: int, position: Line, snapshot: str = "false"
) -> Line:
    """Return ``source``.

    Args:
        connector: The connector.
        table: The table; empty: of a statement without one.
        at: When the source committed, in microseconds since 1970.
        position: What tells the position.
        snapshot: What tells of a snapshot.
    """
    if connector != "postgresql" and snapshot != "incremental":
        unit = 1_000_000 if connector == "mariadb" else 1000
        at -= at % unit
    first = {
        "version": "3.5.0.Final",
        "connector": connector,
        "name": PREFIX,
        "ts_ms": at // 1000,
        "snapshot": snapshot,
        "db": DATABASE,
        "sequence": None,
        "ts_us": at,
        "ts_ns": at * 1000,
    }
    names = {} if connector == "mariadb" else {"schema": SCHEMAS[connector]}
    others: Line = {"thread": None, "query": None}
    if connector != "mariadb":
        others = {}
    if connector == "postgresql":
        others = {"xmin": None, "origin": None, "origin_lsn": None}
    return {**first, **names, "table": table or None} | position | others


class Event(NamedTuple):
    """What a change says.

    Attributes:
        op: The operation.
        before: The row before.
        after: The row after.
        transaction: Its place in the transaction, if that is told.
    """

    op: Op
    before: Line | None = None
    after: Line | None = None
    transaction: Line | None = None


def envelope(connector: Connector, table: Table, source: Line, event: Event) -> Part:
    """Return the value of a change, but for the time at which it is built."""
    times = {"op": event.op, "ts_ms": None, "ts_us": None, "ts_ns": None}
    last: Line = {"transaction": event.transaction}
    ends = times | last if connector == "sqlserver" else last | times
    rows = {"before": event.before, "after": event.after}
    return Part(_envelope_schema(connector, table), {**rows, "source": source, **ends})


# ---------- messages that are no change


def heartbeat() -> Message:
    """Return a heartbeat."""
    common = "io.debezium.connector.common"
    key = struct_schema(
        f"{common}.ServerNameKey", [field_schema("serverName", "string")], version=1
    )
    value = struct_schema(
        f"{common}.Heartbeat", [field_schema("ts_ms", "int64")], version=1
    )
    return Message(
        f"__debezium-heartbeat.{PREFIX}",
        Part(key, {"serverName": PREFIX}),
        Part(value, {"ts_ms": None}),
        "other",
    )


def transaction_message(id_: str, at: int, counts: Mapping[str, int] | None) -> Message:
    """Return BEGIN or, with the number of changes of each table, END."""
    common = "io.debezium.connector.common"
    name = f"{common}.TransactionMetadataKey"
    key = struct_schema(name, [field_schema("id", "string")], version=1)
    collection = [
        field_schema("data_collection", "string"),
        field_schema("event_count", "int64"),
    ]
    items = struct_schema("event.collection", collection, optional=True, version=1)
    fields = [
        field_schema("status", "string"),
        field_schema("id", "string"),
        field_schema("event_count", "int64", optional=True),
        {
            "type": "array",
            "items": items,
            "optional": True,
            "field": "data_collections",
        },
        field_schema("ts_ms", "int64"),
    ]
    value = struct_schema(f"{common}.TransactionMetadataValue", fields, version=1)
    payload = {
        "status": "BEGIN" if counts is None else "END",
        "id": id_,
        "event_count": None if counts is None else sum(counts.values()),
        "data_collections": None
        if counts is None
        else [
            {"data_collection": table, "event_count": number}
            for table, number in counts.items()
        ],
        "ts_ms": at // 1000,
    }
    return Message(
        f"{PREFIX}.transaction", Part(key, {"id": id_}), Part(value, payload), "other"
    )
