"""The strict reader: any message, and exactly what is wrong with it."""

from changefold.errors import CdcDecodeError
from changefold.json.encode import shorten
from changefold.json.fields import Json, missing, read_string, wrong_type
from changefold.json.parse import require_value
from changefold.protocols.debezium.control import logical_message, read_control
from changefold.protocols.debezium.declared import Declared
from changefold.protocols.debezium.fields import optional_int
from changefold.protocols.debezium.key import keep_key, read_tombstone
from changefold.protocols.debezium.message import DebeziumMessage, EventKind
from changefold.protocols.debezium.parts import read_strictly
from changefold.protocols.debezium.rows import read_row
from changefold.protocols.debezium.source import (
    read_source,
    take_position,
)

__all__ = ["fill_message"]


def fill_message(
    message: DebeziumMessage,
    key: bytes | None,
    value: bytes | None,
    declared: Declared,
) -> EventKind:
    """Fill ``message`` field by field, so that an error leaves what was read.

    Args:
        message: A new message.
        key: The key of the Kafka record.
        value: Its value.
        declared: What the topic declares.

    Returns:
        What the message is.

    Raises:
        CdcDecodeError: If it is not what Debezium documents.
    """
    if value is None:
        return read_tombstone(message, key, declared)
    part = read_strictly(require_value(value), "$")
    payload, path, schema = part
    if payload is None:
        if schema is None:
            # What old converters made of a null value.
            return read_tombstone(message, key, declared)
        raise CdcDecodeError("missing_payload", path, "Expected a payload, got `null`")
    if not isinstance(payload, dict):
        raise wrong_type("object", payload, path)
    if "op" not in payload and not (
        "source" in payload and payload.keys() & {"before", "after"}
    ):
        keep_key(message, key, declared)
        return read_control(message, payload, path)
    op = _read_envelope(message, payload, path)
    if op == "m" and message.connector == "TiCDC":
        message.watermark_ts = message.commit_ts
        message.commit_ts = message.change_sequence = message.ordered_by = None
        message.source_database = message.source_table = ""
        return "watermark"
    if op == "m":
        keep_key(message, key, declared)
        message.logical_message = logical_message(payload, path)
        return "message"
    if not message.source_table:
        raise missing("str", f"{path}.source.table", payload["source"], "table")
    read_row(message, key, part, declared)
    return "truncate" if op == "t" else "row"


def _read_envelope(message: DebeziumMessage, payload: Json, path: str) -> str:
    """Read the envelope of a change but for its rows; return its ``op``."""
    source = read_source(message, payload, path)
    op = message.op = read_string(payload, "op", path)
    if op not in {"c", "u", "d", "r", "t", "m"}:
        raise CdcDecodeError(
            "unknown_op",
            f"{path}.op",
            f"Expected `c`, `u`, `d`, `r`, `t` or `m`, got `{shorten(op)}`",
        )
    message.ts_ms = optional_int(payload, "ts_ms", path)
    _read_transaction(message, payload, source, path)
    is_read = op == "r" or message.is_snapshot
    # A row that was read and has no position sorts before all changes.
    take_position(
        message,
        source,
        f"{path}.source",
        is_read=is_read,
        on_missing="first" if is_read else "refuse",
    )
    return op


def _read_transaction(
    message: DebeziumMessage, payload: Json, source: Json, path: str
) -> None:
    transaction = payload.get("transaction")
    place = f"{path}.transaction"
    if transaction is not None:
        if not isinstance(transaction, dict):
            raise wrong_type("object | null", transaction, place)
        message.transaction_id = read_string(transaction, "id", place)
        message.transaction_order = optional_int(transaction, "total_order", place)
    elif source.get("txId") is not None:
        # A number in PostgreSQL.
        if isinstance(source["txId"], bool) or not isinstance(
            source["txId"], int | str
        ):
            raise wrong_type("int | str | null", source["txId"], f"{path}.source.txId")
        message.transaction_id = str(source["txId"])
