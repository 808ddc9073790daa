"""Tokens of a DDL statement, and a reader that goes along them."""

import re
from collections.abc import Callable
from typing import Final, TypeVar

from sqlglot import Token, TokenType
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError

from changefold.mysql.ddl.actions import TableName
from changefold.mysql.types import decode_mysql_string


class NotUnderstoodError(Exception):
    """Reading stopped; the text is the sentence for `DdlStatement.reason`."""


class _Tokenizer(MySQL.Tokenizer):
    """MySQL's tokenizer, with each keyword one word and no opaque commands."""

    COMMANDS: Final = set()  # type: ignore[misc] # sqlglot has it as a ClassVar
    KEYWORDS: Final = {  # type: ignore[misc] # sqlglot has it as a ClassVar
        word: kind for word, kind in MySQL.Tokenizer.KEYWORDS.items() if " " not in word
    }


# What does not end goes on to the end: else each quote in it would be tried anew.
_QUOTED_OR_COMMENT: Final = re.compile(
    r"""
      '(?:[^'\\]++|\\.?|'')*+'? | "(?:[^"\\]++|\\.?|"")*+"? | `(?:[^`]++|``)*+`?
    | \#[^\n]*+ | --(?=\s)[^\n]*+
    | /\*(?P<mark>T!(?:\[[^\]/]*+\])?|M?!\d*+)(?P<body>.*?)\*/
    | /\*.*?(?:\*/|\Z)
    """,
    re.DOTALL | re.VERBOSE,
)


def _open_executable_comments(sql: str) -> str:
    """Turn ``/*T![x] ... */`` and ``/*!50100 ... */`` into text, offsets kept.

    TiDB executes the first, MySQL the second, so both are part of the statement.
    """

    def opened(match: re.Match[str]) -> str:
        if match["mark"] is None:
            return match[0]
        return " " * (2 + len(match["mark"])) + match["body"] + "  "

    return _QUOTED_OR_COMMENT.sub(opened, sql)


_T = TypeVar("_T")


STRINGS: Final = frozenset({TokenType.STRING, TokenType.NATIONAL_STRING})


_NOT_KEYWORDS: Final = STRINGS | {
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.BIT_STRING,
    TokenType.HEX_STRING,
}


_WORD: Final = re.compile(r"[\w$]+")


END: Final = "the end of the statement"


