r"""Table rules: which databases and tables a changefeed replicates.

A rule is ``database.table`` with a pattern on each side; the last rule that matches
decides. The same rules decide in Python (`TableRules.decide`) and in Spark SQL
(`TableRules.to_sql`).

Sources: TiDB's documentation "Table Filter"; TiCDC's documentation "Changefeed Log
Filters"; for the list of system databases the code of TiCDC, v6.5 and after v8.5.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, TypeAlias

from changefold.changefeed.go_regex import GoRegex, parse_go_regex
from changefold.changefeed.letter_case import folded, lowered, lowered_sql
from changefold.spark_text import sql_text

__all__ = [
    "SYSTEM_DATABASES",
    "Decision",
    "TableRule",
    "TableRules",
    "is_system_database",
    "parse_table_rules",
]

SYSTEM_DATABASES: Final = (
    "dm_heartbeat",
    "information_schema",
    "inspection_schema",
    "lightning_task_info",
    "metrics_schema",
    "mysql",
    "performance_schema",
    "sys",
    "tidb_cdc",
    "workload_schema",
)
"""Databases that TiCDC never replicates, in any case of letters.

``lightning_task_info``, ``tidb_cdc`` and ``workload_schema`` are refused since after
v6.5 only.
"""


def is_system_database(database: str) -> bool:
    """Tell whether TiCDC refuses a database whatever the rules say."""
    return lowered(database) in SYSTEM_DATABASES


# --- Patterns ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnyName:
    """``*`` alone: every name, also the empty one."""

    def matches(self, name: str, *, case_sensitive: bool) -> bool:
        """Tell whether a name matches."""
        return True

    def to_sql(self, expression: str, *, case_sensitive: bool) -> str | None:
        """Return a condition of Spark SQL, ``None`` for no condition."""
        return None


@dataclass(frozen=True, slots=True)
class ExactName:
    """A name without wildcards, or in quotes."""

    name: str

    def matches(self, name: str, *, case_sensitive: bool) -> bool:
        """Tell whether a name matches."""
        if case_sensitive:
            return name == self.name
        return lowered(name) == lowered(self.name)

    def to_sql(self, expression: str, *, case_sensitive: bool) -> str | None:
        """Return a condition of Spark SQL, ``None`` for no condition."""
        if case_sensitive:
            return f"{expression} = {sql_text(self.name)}"
        name = lowered(self.name)
        return f"{lowered_sql(expression, name)} = {sql_text(name)}"


@dataclass(frozen=True, slots=True)
class RegexName:
    """``/regex/``, found anywhere in the name."""

    source: str

    def regex(self, *, case_sensitive: bool) -> GoRegex:
        """Return the expression; without case it searches a name in lower case."""
        return parse_go_regex(
            self.source, ignore_case=not case_sensitive, in_lowered=not case_sensitive
        )

    def matches(self, name: str, *, case_sensitive: bool) -> bool:
        """Tell whether a name matches."""
        regex = self.regex(case_sensitive=case_sensitive)
        return regex.found_in(name if case_sensitive else lowered(name))

    def to_sql(self, expression: str, *, case_sensitive: bool) -> str | None:
        """Return a condition of Spark SQL, ``None`` for no condition."""
        if not case_sensitive:
            # It may look for anything, so all that Spark lowers otherwise counts.
            expression = lowered_sql(expression, "?\u03c3")
        regex = self.regex(case_sensitive=case_sensitive)
        return f"{expression} rlike {sql_text(regex.java)}"


class Wildcard(Enum):
    """A place of a pattern that takes other characters."""

    MANY = "*"
    ONE = "?"


_AS_REGEX: Final = {Wildcard.MANY: ".*", Wildcard.ONE: "."}
_AS_LIKE: Final = {Wildcard.MANY: "%", Wildcard.ONE: "_"}


@dataclass(frozen=True, slots=True)
class WildcardName:
    """Text with ``*`` and ``?``, which matches the whole name.

    Attributes:
        parts: Pieces of text and wildcards.
    """

    parts: tuple[str | Wildcard, ...]

    def matches(self, name: str, *, case_sensitive: bool) -> bool:
        """Tell whether a name matches."""
        regex = "".join(
            _quoted(part) if isinstance(part, str) else _AS_REGEX[part]
            for part in self.parts
        )
        pattern = RegexName(f"(?s)^{regex}$")
        return pattern.matches(name, case_sensitive=case_sensitive)

    def to_sql(self, expression: str, *, case_sensitive: bool) -> str | None:
        """Return a condition of Spark SQL, ``None`` for no condition."""
        letters = pattern = ""
        for part in self.parts:
            if isinstance(part, str):
                text = part if case_sensitive else folded(part)
                letters += text
                pattern += re.sub(r"[\\%_]", r"\\\g<0>", text)
            else:
                letters += "?" if part is Wildcard.ONE else ""
                pattern += _AS_LIKE[part]
        if not case_sensitive:
            expression = lowered_sql(expression, letters, folds=True)
        return f"{expression} like {sql_text(pattern)}"


NamePattern: TypeAlias = AnyName | ExactName | RegexName | WildcardName
"""One side of a rule."""


def _quoted(text: str) -> str:
    """Write text for a regular expression of Go."""
    return re.sub(r"[^0-9A-Za-z\x80-\U0010ffff]", r"\\\g<0>", text)


# --- Reading ----------------------------------------------------------------------

_PIECES: Final = {
    "/": (re.compile(r"/((?:\\.|[^/])+)/"), "a regular expression up to `/`"),
    '"': (re.compile(r'"((?:""|[^"])+)"'), 'a name up to `"`'),
    "`": (re.compile(r"`((?:``|[^`])+)`"), "a name up to a backquote"),
}
_CHAR_CLASS: Final = re.compile(r"\[(!?(?:\\[^0-9A-Za-z]|[^\\\]])+)\]")
_PLAIN: Final = re.compile(r"[0-9A-Za-z$_\x80-\U0010ffff]+")


class _Reader:
    """Reads one rule from left to right."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.position = 0

    def fail(self, expected: str) -> ValueError:
        rest = self.rule[self.position :]
        got = f"`{rest}`" if rest else "the end"
        return ValueError(f"Expected {expected}, got {got} - in rule `{self.rule}`")

    def next(self) -> str:
        return self.rule[self.position : self.position + 1]

    def accept(self, char: str) -> bool:
        if self.rule.startswith(char, self.position):
            self.position += len(char)
            return True
        return False

    def pattern(self) -> NamePattern:
        mark = self.next()
        if not mark:
            raise self.fail("a pattern")
        if mark not in _PIECES:
            return self.wildcard()
        piece, expected = _PIECES[mark]
        found = piece.match(self.rule, self.position)
        if found is None:
            raise self.fail(expected)
        self.position = found.end()
        if mark == "/":
            return self.regex(found[1])
        return ExactName(found[1].replace(mark * 2, mark))

    def regex(self, source: str) -> RegexName:
        try:
            parse_go_regex(source)
        except ValueError as error:
            raise ValueError(f"{error} - in rule `{self.rule}`") from error
        return RegexName(source)

    def wildcard(self) -> NamePattern:
        """Read up to the next dot that stands by itself."""
        parts: list[str | Wildcard] = []
        source = ""  # the same as a regular expression, for classes
        has_class = False
        while self.next() not in {"", "."}:
            if self.next() in {"*", "?"}:
                wildcard = Wildcard(self.next())
                self.position += 1
                parts.append(wildcard)
                source += _AS_REGEX[wildcard]
            elif self.next() == "[":
                has_class = True
                source += self.char_class()
            else:
                text = self.text()
                parts.append(text)
                source += _quoted(text)
        if has_class:
            return self.regex(f"(?s)^{source}$")
        if not parts:
            raise self.fail("a pattern")
        if parts == [Wildcard.MANY]:
            return AnyName()
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return ExactName("".join(texts))
        return WildcardName(tuple(parts))

    def text(self) -> str:
        if (plain := _PLAIN.match(self.rule, self.position)) is not None:
            self.position = plain.end()
            return plain[0]
        if not self.accept("\\"):
            raise self.fail("no special character, except in quotes or behind `\\`")
        char = self.next()
        if not char or (char.isascii() and char.isalnum()):
            raise self.fail("a character behind `\\` that is no letter and no digit")
        self.position += 1
        return char

    def char_class(self) -> str:
        found = _CHAR_CLASS.match(self.rule, self.position)
        # `[!]` is read as a class of `!`, which then negates nothing.
        if found is None or found[1] == "!":
            raise self.fail("a class of characters such as `[a-d]` or `[!a-d]`")
        self.position = found.end()
        inside = found[1]
        if inside[0] == "!":
            return f"[^{inside[1:]}]"
        return f"[\\{inside}]" if inside[0] == "^" else f"[{inside}]"


