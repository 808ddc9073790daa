"""Types as row messages name them, beside those that DDLs told."""

import re
from typing import Final

from changefold.connect.types import BYTES_AS_TEXT, PREFIX, UNTYPED, parse_connect_type
from changefold.mysql.types import MySqlType, parse_mysql_type
from changefold.schemas.model import Accuracy

__all__ = ["agree", "changes_meaning", "type_of_row"]

# MariaDB keeps JSON as LONGTEXT and names it so in rows (its manual, "JSON Data Type").
_ALIASES: Final = {"json": "longtext"}


def type_of_row(text: str) -> tuple[str, str | None, Accuracy | None]:
    """Return a type that a message names, and the default that goes with it.

    What can not be read after a MySQL type is left out.

    Returns:
        The type, the default that rows show which are older than the column, and how well
        that is known, as of `SchemaColumn.original_default_accuracy`.
    """
    if text.startswith(PREFIX):
        connect_type = parse_connect_type(text)
        if connect_type.default_is_now:
            return str(connect_type.bare), None, "unknown"
        return str(connect_type.bare), connect_type.default, None
    try:
        return str(_type(text)), None, None
    except ValueError:
        base = re.match(r"\w+", text)
        return str(_type(base[0] if base else text)), None, None


def agree(known: str, named: str) -> bool:
    """Tell whether rows that name a type can be those of a column of another text.

    What only one of the two tells parts no types: a message may leave out parameters
    and the word UNSIGNED, and a type of Kafka Connect says how a value comes.

    Args:
        known: Type of the column; '' if it was never seen.
        named: Type that the rows name.
    """
    if known.startswith(PREFIX) or named.startswith(PREFIX):
        return True
    if not known:
        return False
    told, shown = _type(known), _type(named)
    return (
        _base(told) == _base(shown)
        and told.unsigned >= shown.unsigned
        and all(
            None in pair or pair[0] == pair[1]
            for pair in zip(_meaning(told), _meaning(shown), strict=True)
        )
    )


_WITH_MEANINGS_OF_THEIR_OWN: Final = frozenset({"bytes", "MicroDuration"})


def changes_meaning(before: str, after: str) -> bool:
    """Tell whether texts of one type of Kafka Connect say nothing of values of another.

    Bytes become hexadecimal digits, base64 or characters by Debezium's
    ``binary.handling.mode``, which no message tells, and an interval is microseconds or
    ``P1M`` by its ``interval.handling.mode``. The texts of other types stand for the
    values that a cast makes of them.
    """
    bases = set()
    for text in (before, after):
        if not text.startswith(PREFIX) or text == UNTYPED:
            return False
        base = parse_connect_type(text).base
        bases.add("bytes" if base in BYTES_AS_TEXT else base)
    return len(bases) > 1 and not bases.isdisjoint(_WITH_MEANINGS_OF_THEIR_OWN)


def _meaning(mysql_type: MySqlType) -> tuple[object, ...]:
    """Return the parameters that say what a value is, ``None`` for what is not told.

    The length of a text is none of them.
    """
    precision = mysql_type.length if mysql_type.base == "decimal" else None
    return precision, mysql_type.scale, mysql_type.elements or None


def _base(mysql_type: MySqlType) -> str:
    return _ALIASES.get(mysql_type.base, mysql_type.base)


def _type(text: str) -> MySqlType:
    return parse_mysql_type(text, declared=False)
