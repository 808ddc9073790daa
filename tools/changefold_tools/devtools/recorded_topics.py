"""Recorded topics, with what decodes their messages."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, get_args

import pyarrow as pa

from changefold.connect.declared import table_name
from changefold.mysql.wire_forms import CANAL, CONNECT, SIMPLE, WireForm
from changefold.protocols import canal_json, debezium, simple_avro, simple_json
from changefold_tools.devtools.mutations import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_READ_AT_MOST: Final = 3000
"""Messages of a recording that are used; more are of the same kinds."""


@dataclass(frozen=True)
class Decoder:
    """How messages of a protocol are decoded.

    Attributes:
        decode: Decodes a batch, with the types that were declared.
        type: What it returns.
        kinds: The event kinds.
        wire_form: The form of the values in its rows.
        is_avro: Whether it is Avro, and not JSON.
    """

    decode: Callable[[Sequence[Message], str | None], pa.StructArray]
    type: pa.StructType
    kinds: tuple[str, ...]
    wire_form: WireForm
    is_avro: bool = False


def _values(messages: Sequence[Message]) -> pa.BinaryArray:
    return pa.array([message.value for message in messages], pa.binary())


def _debezium(messages: Sequence[Message], types: str | None) -> pa.StructArray:
    keys = pa.array([message.key for message in messages], pa.binary())
    declared = pa.array([types] * len(messages), pa.string())
    return debezium.parse_batch(keys, _values(messages), declared)


_CANAL_JSON: Final = Decoder(
    lambda messages, _: canal_json.parse_batch(_values(messages)),
    canal_json.CANAL_JSON_TYPE,
    get_args(canal_json.EventKind),
    CANAL,
)

DECODERS: Final[dict[str, Decoder]] = {
    "ticdc_canal_json": _CANAL_JSON,
    "canal_json": _CANAL_JSON,
    "ticdc_simple": Decoder(
        lambda messages, _: simple_json.parse_batch(_values(messages)),
        simple_json.SIMPLE_TYPE,
        get_args(simple_json.EventKind),
        SIMPLE,
    ),
    "ticdc_simple_avro": Decoder(
        lambda messages, _: simple_avro.parse_batch(_values(messages)),
        simple_json.SIMPLE_TYPE,
        get_args(simple_json.EventKind),
        SIMPLE,
        is_avro=True,
    ),
    "debezium": Decoder(
        _debezium, debezium.DEBEZIUM_TYPE, get_args(debezium.EventKind), CONNECT
    ),
}
"""By the protocol, as in the var ``topics``."""


@dataclass(frozen=True)
class Topic:
    """A recorded topic.

    Attributes:
        name: Where it lies.
        protocol: Its protocol.
        path: The file.
        is_bare: Whether the schemas are taken out of its messages.
    """

    name: str
    protocol: str
    path: Path
    is_bare: bool = False

    @property
    def decoder(self) -> Decoder:
        """The decoder of its protocol."""
        return DECODERS[self.protocol]

    @cached_property
    def messages(self) -> list[Message]:
        """The first messages of it, in order."""
        opener = gzip.open if self.path.suffix == ".gz" else open
        with opener(self.path, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in islice(lines, _READ_AT_MOST)]
        messages = [
            Message(_content(record, "key"), _content(record, "value"))
            for record in records
        ]
        return (
            [Message(*map(_bare, each)) for each in messages]
            if self.is_bare
            else messages
        )

    @cached_property
    def by_kind(self) -> list[list[Message]]:
        """The messages by their event kind: rows are most of them."""
        kinds: dict[str, list[Message]] = {}
        rows = self.decoder.decode(self.messages, None)
        found = rows.field("event_kind").to_pylist()
        for message, kind in zip(self.messages, found, strict=True):
            kinds.setdefault(kind, []).append(message)
        return list(kinds.values())

    @cached_property
    def types(self) -> str | None:
        """The types of all columns, as one declares them; ``None`` if not told."""
        if self.protocol != "debezium":
            return None
        tables: dict[str, dict[str, str]] = {}
        messages = replace(self, is_bare=False).messages
        for row in self.decoder.decode(messages, None).to_pylist():
            if row["event_kind"] == "row" and row["column_types"] is not None:
                named = (row["source_database"], row["source_schema"])
                table = table_name(*named, row["source_table"])
                tables.setdefault(table, {}).update(json.loads(row["column_types"]))
        return json.dumps(tables)


def _content(record: dict[str, Any], name: str) -> bytes | None:
    text, encoded = record.get(name), record.get(f"{name}_base64")
    if encoded is not None:
        return base64.b64decode(encoded)
    return None if text is None else str(text).encode()


def _bare(text: bytes | None) -> bytes | None:
    """Return what a converter without schemas writes."""
    if text is None or not text.startswith((b'{"schema":', b'{"payload":')):
        return text
    payload = json.loads(text)["payload"]
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


_PROTOCOLS: Final = {
    "ticdc/*/canal_json*.ndjson*": "ticdc_canal_json",
    "ticdc/*/simple_json*.ndjson*": "ticdc_simple",
    "ticdc/*/simple_avro*.ndjson*": "ticdc_simple_avro",
    "debezium/*/messages*.ndjson*": "debezium",
    "connectors/*/messages*.ndjson*": "debezium",
    "canal/*/messages*.ndjson*": "canal_json",
}


def read_topics(golden: Path) -> list[Topic]:
    """Find the recorded topics below a folder; those of Debezium also without schemas.

    Args:
        golden: The folder, laid out as ``tests/golden``.

    Raises:
        FileNotFoundError: If there is none.
    """
    topics = [
        Topic(path.relative_to(golden).as_posix(), protocol, path, is_bare)
        for pattern, protocol in _PROTOCOLS.items()
        for path in sorted(golden.glob(pattern))
        for is_bare in (False, True)[: 1 + (path.parent.parent.name == "debezium")]
    ]
    if not topics:
        raise FileNotFoundError(f"There are no recorded topics in {golden}.")
    return topics
