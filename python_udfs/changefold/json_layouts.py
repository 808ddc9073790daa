"""Recognise objects that have the same members in the same order, and cut their values.

Of objects with the same names one is parsed strictly. The bytes between its values are
its `Layout`. Where others have the same bytes at the same places, they differ in the
values only: if each value is JSON by itself, so is the object, and it has the same
members.
"""

import re
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from changefold.errors import CdcDecodeError
from changefold.json_documents import MAX_WINDOW, JsonDocuments, Words
from changefold.message_batch import Flags, Places
from changefold.strict_json import strict_tokens

__all__ = ["Layout", "Layouts", "Objects", "Path", "group_by", "signatures"]

Path = tuple[str, ...]
"""Names of a member and of the objects that it lies in, the outermost first."""


class Layout(NamedTuple):
    """What objects with the same members share.

    Attributes:
        paths: The members that are no objects, in order.
        members: Of each its place among the names of the object.
        name_count: How many names the object has.
        literals: The bytes from the end of the value before, or the beginning, to the
            member's colon.
        closing: The bytes behind the last value.
        lengths: How long each literal is.
        expected: The literals, each at the end of a row of words.
        masks: Which of these bits they have.
    """

    paths: tuple[Path, ...]
    members: Places
    name_count: int
    literals: tuple[bytes, ...]
    closing: bytes
    lengths: Places
    expected: Words
    masks: Words

    def cut(
        self, documents: JsonDocuments, objects: "Objects"
    ) -> tuple[Flags, Places, Places]:
        """Cut the values of objects out.

        Args:
            documents: The documents.
            objects: Places of objects in them.

        Returns:
            Which objects have this layout if each value is JSON, and where the values
            begin and end, matrices of the shape (members, objects).
        """
        count = len(objects.starts)
        fits = objects.name_counts == self.name_count
        if not fits.all():
            inner = objects.take(np.flatnonzero(fits))
            starts = np.full((len(self.paths), count), MAX_WINDOW)
            ends = starts.copy()
            fits[fits], starts[:, fits], ends[:, fits] = self.cut(documents, inner)
            return fits, starts, ends
        colons = documents.colons[objects.names + self.members[:, None]]
        found = documents.pieces(
            colons + 1 - 8 * self.expected.shape[1], 8 * self.expected.shape[1]
        )
        differs = np.zeros(colons.shape, np.uint64)
        for index in range(self.expected.shape[1]):
            word = found[:, :, index] ^ self.expected[:, index, None]
            differs |= word & self.masks[:, index, None]
        starts = colons + 1
        ends = np.empty_like(starts)
        ends[:-1] = starts[1:] - self.lengths[1:, None]
        ends[-1] = objects.ends - len(self.closing)
        fits = ~differs.any(axis=0) & (ends > starts).all(axis=0)
        fits &= starts[0] - self.lengths[0] == objects.starts
        fits &= documents.has(ends[-1], objects.ends, self.closing)
        return fits, starts, ends


class Objects(NamedTuple):
    """Places of objects in the documents; an array each.

    Attributes:
        starts: Where each begins.
        ends: Where it ends, exclusive.
        names: Its first name, as a place in `JsonDocuments.names`.
        name_counts: How many names it has, those within its values too.
    """

    starts: Places
    ends: Places
    names: Places
    name_counts: Places

    def take(self, chosen: npt.NDArray[Any]) -> "Objects":
        """Return some of the objects: by places, or by flags."""
        return Objects(*(piece[chosen] for piece in self))


