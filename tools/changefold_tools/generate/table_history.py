"""What a table's columns are over time, from the versions of its schema."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from changefold.connect.types import PREFIX, parse_connect_type
from changefold.mysql.types import parse_mysql_type
from changefold_tools.generate.column_names import spark_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from changefold.connect.column_types import SourceType


@dataclass
class Incarnation:
    """One life of a column: from the DDL that adds it to the one that drops it.

    Attributes:
        added_at: Sequence of the DDL that added it, or that ended the table before, if
            rows of that one have other values under the name; None if it was there from
            the beginning of the table.
        dropped_at: Sequence of the DDL that dropped it; None while it lives.
        default: Text that rows written before it show.
        is_unknown_before: Nobody tells what rows written before it have.
        unknown_at: DDLs after which nobody tells what rows written before them have.
        names: (since, name): the name from a sequence on, in order; the first since it
            was added, or the table before ended.
        types: (since, type): likewise.
    """

    column_id: str
    added_at: str | None
    dropped_at: str | None
    default: str | None
    comment: str
    names: list[tuple[str | None, str]]
    types: list[tuple[str | None, SourceType]]
    is_unknown_before: bool = False
    unknown_at: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its last name."""
        return self.names[-1][1]

    @property
    def type(self) -> SourceType:
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


@dataclass(frozen=True)
class TableLife:
    """A table under one key, as `row_versions` has it.

    Attributes:
        table_uid: The table, from its CREATE to its DROP.
        key_since: Sequence of the DDL that gave it the key; None from its beginning.
    """

    table_uid: str
    key_since: str | None


@dataclass
class TableShape:
    """A table as its model needs it: the lives that ended under one name.

    A life goes from CREATE to DROP, and keeps its history when it is renamed. Lives of
    one name follow each other.

    Attributes:
        database: The last name's.
        table: The last name's.
        columns: Model column -> its incarnations, which do not overlap in time.
        live: The model columns that the table has now, in order.
        key_columns: The columns that identify a row; none, if equal rows are counted.
        unsent: Virtual generated columns, which no row message has.
        reshaped_at: DDLs that add, drop or rename a column.
        partial: Why the key or the types are not fully known, or an empty text.
        names: Those that its changes bear, over time.
        versions: Rows of the model ``table_schemas`` that it was made from.
        source_names: Model column -> name at the source, where they differ; so do names
            in it that a column bore before.
        past_until: Sequence of the DDL that ended it, if another life of its name
            overlaps, or has another key: it gets a model of its own.
        lives: Whose rows it has, in order.
    """

    topic: str
    database: str
    table: str
    columns: dict[str, list[Incarnation]]
    live: list[str]
    key_columns: list[str]
    unsent: list[str]
    reshaped_at: list[str]
    partial: str = ""
    source_names: dict[str, str] = field(default_factory=dict)
    names: list[TableName] = field(default_factory=list)
    versions: list[dict[str, Any]] = field(default_factory=list)
    past_until: str | None = None
    lives: list[TableLife] = field(default_factory=list)


@dataclass(frozen=True)
class _Life:
    """The versions of a table from one key to the next, or to its DROP.

    Attributes:
        versions: In order.
        until: Sequence of the DDL that gave the table another key, if one did.
        is_rekeyed: It had another key before.
    """

    versions: list[dict[str, Any]]
    until: str | None = None
    is_rekeyed: bool = False

    @property
    def begin(self) -> str:
        """Sequence of its first DDL; empty if it was there before the topic."""
        return self.versions[0]["valid_from_sequence"] or ""

    @property
    def end(self) -> str:
        """Sequence of the DDL that ended it; behind every sequence if it lives."""
        last = self.versions[-1]
        if self.until is not None:
            return self.until
        return str(last["valid_from_sequence"]) if last["is_dropped"] else "~"

    @property
    def key(self) -> list[str]:
        """Names of the columns that told its rows apart at last."""
        return list(self.versions[-1]["key_columns"])

    @property
    def has_columns(self) -> bool:
        """Whether its columns are known: not if only a DDL named it, and no row came."""
        first = self.versions[0]
        is_blank = first["ddl_sql"] is None and not first["columns"]
        return any(
            version["columns"] and (not is_blank or version["ddl_sql"] is None)
            for version in self.versions
        )

    def as_folded(self) -> TableLife:
        """Return where `row_versions` has its rows."""
        uid = str(self.versions[0]["table_uid"])
        return TableLife(uid, self.begin if self.is_rekeyed else None)

    def names(self) -> list[TableName]:
        """Return its names, in order; the DROP of a table takes its name."""
        names: list[TableName] = []
        for version in self.versions:
            since = version["valid_from_sequence"]
            name = (version["source_database"], version["source_table"])
            is_named = bool(names) and names[-1].until is None
            is_kept = is_named and (names[-1].database, names[-1].table) == name
            if is_named and (version["is_dropped"] or not is_kept):
                names[-1] = replace(names[-1], until=since)
            if not version["is_dropped"] and not is_kept:
                names.append(TableName(*name, since))
        if self.until is not None and names[-1].until is None:
            names[-1] = replace(names[-1], until=self.until)
        # Of a swap by three renames at one moment, the name between holds for no row.
        return [
            name for name in names if name.until is None or name.since != name.until
        ]


