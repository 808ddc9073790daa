"""Recognise the ends of documents whose values have the same kinds and lengths.

The end of an envelope, from ``source`` on, is long, and in most messages of a topic only
digits and names differ in it. So of an end that was read member by member its `TailForm`
is kept: which bytes are fixed, where digits stand, and where the characters of texts.
Where the last bytes of another document have that form, each of its values is JSON, of
the same kind and at the same place: nothing has to be searched.
"""

from collections import Counter
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from changefold.connect_batches import BOOLEAN, NULL, NUMBER, TEXT, Tokens, kind_of
from changefold.json_documents import JsonBytes, Words, escapes_in
from changefold.json_layouts import Layout
from changefold.message_batch import Flags, MessageBatch, Places

__all__ = ["Tail", "TailForm", "TailForms"]

_MAX_FORMS: Final = 8
"""So many forms are tried: as many lengths as the ends of most topics have."""

_WORTH_A_FORM: Final = 64
"""Fewer documents of a form are read with the others."""

_OPENING: Final = 8
"""So many bytes of a form tell whether documents are worth to be compared."""


def _each(byte: int) -> np.uint64:
    return np.uint64(byte * 0x0101010101010101)


class _Part(NamedTuple):
    """Some bytes of a form.

    Attributes:
        columns: Which words have some of them.
        masks: The bits of them in these words.
    """

    columns: Places
    masks: Words

    @classmethod
    def of(cls, flags: Flags) -> "_Part":
        """Choose bytes by flags: a multiple of 8."""
        masks = np.where(flags, 0xFF, 0).astype(np.uint8).view(np.uint64)
        columns = np.flatnonzero(masks)
        return cls(columns, masks[columns])

    def take(self, words: Words) -> Words:
        """Return the words that have some of the bytes."""
        taken: Words = words[:, self.columns]
        return taken


