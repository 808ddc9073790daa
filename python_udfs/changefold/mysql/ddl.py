"""Read one DDL statement of MySQL or TiDB into typed actions.

``sqlglot`` splits the text into tokens (its MySQL tokenizer knows quoting, comments,
introducers and literals). Its parser is not used: it turns ``RENAME TABLE`` and most
forms of ``ALTER TABLE`` into an opaque command. A small recursive-descent reader takes
its place, one method per clause of the grammar.

What the reader does not know is never guessed: the statement comes back with
``understood=False`` and a sentence that says where reading stopped.

Sources: MySQL 8.0 and 9 reference manuals, 15.1 "Data Definition Statements"; MariaDB's
documentation of its statements (WAIT, system versioning, IGNORED indexes); TiDB's
documentation of its ALTER TABLE; the text that TiCDC sends, which TiDB's parser has
restored (back-quoted names, upper-case keywords, TiDB features in ``/*T! */``).
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, Literal, TypeVar

import msgspec
from sqlglot import Token, TokenType
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError

from changefold.mysql.types import (
    decode_mysql_string,
    parse_mysql_type,
    quote_mysql_string,
)

__all__ = [
    "Action",
    "AddColumn",
    "AddKey",
    "ConvertCharset",
    "CreateDatabase",
    "CreateTable",
    "DdlColumn",
    "DdlKey",
    "DdlStatement",
    "DropColumn",
    "DropDatabase",
    "DropKey",
    "DropTable",
    "ForeignKey",
    "ModifyColumn",
    "NoEffect",
    "NoRowEffect",
    "Partition",
    "PartitionAction",
    "Partitioning",
    "RecoverTable",
    "RenameColumn",
    "RenameKey",
    "RenameTable",
    "SetDefault",
    "SqlValue",
    "TableCharset",
    "TableComment",
    "TableName",
    "TruncateTable",
    "parse_ddl",
]


class TableName(msgspec.Struct, frozen=True):
    """A table, with the database that an unqualified name got.

    Attributes:
        database: Database of the table.
        table: Name of the table, case kept.
        is_qualified: The statement itself named the database.
    """

    database: str
    table: str
    is_qualified: bool = False


class SqlValue(msgspec.Struct, frozen=True):
    """A literal or an expression, as in DEFAULT or in the bounds of a partition.

    Attributes:
        form: ``null``; ``text`` (quotes resolved); ``number`` (as written, also for
            TRUE and FALSE); ``bits`` (digits 0 and 1); ``hex`` (hexadecimal digits);
            ``maxvalue`` (of a partition); ``expression`` (its SQL text).
        text: The text of that form; empty for ``null`` and ``maxvalue``. An expression
            is as written, without parentheses around the whole. If it is one call of a
            function of the clock, its standard name: ``CURRENT_TIMESTAMP(n)``,
            ``CURRENT_DATE``, ``CURRENT_TIME(n)``, ``UTC_TIMESTAMP(n)``, ``UTC_DATE``,
            ``UTC_TIME(n)``, ``(n)`` only if it was written.
    """

    form: Literal["null", "text", "number", "bits", "hex", "maxvalue", "expression"]
    text: str = ""


class ForeignKey(msgspec.Struct, frozen=True):
    """A foreign key: the rows of its table refer to those of another, the parent.

    Attributes:
        columns: Columns of the table itself.
        parent: The table that is referred to.
        parent_columns: Its columns; empty where the statement names none.
        on_delete: What a DELETE in the parent does to the rows that refer to it, lower
            case: ``cascade``, ``set null``, ``set default``, ``restrict``,
            ``no action``; ``None`` without a clause.
        on_update: The same of an UPDATE of the parent's key.
        name: Name of the constraint, ``None`` if the source makes one up.
    """

    columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...] = ()
    on_delete: str | None = None
    on_update: str | None = None
    name: str | None = None


class DdlColumn(msgspec.Struct, frozen=True):
    """A column definition.

    Attributes:
        name: Name, case kept.
        type: Canonical text of the type, see `mysql.types`.
        nullable: False with NOT NULL, and for an inline PRIMARY KEY.
        default: ``None``: no DEFAULT clause. ``DEFAULT NULL`` has form ``null``. That of
            a column of MariaDB which the server fills in for system versioning is the
            expression ``ROW START`` or ``ROW END``.
        on_update: ``CURRENT_TIMESTAMP(n)`` of ON UPDATE.
        generated: How a generated column is kept.
        expression: SQL text of a generated column.
        comment: Text of COMMENT.
        charset: Character set, lower case, if the definition names one.
        collation: Collation, lower case, if the definition names one.
        auto_increment: AUTO_INCREMENT or AUTO_RANDOM.
        is_primary_key: Inline PRIMARY KEY.
        is_unique: Inline UNIQUE.
        foreign_key: Inline REFERENCES, which MariaDB and MySQL from 9.0 on obey.
    """

    name: str
    type: str
    nullable: bool = True
    default: SqlValue | None = None
    on_update: str | None = None
    generated: Literal["virtual", "stored"] | None = None
    expression: str | None = None
    comment: str | None = None
    charset: str | None = None
    collation: str | None = None
    auto_increment: bool = False
    is_primary_key: bool = False
    is_unique: bool = False
    foreign_key: ForeignKey | None = None


class DdlKey(msgspec.Struct, frozen=True):
    """An index.

    Attributes:
        kind: What the index is; ``index`` for all that bind no rows.
        name: Its name, ``None`` if MySQL makes one up.
        columns: Its columns in key order; prefix lengths are left out, since a unique
            prefix makes the whole value unique.
        has_expression: A part is an expression, so `columns` is not the whole key.
    """

    kind: Literal["primary", "unique", "index"]
    name: str | None
    columns: tuple[str, ...]
    has_expression: bool = False


class Partition(msgspec.Struct, frozen=True):
    """One partition.

    Attributes:
        name: Its name.
        less_than: Upper bound (exclusive) of RANGE, one value per column.
        values_in: Values of LIST; each a tuple of one value per column.
    """

    name: str
    less_than: tuple[SqlValue, ...] | None = None
    values_in: tuple[tuple[SqlValue, ...], ...] | None = None


class Partitioning(msgspec.Struct, frozen=True):
    """How a table is partitioned.

    Attributes:
        method: ``hash``, ``key``, ``range``, ``range columns``, ``list``,
            ``list columns``, ``system_time``; ``linear`` in front where it was written.
        expression: SQL text in the parentheses of HASH, RANGE and LIST.
        columns: Columns, for KEY and COLUMNS, or if the expression is one column.
        partitions: The partitions, in order.
        subpartitioned: There are subpartitions, which are not kept here.
    """

    method: str
    expression: str | None = None
    columns: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    subpartitioned: bool = False


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class _Action(msgspec.Struct, frozen=True, tag_field="action", tag=_snake):
    """Base of all actions; ``action`` in JSON names the class."""


class CreateDatabase(_Action, frozen=True):
    """CREATE DATABASE."""

    database: str
    if_not_exists: bool = False


class DropDatabase(_Action, frozen=True):
    """DROP DATABASE: every table in it ends."""

    database: str
    if_exists: bool = False


class CreateTable(_Action, frozen=True):
    """CREATE TABLE, or CREATE TABLE LIKE (then only `like` says what it holds)."""

    table: TableName
    columns: tuple[DdlColumn, ...] = ()
    keys: tuple[DdlKey, ...] = ()
    if_not_exists: bool = False
    or_replace: bool = False
    temporary: bool = False
    like: TableName | None = None
    charset: str | None = None
    collation: str | None = None
    comment: str | None = None
    partitioning: Partitioning | None = None
    foreign_keys: tuple[ForeignKey, ...] = ()


class DropTable(_Action, frozen=True):
    """DROP TABLE of one table."""

    table: TableName
    if_exists: bool = False
    temporary: bool = False


class TruncateTable(_Action, frozen=True):
    """TRUNCATE TABLE: every row ends, the table stays."""

    table: TableName


class RenameTable(_Action, frozen=True):
    """One pair of RENAME TABLE, or ALTER TABLE RENAME."""

    table: TableName
    target: TableName


class RecoverTable(_Action, frozen=True):
    """RECOVER or FLASHBACK TABLE of TiDB: a dropped table comes back with rows."""

    table: TableName
    target: TableName


class AddColumn(_Action, frozen=True):
    """ALTER TABLE ADD COLUMN; neither `first` nor `after`: at the end."""

    table: TableName
    column: DdlColumn
    first: bool = False
    after: str | None = None
    if_not_exists: bool = False


class DropColumn(_Action, frozen=True):
    """ALTER TABLE DROP COLUMN."""

    table: TableName
    column: str
    if_exists: bool = False


class RenameColumn(_Action, frozen=True):
    """ALTER TABLE RENAME COLUMN."""

    table: TableName
    column: str
    target: str


class ModifyColumn(_Action, frozen=True):
    """ALTER TABLE MODIFY or CHANGE; `name` is the name before."""

    table: TableName
    name: str
    column: DdlColumn
    first: bool = False
    after: str | None = None
    if_exists: bool = False


class SetDefault(_Action, frozen=True):
    """ALTER COLUMN SET DEFAULT; `default` is ``None`` for DROP DEFAULT."""

    table: TableName
    column: str
    default: SqlValue | None


class AddKey(_Action, frozen=True):
    """ADD INDEX, ADD UNIQUE, ADD PRIMARY KEY, CREATE INDEX."""

    table: TableName
    key: DdlKey


class DropKey(_Action, frozen=True):
    """DROP INDEX, DROP PRIMARY KEY (name ``PRIMARY``), DROP CONSTRAINT."""

    table: TableName
    name: str


class RenameKey(_Action, frozen=True):
    """ALTER TABLE RENAME INDEX."""

    table: TableName
    name: str
    target: str


class TableComment(_Action, frozen=True):
    """ALTER TABLE COMMENT."""

    table: TableName
    comment: str


class TableCharset(_Action, frozen=True):
    """ALTER TABLE CHARACTER SET: the default for columns added later."""

    table: TableName
    charset: str | None
    collation: str | None = None


class ConvertCharset(_Action, frozen=True):
    """ALTER TABLE CONVERT TO CHARACTER SET: all columns and the default."""

    table: TableName
    charset: str | None
    collation: str | None = None


class PartitionAction(_Action, frozen=True):
    """A change of partitions.

    Attributes:
        table: The partitioned table.
        operation: What is done. ``truncate``, ``drop`` and ``exchange`` end or move
            rows; the others only move them between partitions.
        names: Partitions named.
        all_partitions: ALL instead of names.
        partitions: New partitions of ``add`` and ``reorganize``.
        count: Number of ``add`` or ``coalesce`` without definitions.
        exchange_with: The other table of ``exchange``.
        partitioning: New partitioning of ``partition_by``.
        if_exists: IF EXISTS of ``drop``.
    """

    table: TableName
    operation: Literal[
        "truncate",
        "drop",
        "exchange",
        "add",
        "reorganize",
        "coalesce",
        "remove",
        "partition_by",
    ]
    names: tuple[str, ...] = ()
    all_partitions: bool = False
    partitions: tuple[Partition, ...] = ()
    count: int | None = None
    exchange_with: TableName | None = None
    partitioning: Partitioning | None = None
    if_exists: bool = False


class NoRowEffect(_Action, frozen=True):
    """A change of a table that touches neither rows, columns nor keys.

    Attributes:
        table: The table.
        what: What is done.
        foreign_key: That of ``add foreign key``.
    """

    table: TableName
    what: str
    foreign_key: ForeignKey | None = None


class NoEffect(_Action, frozen=True):
    """A statement that concerns no table: a view, a user, a sequence."""

    what: str


Action = (
    CreateDatabase
    | DropDatabase
    | CreateTable
    | DropTable
    | TruncateTable
    | RenameTable
    | RecoverTable
    | AddColumn
    | DropColumn
    | RenameColumn
    | ModifyColumn
    | SetDefault
    | AddKey
    | DropKey
    | RenameKey
    | TableComment
    | TableCharset
    | ConvertCharset
    | PartitionAction
    | NoRowEffect
    | NoEffect
)
"""Every action a statement can hold."""


class DdlStatement(msgspec.Struct, frozen=True):
    """What one statement does, in order.

    Attributes:
        understood: The whole statement was read.
        actions: What it does; empty if it was not understood.
        reason: Where and why reading stopped, if it did.
        doubt: What it does to rows that its text does not tell, if there is such a
            thing in a statement that was understood.
        tables: The tables whose rows are in doubt, if it was not understood or there is
            a `doubt`: those that it names. Empty if it names none, or none was read.
    """

    understood: bool
    actions: tuple[Action, ...] = ()
    reason: str | None = None
    doubt: str | None = None
    tables: tuple[TableName, ...] = ()

    def to_json(self) -> str:
        """Return the statement as one JSON object."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def from_json(text: str) -> "DdlStatement":
        """Read what `to_json` wrote.

        Raises:
            msgspec.ValidationError: If the text is not of that form.
        """
        return msgspec.json.decode(text, type=DdlStatement)