@dataclass(frozen=True, slots=True)
class TableRule:
    """One rule.

    Attributes:
        label: Where it stands, and its text: ``rules[2]: !shop.tmp_*``.
        database: Pattern of the database.
        table: Pattern of the table.
        accepts: False for a rule that begins with ``!``.
    """

    label: str
    database: NamePattern
    table: NamePattern
    accepts: bool


def _rule(text: str, label: str) -> TableRule:
    reader = _Reader(text)
    accepts = not reader.accept("!")
    database = reader.pattern()
    if not reader.accept("."):
        raise reader.fail("`.` and a pattern for tables")
    table = reader.pattern()
    if reader.position < len(text):
        raise reader.fail("the end of the rule behind the pattern for tables")
    return TableRule(f"{label}: {text}", database, table, accepts)


def parse_table_rules(
    text: str, label: str, *, folder: Path | None = None
) -> tuple[TableRule, ...]:
    """Read one entry of a list of rules.

    Args:
        text: The entry. A comment or nothing is no rule; ``@file`` is a file with one
            rule a line, which may not name further files.
        label: Name of the entry: ``rules[2]``.
        folder: Folder that names of files are relative to.

    Returns:
        The rules, in order.

    Raises:
        ValueError: If the entry breaks the grammar, or its file can not be read.
    """
    rule = text.strip(" \t")
    if not rule or rule.startswith("#"):
        return ()
    if not rule.startswith("@"):
        return (_rule(rule, label),)
    name = rule[1:]
    if folder is None:
        raise ValueError(f"Expected a rule, got `{rule}`: no file may be named here")
    try:
        # Lines end in a newline only, so that a name may hold U+2028.
        lines = (folder / name).read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ValueError(f"Expected a file of rules, got `{name}`: {why}") from error
    rules: list[TableRule] = []
    for number, line in enumerate(lines, start=1):
        try:
            rules += parse_table_rules(
                line.removesuffix("\r"), f"{label} {name}:{number}"
            )
        except ValueError as error:
            raise ValueError(f"{error}, line {number} of `{name}`") from error
    return tuple(rules)