class TailForm(NamedTuple):
    """What ends of documents have in common.

    Attributes:
        layout: Their members.
        length: How many bytes an end has.
        width: The same, filled from the left to whole words.
        starts: Where each value begins, from the beginning of the end.
        ends: Where it ends, exclusive.
        kinds: What each value is, as in `Tokens`: text, number, null or boolean.
        has_escape: Which values are texts with backslashes.
        escapes: Where the backslashes are.
        first_digits: Where numbers of more than one digit begin.
        text: Words of one end.
        fixed: The bytes that all have: those between the values, null, true and false,
            and of a text with backslashes all but its digits.
        digits: Those of numbers, and of texts with backslashes.
        characters: Those of other texts: ASCII.
    """

    layout: Layout
    length: int
    width: int
    starts: Places
    ends: Places
    kinds: Places
    has_escape: Flags
    escapes: Places
    first_digits: Places
    text: Words
    fixed: _Part
    digits: _Part
    characters: _Part

    @classmethod
    def of(
        cls, layout: Layout, text: bytes, starts: Places, ends: Places
    ) -> "TailForm | None":
        """Return the form of one end.

        Args:
            layout: Its members.
            text: The end, which was parsed strictly.
            starts: Where each value of it begins.
            ends: Where it ends, exclusive.

        Returns:
            ``None`` where a number is no whole one from 0 on, or a value is an array.
        """
        width = -(-len(text) // 8) * 8
        begin = width - len(text)
        is_fixed, is_digit, is_character = np.zeros((3, width), np.bool_)
        is_fixed[begin:] = True
        first_digits, kinds, has_escape = [], [], []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            value = text[start:end]
            kinds.append(kind_of(value))
            has_escape.append(b"\\" in value)
            inside = slice(begin + start, begin + end)
            if kinds[-1] == NUMBER and value.isdigit():
                is_digit[inside] = True
                if len(value) > 1:
                    first_digits.append(begin + start)
            elif has_escape[-1]:
                is_digit[inside] = [byte in b"0123456789" for byte in value]
            elif kinds[-1] == TEXT:
                is_character[begin + start + 1 : begin + end - 1] = True
            elif kinds[-1] not in {NULL, BOOLEAN}:
                return None
        form = cls(
            layout,
            len(text),
            width,
            starts,
            ends,
            np.array(kinds, np.uint8),
            np.array(has_escape, np.bool_),
            escapes_in(np.frombuffer(text, np.uint8) == ord("\\")),
            np.array(first_digits, np.int64),
            np.frombuffer(text.rjust(width, b" "), np.uint64),
            _Part.of(is_fixed & ~is_digit & ~is_character),
            _Part.of(is_digit),
            _Part.of(is_character),
        )
        return form if form.fits(form.text[None]).all() else None

    def fits(self, words: Words) -> Flags:
        """Tell which ends have this form.

        Args:
            words: Of the last `width` bytes of documents: a matrix of the shape
                (documents, width / 8).
        """
        fixed = self.fixed.take(words)
        fixed ^= self.text[self.fixed.columns]
        fixed &= self.fixed.masks
        fits: Flags = np.logical_not(fixed.any(axis=1))
        # A digit is 0x30 to 0x39: neither it nor 6 more has other high bits.
        digits = self.digits.take(words)
        others = digits ^ _each(0x30)
        digits += _each(6)
        digits ^= _each(0x30)
        others |= digits
        others &= self.digits.masks & _each(0xF0)
        fits &= ~others.any(axis=1)
        has_zero: Flags = words.view(np.uint8)[:, self.first_digits] == ord("0")
        fits &= ~has_zero.any(axis=1)
        # The highest bit tells a byte that is not ASCII; of others no sum has more.
        characters = self.characters.take(words)
        high = _each(0x80)
        good = characters + _each(0x80 - 0x20)
        for byte in b'"\\':
            good &= ((characters ^ _each(byte)) | high) - _each(1)
        good &= ~characters
        fits &= ~(~good & high & self.characters.masks).any(axis=1)
        return fits


class Tail(NamedTuple):
    """Ends of one form.

    Attributes:
        form: The form.
        messages: Which documents have it, in order.
        words: The last bytes of each, as `TailForm.fits` takes them.
    """

    form: TailForm
    messages: Places
    words: Words

    def read(self) -> tuple[JsonBytes, Tokens]:
        """Return the last bytes, and the values in them, member by member."""
        form, count = self.form, len(self.messages)
        bounds = np.arange(count + 1, dtype=np.int32) * form.width
        array = pa.BinaryArray.from_buffers(
            pa.binary(),
            count,
            [
                None,
                pa.py_buffer(bounds),
                pa.py_buffer(np.ascontiguousarray(self.words)),
            ],
        )
        begin = form.width - form.length
        escapes = bounds[:-1, None] + (begin + form.escapes)
        documents = JsonBytes([array], escapes.ravel())
        first = documents.starts + begin
        return documents, Tokens(
            documents,
            (first + form.starts[:, None]).ravel(),
            (first + form.ends[:, None]).ravel(),
            np.repeat(form.kinds, count),
            np.repeat(form.has_escape, count),
        )

    def take(self, chosen: Flags) -> "Tail":
        """Return some of the ends."""
        if chosen.all():
            return self
        return Tail(self.form, self.messages[chosen], self.words[chosen])


class TailForms:
    """The forms that were seen, what most documents had first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._forms: list[TailForm] = []

    def find(self, batch: MessageBatch, starts: Places, ends: Places) -> list[Tail]:
        """Find ends of known forms.

        Args:
            batch: The messages.
            starts: Where a document begins in each of them.
            ends: Where it ends, exclusive.
        """
        tails = []
        left = np.arange(len(starts))
        for form in self._forms:
            if len(left) < _WORTH_A_FORM:
                break
            mine = left[ends[left] - starts[left] >= form.width]
            opening = form.text.tobytes()[form.width - form.length :][:_OPENING]
            begins = batch.has(ends[mine] - form.length, ends[mine], opening)
            mine = mine[begins]
            if len(mine) < _WORTH_A_FORM:
                continue
            window = batch.window(ends[mine] - form.width, form.width)
            tail = Tail(form, mine, window.view(np.uint64))
            tail = tail.take(form.fits(tail.words))
            if len(tail.messages) < _WORTH_A_FORM:
                continue
            tails.append(tail)
            left = np.setdiff1d(left, tail.messages, assume_unique=True)
        counts = Counter({id(tail.form): len(tail.messages) for tail in tails})
        self._forms.sort(key=lambda form: -counts[id(form)])
        return tails

    def learn(
        self,
        documents: JsonBytes,
        layout: Layout,
        objects: tuple[Places, Places],
        values: tuple[Places, Places],
    ) -> None:
        """Keep the form of the length that most ends have, if that are enough.

        Args:
            documents: The documents.
            layout: The layout of the ends.
            objects: Where each end begins and ends.
            values: Where each value begins and ends, matrices of the shape (members,
                ends).
        """
        starts, ends = objects
        lengths = ends - starts
        if len(lengths) < _WORTH_A_FORM:
            return
        counts = np.bincount(lengths)
        if counts.max() < _WORTH_A_FORM:
            return
        place = int(np.flatnonzero(lengths == counts.argmax())[0])
        start, end = int(starts[place]), int(ends[place])
        form = TailForm.of(
            layout,
            documents.data[start:end].tobytes(),
            *(each[:, place] - start for each in values),
        )
        if form is not None:
            self._forms = [*self._forms[: _MAX_FORMS - 1], form]
