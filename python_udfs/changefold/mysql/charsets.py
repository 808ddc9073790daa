"""What of a text a character set of MySQL can hold.

A DDL that gives a column a smaller character set puts ``?`` in the place of each
character that it lacks; in strict mode MySQL refuses the statement then. So either way
the rows hold what `in_charset` returns. Sources: MySQL 8.0 reference manual, 12.9
"Unicode Support", 12.10.2 "West European Character Sets" (its latin1 is Windows-1252,
where the five undefined bytes are control characters), 15.1.9 "ALTER TABLE".
"""

from collections.abc import Callable
from typing import Final

__all__ = ["UNKNOWN_CHARSET", "in_charset", "narrower_charset"]

UNKNOWN_CHARSET: Final = "unknown"
"""Of a column whose definition leaves it to a default that no message tells."""

_ALL: Final = frozenset({"utf8mb4", "utf16", "utf16le", "utf32", "gb18030"})
_BASIC: Final = frozenset({"utf8", "utf8mb3", "ucs2"})
_LATIN1: Final = frozenset(bytes(range(256)).decode("cp1252", "ignore")) | frozenset(
    "\x81\x8d\x8f\x90\x9d"
)

_HELD: Final[dict[str, Callable[[str], bool]]] = {
    "ascii": str.isascii,
    "latin1": _LATIN1.__contains__,
    **dict.fromkeys(_BASIC, "\U00010000".__gt__),
}


def narrower_charset(before: str | None, after: str | None) -> str | None:
    """Return the character set after a DDL if it may lack characters of that before.

    Args:
        before: Character set of the column before, lower case; None if not known.
        after: That after the DDL.

    Returns:
        `after`, or `UNKNOWN_CHARSET`; None where each text stays as it is, and where
        nothing tells that the character set changes.
    """
    if before == after or after in _ALL or before == "ascii":
        return None
    if after in _BASIC and before is not None and before not in _ALL:
        return None
    return after or UNKNOWN_CHARSET


def in_charset(text: str, charset: str) -> str | None:
    """Return a text as a column of a character set holds it.

    Args:
        text: The text before.
        charset: What `narrower_charset` returned.

    Returns:
        The text, with ``?`` for characters that are lost; None where it is not known
        which ones are: all character sets hold ASCII.
    """
    if text.isascii():
        return text
    holds = _HELD.get(charset)
    return None if holds is None else "".join(c if holds(c) else "?" for c in text)
