"""Spark types of what the functions return: the one place that knows them.

The same text stands under `returns` in each function's yml; the `function`
materialization checks that the two agree.
"""

from typing import Final

CANAL_JSON_MESSAGE: Final = (
    "struct<"
    "event_kind: string, "
    "source_database: string, "
    "source_table: string, "
    "event_type: string, "
    "commit_ts: bigint, "
    "watermark_ts: bigint, "
    "es_ms: bigint, "
    "ts_ms: bigint, "
    "ddl_sql: string, "
    "primary_key: string, "
    "column_types: string, "
    "images: array<struct<data: string, old: string>>, "
    "error: struct<class: string, path: string, message: string>>"
)
"""One Canal-JSON message, as `arrow_canal_json.parse_batch` builds it."""

SIMPLE_MESSAGE: Final = (
    "struct<"
    "event_kind: string, "
    "source_database: string, "
    "source_table: string, "
    "event_type: string, "
    "commit_ts: bigint, "
    "watermark_ts: bigint, "
    "build_ts_ms: bigint, "
    "schema_version: bigint, "
    "table_id: bigint, "
    "ddl_sql: string, "
    "table_schema: string, "
    "pre_table_schema: string, "
    "data: string, "
    "old: string, "
    "error: struct<class: string, path: string, message: string>>"
)
"""One message of the Simple protocol, as `arrow_simple.parse_batch` builds it."""
