"""What recorded messages of Debezium tell of their tables, without the pipeline.

The decoder reads them, one by one, each by its own schema; nothing here knows Spark or a
model. A message without a schema is read by the types of its table's columns, and a value
that is not of its column's type is the text that came.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from changefold.connect.types import connect_type_text, parse_connect_type
from changefold.connect.unavailable import UNAVAILABLE
from changefold.connect.values import row_shape
from changefold.protocols.debezium import DebeziumMessage, decode_debezium
from changefold_tools.verify.canonical_text import Kind, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = [
    "Event",
    "RecordedTable",
    "TableName",
    "connect_text",
    "declared_connector",
    "read_events",
    "read_records",
    "recorded_tables",
    "same_tables",
    "source_of_types",
    "tables_without_schema",
]

TableName = tuple[str, str]
"""Database, with the schema if there is one behind a point, and table."""

Schema = dict[str, Any]
"""Schema of a value, as Kafka Connect's JSON converter writes it."""

WITH_SCHEMAS: Final = "messages.schemas_true"
"""Stem of the recording whose messages bring their schemas."""

_ENDINGS: Final = (".ndjson", ".ndjson.gz")


@dataclass
class RecordedTable:
    """What the messages of a table say of it.

    Attributes:
        schemas: Last schema of each column that it ever had.
        live: Columns of its last row.
        key_columns: Columns of its messages' keys; none without a key.
    """

    schemas: dict[str, Schema] = field(default_factory=dict)
    live: tuple[str, ...] = ()
    key_columns: tuple[str, ...] = ()

    @property
    def types(self) -> dict[str, str]:
        """Type of each column, as one declares it."""
        return {
            name: connect_type_text(schema) for name, schema in self.schemas.items()
        }

    @property
    def kinds(self) -> dict[str, Kind]:
        """What the texts of each column mean."""
        return {
            name: kind_of(parse_connect_type(text)) for name, text in self.types.items()
        }


@dataclass(frozen=True)
class Event:
    """A change or a read of a row, or a truncate.

    Attributes:
        table: The table.
        message: What was read.
        place: Sorts like the changes of the source.
        in_kafka: Partition and offset.
        arrival: Number of the line in the recording.
        schemas: Of the columns, if the message told.
    """

    table: TableName
    message: DebeziumMessage
    place: tuple[str, bool, int]
    in_kafka: tuple[int, int]
    arrival: int
    schemas: Mapping[str, Schema]


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Read the records of a recording."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def read_events(
    records: Iterable[Mapping[str, Any]],
    tables: Mapping[TableName, RecordedTable] | None = None,
) -> Iterator[Event]:
    """Read the changes of a recording.

    Args:
        records: Its lines.
        tables: What the columns are, for messages without schemas.

    Raises:
        CdcDecodeError: If a message is not what Debezium documents.
    """
    declared = json.dumps(
        {".".join(name): table.types for name, table in (tables or {}).items()}
    )
    for arrival, record in enumerate(records):
        key, value = record["key"], record["value"]
        document = None if value is None else json.loads(value)
        if not isinstance(document, dict):
            continue
        is_bare = "payload" not in document
        payload = document if is_bare else document["payload"]
        if "op" not in payload or payload["op"] == "m":
            continue
        table = _table(payload["source"])
        schemas: Mapping[str, Schema] = {}
        if not is_bare and document.get("schema"):
            schemas = _schemas_of_row(document["schema"])
        message = decode_debezium(
            None if key is None else str(key).encode(),
            str(value).encode(),
            declared,
        )
        # A delete and an insert of TiCDC may have one position.
        is_upsert = message.connector == "TiCDC" and message.op != "d"
        place = (str(message.change_sequence), is_upsert, int(record["offset"]))
        in_kafka = (int(record["partition"]), int(record["offset"]))
        yield Event(table, message, place, in_kafka, arrival, schemas)


def _schemas_of_row(envelope: Schema) -> dict[str, Schema]:
    for part in envelope["fields"]:
        if part["field"] in {"before", "after"}:
            return {column["field"]: column for column in part["fields"]}
    return {}


