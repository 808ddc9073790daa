"""Upper and lower case as Go sees it, which TiCDC and TiDB are written in.

Go maps each letter by itself. Spark and Python map texts, and differ in two letters:
``İ`` becomes two characters there, and ``Σ`` at the end of a word becomes ``ς``. A name
may hold any letter, so comparisons in SQL are written to agree for these as well.

Letters that are new in Unicode 14 are lowered as Spark's Java knows them.

Sources: ``strings.ToLower`` and ``unicode.SimpleFold`` of Go; Unicode 15,
``UnicodeData.txt`` and ``CaseFolding.txt`` (simple mappings).
"""

from functools import lru_cache
from typing import Final

from changefold.spark_text import sql_text

__all__ = [
    "case_variants",
    "case_variants_of",
    "folded",
    "lowered",
    "lowered_sql",
]

_DOTTED_I: Final = "\u0130"
_DOT_ABOVE: Final = "\u0307"
_SIGMA: Final = "\u03c3"
_FINAL_SIGMA: Final = "\u03c2"
_LAST_CASED: Final = 0x1FFFF
"""No letter beyond it has upper and lower case."""


def _lower(char: str) -> str:
    low = char.lower()
    return low if len(low) == 1 else "i" if char == _DOTTED_I else char


def lowered(text: str) -> str:
    """Return ``text`` in lower case, letter by letter, as ``strings.ToLower`` does.

    Args:
        text: Any text.

    Returns:
        As many characters as ``text`` has.
    """
    return "".join(map(_lower, text))


def _fold(char: str) -> str:
    # A folding to several letters is no simple one; İ then has none at all.
    fold = char.casefold()
    low = char.lower()
    return fold if len(fold) == 1 else low if len(low) == 1 else char


def folded(text: str) -> str:
    """Return ``text`` with one letter for all `case_variants` of each, in lower case.

    Args:
        text: Any text.

    Returns:
        As many characters as ``text`` has. An ``İ`` stays, as it has no variant: no name
        in lower case has one.
    """
    return "".join(char if char == _DOTTED_I else _lower(_fold(char)) for char in text)


@lru_cache(maxsize=1)
def _variants() -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for char in map(chr, range(_LAST_CASED + 1)):
        fold = _fold(char)
        if fold != char:
            groups.setdefault(fold, {fold}).add(char)
    return {char: frozenset(group) for group in groups.values() for char in group}


def case_variants(char: str) -> frozenset[str]:
    """Return the letters that ``(?i)`` of Go takes for the same, ``char`` included.

    Args:
        char: One character.

    Returns:
        For ``s``: ``s``, ``S`` and ``\u017f`` (long s). For what has no case: itself.
    """
    return _variants().get(char, frozenset(char))


def case_variants_of(first: int, last: int) -> frozenset[str]:
    """Return the `case_variants` of all letters in a range.

    Args:
        first: First code point.
        last: Last code point.
    """
    groups = (g for char, g in _variants().items() if first <= ord(char) <= last)
    return frozenset().union(*groups)


def lowered_sql(expression: str, text: str, *, folds: bool = False) -> str:
    r"""Return Spark SQL that lowers a name, so that it can be compared with ``text``.

    Args:
        expression: Expression of type string.
        text: What it will be compared with: a text in lower case, or the letters of a
            pattern, `folded`, with ``?`` for a place of any one character.
        folds: Take `case_variants` for the same, as patterns do. A plain name is only
            compared in lower case.

    Returns:
        ``lower(expression)``, with a ``translate`` inside if ``text`` has letters that
        Spark lowers otherwise than Go.
    """
    renamed: dict[str, str] = {}
    for letter in text:
        if letter in {"i", "?", _DOT_ABOVE}:
            renamed[_DOTTED_I] = "i"
        if letter in {_SIGMA, _FINAL_SIGMA}:
            renamed["Σ"] = _SIGMA
        if folds:
            for variant in case_variants(letter):
                if _lower(variant) != letter:
                    renamed[variant] = letter
    if not renamed:
        return f"lower({expression})"
    found = "".join(sorted(renamed))
    replaced = "".join(renamed[char] for char in found)
    return f"lower(translate({expression}, {sql_text(found)}, {sql_text(replaced)}))"
