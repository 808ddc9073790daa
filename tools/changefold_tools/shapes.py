"""What a table's columns are over time, from the versions of its schema."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from changefold.mysql_types import MySqlType, parse_mysql_type
from changefold_tools.types import message_type


@dataclass
class Incarnation:
    """One life of a column: from the DDL that adds it to the one that drops it.

    Attributes:
        added_at: Sequence of the DDL that added it; None if it was there from the
            beginning of the table.
        dropped_at: Sequence of the DDL that dropped it; None while it lives.
        default: Text that rows written before it show.
        names: (since, name): the name from a sequence on, in order.
        types: (since, type): likewise.
        converts: (at, from, to): type changes that may change the text of a value.
    """

    column_id: str
    added_at: str | None
    dropped_at: str | None
    default: str | None
    comment: str
    names: list[tuple[str | None, str]]
    types: list[tuple[str | None, MySqlType]]
    converts: list[tuple[str, MySqlType, MySqlType]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its last name."""
        return self.names[-1][1]

    @property
    def type(self) -> MySqlType:
        """Its last type."""
        return self.types[-1][1]


@dataclass(frozen=True)
class TableName:
    """A name that a table bears for a time.

    Attributes:
        since: Sequence of the DDL that gave it, exclusive; None from the beginning.
        until: Sequence of the DDL that took it, inclusive; None while it holds.
    """

    database: str
    table: str
    since: str | None = None
    until: str | None = None


@dataclass
class TableShape:
    """A table as its model needs it: the lives that ended under one name.

    A life goes from CREATE to DROP, and keeps its history when it is renamed. Lives of
    one name follow each other.

    Attributes:
        database: The last name's.
        table: The last name's.
        names: The names that its changes bear, if that is more than the last name.
        is_past: It is gone, and another life of that name overlaps, or has another key:
            it gets a model of its own.
        versions: Rows of the model ``table_schemas`` that it was made from.
        columns: Model column -> its incarnations, which do not overlap in time.
        live: The columns that the table has now, in order.
        key_columns: The columns that identify a row.
        virtual: Virtual generated columns, which no message carries.
        rewritten_at: DDLs that change what rows hold.
        reshaped_at: Those among them that add, drop or rename a column.
        partial: Why the key or the types are not fully known, or an empty text.
    """

    topic: str
    database: str
    table: str
    columns: dict[str, list[Incarnation]]
    live: list[str]
    key_columns: list[str]
    virtual: list[str]
    rewritten_at: list[str]
    reshaped_at: list[str]
    partial: str = ""
    names: list[TableName] = field(default_factory=list)
    is_past: bool = False
    versions: list[dict[str, Any]] = field(default_factory=list)

    def is_named(self, database: str, table: str) -> bool:
        """Whether its changes bear a name, at any time."""
        return (database, table) in {
            (self.database, self.table),
            *((name.database, name.table) for name in self.names),
        }


def shapes_from_versions(versions: list[dict[str, Any]]) -> list[TableShape]:
    """Return the shapes of all tables of a topic.

    Args:
        versions: Rows of the model ``table_schemas`` of the topic, in order.
    """
    lives: dict[str, list[dict[str, Any]]] = {}
    for version in versions:
        lives.setdefault(version["table_uid"], []).append(version)
    groups: dict[tuple[str, str], list[list[dict[str, Any]]]] = {}
    past: list[list[dict[str, Any]]] = []
    for life in sorted(lives.values(), key=_end_of_life):
        if not any(version["columns"] for version in life):
            continue
        last = life[-1]
        group = groups.setdefault((last["source_database"], last["source_table"]), [])
        if group and not _can_follow(group[-1], life):
            past.append(group.pop())
        group.append(life)
    bearers = Counter(
        (name.database, name.table)
        for life in lives.values()
        for name in _names_of_life(life)
    )
    shapes = []
    for group in groups.values():
        together = [version for life in group for version in life]
        shape = shape_from_versions(together)
        names = [name for life in group for name in _names_of_life(life)]
        own = (shape.database, shape.table)
        if {(name.database, name.table) for name in names} != {own} or bearers[
            own
        ] > len(names):
            shape.names = names
        shapes.append(shape)
    for life in past:
        shape = shape_from_versions(life)
        shape.names = _names_of_life(life)
        shape.is_past = True
        shapes.append(shape)
    return shapes


def _end_of_life(versions: list[dict[str, Any]]) -> str:
    """Sequence of the DROP; behind every sequence for a table that is there."""
    last = versions[-1]
    return str(last["valid_from_sequence"]) if last["is_dropped"] else "~"


def _can_follow(before: list[dict[str, Any]], versions: list[dict[str, Any]]) -> bool:
    """Whether a life lies behind another, and its rows are told apart alike."""
    return (
        _end_of_life(before) <= (versions[0]["valid_from_sequence"] or "")
        and before[-1]["key_columns"] == versions[-1]["key_columns"]
    )


