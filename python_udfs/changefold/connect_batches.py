"""Values of Kafka Connect as texts, for all rows of a batch at once.

The texts are those of `connect_values`, which converts one value. Here the types that
most columns have are converted in numpy and Arrow, and only where the value is of the
form that the converter writes. The others, and every other type, are converted one by
one, each distinct value of a column once.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from changefold.batch_decoder import matches
from changefold.connect_values import (
    UNAVAILABLE,
    Column,
    RowShape,
    boolean_text,
    date_text,
    decimal_text,
    double_text,
    float_text,
    integer_text,
    iso_text,
    nano_timestamp_text,
    plain_text,
    time_text,
    timestamp_text,
    undeclared,
    untyped_text,
    value_text,
)
from changefold.errors import CdcDecodeError
from changefold.json_documents import (
    Integers,
    JsonBytes,
    JsonDocuments,
    Views,
    Words,
    join_views,
    moved_views,
    views_of,
)
from changefold.json_layouts import Layout
from changefold.message_batch import Flags, Places
from changefold.strict_json import NumberToken, strict_tokens

__all__ = [
    "ARRAY",
    "BAD",
    "BOOLEAN",
    "NULL",
    "NUMBER",
    "TEXT",
    "FoundTokens",
    "RowBatch",
    "RowContext",
    "RowGroup",
    "Tokens",
    "kind_of",
]

# ------------------------------------------------------------------------- tokens

BAD: Final = 0
NULL: Final = 1
TEXT: Final = 2
BOOLEAN: Final = 3
NUMBER: Final = 4
ARRAY: Final = 5

_KINDS: Final = np.zeros(256, np.uint8)
_KINDS[ord("n")] = NULL
_KINDS[ord('"')] = TEXT
_KINDS[[ord("t"), ord("f")]] = BOOLEAN
_KINDS[list(b"-0123456789")] = NUMBER
_KINDS[ord("[")] = ARRAY

_WORDS: Final = {b"null": NULL, b"true": BOOLEAN, b"false": BOOLEAN}
_NUMBER_PATTERN: Final = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"


def kind_of(value: bytes) -> int:
    """Return what a value of JSON is, by its first byte."""
    return int(_KINDS[value[0]])


class Tokens:
    """Values of JSON that were cut out of documents.

    Attributes:
        starts: Where each begins.
        ends: Where it ends, exclusive.
        kinds: What it is: `NULL`, `TEXT`, `BOOLEAN`, `NUMBER`, `ARRAY`, or `BAD` for
            what is no JSON. An array has yet to be parsed, and a text that
            `JsonDocuments.has_long_escape` marks.
        has_escape: Which are texts with a backslash.
        has_long_escape: Which are texts with such an escape.
    """

    def __init__(
        self,
        documents: JsonBytes,
        starts: Places,
        ends: Places,
        kinds: npt.NDArray[np.uint8],
        has_escape: Flags,
    ) -> None:
        """Take values whose kinds are known; none has a long escape."""
        self._documents = documents
        self.starts, self.ends, self.kinds = starts, ends, kinds
        self.has_escape = has_escape
        self.has_long_escape: Flags = np.zeros(len(starts), np.bool_)

    def integers(self, chosen: Places) -> Integers:
        """Return the numbers of some tokens, not valid where they are no integers."""
        return self._documents.integers(self.starts[chosen], self.ends[chosen])

    def digits(self, chosen: Places) -> Words:
        """Return the digits of some tokens, as `JsonBytes.digits` does."""
        return self._documents.digits(self.starts[chosen], self.ends[chosen])

    def cut(self, chosen: Places) -> pa.BinaryArray:
        """Cut tokens out."""
        return self._documents.cut(self.starts[chosen], self.ends[chosen])

    def contents(self, chosen: Places) -> pa.BinaryArray:
        """Cut what is between the quotes of texts."""
        return self._documents.cut(self.starts[chosen] + 1, self.ends[chosen] - 1)


class FoundTokens(Tokens):
    """Values that lie between the members of layouts, and may be no JSON."""

    def __init__(
        self, documents: JsonDocuments, starts: Places, ends: Places, strings: Places
    ) -> None:
        """Tell what the values are.

        Args:
            documents: The documents.
            starts: Where each value begins.
            ends: Where it ends, exclusive.
            strings: Which string of the documents it is, if it is a text.
        """
        kinds = _KINDS.take(documents.data[starts])
        super().__init__(
            documents, starts, ends, kinds, np.zeros(len(starts), np.bool_)
        )
        self._check_texts(documents, strings)
        self._check_words()
        self.numbers: Places = np.flatnonzero(kinds == NUMBER)
        self._number_places = np.zeros(len(starts), np.intp)
        self._number_places[self.numbers] = np.arange(len(self.numbers))
        self._integers = documents.integers(starts[self.numbers], ends[self.numbers])
        self._check_numbers()

    def _check_texts(self, documents: JsonDocuments, strings: Places) -> None:
        texts = np.flatnonzero(self.kinds == TEXT)
        if not len(texts):
            return
        strings = np.minimum(strings[texts], len(documents.opens) - 1)
        # Within a string there is no other: all quotes have been found.
        is_whole = documents.opens[strings] == self.starts[texts]
        is_whole &= documents.closes[strings] == self.ends[texts] - 1
        self.kinds[texts[~is_whole]] = BAD
        self.has_escape[texts] = documents.has_escape[strings]
        self.has_long_escape[texts] = documents.has_long_escape[strings] & is_whole

    def _check_words(self) -> None:
        words = np.flatnonzero((self.kinds == NULL) | (self.kinds == BOOLEAN))
        starts, ends = self.starts[words], self.ends[words]
        found = self._documents.pieces(starts, 8)[:, 0]
        is_word = np.zeros(len(words), np.bool_)
        for word in _WORDS:
            expected = np.uint64(int.from_bytes(word, "little"))
            mask = np.uint64((1 << 8 * len(word)) - 1)
            is_word |= (found & mask == expected) & (ends - starts == len(word))
        self.kinds[words[~is_word]] = BAD

    def _check_numbers(self) -> None:
        others = self.numbers[~self._integers.is_whole]
        if len(others):
            texts = self._documents.cut(self.starts[others], self.ends[others])
            self.kinds[others[~matches(texts, _NUMBER_PATTERN)]] = BAD

    def integers(self, chosen: Places) -> Integers:
        """Return the numbers of some tokens, not valid where they are no integers."""
        places = self._number_places[chosen]
        if not len(self.numbers):
            count = len(chosen)
            nowhere = np.zeros(count, np.bool_)
            return Integers(nowhere, nowhere, np.zeros(count, np.int64))
        is_whole, valid, numbers = self._integers
        is_number = self.numbers[places] == chosen
        return Integers(
            is_whole[places] & is_number,
            valid[places] & is_number,
            numbers[places],
        )


# --------------------------------------------------------------------------- rows

_encode: Final = msgspec.json.Encoder().encode


class RowContext(NamedTuple):
    """How the values of some rows are read.

    Attributes:
        shape: The columns.
        is_strict: Whether a row must have these columns, in their order, and no others.
        nulls: As in `RowShape.texts`.
        placeholder: Of the columns that the shape does not have.
    """

    shape: RowShape
    is_strict: bool
    nulls: bool = False
    placeholder: str = UNAVAILABLE


class _Plan(NamedTuple):
    """How rows of one layout are read.

    Attributes:
        names: The columns, in order.
        columns: How each is converted.
        may_be_null: Which may be null.
        literals: JSON text between the values, see `_literals`.
        views: Views of these.
        markers: Texts that stand for unavailable values, as they come between quotes.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    may_be_null: Flags
    literals: npt.NDArray[np.uint8]
    views: Views
    markers: frozenset[bytes]


