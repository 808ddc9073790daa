"""The filter of a changefeed as SQL over the columns of the models.

Macros call these functions while a model compiles (`adapter.call`). Each takes the
folder of the project first, and the file that a topic declares as ``filter``.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from changefold.changefeed.event_types import DATABASE_TYPES, DDL_TYPES, covering_name
from changefold.changefeed.filter import (
    ChangefeedFilter,
    FilterError,
    load_changefeed_filter,
)
from changefold.changefeed.row_predicates import ColumnOfTable
from changefold.changefeed.table_rules import TableRules
from changefold.connect.column_types import TypeSeed, seeds_of
from changefold.connect.types import PREFIX
from changefold.mysql.types import MySqlType, parse_mysql_type
from changefold.spark_text import sql_text

__all__ = [
    "check",
    "column_calls",
    "digest",
    "has_value_rules",
    "ignored_ddl_sql",
    "refused_row_sql",
    "refused_table_sql",
    "value_rules",
]

_OPERATIONS: Final = {"insert": ("c", "r"), "update": ("u",), "delete": ("d",)}
"""Event types of row changes with letters of `op`; a snapshot's row is an insert."""


def check(project: Path, file: str) -> str:
    """Return what is wrong with a file; nothing if it can be applied."""
    try:
        load_changefeed_filter(project / file)
    except FilterError as error:
        return str(error)
    return ""


def digest(project: Path, file: str) -> str:
    """Return a text that changes when a rule does; nothing if the file is wrong."""
    try:
        rules = repr(load_changefeed_filter(project / file))
    except FilterError:
        return ""
    return hashlib.sha256(rules.encode()).hexdigest()[:16]


def refused_row_sql(
    project: Path, file: str, database: str, table: str, op: str
) -> str:
    """Return the rule on names and event types that refuses a row change.

    Args:
        project: Folder of the project.
        file: The filter.
        database: Expression of the database.
        table: Expression of the table.
        op: Expression of the operation.

    Returns:
        An expression of type string, null where no such rule does.
    """
    changefeed = _load(project, file)
    branches: list[tuple[str, str]] = []
    for rule in changefeed.event_filters:
        matches = rule.matcher.to_sql(database, table)
        for event_type, letters in _OPERATIONS.items():
            name = covering_name(event_type, rule.ignored_types)
            if name is not None:
                is_op = f"{op} in ({', '.join(map(sql_text, letters))})"
                label = f"{rule.name}.ignore-event: {name}"
                branches.append((_both(is_op, matches), label))
    return f"coalesce(\n{changefeed.tables.refusal_sql(database, table)},\n{_case(branches)}\n)"


def refused_table_sql(
    project: Path, file: str, ddl_type: str, database: str, table: str
) -> str:
    """Return the rule on names that refuses the table of a DDL, or its database.

    Args:
        project: Folder of the project.
        file: The filter.
        ddl_type: Expression of the DDL's event type.
        database: Expression of the database.
        table: Expression of the table.

    Returns:
        An expression of type string, null where no rule does.
    """
    tables = _load(project, file).tables
    return (
        f"if(\n{_is_on_database(ddl_type)},\n{tables.refusal_sql(database)},"
        f"\n{tables.refusal_sql(database, table)}\n)"
    )


def ignored_ddl_sql(project: Path, file: str, ddl: Mapping[str, str]) -> str:
    """Return the event filter that ignores a DDL.

    Args:
        project: Folder of the project.
        file: The filter.
        ddl: Expressions: ``type``, the DDL's event type, null where the statement was not
            understood; ``database`` and ``table``, of a rename those before it; ``sql``,
            the statement.

    Returns:
        An expression of type string, null where none does.
    """
    branches: list[tuple[str, str]] = []
    for rule in _load(project, file).event_filters:
        matches = _matches_ddl(rule.matcher, ddl)
        for name in rule.ignored_types:
            covered = [known for known in DDL_TYPES if covering_name(known, [name])]
            if covered:
                is_type = f"{ddl['type']} in ({', '.join(map(sql_text, covered))})"
                if len(covered) == len(DDL_TYPES):
                    is_type = "true"
                label = f"{rule.name}.ignore-event: {name}"
                branches.append((_both(is_type, matches), label))
        if rule.ignored_sql is not None:
            found = f"{ddl['sql']} rlike {sql_text(rule.ignored_sql.java)}"
            label = f"{rule.name}.ignore-sql: {rule.ignored_sql.source}"
            branches.append((_both(found, matches), label))
    return _case(branches)