class Reader:
    """Tokens of one statement, read from left to right.

    Attributes:
        tables: Tables that were read and whose rows the statement may change.
        doubt: What it does to rows that its text does not tell.
    """

    def __init__(self, sql: str, database: str) -> None:
        self.sql = _open_executable_comments(sql)
        self.database = database
        self.index = 0
        self.tables: list[TableName] = []
        self.doubt: str | None = None
        try:
            self.tokens: list[Token] = _Tokenizer().tokenize(self.sql)
        except SqlglotError as error:
            raise NotUnderstoodError(f"Expected SQL, got {error}") from error
        while self.tokens and self.tokens[-1].token_type is TokenType.SEMICOLON:
            self.tokens.pop()

    # Looking

    def token(self, ahead: int = 0) -> Token | None:
        """Return a token that is ahead; None behind the end."""
        position = self.index + ahead
        return self.tokens[position] if position < len(self.tokens) else None

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.index >= len(self.tokens)

    def is_word(self, word: str, ahead: int = 0) -> bool:
        """Tell whether the token is this keyword; a quoted name never is."""
        token = self.token(ahead)
        return (
            token is not None
            and token.token_type not in _NOT_KEYWORDS
            and token.text.upper() == word
        )

    def is_words(self, *words: str) -> bool:
        """Tell whether these words are next."""
        return all(self.is_word(word, ahead) for ahead, word in enumerate(words))

    def is_any(self, *words: str) -> bool:
        """Tell whether one of these words is next."""
        return any(self.is_word(word) for word in words)

    def here(self) -> str:
        """Return the text that is next, for a sentence."""
        token = self.token()
        if token is None:
            return END
        return f"`{self.sql[token.start : token.start + 40]}` at {token.start + 1}"

    def fail(self, expected: str) -> NotUnderstoodError:
        """Return the error that something else was expected here."""
        return NotUnderstoodError(f"Expected {expected}, got {self.here()}")

    # Taking

    def accept(self, *words: str) -> bool:
        """Take these keywords or symbols if they come next."""
        if self.is_words(*words):
            self.index += len(words)
            return True
        return False

    def accept_any(self, *words: str) -> str | None:
        """Take one of these words, if it is next, and return it."""
        for word in words:
            if self.accept(word):
                return word
        return None

    def require(self, *words: str) -> None:
        """Take these words."""
        if not self.accept(*words):
            raise self.fail(f"`{' '.join(words)}`")

    def take(self) -> Token:
        """Take the next token."""
        token = self.token()
        if token is None:
            raise self.fail("more")
        self.index += 1
        return token

    def name(self) -> str:
        """Take an identifier."""
        token = self.token()
        following = self.token(1)
        if token is None:
            raise self.fail("a name")
        if (
            token.token_type is TokenType.NUMBER
            and following is not None
            and following.token_type is TokenType.VAR
            and following.start == token.end + 1
        ):  # `1a` without quotes
            self.index += 2
            return token.text + following.text
        is_ansi = token.token_type is TokenType.STRING and self.sql[token.start] == '"'
        is_name = token.token_type is TokenType.IDENTIFIER or (
            token.token_type not in _NOT_KEYWORDS
            and _WORD.fullmatch(token.text) is not None
        )
        if not is_name and not is_ansi:
            raise self.fail("a name")
        self.index += 1
        if is_ansi:  # with sql_mode ANSI_QUOTES, where no text can stand
            return self.sql[token.start + 1 : token.end].replace('""', '"')
        return token.text

    def column_name(self) -> str:
        """Take a column name, of which only the last part counts."""
        self.accept(".")
        name = self.name()
        while self.accept("."):
            name = self.name()
        return name

    def table_name(self, *, is_touched: bool = True) -> TableName:
        """Take the name of a table; MySQL takes one with a point in front, too."""
        self.accept(".")
        table = TableName(self.database, self.name())
        if self.accept("."):
            table = TableName(table.table, self.name(), is_qualified=True)
        if is_touched:
            self.tables.append(table)
        return table

    def string(self) -> str:
        """Take a text, an introducer in front and further pieces behind it."""
        pieces: list[str] = []
        token = self.token()
        if token is not None and token.token_type is TokenType.INTRODUCER:
            self.index += 1
        while (token := self.token()) is not None and token.token_type in STRINGS:
            source = self.sql[token.start : token.end + 1]
            pieces.append(decode_mysql_string(source.lstrip("nN")))
            self.index += 1
        if not pieces:
            raise self.fail("a quoted text")
        return "".join(pieces)

    def text_or_name(self) -> str:
        """Take a value that may be quoted or not, as names of character sets."""
        token = self.token()
        if token is not None and token.token_type in STRINGS:
            return self.string()
        return self.name()

    def number(self) -> int:
        """Take a whole number."""
        token = self.token()
        if token is None or not token.text.isdecimal():
            raise self.fail("a number")
        self.index += 1
        return int(token.text)

    def equals_value(self) -> bool:
        """Take ``name = value``, any option; False if it is not next."""
        if self.is_word("=", 1) and self.token(2) is not None:
            self.index += 3
            return True
        return False

    def slice(self, start: int, end: int) -> str:
        """Return the source text of the tokens from `start` to before `end`."""
        if start >= end:
            return ""
        first, last = self.tokens[start], self.tokens[end - 1]
        return self.sql[first.start : last.end + 1].strip()

    def parenthesised(self) -> str:
        """Take a balanced ``( ... )`` and return the text inside."""
        self.require("(")
        start = self.index
        depth = 1
        while depth:
            token = self.take()
            if token.token_type is TokenType.L_PAREN:
                depth += 1
            elif token.token_type is TokenType.R_PAREN:
                depth -= 1
        return self.slice(start, self.index - 1)

    def skip_clause(self) -> str:
        """Skip to the next comma or closing parenthesis of this level."""
        start = self.index
        while not self.at_end and not self.is_any(",", ")"):
            if self.is_word("("):
                self.parenthesised()
            else:
                self.index += 1
        return self.slice(start, self.index)

    def listed(self, item: Callable[[], _T]) -> tuple[_T, ...]:
        """Take ``item, item, ...``."""
        items = [item()]
        while self.accept(","):
            items.append(item())
        return tuple(items)

    def names(self) -> tuple[str, ...]:
        """Take names of columns, in brackets."""
        return self.listed(self.column_name)


def skip_if_not_exists(reader: Reader) -> bool:
    """Take IF NOT EXISTS, if it is next, and tell so."""
    return reader.accept("IF", "NOT", "EXISTS")


def skip_if_exists(reader: Reader) -> bool:
    """Take IF EXISTS, if it is next, and tell so."""
    return reader.accept("IF", "EXISTS")


def skip_to_end(reader: Reader) -> None:
    """Pass over all that is left."""
    reader.index = len(reader.tokens)


def skip_lock_wait(reader: Reader) -> None:
    """Skip how long MariaDB waits for a lock."""
    if reader.accept("WAIT"):
        reader.number()
    else:
        reader.accept("NOWAIT")
