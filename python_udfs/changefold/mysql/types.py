"""MySQL and TiDB column types as values.

One type has many spellings: ``INTEGER``, ``int(11)`` and ``int`` are the same, so
are ``numeric`` and ``decimal(10,0)``. `parse_mysql_type` reads them all and
``str()`` of the result is the one canonical text that this project stores.

Sources: MySQL 8.0 reference manual, chapter 13 "Data Types"; the forms that
TiCDC writes into ``mysqlType`` of Canal-JSON (``varchar``, or ``varchar(10)`` with
``content-compatible``).
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

__all__ = [
    "BINARY_TYPES",
    "BLOB_TYPES",
    "INTEGER_BITS",
    "TEXT_TYPES",
    "TIME_TYPES",
    "MySqlType",
    "decode_mysql_string",
    "parse_mysql_type",
    "quote_mysql_string",
]

INTEGER_BITS: Final = {
    "tinyint": 8,
    "smallint": 16,
    "mediumint": 24,
    "int": 32,
    "bigint": 64,
}
"""Width in bits of each integer type."""

TEXT_TYPES: Final = frozenset(
    {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
)
"""Types of characters, without ENUM and SET."""

BLOB_TYPES: Final = frozenset({"tinyblob", "blob", "mediumblob", "longblob"})
"""Types of bytes without a declared length."""

BINARY_TYPES: Final = BLOB_TYPES | {"binary", "varbinary"}
"""Types of bytes; BIT is a number, not bytes."""

TIME_TYPES: Final = frozenset({"date", "time", "datetime", "timestamp"})
"""Types of time, without YEAR."""

_SPATIAL: Final = frozenset(
    {
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
    }
)

_KNOWN: Final = (
    frozenset(INTEGER_BITS)
    | TEXT_TYPES
    | BINARY_TYPES
    | TIME_TYPES
    | _SPATIAL
    | {"decimal", "float", "double", "bit", "year", "enum", "set", "json", "vector"}
    # MariaDB
    | {"uuid", "inet4", "inet6"}
)

_NUMBERS: Final = frozenset(INTEGER_BITS) | {"decimal", "float", "double"}

# MySQL 8.0 manual, 13.9 "Using Data Types from Other Database Engines", and the
# synonyms named in the sections of the types themselves.
_SYNONYMS: Final = {
    "integer": "int",
    "int1": "tinyint",
    "int2": "smallint",
    "int3": "mediumint",
    "int4": "int",
    "int8": "bigint",
    "middleint": "mediumint",
    "dec": "decimal",
    "fixed": "decimal",
    "numeric": "decimal",
    "real": "double",
    "double precision": "double",
    "float4": "float",
    "float8": "double",
    "character": "char",
    "nchar": "char",
    "national char": "char",
    "national character": "char",
    "char varying": "varchar",
    "character varying": "varchar",
    "nvarchar": "varchar",
    "nchar varchar": "varchar",
    "nchar varying": "varchar",
    "national varchar": "varchar",
    "national char varying": "varchar",
    "national character varying": "varchar",
    "varcharacter": "varchar",
    "char byte": "binary",
    "long": "mediumtext",
    "long varchar": "mediumtext",
    "long char varying": "mediumtext",
    "long character varying": "mediumtext",
    "long varbinary": "mediumblob",
    "geomcollection": "geometrycollection",
}

# The width that MySQL writes for a zero-filled number without one; the value is
# padded to it, so here the width is more than decoration.
_ZEROFILL_WIDTH: Final = {
    "tinyint": 3,
    "smallint": 5,
    "mediumint": 8,
    "int": 10,
    "bigint": 20,
}

_ONE_BY_DEFAULT: Final = frozenset({"char", "binary", "bit"})

_AS_BINARY: Final = {
    "char": "binary",
    "varchar": "varbinary",
    "tinytext": "tinyblob",
    "text": "blob",
    "mediumtext": "mediumblob",
    "longtext": "longblob",
}


@dataclass(frozen=True, slots=True)
class MySqlType:
    """One column type.

    Attributes:
        base: Canonical lower-case name: ``int``, ``varchar``, ``datetime``.
        length: Characters, bytes, bits, dimensions of a vector, decimal digits, or
            fraction digits of a time. ``None``: none given, or it does not matter.
        scale: Digits behind the point of DECIMAL, ``FLOAT(m,d)``, ``DOUBLE(m,d)``.
        unsigned: The number has no sign.
        zerofill: MySQL pads the number to ``length`` when it prints it.
        elements: Members of ENUM or SET, in declared order.
    """

    base: str
    length: int | None = None
    scale: int | None = None
    unsigned: bool = False
    zerofill: bool = False
    elements: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the canonical text, which `parse_mysql_type` reads back."""
        text = self.base
        if self.elements:
            text += "(" + ",".join(quote_mysql_string(e) for e in self.elements) + ")"
        elif self.length is not None:
            text += f"({self.length}"
            text += f",{self.scale})" if self.scale is not None else ")"
        if self.unsigned:
            text += " unsigned"
        if self.zerofill:
            text += " zerofill"
        return text

    @property
    def is_integer(self) -> bool:
        """TINYINT to BIGINT; not BIT, not YEAR."""
        return self.base in INTEGER_BITS

    @property
    def is_text(self) -> bool:
        """CHAR, VARCHAR and the TEXT family."""
        return self.base in TEXT_TYPES

    @property
    def is_binary(self) -> bool:
        """BINARY, VARBINARY and the BLOB family."""
        return self.base in BINARY_TYPES

    @property
    def fraction_digits(self) -> int:
        """Fraction digits of TIME, DATETIME and TIMESTAMP; 0 for others."""
        if self.base in {"time", "datetime", "timestamp"}:
            return self.length or 0
        return 0

    @property
    def integer_range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer type.

        Raises:
            ValueError: If this is not an integer type.
        """
        if self.base not in INTEGER_BITS:
            raise ValueError(f"Expected an integer type, got {self}")
        bits = INTEGER_BITS[self.base]
        if self.unsigned:
            return 0, (1 << bits) - 1
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def as_binary(self) -> "MySqlType":
        """Return what ``CHARACTER SET binary`` makes of this type.

        MySQL 8.0 manual, 13.3.1: CHAR becomes BINARY, VARCHAR becomes VARBINARY,
        TEXT becomes BLOB; ENUM and SET stay.
        """
        base = _AS_BINARY.get(self.base)
        return self if base is None else replace(self, base=base)


_WORDS: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_STRING: Final = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"", re.DOTALL
)
_DIGITS: Final = re.compile(r"\d+")
_SPACE: Final = re.compile(r"\s*")
_ESCAPES: Final = {
    "0": "\0",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "Z": "\x1a",
    # LIKE patterns keep the backslash of these two (MySQL manual, 11.1.1).
    "%": "\\%",
    "_": "\\_",
}


def quote_mysql_string(text: str) -> str:
    """Write ``text`` as ``information_schema`` writes the members of an ENUM.

    Only the quote is doubled. A backslash is doubled too, so that what is written
    can be read back.
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def decode_mysql_string(literal: str) -> str:
    """Return the text of a quoted MySQL literal (MySQL manual, 11.1.1).

    Args:
        literal: The literal with its quotes: ``'it''s'``.

    Returns:
        Its text, with doubled quotes and backslash escapes resolved.
    """
    quote, body = literal[0], literal[1:-1]
    if "\\" not in body:
        return body.replace(quote * 2, quote)
    result: list[str] = []
    index = 0
    while index < len(body):
        char = body[index]
        if char == "\\" and index + 1 < len(body):
            following = body[index + 1]
            result.append(_ESCAPES.get(following, following))
            index += 2
        else:
            result.append(char)
            index += 2 if char == quote else 1
    return "".join(result)


