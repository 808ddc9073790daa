"""Compare and cut the messages of a batch, all of them at once.

Messages of one topic differ in a few places only. So instead of parsing each, a
decoder says what it expects at which place, and numpy and Arrow compare that for all
messages of a batch together: no Python object is made for a message or a field.

Places are offsets into the bytes of the whole batch. A method that compares returns
one bool per place, and false wherever the message ends too early.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "LATIN1_TEXT",
    "TEXT",
    "Flags",
    "MessageBatch",
    "Places",
    "form_length",
    "part_pattern",
    "row_pattern",
]

Places = npt.NDArray[np.int64]
"""Offsets into the bytes of the batch, or places of messages in it."""

Flags = npt.NDArray[np.bool_]
"""One bool per place."""

_POWERS_OF_TEN: Final = 10 ** np.arange(17, -1, -1, dtype=np.int64)


class MessageBatch:
    """The messages of a batch, one after the other.

    Attributes:
        starts: Where each message begins.
        ends: Where it ends, exclusive. A null message is empty.
    """

    def __init__(self, values: pa.Array) -> None:
        """Look at the messages, without copying them.

        Args:
            values: An array of type binary.
        """
        _, offsets, data = values.buffers()
        count = len(values)
        bounds = np.zeros(count + 1, np.int32)
        if count:
            bounds = np.frombuffer(offsets, np.int32)[values.offset :][: count + 1]
        self.starts: Places = bounds[:-1].astype(np.int64)
        self.ends: Places = bounds[1:].astype(np.int64)
        if values.null_count:
            self.ends[values.is_null().to_numpy(zero_copy_only=False)] = 0
            self.starts = np.minimum(self.starts, self.ends)
        self._data = data if data is not None else pa.py_buffer(b"")
        self._bytes = np.frombuffer(self._data, np.uint8)
        self._values = values

    def plain(self) -> Flags:
        """Tell which messages are valid UTF-8 without control characters."""
        used = self._bytes
        if self.starts.size:
            used = used[int(self.starts.min()) : int(self.ends.max())]
        is_plain = not used.size or int(used.min()) >= 0x20
        if is_plain:
            try:
                self._values.cast(pa.string())
            except pa.ArrowInvalid:
                is_plain = False
        if is_plain:
            return np.ones(len(self.starts), np.bool_)
        return np.array(
            [
                value is not None and _is_plain(value)
                for value in self._values.to_pylist()
            ],
            np.bool_,
        )

    def window(self, places: Places, length: int) -> npt.NDArray[np.uint8]:
        """Return the bytes from each place on; any bytes behind the end of the batch.

        Returns:
            A matrix of the shape (places, length).
        """
        data = self._bytes
        last = len(data) - length
        if last < 0:
            data = np.concatenate([data, np.zeros(-last, np.uint8)])
            last = 0
        pieces: npt.NDArray[Any] = np.ndarray(
            (last + 1,), f"V{length}", data, strides=(1,)
        )
        taken = pieces[np.clip(places, 0, last)]
        # At the end of the batch the window begins too early: move its bytes.
        window = taken.view(np.uint8).reshape(len(places), length)
        for row in np.flatnonzero(places > last):
            shift = min(int(places[row]) - last, length)
            window[row] = np.roll(window[row], -shift)
        return window

    def has(self, places: Places, ends: Places, text: bytes) -> Flags:
        """Tell where a text stands that ends not behind `ends`."""
        # Eight bytes at a time.
        width = -(-len(text) // 8) * 8
        found = self.window(places, width).view(np.uint64)
        expected = np.frombuffer(text.ljust(width, b"\x00"), np.uint64)
        mask = np.frombuffer((b"\xff" * len(text)).ljust(width, b"\x00"), np.uint64)
        is_there: Flags = (places >= 0) & (places + len(text) <= ends)
        for index in range(width // 8):
            is_there &= (found[:, index] & mask[index]) == expected[index]
        return is_there

    def read(
        self, places: Places, ends: Places, form: tuple[bytes | int, ...]
    ) -> tuple[Flags, list[Places]]:
        """Read text of a known form that ends not behind `ends`.

        Args:
            places: Where it should begin.
            ends: Where it may end at most, exclusive.
            form: Parts that follow each other: bytes stand for themselves, a number
                for a decimal number of so many digits, the first of them not 0.

        Returns:
            Where there is such a text, and the numbers in it (elsewhere any number).
        """
        length = form_length(form)
        is_there = (places >= 0) & (places + length <= ends)
        window = self.window(places, length)
        numbers = []
        start = 0
        for part in form:
            piece = window[:, start : start + form_length((part,))]
            start += piece.shape[1]
            if isinstance(part, bytes):
                expected = np.frombuffer(part, np.uint8)
                is_there &= (piece == expected).all(axis=1)
            else:
                digits = piece - np.uint8(ord("0"))
                is_there &= (digits <= 9).all(axis=1) & (digits[:, 0] > 0)
                numbers.append(digits.astype(np.int64) @ _POWERS_OF_TEN[-part:])
        return is_there, numbers

    def find(self, starts: Places, ends: Places, text: bytes) -> Places:
        """Return where a text first stands between two places; -1 where it does not."""
        found = pc.find_substring(self.cut(starts, ends), text)
        offsets = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return np.where(offsets < 0, -1, starts + offsets)

    def cut(
        self, starts: Places, ends: Places, valid: Flags | None = None
    ) -> pa.BinaryArray:
        """Cut pieces out.

        Args:
            starts: Where each piece begins.
            ends: Where it ends, exclusive; nothing is cut where that is before.
            valid: Where there is a piece; null elsewhere. By default everywhere.
        """
        lengths = np.maximum(ends - starts, 0).astype(np.int32)
        # Arrow's view format: length, then 12 bytes of text, or (to compare, and left
        # out here) 4 bytes of it, buffer, place. Behind a shorter text are any bytes:
        # the cast takes no more than the length.
        views = np.zeros((len(starts), 16), np.uint8)
        fields = views.view(np.int32)
        fields[:, 0] = lengths
        fields[:, 3] = starts
        short = np.flatnonzero(lengths <= 12)
        if short.size:
            views[short, 4:] = self.window(starts[short], 12)
        return pa.Array.from_buffers(
            pa.binary_view(),
            len(starts),
            [
                None if valid is None else pa.array(valid).buffers()[1],
                pa.py_buffer(views),
                self._data,
            ],
        ).cast(pa.binary())


def form_length(form: tuple[bytes | int, ...]) -> int:
    """Return how many bytes a text of a form has."""
    return sum(len(part) if isinstance(part, bytes) else part for part in form)


_CONTROL: Final = re.compile(rb"[\x00-\x1f]")


def _is_plain(value: bytes) -> bool:
    if _CONTROL.search(value) is not None:
        return False
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


# ------------------------------------------------------------- patterns of rows

# RE2 reads these, in bytes. A lone half of a surrogate pair is no text.
_UNICODE_ESCAPE: Final = (
    r"u(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}"
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)

TEXT: Final = rf'"(?:[^"\\]|\\(?:["\\/bfnrt]|{_UNICODE_ESCAPE}))*"'
"""RE2 pattern of a JSON string."""

# In UTF-8 the characters above U+00FF begin with one of these bytes.
LATIN1_TEXT: Final = r'"(?:[^"\\\xc4-\xff]|\\(?:["\\/bfnrt]|u00[0-9a-fA-F]{2}))*"'
"""RE2 pattern of a JSON string whose characters stand for bytes: up to U+00FF."""


def row_pattern(columns: Mapping[bytes, str]) -> str:
    """Return the RE2 pattern of a row: an object with all columns, in order.

    Args:
        columns: JSON text of each column's name, and the pattern of its values; each
            may also be null.
    """
    return r"^\{" + ",".join(_members(columns)) + r"\}$"


def part_pattern(columns: Mapping[bytes, str]) -> str:
    """Return the RE2 pattern of an object with some of the columns, in order.

    It also matches a text that ends with a comma instead of the brace.
    """
    some = "".join(rf"(?:{member}(?:,|\}}$))?" for member in _members(columns))
    return r"^\{" + some + "$"


def _members(columns: Mapping[bytes, str]) -> list[str]:
    return [f"{_literal(name)}:(?:{value}|null)" for name, value in columns.items()]


def _literal(text: bytes) -> str:
    """Return the pattern that matches only a text; RE2 has other escapes than Python."""
    return "".join(
        chr(byte) if byte < 0x80 and chr(byte).isalnum() else rf"\x{byte:02x}"
        for byte in text
    )