def _lives(versions: list[dict[str, Any]]) -> list[_Life]:
    """Cut the versions of each table where it got another key."""
    lives: dict[str, list[_Life]] = {}
    for version in versions:
        uid = version["table_uid"]
        known = lives.setdefault(uid, [])
        if not known:
            known.append(_Life([version]))
        elif version["key_changed"] and not version["is_dropped"]:
            known[-1] = replace(known[-1], until=version["valid_from_sequence"])
            known.append(_Life([version], is_rekeyed=True))
        else:
            known[-1].versions.append(version)
    return [life for known in lives.values() for life in known]


def shapes_from_versions(versions: list[dict[str, Any]]) -> list[TableShape]:
    """Return the shapes of all tables of a topic.

    Args:
        versions: Rows of the model ``table_schemas`` of the topic, in order.
    """
    groups: dict[tuple[str, str], list[list[_Life]]] = {}
    past: list[list[_Life]] = []
    for life in sorted(_lives(versions), key=lambda life: life.end):
        if not life.has_columns:
            continue
        last = life.versions[-1]
        group = groups.setdefault((last["source_database"], last["source_table"]), [])
        if (
            group
            and group[-1][-1].end <= life.begin
            and group[-1][-1].key == life.key
            and not life.is_rekeyed
        ):
            group[-1].append(life)
        else:
            past += group
            group[:] = [[life]]
    shapes = [_shape_of_lives(group[-1]) for group in groups.values()]
    for together in past:
        shape = _shape_of_lives(together)
        shape.past_until = together[-1].end
        shapes.append(shape)
    return shapes


def _shape_of_lives(lives: list[_Life]) -> TableShape:
    """Return the shape of lives that follow each other."""
    shape = shape_from_versions(
        [version for life in lives for version in life.versions]
    )
    shape.names = [name for life in lives for name in life.names()]
    shape.lives = [life.as_folded() for life in lives]
    return shape


def shape_from_versions(versions: list[dict[str, Any]]) -> TableShape:
    """Return the shape of a table from its schema versions.

    Args:
        versions: Rows of the model ``table_schemas`` of lives that follow each other.
    """
    incarnations: dict[str, Incarnation] = {}
    reshaped: set[str] = set()
    unsent: dict[str, None] = {}
    for version, begin, is_created in _with_begins(versions):
        since = version["valid_from_sequence"]
        is_seen = version["ddl_sql"] is None
        present = set()
        for column in version["columns"]:
            if not column["type"]:
                # A DDL named it before its first row; the row tells the type.
                continue
            if not column["is_in_rows"]:
                unsent[column["name"]] = None
            else:
                present.add(
                    _follow(incarnations, version, column, begin, is_created=is_created)
                )
        gone = set() if is_seen else incarnations.keys() - present
        for column_id in gone:
            incarnation = incarnations[column_id]
            incarnation.dropped_at = incarnation.dropped_at or since
        for change in version["image_changes"]:
            if change["kind"] != "retyped":
                reshaped.add(since)
            elif change["value_accuracy"] == "unknown":
                changed = incarnations[_column_id(version, change)]
                changed.unknown_at.append(since)
    last = versions[-1]
    spark = _rename(incarnations.values())
    columns: dict[str, list[Incarnation]] = {}
    live = [
        spark.get(column["name"], column["name"])
        for column in last["columns"]
        if column["is_in_rows"]
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
        key_columns=[spark.get(name, name) for name in last["key_columns"]],
        unsent=list(unsent),
        reshaped_at=sorted(reshaped),
        partial=_partial(versions),
        source_names={kept: name for name, kept in spark.items() if kept != name},
        versions=versions,
    )


