"""The filter of a TiCDC changefeed, from the file that the changefeed was made with.

TiCDC filters in the source cluster; here the same file tells what it let through. Of
the file given to ``cdc cli changefeed create --config`` only ``case-sensitive`` and
``[filter]`` are read. `ChangefeedFilter` answers for single changes and statements, as
TiCDC after v8.5 does; `table_rules` and `row_predicates` write it as Spark SQL.

Sources: TiCDC's documentation "Changefeed Log Filters" and "Changefeed configuration";
the code of TiCDC after v8.5, for the order of the checks and for renames.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar

from changefold.changefeed.event_types import (
    DATABASE_TYPES,
    DDL_TYPES,
    EVENT_TYPES,
    covering_name,
    event_type_of,
)
from changefold.changefeed.go_regex import GoRegex, parse_go_regex
from changefold.changefeed.letter_case import folded
from changefold.changefeed.row_predicates import ColumnOfTable, render_expression
from changefold.changefeed.table_rules import TableRule, TableRules, parse_table_rules
from changefold.mysql.ddl import DdlStatement
from changefold.mysql.expressions import parse_expression

__all__ = [
    "ChangefeedFilter",
    "DdlVerdict",
    "EventFilter",
    "FilterError",
    "UpdateOnlyColumns",
    "ValueRule",
    "load_changefeed_filter",
    "parse_changefeed_filter",
]


class FilterError(ValueError):
    """A file of a changefeed that can not be applied.

    Attributes:
        file: Name of the file.
        line: Line of the key or entry, from 1.
        message: What was expected and what came, and the key or entry.
    """

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(file, line, message)
        self.file = file
        self.line = line
        self.message = message

    def __str__(self) -> str:
        """Return the place and the sentence."""
        return f"{self.file}:{self.line}: {self.message}"


# --- What a filter says -----------------------------------------------------------

DdlVerdict: TypeAlias = Literal["send", "ignore", "discard", "stop"]
"""What becomes of a DDL.

