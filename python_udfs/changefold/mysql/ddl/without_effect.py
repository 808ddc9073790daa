"""Statements that change no row and no column."""

from typing import Final

from changefold.mysql.ddl.actions import Action, NoEffect
from changefold.mysql.ddl.reader import Reader

NO_EFFECT_STATEMENTS: Final = (
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


def skip_set_statement(reader: Reader) -> None:
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


def read_changed_table(reader: Reader) -> None:
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


def read_object_without_rows(reader: Reader, verb: str) -> list[Action] | None:
    """Skip a statement about a view and the like, whatever options stand first."""
    for ahead in range(len(reader.tokens) - reader.index):
        if any(reader.is_word(w, ahead) for w in ("TABLE", "INDEX", "DATABASE")):
            return None
        for word in _OBJECTS_WITHOUT_ROWS:
            if reader.is_word(word, ahead):
                reader.index = len(reader.tokens)
                return [NoEffect(f"{verb} {word.lower()}")]
    return None
