"""Changes of rows in the usual form, those that are alike read together.

Messages of one table and operation, whose rows have the same columns, differ in values
only. msgspec reads each into structs; then their values are converted column by column.
A message that is special in any way, and one that few are like, is left to the strict
reader.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
import pyarrow as pa

from changefold.json.encode import NumberToken
from changefold.json.fields import MAX_INT64
from changefold.json.parse import MAX_MESSAGE_BYTES, check_depth
from changefold.protocols.batch import Piece
from changefold.protocols.debezium.declared import Declared
from changefold.protocols.debezium.key import ROUTER_FIELD, WRAPPER
from changefold.protocols.debezium.message import DEBEZIUM_TYPE, to_json
from changefold.protocols.debezium.parts import cut_schema, decode_object
from changefold.protocols.debezium.position import (
    MissingPositionError,
    Position,
    Source,
    read_position,
)
from changefold.protocols.debezium.rows import Table, column_types, table_of
from changefold.protocols.debezium.schema import key_schema
from changefold.protocols.debezium.source import read_snapshot

__all__ = ["read_changes"]


_WORTH_A_GROUP: Final = 8
"""Fewer messages that are alike are quicker one by one."""


class _Transaction(msgspec.Struct, gc=False):
    id: str
    total_order: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)] | None = None


class _Change(msgspec.Struct, gc=False):
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    source: Source
    op: Literal["c", "u", "d", "r"]
    transaction: _Transaction | None = None
    ts_ms: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT64)] | None = None


_decode_change: Final = msgspec.json.Decoder(_Change, float_hook=NumberToken).decode

_REFUSED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError)
"""What is raised for a message that has to be read strictly; also a `CdcDecodeError`."""


class _Kind(NamedTuple):
    """What messages that are read together have in common."""

    schema: bytes | None
    key_schema: bytes | None
    connector: str
    name: str
    database: str | None
    database_schema: str | None
    table: str | None
    op: str
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    key: tuple[str, ...] | None


class _Group:
    """Messages that are alike.

    Attributes:
        places: Their places in the batch.
        changes: Their values.
        keys: Their keys.
    """

    def __init__(self) -> None:
        self.places: list[int] = []
        self.changes: list[_Change] = []
        self.keys: list[dict[str, Any]] = []


def read_changes(
    places: Sequence[int],
    messages: Sequence[tuple[bytes | None, bytes | None]],
    declared: Declared,
) -> Iterator[Piece]:
    """Read the changes of rows that others of the batch are like.

    Args:
        places: The places of messages in the batch.
        messages: Their keys and values.
        declared: What their topic declares.

    Yields:
        Messages that were read. The others have to be read strictly.
    """
    groups: dict[tuple[object, ...], _Group] = {}
    for place, (key, value) in zip(places, messages, strict=True):
        if value is None or len(value) > MAX_MESSAGE_BYTES:
            continue
        try:
            _sort_in(groups, place, key, value)
        except _REFUSED:
            continue
    for kind, group in groups.items():
        if len(group.places) < _WORTH_A_GROUP:
            continue
        try:
            columns = _read_group(_Kind._make(kind), group, declared)
        except (*_REFUSED, MissingPositionError):
            continue
        yield Piece(group.places, columns)


def _sort_in(
    groups: dict[tuple[object, ...], _Group],
    place: int,
    key: bytes | None,
    value: bytes,
) -> None:
    """Read a message but for its values, and put it to those that are like it."""
    schema, payload, _ = cut_schema(value)
    # What msgspec does not see where it reads nothing: bytes that are no text, and depth.
    check_depth(payload.decode())
    change = _decode_change(payload)
    source = change.source
    key_text, row = None, {}
    if key is not None:
        key_text, payload, _ = cut_schema(key)
        row = decode_object(payload)
    kind = (
        schema,
        key_text,
        source.connector,
        source.name,
        source.db,
        source.schema,
        source.table,
        change.op,
        None if change.before is None else tuple(change.before),
        None if change.after is None else tuple(change.after),
        None if key is None else tuple(row),
    )
    group = groups.get(kind)
    if group is None:
        group = groups[kind] = _Group()
    group.places.append(place)
    group.changes.append(change)
    group.keys.append(row)


def _read_group(kind: _Kind, group: _Group, declared: Declared) -> dict[str, pa.Array]:
    """Return the columns of messages that are alike.

    Raises:
        ValueError: If one of them is special.
    """
    names = kind.database, kind.database_schema, kind.table
    table = table_of(
        kind.schema, declared.types, declared.placeholder, kind.connector, names
    )
    _check_kind(kind, table, declared)
    changes = group.changes
    shared: dict[str, object] = {
        "event_kind": "row",
        "connector": kind.connector,
        "source_name": kind.name,
        "source_database": kind.database,
        "source_schema": kind.database_schema,
        "source_table": kind.table,
        "op": kind.op,
        "is_typed": table.is_typed,
        "column_types": column_types(
            table.of_row, kind.after or kind.before or (), is_whole=bool(kind.after)
        ),
    }
    cells: dict[str, Sequence[object]] = {}
    if kind.key is not None:
        shared["primary_key"] = to_json(kind.key)
        shape = table.of_row.loose(declared.placeholder)
        if kind.key_schema is not None:
            text = table.bytes_as_text
            types = declared.types if text else None
            shape = key_schema(
                kind.key_schema, declared.placeholder, table.connector, types, text
            )
        cells["key"], lacking = shape.rows(kind.key, group.keys)
        if lacking:
            raise ValueError("a key without a value")
    if kind.before is not None:
        rows = [change.before or {} for change in changes]
        cells["before"], _ = table.before.rows(kind.before, rows, nulls=True)
    if kind.after is not None:
        rows = [change.after or {} for change in changes]
        cells["after"], lacking = table.after.rows(kind.after, rows)
        if lacking:
            cells["unavailable_columns"] = [
                to_json(each) if each else None for each in lacking
            ]
    positions = _read_sources(kind.op, changes, cells)
    shared["ordered_by"] = positions[0].ordered_by
    return _arrays(len(changes), shared, cells)


def _read_sources(
    op: str, changes: list[_Change], cells: dict[str, Sequence[object]]
) -> list[Position]:
    """Add the cells that tell where changes come from; return their positions."""
    sources = [change.source for change in changes]
    snapshots = [read_snapshot(source.snapshot, "$") for source in sources]
    is_read = [op == "r" or snapshot is not None for snapshot in snapshots]
    positions = [
        read_position(
            source,
            "$",
            stage="0" if read and snapshot != "incremental" else "1",
            missing="first" if read else "refuse",
        )
        for source, snapshot, read in zip(sources, snapshots, is_read, strict=True)
    ]
    for name in _POSITION:
        cells[name] = list(map(attrgetter(name), positions))
    cells["snapshot"] = snapshots
    cells["is_snapshot"] = [snapshot is not None for snapshot in snapshots]
    cells["source_ts_ms"] = [source.ts_ms for source in sources]
    cells["ts_ms"] = [change.ts_ms for change in changes]
    cells["transaction_id"] = list(map(_transaction_id, changes))
    cells["transaction_order"] = [
        change.transaction and change.transaction.total_order for change in changes
    ]
    return positions


_POSITION: Final = (
    "change_sequence",
    "commit_lsn",
    "lsn",
    "event_serial_no",
    "binlog_file",
    "binlog_pos",
    "binlog_row",
    "gtid",
    "server_id",
    "commit_ts",
)


def _check_kind(kind: _Kind, table: Table, declared: Declared) -> None:
    """Leave messages that lack something to the strict reader."""
    rows = [set(names) for names in (kind.before, kind.after) if names is not None]
    key = set(kind.key or ())
    is_good = bool(kind.table) and all(rows) and all(key <= row for row in rows)
    if kind.op == "d":
        is_good &= kind.after is None and bool(rows or key)
    else:
        is_good &= kind.after is not None and (kind.op == "u" or kind.before is None)
    if kind.key is None:
        is_good &= table.name not in declared.keys
    else:
        is_good &= bool(key) and not key <= WRAPPER and ROUTER_FIELD not in key
    if not is_good:
        raise ValueError("special messages")


def _transaction_id(change: _Change) -> str | None:
    if change.transaction is not None:
        return change.transaction.id
    number = change.source.txId
    return None if number is None else str(number)


def _arrays(
    count: int, shared: dict[str, object], cells: dict[str, Sequence[object]]
) -> dict[str, pa.Array]:
    arrays = {}
    for field in DEBEZIUM_TYPE:
        if field.name in cells:
            arrays[field.name] = pa.array(cells[field.name], field.type)
        elif shared.get(field.name) is not None:
            value = pa.scalar(shared[field.name], field.type)
            arrays[field.name] = pa.repeat(value, count)
    return arrays
