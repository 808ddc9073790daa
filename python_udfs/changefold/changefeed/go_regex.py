r"""Regular expressions of Go (RE2) for Python and for Java.

TiCDC reads its rules with Go's ``regexp``. Python tests them here, and Spark's
``rlike`` is Java's. The three agree on a small part of their syntax only, so an
expression is read as Go reads it and written anew in that part: each class as ranges
of characters, each assertion spelled out. The text for Java and that for Python differ
in the end of the text only (``\z`` and ``\Z``).

What Go's syntax means where Java or Python differ:

- ``$`` is the very end; Java and Python also match before a last newline.
- ``.`` is all but a newline; Java also leaves out ``\r``, U+0085, U+2028 and U+2029.
- ``\d``, ``\w``, ``\s`` and ``\b`` are ASCII; ``\s`` is without U+000B.
- ``(?i)`` takes all letters of one case folding for the same; Java only ASCII letters.
- ``(?i)`` and the like act up to the end of their group, also behind ``|``.
- ``a**`` and ``a*+`` are errors; Java and Python take the second for possessive.
- ``[a[b]`` and ``[a&&b]`` have no set operations inside.

Refused besides what Go refuses: ``\p{...}``, since each of the three has its own
version of Unicode. Go needs linear time; Java and Python may need more, as they try
``(a+b?)+c`` in many ways.

Sources: Go's package ``regexp/syntax``; the RE2 syntax page; Java's ``Pattern``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

from changefold.changefeed.letter_case import case_variants, case_variants_of, lowered

__all__ = ["GoRegex", "parse_go_regex"]

_MAX_REPEAT: Final = 1000
_MAX_DEPTH: Final = 100
_LAST: Final = 0x10FFFF

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Code points as closed ranges, in order, neither touching nor overlapping."""


@dataclass(frozen=True, slots=True)
class _Chars:
    """One character out of some."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class _Assertion:
    kind: Literal[
        "text_start", "text_end", "line_start", "line_end", "word", "not_word"
    ]


@dataclass(frozen=True, slots=True)
class _Sequence:
    items: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    items: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    item: "_Node"
    low: int
    high: int | None


_Node: TypeAlias = _Chars | _Assertion | _Sequence | _Choice | _Repeat


@dataclass(frozen=True)
class GoRegex:
    """A regular expression that was read as Go reads it.

    Attributes:
        source: As it was written.
        java: The same for ``java.util.regex``, to be searched for (``find``).
        python: The same for ``re``, to be searched for.
    """

    source: str
    java: str
    python: str

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.python)

    def found_in(self, text: str) -> bool:
        """Tell whether it is found anywhere in ``text``."""
        return self._compiled.search(text) is not None


@lru_cache(maxsize=1024)
def parse_go_regex(
    source: str, *, ignore_case: bool = False, in_lowered: bool = False
) -> GoRegex:
    r"""Read a regular expression of Go.

    Args:
        source: The expression.
        ignore_case: Read it as if it began with ``(?i)``.
        in_lowered: The text to search is in lower case (`letter_case.lowered`), so
            that upper case need not be written.

    Returns:
        The expression for Java and for Python.

    Raises:
        ValueError: If Go refuses it, or if it has ``\p``.
    """
    reader = _Reader(source, ignore_case=ignore_case, in_lowered=in_lowered)
    node = reader.whole()
    return GoRegex(source, _written(node, r"\z"), _written(node, r"\Z"))


# --- Sets of characters -----------------------------------------------------------


def _ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Sort and merge."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _others(ranges: Ranges) -> Ranges:
    """Return all characters that are not among these."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        gaps.append((start, _LAST))
    return tuple(gaps)


def _of(text: str) -> Ranges:
    """Read ``A-Z_`` and the like; the first of a pair may not be a hyphen."""
    pairs = re.findall(r"(.)(?:-(.))?", text, re.DOTALL)
    return _ranges((ord(low), ord(high or low)) for low, high in pairs)