def recorded_tables(events: Iterable[Event]) -> dict[TableName, RecordedTable]:
    """Collect what events say of their tables."""
    tables: dict[TableName, RecordedTable] = {}
    for event in sorted(events, key=lambda event: event.place):
        message = event.message
        table = tables.setdefault(event.table, RecordedTable())
        table.schemas |= event.schemas
        if message.after is not None:
            unavailable = json.loads(message.unavailable_columns or "[]")
            row = json.loads(message.after)
            table.live = tuple(dict.fromkeys([*row, *unavailable]))
        if message.primary_key is not None:
            table.key_columns = tuple(json.loads(message.primary_key))
    return tables


def source_of_types(path: Path) -> Path | None:
    """Return the recording that tells the types of one without schemas.

    The same messages with schemas, or those of the folder that was replayed.

    Args:
        path: A recording.

    Returns:
        Its own path if its messages have schemas; none if no recording tells.
    """
    if path.name.startswith(WITH_SCHEMAS):
        return path
    folder = path.parent
    replayed = folder.with_name(folder.name.replace("_replay", ""))
    for place in (folder, replayed):
        for ending in _ENDINGS:
            found = place / f"{WITH_SCHEMAS}{ending}"
            if found.exists():
                return found
    return None


def tables_without_schema(records: Iterable[Mapping[str, Any]]) -> set[TableName]:
    """Return the tables whose changes came without a schema."""
    names: set[TableName] = set()
    for record in records:
        names |= _table_without_schema(record["value"])
    return names


def same_tables(
    known: Mapping[TableName, RecordedTable], names: Iterable[TableName]
) -> dict[TableName, RecordedTable]:
    """Return what is known of tables of the same names in another database."""
    by_table = {table: recorded for (_, table), recorded in known.items()}
    return {name: by_table[name[1]] for name in names if name[1] in by_table}


def connect_text(value: object, schema: Schema | None) -> str | None:
    """Return the text of a value that a connector encoded.

    Args:
        value: The value, parsed by `json.parse.strict_tokens`.
        schema: Of its column; none: it is as it came.

    Raises:
        CdcDecodeError: If the value is not of its schema.
    """
    if value is None or schema is None:
        return None if value is None else str(value)
    shape = row_shape([schema | {"field": "value", "optional": True}], "$", UNAVAILABLE)
    return shape.texts({"value": value}, "$").texts.get("value")


def declared_connector(path: Path, lines: Iterable[str]) -> dict[str, Any]:
    """Declare the topics of a connector as one.

    Args:
        path: The recording.
        lines: Its lines.

    Returns:
        What the var ``topics`` says of them, but for their files. The types are there if
        the messages have no schemas and another recording tells.
    """
    topics: set[str] = set()
    partitions = 1
    names: set[TableName] = set()
    for line in lines:
        record = json.loads(line)
        topics.add(record["topic"])
        partitions = max(partitions, record["partition"] + 1)
        names |= _table_without_schema(record["value"])
    declared: dict[str, Any] = {
        "name": _prefix(topics),
        "protocol": "debezium",
        "pattern": "|".join(_pattern(topic) for topic in sorted(topics)),
        "partitions": partitions,
    }
    manifest = path.parent / "manifest.json"
    if manifest.exists() and json.loads(manifest.read_text()).get("is_compacted"):
        declared["is_compacted"] = True
    told_by = source_of_types(path)
    if names and told_by is not None and told_by != path:
        told = recorded_tables(read_events(read_records(told_by)))
        declared["types"] = {
            ".".join(name): table.types
            for name, table in sorted(same_tables(told, names).items())
        }
    return declared


def _prefix(topics: Iterable[str]) -> str:
    """Return what the topics of the tables begin with."""
    named = [topic for topic in topics if not topic.startswith("__")]
    common = os.path.commonprefix(named or list(topics))  # noqa: RUF071 - no paths
    return common.rstrip("._-") or "debezium"


def _pattern(topic: str) -> str:
    # No backslash: what reads the pattern may take it for its own.
    return re.sub(r"[^A-Za-z0-9_-]", lambda found: f"[{found[0]}]", topic)


def _table_without_schema(value: str | None) -> set[TableName]:
    """Return the name of the table that a change without a schema is of."""
    document = json.loads(value or "{}")
    if not isinstance(document, dict) or document.get("schema"):
        return set()
    # TiCDC leaves the schema out, and Kafka Connect the envelope too.
    payload = document.get("payload", document)
    if "op" not in payload or payload["op"] == "m":
        return set()
    return {_table(payload["source"])}


def _table(source: Schema) -> TableName:
    schema = source.get("schema")
    database = source["db"] if schema is None else f"{source['db']}.{schema}"
    return str(database), str(source["table"])