def _plan(layout: Layout, context: RowContext) -> _Plan | None:
    """Return how rows are read; ``None`` if they have to be read one by one."""
    names = [path[0] for path in layout.paths]
    if any(len(path) > 1 for path in layout.paths):
        return None
    columns = context.shape.columns
    may_be_null = np.ones(len(names), np.bool_)
    if context.is_strict:
        absent = columns.keys() - set(names)
        # The texts have the order of the schema.
        if names != [name for name in columns if name not in absent]:
            return None
        if not all(columns[name].may_be_null for name in absent):
            return None
        may_be_null[:] = [context.nulls or columns[name].may_be_null for name in names]
    other = undeclared(context.placeholder).other
    found = [columns.get(name, other) for name in names]
    literals = _literals(names)
    lengths = np.array([len(literal) for literal in literals])
    data = _padded(np.frombuffer(b"".join(literals), np.uint8))
    return _Plan(
        tuple(names),
        tuple(column for column in found if column is not None),
        may_be_null,
        data,
        views_of(data, _PADDING + np.cumsum(lengths) - lengths, lengths, 0),
        frozenset(
            _encode(marker)[1:-1]
            for column in found
            if column is not None
            for marker in column.markers
            if type(marker) is str
        ),
    )


_PADDING: Final = 16
"""So many bytes before and behind the texts satisfy `views_of`."""


