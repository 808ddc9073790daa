"""Decode a batch of Canal-JSON messages into one Arrow struct array.

This is the hot loop of the protocol. What makes it fast:

- messages are recognised, not parsed (`canal_json.match_row`);
- what is the same for all messages of a table goes through the loop as one number,
  and Arrow spreads it over the rows afterwards;
- rows stay bytes, and numbers stay digits until Arrow converts a column of them;
- UTF-8 and control characters are looked for in the whole batch at once;
- the garbage collector rests: nothing here makes a cycle.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import pyarrow as pa

from changefold.canal_json import (
    CanalJsonMessage,
    CompactRow,
    RowTemplate,
    is_plain,
    match_row,
    read_exactly,
)

__all__ = ["CANAL_JSON_TYPE", "parse_batch"]

_IMAGE_TYPE: Final = pa.struct(
    [
        pa.field("data", pa.string(), nullable=False),
        pa.field("old", pa.string()),
    ]
)

_ERROR_TYPE: Final = pa.struct(
    [
        pa.field("class", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
    ]
)

CANAL_JSON_TYPE: Final = pa.struct(
    [
        pa.field("event_kind", pa.string(), nullable=False),
        pa.field("source_database", pa.string()),
        pa.field("source_table", pa.string()),
        pa.field("event_type", pa.string()),
        pa.field("commit_ts", pa.int64()),
        pa.field("watermark_ts", pa.int64()),
        pa.field("es_ms", pa.int64()),
        pa.field("ts_ms", pa.int64()),
        pa.field("ddl_sql", pa.string()),
        pa.field("primary_key", pa.string()),
        pa.field("column_types", pa.string()),
        pa.field(
            "images",
            pa.list_(pa.field("element", _IMAGE_TYPE, nullable=False)),
            nullable=False,
        ),
        pa.field("error", _ERROR_TYPE),
    ]
)
"""Type of what `parse_batch` returns; `CanalJsonMessage` describes the fields."""

_Shared = tuple[str, str | None, str | None, str | None, str | None, str | None]


def parse_batch(values: pa.Array) -> pa.StructArray:
    """Decode messages. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        values: The values of Kafka records, of type binary or one that Arrow casts
            to it.

    Returns:
        One struct of type `CANAL_JSON_TYPE` per value, in the same order.
    """
    if values.type != pa.binary():
        values = values.cast(pa.binary())
    batch = _Batch()
    match = match_row if _is_plain_batch(values) else _match_if_plain
    with _garbage_collection_off():
        batch.read(values.to_pylist(), match)
        return batch.to_arrow()


def _match_if_plain(value: bytes) -> CompactRow | None:
    return match_row(value) if is_plain(value) else None


def _is_plain_batch(values: pa.Array) -> bool:
    """Whether `is_plain` holds for each message of a batch."""
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    _, offsets, data = values.buffers()
    if data is None:
        return True
    bounds = np.frombuffer(offsets, np.int32)
    first, last = bounds[values.offset], bounds[values.offset + len(values)]
    used = np.frombuffer(data, np.uint8)[first:last]
    return not used.size or int(used.min()) >= 0x20


@contextmanager
def _garbage_collection_off() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Batch:
    """The columns of the result while they grow."""

    def __init__(self) -> None:
        # What messages share, and for each message which of these it has.
        self.shared: list[_Shared] = []
        self.shared_ids: list[int] = []
        self.ids_by_template: dict[RowTemplate, int] = {}
        self.ids_by_fields: dict[_Shared, int] = {}
        # Numbers, as digits.
        self.commit_ts: list[bytes | None] = []
        self.es_ms: list[bytes | None] = []
        self.ts_ms: list[bytes | None] = []
        # All images of the batch, and for each message how many precede its own.
        self.data: list[bytes] = []
        self.old: list[bytes | None] = []
        self.image_offsets: list[int] = [0]
        # Few messages have these: by place in the batch.
        self.watermark_ts: dict[int, int] = {}
        self.ddl_sql: dict[int, str] = {}
        self.errors: dict[int, dict[str, str]] = {}

    def read(
        self,
        values: list[bytes | None],
        match: Callable[[bytes], CompactRow | None],
    ) -> None:
        """Decode the messages into the columns."""
        # Bound once: attribute look-ups would be a tenth of the loop.
        ids_by_template = self.ids_by_template
        add_shared_id = self.shared_ids.append
        add_es, add_ts = self.es_ms.append, self.ts_ms.append
        add_commit_ts = self.commit_ts.append
        add_data, add_old = self.data.append, self.old.append
        add_offset = self.image_offsets.append
        offset = 0
        for value in values:
            row = None if value is None else match(value)
            if row is None:
                self.add_message(read_exactly(value))
                offset = len(self.data)
            else:
                template, es, ts, data, old, commit_ts = row
                shared_id = ids_by_template.get(template)
                if shared_id is None:
                    shared_id = self.add_template(template)
                add_shared_id(shared_id)
                add_es(es)
                add_ts(ts)
                add_commit_ts(commit_ts)
                add_data(data)
                add_old(old)
                offset += 1
            add_offset(offset)

    def add_template(self, template: RowTemplate) -> int:
        """Number the shared fields of a template."""
        shared_id = self.add_shared(
            (
                "row",
                template.source_database,
                template.source_table,
                template.event_type,
                template.primary_key,
                template.column_types,
            )
        )
        self.ids_by_template[template] = shared_id
        return shared_id

    def add_shared(self, shared: _Shared) -> int:
        """Number a set of fields that messages may share."""
        shared_id = self.ids_by_fields.setdefault(shared, len(self.shared))
        if shared_id == len(self.shared):
            self.shared.append(shared)
        return shared_id

    def add_message(self, message: CanalJsonMessage) -> None:
        """Append a message of any kind, but for its image offset."""
        place = len(self.shared_ids)
        self.shared_ids.append(
            self.add_shared(
                (
                    message.event_kind,
                    message.source_database,
                    message.source_table,
                    message.event_type,
                    message.primary_key,
                    message.column_types,
                )
            )
        )
        self.es_ms.append(_digits(message.es_ms))
        self.ts_ms.append(_digits(message.ts_ms))
        self.commit_ts.append(_digits(message.commit_ts))
        for image in message.images:
            self.data.append(image.data)
            self.old.append(image.old)
        if message.watermark_ts is not None:
            self.watermark_ts[place] = message.watermark_ts
        if message.ddl_sql is not None:
            self.ddl_sql[place] = message.ddl_sql
        if message.error is not None:
            self.errors[place] = {
                "class": message.error.error_class,
                "path": message.error.path,
                "message": message.error.message,
            }

    def to_arrow(self) -> pa.StructArray:
        """Build the result."""
        count = len(self.shared_ids)
        ids = pa.array(self.shared_ids, pa.int32())
        columns = zip(*self.shared, strict=True) if self.shared else [()] * 6
        event_kind, database, table, event_type, primary_key, column_types = (
            pa.array(column, pa.string()).take(ids) for column in columns
        )
        images = pa.StructArray.from_arrays(
            [_strings(self.data), _strings(self.old)], fields=list(_IMAGE_TYPE)
        )
        arrays = {
            "event_kind": event_kind,
            "source_database": database,
            "source_table": table,
            "event_type": event_type,
            "commit_ts": _strings(self.commit_ts).cast(pa.int64()),
            "watermark_ts": _sparse(self.watermark_ts, count, pa.int64()),
            "es_ms": _strings(self.es_ms).cast(pa.int64()),
            "ts_ms": _strings(self.ts_ms).cast(pa.int64()),
            "ddl_sql": _sparse(self.ddl_sql, count, pa.string()),
            "primary_key": primary_key,
            "column_types": column_types,
            "images": pa.ListArray.from_arrays(
                pa.array(self.image_offsets, pa.int32()),
                images,
                type=CANAL_JSON_TYPE.field("images").type,
            ),
            "error": _sparse(self.errors, count, _ERROR_TYPE),
        }
        return pa.StructArray.from_arrays(
            [arrays[field.name] for field in CANAL_JSON_TYPE],
            fields=list(CANAL_JSON_TYPE),
        )


def _digits(number: int | None) -> bytes | None:
    return None if number is None else b"%d" % number


def _strings(values: list[bytes] | list[bytes | None]) -> pa.StringArray:
    """Build strings from bytes that are known to be UTF-8, without decoding them."""
    return pa.array(values, pa.binary()).view(pa.string())


def _sparse(
    values: dict[int, int] | dict[int, str] | dict[int, dict[str, str]],
    count: int,
    type_: pa.DataType,
) -> pa.Array:
    """Build a column in which only some places have a value."""
    if not values:
        return pa.nulls(count, type_)
    column: list[object] = [None] * count
    for place, value in values.items():
        column[place] = value
    return pa.array(column, type_)
