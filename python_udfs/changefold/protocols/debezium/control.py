"""Messages that change no row: DDLs, transactions, heartbeats, notifications, signals."""

from typing import Final

from changefold.errors import CdcDecodeError
from changefold.json.encode import shorten, token_text
from changefold.json.fields import Json, missing, read_string, wrong_type
from changefold.protocols.debezium.fields import optional_int, optional_text
from changefold.protocols.debezium.message import DebeziumMessage, EventKind, to_json
from changefold.protocols.debezium.source import (
    read_source,
    take_position,
)

__all__ = ["logical_message", "read_control"]


def read_control(message: DebeziumMessage, payload: Json, path: str) -> EventKind:
    """Read a message that is no change."""
    if "source" in payload and payload.keys() & {"ddl", "tableChanges"}:
        return _read_ddl(message, payload, path)
    if "status" in payload and "event_count" in payload:
        message.event_type = read_string(payload, "status", path)
        message.transaction_id = read_string(payload, "id", path)
        message.ts_ms = optional_int(payload, "ts_ms", path)
        return "transaction"
    if "ts_ms" in payload and payload.keys() <= {"ts_ms", "ts_us", "ts_ns"}:
        message.ts_ms = optional_int(payload, "ts_ms", path)
        return "heartbeat"
    if _is_notification(payload):
        message.event_type = read_string(payload, "type", path)
        message.ts_ms = optional_int(payload, "timestamp", path)
        return "notification"
    if _is_signal(payload):
        message.event_type = read_string(payload, "type", path)
        return "signal"
    names = ", ".join(shorten(name) for name in list(payload)[:5])
    raise CdcDecodeError(
        "no_envelope",
        path,
        "Expected a change event with `op` and `source`, got an object of "
        f"`{shorten(names)}`: a row by itself has no order, so the connector must run "
        "without a transform that unwraps it",
    )


_NOTIFICATION: Final = {"id", "aggregate_type", "type", "additional_data", "timestamp"}
_SIGNALS: Final = frozenset(
    {
        *("execute-snapshot", "stop-snapshot", "pause-snapshot", "resume-snapshot"),
        *("snapshot-window-open", "snapshot-window-close"),
        *("log", "schema-changes", "set-binlog-position"),
    }
)
"""The actions of Debezium's signals. Source: the names of its `SignalAction` classes."""


def _is_notification(payload: Json) -> bool:
    """Tell a notification of Debezium from a row with columns of such names."""
    return (
        {"id", "aggregate_type", "type"} <= payload.keys() <= _NOTIFICATION
        and payload.keys() & {"additional_data", "timestamp"} != set()
        and isinstance(payload.get("additional_data") or {}, dict)
        and isinstance(payload["type"], str)
    )


def _is_signal(payload: Json) -> bool:
    """Tell a signal to Debezium from a row with columns of such names."""
    return (
        {"type", "data"} <= payload.keys() <= {"id", "type", "data"}
        and isinstance(payload["type"], str)
        and payload["type"] in _SIGNALS
        and isinstance(payload["data"] or {}, dict)
    )


def _read_ddl(message: DebeziumMessage, payload: Json, path: str) -> EventKind:
    source = read_source(message, payload, path)
    message.ts_ms = optional_int(payload, "ts_ms", path)
    take_position(
        message,
        source,
        f"{path}.source",
        is_read=message.is_snapshot,
        on_missing="none",
    )
    message.source_database = message.source_database or optional_text(
        payload, "databaseName", path
    )
    message.source_database = message.source_database or ""
    message.source_table = message.source_table or ""
    message.ddl_sql = optional_text(payload, "ddl", path)
    if message.ddl_sql is None and message.connector == "TiCDC":
        # Its statements act on the tables, those of the others are recorded only.
        raise missing("str", f"{path}.ddl", payload, "ddl")
    changes = payload.get("tableChanges")
    if changes is not None:
        if not isinstance(changes, list):
            raise wrong_type("array | null", changes, f"{path}.tableChanges")
        for change in changes[:1]:
            if not isinstance(change, dict):
                raise wrong_type("object", change, f"{path}.tableChanges[0]")
            message.event_type = optional_text(
                change, "type", f"{path}.tableChanges[0]"
            )
        message.table_changes = token_text(changes)
    return "ddl"


def logical_message(payload: Json, path: str) -> str:
    """Return what was written with ``pg_logical_emit_message``."""
    fields = payload.get("message")
    place = f"{path}.message"
    if fields is None:
        raise missing("object", place, payload, "message")
    if not isinstance(fields, dict):
        raise wrong_type("object", fields, place)
    return to_json(
        {
            "prefix": optional_text(fields, "prefix", place),
            "content": optional_text(fields, "content", place),
            "transactional": fields.get("transactional") is True,
        }
    )
