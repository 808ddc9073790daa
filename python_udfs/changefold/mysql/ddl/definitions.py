"""Definitions of columns and keys: names, types, defaults, references."""

from collections.abc import Iterable
from typing import Final, Literal

from sqlglot import TokenType

from changefold.mysql.ddl.actions import DdlColumn, DdlKey, ForeignKey, SqlValue
from changefold.mysql.ddl.reader import (
    STRINGS,
    NotUnderstoodError,
    Reader,
    skip_if_not_exists,
)
from changefold.mysql.types import parse_mysql_type, quote_mysql_string

_NOW: Final = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")


_CLOCK: Final = {
    **dict.fromkeys(_NOW, "CURRENT_TIMESTAMP"),
    "CURRENT_DATE": "CURRENT_DATE",
    "CURDATE": "CURRENT_DATE",
    "CURRENT_TIME": "CURRENT_TIME",
    "CURTIME": "CURRENT_TIME",
    "UTC_TIMESTAMP": "UTC_TIMESTAMP",
    "UTC_DATE": "UTC_DATE",
    "UTC_TIME": "UTC_TIME",
}
"""Functions of the clock, and the names by which a `SqlValue` has them."""


def read_value(reader: Reader) -> SqlValue:
    """Read a literal, or an expression in parentheses, or a call."""
    literal = _literal(reader)
    if literal is not None:
        return literal
    start = reader.index
    if reader.accept("("):
        try:
            value = read_value(reader)
        except NotUnderstoodError:
            value = None
        if value is not None and reader.accept(")"):
            return value
        reader.index = start
        return SqlValue("expression", reader.parenthesised())
    if (now := _clock(reader)) is not None:
        return SqlValue("expression", now)
    reader.name()
    if reader.is_words("VALUE", "FOR"):  # NEXT VALUE FOR sequence
        reader.index += 2
        reader.table_name(is_touched=False)
    elif reader.is_word("("):
        reader.parenthesised()
    return SqlValue("expression", reader.slice(start, reader.index))


_CONSTANTS: Final = {
    "NULL": SqlValue("null"),
    "TRUE": SqlValue("number", "1"),
    "FALSE": SqlValue("number", "0"),
    "MAXVALUE": SqlValue("maxvalue"),
}


def _literal(reader: Reader) -> SqlValue | None:
    """Read a literal, with the introducer of its character set in front."""
    constant = reader.accept_any(*_CONSTANTS)
    if constant is not None:
        return _CONSTANTS[constant]
    token = reader.token()
    is_introduced = token is not None and token.token_type is TokenType.INTRODUCER
    literal = reader.token(1) if is_introduced else token
    if literal is None:
        raise reader.fail("a value")
    if literal.token_type in STRINGS:
        return SqlValue("text", reader.string())
    if literal.token_type in {TokenType.BIT_STRING, TokenType.HEX_STRING}:
        reader.index += 2 if is_introduced else 1
        is_bits = literal.token_type is TokenType.BIT_STRING
        return SqlValue("bits" if is_bits else "hex", literal.text)
    following = reader.token(1)
    if (
        reader.is_any("DATE", "TIME", "TIMESTAMP")
        and following is not None
        and following.token_type in STRINGS
    ):  # DATE '2024-02-29'
        reader.index += 1
        return SqlValue("text", reader.string())
    number = _number(reader)
    return None if number is None else SqlValue("number", number)


def _number(reader: Reader) -> str | None:
    """Read a number with its sign, also ``.5``; ``None`` if there is none."""
    start = reader.index
    sign = reader.accept_any("-", "+")
    point = reader.accept(".")
    token = reader.token()
    if token is None or token.token_type is not TokenType.NUMBER:
        reader.index = start
        return None
    reader.index += 1
    digits = f"0.{token.text}" if point else token.text
    return f"-{digits}" if sign == "-" else digits


def _clock(reader: Reader, names: Iterable[str] = _CLOCK) -> str | None:
    """Read ``NOW(3)`` and the like by its standard name; ``None`` if it is not next."""
    word = reader.accept_any(*names)
    if word is None:
        return None
    digits = reader.parenthesised() if reader.is_word("(") else ""
    return f"{_CLOCK[word]}({digits})" if digits else _CLOCK[word]


