"""Recognise objects that have the same members in the same order, and cut their values.

Of objects with the same names one is parsed strictly. The bytes between its values are
its `Layout`. Where others have the same bytes at the same places, they differ in the
values only: if each value is JSON by itself, so is the object, and it has the same
members.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from changefold.errors import CdcDecodeError
from changefold.json_documents import MAX_WINDOW, JsonDocuments, Words
from changefold.message_batch import Flags, Places
from changefold.strict_json import strict_tokens

__all__ = ["Layout", "Layouts", "Objects", "Path", "Signatures", "group_by"]

Path = tuple[str, ...]
"""Names of a member and of the objects that it lies in, the outermost first."""


class _Literals(NamedTuple):
    """Bytes of some members of a layout.

    Attributes:
        places: Which members.
        expected: The bytes, each at the end of a row of words.
        masks: Which bits of the words they have.
    """

    places: Places
    expected: Words
    masks: Words


class Layout(NamedTuple):
    """What objects with the same members share.

    Attributes:
        paths: The members whose values differ, in order.
        constants: Those whose values do not. None is an object.
        members: Of each its place among the names of the object.
        name_count: How many names the object has.
        closing: The bytes behind the last value.
        lengths: How long each literal is: the bytes from the end of the value before,
            or the beginning, to the member's colon.
        parts: The literals, those of about one length together.
    """

    paths: tuple[Path, ...]
    constants: tuple[Path, ...]
    members: Places
    name_count: int
    closing: bytes
    lengths: Places
    parts: tuple[_Literals, ...]

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
        fits = np.ones(count, np.bool_)
        for part in self.parts:
            width = part.expected.shape[1]
            found = documents.pieces(colons[part.places] + 1 - 8 * width, 8 * width)
            differs = np.zeros(found.shape[:2], np.uint64)
            for index in range(width):
                word = found[:, :, index] ^ part.expected[:, index, None]
                differs |= word & part.masks[:, index, None]
            fits &= ~differs.any(axis=0)
        starts = colons + 1
        ends = np.empty_like(starts)
        ends[:-1] = starts[1:] - self.lengths[1:, None]
        ends[-1] = objects.ends - len(self.closing)
        fits &= (ends > starts).all(axis=0)
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


class Signatures:
    """Numbers for objects that depend on their names and the order of these.

    Objects with other names may have the same number; that is unlikely, and the layouts
    tell them apart. So it is enough to look at some of the names.
    """

    def __init__(self, documents: JsonDocuments) -> None:
        """Take the documents that the objects are in."""
        self._documents = documents

    def of(self, objects: Objects) -> Words:
        """Return the number of each object."""
        lengths = self._documents.name_lengths
        last = objects.name_counts - 1
        found: Words = objects.name_counts.astype(np.uint64)
        for place in range(_LENGTHS_SEEN):
            names = objects.names + last * place // (_LENGTHS_SEEN - 1)
            found = _mixed(found ^ lengths[names].view(np.uint64))
        for place in range(_WORDS_SEEN):
            names = objects.names + last * place // (_WORDS_SEEN - 1)
            found = _mixed(found ^ self._documents.name_words(names))
        return found


_LENGTHS_SEEN: Final = 8
"""Of so many names of an object, from the first to the last, its number has the lengths."""

_WORDS_SEEN: Final = 3
"""Of so many it has the bytes."""


def _mixed(numbers: Words) -> Words:
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return mixed


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


_MAX_SIGNATURES: Final = 10_000
_MAX_LAYOUTS: Final = 8
_MAX_TRIES: Final = 8
"""So many objects of a signature are parsed in a batch."""


class Layouts:
    """The layouts that were seen, by the signature of their objects."""

    def __init__(
        self, opening: bytes = b"{", constants: frozenset[Path] = frozenset()
    ) -> None:
        """Begin with none.

        Args:
            opening: How the objects begin: with the brace, or, if all before a comma
                is left out, with that.
            constants: Members that have the same value in most objects, and all others
                where they are null: they count as bytes between the values. Without
                any, null is a value like others.
        """
        self._opening = opening
        self._constants = constants
        self._layouts: dict[int, list[Layout]] = {}

    def cut(
        self, documents: JsonDocuments, objects: Objects, signature: int
    ) -> Iterator[tuple[Layout, Places, Places, Places]]:
        """Cut the values of objects with one signature out.

        Yields:
            A layout, which objects have it if each value is JSON, and where the values
            begin and end, matrices of the shape (members, objects). Objects that are
            not JSON, or that no layout describes, are left out.
        """
        left = np.arange(len(objects.starts))
        known = self._layouts.get(signature, [])
        tries = len(known) + _MAX_TRIES
        for index in range(tries):
            if not len(left):
                return
            inner = objects.take(left) if index else objects
            if index < len(known):
                layout: Layout | None = known[index]
            else:
                layout = self._learn(documents, inner, signature)
            if layout is None:
                left = left[1:]
                continue
            fits, starts, ends = layout.cut(documents, inner)
            if fits.all():
                yield layout, left, starts, ends
                return
            if fits.any():
                yield layout, left[fits], starts[:, fits], ends[:, fits]
                left = left[~fits]

    def _learn(
        self, documents: JsonDocuments, objects: Objects, signature: int
    ) -> Layout | None:
        """Read the layout of the first object."""
        start, end = int(objects.starts[0]), int(objects.ends[0])
        text = documents.data[start:end].tobytes()
        if not text.startswith(self._opening):
            return None
        layout = _read_layout(text, self._constants)
        if layout is None:
            return None
        if len(self._layouts) >= _MAX_SIGNATURES:
            self._layouts.clear()
        layouts = self._layouts.get(signature, [])
        # The first of them goes: what comes now is more likely to come again.
        self._layouts[signature] = [*layouts, layout][-_MAX_LAYOUTS:]
        return layout


_STRING: Final = rb'"(?:[^"\\]|\\.)*+"'
_NAME: Final = re.compile(_STRING + b":", re.DOTALL)
# A value that is no object, nor has one within, nor an array of arrays.
_VALUE: Final = re.compile(
    _STRING + rb'|[^",\[\]{}]++|\[(?:[^"\[\]{}]|' + _STRING + rb")*+\]", re.DOTALL
)


def _read_layout(text: bytes, constants: frozenset[Path]) -> Layout | None:
    """Return the layout of an object; ``None`` if it is not JSON or has none.

    Args:
        text: The object; its first byte stands for the brace, whatever it is.
        constants: As in `Layouts`.
    """
    try:
        strict_tokens(b"{" + text[1:])
    except CdcDecodeError:
        return None
    names: list[str] = []
    paths: list[Path] = []
    constant_paths: list[Path] = []
    members: list[int] = []
    literals: list[bytes] = []
    place, value_end, count = 1, 0, 0
    while place < len(text):
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
        path = tuple(names)
        is_constant = path in constants or (constants and value[0] == b"null")
        if is_constant and value.end() - value_end < MAX_WINDOW // 2:
            constant_paths.append(path)
            place = value.end()
        else:
            paths.append(path)
            members.append(count - 1)
            literals.append(text[value_end:place])
            value_end = place = value.end()
        names.pop()
        while text[place : place + 1] == b"}":
            place += 1
            if names:
                names.pop()
        place += 1
    if not literals or max(map(len, literals)) > MAX_WINDOW:
        return None
    return Layout(
        tuple(paths),
        tuple(constant_paths),
        np.array(members),
        count,
        text[value_end:],
        np.array([len(literal) for literal in literals]),
        _parts(literals),
    )


def _parts(literals: list[bytes]) -> tuple[_Literals, ...]:
    """Put literals together that need as many words, two at least."""
    widths = np.array([-(-len(literal) // 16) * 16 for literal in literals])
    return tuple(
        _Literals(
            np.flatnonzero(widths == width),
            _words([each for each in literals if -(-len(each) // 16) * 16 == width]),
            _words(
                [
                    b"\xff" * len(each)
                    for each in literals
                    if -(-len(each) // 16) * 16 == width
                ]
            ),
        )
        for width in sorted(set(widths.tolist()))
    )


def _words(texts: list[bytes]) -> Words:
    """Return texts at the end of a row of words each."""
    width = -(-max(map(len, texts)) // 16) * 16
    joined = b"".join(text.rjust(width, b"\x00") for text in texts)
    return np.frombuffer(joined, np.uint64).reshape(len(texts), width // 8)