_ATTRIBUTES: Final = frozenset(
    {"unsigned", "signed", "zerofill", "binary", "byte", "ascii", "unicode"}
)


class _Reader:
    """Reads words, numbers and strings of one type text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._skip()

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def fail(self, expected: str) -> ValueError:
        rest = self.text[self.position :] or "the end"
        return ValueError(f"Expected {expected}, got `{rest}` - in type `{self.text}`")

    def accept(self, char: str) -> bool:
        if self.text.startswith(char, self.position):
            self.position += len(char)
            self._skip()
            return True
        return False

    def require(self, char: str) -> None:
        if not self.accept(char):
            raise self.fail(f"`{char}`")

    def word(self) -> str | None:
        match = _WORDS.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        self._skip()
        return match.group().lower()

    def number(self) -> int:
        match = _DIGITS.match(self.text, self.position)
        if match is None:
            raise self.fail("a number")
        self.position = match.end()
        self._skip()
        return int(match.group())

    def string(self) -> str:
        match = _STRING.match(self.text, self.position)
        if match is None:
            raise self.fail("a quoted text")
        self.position = match.end()
        self._skip()
        return decode_mysql_string(match.group())

    @property
    def at_end(self) -> bool:
        return self.position == len(self.text)


def _read_base(reader: _Reader) -> str:
    """Read the name of the type: the longest run of words that is one."""
    word = reader.word()
    if word is None:
        raise reader.fail("the name of a type")
    name = word
    while True:
        start = reader.position
        following = reader.word()
        longer = f"{name} {following}"
        prefixes = (*_SYNONYMS, "nchar varying")
        if following is None or not any(s.startswith(longer) for s in prefixes):
            reader.position = start
            break
        name = longer
    return name


def _read_arguments(reader: _Reader, base: str) -> tuple[list[int], tuple[str, ...]]:
    """Read what stands in parentheses: numbers, or members of ENUM and SET."""
    if base == "vector" and reader.accept("<"):
        reader.word()  # VECTOR<FLOAT>(3), the only element type of TiDB
        reader.require(">")
    if not reader.accept("("):
        return [], ()
    numbers: list[int] = []
    elements: list[str] = []
    while True:
        if base in {"enum", "set"}:
            element = reader.string()
            # MySQL cuts trailing spaces of members when the table is created.
            elements.append(element.rstrip(" "))
        else:
            numbers.append(reader.number())
        if not reader.accept(","):
            break
    reader.require(")")
    return numbers, tuple(elements)


def _text_of_length(base: str, length: int) -> str:
    """Return the smallest TEXT or BLOB that holds ``length`` (manual, 13.3.4)."""
    suffix = base
    size = length * 4 if base == "text" else length  # utf8mb4
    for prefix, limit in (("tiny", 1 << 8), ("", 1 << 16), ("medium", 1 << 24)):
        if size < limit:
            return prefix + suffix
    return "long" + suffix


@lru_cache(maxsize=4096)
def parse_mysql_type(text: str, *, declared: bool = True) -> MySqlType:
    """Read a column type as DDL, ``information_schema`` or a message writes it.

    Args:
        text: The type: ``bigint(20) unsigned``, ``enum('a','it''s')``, ``BOOLEAN``.
        declared: The text is a whole declaration, so that what it leaves out has
            MySQL's default: ``decimal`` is ``decimal(10,0)``, ``char`` is
            ``char(1)``. Pass ``False`` for ``mysqlType`` of a Canal-JSON message
            without ``content-compatible``, which leaves lengths out: they stay
            unknown (``None``).

    Returns:
        The type; ``str()`` of it is canonical.

    Raises:
        ValueError: If the text is not a type of MySQL or TiDB.
    """
    reader = _Reader(text.strip())
    name = _read_base(reader)
    base = _SYNONYMS.get(name, name)
    if name in {"bool", "boolean"}:
        return MySqlType("tinyint", length=1)
    if name == "serial":  # manual, 13.1.1: and NOT NULL AUTO_INCREMENT UNIQUE
        return MySqlType("bigint", unsigned=True)
    if base not in _KNOWN:
        raise ValueError(f"Expected a MySQL type, got `{name}` - in type `{text}`")
    numbers, elements = _read_arguments(reader, base)
    if base in {"enum", "set"} and declared and not elements:
        raise reader.fail("the members in parentheses")
    attributes = _read_attributes(reader)
    unsigned = bool(attributes & {"unsigned", "zerofill"})
    zerofill = "zerofill" in attributes
    if base not in _NUMBERS and unsigned:
        raise ValueError(f"Expected no sign of `{base}` - in type `{text}`")
    mysql_type = _with_sizes(base, numbers, declared=declared)
    if zerofill and mysql_type.is_integer:
        width = numbers[0] if numbers else _ZEROFILL_WIDTH[base]
        mysql_type = replace(mysql_type, length=width)
    mysql_type = replace(
        mysql_type, unsigned=unsigned, zerofill=zerofill, elements=elements
    )
    return mysql_type.as_binary() if "byte" in attributes else mysql_type


def _read_attributes(reader: _Reader) -> set[str]:
    """Read what follows the size; `byte` also stands for CHARACTER SET binary."""
    attributes: set[str] = set()
    while (word := reader.word()) is not None:
        if word in {"character", "charset", "char"}:
            if word != "charset" and reader.word() != "set":
                raise reader.fail("`set`")
            if reader.word() == "binary":
                attributes.add("byte")
        elif word == "collate":
            reader.word()
        elif word in _ATTRIBUTES:
            attributes.add(word)
        else:
            raise ValueError(
                f"Expected an attribute, got `{word}` - in type `{reader.text}`"
            )
    if not reader.at_end:
        raise reader.fail("the end of the type")
    return attributes


def _with_sizes(base: str, numbers: list[int], *, declared: bool) -> MySqlType:
    """Give a base type its length and scale, with MySQL's defaults."""
    first = numbers[0] if numbers else None
    second = numbers[1] if len(numbers) > 1 else None
    length: int | None = None
    scale: int | None = None
    if base == "tinyint":
        # Only the width of tinyint(1) tells something: it is a boolean.
        length = 1 if first == 1 else None
    elif base == "decimal":
        if first is not None or declared:
            # decimal(0) means the default precision as well (manual, 13.1.3).
            length, scale = first or 10, second or 0
    elif base in {"float", "double"}:
        if second is not None:
            length, scale = first, second
        elif first is not None and first > 24:  # manual, 13.1.4
            base = "double"
    elif base in {"time", "datetime", "timestamp"}:
        length = first or None
    elif base in {"text", "blob"} and first is not None:
        base = _text_of_length(base, first)
    elif base in _ONE_BY_DEFAULT and first is None and declared:
        length = 1
    elif base in _ONE_BY_DEFAULT | {"varchar", "varbinary", "vector"}:
        length = first
    return MySqlType(base, length=length, scale=scale)