``ignore``: TiCDC applies it to its own schema, but does not send it. ``discard``: it
does neither.
``stop``: the changefeed stops with an error.
"""

_DML: Final = {"c": "insert", "u": "update", "d": "delete"}
"""Letters of `op` with the event type."""

_Image: TypeAlias = Literal["before", "after"]
_VALUE_KEYS: Final[dict[str, tuple[str, _Image]]] = {
    "ignore-insert-value-expr": ("c", "after"),
    "ignore-update-old-value-expr": ("u", "before"),
    "ignore-update-new-value-expr": ("u", "after"),
    "ignore-delete-value-expr": ("d", "before"),
}


@dataclass(frozen=True, slots=True)
class ValueRule:
    """Changes of rows with certain values are not sent.

    Attributes:
        rule: Name of the rule: ``event-filters[0].ignore-delete-value-expr``.
        op: Changes it is for: ``c``, ``u`` or ``d``.
        image: Row it is evaluated on.
        expression: The expression, as written.
        file: File it stands in.
        line: Its line.
    """

    rule: str
    op: str
    image: _Image
    expression: str
    file: str
    line: int

    def to_sql(
        self, columns: Mapping[str, ColumnOfTable], *, time_zone: str = "UTC"
    ) -> str:
        """Return the rule as a condition of Spark SQL.

        Args:
            columns: Columns of `image` by name.
            time_zone: Time zone of the changefeed.

        Returns:
            A boolean expression, never null: true if the change is not sent.

        Raises:
            FilterError: If the expression names an unknown column, or could give
                another result in Spark.
        """
        try:
            return render_expression(self.expression, columns, time_zone=time_zone)
        except ValueError as error:
            raise FilterError(self.file, self.line, f"{error}, {self.rule}") from error


@dataclass(frozen=True, slots=True)
class UpdateOnlyColumns:
    """Updates that change no other columns than these are not sent.

    An update that changes a column of the primary key or of a unique index is sent. One
    that changes nothing is not. A column that the table does not have is left out; if
    none is left, the rule does nothing.

    Attributes:
        rule: Name of the rule: ``event-filters[0].ignore-update-only-columns``.
        columns: Names of the columns.
        case_sensitive: Tell ``A`` from ``a`` in names of columns.
    """

    rule: str
    columns: tuple[str, ...]
    case_sensitive: bool

    def compared(
        self, columns: Mapping[str, object], keys: AbstractSet[str] = frozenset()
    ) -> tuple[str, ...] | None:
        """Return the columns that must be equal for an update not to be sent.

        Args:
            columns: Columns of the table, by name.
            keys: Columns of the primary key and of unique indexes.

        Returns:
            Their names; ``None`` if the rule does nothing for this table.
        """
        named = {self._cased(name) for name in self.columns}
        mine = {name for name in columns if self._cased(name) in named}
        if not mine:
            return None
        return tuple(name for name in columns if name not in mine or name in keys)

    def to_sql(
        self,
        before: Mapping[str, str],
        after: Mapping[str, str],
        keys: AbstractSet[str] = frozenset(),
    ) -> str:
        """Return the rule as a condition of Spark SQL.

        Args:
            before: Expression of each column in the old row.
            after: Expression of each column in the new row.
            keys: Columns of the primary key and of unique indexes.

        Returns:
            A boolean expression, never null: true if the update is not sent.
        """
        compared = self.compared(after, keys)
        if compared is None:
            return "false"
        equal = [f"{before[name]} <=> {after[name]}" for name in compared]
        return " and ".join(equal) or "true"

    def _cased(self, name: str) -> str:
        return name if self.case_sensitive else folded(name)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """One ``[[filter.event-filters]]``.

    Attributes:
        name: ``event-filters[0]``.
        matcher: Tables it is for; by ``case-sensitive`` only where TiCDC does that.
        ignored_types: ``ignore-event``.
        ignored_sql: ``ignore-sql``, all in one expression.
        values: Rules about values.
        update_only: ``ignore-update-only-columns``.
    """

    name: str
    matcher: TableRules
    ignored_types: tuple[str, ...] = ()
    ignored_sql: GoRegex | None = None
    values: tuple[ValueRule, ...] = ()
    update_only: UpdateOnlyColumns | None = None


@dataclass(frozen=True, slots=True)
class ChangefeedFilter:
    """The filter of a changefeed.

    Attributes:
        tables: Rules for databases and tables.
        event_filters: Filters of events, in order.
    """

    tables: TableRules
    event_filters: tuple[EventFilter, ...] = ()

    def dml_verdict(self, database: str, table: str, op: str) -> str | None:
        """Return the rule by which changes of a kind are not sent.

        Values are not asked: see `value_rules` and `update_only_columns`, which come
        after this.

        Args:
            database: Database of the table.
            table: The table.
            op: ``c``, ``u`` or ``d``.

        Returns:
            The rule, such as ``rules[2]: !shop.tmp_*`` or ``event-filters[0]
            .ignore-event: delete``; ``None`` if nothing keeps them from being sent.

        Raises:
            ValueError: If `op` is another letter.
        """
        if op not in _DML:
            raise ValueError(f"Expected `c`, `u` or `d` as op, got `{op}`")
        decision = self.tables.decide(database, table)
        if not decision.is_accepted:
            return decision.rule
        for rule in self._event_filters(database, table):
            name = covering_name(_DML[op], rule.ignored_types)
            if name is not None:
                return f"{rule.name}.ignore-event: {name}"
        return None

    def value_rules(self, database: str, table: str) -> tuple[ValueRule, ...]:
        """Return the rules about values of a table, in order; any may ignore a row."""
        filters = self._event_filters(database, table)
        return tuple(value for rule in filters for value in rule.values)

    def update_only_columns(
        self, database: str, table: str
    ) -> tuple[UpdateOnlyColumns, ...]:
        """Return the rules about changed columns of a table; any may ignore a row.

        TiCDC asks them before `value_rules`, and for Kafka only.
        """
        return tuple(
            rule.update_only
            for rule in self.event_filters
            if rule.update_only is not None
            and TableRules(
                rule.matcher.rules,
                case_sensitive=rule.update_only.case_sensitive,
                refuses_system=False,
            ).accepts(database, table)
        )

    def ddl_verdict(
        self,
        ddl: DdlStatement | str | None,
        database: str,
        table: str = "",
        *,
        sql: str = "",
        old: tuple[str, str] | None = None,
    ) -> tuple[DdlVerdict, str]:
        """Return what becomes of a DDL, and the rule that says so.

        A statement on several tables (DROP TABLE, RENAME TABLE) is one DDL for each.

        Args:
            ddl: The statement, or its event type; ``None`` for one that TiCDC does not
                replicate.
            database: The database, after the statement.
            table: The table, after the statement; empty for DDL of a database.
            sql: Text of the statement, for ``ignore-sql``.
            old: Database and table before a RENAME TABLE.

        Returns:
            The verdict, and its rule; for ``send`` the rule that accepts the table.

        Raises:
            ValueError: If the statement was not understood, the type is not one of
                `event_types.DDL_TYPES`, or `old` is missing for a rename.
        """
        event_type = event_type_of(ddl) if isinstance(ddl, DdlStatement) else ddl
        if event_type is None:
            return "discard", "no DDL that TiCDC replicates"
        if event_type not in DDL_TYPES:
            raise ValueError(f"Expected an event type of DDL, got `{event_type}`")
        is_rename = event_type == "rename table"
        if is_rename:
            if old is None:
                raise ValueError(
                    "Expected the names before a rename in `old`, got none"
                )
            decision = self.tables.decide(*old)
            target = self.tables.decide(database, table)
            if not decision.is_accepted and target.is_accepted:
                return "stop", f"renamed into the rules, {target.rule}"
            database, table = old
        elif event_type in DATABASE_TYPES:
            decision = self.tables.decide(database)
            table = ""
        else:
            decision = self.tables.decide(database, table)
        if not decision.is_accepted:
            return "discard", decision.rule
        ignored = self._ignoring_rule(event_type, database, table, sql)
        return ("send", decision.rule) if ignored is None else ("ignore", ignored)

    def _ignoring_rule(
        self, event_type: str, database: str, table: str, sql: str
    ) -> str | None:
        for rule in self._event_filters(database, table or None):
            name = covering_name(event_type, rule.ignored_types)
            if name is not None:
                return f"{rule.name}.ignore-event: {name}"
            if rule.ignored_sql is not None and rule.ignored_sql.found_in(sql):
                return f"{rule.name}.ignore-sql: {rule.ignored_sql.source}"
        return None

    def _event_filters(self, database: str, table: str | None) -> Iterator[EventFilter]:
        for rule in self.event_filters:
            if rule.matcher.decide(database, table).is_accepted:
                yield rule


# --- Reading ----------------------------------------------------------------------


def load_changefeed_filter(path: Path) -> ChangefeedFilter:
    """Read the filter of a changefeed's configuration file.

    Args:
        path: The file. Rules may name further files (``@file``), relative to it.

    Returns:
        The filter; one that accepts every table if there is no ``[filter]``.

    Raises:
        FilterError: If the file can not be read, or something in it is wrong.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        message = f"Expected a configuration file of TiCDC: {why}"
        raise FilterError(path.name, 1, message) from error
    return parse_changefeed_filter(text, file=path.name, folder=path.parent)


