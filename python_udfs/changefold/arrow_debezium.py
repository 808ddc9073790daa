"""Decode Debezium messages a batch at a time, into Arrow.

One by one: the schema, most of a message's bytes, is parsed once and then known by its
bytes (`debezium`), so what is left of a message is small.
"""

from typing import Any, Final

import pyarrow as pa

from changefold.batch_decoder import ERROR_TYPE, as_row
from changefold.debezium import read_debezium

__all__ = ["DEBEZIUM_TYPE", "parse_batch"]

DEBEZIUM_TYPE: Final = pa.struct(
    [
        pa.field("event_kind", pa.string(), nullable=False),
        pa.field("event_type", pa.string()),
        pa.field("connector", pa.string()),
        pa.field("source_name", pa.string()),
        pa.field("source_database", pa.string()),
        pa.field("source_schema", pa.string()),
        pa.field("source_table", pa.string()),
        pa.field("op", pa.string()),
        pa.field("key", pa.string()),
        pa.field("primary_key", pa.string()),
        pa.field("before", pa.string()),
        pa.field("after", pa.string()),
        pa.field("unavailable_columns", pa.string()),
        pa.field("is_typed", pa.bool_(), nullable=False),
        pa.field("columns", pa.string()),
        pa.field("columns_fingerprint", pa.string()),
        pa.field("snapshot", pa.string()),
        pa.field("is_snapshot", pa.bool_(), nullable=False),
        pa.field("change_sequence", pa.string()),
        pa.field("ordered_by", pa.string()),
        pa.field("commit_lsn", pa.string()),
        pa.field("lsn", pa.string()),
        pa.field("event_serial_no", pa.int64()),
        pa.field("binlog_file", pa.string()),
        pa.field("binlog_pos", pa.int64()),
        pa.field("binlog_row", pa.int64()),
        pa.field("gtid", pa.string()),
        pa.field("commit_ts", pa.int64()),
        pa.field("watermark_ts", pa.int64()),
        pa.field("source_ts_ms", pa.int64()),
        pa.field("ts_ms", pa.int64()),
        pa.field("transaction_id", pa.string()),
        pa.field("transaction_order", pa.int64()),
        pa.field("ddl_sql", pa.string()),
        pa.field("table_changes", pa.string()),
        pa.field("logical_message", pa.string()),
        pa.field("error", ERROR_TYPE),
    ]
)
"""Type of what `parse_batch` returns; `debezium.DebeziumMessage` describes the fields.

With one difference: of the valid messages of a batch with one `columns_fingerprint`, the
first has the `columns`, the others null. They are longer than most rows."""


def parse_batch(
    keys: pa.Array, values: pa.Array, columns: pa.Array | None = None
) -> pa.StructArray:
    """Decode messages. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        keys: The keys of Kafka records, of type binary or one that Arrow casts to it.
        values: Their values, of such a type too.
        columns: What their columns are if they do not say, as in `read_debezium`.

    Returns:
        One struct of type `DEBEZIUM_TYPE` per record, in the same order.
    """
    given = [None] * len(values) if columns is None else columns.to_pylist()
    described: set[str | None] = set()
    rows: list[dict[str, Any]] = []
    for key, value, text in zip(
        keys.cast(pa.binary()).to_pylist(),
        values.cast(pa.binary()).to_pylist(),
        given,
        strict=True,
    ):
        message = read_debezium(key, value, text)
        if message.columns_fingerprint in described:
            message.columns = None
        elif message.error is None:
            described.add(message.columns_fingerprint)
        rows.append(as_row(message))
    return pa.array(rows, DEBEZIUM_TYPE)