def has_value_rules(project: Path, file: str, database: str, table: str) -> bool:
    """Tell whether rules about values or changed columns are for a table."""
    changefeed = _load(project, file)
    return bool(
        changefeed.value_rules(database, table)
        or changefeed.update_only_columns(database, table)
    )


def column_calls(
    project: Path, topic: str, columns: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return how values of some columns are converted.

    Args:
        project: Folder of the project.
        topic: Name of the topic.
        columns: Columns as ``table_schemas`` has them: name and type.

    Returns:
        For each column its name, the macro that converts its text, and the macro's other
        arguments.
    """
    seed = TypeSeed(seeds_of(project))
    calls = []
    for column in columns:
        macro, arguments = seed.column_type(_type(column)).call(topic)
        calls.append(
            {"name": column["name"], "macro": macro, "arguments": list(arguments)}
        )
    return calls


def value_rules(
    project: Path,
    file: str,
    version: Mapping[str, Any],
    texts: Mapping[str, Mapping[str, str]],
    values: Mapping[str, Mapping[str, str]],
) -> list[dict[str, str]]:
    """Return the rules about values of a table, as conditions.

    Args:
        project: Folder of the project.
        file: The filter.
        version: A version of the table: database, table, columns (name, type and
            collation of each), unique_columns (of its primary key and unique indexes),
            time_zone (of the changefeed) and is_last: it holds at present, so each rule
            must fit it. One of the past may lack a column; then the rule ignores nothing.
        texts: Expressions of the sent text, by image (``before``, ``after``) and column.
        values: Expressions of the typed value, likewise.

    Returns:
        For each rule its name, the operation it is for, and a condition.

    Raises:
        FilterError: If a rule does not fit the columns.
    """
    changefeed = _load(project, file)
    name = version["database"], version["table"]
    unique = frozenset(version["unique_columns"])
    rules = [
        {
            "rule": only.rule,
            "op": "u",
            "condition": only.to_sql(texts["before"], texts["after"], unique),
        }
        for only in changefeed.update_only_columns(*name)
    ]
    for rule in changefeed.value_rules(*name):
        columns = {
            column["name"]: ColumnOfTable(
                _type(column),
                values[rule.image][column["name"]],
                column.get("collation"),
            )
            for column in version["columns"]
        }
        try:
            condition = rule.to_sql(columns, time_zone=version["time_zone"])
        except FilterError as error:
            if version["is_last"]:
                raise FilterError(
                    error.file, error.line, f"{error.message}, for `{'.'.join(name)}`"
                ) from error
            continue
        rules.append({"rule": rule.rule, "op": rule.op, "condition": condition})
    return rules


@lru_cache(maxsize=16)
def _parsed(path: Path, modified_ns: int) -> ChangefeedFilter:  # of the key
    return load_changefeed_filter(path)


def _load(project: Path, file: str) -> ChangefeedFilter:
    path = project / file
    return _parsed(path, path.stat().st_mtime_ns)


def _type(column: Mapping[str, Any]) -> MySqlType:
    text = column["type"]
    if text.startswith(PREFIX):
        raise ValueError(
            f"Expected a type of MySQL for a rule about values, got `{text}`, as Kafka"
            f" Connect names it - at column `{column['name']}`"
        )
    return parse_mysql_type(text, declared=False)


def _is_on_database(ddl_type: str) -> str:
    return (
        f"coalesce({ddl_type} in ({', '.join(map(sql_text, DATABASE_TYPES))}), false)"
    )


def _matches_ddl(matcher: TableRules, ddl: Mapping[str, str]) -> str:
    whole = matcher.to_sql(ddl["database"])
    one = matcher.to_sql(ddl["database"], ddl["table"])
    if whole == one:
        return one
    return f"if({_is_on_database(ddl['type'])}, {whole}, {one})"


def _both(condition: str, other: str) -> str:
    parts = [f"({part})" for part in (condition, other) if part != "true"]
    return " and ".join(parts) or "true"


def _case(branches: Sequence[tuple[str, str]]) -> str:
    if not branches:
        return "cast(null as string)"
    lines = [f"    when {when} then {sql_text(then)}" for when, then in branches]
    return "\n".join(["case", *lines, "end"])