_TYPE_CONTINUES: Final = (
    "PRECISION",
    "VARYING",
    "CHARACTER",
    "CHAR",
    "VARCHAR",
    "VARBINARY",
    "BYTE",
)


def _column_type(reader: Reader) -> str:
    """Read a type with its sign and character set; return the canonical text."""
    start = reader.index
    words = [reader.name()]
    while not _is_charset(reader) and (word := reader.accept_any(*_TYPE_CONTINUES)):
        words.append(word)
    if reader.accept("<"):  # VECTOR<FLOAT>(3)
        reader.name()
        reader.require(">")
    text = " ".join(words)
    if reader.accept("("):
        text += "(" + ",".join(reader.listed(lambda: _type_argument(reader))) + ")"
        reader.require(")")
    while (word := reader.accept_any("UNSIGNED", "SIGNED", "ZEROFILL")) is not None:
        text += f" {word}"
    try:
        return str(parse_mysql_type(text))
    except ValueError as error:
        reader.index = start
        raise NotUnderstoodError(str(error)) from error


def _type_argument(reader: Reader) -> str:
    token = reader.token()
    if token is not None and token.token_type is TokenType.HEX_STRING:
        reader.index += 1
        member = bytes.fromhex(token.text).decode("utf-8", "replace")
        return quote_mysql_string(member)
    if token is not None and token.token_type is TokenType.NUMBER:
        reader.index += 1
        return token.text.partition(".")[0]  # MySQL reads DECIMAL(19.5) so
    return quote_mysql_string(reader.string())


def _is_charset(reader: Reader) -> bool:
    return (
        reader.is_words("CHARACTER", "SET")
        or reader.is_words("CHAR", "SET")
        or reader.is_word("CHARSET")
    )


def read_charset(reader: Reader) -> str | None:
    """Read ``CHARACTER SET [=] name``, lower case; ``None`` if it is not next."""
    start = reader.index
    reader.accept("DEFAULT")
    if not _is_charset(reader):
        reader.index = start
        return None
    if not reader.accept("CHARSET"):
        reader.index += 2
    reader.accept("=")
    return reader.text_or_name().lower()


def read_collation(reader: Reader) -> str | None:
    """Read ``COLLATE [=] name``, lower case; ``None`` if it is not next."""
    start = reader.index
    reader.accept("DEFAULT")
    if not reader.accept("COLLATE"):
        reader.index = start
        return None
    reader.accept("=")
    return reader.text_or_name().lower()


