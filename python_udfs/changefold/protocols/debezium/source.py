"""Where a change comes from: what ``source`` says, but for its position."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from changefold.errors import CdcDecodeError
from changefold.json.encode import NumberToken, shorten
from changefold.json.fields import Json, missing, read_string, wrong_type
from changefold.protocols.debezium.fields import (
    optional_int,
    optional_milliseconds,
    optional_text,
)
from changefold.protocols.debezium.message import DebeziumMessage
from changefold.protocols.debezium.position import (
    MissingPositionError,
    OnMissing,
    Source,
    read_position,
)

__all__ = ["read_snapshot", "read_source", "take_position"]

SNAPSHOTS: Final = frozenset(
    {
        "true",
        "first",
        "first_in_data_collection",
        "last_in_data_collection",
        "last",
        "incremental",
    }
)
"""Values of ``source.snapshot`` of a row that was read, not changed."""


def read_snapshot(snapshot: str | bool | None, path: str) -> str | None:
    """Return ``source.snapshot`` of a row that was read, not changed; else ``None``.

    Raises:
        CdcDecodeError: If it is none that Debezium has.
    """
    # A bool in Debezium 1.x and in its documentation.
    if isinstance(snapshot, bool):
        snapshot = "true" if snapshot else None
    if snapshot is None or snapshot == "false":
        return None
    if snapshot not in SNAPSHOTS:
        raise CdcDecodeError(
            "unknown_snapshot",
            f"{path}.snapshot",
            "Expected `true`, `false`, `first`, `last` or `incremental`, got "
            f"`{shorten(snapshot)}`",
        )
    return snapshot


# ------------------------------------------------------------------------ strictly


def read_source(message: DebeziumMessage, payload: Json, path: str) -> Json:
    """Read where a message comes from, but for its position; return its ``source``.

    Raises:
        CdcDecodeError: If it is not what Debezium documents.
    """
    fields = payload.get("source")
    path = f"{path}.source"
    if fields is None:
        raise missing("object", path, payload, "source")
    if not isinstance(fields, dict):
        raise wrong_type("object", fields, path)
    message.connector = read_string(fields, "connector", path)
    message.source_name = read_string(fields, "name", path)
    message.source_database = optional_text(fields, "db", path)
    message.source_schema = optional_text(fields, "schema", path)
    message.source_table = optional_text(fields, "table", path)
    message.source_ts_ms = optional_milliseconds(fields, "ts_ms", path)
    snapshot = fields.get("snapshot")
    if isinstance(snapshot, NumberToken) or not isinstance(snapshot, str | bool | None):
        raise wrong_type("str | bool | null", snapshot, f"{path}.snapshot")
    message.snapshot = read_snapshot(snapshot, path)
    message.is_snapshot = message.snapshot is not None
    return fields


_Fields = Mapping[str, Callable[[Json, str, str], Any]]

_BINLOG: Final[_Fields] = {
    "file": optional_text,
    "pos": optional_int,
    "row": optional_int,
    "gtid": optional_text,
    "server_id": optional_int,
}
_POSITION: Final[Mapping[str, _Fields]] = {
    "sqlserver": {
        "commit_lsn": optional_text,
        "change_lsn": optional_text,
        "event_serial_no": optional_int,
    },
    "postgresql": {"lsn": optional_int, "sequence": optional_text},
    "mysql": _BINLOG,
    "mariadb": _BINLOG,
    "TiCDC": {"commit_ts": optional_int},
}
"""By the connector, the fields of its positions."""


def take_position(
    message: DebeziumMessage,
    fields: Json,
    path: str,
    *,
    is_read: bool,
    on_missing: OnMissing,
) -> None:
    """Read the position of a message whose source was read, and fill it in.

    Args:
        message: The message.
        fields: Its ``source``.
        path: Where that lies in the message.
        is_read: Whether the row was read, not changed.
        on_missing: As in `read_position`.

    Raises:
        CdcDecodeError: If the position is malformed, or missing and so refused.
    """
    source = Source(str(message.connector), "", ts_ms=message.source_ts_ms)
    for name, read in _POSITION.get(source.connector, {}).items():
        setattr(source, name, read(fields, name, path))
    is_first = is_read and message.snapshot != "incremental"
    try:
        position = read_position(
            source, path, stage="0" if is_first else "1", missing=on_missing
        )
    except MissingPositionError as error:
        gone = missing("a position", f"{path}.{error.name}", fields, error.name)
        raise CdcDecodeError("bad_position", gone.path, gone.message) from None
    for name in position.__struct_fields__:
        setattr(message, name, getattr(position, name))
