"""Types as row messages name them, beside those that DDLs told."""

import re
from typing import Final

from changefold.connect.types import (
    BYTES_AS_TEXT,
    PREFIX,
    UNTYPED,
    ConnectType,
    parse_connect_type,
)
from changefold.mysql.types import MySqlType, parse_mysql_type
from changefold.schemas.model import Accuracy

__all__ = ["agree", "changes_meaning", "default_of_row", "type_of_row"]

# MariaDB keeps JSON as LONGTEXT and names it so in rows (its manual, "JSON Data Type").
_ALIASES: Final = {"json": "longtext"}


def type_of_row(text: str) -> str:
    """Return a type that a message names.

    What can not be read after a MySQL type is left out, and what Kafka Connect says of
    the column beside its type.
    """
    if text.startswith(PREFIX):
        return str(parse_connect_type(text).bare)
    try:
        return str(_type(text))
    except ValueError:
        base = re.match(r"\w+", text)
        return str(_type(base[0] if base else text))


def default_of_row(
    text: str, connector: str | None, *, is_told: bool = True
) -> tuple[str | None, Accuracy | None]:
    """Return what rows have that are older than a column, by its type in a message.

    It is not known where the source computed it, row by row:

    - A default of the moment 0 stands for the time of the ALTER.
    - A column that takes no null and has no default in the schema had one that Debezium
      does not send: a function, a sequence, AUTO_INCREMENT, or what MySQL takes for one
      (0, '').
    - PostgreSQL's connector sends a nothing for any function. No function of the field
      makes a boolean.
    - SQL Server fills a column that takes null only if it was added ``WITH VALUES``
      (its documentation, "ALTER TABLE column_definition").
    - A message without a schema tells no default; a declared type may. Nor does one of
      TiCDC or Canal, whose DDL was not sent.

    Args:
        text: The type, as the message names it, or the topic declares it.
        connector: That of Debezium which sent the message, as it names it.
        is_told: Whether the message names a type.

    Returns:
        The default, and how well it is known: as of `SchemaColumn.original_default` and
        `SchemaColumn.original_default_accuracy`.
    """
    if not text.startswith(PREFIX):
        return None, "unknown"
    column = parse_connect_type(text)
    is_unknown = (
        column.default_is_now
        or ((column.not_null or not is_told) and column.default is None)
        or (
            connector == "postgresql"
            and column.default_may_be_of_function
            and column.base != "boolean"
        )
        or (
            connector == "sqlserver"
            and column.default is not None
            and not column.not_null
        )
    )
    return (None, "unknown") if is_unknown else (column.default, None)


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


_INTEGERS: Final = frozenset({"int8", "int16", "int32", "int64", "uint64"})
_DECIMALS: Final = frozenset({"Decimal", "VariableScaleDecimal"})
_TEXTS: Final = frozenset(
    {"string", "Enum", "EnumSet", "Json", "Xml", "Uuid", "Ltree", "Tsvector"}
)
_FORMS: Final = (_TEXTS, _DECIMALS | {"double"}, _DECIMALS | {"string"})
"""Types that write the values of one type of a source."""

_DIGITS_OF_SECONDS: Final = {"": 3, "Micro": 6, "Nano": 9, "Iso": 9, "Structured": 9}
_TIMES: Final = {
    prefix + kind: (kind, digits)
    for kind in ("Date", "Time", "Timestamp", "ZonedTime", "ZonedTimestamp")
    for prefix, digits in _DIGITS_OF_SECONDS.items()
}
"""By type its kind, and how many digits of a second it can have."""


def changes_meaning(before: str, after: str) -> bool:
    """Tell whether the value of a type of Kafka Connect is not known in another.

    No message tells what the source made of its rows: the column may have another type
    since by ``ALTER ... TYPE ... USING``, or was dropped and added again. The value is
    taken to be the same where the new type holds all values of the one before: a wider
    number, a finer time, another kind of text, and the forms that options of Debezium
    write of one type (``decimal.handling.mode``, ``time.precision.mode``). Bytes become
    hexadecimal digits, base64 or characters by ``binary.handling.mode``, which no message
    tells, and an interval is microseconds or ``P1M`` by ``interval.handling.mode``.
    """
    for text in (before, after):
        if not text.startswith(PREFIX) or text == UNTYPED:
            return False
    return not _holds(parse_connect_type(before).bare, parse_connect_type(after).bare)


def _holds(before: ConnectType, after: ConnectType) -> bool:
    """Tell whether a type has all values of another."""
    old, new = (
        "bytes" if base in BYTES_AS_TEXT else base for base in (before.base, after.base)
    )
    if new == "Decimal" and (old in _INTEGERS or old == "Decimal"):
        return (before.scale or 0) <= (after.scale or 0)
    if old in _TIMES and new in _TIMES:
        (kind, digits), (new_kind, new_digits) = _TIMES[old], _TIMES[new]
        return kind == new_kind and digits <= new_digits
    if before.items is not None and after.items is not None:
        return _holds(before.items, after.items)
    return (
        old == new
        or (old in _INTEGERS and new in _INTEGERS | {"double"})
        or any({old, new} <= forms for forms in _FORMS)
    )


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