def parse_changefeed_filter(
    text: str, *, file: str = "changefeed.toml", folder: Path | None = None
) -> ChangefeedFilter:
    """Read the filter of a changefeed's configuration.

    Args:
        text: The configuration, TOML.
        file: Name of the file, for errors.
        folder: Folder that ``@file`` is relative to; without it, there may be none.

    Returns:
        The filter.

    Raises:
        FilterError: If something in it is wrong.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line ([0-9]+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise FilterError(
            file, line, f"Expected TOML, got an error: {error}"
        ) from error
    reader = _FileReader(text, file, folder)
    top = _Section(reader, document, "")
    case_sensitive = top.value("case-sensitive", bool, default=False)
    section = _Section(reader, top.value("filter", dict, default={}), "filter")
    section.check_keys("rules", "ignore-txn-start-ts", "event-filters")
    if section.value("ignore-txn-start-ts", list, default=[]):
        message = "Expected none, as no message carries the start ts of its transaction"
        raise section.fail("ignore-txn-start-ts", message)
    rules = section.table_rules("rules")
    if not section.texts("rules"):
        rules = parse_table_rules("*.*", "default")
    filters = section.value("event-filters", list, default=[])
    return ChangefeedFilter(
        TableRules(rules, case_sensitive=case_sensitive),
        tuple(
            _event_filter(reader, table, number, case_sensitive=case_sensitive)
            for number, table in enumerate(filters)
        ),
    )


def _event_filter(
    reader: "_FileReader", table: object, number: int, *, case_sensitive: bool
) -> EventFilter:
    name = f"event-filters[{number}]"
    if not isinstance(table, dict):
        line = reader.line("filter", "event-filters")
        raise FilterError(
            reader.file, line, f"Expected a table, got `{table}` - at `filter.{name}`"
        )
    section = _Section(reader, table, f"filter.{name}")
    section.check_keys(
        "matcher",
        "ignore-event",
        "ignore-sql",
        "ignore-update-only-columns",
        *_VALUE_KEYS,
    )
    matcher = section.table_rules("matcher", f"{name}.matcher")
    if not matcher:
        message = "Expected rules for the tables it is for; without, it is for none"
        raise section.fail("matcher", message)
    columns = section.texts("ignore-update-only-columns")
    key = f"{name}.ignore-update-only-columns"
    return EventFilter(
        name,
        TableRules(matcher, case_sensitive=True, refuses_system=False),
        _ignored_types(section),
        _ignored_sql(section),
        tuple(_value_rules(section, name)),
        UpdateOnlyColumns(key, columns, case_sensitive) if columns else None,
    )


def _ignored_types(section: "_Section") -> tuple[str, ...]:
    names = section.texts("ignore-event")
    for number, name in enumerate(names):
        if name not in EVENT_TYPES:
            known = ", ".join(f"`{known}`" for known in EVENT_TYPES)
            message = f"Expected one of {known}, got `{name}`"
            raise section.fail("ignore-event", message, number)
    return names


def _ignored_sql(section: "_Section") -> GoRegex | None:
    patterns = section.texts("ignore-sql")
    if not patterns:
        return None
    try:
        # TiCDC joins them, so that together they may be right where one alone is not.
        return parse_go_regex("|".join(patterns), ignore_case=True)
    except ValueError as error:
        for number, pattern in enumerate(patterns):
            try:
                parse_go_regex(pattern, ignore_case=True)
            except ValueError as wrong:
                raise section.fail("ignore-sql", str(wrong), number) from wrong
        raise section.fail("ignore-sql", str(error)) from error


def _value_rules(section: "_Section", name: str) -> Iterator[ValueRule]:
    for key, (op, image) in _VALUE_KEYS.items():
        expression = section.value(key, str, default="")
        if not expression:
            continue
        try:
            parse_expression(expression)
        except ValueError as error:
            raise section.fail(key, str(error)) from error
        line = section.line(key)
        yield ValueRule(
            f"{name}.{key}", op, image, expression, section.reader.file, line
        )


_T = TypeVar("_T")
_WORDS: Final[dict[type, str]] = {
    bool: "true or false",
    str: "text",
    list: "a list",
    dict: "a section",
}


@dataclass(frozen=True, slots=True)
class _Section:
    """One table of the document, with its place."""

    reader: "_FileReader"
    values: Mapping[str, object]
    name: str

    def line(self, key: str, number: int | None = None) -> int:
        return self.reader.line(self.name, key, number)

    def fail(self, key: str, message: str, number: int | None = None) -> FilterError:
        place = f"{self.name}.{key}" if self.name else key
        place += "" if number is None else f"[{number}]"
        line = self.line(key, number)
        return FilterError(self.reader.file, line, f"{message} - at `{place}`")

    def check_keys(self, *known: str) -> None:
        for key in self.values:
            if key not in known:
                listed = ", ".join(f"`{name}`" for name in known)
                raise self.fail(key, f"Expected one of {listed}, got `{key}`")

    def value(self, key: str, kind: type[_T], *, default: _T) -> _T:
        value = self.values.get(key, default)
        if not isinstance(value, kind):
            raise self.fail(key, f"Expected {_WORDS[kind]}, got `{value}`")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        texts: list[str] = []
        for number, text in enumerate(self.value(key, list, default=[])):
            if not isinstance(text, str):
                raise self.fail(key, f"Expected text, got `{text}`", number)
            texts.append(text)
        return tuple(texts)

    def table_rules(self, key: str, label: str | None = None) -> tuple[TableRule, ...]:
        rules: list[TableRule] = []
        for number, text in enumerate(self.texts(key)):
            entry = f"{label or key}[{number}]"
            try:
                rules += parse_table_rules(text, entry, folder=self.reader.folder)
            except ValueError as error:
                raise self.fail(key, str(error), number) from error
        return tuple(rules)


_ITEM: Final = re.compile(
    r"""
      \"{3} (?:[^\\]|\\.)*? \"{3,5} | '{3} .*? '{3,5}
    | " (?:[^"\\]|\\.)* " | ' [^']* ' | \#[^\n]* | \]
    """,
    re.DOTALL | re.VERBOSE,
)
_HEADER: Final = re.compile(r"^[ \t]*\[+([^\]#\n]+)\]+[ \t]*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _FileReader:
    """Finds the lines of keys, which ``tomllib`` does not tell."""

    text: str
    file: str
    folder: Path | None

    def line(self, section: str, key: str, number: int | None = None) -> int:
        """Return the line of a key, or of an entry of its list.

        Args:
            section: ``filter``, ``filter.event-filters[1]``, or nothing.
            key: The key; that of the section is returned if it is not there.
            number: Number of the entry, from 0.
        """
        start, end = self._bounds(section)
        quoted = rf"""["']?{re.escape(key)}["']?"""
        before = r"""^(?:[^"'#\n]*[.{,\[ \t])?"""
        pattern = re.compile(rf"{before}(?P<key>{quoted})[ \t]*[=\]]", re.MULTILINE)
        found = pattern.search(self.text, start, end)
        position = found.start("key") if found else start
        if number is not None:
            position = self._entry(position, number)
        return self.text.count("\n", 0, position) + 1

    def _bounds(self, section: str) -> tuple[int, int]:
        """Return where a section begins and ends; all if it has no header."""
        name, _, number = section.rstrip("]").partition("[")
        headers = [
            (re.sub(r"[\s\"']", "", header[1]), header.start())
            for header in _HEADER.finditer(self.text)
        ]
        starts = [start for header, start in headers if header == name]
        wanted = int(number or 0)
        if wanted >= len(starts):
            return 0, len(self.text)
        start = starts[wanted]
        inside = f"{name}."
        ends = [e for h, e in headers if e > start and not h.startswith(inside)]
        return start, min(ends, default=len(self.text))

    def _entry(self, start: int, number: int) -> int:
        """Return where an entry of a list begins."""
        found = 0
        for item in _ITEM.finditer(self.text, start):
            if item[0] == "]":
                break
            if item[0].startswith("#"):
                continue
            if found == number:
                return item.start()
            found += 1
        return start