class _ColumnBuilder:
    """Collects the attributes of one column."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.nullable = True
        self.default: SqlValue | None = None
        self.on_update: str | None = None
        self.generated: Literal["virtual", "stored"] | None = None
        self.expression: str | None = None
        self.comment: str | None = None
        self.charset: str | None = None
        self.collation: str | None = None
        self.auto_increment = False
        self.primary_key = False
        self.unique = False
        self.foreign_key: ForeignKey | None = None
        self.name = reader.column_name()
        if reader.is_word("SERIAL"):  # BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE
            self._serial()
        if reader.is_any("NATIONAL", "NCHAR", "NVARCHAR"):
            self.charset = "utf8"
        self.type = _column_type(reader)
        while self._attribute():
            pass

    def _serial(self) -> None:
        self.nullable = False
        self.auto_increment = True
        self.unique = True

    def _attribute(self) -> bool:
        """Take one attribute; False if the definition ends here."""
        reader = self.reader
        if reader.at_end or reader.is_any(",", ")", "FIRST", "AFTER"):
            return False
        if not (self._value_attribute() or self._key_attribute() or self._plain()):
            raise reader.fail(f"an attribute of column `{self.name}`")
        return True

    def _value_attribute(self) -> bool:
        reader = self.reader
        if reader.accept("NOT", "NULL"):
            self.nullable = False
        elif reader.accept("NULL"):
            self.nullable = True
        elif reader.accept("SERIAL", "DEFAULT", "VALUE"):
            self._serial()
        elif reader.accept("DEFAULT"):
            self.default = read_value(reader)
        elif reader.accept("ON", "UPDATE"):
            self.on_update = _clock(reader, _NOW)
            if self.on_update is None:
                raise reader.fail("`CURRENT_TIMESTAMP`")
        elif reader.is_words("GENERATED", "ALWAYS", "AS") or reader.is_word("AS"):
            reader.accept("GENERATED", "ALWAYS")
            reader.require("AS")
            if reader.accept("ROW"):  # of MariaDB's system versioning
                edge = reader.accept_any("START", "END")
                self.default = SqlValue("expression", f"ROW {edge or reader.name()}")
                self.nullable = False
                return True
            self.expression = reader.parenthesised()
            self.generated = "virtual"
        elif self.expression and reader.accept_any("STORED", "PERSISTENT"):
            self.generated = "stored"
        elif not (self.expression and reader.accept("VIRTUAL")):
            return False
        return True

    def _key_attribute(self) -> bool:
        reader = self.reader
        if reader.accept("AUTO_INCREMENT"):
            self.auto_increment = True
        elif reader.accept("AUTO_RANDOM"):
            self.auto_increment = True
            if reader.is_word("("):
                reader.parenthesised()
        elif reader.accept("PRIMARY"):
            reader.accept("KEY")
            self.primary_key = True
        elif reader.accept("UNIQUE"):
            reader.accept_any("KEY", "INDEX")
            self.unique = True
        elif reader.accept("KEY"):  # alone it means PRIMARY KEY
            self.primary_key = True
        elif reader.accept("CONSTRAINT"):
            if not reader.is_any("CHECK", "PRIMARY", "UNIQUE", "REFERENCES"):
                reader.name()
        elif reader.accept("CHECK"):
            reader.parenthesised()
            skip_enforced(reader)
        elif reader.accept("REFERENCES"):
            self.foreign_key = read_references(reader, (self.name,), None)
        else:
            storage = ("CLUSTERED", "NONCLUSTERED", "GLOBAL", "LOCAL")
            return reader.accept_any(*storage) is not None
        return True

    def _plain(self) -> bool:
        reader = self.reader
        if reader.accept("COMMENT"):
            self.comment = reader.string()
        elif (charset := read_charset(reader)) is not None:
            self.charset = charset
        elif (collation := read_collation(reader)) is not None:
            self.collation = collation
        elif reader.accept_any("COLUMN_FORMAT", "STORAGE") is not None:
            reader.name()
        elif reader.accept("SRID"):
            reader.number()
        elif reader.accept_any("ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"):
            reader.accept("=")
            reader.string()
        elif reader.accept_any("WITH", "WITHOUT") is not None:
            reader.require("SYSTEM", "VERSIONING")
        elif reader.accept("COMPRESSED"):
            if reader.accept("="):
                reader.text_or_name()
        elif reader.accept("NOT", "SECONDARY") or reader.equals_value():
            pass
        else:
            # BINARY here is a collation, and not the character set `binary`.
            return (
                reader.accept_any("VISIBLE", "INVISIBLE", "BINARY", "ASCII", "UNICODE")
                is not None
            )
        return True

    def build(self) -> DdlColumn:
        mysql_type = parse_mysql_type(self.type)
        if self.charset == "binary":
            mysql_type = mysql_type.as_binary()
        return DdlColumn(
            name=self.name,
            type=str(mysql_type),
            nullable=self.nullable and not self.primary_key,
            default=self.default,
            on_update=self.on_update,
            generated=self.generated,
            expression=self.expression,
            comment=self.comment,
            charset=self.charset,
            collation=self.collation,
            auto_increment=self.auto_increment,
            is_primary_key=self.primary_key,
            is_unique=self.unique,
            foreign_key=self.foreign_key,
        )


def read_column(reader: Reader) -> DdlColumn:
    """Read a column, from its name on."""
    return _ColumnBuilder(reader).build()


def skip_enforced(reader: Reader) -> None:
    """Skip whether a constraint is enforced."""
    reader.accept("NOT")
    reader.accept("ENFORCED")


def read_references(
    reader: Reader, columns: tuple[str, ...], name: str | None
) -> ForeignKey:
    """Read what follows REFERENCES."""
    parent = reader.table_name(is_touched=False)
    parent_columns: tuple[str, ...] = ()
    if reader.is_word("("):
        parent_columns = read_key_parts(reader, "index", None).columns
    actions: dict[str, str] = {}
    while True:
        if reader.accept("MATCH"):
            reader.name()
        elif reader.is_words("ON", "DELETE") or (
            reader.is_words("ON", "UPDATE")
            and not any(reader.is_word(now, 2) for now in _NOW)
        ):
            reader.index += 1
            event = reader.take().text.upper()
            words = [reader.name()]
            if words[0].upper() in {"SET", "NO"}:  # SET NULL, NO ACTION
                words.append(reader.name())
            actions[event] = " ".join(words).lower()
        else:
            return ForeignKey(
                columns=columns,
                parent=parent,
                parent_columns=parent_columns,
                on_delete=actions.get("DELETE"),
                on_update=actions.get("UPDATE"),
                name=name,
            )


def skip_index_type(reader: Reader) -> None:
    """Skip the kind of an index."""
    if reader.accept_any("USING", "TYPE") is not None:
        reader.name()


def _key_part(reader: Reader) -> str | None:
    """Read one part; ``None`` for an expression."""
    if reader.is_word("("):
        reader.parenthesised()
        name = None
    else:
        name = reader.column_name()
        if reader.is_word("("):
            reader.parenthesised()
        if reader.accept("WITHOUT", "OVERLAPS"):  # a period of MariaDB, no column
            return None
    reader.accept_any("ASC", "DESC")
    return name


def read_key_parts(
    reader: Reader, kind: Literal["primary", "unique", "index"], name: str | None
) -> DdlKey:
    """Read the columns of a key, in brackets."""
    reader.require("(")
    parts = reader.listed(lambda: _key_part(reader))
    reader.require(")")
    columns = tuple(part for part in parts if part is not None)
    return DdlKey(kind, name, columns, has_expression=len(columns) < len(parts))


def is_key(reader: Reader) -> bool:
    """Tell whether a key or a constraint is next."""
    return (
        reader.is_any("PRIMARY", "UNIQUE", "INDEX", "KEY", "CONSTRAINT", "CHECK")
        or reader.is_words("FOREIGN", "KEY")
        or (
            reader.is_any("FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR")
            and (
                reader.is_word("INDEX", 1)
                or reader.is_word("KEY", 1)
                or reader.is_any("FULLTEXT", "SPATIAL")
            )
        )
    )


def read_key(reader: Reader) -> DdlKey | ForeignKey | str:
    """Read a key or constraint; text says what it was if it binds no rows."""
    symbol = None
    if reader.accept("CONSTRAINT") and not (
        reader.is_any("PRIMARY", "UNIQUE", "CHECK") or reader.is_words("FOREIGN", "KEY")
    ):
        skip_if_not_exists(reader)
        symbol = reader.name()
    if reader.accept("CHECK"):
        reader.parenthesised()
        skip_enforced(reader)
        return "check constraint"
    if reader.accept("FOREIGN", "KEY"):
        skip_if_not_exists(reader)
        if not reader.is_word("("):
            index = reader.name()
            symbol = symbol or index
        columns = read_key_parts(reader, "index", None).columns
        reader.require("REFERENCES")
        return read_references(reader, columns, symbol)
    kind: Literal["primary", "unique", "index"] = "index"
    if reader.accept("PRIMARY"):
        reader.require("KEY")
        kind = "primary"
    elif reader.accept("UNIQUE"):
        reader.accept_any("INDEX", "KEY")
        kind = "unique"
    else:
        reader.accept_any("FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR")
        reader.accept_any("INDEX", "KEY")
    skip_if_not_exists(reader)
    name = symbol
    if not reader.is_word("(") and not reader.is_any("USING", "TYPE"):
        name = reader.name()
    skip_index_type(reader)
    key = read_key_parts(reader, kind, "PRIMARY" if kind == "primary" else name)
    reader.skip_clause()  # USING, COMMENT, [NON]CLUSTERED, VISIBLE, ...
    return key
