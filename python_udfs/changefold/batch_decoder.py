"""Decode a batch of messages in two ways: together, and one by one.

What the batch decoders of all protocols share. Each recognises most row messages of a
batch together, by what it learnt from those that it parsed before (`Sources`), and
parses the others (`decode_batch`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from changefold.compressed_values import decompress_batch
from changefold.message_batch import Flags, MessageBatch, Places

__all__ = [
    "ERROR_TYPE",
    "WORTH_A_PATTERN",
    "WORTH_A_TEMPLATE",
    "RowCuts",
    "Sources",
    "as_row",
    "decode_batch",
    "in_order",
    "matches",
    "shared_columns",
    "struct_array",
]

ERROR_TYPE: Final = pa.struct(
    [
        pa.field("class", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
    ]
)
"""Type of the field ``error``: the attributes of a `CdcDecodeError`."""

WORTH_A_TEMPLATE: Final = 20
"""So many messages of a source are parsed before the next are recognised."""

_FIRST_PARSED: Final = 256

WORTH_A_PATTERN: Final = 4
"""Fewer messages of a kind in a batch are parsed: a pattern is compiled for each batch,
which takes as long as some messages one by one."""

# Go writes a map of up to 8 members in one of 8 orders, a larger one in any.
_MAX_TEMPLATES: Final = 64
_MAX_SOURCES: Final = 10_000

Recognise = Callable[[pa.Array], tuple[Places, pa.StructArray]]
Read = Callable[[bytes | None], dict[str, Any]]


def decode_batch(
    values: pa.Array, type_: pa.StructType, recognise: Recognise, read: Read
) -> pa.StructArray:
    """Decode messages, each in the quickest way there is.

    Args:
        values: The values of Kafka records, of type binary or one that Arrow casts
            to it.
        type_: The type of the result.
        recognise: Decodes the messages that look like others before. Returns their
            places in the batch, in any order, and a struct for each.
        read: Decodes one of the others.

    Returns:
        One struct per value, in the same order.
    """
    if values.type != pa.binary():
        values = values.cast(pa.binary())
    values = decompress_batch(values)
    found, recognised = recognise(values)
    if len(found) == len(values):
        return recognised
    pieces, places = [recognised], [found]
    left = np.delete(np.arange(len(values)), found)
    count = _FIRST_PARSED
    while len(left):
        # What these teach, the next need not be parsed for.
        parsed, left = left[:count], left[count:]
        rows = [read(value) for value in values.take(parsed).to_pylist()]
        found, recognised = recognise(values.take(left))
        pieces += [pa.array(rows, type_), recognised]
        places += [parsed, left[found]]
        left = np.delete(left, found)
        count *= 2
    return pa.concat_arrays(pieces).take(np.argsort(np.concatenate(places)))


def as_row(message: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a message that was parsed, as Arrow takes them."""
    row: dict[str, Any] = {
        name: getattr(message, name) for name in message.__struct_fields__
    }
    error = row["error"]
    if error is not None:
        row["error"] = {
            "class": error.error_class,
            "path": error.path,
            "message": error.message,
        }
    return row


# ------------------------------------------------------------- what is known

KeyT = TypeVar("KeyT")
TemplateT = TypeVar("TemplateT")


@dataclass
class _Source(Generic[KeyT, TemplateT]):
    """The messages with one head: of one table and one event type.

    Attributes:
        seen: How many were parsed.
        templates: By their key.
        refused: Keys that can have no template.
    """

    seen: int = 0
    templates: dict[KeyT, TemplateT] = field(default_factory=dict)
    refused: set[KeyT] = field(default_factory=set)


