"""Find the members of JSON objects in the documents of a batch, all of them at once.

In a JSON text a quote that is not escaped begins or ends a string, and a string that a
colon follows is the name of a member. So numpy finds all members of all documents
without parsing: one pass over the bytes, and then arithmetic on places.

What is found says nothing about whether a document is JSON. `json_layouts` compares it
with a document that was parsed.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from changefold.message_batch import Flags, MessageBatch, Places
from changefold.strict_json import MAX_INT64

__all__ = [
    "MAX_WINDOW",
    "Integers",
    "JsonBytes",
    "JsonDocuments",
    "Views",
    "escapes_in",
    "join_views",
    "moved_views",
    "views_of",
]

MAX_WINDOW: Final = 256
"""So many bytes before and behind the documents may be looked at."""

_QUOTE: Final = 0x22
_BACKSLASH: Final = 0x5C
_COLON: Final = 0x3A
_ZEROS: Final = np.uint64(0x3030303030303030)

Words = npt.NDArray[np.uint64]
"""Eight bytes each; the first byte is the lowest."""


def _set_of(characters: bytes) -> Flags:
    flags = np.zeros(256, np.bool_)
    flags[list(characters)] = True
    return flags


# JSON has the solidus and `u` as well; our own texts never write these.
_SHORT_ESCAPES: Final = _set_of(b'"\\bfnrt')

_LAST_BYTES: Final = np.array(
    [0] + [(1 << 64) - (1 << 8 * (8 - count)) for count in range(1, 9)], np.uint64
)
"""By a number up to 8, the mask of so many of the last bytes of a word."""

_FIRST_BYTES: Final = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)
"""The same for the first bytes."""


class Integers(NamedTuple):
    """Numbers that were read from digits; an array each.

    Attributes:
        is_whole: Where there is a whole number as JSON has it, of 1 to 24 digits.
        valid: Where it is from -(2^63 - 1) to 2^63 - 1 and is not ``-0``.
        numbers: The number; elsewhere any.
    """

    is_whole: Flags
    valid: Flags
    numbers: npt.NDArray[np.int64]


class JsonBytes(MessageBatch):
    """The documents of a batch, whose bytes are read by words.

    Attributes:
        data: The bytes of all documents; `MAX_WINDOW` others lie before and behind.
        escapes: Which backslashes begin an escape, in order.
    """

    def __init__(
        self, pieces: list[pa.BinaryArray], escapes: Places | None = None
    ) -> None:
        """Put the documents together.

        Args:
            pieces: The documents, in one or more arrays of type binary.
            escapes: Places of backslashes, from the first document on; none by default.
        """
        margin = pa.array([b" " * MAX_WINDOW], pa.binary())
        super().__init__(pa.concat_arrays([margin, *pieces, margin]))
        self.data = self._bytes[: self.ends[-1]]
        self.starts, self.ends = self.starts[1:-1], self.ends[1:-1]
        self._values = self._values[1:-1]
        self.escapes: Places = np.empty(0, np.int64)
        if escapes is not None:
            self.escapes = escapes + MAX_WINDOW

    def window(self, places: Places, length: int) -> npt.NDArray[np.uint8]:
        """Return the bytes from each place on, as `pieces` does."""
        pieces: npt.NDArray[Any] = np.ndarray(
            (len(self.data) - length + 1,), f"V{length}", self.data, strides=(1,)
        )
        return pieces[places].view(np.uint8).reshape(len(places), length)

    def pieces(self, places: Places, length: int) -> npt.NDArray[Any]:
        r"""Return the bytes from each place on, as words.

        Args:
            places: Of any shape, each within the documents or so near to them that
                `MAX_WINDOW` allows it.
            length: How many bytes: a multiple of 8.

        Returns:
            Words, in an array of the shape (\*places, length / 8).
        """
        pieces: npt.NDArray[Any] = np.ndarray(
            (len(self.data) - length + 1,), f"V{length}", self.data, strides=(1,)
        )
        taken = pieces[places]
        return taken.view(np.uint64).reshape(*places.shape, length // 8)

    def short_words(self, starts: Places, ends: Places) -> Words:
        """Return pieces of up to 8 bytes as words."""
        lengths = ends - starts
        words: Words = self.pieces(starts, 8)[..., 0]
        words &= _FIRST_BYTES.take(lengths)
        return words

    def integers(self, starts: Places, ends: Places) -> Integers:
        """Read whole numbers; the arguments are where each begins and ends."""
        is_negative = self.data[starts] == ord("-")
        first = starts + is_negative
        lengths = ends - first
        is_zero = self.data[first] == ord("0")
        is_whole = (lengths > 0) & (lengths <= 24) & (~is_zero | (lengths == 1))
        word = self._eight_digits(lengths, ends)
        is_whole &= _are_digits(word)
        numbers = _number(word)
        for skipped in (8, 16):
            # Few have more digits.
            mine = np.flatnonzero(lengths > skipped)
            if not len(mine):
                break
            word = self._eight_digits(lengths[mine] - skipped, ends[mine] - skipped)
            is_whole[mine] &= _are_digits(word)
            numbers[mine] += _number(word) * np.uint64(10**skipped)
        valid = is_whole & (lengths <= 19) & (numbers <= np.uint64(MAX_INT64))
        valid &= ~(is_zero & is_negative)
        signed = numbers.view(np.int64)
        np.negative(signed, out=signed, where=is_negative)
        return Integers(is_whole, valid, signed)

    def digits(self, starts: Places, ends: Places) -> Words:
        """Return the digits of whole numbers.

        Returns:
            Those without the sign, filled with zeros from the left to 24: a matrix of
            the shape (numbers, 3).
        """
        lengths = ends - starts - (self.data[starts] == ord("-"))
        words = np.empty((len(starts), 3), np.uint64)
        for place, skipped in enumerate((16, 8, 0)):
            words[:, place] = self._eight_digits(lengths - skipped, ends - skipped)
        return words

    def _eight_digits(self, lengths: Places, ends: Places) -> Words:
        """Return the last eight bytes, with zeros for those that are too many."""
        mask = _LAST_BYTES.take(lengths, mode="clip")
        word: Words = self.pieces(ends - 8, 8)[..., 0]
        word &= mask
        word |= _ZEROS & ~mask
        return word


class JsonDocuments(JsonBytes):
    r"""The documents of a batch, and the members in them.

    Attributes:
        is_plain: Which documents are UTF-8 without control characters.
        opens: Where each string begins: its quote. The strings of a document that has
            a quote too many are left out.
        closes: Where it ends: its quote.
        has_escape: Which strings have a backslash.
        has_long_escape: Which have one that is not of those our own texts have, such
            as ``\u0041``, or none of JSON at all.
        names: Which strings are names of members.
        colons: Where the colon behind each name lies.
        name_opens: Where the name begins: its quote.
        name_lengths: How many bytes the name has, with its quotes and colon.
        first_name: By the document, its first name; one more for the end.
    """

    def __init__(self, pieces: list[pa.BinaryArray]) -> None:
        """Find the members.

        Args:
            pieces: The documents, in one or more arrays of type binary.
        """
        super().__init__(pieces)
        self.is_plain = self.plain()
        found = self.data == _BACKSLASH
        escapes = escapes_in(found)
        # In the same memory: the kernel takes long to give more.
        is_quote = np.equal(self.data, _QUOTE, out=found)
        is_quote[escapes + 1] = False
        places = np.flatnonzero(is_quote)
        bounds = np.searchsorted(places, np.append(self.starts, len(self.data)))
        counts = np.diff(bounds)
        is_odd = counts % 2 == 1
        if is_odd.any():
            places = places[np.repeat(~is_odd, counts)]
            bounds = np.append(0, np.cumsum(np.where(is_odd, 0, counts)))
        self.opens: Places = places[0::2]
        self.closes: Places = places[1::2]
        self._mark_escapes(escapes)
        self.names: Places = np.flatnonzero(self.data[1:][self.closes] == _COLON)
        self.colons: Places = self.closes[self.names] + 1
        self.name_opens: Places = self.opens[self.names]
        self.name_lengths: Places = self.colons - self.name_opens
        self.name_lengths += 1
        self.first_name: Places = np.searchsorted(self.names, bounds // 2)

    def _mark_escapes(self, escapes: Places) -> None:
        self.escapes = escapes
        self.has_escape: Flags = np.zeros(len(self.opens), np.bool_)
        self.has_long_escape: Flags = np.zeros(len(self.opens), np.bool_)
        if not len(self.opens):
            return
        strings = np.maximum(np.searchsorted(self.opens, escapes) - 1, 0)
        self.has_escape[strings] = True
        is_long = ~_SHORT_ESCAPES[self.data[escapes + 1]]
        self.has_long_escape[strings[is_long]] = True

    def name_words(self, names: Places) -> Words:
        """Return the last bytes of names with their quotes and colons, at most 8."""
        words: Words = self.pieces(self.colons[names] - 7, 8)[..., 0]
        words &= _LAST_BYTES.take(self.name_lengths[names], mode="clip")
        return words


def escapes_in(is_slash: Flags) -> Places:
    """Return which backslashes begin an escape; ``is_slash`` tells where there is one."""
    if not is_slash.any():
        return np.empty(0, np.int64)
    slashes = np.flatnonzero(is_slash)
    begins = np.append(True, np.diff(slashes) > 1)[: len(slashes)]
    run_starts = np.flatnonzero(begins)
    ids = np.cumsum(begins) - 1
    within = np.arange(len(slashes)) - run_starts[ids]
    # In a run of them every second one is escaped itself.
    found: Places = slashes[within % 2 == 0]
    return found


def _are_digits(words: Words) -> Flags:
    high = np.uint64(0xF0F0F0F0F0F0F0F0)
    # A digit is 0x30 to 0x39: neither it nor 6 more has other high bits.
    found: Flags = ((words & high) == _ZEROS) & (
        ((words + np.uint64(0x0606060606060606)) & high) == _ZEROS
    )
    return found


def _number(words: Words) -> Words:
    """Return the number of eight digits, by pairs, fours and all."""
    pairs = (words & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561) >> np.uint64(8)
    fours = (pairs & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601) >> np.uint64(
        16
    )
    number: Words = (fours & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(
        42949672960001
    ) >> np.uint64(32)
    return number


_INLINE: Final = 12
"""Arrow keeps so many bytes of a text within its view."""

Views = npt.NDArray[Any]
"""Arrow's views of texts, of 16 bytes each: the length, and the text; of a longer one
four bytes of it (to compare, and any here), the number of its buffer, and its place."""


def views_of(
    data: npt.NDArray[np.uint8], starts: Places, lengths: Places, buffer: int
) -> Views:
    """Return views of pieces of some bytes.

    Args:
        data: The bytes; 4 or more lie before the first place, 12 behind the last.
        starts: Where each piece begins.
        lengths: How many bytes it has.
        buffer: Number of the bytes among those that `join_views` gets.
    """
    pieces: Views = np.ndarray((len(data) - 15,), "V16", data, strides=(1,))
    views = pieces[starts - 4]
    fields = views.view(np.int32).reshape(-1, 4)
    fields[:, 0] = lengths
    far = np.flatnonzero(lengths > _INLINE)
    fields[far, 2] = buffer
    fields[far, 3] = starts[far]
    return views


def moved_views(views: Views, buffer: int) -> Views:
    """Return the same views of another buffer."""
    moved = views.copy()
    fields = moved.view(np.int32).reshape(-1, 4)
    fields[fields[:, 0] > _INLINE, 2] = buffer
    return moved


def join_views(
    views: Views, buffers: list[npt.NDArray[np.uint8]]
) -> tuple[npt.NDArray[np.int32], pa.Buffer]:
    """Join pieces, one after the other.

    Args:
        views: Views of them.
        buffers: The bytes that these name by number.

    Returns:
        Where each piece begins, and the end; and the bytes.
    """
    joined = pa.Array.from_buffers(
        pa.binary_view(),
        len(views),
        [None, pa.py_buffer(views), *map(pa.py_buffer, buffers)],
    ).cast(pa.binary())
    _, bounds, data = joined.buffers()
    places = np.frombuffer(bounds, np.int32)[: len(views) + 1]
    return places, pa.py_buffer(b"") if data is None else data