_ANY: Final[Ranges] = ((0, _LAST),)
_WORD: Final = _of("0-9A-Z_a-z")
_PERL: Final = {"d": _of("0-9"), "s": _of("\t\n\f\r "), "w": _WORD}
_POSIX: Final = {
    "alnum": _of("0-9A-Za-z"),
    "alpha": _of("A-Za-z"),
    "ascii": _of("\0-\x7f"),
    "blank": _of("\t "),
    "cntrl": _of("\0-\x1f\x7f"),
    "digit": _of("0-9"),
    "graph": _of("!-~"),
    "lower": _of("a-z"),
    "print": _of(" -~"),
    "punct": _of("!-/:-@[-`{-~"),
    "space": _of("\t-\r "),
    "upper": _of("A-Z"),
    "word": _WORD,
    "xdigit": _of("0-9A-Fa-f"),
}
_ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_OCTAL: Final = re.compile(r"[0-7]{1,3}")
_HEX: Final = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_POSIX_CLASS: Final = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)
_GROUP_NAME: Final = re.compile(r"\(\?P?<([0-9A-Za-z_]+)>")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")


# --- Reading ----------------------------------------------------------------------


class _Reader:
    """Reads one expression from left to right."""

    def __init__(self, source: str, *, ignore_case: bool, in_lowered: bool) -> None:
        self.source = source
        self.position = 0
        self.depth = 0
        self.flags = frozenset("i" if ignore_case else "")
        self.in_lowered = in_lowered

    def fail(self, why: str) -> ValueError:
        return ValueError(
            f"Expected a regular expression of Go (RE2), got `{self.source}`: {why},"
            f" at {self.position + 1}"
        )

    def next(self, text: str) -> bool:
        return self.source.startswith(text, self.position)

    def accept(self, text: str) -> bool:
        if self.next(text):
            self.position += len(text)
            return True
        return False

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take what the pattern matches here."""
        found = pattern.match(self.source, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def take(self, what: str) -> str:
        if self.position == len(self.source):
            raise self.fail(f"{what} is missing")
        self.position += 1
        return self.source[self.position - 1]

    def whole(self) -> _Node:
        node = self.choice()
        if self.position < len(self.source):
            raise self.fail("`)` without `(`")
        return node

    def choice(self) -> _Node:
        """Read up to the end of the group; flags set inside end with it."""
        flags = self.flags
        branches: list[list[_Node]] = [[]]
        is_repeated = False
        while self.position < len(self.source) and not self.next(")"):
            if self.accept("|"):
                branches.append([])
                is_repeated = False
            elif (times := self.repetition()) is not None:
                if is_repeated:
                    raise self.fail("a repetition of a repetition")
                if not branches[-1]:
                    raise self.fail("nothing to repeat")
                branches[-1][-1] = self.repeated(branches[-1][-1], times)
                is_repeated = True
            else:
                branches[-1].extend(self.items())
                is_repeated = False
        self.flags = flags
        nodes = tuple(_sequence(branch) for branch in branches)
        return nodes[0] if len(nodes) == 1 else _Choice(nodes)

    def repetition(self) -> tuple[int, int | None] | None:
        """Read ``*``, ``+``, ``?`` or ``{n,m}``; any other ``{`` is a character."""
        times: tuple[int, int | None]
        if self.accept("*"):
            times = (0, None)
        elif self.accept("+"):
            times = (1, None)
        elif self.accept("?"):
            times = (0, 1)
        elif (found := self.match(_REPEAT)) is not None:
            low = int(found[1])
            high = low if found[2] is None else int(found[3]) if found[3] else None
            if max(low, high or 0) > _MAX_REPEAT or (high is not None and high < low):
                raise self.fail("a repetition goes from 0 to 1000")
            times = (low, high)
        else:
            return None
        self.accept("?")  # as few as possible: the same for what only has to be found
        return times

    def repeated(self, item: _Node, times: tuple[int, int | None]) -> _Node:
        node = _Repeat(item, *times)
        if max(times[0], times[1] or 0) > 1 and not _is_repeatable(node, _MAX_REPEAT):
            raise self.fail("repetitions in repetitions go up to 1000")
        return node

    def items(self) -> list[_Node]:
        r"""Read one item; none for flags, several for ``\Q...\E``."""
        if self.next("("):
            group = self.group()
            return [] if group is None else [group]
        if self.accept("\\Q"):
            end = self.source.find("\\E", self.position)
            quoted = self.source[self.position : end if end >= 0 else None]
            self.position += len(quoted)
            self.accept("\\E")
            return [self.one(ord(char)) for char in quoted]
        return [self.item()]

    def item(self) -> _Node:
        for text, assertion in _ASSERTIONS.items():
            if self.accept(text):
                return assertion
        char = self.take("a character")
        if char in "^$":
            return _ANCHORS[char, "m" in self.flags]
        if char == "[":
            return self.char_class()
        if char == ".":
            return _Chars(_ANY if "s" in self.flags else _others(_of("\n")))
        perl = self.perl_class() if char == "\\" else None
        if perl is not None:
            return _Chars(perl)
        return self.one(self.escaped() if char == "\\" else ord(char))

    def group(self) -> _Node | None:
        if self.match(_GROUP_NAME) is None:
            found = self.match(_FLAGS)
            if found is not None:
                outer = self.flags
                self.flags = (outer | set(found[1])) - set(found[2] or "")
                if found[3] == ")":
                    return None
                node = self.group_end()
                self.flags = outer
                return node
            for look_around in ("(?=", "(?!", "(?<=", "(?<!"):
                if self.next(look_around):
                    raise self.fail("RE2 has no look-around")
            if self.next("(?"):
                raise self.fail("RE2 has no such group")
            self.accept("(")
        return self.group_end()

    def group_end(self) -> _Node:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.fail(f"groups in groups go up to {_MAX_DEPTH}")
        node = self.choice()
        if not self.accept(")"):
            raise self.fail("`)` is missing")
        self.depth -= 1
        return node

    def one(self, code: int) -> _Chars:
        return _Chars(self.with_case(((code, code),)))

    def with_case(self, ranges: Ranges) -> Ranges:
        """Add the other letters of the same case folding if case is ignored."""
        if "i" not in self.flags:
            return ranges
        if sum(high - low for low, high in ranges) > 100:
            others = {v for low, high in ranges for v in case_variants_of(low, high)}
            return _ranges([*ranges, *((ord(v), ord(v)) for v in others)])
        chars = [chr(code) for low, high in ranges for code in range(low, high + 1)]
        letters = {variant for char in chars for variant in case_variants(char)}
        if self.in_lowered:
            letters = {letter for letter in letters if lowered(letter) == letter}
        return _ranges((ord(letter), ord(letter)) for letter in letters)

    def escaped(self) -> int:
        """Read what stands for one character behind a backslash."""
        if (octal := self.match(_OCTAL)) is not None:
            if octal[0] in {"1", "2", "3", "4", "5", "6", "7"}:
                raise self.fail("RE2 has no back-references")
            return int(octal[0], 8)
        if (digits := self.match(_HEX)) is not None:
            code = int(digits[1] or digits[2], 16)
            if code > _LAST:
                raise self.fail("no such character")
            return code
        char = self.take("a character behind the backslash")
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char in "pP":
            raise self.fail("Unicode classes differ between Go and Java")
        if not char.isascii() or char.isalnum():
            raise self.fail("RE2 has no such escape")
        return ord(char)

    def perl_class(self) -> Ranges | None:
        r"""Read ``d`` of ``\d`` and the like."""
        letter = self.source[self.position : self.position + 1]
        ranges = _PERL.get(letter.lower())
        if ranges is None:
            return None
        self.position += 1
        ranges = self.with_case(ranges)
        return ranges if letter.islower() else _others(ranges)

    def char_class(self) -> _Chars:
        is_negated = self.accept("^")
        pairs: list[tuple[int, int]] = []
        is_first = True
        while is_first or not self.accept("]"):
            is_first = False
            pairs.extend(self.class_item())
        ranges = _ranges(pairs)
        return _Chars(_others(ranges) if is_negated else ranges)

    def class_item(self) -> Ranges:
        if (named := self.match(_POSIX_CLASS)) is not None:
            if named[2] not in _POSIX:
                raise self.fail(f"no class `{named[2]}`")
            ranges = self.with_case(_POSIX[named[2]])
            return _others(ranges) if named[1] else ranges
        if self.accept("\\"):
            perl = self.perl_class()
            if perl is not None:
                return perl
            self.position -= 1
        low = self.class_char()
        high = low
        is_range = self.next("-") and not self.next("-]")
        if is_range and self.position + 1 < len(self.source):
            self.accept("-")
            high = self.class_char()
            if high < low:
                raise self.fail("a range of a class goes upwards")
        return self.with_case(((low, high),))

    def class_char(self) -> int:
        if self.accept("\\"):
            return self.escaped()
        return ord(self.take("`]`"))


_ANCHORS: Final = {
    ("^", False): _Assertion("text_start"),
    ("$", False): _Assertion("text_end"),
    ("^", True): _Assertion("line_start"),
    ("$", True): _Assertion("line_end"),
}
_ASSERTIONS: Final = {
    r"\A": _Assertion("text_start"),
    r"\z": _Assertion("text_end"),
    r"\b": _Assertion("word"),
    r"\B": _Assertion("not_word"),
}


def _sequence(items: list[_Node]) -> _Node:
    return items[0] if len(items) == 1 else _Sequence(tuple(items))


def _is_repeatable(node: _Node, limit: int) -> bool:
    """Tell whether nested repetitions stay below Go's limit."""
    if isinstance(node, _Repeat):
        times = node.high if node.high is not None else node.low
        if node.high == 0:
            return True
        return times <= limit and _is_repeatable(node.item, limit // max(times, 1))
    if isinstance(node, _Sequence | _Choice):
        return all(_is_repeatable(item, limit) for item in node.items)
    return True


# --- Writing ----------------------------------------------------------------------

_SPECIAL: Final = frozenset(r"\.^$*+?()[]{}|")
_SPECIAL_IN_CLASS: Final = frozenset(r"\]^-[&~|")
_CONTROLS: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_WORD_TEXT: Final = "[0-9A-Z_a-z]"
_ASSERTION_TEXT: Final = {
    "text_start": "^",
    "line_start": r"(?<![^\n])",
    "line_end": r"(?![^\n])",
    "word": (
        f"(?:(?<={_WORD_TEXT})(?!{_WORD_TEXT})|(?<!{_WORD_TEXT})(?={_WORD_TEXT}))"
    ),
    "not_word": (
        f"(?:(?<={_WORD_TEXT})(?={_WORD_TEXT})|(?<!{_WORD_TEXT})(?!{_WORD_TEXT}))"
    ),
}


def _written(node: _Node, text_end: str) -> str:
    if isinstance(node, _Chars):
        return _chars_text(node.ranges)
    if isinstance(node, _Assertion):
        return text_end if node.kind == "text_end" else _ASSERTION_TEXT[node.kind]
    if isinstance(node, _Choice):
        return "|".join(_written(item, text_end) for item in node.items)
    if isinstance(node, _Sequence):
        return "".join(
            f"(?:{_written(item, text_end)})"
            if isinstance(item, _Choice)
            else _written(item, text_end)
            for item in node.items
        )
    node = _flat(node)
    text = _written(node.item, text_end)
    if not isinstance(node.item, _Chars):
        text = f"(?:{text})"
    return text + _times_text(node.low, node.high)


def _flat(node: _Repeat) -> _Repeat:
    """Return ``(a+)*`` as ``a*``, which Java and Python do not try in as many ways."""
    inner = node.item
    if isinstance(inner, _Repeat) and node.high != 0 and inner.low <= 1:
        inner = _flat(inner)
        if inner.high is None and inner.low <= 1:
            return _Repeat(inner.item, inner.low * node.low, None)
        if (inner.low, inner.high) == (0, 1) and node.high is None:
            return _Repeat(inner.item, 0, None)
    return node


def _times_text(low: int, high: int | None) -> str:
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    if (low, high) in signs:
        return signs[low, high]
    if low == high:
        return f"{{{low}}}"
    return f"{{{low},{'' if high is None else high}}}"


def _chars_text(ranges: Ranges) -> str:
    is_negated = ranges[-1:] != () and ranges[-1][1] == _LAST
    text = _class_text(_others(ranges) if is_negated else ranges)
    if not text:
        return r"[\s\S]" if is_negated else "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _char_text(ranges[0][0], _SPECIAL)
    return f"[{'^' if is_negated else ''}{text}]"


def _class_text(ranges: Ranges) -> str:
    pieces: list[str] = []
    for low, high in ranges:
        # Surrogates are no characters, and no text holds one.
        first = 0xE000 if 0xD800 <= low <= 0xDFFF else low
        last = 0xD7FF if 0xD800 <= high <= 0xDFFF else high
        if first > last:
            continue
        pieces.append(_char_text(first, _SPECIAL_IN_CLASS))
        if last > first + 1:
            pieces.append("-")
        if last > first:
            pieces.append(_char_text(last, _SPECIAL_IN_CLASS))
    return "".join(pieces)


def _char_text(code: int, special: frozenset[str]) -> str:
    char = chr(code)
    if char in special:
        return f"\\{char}"
    if code < 0x20 or code == 0x7F:
        return _CONTROLS.get(char, f"\\x{code:02x}")
    return char