def signatures(documents: JsonDocuments, objects: Objects) -> Words:
    """Return a number for each object that depends on its names and their order.

    Objects with other names may have the same number; that is unlikely.
    """
    words = documents.name_words()
    mixed = (words ^ (words >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    weighted = mixed * np.arange(len(mixed), dtype=np.uint64)
    sums = np.append(np.uint64(0), np.cumsum(mixed))
    weighted_sums = np.append(np.uint64(0), np.cumsum(weighted))
    first, last = objects.names, objects.names + objects.name_counts
    total = sums[last] - sums[first]
    by_place = weighted_sums[last] - weighted_sums[first]
    by_place -= first.astype(np.uint64) * total
    found: Words = (by_place + total * np.uint64(0xC2B2AE3D27D4EB4F)) ^ (
        objects.name_counts.astype(np.uint64) << np.uint64(48)
    )
    return found


def group_by(numbers: npt.NDArray[Any]) -> list[Places]:
    """Return the places of each number that occurs, in order."""
    ids = pa.array(numbers).dictionary_encode().indices.to_numpy()
    if not len(ids):
        return []
    # numpy sorts short numbers by their digits, which takes a tenth of the time.
    if ids.max() < 1 << 16:
        ids = ids.astype(np.uint16)
    order = np.argsort(ids, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(ids[order])) + 1)


_MAX_LAYOUTS: Final = 10_000


class Layouts:
    """The layouts that were seen, by the signature of their objects."""

    def __init__(self) -> None:
        self._layouts: dict[int, Layout] = {}

    def cut(
        self, documents: JsonDocuments, objects: Objects, signature: int
    ) -> tuple[Layout, Flags, Places, Places] | None:
        """Cut the values of objects with one signature out.

        Returns:
            Their layout and what `Layout.cut` returns; ``None`` if the first of them
            is not JSON or has values that no layout describes.
        """
        layout = self._layouts.get(signature)
        if layout is not None:
            found = layout.cut(documents, objects)
            if found[0].any():
                return layout, *found
        start, end = int(objects.starts[0]), int(objects.ends[0])
        layout = _read_layout(documents.data[start:end].tobytes())
        if layout is None:
            return None
        if len(self._layouts) >= _MAX_LAYOUTS:
            self._layouts.clear()
        self._layouts[signature] = layout
        return layout, *layout.cut(documents, objects)


_STRING: Final = rb'"(?:[^"\\]|\\.)*+"'
_NAME: Final = re.compile(_STRING + b":", re.DOTALL)
# A value that is no object, nor has one within, nor an array of arrays.
_VALUE: Final = re.compile(
    _STRING + rb'|[^",\[\]{}]++|\[(?:[^"\[\]{}]|' + _STRING + rb")*+\]", re.DOTALL
)


def _read_layout(text: bytes) -> Layout | None:
    """Return the layout of an object.

    Args:
        text: The object; or the end of one, of which all before a comma is left out.
    """
    try:
        strict_tokens(b"{" + text[1:])
    except CdcDecodeError:
        return None
    names: list[str] = []
    paths: list[Path] = []
    members: list[int] = []
    literals: list[bytes] = []
    place, value_end, count = 1, 0, 0
    while True:
        name = _NAME.match(text, place)
        if name is None:
            return None
        names.append(strict_tokens(name[0][:-1]))
        count += 1
        place = name.end()
        if text[place : place + 1] == b"{":
            place += 1
            continue
        value = _VALUE.match(text, place)
        if value is None or (value[0][:1] == b"[" and b'":' in value[0]):
            return None
        paths.append(tuple(names))
        members.append(count - 1)
        literals.append(text[value_end:place])
        value_end = place = value.end()
        names.pop()
        while text[place : place + 1] == b"}":
            place += 1
            if not names:
                closing = text[value_end:]
                is_end = place == len(text)
                return _layout(paths, members, count, literals, closing, is_end=is_end)
            names.pop()
        place += 1


def _layout(
    paths: list[Path],
    members: list[int],
    name_count: int,
    literals: list[bytes],
    closing: bytes,
    *,
    is_end: bool,
) -> Layout | None:
    longest = max(map(len, literals))
    if longest > MAX_WINDOW or not is_end:
        return None
    width = -(-longest // 8) * 8
    masks = [b"\xff" * len(literal) for literal in literals]
    return Layout(
        tuple(paths),
        np.array(members),
        name_count,
        tuple(literals),
        closing,
        np.array([len(literal) for literal in literals]),
        _words(literals, width),
        _words(masks, width),
    )


def _words(texts: list[bytes], width: int) -> Words:
    joined = b"".join(text.rjust(width, b"\x00") for text in texts)
    return np.frombuffer(joined, np.uint64).reshape(len(texts), width // 8)