def _with_begins(
    versions: Iterable[dict[str, Any]],
) -> Iterator[tuple[dict[str, Any], str | None, bool]]:
    """Yield versions, when the table before ended, and whether a table begins."""
    begin = None
    before: dict[str, Any] | None = None
    for version in versions:
        is_created = before is None or version["table_uid"] != before["table_uid"]
        if before is not None and is_created:
            ends = before if before["is_dropped"] else version
            begin = ends["valid_from_sequence"]
        yield version, begin, is_created
        before = version


def _rename(lives: Iterable[Incarnation]) -> dict[str, str]:
    """Give columns names that Spark can have; return them by the source's names.

    What a column was called before stands behind all that columns are called now.
    """
    spans = [(life.name, life.added_at or "", life.dropped_at or "~") for life in lives]
    spans += [(name, "", "~") for life in lives for _, name in life.names[:-1]]
    spark = spark_names(spans)
    for life in lives:
        life.names = [(since, spark[name]) for since, name in life.names]
    return spark


def _begin(
    incarnations: dict[str, Incarnation],
    version: dict[str, Any],
    column: dict[str, Any],
) -> str | None:
    """Return when a column was added that is new; None if each row tells it.

    If rows came with it, without a DDL, only one with a default was added: the rows
    before show it.
    """
    is_added = any(
        change["kind"] == "added" and change["column_id"] == column["column_id"]
        for change in version["image_changes"]
    )
    if version["ddl_sql"] is None and not is_added:
        return _freed_at(incarnations, column["name"])
    return str(version["valid_from_sequence"])


def _was_renamed(incarnations: dict[str, Incarnation], name: str) -> bool:
    """Whether a column had a name and has another one."""
    return any(
        borne == name for life in incarnations.values() for _, borne in life.names[:-1]
    )


def _freed_at(incarnations: dict[str, Incarnation], name: str) -> str | None:
    """Return when a DDL took a name from a column; None if no column has lost it.

    Rows from before have values of that column under the name.
    """
    moments: list[str] = []
    for life in incarnations.values():
        ends = [*(since for since, _ in life.names[1:]), life.dropped_at]
        for (_, borne), end in zip(life.names, ends, strict=True):
            if borne == name and end is not None:
                moments.append(end)
    return max(moments, default=None)


def _partial(versions: list[dict[str, Any]]) -> str:
    """Why the key or the types may be others."""
    notes = []
    if all(version["ddl_sql"] is None for version in versions):
        notes.append(
            "No DDL of the table was seen: types and key are those of its messages."
        )
    if not versions[-1]["key_columns"]:
        notes.append("The table has no key: equal rows are counted.")
    return " ".join(notes)


def parse_type(text: str) -> SourceType:
    """Return a type of a column.

    Args:
        text: As in `table_schemas`: a type of Kafka Connect, or of MySQL; one that a
            message names may lack its parameters.
    """
    if text.startswith(PREFIX):
        return parse_connect_type(text)
    return parse_mysql_type(text, declared=False)


def _column_id(version: dict[str, Any], column: dict[str, Any]) -> str:
    """What tells a column apart for ever: its table's life, and its number there."""
    return f"{version['table_uid']}/{column['column_id']}"


def _follow(
    incarnations: dict[str, Incarnation],
    version: dict[str, Any],
    column: dict[str, Any],
    begin: str | None,
    *,
    is_created: bool,
) -> str:
    """Note a column of a version; return its id.

    Args:
        incarnations: What is known so far, by id.
        version: Row of `table_schemas`.
        column: One of its columns.
        begin: When the table before ended; None if there was none.
        is_created: It is the first version of the table.
    """
    since = version["valid_from_sequence"]
    column_id = _column_id(version, column)
    column_type = parse_type(column["type"])
    known = incarnations.get(column_id)
    if known is None:
        added_at = begin if _was_renamed(incarnations, column["name"]) else None
        if not is_created:
            added_at = _begin(incarnations, version, column)
        incarnations[column_id] = Incarnation(
            column_id=column_id,
            added_at=added_at,
            dropped_at=None,
            default=None if is_created else column["original_default"],
            is_unknown_before=not is_created
            and column["original_default_accuracy"] == "unknown",
            comment=column["comment"] or "",
            names=[(added_at or begin, column["name"])],
            types=[(added_at or begin, column_type)],
        )
        return column_id
    known.comment = column["comment"] or ""
    if known.name != column["name"]:
        known.names.append((since, column["name"]))
    if known.type != column_type:
        known.types.append((since, column_type))
    return column_id