# --- Deciding ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say of a name.

    Attributes:
        is_accepted: It is replicated.
        rule: The rule that decided: its label, ``system database`` or
            ``no rule matches``.
    """

    is_accepted: bool
    rule: str


_SYSTEM: Final = Decision(is_accepted=False, rule="system database")
_UNMATCHED: Final = Decision(is_accepted=False, rule="no rule matches")


@dataclass(frozen=True, slots=True)
class TableRules:
    """A list of rules; the last one that matches decides.

    Attributes:
        rules: The rules, in order. None: nothing is accepted.
        case_sensitive: Tell ``T`` from ``t``.
        refuses_system: Refuse `SYSTEM_DATABASES` first.
    """

    rules: tuple[TableRule, ...]
    case_sensitive: bool = False
    refuses_system: bool = True

    def accepts(self, database: str, table: str) -> bool:
        """Tell whether a table is replicated."""
        return self.decide(database, table).is_accepted

    def accepts_database(self, database: str) -> bool:
        """Tell whether DDL of a database itself is replicated."""
        return self.decide(database).is_accepted

    def decide(self, database: str, table: str | None = None) -> Decision:
        """Tell whether a table or a database is replicated, and which rule says so.

        Args:
            database: The database.
            table: The table; may be empty, which ``*`` matches. ``None`` asks for DDL
                of the database itself.
        """
        case = self.case_sensitive
        if self.refuses_system and is_system_database(database):
            return _SYSTEM
        for rule in self._latest_first(table):
            if rule.database.matches(database, case_sensitive=case) and (
                table is None or rule.table.matches(table, case_sensitive=case)
            ):
                return Decision(rule.accepts, rule.label)
        return _UNMATCHED

    def to_sql(self, database: str, table: str | None = None) -> str:
        """Return `decide` as one boolean expression of Spark SQL, never null.

        Args:
            database: Expression of the name of the database, a string; null matches
                ``*`` only.
            table: Expression of the name of the table; ``None`` asks for DDL of the
                database itself.

        Returns:
            ``case when ... then true when ... then false else true end``, the last
            rule first; or just ``true``.
        """
        return self._decision_sql(
            database, table, lambda decision: _boolean(decision.is_accepted)
        )

    def refusal_sql(self, database: str, table: str | None = None) -> str:
        """Return the rule of `decide` as an expression of Spark SQL.

        Args:
            database: As of `to_sql`.
            table: As of `to_sql`.

        Returns:
            An expression of type string: the rule that refuses a name, null for one that
            is accepted.
        """
        return self._decision_sql(
            database,
            table,
            lambda decision: (
                "null" if decision.is_accepted else sql_text(decision.rule)
            ),
        )

    def _decision_sql(
        self, database: str, table: str | None, written: Callable[[Decision], str]
    ) -> str:
        case = self.case_sensitive
        branches: list[tuple[str, str]] = []
        otherwise = written(_UNMATCHED)
        if self.refuses_system:
            name = lowered_sql(database, "".join(SYSTEM_DATABASES))
            names = ", ".join(map(sql_text, SYSTEM_DATABASES))
            branches.append((f"{name} in ({names})", written(_SYSTEM)))
        for rule in self._latest_first(table):
            outcome = written(Decision(rule.accepts, rule.label))
            conditions = [rule.database.to_sql(database, case_sensitive=case)]
            if table is not None:
                conditions.append(rule.table.to_sql(table, case_sensitive=case))
            condition = " and ".join(filter(None, conditions))
            if not condition:
                otherwise = outcome
                break
            branches.append((condition, outcome))
        while branches and branches[-1][1] == otherwise:
            branches.pop()
        if not branches:
            return otherwise
        lines = [f"    when {when} then {then}" for when, then in branches]
        return "\n".join(["case", *lines, f"    else {otherwise}", "end"])

    def _latest_first(self, table: str | None) -> list[TableRule]:
        """Return the rules that may decide, the last one first.

        Of a database, a refusal decides only if it refuses all tables, with ``*``.
        """
        return [
            rule
            for rule in reversed(self.rules)
            if table is not None or rule.accepts or isinstance(rule.table, AnyName)
        ]


def _boolean(value: bool) -> str:
    return "true" if value else "false"