def _padded(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    padding = np.zeros(_PADDING, np.uint8)
    return np.concatenate([padding, data, padding])


# How a value is written: without quotes, with them, or not at all.
_BARE: Final = 0
_QUOTED: Final = 1
_ABSENT: Final = 2


def _literals(names: list[str]) -> list[bytes]:
    """Return what may stand before each value, and behind the last one.

    Returns:
        By the column, how the value before is written, and how the value is.
    """
    literals = []
    for index, name in enumerate(names):
        label = (b"," if index else b"{") + _encode(name) + b":"
        for quote in (b"", b'"', b""):
            before = quote if index else b""
            literals += [before + label, before + label + b'"', before]
    return literals + [quote + b"}" for quote in (b"", b'"', b"") for _ in range(3)]


class RowGroup(NamedTuple):
    """Rows of one layout and context, cut into values.

    Attributes:
        layout: The layout.
        context: The context.
        starts: Where the values begin, matrix of the shape (columns, rows).
        ends: Where they end, exclusive.
        strings: Which string of the documents each is, if it is a text.
    """

    layout: Layout
    context: RowContext
    starts: Places
    ends: Places
    strings: Places


class _Slot(NamedTuple):
    """The values of one column of one group: places in `Tokens`."""

    column: Column
    first: int
    last: int


class _Space(NamedTuple):
    """Where the rows of a group are laid out.

    Attributes:
        values: Their values, a slice of the tokens.
        row: The first row.
        views: Gets the views of their pieces: of each row a literal, a value, and so on
            to the last literal.
    """

    values: slice
    row: int
    views: Views


class RowBatch:
    """The texts of all rows of a batch.

    The rows are those of the groups, one group after the other.

    Attributes:
        valid: Which rows are what their context says. The others must be read one by
            one.
        texts: The JSON texts of the rows, as `debezium` writes them.
        unavailable: JSON text of the columns that are unavailable, of the rows that
            have some, by their place.
    """

    def __init__(self, documents: JsonDocuments, groups: list[RowGroup]) -> None:
        """Convert the rows."""
        self._documents = documents
        plans = [_cached_plan(group.layout, group.context) for group in groups]
        self._groups = [
            (group, plan)
            for group, plan in zip(groups, plans, strict=True)
            if plan is not None
        ]
        self._tokens = FoundTokens(
            documents,
            *(
                np.concatenate(
                    [np.empty(0, np.int64)]
                    + [getattr(group, name).ravel() for group, _ in self._groups]
                )
                for name in ("starts", "ends", "strings")
            ),
        )
        tokens = self._tokens
        # A text without its quotes.
        is_text = tokens.kinds == TEXT
        self._starts = tokens.starts + is_text
        self._lengths = tokens.ends - self._starts - is_text
        self._states = (tokens.kinds != NULL).view(np.int8)
        self._bad = tokens.kinds == BAD
        self._buffers: list[npt.NDArray[np.uint8]] = [documents.data]
        self._views = views_of(documents.data, self._starts, self._lengths, 0)
        self._convert()
        self._join(groups, plans)

    # ------------------------------------------------------------------ values

    def _convert(self) -> None:
        """Convert the values of all columns, those with one type together."""
        self._spell()
        by_type: dict[Any, list[_Slot]] = {}
        for slot in self._slots():
            by_type.setdefault(_type_of(slot.column.convert), []).append(slot)
        for type_, slots in by_type.items():
            chosen = np.concatenate(
                [np.arange(slot.first, slot.last) for slot in slots]
            )
            kinds = self._tokens.kinds[chosen]
            is_left = (
                (kinds != NULL) & (self._states[chosen] != _ABSENT) & ~self._bad[chosen]
            )
            left = _CONVERSIONS.get(type_[0], _nothing)(
                self, chosen[is_left], *type_[1:]
            )
            if len(left):
                self._convert_one_by_one(slots, np.sort(left))

    def _slots(self) -> list[_Slot]:
        slots = []
        first = 0
        for group, plan in self._groups:
            count = group.starts.shape[1]
            for column in plan.columns:
                slots.append(_Slot(column, first, first + count))
                first += count
        return slots

    def _spell(self) -> None:
        """Find placeholders, and write texts with long escapes as we write them."""
        tokens = self._tokens
        suspects = tokens.has_long_escape & (tokens.kinds == TEXT)
        plans = {id(plan): plan.markers for _, plan in self._groups}
        markers: frozenset[bytes] = frozenset()
        looks = _looks(markers.union(*plans.values()))
        is_long = looks.is_length.take(self._lengths, mode="clip")
        is_long &= tokens.kinds == TEXT
        longs = np.flatnonzero(is_long)
        head = self._documents.pieces(self._starts[longs], 8)[:, 0]
        is_alike = np.isin(head, looks.heads)
        is_alike |= self._lengths[longs] < _HEAD
        suspects[longs[is_alike]] = True
        places = np.flatnonzero(suspects)
        if not len(places):
            return
        slots = self._slots()
        owners = np.searchsorted([slot.first for slot in slots], places, "right") - 1
        spelled: list[bytes] = []
        chosen: list[int] = []
        for place, owner, token in zip(
            places.tolist(),
            owners.tolist(),
            tokens.cut(places).to_pylist(),
            strict=True,
        ):
            column = slots[owner].column
            try:
                text, spelling = _spelled(token)
            except CdcDecodeError:
                self._bad[place] = True
                continue
            if text in column.markers:
                self._states[place] = _ABSENT
            elif tokens.has_long_escape[place]:
                if column.convert not in _AS_THEY_CAME:
                    self._bad[place] = True
                chosen.append(place)
                spelled.append(spelling)
        self._replace(np.array(chosen, np.int64), pa.array(spelled, pa.binary()))

    def _replace(self, chosen: Places, texts: pa.Array) -> None:
        """Let other texts stand for values; the texts are those within quotes."""
        if not len(chosen):
            return
        if texts.type != pa.binary():
            texts = texts.cast(pa.binary())
        _, offsets, data = texts.buffers()
        bounds = np.frombuffer(offsets, np.int32)[texts.offset :][: len(texts) + 1]
        used = np.frombuffer(b"" if data is None else data, np.uint8)[: bounds[-1]]
        padded = _padded(used)
        self._views[chosen] = views_of(
            padded,
            bounds[:-1].astype(np.int64) + _PADDING,
            np.diff(bounds).astype(np.int64),
            len(self._buffers),
        )
        self._buffers.append(padded)

    def _convert_one_by_one(self, slots: list[_Slot], left: Places) -> None:
        """Convert distinct values; mark those that are not of their type."""
        for slot in slots:
            bounds = np.searchsorted(left, [slot.first, slot.last])
            chosen = left[bounds[0] : bounds[1]]
            if not len(chosen):
                continue
            distinct = self._tokens.cut(chosen).dictionary_encode()
            ids = distinct.indices.to_numpy()
            texts = [
                _converted(token, slot.column)
                for token in distinct.dictionary.to_pylist()
            ]
            states = np.array([_STATES[type(text)] for text in texts])[ids]
            self._bad[chosen] |= states == _BARE
            self._states[chosen[states == _ABSENT]] = _ABSENT
            is_text = states == _QUOTED
            pieces = pa.array(
                [text if isinstance(text, bytes) else b"" for text in texts],
                pa.binary(),
            ).take(pa.array(ids[is_text]))
            self._replace(chosen[is_text], pieces)

    def _integers(self, chosen: Places, bits: int) -> Places:
        _, valid, numbers = self._tokens.integers(chosen)
        if bits < 64:
            limit = 1 << (bits - 1)
            valid &= (numbers >= -limit) & (numbers < limit)
        left: Places = chosen[~valid]
        return left

    def _doubles(self, chosen: Places) -> Places:
        return self._fractions(chosen, 15)

    def _floats(self, chosen: Places) -> Places:
        return self._fractions(chosen, 6)

    def _fractions(self, chosen: Places, digits: int) -> Places:
        """Keep numbers that are their own shortest text.

        Of so many digits no two are the same number in floating point, so there is no
        shorter one, unless it ends with a zero.
        """
        lengths = self._lengths[chosen]
        is_short = (self._tokens.kinds[chosen] == NUMBER) & (lengths <= digits + 1)
        candidates = chosen[is_short]
        valid = matches(self._tokens.cut(candidates), _FRACTION_PATTERN)
        return np.concatenate([chosen[~is_short], candidates[~valid]])

    def _texts(self, chosen: Places) -> Places:
        left: Places = chosen[self._tokens.kinds[chosen] != TEXT]
        return left

    def _booleans(self, chosen: Places) -> Places:
        left: Places = chosen[self._tokens.kinds[chosen] != BOOLEAN]
        return left

    def _untyped(self, chosen: Places) -> Places:
        left: Places = chosen[self._tokens.kinds[chosen] == ARRAY]
        return left

    def _dates(self, chosen: Places) -> Places:
        return self._moments(chosen, 1, _DAYS, pa.date32())

    def _times(self, chosen: Places, unit: int, digits: int, _: int) -> Places:
        factor = 1 if digits == 9 else unit // 1000
        type_ = pa.time64("ns" if digits == 9 else "us")
        day = 86_400_000_000_000 if digits == 9 else 86_400_000_000
        return self._moments(chosen, factor, (0, day - 1), type_)

    def _timestamps(self, chosen: Places, unit: int, digits: int) -> Places:
        if digits == 9:
            return self._moments(chosen, 1, _NANOS, pa.timestamp("ns"))
        return self._moments(chosen, unit // 1000, _MICROS, pa.timestamp("us"))

    def _nano_timestamps(self, chosen: Places, step: int, *_: bool) -> Places:
        """Convert moments that did not wrap around."""
        _whole, valid, numbers = self._tokens.integers(chosen)
        valid &= numbers % step == 0
        left = self._timestamps(chosen[valid], 1, 9)
        return np.concatenate([chosen[~valid], left])

    def _moments(
        self, chosen: Places, factor: int, limits: tuple[int, int], type_: pa.DataType
    ) -> Places:
        """Convert numbers of units; Arrow's text of the type is ours."""
        _, valid, numbers = self._tokens.integers(chosen)
        valid &= numbers >= -(-limits[0] // factor)
        valid &= numbers <= limits[1] // factor
        counts = numbers[valid] * factor
        if type_ == pa.date32():
            counts = counts.astype(np.int32)
        self._replace(chosen[valid], pa.array(counts).cast(type_).cast(pa.string()))
        left: Places = chosen[~valid]
        return left

    def _decimals(self, chosen: Places, scale: int) -> Places:
        """Convert base64 of up to 8 bytes; Arrow has no exponent up to 6 decimals."""
        if not 0 <= scale <= 6:
            return chosen
        lengths = self._lengths[chosen]
        valid = (self._tokens.kinds[chosen] == TEXT) & np.isin(lengths, (4, 8, 12))
        numbers, is_read = _base64_numbers(
            self._documents, self._starts[chosen], lengths
        )
        valid &= is_read
        wide = np.empty((int(valid.sum()), 2), np.int64)
        wide[:, 0] = numbers[valid]
        wide[:, 1] = wide[:, 0] >> 63
        decimals = pa.Array.from_buffers(
            pa.decimal128(38, scale), len(wide), [None, pa.py_buffer(wide)]
        )
        self._replace(chosen[valid], decimals.cast(pa.string()))
        left: Places = chosen[~valid]
        return left

    def _zoned_timestamps(self, chosen: Places, kind: str) -> Places:
        """Convert moments in UTC with up to 6 decimals."""
        if kind != "zoned timestamp":
            return chosen
        lengths = self._lengths[chosen]
        is_short = (self._tokens.kinds[chosen] == TEXT) & (lengths <= 27)
        candidates = chosen[is_short]
        texts = self._tokens.contents(candidates)
        valid = matches(texts, _UTC_PATTERN)
        try:
            moments = (
                texts.filter(pa.array(valid))
                .cast(pa.string())
                .cast(pa.timestamp("us", "UTC"))
            )
        except pa.ArrowInvalid:
            # No such day, or 24 o'clock.
            return chosen
        written = moments.cast(pa.timestamp("us")).cast(pa.string())
        self._replace(candidates[valid], pc.binary_join_element_wise(written, "Z", ""))
        return np.concatenate([chosen[~is_short], candidates[~valid]])

    # ------------------------------------------------------------------- texts

    def _join(self, groups: list[RowGroup], plans: list[_Plan | None]) -> None:
        """Join literals and values to rows."""
        sizes = [
            0 if plan is None else group.starts.size * 2 + group.starts.shape[1]
            for group, plan in zip(groups, plans, strict=True)
        ]
        views = np.empty(sum(sizes), "V16")
        bounds = [np.zeros(1, np.int64)]
        valid: list[Flags] = [np.zeros(0, np.bool_)]
        self.unavailable: dict[int, str] = {}
        first, piece, row = 0, 0, 0
        for group, plan, size in zip(groups, plans, sizes, strict=True):
            count = group.starts.shape[1]
            if plan is None:
                valid.append(np.zeros(count, np.bool_))
                bounds.append(np.full(count, piece))
            else:
                chosen = slice(first, first + group.starts.size)
                first += group.starts.size
                space = _Space(chosen, row, views[piece : piece + size])
                valid.append(self._lay_out(group, plan, space))
                bounds.append(piece + np.arange(1, count + 1) * (size // count))
            piece += size
            row += count
        self.valid: Flags = np.concatenate(valid)
        places, joined = join_views(views, self._buffers)
        row_bounds = places[np.concatenate(bounds)]
        self.texts = pa.StringArray.from_buffers(row, pa.py_buffer(row_bounds), joined)

    def _lay_out(self, group: RowGroup, plan: _Plan, space: _Space) -> Flags:
        """Say which pieces the rows of a group are made of; return which are valid."""
        chosen, row, views = space
        shape = group.starts.shape
        states = self._states[chosen].reshape(shape)
        is_valid: Flags = ~self._bad[chosen].reshape(shape).any(axis=0)
        if not plan.may_be_null.all():
            kinds = self._tokens.kinds[chosen].reshape(shape)
            is_valid &= ~(kinds[~plan.may_be_null] == NULL).any(axis=0)
        value_views = self._views[chosen].reshape(shape)
        is_absent = states == _ABSENT
        absent = np.flatnonzero(is_absent.any(axis=0))
        if len(absent):
            # The first one has the brace.
            is_valid &= ~is_absent[0]
            value_views[is_absent] = np.zeros(1, "V16")
            for place in absent.tolist():
                names = [plan.names[at] for at in np.flatnonzero(is_absent[:, place])]
                self.unavailable[row + place] = _encode(names).decode()
        views = views.reshape(shape[1], 2 * shape[0] + 1)
        views[:, 1::2] = value_views.T
        ids = np.empty((shape[0] + 1, shape[1]), np.intp)
        ids[:] = 9 * np.arange(shape[0] + 1)[:, None]
        ids[:-1] += states
        ids[1:] += 3 * states
        views[:, 0::2] = moved_views(plan.views, len(self._buffers))[ids].T
        self._buffers.append(plan.literals)
        return is_valid


_plans: Final[dict[int, tuple[Layout, RowContext, _Plan | None]]] = {}
_MAX_PLANS: Final = 10_000


def _cached_plan(layout: Layout, context: RowContext) -> _Plan | None:
    key = hash((id(layout), id(context.shape), *context[1:]))
    known = _plans.get(key)
    if (
        known is not None
        and known[0] is layout
        and known[1].shape is context.shape
        and known[1][1:] == context[1:]
    ):
        return known[2]
    plan = _plan(layout, context)
    if len(_plans) >= _MAX_PLANS:
        _plans.clear()
    _plans[key] = layout, context, plan
    return plan


# ------------------------------------------------------------------- conversions


def _type_of(convert: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the function that a conversion calls, and the arguments before a value."""
    if isinstance(convert, partial):
        return convert.func, *convert.args
    return (convert,)


_CONVERSIONS: Final[dict[Any, Callable[..., Places]]] = {
    untyped_text: RowBatch._untyped,
    integer_text: RowBatch._integers,
    plain_text: RowBatch._texts,
    boolean_text: RowBatch._booleans,
    double_text: RowBatch._doubles,
    float_text: RowBatch._floats,
    date_text: RowBatch._dates,
    time_text: RowBatch._times,
    timestamp_text: RowBatch._timestamps,
    nano_timestamp_text: RowBatch._nano_timestamps,
    decimal_text: RowBatch._decimals,
    iso_text: RowBatch._zoned_timestamps,
}
"""By the function, how its values are converted in a batch; returns those left over."""


_AS_THEY_CAME: Final = (plain_text, untyped_text)


def _nothing(_: RowBatch, chosen: Places, *__: object) -> Places:
    return chosen


_DAYS: Final = (-719_162, 2_932_896)
_MICROS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_NANOS: Final = (-9_200_000_000_000_000_000, 9_200_000_000_000_000_000)
_FRACTION_PATTERN: Final = (
    r"^-?(?:0\.0|[1-9][0-9]*\.(?:0|[0-9]*[1-9])|0\.0{0,2}[1-9](?:[0-9]*[1-9])?)$"
)
_UTC_PATTERN: Final = (
    r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z$"
)

_HEAD: Final = 8


class _Looks(NamedTuple):
    """How placeholders look.

    Attributes:
        is_length: By the number of octets, whether one has so many.
        heads: Their first 8 octets as words.
    """

    is_length: Flags
    heads: npt.NDArray[np.uint64]


@lru_cache(maxsize=64)
def _looks(markers: frozenset[bytes]) -> _Looks:
    is_length = np.zeros(max(map(len, markers), default=0) + 2, np.bool_)
    is_length[[len(marker) for marker in markers]] = True
    words = [int.from_bytes(marker[:_HEAD], "little") for marker in markers]
    return _Looks(is_length, np.array(words, np.uint64))


def _spelled(token: bytes) -> tuple[str, bytes]:
    """Return a text, and how we write it between quotes."""
    if len(token) > _MAX_CACHED:
        return _cached_spelled.__wrapped__(token)
    return _cached_spelled(token)


@lru_cache(maxsize=4096)
def _cached_spelled(token: bytes) -> tuple[str, bytes]:
    text = strict_tokens(token)
    return text, _encode(text)[1:-1]


_MAX_CACHED: Final = 256


_STATES: Final[dict[type, int]] = {type(None): _ABSENT, bytes: _QUOTED, bool: _BARE}


def _converted(token: bytes, column: Column) -> bytes | bool | None:
    """Return the text of a value between quotes; false if it is not of its type."""
    try:
        text = value_text(_parsed(token), column)
    except CdcDecodeError:
        return False
    return None if text is None else _encode(text)[1:-1]


def _parsed(token: bytes) -> object:
    """Parse a value; most have no need of a parser, since `Tokens` has checked them."""
    if token[0] in b"-0123456789":
        return NumberToken(token.decode())
    if token[0] == ord('"') and b"\\" not in token:
        return token[1:-1].decode()
    return strict_tokens(token)


_SEXTETS: Final = np.full(256, 0xFF, np.uint8)
_SEXTETS[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")] = (
    np.arange(64)
)


def _base64_numbers(
    documents: JsonDocuments, starts: Places, lengths: Places
) -> tuple[npt.NDArray[np.int64], Flags]:
    """Read numbers of 1 to 8 bytes, the highest first, in base64.

    Returns:
        The numbers, and where there is one: of 4, 8 or 12 characters, whose padding
        has no bits.
    """
    valid = np.zeros(len(starts), np.bool_)
    numbers = np.zeros(len(starts), np.int64)
    for length in (4, 8, 12):
        mine = np.flatnonzero(lengths == length)
        ends = starts[mine] + length
        characters = documents.pieces(starts[mine], 16).view(np.uint8)
        characters = np.ascontiguousarray(characters[:, :length].T)
        data = documents.data
        padding = (data[ends - 1] == ord("=")).astype(np.int64)
        padding += (padding == 1) & (data[ends - 2] == ord("="))
        sextets = _SEXTETS[characters]
        for index in (1, 2):
            sextets[-index, padding >= index] = 0
        is_read = (sextets < 64).all(axis=0)
        octets = length // 4 * 3 - padding
        # 8 bytes: the first two characters of 12 go beyond 64 bits without it.
        is_read &= octets <= 8
        bits = np.zeros(len(mine), np.uint64)
        for row in sextets[:-4]:
            bits = bits << np.uint64(6) | row
        # The last four characters have the padding.
        tail = np.zeros(len(mine), np.uint64)
        for row in sextets[-4:]:
            tail = tail << np.uint64(6) | row
        spare = (8 * padding).astype(np.uint64)
        is_read &= tail & ((np.uint64(1) << spare) - np.uint64(1)) == 0
        kept = (24 - 8 * padding).astype(np.uint64)
        bits = bits << kept | tail >> spare
        shift = (64 - 8 * np.clip(octets, 1, 8)).astype(np.uint64)
        signed = (bits << shift).view(np.int64) >> shift.astype(np.int64)
        valid[mine] = is_read
        numbers[mine] = signed
    return numbers, valid