@lru_cache(maxsize=1024)
def parse_ddl(sql: str, database: str) -> DdlStatement:
    """Read one DDL statement.

    Args:
        sql: The statement as the message holds it.
        database: Database that names without one belong to. In a message of TiCDC it
            is the database *after* the statement; `TableName.is_qualified` tells
            whether a name relied on it.

    Returns:
        The actions in order. A statement that is not understood comes back with
        ``understood=False`` and no action; this function does not raise.
    """
    try:
        reader = _Reader(sql, database)
    except _NotUnderstoodError as error:
        tables = _tables_in_bare_text(sql, database)
        return DdlStatement(understood=False, reason=str(error), tables=tables)
    try:
        actions = tuple(_statement(reader))
    except _NotUnderstoodError as error:
        tables = tuple(dict.fromkeys(reader.tables))
        return DdlStatement(understood=False, reason=str(error), tables=tables)
    if reader.doubt is None:
        return DdlStatement(understood=True, actions=actions)
    tables = tuple(dict.fromkeys(reader.tables))
    return DdlStatement(
        understood=True, actions=actions, doubt=reader.doubt, tables=tables
    )


_BARE_TABLE: Final = re.compile(
    r"\bTABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
    r"(?:(`[^`]+`|[\w$]+)?\s*\.\s*)?(`[^`]+`|[\w$]+)",
    re.IGNORECASE,
)


