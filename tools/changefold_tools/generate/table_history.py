"""What a table's columns are over time, from the versions of its schema."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from changefold.connect.types import PREFIX, parse_connect_type
from changefold.mysql.types import parse_mysql_type
from changefold_tools.generate.column_names import spark_names
from changefold_tools.generate.partitions import rows_of

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
        converts: (at, from, to): type changes that may change the text of a value.
    """

    column_id: str
    added_at: str | None
    dropped_at: str | None
    default: str | None
    comment: str
    names: list[tuple[str | None, str]]
    types: list[tuple[str | None, SourceType]]
    converts: list[tuple[str, SourceType, SourceType]] = field(default_factory=list)
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
        names: The names that its changes bear, if that is more than the last name.
        is_past: It is gone, and another life of that name overlaps, or has another key:
            it gets a model of its own.
        versions: Rows of the model ``table_schemas`` that it was made from.
        lives: Whose rows it has, in order.
        columns: Model column -> its incarnations, which do not overlap in time.
        source_names: Model column -> name at the source, where they differ; so do names
            in it that a column bore before.
        live: The model columns that the table has now, in order.
        key_columns: The columns that identify a row; none, if equal rows are counted.
        unsent: Virtual generated columns, which no row message has.
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
    unsent: list[str]
    rewritten_at: list[str]
    reshaped_at: list[str]
    partial: str = ""
    source_names: dict[str, str] = field(default_factory=dict)
    names: list[TableName] = field(default_factory=list)
    is_past: bool = False
    ended_at: list[str] = field(default_factory=list)
    ended_where: list[tuple[str, str]] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    unknown_since: dict[str, str] = field(default_factory=dict)
    versions: list[dict[str, Any]] = field(default_factory=list)
    lives: list[TableLife] = field(default_factory=list)


@dataclass(frozen=True)
class _Life:
    """The versions of a table from one key to the next, or to its DROP.

    Attributes:
        versions: In order.
        until: Sequence of the DDL that gave the table another key, if one did.
        before: Its life under the key before.
    """

    versions: list[dict[str, Any]]
    until: str | None = None
    before: _Life | None = None

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
        return TableLife(uid, self.begin if self.before else None)

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

    def up_to(self, at: str) -> _Life:
        """Return the life before a DDL."""
        known = [v for v in self.versions if (v["valid_from_sequence"] or "") < at]
        return _Life(known, at, self.before)


def _lives(versions: list[dict[str, Any]]) -> dict[str, list[_Life]]:
    """Cut the versions of each table where it got another key."""
    lives: dict[str, list[_Life]] = {}
    for version in versions:
        uid = version["table_uid"]
        known = lives.setdefault(uid, [])
        if not known:
            known.append(_Life([version]))
        elif version["key_changed"] and not version["is_dropped"]:
            known[-1] = replace(known[-1], until=version["valid_from_sequence"])
            known.append(_Life([version], before=known[-1]))
        else:
            known[-1].versions.append(version)
    return lives


def shapes_from_versions(versions: list[dict[str, Any]]) -> list[TableShape]:
    """Return the shapes of all tables of a topic.

    Args:
        versions: Rows of the model ``table_schemas`` of the topic, in order.
    """
    by_uid = _lives(versions)
    lives = [life for known in by_uid.values() for life in known]
    groups: dict[tuple[str, str], list[list[_Life]]] = {}
    past: list[list[_Life]] = []
    for life in sorted(lives, key=lambda life: life.end):
        if not life.has_columns:
            continue
        last = life.versions[-1]
        group = groups.setdefault((last["source_database"], last["source_table"]), [])
        if (
            group
            and group[-1][-1].end <= life.begin
            and group[-1][-1].key == life.key
            and life.before is None
        ):
            group[-1].append(life)
        else:
            past += group
            group[:] = [[life]]
    bearers = Counter(
        (name.database, name.table) for life in lives for name in life.names()
    )
    shapes = [_shape_of_lives(group[-1], by_uid, bearers) for group in groups.values()]
    for together in past:
        shape = _shape_of_lives(together, by_uid, bearers)
        shape.names = [name for life in together for name in life.names()]
        shape.is_past = True
        shapes.append(shape)
    return shapes


def _shape_of_lives(
    lives: list[_Life],
    by_uid: dict[str, list[_Life]],
    bearers: Counter[tuple[str, str]],
) -> TableShape:
    """Return the shape of lives that follow each other."""
    shape = shape_from_versions(
        [version for life in lives for version in life.versions]
    )
    names = [name for life in lives for name in life.names()]
    own = (shape.database, shape.table)
    if {(name.database, name.table) for name in names} != {own} or bearers[own] > len(
        names
    ):
        shape.names = names
    shape.lives = [life.as_folded() for life in lives]
    shape.ended_at = [life.until for life in lives if life.until is not None]
    for life in lives:
        before = life.before
        # What began at the same commit had no rows before it.
        while before is not None and before.begin >= life.begin:
            before = before.before
        if before is not None and _has_values_of_key(before, life):
            shape.arrivals.append(_arrival(before, life.begin, None, by_uid))
        elif before is not None:
            shape.unknown_since[life.begin] = (
                f"Rows have the key {', '.join(life.key)}, and no message tells which "
                "value of it those before have"
            )
        _add_partition_changes(shape, life, by_uid)
    if not shape.key_columns:
        _doubt_rewritten_copies(shape)
    for arrival in shape.arrivals:
        if not arrival.shape.key_columns:
            shape.unknown_since[arrival.at] = (
                "How many equal rows came from a table without a key is not known"
            )
    return shape


