"""Decode Debezium messages a batch at a time, into Arrow.

There are two ways, and they accept the same messages: `debezium.read_debezium` parses
one message and checks everything; `_Recognised` decodes the changes of rows, and the
tombstones, that are laid out as Kafka Connect's converter does, all of them at once.
What it leaves goes the other way.

Why the second accepts only what the first accepts. It takes a message apart into pieces,
each of which is certain:

- the schema: its bytes are those of one that was parsed (`_Payloads`);
- the rows, the key, and the envelope from ``source`` on: between their values stand the
  bytes of an object that was parsed strictly (`json_layouts`; where an envelope ends as
  others did, `json_tails`);
- the values: each is one value of JSON, and of the type that its column has
  (`connect_batches`), or of the form that its field has (`debezium_sources`).
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from changefold.batch_decoder import as_row
from changefold.connect_batches import FoundTokens, RowBatch, RowContext, RowGroup
from changefold.connect_values import RowShape, undeclared
from changefold.debezium import (
    ROUTER_FIELD,
    column_types,
    cut_part,
    key_schema,
    read_debezium,
    value_schema,
)
from changefold.debezium_sources import CONSTANTS, SourceBatch
from changefold.declared_types import (
    Options,
    declared_shape,
    has_bytes_as_text,
    read_options,
    read_types,
)
from changefold.errors import CdcDecodeError
from changefold.json_documents import JsonDocuments
from changefold.json_layouts import Layouts, Objects, Signatures, group_by
from changefold.json_tails import TailForms
from changefold.message_batch import Flags, MessageBatch, Places
from changefold.protocols.batch import ERROR_TYPE
from changefold.strict_json import MAX_MESSAGE_BYTES, json_text

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
        pa.field("column_types", pa.string()),
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
"""Type of what `parse_batch` returns; `debezium.DebeziumMessage` describes the fields."""


def parse_batch(
    keys: pa.Array,
    values: pa.Array,
    types: pa.Array | None = None,
    options: pa.Array | None = None,
) -> pa.StructArray:
    """Decode messages. A bad one becomes an ``invalid`` row, never an exception.

    Args:
        keys: The keys of Kafka records, of type binary or one that Arrow casts to it.
        values: Their values, of such a type too.
        types: The declared types, as in `read_debezium`: most often one text for all.
        options: The declared options, likewise.

    Returns:
        One struct of type `DEBEZIUM_TYPE` per record, in the same order.

    Raises:
        ValueError: If the declared types or options are wrong.
    """
    keys, values = keys.cast(pa.binary()), values.cast(pa.binary())
    declared = _distinct(_texts_of(types, len(values)))
    for text in declared.texts:
        read_types(text)
    optional = _distinct(_texts_of(options, len(values)))
    found = []
    places = []
    for number, text in enumerate(optional.texts):
        read_options(text)
        chosen = np.flatnonzero(optional.ids == number)
        if len(chosen) == len(values):
            return _parse_alike(keys, values, declared, text)
        mine = pa.array(chosen)
        ids = _Texts(declared.texts, declared.ids[chosen])
        found.append(_parse_alike(keys.take(mine), values.take(mine), ids, text))
        places.append(chosen)
    order = np.argsort(np.concatenate(places))
    return pa.concat_arrays(found).take(pa.array(order))


def _texts_of(texts: pa.Array | None, count: int) -> pa.StringArray:
    return (pa.nulls(count) if texts is None else texts).cast(pa.string())


def _parse_alike(
    keys: pa.BinaryArray,
    values: pa.BinaryArray,
    declared: "_Texts",
    options: str | None,
) -> pa.StructArray:
    """Decode messages of the same options."""
    count = _MESSAGES_AT_ONCE
    parts = [
        _parse_part(
            keys[start : start + count],
            values[start : start + count],
            _Texts(declared.texts, declared.ids[start : start + count]),
            options,
        )
        for start in range(0, max(len(values), 1), count)
    ]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _parse_part(
    keys: pa.BinaryArray,
    values: pa.BinaryArray,
    declared: "_Texts",
    options: str | None,
) -> pa.StructArray:
    read = read_options(options)
    if keys.nbytes + values.nbytes > _MAX_BATCH_BYTES:
        recognised = _Recognised(keys[:0], values[:0], declared, read)
    else:
        recognised = _Recognised(keys, values, declared, read)
    left = np.delete(np.arange(len(values)), recognised.places())
    chosen = pa.array(left)
    rows = [
        as_row(read_debezium(key, value, declared.texts[text_id], options))
        for key, value, text_id in zip(
            keys.take(chosen).to_pylist(),
            values.take(chosen).to_pylist(),
            declared.ids[left].tolist(),
            strict=True,
        )
    ]
    parsed = pa.array(rows, DEBEZIUM_TYPE)
    pieces = [*recognised.pieces, _Piece(left, dict(_fields(parsed)))]
    return _in_order([piece for piece in pieces if len(piece.places)])


class _Texts(NamedTuple):
    """The texts of an array.

    Attributes:
        texts: The different ones.
        ids: Which of them each value has.
    """

    texts: list[str | None]
    ids: Places


def _distinct(texts: pa.StringArray) -> _Texts:
    """Number the texts: a comparison is enough where all are the same."""
    if texts.null_count == len(texts):
        return _Texts([None], np.zeros(len(texts), np.int64))
    first = texts[0]
    if not texts.null_count and pc.all(pc.equal(texts, first)).as_py():
        return _Texts([first.as_py()], np.zeros(len(texts), np.int64))
    encoded = texts.dictionary_encode("encode")
    return _Texts(
        encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
    )


class _Piece(NamedTuple):
    """Some messages of the result.

    Attributes:
        places: Which ones.
        columns: Their columns; null where there is none.
    """

    places: Places
    columns: dict[str, pa.Array]


def _fields(rows: pa.StructArray) -> list[tuple[str, pa.Array]]:
    return [(field.name, rows.field(field.name)) for field in DEBEZIUM_TYPE]


def _in_order(pieces: list[_Piece]) -> pa.StructArray:
    """Join pieces to the whole result."""
    if not pieces:
        return pa.array([], DEBEZIUM_TYPE)
    places = np.concatenate([piece.places for piece in pieces])
    is_ordered = bool((np.diff(places) > 0).all())
    order = pa.array(np.argsort(places))
    arrays = []
    for field in DEBEZIUM_TYPE:
        parts = [piece.columns.get(field.name) for piece in pieces]
        if all(part is None for part in parts):
            arrays.append(pa.nulls(len(places), field.type))
            continue
        filled = [
            pa.nulls(len(piece.places), field.type) if part is None else part
            for piece, part in zip(pieces, parts, strict=True)
        ]
        joined = filled[0] if len(filled) == 1 else pa.concat_arrays(filled)
        arrays.append(joined if is_ordered else joined.take(order))
    return pa.StructArray.from_arrays(arrays, fields=list(DEBEZIUM_TYPE))


# ------------------------------------------------------------------------ schemas

_SCHEMA: Final = b'{"schema":'
_PAYLOAD: Final = b'{"payload":'
_NO_SCHEMA: Final = -1
_UNKNOWN: Final = -2
_MAX_FAILURES: Final = 16
"""So many messages with schemas that can not be cut are looked at."""


class _Payloads:
    """Where the payloads of values or keys lie.

    Attributes:
        pieces: The payloads without their tails; empty where there is none or it is not
            known.
        tails: The ends of payloads that have a known form.
        schemas: The JSON texts of the schemas.
        schema_ids: Which of them each message has; `_NO_SCHEMA`, or `_UNKNOWN`.
    """

    def __init__(self, values: pa.BinaryArray, forms: TailForms) -> None:
        batch = MessageBatch(values)
        self._values = values
        self._batch = batch
        self._starts, self._ends = batch.starts.copy(), batch.ends.copy()
        self.schemas: list[bytes] = []
        has_schema = batch.has(batch.starts, batch.ends, _SCHEMA)
        is_other = batch.has(batch.starts, batch.ends, _PAYLOAD)
        is_other |= batch.ends - batch.starts > MAX_MESSAGE_BYTES
        self.schema_ids: Places = np.where(has_schema | is_other, _UNKNOWN, _NO_SCHEMA)
        if has_schema.any():
            self._unwrap(np.flatnonzero(has_schema & ~is_other))
        is_unknown = self.schema_ids == _UNKNOWN
        self._ends[is_unknown] = self._starts[is_unknown]
        self.tails = forms.find(batch, self._starts, self._ends)
        for tail in self.tails:
            self._ends[tail.messages] -= tail.form.length
        is_whole = not values.null_count and bool((self.schema_ids == _NO_SCHEMA).all())
        is_whole &= not self.tails
        # Nothing is copied where nothing has to be cut.
        self.pieces: pa.BinaryArray = (
            values if is_whole else batch.cut(self._starts, self._ends)
        )

    def _unwrap(self, left: Places) -> None:
        """Find the schemas: one message tells that of all that begin alike."""
        has_end = self._batch.has(self._ends - 1, self._ends, b"}")
        failures = 0
        while len(left) and failures < _MAX_FAILURES:
            part = cut_part(self._values[int(left[0])].as_py(), "$")
            left = left[1:] if part is None else left
            if part is None or part.schema is None:
                failures += 1
                left = left[1:]
                continue
            head = b'{"schema":%b,"payload":' % part.schema
            is_alike = pc.starts_with(self._values, pattern=head).fill_null(False)
            fits = is_alike.to_numpy(zero_copy_only=False) & has_end
            fits &= self.schema_ids == _UNKNOWN
            self.schema_ids[fits] = len(self.schemas)
            self._starts[fits] += len(head)
            self._ends[fits] -= 1
            self.schemas.append(part.schema)
            left = left[self.schema_ids[left] == _UNKNOWN]


class _Shapes(NamedTuple):
    """How the rows of some messages are read.

    Attributes:
        before: The columns of the row before.
        after: Those of the row after.
        of_row: Those of the message.
        is_typed: Whether they are known.
        placeholder: Of columns of which nothing is known.
    """

    before: RowShape
    after: RowShape
    of_row: RowShape
    is_typed: bool
    placeholder: str

    def contexts(self) -> list[RowContext | None]:
        """Return how a row before, a row after and a key without schema are read."""
        before, after, of_row, _, placeholder = self
        return [
            RowContext(before, before.other is None, True, placeholder),
            RowContext(after, after.other is None, False, placeholder),
            RowContext(of_row, False, False, placeholder),
        ]


def _undeclared(placeholder: str) -> _Shapes:
    unknown = undeclared(placeholder)
    return _Shapes(unknown, unknown, unknown, is_typed=False, placeholder=placeholder)


def _shapes_of_schema(schema: bytes, placeholder: str) -> _Shapes | None:
    try:
        shapes = value_schema(schema, placeholder).rows
    except CdcDecodeError:
        return None
    before, after = shapes.get("before"), shapes.get("after")
    of_row = after or before
    if of_row is None:
        return None
    unknown = undeclared(placeholder)
    return _Shapes(before or unknown, after or unknown, of_row, True, placeholder)


def _shapes_of_table(
    text: str | None, table: str, connector: str | None, placeholder: str
) -> _Shapes:
    shape = declared_shape(text, table, placeholder, connector)
    if shape is None:
        return _undeclared(placeholder)
    return _Shapes(shape, shape, shape, is_typed=True, placeholder=placeholder)


def _key_context(schema: bytes, placeholder: str) -> RowContext | None:
    # What such a number says, only the value tells: of which connector it is.
    if b"NanoTimestamp" in schema:
        return None
    try:
        shape = key_schema(schema, placeholder)
    except CdcDecodeError:
        return None
    return RowContext(shape, is_strict=True, placeholder=placeholder)


# -------------------------------------------------------------------- recognition

_BEFORE: Final = 0
_AFTER: Final = 1
_KEY: Final = 2

_layouts: Final = Layouts()
_envelopes: Final = Layouts(b",", CONSTANTS)
_tails: Final = TailForms()

_WORTH_A_GROUP: Final = 4
"""Fewer messages that are alike are parsed one by one."""

_MESSAGES_AT_ONCE: Final = 5_000
"""Of more, what a step leaves is no longer near the processor when the next one reads it."""

_MAX_BATCH_BYTES: Final = 1 << 29
"""A larger batch is parsed one by one: its texts might not fit an Arrow array."""


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text[-8:], "little"))


class _Recognised:
    """The messages of a batch that are decoded together.

    Attributes:
        pieces: These messages.
    """

    def __init__(
        self,
        keys: pa.BinaryArray,
        values: pa.BinaryArray,
        declared: _Texts,
        options: Options,
    ) -> None:
        self._count = len(values)
        self._options = options
        self.pieces: list[_Piece] = []
        self._value_payloads = _Payloads(values, _tails)
        self._key_payloads = _Payloads(keys, TailForms())
        self._documents = JsonDocuments(
            [self._value_payloads.pieces, self._key_payloads.pieces]
        )
        self._has_value: Flags = ~_is_null(values)
        self._has_key: Flags = ~_is_null(keys)
        self._signatures = Signatures(self._documents)
        self._read_schemas()
        self._find_envelopes()
        self._find_keys()
        self._read_sources()
        self._find_declared(declared)
        self._read_contexts()
        self._read_rows()
        self._add_tombstones()
        self._add_changes()

    def places(self) -> Places:
        """Return which messages are decoded."""
        return np.concatenate(
            [np.empty(0, np.int64), *(piece.places for piece in self.pieces)]
        )

    def _read_schemas(self) -> None:
        """Number the ways in which the rows of messages are read."""
        self._shapes: list[_Shapes | None] = [
            _undeclared(self._options.placeholder),
            *(
                _shapes_of_schema(schema, self._options.placeholder)
                for schema in self._value_payloads.schemas
            ),
        ]
        schema_ids = self._value_payloads.schema_ids
        self._shape_ids: Places = np.where(
            self._has_value & (schema_ids >= 0), schema_ids + 1, 0
        )
        is_known = np.array([shapes is not None for shapes in self._shapes])
        self._has_shapes: Flags = is_known[self._shape_ids]

    def _find_declared(self, declared: _Texts) -> None:
        """Add the shapes that were declared, and find the messages that have them."""
        numbers: dict[tuple[int, str, str | None], int] = {}
        for text_id, text in enumerate(declared.texts):
            if text is None:
                continue
            for envelopes, source in self._sources:
                messages = self._messages[envelopes]
                names, ids = source.tables()
                for name, connector in names:
                    if (text_id, name, connector) not in numbers:
                        numbers[text_id, name, connector] = len(self._shapes)
                        self._shapes.append(
                            _shapes_of_table(
                                text, name, connector, self._options.placeholder
                            )
                        )
                found = np.array([numbers[text_id, *name] for name in names])[ids]
                is_text = declared.ids[messages] == text_id
                is_mine = is_text & (self._shape_ids[messages] == 0)
                # Their schemas do not tell all: they are read one by one.
                has_bytes = [has_bytes_as_text(text, name) for name, _ in names]
                is_left = is_text & ~is_mine & np.array(has_bytes)[ids]
                self._shape_ids[messages[is_mine]] = found[is_mine]
                if is_left.any():
                    self._shape_ids[messages[is_left]] = len(self._shapes)
                    self._shapes.append(None)

    def _read_contexts(self) -> None:
        """Number the ways in which rows and keys are read."""
        self._contexts: list[RowContext | None] = [
            context
            for shapes in self._shapes
            for context in ([None] * 3 if shapes is None else shapes.contexts())
        ]
        key_ids = self._key_payloads.schema_ids
        self._key_context_ids: Places = np.where(
            key_ids >= 0, key_ids + len(self._contexts), 3 * self._shape_ids + _KEY
        )
        self._contexts += [
            _key_context(schema, self._options.placeholder)
            for schema in self._key_payloads.schemas
        ]

    # ---------------------------------------------------------------- places

    def _find_envelopes(self) -> None:
        """Find the rows and the source in the values."""
        documents = self._documents
        opens, lengths = documents.name_opens, documents.name_lengths
        first = documents.first_name[: self._count]
        last = documents.first_name[1 : self._count + 1]
        after, source = self._named(lengths, opens)
        # Where the envelope from `source` on is a tail, the row before it is the last.
        has_tail = np.zeros(self._count, np.bool_)
        for tail in self._value_payloads.tails:
            has_tail[tail.messages] = True
        source[has_tail] = last[has_tail]
        fits = documents.is_plain[: self._count] & (last - first + has_tail >= 3)
        fits &= self._has_shapes & (self._value_payloads.schema_ids != _UNKNOWN)
        fits &= (first < after) & (after < source)
        self._messages: Places = np.flatnonzero(fits)
        self._has_tail: Flags = has_tail[self._messages]
        first, last, after, source = (
            places[self._messages] for places in (first, last, after, source)
        )
        starts, ends = (
            places[self._messages] for places in (documents.starts, documents.ends)
        )
        before_start, before_end = documents.colons[first] + 1, opens[after] - 1
        after_start, after_end = documents.colons[after] + 1, ends.copy()
        after_end[~self._has_tail] = opens[source[~self._has_tail]] - 1
        data = documents.data
        fits = (data[starts] == ord("{")) & (opens[first] == starts + 1)
        fits &= documents.name_words(first) == _word(b'"before":')
        fits &= lengths[first] == len(b'"before":')
        fits &= data[before_end] == ord(",")
        fits &= (data[after_end] == ord(",")) | self._has_tail
        self._is_envelope = fits
        self._images = [
            self._image(before_start, before_end, first, after),
            self._image(after_start, after_end, after, source),
        ]
        self._envelopes = Objects(after_end, ends, source, last - source)

    def _named(self, lengths: Places, opens: Places) -> tuple[Places, Places]:
        """Find the names ``after`` and ``source`` of each value; -1 if there is none."""
        documents = self._documents
        found = []
        for name in (b'"after":', b'"source":'):
            names = np.flatnonzero(lengths == len(name))
            names = names[documents.name_words(names) == _word(name)]
            owners = np.searchsorted(documents.first_name, names, "right") - 1
            if name == b'"after":':
                # Behind a row, or the null that stands for one.
                place = opens[names]
                follows = documents.data[place - 2] == ord("}")
                follows |= names == documents.first_name[owners] + 1
                follows &= documents.data[place - 1] == ord(",")
                # The first one.
                names, owners = names[follows][::-1], owners[follows][::-1]
            places = np.full(2 * self._count + 1, -1)
            places[owners] = names
            found.append(places[: self._count])
        return found[0], found[1]

    def _image(
        self, starts: Places, ends: Places, name: Places, next_name: Places
    ) -> tuple[Flags, Objects]:
        """Return where there is a row, and the rows; else it must be null."""
        documents = self._documents
        is_row = documents.data[starts] == ord("{")
        is_null = documents.has(starts, ends, b"null") & (ends - starts == 4)
        counts = next_name - name - 1
        self._is_envelope &= np.where(is_row, counts > 0, is_null & (counts == 0))
        return is_row, Objects(starts, ends, name + 1, counts)

    def _find_keys(self) -> None:
        documents = self._documents
        first = documents.first_name[self._count : -1]
        counts = np.diff(documents.first_name[self._count :])
        starts, ends = documents.starts[self._count :], documents.ends[self._count :]
        self._keys = Objects(starts, ends, first, counts)
        self._is_key = documents.is_plain[self._count :] & (counts > 0)
        self._is_key &= self._key_payloads.schema_ids != _UNKNOWN

    def _read_sources(self) -> None:
        """Read the envelopes; those that have the same members together."""
        self._sources: list[tuple[Places, SourceBatch]] = []
        self._read_tails()
        envelopes = np.flatnonzero(self._is_envelope & ~self._has_tail)
        objects = self._envelopes.take(envelopes)
        numbers = self._signatures.of(objects)
        for group in group_by(numbers):
            if len(group) < _WORTH_A_GROUP:
                continue
            chosen = objects.take(group)
            for layout, fits, starts, ends in _envelopes.cut(
                self._documents, chosen, int(numbers[group[0]])
            ):
                found = chosen.take(fits)
                # The string behind the name.
                names = found.names + layout.members[:, None]
                strings = self._documents.names[names] + 1
                tokens = FoundTokens(
                    self._documents, starts.ravel(), ends.ravel(), strings.ravel()
                )
                source = SourceBatch(
                    self._documents, found.starts, found.ends, layout, tokens
                )
                self._sources.append((envelopes[group[fits]], source))
                _tails.learn(
                    self._documents,
                    layout,
                    (found.starts[source.valid], found.ends[source.valid]),
                    (starts[:, source.valid], ends[:, source.valid]),
                )

    def _read_tails(self) -> None:
        """Read the envelopes that end in a known form."""
        for found in self._value_payloads.tails:
            tail = found.take(
                np.isin(found.messages, self._messages[self._is_envelope])
            )
            if not len(tail.messages):
                continue
            envelopes = np.searchsorted(self._messages, tail.messages)
            documents, tokens = tail.read()
            begins = documents.ends - tail.form.length
            source = SourceBatch(
                documents, begins, documents.ends, tail.form.layout, tokens
            )
            self._sources.append((envelopes, source))

    # ------------------------------------------------------------------ rows

    def _read_rows(self) -> None:
        """Read all rows and keys."""
        messages = self._messages
        roles = []
        for role, (is_row, images) in enumerate(self._images):
            chosen = np.flatnonzero(is_row & self._is_envelope)
            contexts = 3 * self._shape_ids[messages[chosen]] + role
            roles.append((chosen, images.take(chosen), contexts))
        keys = np.flatnonzero(self._is_key)
        roles.append((keys, self._keys.take(keys), self._key_context_ids[keys]))
        objects = Objects(
            *(
                np.concatenate(pieces)
                for pieces in zip(*(r[1] for r in roles), strict=True)
            )
        )
        contexts = np.concatenate([role[2] for role in roles])
        order, groups = self._group(objects, contexts)
        self._rows = RowBatch(self._documents, groups)
        counts = [group.starts.shape[1] for group in groups]
        self._group_ids = np.repeat(np.arange(len(groups)), counts)
        self._groups = groups
        # Where each object is among the rows; -1 if it is not there, or not valid.
        places = np.full(len(contexts), -1)
        places[order] = np.where(self._rows.valid, np.arange(len(order)), -1)
        bounds = np.cumsum([len(role[0]) for role in roles])
        self._row_places = []
        for (chosen, _, _), mine, count in zip(
            roles,
            np.split(places, bounds[:-1]),
            (len(messages), len(messages), self._count),
            strict=True,
        ):
            of_role = np.full(count, -1)
            of_role[chosen] = mine
            self._row_places.append(of_role)

    def _group(
        self, objects: Objects, contexts: Places
    ) -> tuple[Places, list[RowGroup]]:
        """Put objects together that have the same members and the same context."""
        documents = self._documents
        numbers = self._signatures.of(objects)
        mixed = numbers + contexts.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        groups: list[RowGroup] = []
        order: list[Places] = [np.empty(0, np.int64)]
        for alike in group_by(mixed):
            if len(alike) < _WORTH_A_GROUP:
                continue
            context_id = int(contexts[alike[0]])
            context = self._contexts[context_id]
            places = alike[contexts[alike] == context_id]
            chosen = objects.take(places)
            if context is None:
                continue
            for layout, fits, starts, ends in _layouts.cut(
                documents, chosen, int(numbers[places[0]])
            ):
                names = chosen.names[fits] + layout.members[:, None]
                strings = documents.names[names] + 1
                groups.append(RowGroup(layout, context, starts, ends, strings))
                order.append(places[fits])
        return np.concatenate(order), groups

    def _texts(self, places: Places) -> pa.StringArray:
        return self._rows.texts.take(pa.array(places, mask=places < 0))

    def _key_columns(self, messages: Places) -> dict[str, pa.Array]:
        places = self._row_places[_KEY][messages]
        names = [
            json_text([path[0] for path in group.layout.paths])
            for group in self._groups
        ]
        ids = self._group_ids[places] if names else places
        return {
            "key": self._texts(places),
            "primary_key": pa.array(names, pa.string()).take(
                pa.array(ids, mask=places < 0)
            ),
        }

    def _has_good_key(self, *, may_be_null: bool) -> Flags:
        """Tell which messages have a key that was read, or none."""
        places = self._row_places[_KEY]
        good: Flags = places >= 0
        if self._rows.unavailable:
            good &= ~np.isin(places, list(self._rows.unavailable))
        # One with these names might be a key with its schema, and one of a router has
        # a field that is no column.
        is_plain = np.array(
            [
                not names <= {"schema", "payload"} and ROUTER_FIELD not in names
                for names in map(_names_of, self._groups)
            ]
        )
        if not is_plain.all():
            good &= is_plain[self._group_ids[places]]
        return good | ~self._has_key if may_be_null else good

    def _has_key_columns(self, messages: Places, rows: Places) -> Flags:
        """Tell which rows have all columns of their keys; what is missing has them too."""
        keys = self._row_places[_KEY][messages]
        if not self._groups:
            return np.ones(len(messages), np.bool_)
        count = len(self._groups)
        pairs = self._group_ids[keys] * count + self._group_ids[rows]
        pairs[(keys < 0) | (rows < 0)] = count * count
        fits = np.zeros(count * count + 1, np.bool_)
        fits[pairs] = True
        for pair in np.flatnonzero(fits[:-1]).tolist():
            of_key, of_row = self._groups[pair // count], self._groups[pair % count]
            fits[pair] = _names_of(of_key) <= _names_of(of_row)
        has_all: Flags = fits[pairs]
        return has_all

    def _has_declared_key(self, source: SourceBatch) -> Flags:
        tables, ids = source.tables()
        is_declared = [name in self._options.keys for name, _ in tables]
        return np.array(is_declared, np.bool_)[ids]

    # ---------------------------------------------------------------- pieces

    def _add_tombstones(self) -> None:
        has_key = self._has_good_key(may_be_null=False)
        places = np.flatnonzero(has_key & ~self._has_value)
        count = len(places)
        columns = {
            "event_kind": pa.repeat("tombstone", count),
            "is_typed": pa.repeat(False, count),
            "is_snapshot": pa.repeat(False, count),
        }
        self.pieces.append(_Piece(places, columns | self._key_columns(places)))

    def _add_changes(self) -> None:
        for envelopes, source in self._sources:
            self._add_piece(envelopes, source)

    def _add_piece(self, envelopes: Places, source: SourceBatch) -> None:
        messages = self._messages[envelopes]
        places = [self._row_places[role][envelopes] for role in (_BEFORE, _AFTER)]
        has_row = [self._images[role][0][envelopes] for role in (_BEFORE, _AFTER)]
        valid = source.valid & self._has_good_key(may_be_null=True)[messages]
        for role in (_BEFORE, _AFTER):
            valid &= (places[role] >= 0) | ~has_row[role]
            valid &= self._has_key_columns(messages, places[role])
        valid &= ~self._has_declared_key(source) | self._has_key[messages]
        is_delete = source.ops == ord("d")
        is_update = source.ops == ord("u")
        valid &= has_row[_AFTER] != is_delete
        valid &= ~has_row[_BEFORE] | is_delete | is_update
        valid &= ~is_delete | has_row[_BEFORE] | self._has_key[messages]
        chosen = np.flatnonzero(valid)
        messages = messages[chosen]
        columns = dict(source.columns)
        if len(chosen) < len(valid):
            taken = pa.array(chosen)
            columns = {name: array.take(taken) for name, array in columns.items()}
        columns |= self._key_columns(messages)
        columns["event_kind"] = pa.repeat("row", len(messages))
        columns["before"] = self._texts(places[_BEFORE][chosen])
        columns["after"] = self._texts(places[_AFTER][chosen])
        columns |= self._type_columns(messages, envelopes[chosen])
        unavailable = self._rows.unavailable
        if unavailable:
            texts = [
                unavailable.get(place) for place in places[_AFTER][chosen].tolist()
            ]
            columns["unavailable_columns"] = pa.array(texts, pa.string())
        self.pieces.append(_Piece(messages, columns))

    def _type_columns(self, messages: Places, envelopes: Places) -> dict[str, pa.Array]:
        """Return the types of the columns: one text for each shape and layout."""
        before, after = (
            self._row_places[role][envelopes] for role in (_BEFORE, _AFTER)
        )
        rows = np.where(after >= 0, after, before)
        shape_ids = self._shape_ids[messages]
        # What was declared may be less than what a row has: its layout counts too.
        group_ids = np.append(self._group_ids, len(self._groups))[rows]
        is_schema = np.array(
            [shapes is None or shapes.of_row.other is None for shapes in self._shapes]
        )
        group_ids[is_schema[shape_ids]] = len(self._groups)
        count = len(self._groups) + 1
        numbers = 2 * (shape_ids * count + group_ids) + (after >= 0)
        found = pa.array(numbers).dictionary_encode()
        texts = []
        for number, is_whole in (divmod(n, 2) for n in found.dictionary.to_pylist()):
            shapes = self._shapes[number // count]
            group = self._groups[number % count : number % count + 1]
            names = [path[0] for each in group for path in each.layout.paths]
            texts.append(
                shapes and column_types(shapes.of_row, names, is_whole=bool(is_whole))
            )
        is_typed = np.array(
            [bool(shapes and shapes.is_typed) for shapes in self._shapes]
        )
        return {
            "column_types": pa.array(texts, pa.string()).take(found.indices),
            "is_typed": pa.array(is_typed[shape_ids]),
        }


def _names_of(group: RowGroup) -> set[str]:
    return {path[0] for path in group.layout.paths}


def _is_null(values: pa.Array) -> Flags:
    flags: npt.NDArray[Any] = values.is_null().to_numpy(zero_copy_only=False)
    return flags.astype(np.bool_)