class Sources(Generic[KeyT, TemplateT]):
    """What was learnt of the messages that were parsed.

    Messages with the same text at their beginning, the head, are of one source. Each
    has templates: what messages share that agree in one more thing, the key.
    """

    def __init__(self) -> None:
        self._sources: dict[bytes, _Source[KeyT, TemplateT]] = {}

    def __bool__(self) -> bool:
        """Tell whether anything is known."""
        return bool(self._sources)

    def is_worth_a_template(self, head: bytes, key: KeyT) -> bool:
        """Count a message that was parsed; tell if there were enough of its source."""
        if len(self._sources) >= _MAX_SOURCES:
            self._sources.clear()
        source = self._sources.setdefault(head, _Source())
        source.seen += 1
        return source.seen >= WORTH_A_TEMPLATE and key not in source.refused

    def template(self, head: bytes, key: KeyT) -> TemplateT | None:
        """Return the template of a head and a key."""
        source = self._sources.get(head)
        return None if source is None else source.templates.get(key)

    def learn(self, head: bytes, key: KeyT, template: TemplateT, pattern: str) -> None:
        """Remember a template, or that there is none for a head and a key.

        Args:
            head: The head.
            key: The key.
            template: The template.
            pattern: Its longest RE2 pattern. RE2 does not take it if the table has
                too many columns.
        """
        source = self._sources.setdefault(head, _Source())
        if len(source.templates) >= _MAX_TEMPLATES:
            source.templates.clear()
        if len(source.refused) >= _MAX_TEMPLATES:
            source.refused.clear()
        if _can_match(pattern):
            source.templates[key] = template
        else:
            source.refused.add(key)

    def among(
        self, batch: MessageBatch, head: Places, head_end: Places, chosen: Flags
    ) -> Iterator[tuple[Places, dict[KeyT, TemplateT]]]:
        """Find the known sources of messages.

        Args:
            batch: The messages.
            head: Where the head of each begins.
            head_end: Where it ends, exclusive; -1 if there is none.
            chosen: Which of them to look at.

        Yields:
            Which of the messages are of one source, and its templates by key.
        """
        heads = batch.cut(head, np.maximum(head_end, head)).dictionary_encode()
        head_ids = heads.indices.to_numpy(zero_copy_only=False)
        for head_id, text in enumerate(heads.dictionary.to_pylist()):
            source = self._sources.get(text)
            if source is not None:
                places = np.flatnonzero(chosen & (head_ids == head_id))
                yield places, source.templates


# ----------------------------------------------------------- how it is recognised


class RowCuts(NamedTuple):
    """Where the rows of some messages lie; an array each.

    Attributes:
        rows: Which messages, by their place in the batch.
        template_ids: Which template each has.
        old: Where the row before begins; -1 if there is none.
        old_end: Where it ends, exclusive.
        data: Where the row begins; -1 if there is none.
        data_end: Where it ends, exclusive.
    """

    rows: Places
    template_ids: Places
    old: Places
    old_end: Places
    data: Places
    data_end: Places

    def take(self, chosen: np.ndarray[Any, Any]) -> "RowCuts":
        """Return the cuts of some of the messages: by places, or by flags."""
        return RowCuts(*(piece[chosen] for piece in self))


def in_order(found: list[RowCuts]) -> RowCuts:
    """Put the cuts of all templates into the order of the messages."""
    none = RowCuts(*[np.empty(0, np.int64)] * len(RowCuts._fields))
    pieces = zip(none, *found, strict=True)
    cuts = RowCuts(*(np.concatenate(piece) for piece in pieces))
    return cuts.take(np.argsort(cuts.rows))


def matches(texts: pa.BinaryArray, pattern: str) -> Flags:
    """Tell which texts an RE2 pattern matches."""
    found = pc.match_substring_regex(texts, pattern)
    flags: np.ndarray[Any, Any] = found.to_numpy(zero_copy_only=False)
    return flags.astype(np.bool_)


def _can_match(pattern: str) -> bool:
    try:
        pc.match_substring_regex(pa.array([b""]), pattern)
    except pa.ArrowInvalid:
        return False
    return True


def shared_columns(
    type_: pa.StructType, names: tuple[str, ...], cuts: RowCuts, shared: list[Any]
) -> dict[str, pa.Array]:
    """Build the columns whose values stand in the templates.

    Args:
        type_: The type of the result.
        names: The columns.
        cuts: Which template each message has.
        shared: Per template, the values of these columns.
    """
    ids = pa.array(cuts.template_ids)
    columns = zip(*shared, strict=True) if shared else [()] * len(names)
    return {
        name: pa.array(column, type_.field(name).type).take(ids)
        for name, column in zip(names, columns, strict=True)
    }


def struct_array(
    type_: pa.StructType, count: int, arrays: dict[str, pa.Array]
) -> pa.StructArray:
    """Build the result; columns that are not given are null."""
    return pa.StructArray.from_arrays(
        [arrays.get(field.name, pa.nulls(count, field.type)) for field in type_],
        fields=list(type_),
    )