def _has_values_of_key(before: _Life, life: _Life) -> bool:
    """Whether the rows of a life can have the key of the next one.

    Not if rows revealed the key's columns; a DDL that adds them gives them values,
    unless the source numbers the rows.
    """
    if not set(life.key).isdisjoint(life.versions[0]["unknown_columns"] or ()):
        return False
    known = {column["name"] for column in before.versions[-1]["columns"]}
    return life.versions[0]["ddl_sql"] is not None or known.issuperset(life.key)


def _doubt_rewritten_copies(shape: TableShape) -> None:
    """Note the DDLs that changed rows which no key tells apart."""
    rewritten = {*shape.rewritten_at, *(at for at, _ in shape.ended_where)}
    for version in shape.versions:
        at = version["valid_from_sequence"]
        if at in rewritten:
            shape.unknown_since[at] = (
                f"{version['ddl_sql']}: the table has no key, so which of its rows "
                "this concerns is not known"
            )


def _arrival(
    life: _Life, at: str, condition: str | None, by_uid: dict[str, list[_Life]]
) -> Arrival:
    """Return the rows that a life leaves to another at a DDL."""
    shape = _shape_of_lives([life.up_to(at)], by_uid, Counter())
    shape.names = life.up_to(at).names()
    shape.ended_at = [
        version["valid_from_sequence"]
        for version in shape.versions
        if version["row_effect"] == "close_all"
    ] + [at]
    return Arrival(at, shape, condition)


def _add_partition_changes(
    shape: TableShape, life: _Life, by_uid: dict[str, list[_Life]]
) -> None:
    """Add the rows that went and came with partitions."""
    for version in life.versions:
        at = version["valid_from_sequence"]
        for change in version["partition_changes"]:
            if not _add_partition_change(shape, version, change, by_uid):
                shape.unknown_since[at] = (
                    f"{version['ddl_sql']}: which rows it concerns is not known, as the "
                    "other table was not there before it"
                )


def _add_partition_change(
    shape: TableShape,
    version: dict[str, Any],
    change: dict[str, Any],
    by_uid: dict[str, list[_Life]],
) -> bool:
    """Add rows that went and came; False if nobody knows which came."""
    at = version["valid_from_sequence"]
    if change["counterpart_uid"] is None:
        shape.ended_where.append((at, _condition(shape, version, change)))
        return True
    lives = by_uid[change["counterpart_uid"]]
    other = next((life for life in lives if life.begin < at <= life.end), None)
    if other is None:
        return False
    other_version = next(
        v for v in reversed(other.versions) if (v["valid_from_sequence"] or "") < at
    )
    if change["is_partitioned_side"]:
        shape.ended_where.append((at, _condition(shape, version, change)))
        shape.arrivals.append(_arrival(other, at, None, by_uid))
        return True
    arrival = _arrival(other, at, None, by_uid)
    condition = _condition(arrival.shape, other_version, change)
    shape.ended_where.append((at, "true"))
    shape.arrivals.append(replace(arrival, condition=condition))
    return True


def _condition(
    shape: TableShape, version: dict[str, Any], change: dict[str, Any]
) -> str:
    """Return which rows a DDL concerns, on the image of a shape's model."""
    model_columns = {
        incarnation.column_id: name
        for name, incarnations in shape.columns.items()
        for incarnation in incarnations
    }
    by_name = {
        column["name"]: model_columns.get(_column_id(version, column), column["name"])
        for column in version["columns"]
    }
    return rows_of(
        change,
        lambda name: "image.`" + by_name[name].replace("`", "``") + "`",
    )


@dataclass(frozen=True)
class Arrival:
    """Rows that come to a table by a DDL, without row events.

    Attributes:
        at: Sequence of the DDL.
        shape: The table that they leave, up to the DDL.
        condition: Which of its rows, a condition on the image; None for all.
    """

    at: str
    shape: TableShape
    condition: str | None


def shape_from_versions(versions: list[dict[str, Any]]) -> TableShape:
    """Return the shape of a table from its schema versions.

    Args:
        versions: Rows of the model ``table_schemas`` of lives that follow each other.
    """
    incarnations: dict[str, Incarnation] = {}
    rewritten: set[str] = set()
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
            elif change["changes_text"] and change["from_type"]:
                rewritten.add(since)
                _note_change(incarnations[_column_id(version, change)], since, change)
    last = versions[-1]
    if not last["key_columns"]:
        # A row is what it holds: its DELETE has the new column's default.
        reshaped -= {v["valid_from_sequence"] for v in versions if _only_adds(v)}
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
        rewritten_at=sorted(rewritten | reshaped),
        reshaped_at=sorted(reshaped),
        partial=_partial(versions),
        source_names={kept: name for name, kept in spark.items() if kept != name},
        versions=versions,
    )


def _note_change(life: Incarnation, at: str, change: dict[str, Any]) -> None:
    """Note what a DDL made of the values of a column."""
    if change["value_accuracy"] == "unknown":
        life.unknown_at.append(at)
    else:
        old, new = change["from_type"], change["to_type"]
        life.converts.append((at, parse_type(old), parse_type(new)))


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


def _only_adds(version: dict[str, Any]) -> bool:
    return {change["kind"] for change in version["image_changes"]} == {"added"}


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