def _tables_in_bare_text(sql: str, database: str) -> tuple[TableName, ...]:
    """Return the table that a text names which is no sequence of tokens."""
    found = _BARE_TABLE.search(sql)
    if found is None:
        return ()
    table = found[2].strip("`")
    if found[1] is None:
        return (TableName(database, table),)
    return (TableName(found[1].strip("`"), table, is_qualified=True),)


class _NotUnderstoodError(Exception):
    """Reading stopped; the text is the sentence for `DdlStatement.reason`."""


# --- Tokens -----------------------------------------------------------------------


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
_STRINGS: Final = frozenset({TokenType.STRING, TokenType.NATIONAL_STRING})
_NOT_KEYWORDS: Final = _STRINGS | {
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.BIT_STRING,
    TokenType.HEX_STRING,
}
_WORD: Final = re.compile(r"[\w$]+")
_END: Final = "the end of the statement"


class _Reader:
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
            raise _NotUnderstoodError(f"Expected SQL, got {error}") from error
        while self.tokens and self.tokens[-1].token_type is TokenType.SEMICOLON:
            self.tokens.pop()

    # Looking

    def token(self, ahead: int = 0) -> Token | None:
        position = self.index + ahead
        return self.tokens[position] if position < len(self.tokens) else None

    @property
    def at_end(self) -> bool:
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
        return all(self.is_word(word, ahead) for ahead, word in enumerate(words))

    def is_any(self, *words: str) -> bool:
        return any(self.is_word(word) for word in words)

    def here(self) -> str:
        token = self.token()
        if token is None:
            return _END
        return f"`{self.sql[token.start : token.start + 40]}` at {token.start + 1}"

    def fail(self, expected: str) -> _NotUnderstoodError:
        return _NotUnderstoodError(f"Expected {expected}, got {self.here()}")

    # Taking

    def accept(self, *words: str) -> bool:
        """Take these keywords or symbols if they come next."""
        if self.is_words(*words):
            self.index += len(words)
            return True
        return False

    def accept_any(self, *words: str) -> str | None:
        for word in words:
            if self.accept(word):
                return word
        return None

    def require(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.fail(f"`{' '.join(words)}`")

    def take(self) -> Token:
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
        while (token := self.token()) is not None and token.token_type in _STRINGS:
            source = self.sql[token.start : token.end + 1]
            pieces.append(decode_mysql_string(source.lstrip("nN")))
            self.index += 1
        if not pieces:
            raise self.fail("a quoted text")
        return "".join(pieces)

    def text_or_name(self) -> str:
        """Take a value that may be quoted or not, as names of character sets."""
        token = self.token()
        if token is not None and token.token_type in _STRINGS:
            return self.string()
        return self.name()

    def number(self) -> int:
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
        return self.listed(self.column_name)


# --- Statements -------------------------------------------------------------------

_NO_EFFECT_STATEMENTS: Final = (
    "ADMIN",
    "ANALYZE",
    "BACKUP",
    "BEGIN",
    "BINLOG",
    "CACHE",
    "CHANGE",
    "CHECK",
    "CHECKSUM",
    "CLONE",
    "COMMIT",
    "DEALLOCATE",
    "DESC",
    "DESCRIBE",
    "EXPLAIN",
    "FLUSH",
    "GET",
    "GRANT",
    "HANDLER",
    "HELP",
    "INSTALL",
    "KILL",
    "LOCK",
    "OPTIMIZE",
    "PREPARE",
    "PURGE",
    "RELEASE",
    "REPAIR",
    "RESET",
    "RESIGNAL",
    "RESTART",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "SHOW",
    "SHUTDOWN",
    "SIGNAL",
    "SPLIT",
    "START",
    "STOP",
    "TRACE",
    "UNINSTALL",
    "UNLOCK",
    "USE",
    "XA",
)

_OBJECTS_WITHOUT_ROWS: Final = (
    "VIEW",
    "SEQUENCE",
    "USER",
    "ROLE",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "EVENT",
    "SERVER",
    "BINDING",
    "PLACEMENT",
    "RESOURCE",
    "STATISTICS",
    "CATALOG",
    "INSTANCE",
    "LIBRARY",
    "LOGFILE",
    "MASKING",
    "PACKAGE",
    "PREPARE",
    "REFERENCE",
    "TABLESPACE",
)

_ROW_STATEMENTS: Final = {
    "INSERT": ("INTO", "INSERT"),
    "REPLACE": ("INTO", "REPLACE"),
    "UPDATE": ("UPDATE",),
    "DELETE": ("FROM", "DELETE"),
    "LOAD": ("TABLE",),
    "IMPORT": ("INTO",),
}
"""Statements that change rows, and behind which word the first table may stand."""

_ROW_OPTIONS: Final = ("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "QUICK", "IGNORE")


def _statement(reader: _Reader) -> list[Action]:
    """Read one whole statement."""
    readers: dict[str, Callable[[_Reader], list[Action]]] = {
        "CREATE": _create,
        "DROP": _drop,
        "ALTER": _alter,
        "RENAME": _rename,
        "TRUNCATE": _truncate,
        "RECOVER": _recover,
        "FLASHBACK": _recover,
    }
    _set_statement(reader)
    for word, read in readers.items():
        if reader.accept(word):
            actions = read(reader)
            if not reader.at_end:
                raise reader.fail(_END)
            return actions
    if (word_ := reader.accept_any(*_NO_EFFECT_STATEMENTS)) is not None:
        reader.index = len(reader.tokens)
        return [NoEffect(word_.lower())]
    error = reader.fail("a DDL statement")
    _changed_table(reader)
    raise error


def _set_statement(reader: _Reader) -> None:
    """Skip ``SET STATEMENT variable = value, ... FOR`` of MariaDB."""
    if not reader.is_words("SET", "STATEMENT"):
        return
    start = reader.index
    while not reader.at_end:
        if reader.accept("FOR"):
            return
        if reader.is_word("("):
            reader.parenthesised()
        else:
            reader.index += 1
    reader.index = start


def _changed_table(reader: _Reader) -> None:
    """Note the first table of a statement that changes rows: no message has these."""
    for verb, words in _ROW_STATEMENTS.items():
        if not reader.is_word(verb):
            continue
        for word in words:
            for ahead in range(len(reader.tokens) - reader.index):
                if reader.is_word(word, ahead):
                    reader.index += ahead + 1
                    while reader.accept_any(*_ROW_OPTIONS) is not None:
                        pass
                    reader.table_name()
                    return


def _object_without_rows(reader: _Reader, verb: str) -> list[Action] | None:
    """Skip a statement about a view and the like, whatever options stand first."""
    for ahead in range(len(reader.tokens) - reader.index):
        if any(reader.is_word(w, ahead) for w in ("TABLE", "INDEX", "DATABASE")):
            return None
        for word in _OBJECTS_WITHOUT_ROWS:
            if reader.is_word(word, ahead):
                reader.index = len(reader.tokens)
                return [NoEffect(f"{verb} {word.lower()}")]
    return None


def _if_not_exists(reader: _Reader) -> bool:
    return reader.accept("IF", "NOT", "EXISTS")


def _if_exists(reader: _Reader) -> bool:
    return reader.accept("IF", "EXISTS")


def _create(reader: _Reader) -> list[Action]:
    or_replace = reader.accept("OR", "REPLACE")
    if reader.accept_any("DATABASE", "SCHEMA") is not None:
        if_not_exists = _if_not_exists(reader)
        database = reader.name()
        _skip_to_end(reader)
        dropped: list[Action] = [DropDatabase(database, if_exists=True)]
        created = CreateDatabase(database, if_not_exists=if_not_exists)
        return [*(dropped if or_replace else []), created]
    if reader.accept("GLOBAL"):
        reader.require("TEMPORARY")
        reader.index -= 1
    temporary = reader.accept("TEMPORARY")
    if reader.accept("TABLE"):
        return [_create_table(reader, or_replace=or_replace, temporary=temporary)]
    start = reader.index
    reader.accept_any("ONLINE", "OFFLINE")
    kind = reader.accept_any("UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "COLUMNAR")
    if reader.accept("INDEX"):
        _if_not_exists(reader)
        name = reader.name()
        _index_type(reader)
        reader.require("ON")
        table = reader.table_name()
        _lock_wait(reader)
        key_kind: Literal["unique", "index"] = "unique" if kind == "UNIQUE" else "index"
        key = _key_parts(reader, key_kind, name)
        _skip_to_end(reader)
        return [AddKey(table, key)]
    reader.index = start
    actions = _object_without_rows(reader, "create")
    if actions is None:
        raise reader.fail("`TABLE`, `INDEX`, `DATABASE` or another known object")
    return actions


def _skip_to_end(reader: _Reader) -> None:
    reader.index = len(reader.tokens)


def _lock_wait(reader: _Reader) -> None:
    """Skip how long MariaDB waits for a lock."""
    if reader.accept("WAIT"):
        reader.number()
    else:
        reader.accept("NOWAIT")


def _drop(reader: _Reader) -> list[Action]:
    if reader.accept_any("DATABASE", "SCHEMA") is not None:
        if_exists = _if_exists(reader)
        return [DropDatabase(reader.name(), if_exists=if_exists)]
    start = reader.index
    reader.accept("GLOBAL")
    temporary = reader.accept("TEMPORARY")
    if reader.accept_any("TABLE", "TABLES") is not None:
        if_exists = _if_exists(reader)
        tables = reader.listed(reader.table_name)
        _lock_wait(reader)
        reader.accept_any("RESTRICT", "CASCADE")
        return [DropTable(t, if_exists=if_exists, temporary=temporary) for t in tables]
    reader.index = start
    reader.accept_any("ONLINE", "OFFLINE")
    reader.accept("HYPO")
    if reader.accept("INDEX"):
        _if_exists(reader)
        name = reader.name()
        reader.require("ON")
        table = reader.table_name()
        _skip_to_end(reader)  # WAIT, ALGORITHM and LOCK
        return [DropKey(table, name)]
    reader.index = start
    actions = _object_without_rows(reader, "drop")
    if actions is None:
        raise reader.fail("`TABLE`, `INDEX`, `DATABASE` or another known object")
    return actions


def _rename(reader: _Reader) -> list[Action]:
    if reader.accept("USER"):
        _skip_to_end(reader)
        return [NoEffect("rename user")]
    if reader.accept_any("TABLE", "TABLES") is None:
        raise reader.fail("`TABLE`")

    def pair() -> RenameTable:
        _if_exists(reader)
        source = reader.table_name()
        _lock_wait(reader)
        reader.require("TO")
        return RenameTable(source, reader.table_name())

    return list(reader.listed(pair))


def _truncate(reader: _Reader) -> list[Action]:
    reader.accept("TABLE")
    table = reader.table_name()
    _lock_wait(reader)
    if reader.accept_any("DROP", "REUSE") is not None:
        reader.require("STORAGE")
    return [TruncateTable(table)]


def _recover(reader: _Reader) -> list[Action]:
    reader.require("TABLE")
    if reader.is_words("BY", "JOB"):
        raise reader.fail("the name of a table")
    table = reader.table_name()
    target = reader.table_name() if reader.accept("TO") else table
    return [RecoverTable(table, target)]


# --- Values and columns -----------------------------------------------------------

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


def _value(reader: _Reader) -> SqlValue:
    """Read a literal, or an expression in parentheses, or a call."""
    literal = _literal(reader)
    if literal is not None:
        return literal
    start = reader.index
    if reader.accept("("):
        try:
            value = _value(reader)
        except _NotUnderstoodError:
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


def _literal(reader: _Reader) -> SqlValue | None:
    """Read a literal, with the introducer of its character set in front."""
    constant = reader.accept_any(*_CONSTANTS)
    if constant is not None:
        return _CONSTANTS[constant]
    token = reader.token()
    is_introduced = token is not None and token.token_type is TokenType.INTRODUCER
    literal = reader.token(1) if is_introduced else token
    if literal is None:
        raise reader.fail("a value")
    if literal.token_type in _STRINGS:
        return SqlValue("text", reader.string())
    if literal.token_type in {TokenType.BIT_STRING, TokenType.HEX_STRING}:
        reader.index += 2 if is_introduced else 1
        is_bits = literal.token_type is TokenType.BIT_STRING
        return SqlValue("bits" if is_bits else "hex", literal.text)
    following = reader.token(1)
    if (
        reader.is_any("DATE", "TIME", "TIMESTAMP")
        and following is not None
        and following.token_type in _STRINGS
    ):  # DATE '2024-02-29'
        reader.index += 1
        return SqlValue("text", reader.string())
    number = _number(reader)
    return None if number is None else SqlValue("number", number)


def _number(reader: _Reader) -> str | None:
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


def _clock(reader: _Reader, names: Iterable[str] = _CLOCK) -> str | None:
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


def _column_type(reader: _Reader) -> str:
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
        raise _NotUnderstoodError(str(error)) from error


def _type_argument(reader: _Reader) -> str:
    token = reader.token()
    if token is not None and token.token_type is TokenType.HEX_STRING:
        reader.index += 1
        member = bytes.fromhex(token.text).decode("utf-8", "replace")
        return quote_mysql_string(member)
    if token is not None and token.token_type is TokenType.NUMBER:
        reader.index += 1
        return token.text.partition(".")[0]  # MySQL reads DECIMAL(19.5) so
    return quote_mysql_string(reader.string())


def _is_charset(reader: _Reader) -> bool:
    return (
        reader.is_words("CHARACTER", "SET")
        or reader.is_words("CHAR", "SET")
        or reader.is_word("CHARSET")
    )


def _charset(reader: _Reader) -> str | None:
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


def _collation(reader: _Reader) -> str | None:
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

    def __init__(self, reader: _Reader) -> None:
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
            self.default = _value(reader)
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
            _enforced(reader)
        elif reader.accept("REFERENCES"):
            self.foreign_key = _references(reader, (self.name,), None)
        else:
            storage = ("CLUSTERED", "NONCLUSTERED", "GLOBAL", "LOCAL")
            return reader.accept_any(*storage) is not None
        return True

    def _plain(self) -> bool:
        reader = self.reader
        if reader.accept("COMMENT"):
            self.comment = reader.string()
        elif (charset := _charset(reader)) is not None:
            self.charset = charset
        elif (collation := _collation(reader)) is not None:
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


def _column(reader: _Reader) -> DdlColumn:
    return _ColumnBuilder(reader).build()


def _enforced(reader: _Reader) -> None:
    reader.accept("NOT")
    reader.accept("ENFORCED")


def _references(
    reader: _Reader, columns: tuple[str, ...], name: str | None
) -> ForeignKey:
    """Read what follows REFERENCES."""
    parent = reader.table_name(is_touched=False)
    parent_columns: tuple[str, ...] = ()
    if reader.is_word("("):
        parent_columns = _key_parts(reader, "index", None).columns
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


# --- Keys -------------------------------------------------------------------------


def _index_type(reader: _Reader) -> None:
    if reader.accept_any("USING", "TYPE") is not None:
        reader.name()


def _key_part(reader: _Reader) -> str | None:
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


def _key_parts(
    reader: _Reader, kind: Literal["primary", "unique", "index"], name: str | None
) -> DdlKey:
    reader.require("(")
    parts = reader.listed(lambda: _key_part(reader))
    reader.require(")")
    columns = tuple(part for part in parts if part is not None)
    return DdlKey(kind, name, columns, has_expression=len(columns) < len(parts))


def _is_key(reader: _Reader) -> bool:
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


def _key(reader: _Reader) -> DdlKey | ForeignKey | str:
    """Read a key or constraint; text says what it was if it binds no rows."""
    symbol = None
    if reader.accept("CONSTRAINT") and not (
        reader.is_any("PRIMARY", "UNIQUE", "CHECK") or reader.is_words("FOREIGN", "KEY")
    ):
        _if_not_exists(reader)
        symbol = reader.name()
    if reader.accept("CHECK"):
        reader.parenthesised()
        _enforced(reader)
        return "check constraint"
    if reader.accept("FOREIGN", "KEY"):
        _if_not_exists(reader)
        if not reader.is_word("("):
            index = reader.name()
            symbol = symbol or index
        columns = _key_parts(reader, "index", None).columns
        reader.require("REFERENCES")
        return _references(reader, columns, symbol)
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
    _if_not_exists(reader)
    name = symbol
    if not reader.is_word("(") and not reader.is_any("USING", "TYPE"):
        name = reader.name()
    _index_type(reader)
    key = _key_parts(reader, kind, "PRIMARY" if kind == "primary" else name)
    reader.skip_clause()  # USING, COMMENT, [NON]CLUSTERED, VISIBLE, ...
    return key


# --- CREATE TABLE -----------------------------------------------------------------


def _create_table(reader: _Reader, *, or_replace: bool, temporary: bool) -> CreateTable:
    if_not_exists = _if_not_exists(reader)
    table = reader.table_name(is_touched=not temporary)
    columns: list[DdlColumn] = []
    keys: list[DdlKey | ForeignKey] = []
    like: TableName | None = None
    if reader.accept("LIKE"):
        like = reader.table_name(is_touched=False)
        _skip_to_end(reader)  # ON COMMIT of a temporary table
    elif reader.accept("("):
        if reader.accept("LIKE"):
            like = reader.table_name(is_touched=False)
        else:
            reader.listed(lambda: _table_element(reader, columns, keys))
        reader.require(")")
    elif not reader.is_any("AS", "SELECT"):
        raise reader.fail("`(` or `LIKE`")
    options = _TableOptions(reader)
    return CreateTable(
        table=table,
        columns=tuple(_with_table_charset(c, options.charset) for c in columns),
        keys=tuple(key for key in keys if isinstance(key, DdlKey)),
        if_not_exists=if_not_exists,
        or_replace=or_replace,
        temporary=temporary,
        like=like,
        charset=options.charset,
        collation=options.collation,
        comment=options.comment,
        partitioning=options.partitioning,
        foreign_keys=tuple(key for key in keys if isinstance(key, ForeignKey)),
    )


def _with_table_charset(column: DdlColumn, charset: str | None) -> DdlColumn:
    """Make a text column binary if that is the character set of its table."""
    if charset != "binary" or column.charset is not None or column.collation:
        return column
    mysql_type = parse_mysql_type(column.type).as_binary()
    return msgspec.structs.replace(column, type=str(mysql_type))


def _table_element(
    reader: _Reader, columns: list[DdlColumn], keys: list[DdlKey | ForeignKey]
) -> None:
    if _period(reader):
        return
    if not _is_key(reader):
        columns.append(_column(reader))
        return
    key = _key(reader)
    if not isinstance(key, str):
        keys.append(key)


def _period(reader: _Reader) -> bool:
    """Skip a period of MariaDB, which two columns make up; False if it is not next."""
    if not reader.accept("PERIOD", "FOR"):
        return False
    _if_not_exists(reader)
    reader.name()
    if reader.is_word("("):
        reader.parenthesised()
    return True


class _TableOptions:
    """What stands behind the columns of CREATE TABLE."""

    def __init__(self, reader: _Reader) -> None:
        self.charset: str | None = None
        self.collation: str | None = None
        self.comment: str | None = None
        self.partitioning: Partitioning | None = None
        while not reader.at_end:
            if reader.accept("WITH", "SYSTEM", "VERSIONING"):
                continue
            if reader.is_any("AS", "SELECT", "IGNORE", "REPLACE", "WITH", "TABLE"):
                raise reader.fail("no query, which would add columns and rows")
            if (charset := _charset(reader)) is not None:
                self.charset = charset
            elif (collation := _collation(reader)) is not None:
                self.collation = collation
            elif reader.accept("COMMENT"):
                reader.accept("=")
                self.comment = reader.string()
            elif reader.accept("PARTITION", "BY"):
                self.partitioning = _partitioning(reader)
            elif reader.is_word("("):
                reader.parenthesised()
            else:
                reader.index += 1  # ENGINE = InnoDB, TTL = ..., and so on
        if self.collation == "binary" and self.charset is None:
            self.charset = "binary"


# --- Partitions -------------------------------------------------------------------


def _partitioning(reader: _Reader) -> Partitioning:
    """Read what follows PARTITION BY."""
    linear = "linear " if reader.accept("LINEAR") else ""
    method = reader.accept_any("HASH", "KEY", "RANGE", "LIST", "SYSTEM_TIME")
    if method is None:
        raise reader.fail("`HASH`, `KEY`, `RANGE` or `LIST`")
    if method == "SYSTEM_TIME":  # of MariaDB: rows that are history, and the others
        return _by_system_time(reader)
    columns: tuple[str, ...] = ()
    expression: str | None = None
    with_columns = reader.accept("COLUMNS")
    if method == "KEY" and reader.accept("ALGORITHM"):
        reader.require("=")
        reader.number()
    if method == "KEY" or with_columns:
        reader.require("(")
        if not reader.is_word(")"):
            columns = reader.names()
        reader.require(")")
    else:
        start = reader.index
        expression = reader.parenthesised()
        columns = _single_column(reader, start)
    if reader.is_word("INTERVAL"):
        raise reader.fail("partitions that are named")
    partitions: tuple[Partition, ...] = ()
    subpartitioned = False
    if method in {"HASH", "KEY"}:
        count = reader.number() if reader.accept("PARTITIONS") else 1
        partitions = tuple(Partition(f"p{n}") for n in range(count))
    elif reader.accept("PARTITIONS"):
        reader.number()  # they are listed as well
    if reader.accept("SUBPARTITION", "BY"):
        subpartitioned = True
        _skip_subpartitioning(reader)
    if reader.is_words("(", "PARTITION"):
        partitions = _partition_definitions(reader)
    # UPDATE INDEXES of TiDB makes indexes global or local.
    if reader.accept("UPDATE", "INDEXES"):
        reader.parenthesised()
    return Partitioning(
        method=f"{linear}{method.lower()}{' columns' if with_columns else ''}",
        expression=expression,
        columns=columns,
        partitions=partitions,
        subpartitioned=subpartitioned,
    )


def _by_system_time(reader: _Reader) -> Partitioning:
    while not reader.at_end and not reader.is_words("(", "PARTITION"):
        reader.index += 1  # INTERVAL 1 MONTH, LIMIT 1000, AUTO, PARTITIONS 3
    partitions = () if reader.at_end else _partition_definitions(reader)
    return Partitioning(method="system_time", partitions=partitions)


def _skip_subpartitioning(reader: _Reader) -> None:
    while not reader.at_end and not reader.is_words("(", "PARTITION"):
        if reader.is_word("("):
            reader.parenthesised()
        else:
            reader.index += 1


def _single_column(reader: _Reader, start: int) -> tuple[str, ...]:
    """Return the column if ``( ... )`` from `start` on holds just one name."""
    end = reader.index
    if end - start != 3:
        return ()
    reader.index = start + 1
    try:
        return (reader.name(),)
    except _NotUnderstoodError:
        return ()
    finally:
        reader.index = end


def _partition_definitions(reader: _Reader) -> tuple[Partition, ...]:
    reader.require("(")
    partitions = reader.listed(lambda: _partition_definition(reader))
    reader.require(")")
    return partitions


def _partition_definition(reader: _Reader) -> Partition:
    reader.require("PARTITION")
    name = reader.name()
    less_than: tuple[SqlValue, ...] | None = None
    values_in: tuple[tuple[SqlValue, ...], ...] | None = None
    if reader.accept("VALUES", "LESS", "THAN"):
        less_than = _list_item(reader)
    elif reader.accept("VALUES", "IN"):
        reader.require("(")
        values_in = reader.listed(lambda: _list_item(reader))
        reader.require(")")
    elif reader.accept("DEFAULT"):
        values_in = ((SqlValue("expression", "DEFAULT"),),)
    reader.skip_clause()  # ENGINE, COMMENT, subpartitions, ...
    return Partition(name, less_than, values_in)


def _list_item(reader: _Reader) -> tuple[SqlValue, ...]:
    return _bound_list(reader) if reader.is_word("(") else (_bound(reader),)


def _bound_list(reader: _Reader) -> tuple[SqlValue, ...]:
    reader.require("(")
    bounds = reader.listed(lambda: _bound(reader))
    reader.require(")")
    return bounds


def _bound(reader: _Reader) -> SqlValue:
    """Read one bound: a literal if nothing else follows it, or an expression."""
    start = reader.index
    value = _value(reader)
    if reader.at_end or reader.is_any(",", ")") or value.form == "maxvalue":
        return value
    reader.index = start
    return SqlValue("expression", reader.skip_clause())


# --- ALTER TABLE ------------------------------------------------------------------


def _alter(reader: _Reader) -> list[Action]:
    if reader.accept_any("DATABASE", "SCHEMA") is not None:
        words = ("CHARACTER", "CHARSET", "COLLATE")
        ahead = range(len(reader.tokens) - reader.index)
        is_charset = any(reader.is_word(word, n) for word in words for n in ahead)
        _skip_to_end(reader)
        return [NoEffect("alter database" if is_charset else "alter database option")]
    start = reader.index
    reader.accept_any("ONLINE", "OFFLINE")
    is_lossy = reader.accept("IGNORE")
    if not reader.accept("TABLE"):
        reader.index = start
        actions = _object_without_rows(reader, "alter")
        if actions is None:
            raise reader.fail("`TABLE`, `DATABASE` or another known object")
        return actions
    _if_exists(reader)
    table = reader.table_name()
    _lock_wait(reader)
    actions = _AlterTable(reader, table).actions
    if is_lossy and any(_is_unique(action) for action in actions):
        reader.doubt = "IGNORE removes the rows that a new unique key does not allow"
    return actions


def _is_unique(action: Action) -> bool:
    """Tell whether a clause makes a key that rows may contradict."""
    if isinstance(action, AddColumn | ModifyColumn):
        return action.column.is_unique or action.column.is_primary_key
    return isinstance(action, AddKey) and action.key.kind != "index"


_PARTITION_UPKEEP: Final = ("ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "REPAIR")

# Options that hold one value and touch no row.
_TABLE_OPTIONS: Final = (
    "ALGORITHM",
    "AUTOEXTEND_SIZE",
    "AUTO_ID_CACHE",
    "AUTO_INCREMENT",
    "AUTO_RANDOM_BASE",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "COMPRESSION",
    "CONNECTION",
    "DELAY_KEY_WRITE",
    "ENCRYPTED",
    "ENCRYPTION",
    "ENCRYPTION_KEY_ID",
    "ENGINE",
    "ENGINE_ATTRIBUTE",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "LOCK",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "PAGE_CHECKSUM",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "PASSWORD",
    "PRE_SPLIT_REGIONS",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SHARD_ROW_ID_BITS",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLESPACE",
    "TABLE_CHECKSUM",
    "TRANSACTIONAL",
)

# Clauses that touch no row and are skipped up to the next comma.
_SKIPPED_CLAUSES: Final = (
    ("ADD", "PERIOD", "FOR"),
    ("ADD", "STATS_EXTENDED"),
    ("ADD", "SYSTEM", "VERSIONING"),
    ("DATA", "DIRECTORY"),
    ("DROP", "PERIOD", "FOR"),
    ("DROP", "STATS_EXTENDED"),
    ("DROP", "SYSTEM", "VERSIONING"),
    ("ATTRIBUTES",),
    ("CACHE",),
    ("COMPACT",),
    ("DISABLE", "KEYS"),
    ("ENABLE", "KEYS"),
    ("FORCE",),
    ("INDEX", "DIRECTORY"),
    ("NOCACHE",),
    ("PLACEMENT", "POLICY"),
    ("REMOVE", "TTL"),
    ("SECONDARY_LOAD",),
    ("SECONDARY_UNLOAD",),
    ("SET", "HYPO"),
    ("SET", "TIFLASH"),
    ("STATS_BUCKETS",),
    ("STATS_TOPN",),
    ("TTL",),
    ("TTL_ENABLE",),
    ("TTL_JOB_INTERVAL",),
    ("WITH", "VALIDATION"),
    ("WITHOUT", "VALIDATION"),
)


class _AlterTable:
    """Reads the clauses of one ALTER TABLE into `actions`."""

    def __init__(self, reader: _Reader, table: TableName) -> None:
        self.reader = reader
        self.table = table
        self.actions: list[Action] = []
        while not reader.at_end:
            needs_comma = self._clause()
            if reader.accept(","):
                if reader.at_end:
                    raise reader.fail("a clause of ALTER TABLE")
            elif needs_comma and not reader.at_end:
                raise reader.fail("`,`")

    def _clause(self) -> bool:
        """Read one clause; False if the next may follow without a comma."""
        reader = self.reader
        if reader.is_any("PARTITION", "REMOVE") or self._is_partition_clause():
            if self._partition_clause():
                return True
        elif self._option():
            return False
        if self._skipped():
            return True
        if not reader.is_word("RENAME") and reader.equals_value():
            self._none("option")  # of an engine
            return False
        self._table_clause()
        return True

    def _table_clause(self) -> None:
        reader = self.reader
        if reader.accept("ADD"):
            self._add()
        elif reader.accept("DROP"):
            self._drop()
        elif reader.accept("MODIFY"):
            reader.accept("COLUMN")
            if_exists = _if_exists(reader)
            column = _column(reader)
            self._modify(column.name, column, if_exists=if_exists)
        elif reader.accept("CHANGE"):
            reader.accept("COLUMN")
            if_exists = _if_exists(reader)
            name = reader.column_name()
            self._modify(name, _column(reader), if_exists=if_exists)
        elif reader.accept("ALTER"):
            self._alter()
        elif reader.accept("RENAME"):
            self._rename()
        elif reader.accept("CONVERT", "TO"):
            self._convert()
        elif reader.accept("ORDER", "BY"):
            _skip_to_end(reader)
            self._none("order by")
        else:
            raise reader.fail("a clause of ALTER TABLE")

    def _none(self, what: str) -> None:
        self.actions.append(NoRowEffect(self.table, what))

    def _skipped(self) -> bool:
        for words in _SKIPPED_CLAUSES:
            if self.reader.is_words(*words):
                self.reader.skip_clause()
                if words[0] == "SET":  # LOCATION LABELS 'a', 'b' ends the statement
                    _skip_to_end(self.reader)
                self._none(" ".join(words).lower())
                return True
        return False

    # Columns and keys

    def _position(self) -> tuple[bool, str | None]:
        if self.reader.accept("FIRST"):
            return True, None
        if self.reader.accept("AFTER"):
            return False, self.reader.column_name()
        return False, None

    def _add(self) -> None:
        reader = self.reader
        if _is_key(reader):
            key = _key(reader)
            if isinstance(key, DdlKey):
                self.actions.append(AddKey(self.table, key))
            elif isinstance(key, ForeignKey):
                added = NoRowEffect(self.table, "add foreign key", key)
                self.actions.append(added)
            else:
                self._none(f"add {key}")
            return
        reader.accept("COLUMN")
        if_not_exists = _if_not_exists(reader)
        if not reader.accept("("):
            self._add_column(if_not_exists=if_not_exists)
            return
        while True:
            if _is_key(reader):
                self._add()
            elif not _period(reader):
                self._add_column(if_not_exists=if_not_exists)
            if not reader.accept(","):
                break
        reader.require(")")

    def _add_column(self, *, if_not_exists: bool) -> None:
        column = _column(self.reader)
        first, after = self._position()
        self.actions.append(
            AddColumn(
                self.table,
                column,
                first=first,
                after=after,
                if_not_exists=if_not_exists,
            )
        )

    def _modify(self, name: str, column: DdlColumn, *, if_exists: bool) -> None:
        first, after = self._position()
        self.actions.append(
            ModifyColumn(
                self.table, name, column, first=first, after=after, if_exists=if_exists
            )
        )

    def _drop(self) -> None:
        reader = self.reader
        if reader.accept("PRIMARY", "KEY"):
            self.actions.append(DropKey(self.table, "PRIMARY"))
        elif (word := reader.accept_any("FOREIGN", "CHECK")) is not None:
            what = "check constraint"
            if word == "FOREIGN":
                reader.require("KEY")
                what = "foreign key"
            _if_exists(reader)
            reader.column_name()  # of the table, a point and its own
            self._none(f"drop {what}")
        elif reader.accept_any("INDEX", "KEY", "CONSTRAINT") is not None:
            _if_exists(reader)
            self.actions.append(DropKey(self.table, reader.name()))
        else:
            reader.accept("COLUMN")
            if_exists = _if_exists(reader)
            name = reader.column_name()
            reader.accept_any("RESTRICT", "CASCADE")
            self.actions.append(DropColumn(self.table, name, if_exists=if_exists))

    def _alter(self) -> None:
        reader = self.reader
        kinds = ("INDEX", "KEY", "CHECK", "CONSTRAINT")
        if (word := reader.accept_any(*kinds)) is not None:
            _if_exists(reader)
            reader.name()
            reader.skip_clause()
            is_index = word in {"INDEX", "KEY"}
            self._none("alter index visibility" if is_index else "alter constraint")
            return
        reader.accept("COLUMN")
        _if_exists(reader)
        name = reader.column_name()
        if reader.accept("SET", "DEFAULT"):
            self.actions.append(SetDefault(self.table, name, _value(reader)))
        elif reader.accept("DROP", "DEFAULT"):
            self.actions.append(SetDefault(self.table, name, None))
        elif reader.accept("SET", "VISIBLE") or reader.accept("SET", "INVISIBLE"):
            self._none("alter column visibility")
        else:
            raise reader.fail("`SET DEFAULT` or `DROP DEFAULT`")

    def _rename(self) -> None:
        reader = self.reader
        if reader.accept("COLUMN"):
            _if_exists(reader)
            name = reader.column_name()
            reader.require("TO")
            target = reader.column_name()
            self.actions.append(RenameColumn(self.table, name, target))
        elif reader.accept_any("INDEX", "KEY") is not None:
            _if_exists(reader)
            name = reader.name()
            reader.require("TO")
            self.actions.append(RenameKey(self.table, name, reader.name()))
        else:
            reader.accept_any("TO", "AS", "=")
            self.actions.append(RenameTable(self.table, reader.table_name()))

    # Options of the table

    def _option(self) -> bool:
        """Read one option of the table; False if there is none."""
        reader = self.reader
        if (charset := _charset(reader)) is not None:
            collation = _collation(reader)
            self.actions.append(TableCharset(self.table, charset, collation))
        elif (collation := _collation(reader)) is not None:
            self.actions.append(TableCharset(self.table, None, collation))
        elif reader.accept("COMMENT"):
            reader.accept("=")
            self.actions.append(TableComment(self.table, reader.string()))
        elif (option := reader.accept_any(*_TABLE_OPTIONS)) is not None:
            reader.accept("=")
            reader.take()
            self._none(option.lower())
        elif reader.accept("WITH", "SYSTEM", "VERSIONING"):
            self._none("with system versioning")
        elif reader.is_word("UNION"):
            raise reader.fail("no UNION of tables")
        else:
            return False
        return True

    def _convert(self) -> None:
        reader = self.reader
        charset = _charset(reader)
        if charset is None:
            raise reader.fail("`CHARACTER SET`")
        collation = _collation(reader)
        # DEFAULT means the character set of the database, which is not known here.
        self.actions.append(
            ConvertCharset(
                self.table, None if charset == "default" else charset, collation
            )
        )

    # Partitions

    def _is_partition_clause(self) -> bool:
        return self.reader.is_word("PARTITION", 1)

    def _partition(self, action: PartitionAction) -> None:
        self.actions.append(action)

    def _partition_clause(self) -> bool:
        reader, table = self.reader, self.table
        if reader.accept("PARTITION", "BY"):
            by = _partitioning(reader)
            self._partition(PartitionAction(table, "partition_by", partitioning=by))
        elif reader.accept("REMOVE", "PARTITIONING"):
            self._partition(PartitionAction(table, "remove"))
        elif reader.accept("TRUNCATE", "PARTITION"):
            names, is_all = self._partition_names()
            self._partition(
                PartitionAction(table, "truncate", names, all_partitions=is_all)
            )
        elif reader.accept("DROP", "PARTITION"):
            if_exists = _if_exists(reader)
            names, _ = self._partition_names()
            self._partition(PartitionAction(table, "drop", names, if_exists=if_exists))
        elif reader.accept("ADD", "PARTITION"):
            self._add_partition()
        elif reader.accept("COALESCE", "PARTITION"):
            _local(reader)
            count = reader.number()
            self._partition(PartitionAction(table, "coalesce", count=count))
        elif reader.accept("REORGANIZE", "PARTITION"):
            self._reorganize()
        elif reader.accept("EXCHANGE", "PARTITION"):
            self._exchange()
        elif reader.accept_any(*_PARTITION_UPKEEP) is not None or (
            reader.is_word("PARTITION")
        ):
            # Also PARTITION p ATTRIBUTES = ..., PARTITION p PLACEMENT POLICY = ...
            _skip_to_end(reader)
            self._none("partition upkeep")
        else:
            return False
        return True

    def _partition_names(self) -> tuple[tuple[str, ...], bool]:
        _local(self.reader)
        if self.reader.accept("ALL"):
            return (), True
        return self.reader.names(), False

    def _add_partition(self) -> None:
        reader = self.reader
        _if_not_exists(reader)
        _local(reader)
        if reader.accept("PARTITIONS"):
            count = reader.number()
            self._partition(PartitionAction(self.table, "add", count=count))
            return
        partitions = _partition_definitions(reader)
        self._partition(PartitionAction(self.table, "add", partitions=partitions))

    def _reorganize(self) -> None:
        reader = self.reader
        _local(reader)
        if reader.at_end:
            self._none("reorganize partition")  # by hash, to the same number
            return
        names = reader.names()
        reader.require("INTO")
        self._partition(
            PartitionAction(
                self.table,
                "reorganize",
                names,
                partitions=_partition_definitions(reader),
            )
        )

    def _exchange(self) -> None:
        reader = self.reader
        name = reader.name()
        reader.require("WITH", "TABLE")
        other = reader.table_name()
        if reader.accept_any("WITH", "WITHOUT") is not None:
            reader.require("VALIDATION")
        self._partition(
            PartitionAction(self.table, "exchange", (name,), exchange_with=other)
        )


def _local(reader: _Reader) -> None:
    """Skip NO_WRITE_TO_BINLOG and its synonym LOCAL."""
    reader.accept_any("NO_WRITE_TO_BINLOG", "LOCAL")
