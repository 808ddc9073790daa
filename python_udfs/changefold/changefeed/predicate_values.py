"""Values and literals of SQL in a condition on rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "null",
    "boolean",
    "integer",
    "decimal",
    "double",
    "text",
    "bytes",
    "bits",
    "date",
    "datetime",
    "other",
]


OR: Final = 1


AND: Final = 2


NOT: Final = 3


_PREDICATE: Final = 4


ATOM: Final = 5


@dataclass(frozen=True, slots=True)
class SqlOperand:
    """A part of the expression in Spark SQL.

    Attributes:
        kind: Its type: ``bits`` is a hexadecimal or bit literal, ``other`` a column
            that can only be asked for NULL.
        sql: The text.
        level: How tightly its outermost operator binds.
        digits: Of ``integer`` and ``decimal``: at most so many digits.
        scale: Of ``decimal``: digits behind the point.
        is_wide: Of ``integer``: a decimal in Spark, since it may exceed a bigint.
        literal: Text of a literal; of a number its digits with the sign.
        collation: Of ``text``: collation of its column.
        base: ``year``, ``bit``, ``enum`` or ``set`` of such a column.
        members: Names of an ENUM.
    """

    kind: Kind
    sql: str
    level: int = ATOM
    digits: int = 0
    scale: int = 0
    is_wide: bool = False
    literal: str | None = None
    collation: str | None = None
    base: str | None = None
    members: tuple[str, ...] = ()

    def at(self, level: int) -> str:
        """Return the text, in parentheses where it binds less than `level`."""
        return self.sql if self.level >= level else f"({self.sql})"


NUMBERS: Final = frozenset({"boolean", "integer", "decimal", "double", "bits"})


TIMES: Final = frozenset({"date", "datetime"})


INT_DIGITS: Final = 10


BIGINT_DIGITS: Final = 20


MAX_DIGITS: Final = 38
"""Of a decimal of Spark."""


MAX_SCALE: Final = 30
"""Of a DECIMAL of MySQL."""


MAX_BIGINT: Final = (1 << 63) - 1


TWO_TO_64: Final = "18446744073709551616BD"


PADDED: Final = frozenset(
    {"utf8mb4_bin", "utf8_bin", "utf8mb3_bin", "latin1_bin", "ascii_bin"}
)


BY_BYTES: Final = PADDED | {"utf8mb4_0900_bin", "binary"}


PADDED_CI: Final = frozenset(
    f"{charset}_{order}_ci"
    for charset in ("utf8mb4", "utf8", "utf8mb3")
    for order in ("general", "unicode")
)


BY_LETTERS: Final = PADDED_CI | {"utf8mb4_0900_ai_ci"}


NAME: Final = re.compile(r"(?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))*")


PLAIN_NUMBER: Final = re.compile(r" *([-+]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *")


DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


TIME: Final = re.compile(r"([0-9-]{10})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)")


PRINTABLE: Final = re.compile(r"[ -~]*")


_SPACES: Final = (
    r"[\s\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
)


LEADING_NUMBER: Final = (
    rf"^{_SPACES}*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
)
"""What TiDB reads as the number of a text, behind the space that Go cuts off."""


NULL: Final = SqlOperand("null", "null")


NULL_TRUTH: Final = SqlOperand("boolean", "cast(null as boolean)")


def boolean_operand(sql: str) -> SqlOperand:
    """Return a condition as an operand."""
    return SqlOperand("boolean", sql, _PREDICATE)


def integer_operand(
    sql: str, digits: int = BIGINT_DIGITS, *, wide: bool = False
) -> SqlOperand:
    """Return a whole number as an operand."""
    return SqlOperand("integer", sql, digits=digits, is_wide=wide)


def number_literal(text: str) -> SqlOperand:
    """Return an unquoted number: an integer, a decimal or a double."""
    if "e" in text.lower():
        return SqlOperand("double", f"{text}D", literal=text)
    sign = "-" if text.startswith("-") else ""
    whole, _, fraction = text.lstrip("+-").partition(".")
    whole = whole.lstrip("0") or "0"
    literal = f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
    is_integer = "." not in text and int(whole) < 1 << 64
    return SqlOperand(
        "integer" if is_integer else "decimal",
        literal,
        digits=len(whole) + len(fraction),
        scale=len(fraction),
        is_wide=is_integer and int(whole) > MAX_BIGINT,
        literal=literal,
    )


def reciprocal_text(value: SqlOperand) -> SqlOperand | None:
    """Return 1 / n of a literal n if it has no more than four digits."""
    number = int(value.literal) if value.kind == "integer" and value.literal else 0
    for places in range(5):
        if number > 0 and 10**places % number == 0:
            digits = str(10**places // number).zfill(places + 1)
            point = len(digits) - places
            return number_literal(f"{digits[:point]}.{digits[point:]}")
    return None