def _names_of_life(versions: list[dict[str, Any]]) -> list[TableName]:
    """The names of a life, in order; the DROP of a table takes its name."""
    names: list[TableName] = []
    for version in versions:
        since = version["valid_from_sequence"]
        database, table = version["source_database"], version["source_table"]
        is_named = bool(names) and names[-1].until is None
        is_kept = is_named and (names[-1].database, names[-1].table) == (
            database,
            table,
        )
        if is_named and (version["is_dropped"] or not is_kept):
            names[-1] = replace(names[-1], until=since)
        if not version["is_dropped"] and not is_kept:
            names.append(TableName(database, table, since))
    # Of a swap by three renames at one moment, the name between holds for no row.
    return [name for name in names if name.until is None or name.since != name.until]


def shape_from_versions(versions: list[dict[str, Any]]) -> TableShape:
    """Return the shape of a table from its schema versions.

    Args:
        versions: Rows of the model ``table_schemas`` of lives that follow each other.
    """
    incarnations: dict[str, Incarnation] = {}
    rewritten: set[str] = set()
    reshaped: set[str] = set()
    virtual: dict[str, None] = {}
    previous_uid = None
    for version in versions:
        since = version["valid_from_sequence"]
        is_created = version["table_uid"] != previous_uid
        previous_uid = version["table_uid"]
        present = set()
        for column in version["columns"]:
            if column["generated"] == "virtual":
                virtual[column["name"]] = None
            else:
                present.add(
                    _follow(incarnations, version, column, is_created=is_created)
                )
        for column_id, incarnation in incarnations.items():
            if column_id not in present and incarnation.dropped_at is None:
                incarnation.dropped_at = since
        for change in version["image_changes"]:
            if change["kind"] != "retyped":
                reshaped.add(since)
            elif change["changes_text"]:
                rewritten.add(since)
                old, new = change["from_type"], change["to_type"]
                incarnations[_column_id(version, change)].converts.append(
                    (since, parse_mysql_type(old), parse_mysql_type(new))
                )
    last = versions[-1]
    columns: dict[str, list[Incarnation]] = {}
    live = [
        column["name"] for column in last["columns"] if column["generated"] != "virtual"
    ]
    for name in live:
        columns[name] = []
    for incarnation in incarnations.values():
        columns.setdefault(incarnation.name, []).append(incarnation)
    return TableShape(
        topic=last["kafka_topic"],
        database=last["source_database"],
        table=last["source_table"],
        columns=columns,
        live=live,
        key_columns=list(last["key_columns"]) or live,
        virtual=list(virtual),
        rewritten_at=sorted(rewritten | reshaped),
        reshaped_at=sorted(reshaped),
        partial=""
        if last["key_columns"]
        else "The table has no key: whole rows are told apart.",
        versions=versions,
    )


def _column_id(version: dict[str, Any], column: dict[str, Any]) -> str:
    """What tells a column apart for ever: its table's life, and its number there."""
    return f"{version['table_uid']}/{column['column_id']}"


def _follow(
    incarnations: dict[str, Incarnation],
    version: dict[str, Any],
    column: dict[str, Any],
    *,
    is_created: bool,
) -> str:
    """Note a column of a version; return its id."""
    since = version["valid_from_sequence"]
    column_id = _column_id(version, column)
    column_type = parse_mysql_type(column["type"])
    known = incarnations.get(column_id)
    if known is None:
        incarnations[column_id] = Incarnation(
            column_id=column_id,
            added_at=None if is_created else since,
            dropped_at=None,
            default=column["original_default"],
            comment=column["comment"] or "",
            names=[(None, column["name"])],
            types=[(None, column_type)],
        )
        return column_id
    known.comment = column["comment"] or ""
    if known.name != column["name"]:
        known.names.append((since, column["name"]))
    if known.type != column_type:
        known.types.append((since, column_type))
    return column_id


def shape_from_messages(
    topic: str, database: str, table: str, types: dict[str, str], key: list[str]
) -> TableShape:
    """Return the shape of a table of which no DDL was seen.

    Args:
        topic: Name of the topic.
        database: Name of the database.
        table: Name of the table.
        types: Column -> type as the messages name it, in order.
        key: Columns of the primary key as the messages name them.
    """
    columns = {
        name: [
            Incarnation(
                column_id=name,
                added_at=None,
                dropped_at=None,
                default=None,
                comment="",
                names=[(None, name)],
                types=[(None, message_type(text))],
            )
        ]
        for name, text in types.items()
    }
    return TableShape(
        topic=topic,
        database=database,
        table=table,
        columns=columns,
        live=list(types),
        key_columns=key or list(types),
        virtual=[],
        rewritten_at=[],
        reshaped_at=[],
        partial="No DDL of the table was seen: types and key are those of its messages.",
    )
