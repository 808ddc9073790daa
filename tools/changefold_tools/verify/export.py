"""Writes the built tables as NDJSON, with values as texts.

They have MySQL's text form; of a table that Debezium wrote, that of `connect.values`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from changefold.connect.types import ConnectType
from changefold.mysql.text_protocol import to_mysql_text
from changefold.mysql.wire_forms import SIMPLE, from_wire
from changefold.schemas.ordering import commit_ts_of, millisecond_of, position_of
from changefold_tools.generate.models import source_shapes
from changefold_tools.generate.render import COPY_KEY, model_names
from changefold_tools.generate.table_history import TableName, parse_type
from changefold_tools.verify.connect_text import to_connect_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from changefold.connect.column_types import SourceType
    from changefold.mysql.types import MySqlType
    from changefold_tools.generate.table_history import TableShape


@dataclass(frozen=True)
class _Layout:
    """Columns of the source from one moment on: source name, model column, type."""

    since: str
    columns: list[tuple[str, str, SourceType]]


def _layouts(shape: TableShape) -> list[_Layout]:
    by_id = {
        life.column_id: name for name, lives in shape.columns.items() for life in lives
    }
    if not shape.versions:
        return [
            _Layout(
                "",
                [
                    (shape.source_names.get(name, name), name, lives[0].type)
                    for name, lives in shape.columns.items()
                ],
            )
        ]
    return [
        _Layout(
            version["valid_from_sequence"] or "",
            [
                (
                    column["name"],
                    by_id[f"{version['table_uid']}/{column['column_id']}"],
                    parse_type(column["type"]),
                )
                for column in version["columns"]
                if column["is_in_rows"]
            ],
        )
        for version in shape.versions
        if version["columns"]
    ]


def _image(row: Row, layout: _Layout) -> dict[str, Any]:
    """The row as texts."""
    failures = row["_cdc_conversion_failures"] or {}
    image: dict[str, Any] = {}
    for name, column, source_type in layout.columns:
        text = failures.get(column)
        if not isinstance(source_type, ConnectType):
            image[name] = _mysql_value(row[column], text, source_type)
        elif text is not None:
            # Of a time that is too fine the column has a part.
            image[name] = text
        else:
            image[name] = to_connect_text(row[column], source_type)
    return image


def _marks(row: Row, layout: _Layout) -> dict[str, list[str]]:
    """Return ``unknown``, the columns that the row marks as not known, if there are any.

    They have their names at the source. A value whose kept text does not tell which it is
    is marked too.
    """
    marked = row["_cdc_unknown_columns"] or []
    failures = row["_cdc_conversion_failures"] or {}
    names = [
        name
        for name, column, source_type in layout.columns
        if column in marked or _is_open(failures.get(column), source_type)
    ]
    return {"unknown": names} if names else {}


def _is_open(text: str | None, source_type: SourceType) -> bool:
    """Whether the text of a value that did not fit does not tell the value.

    So it is of a change to a JSON document, and of an instant by a wall clock that comes
    twice, or of a zone that is not known.
    """
    if text is None or isinstance(source_type, ConnectType):
        return False
    if source_type.base == "json":
        return True
    if source_type.base != "timestamp":
        return False
    clock = text
    if text.startswith("{"):
        clock, zone = from_wire(text, source_type, SIMPLE)
        if zone == "UTC":
            return False
    try:
        datetime.fromisoformat(clock)
    except ValueError:
        return False
    return True


def _mysql_value(
    value: Any,  # of a typed column
    failed: str | None,
    mysql_type: MySqlType,
) -> Any:
    """A value as MySQL's text protocol shows it."""
    if value is None:
        is_open = _is_open(failed, mysql_type)
        return None if is_open else _as_wall_clock(failed, mysql_type)
    if isinstance(value, bytearray):
        value = bytes(value)
    if mysql_type.base == "timestamp" and isinstance(value, datetime):
        value = value.replace(tzinfo=UTC)
    return to_mysql_text(value, mysql_type)


def _as_wall_clock(text: str | None, mysql_type: MySqlType) -> str | None:
    """A value that did not fit, of an instant without its zone: no day is one in any."""
    if text is None or mysql_type.base != "timestamp" or not text.startswith("{"):
        return text
    return from_wire(text, mysql_type, SIMPLE)[0]


_TEXTS: Final = {
    "date": "cast({0} as string)",
    "timestamp": "concat(date({0}), ' ', date_format({0}, 'HH:mm:ss.SSSSSS'))",
    "timestamp_ntz": "concat(date({0}), ' ', date_format({0}, 'HH:mm:ss.SSSSSS'))",
}
"""Texts of days and moments: Python has no years before 1 and after 9999."""

_WALL_CLOCKS: Final = {"timestamp": "cast({0} as timestamp_ntz)"}


def _sorted_rows(
    spark: SparkSession, relation: str, shape: TableShape
) -> Iterator[Row]:
    """Rows of a history table by key and time.

    Instants are UTC wall clocks; of Kafka Connect all days and moments are texts.
    """
    is_connect = any(
        isinstance(lives[-1].type, ConnectType) for lives in shape.columns.values()
    )
    forms = _TEXTS if is_connect else _WALL_CLOCKS
    key_columns = shape.key_columns or COPY_KEY
    table = spark.table(relation)
    quoted = {name: "`" + name.replace("`", "``") + "`" for name in table.columns}
    columns = [
        f"{forms.get(kept, '{0}').format(quoted[name])} as {quoted[name]}"
        for name, kept in table.dtypes
    ]
    keys = [quoted[name] for name in key_columns]
    ordered = table.selectExpr(*columns).sort(*keys, "_cdc_valid_from_sequence")
    return ordered.toLocalIterator()


def _moment(sequence: str) -> dict[str, Any]:
    """The position of a change: commit timestamp, its millisecond, or its place."""
    commit_ts = commit_ts_of(sequence)
    if position_of(sequence) != sequence:
        return {"commitTs": commit_ts, "sequence": sequence}
    if commit_ts is None:
        return {"commitTs": None, "es": millisecond_of(sequence)}
    return {"commitTs": commit_ts}


def export_table(
    spark: SparkSession, relation: str, shape: TableShape
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of one table: ("current" or "history", line).

    A row of a table that is renamed ends under the old name and begins under the new.
    A line names in ``unknown`` the columns that the row marks as not known.

    Args:
        spark: The session.
        relation: Name of the history table.
        shape: What the table's columns and names are over time.
    """
    layouts = _layouts(shape)
    names = shape.names or [TableName(shape.database, shape.table)]
    previous: _Piece | None = None
    key_columns = shape.key_columns or COPY_KEY
    for row in _sorted_rows(spark, relation, shape):
        key = tuple(_plain(row[name]) for name in key_columns)
        for since, until, name in _pieces(row, names):
            layout = [item for item in layouts if item.since <= since][-1]
            image = _image(row, layout)
            sources = {column: source for source, column, _ in layout.columns}
            pk = (
                {sources[part]: image[sources[part]] for part in shape.key_columns}
                if shape.key_columns
                else image
            )
            piece = _Piece(
                key, {"database": name.database, "table": name.table}, pk, until
            )
            continues = (
                previous is not None
                and (key, piece.named) == (previous.key, previous.named)
                and previous.until == since
            )
            if previous is not None and not continues:
                yield from _end(previous)
            line = {**piece.named, "pk": pk, **_moment(since)}
            # A topic that begins in the middle shows a row first when it is updated.
            is_first = since == row["_cdc_valid_from_sequence"]
            is_update = continues or (is_first and row["_cdc_op"] == "u")
            line |= {"op": "U" if is_update else "I", "row": image}
            yield "history", line | _marks(row, layout)
            if until is None:
                # Rows may tell a column that earlier rows, unchanged, have too.
                present = {**piece.named, "row": _image(row, layouts[-1])}
                yield "current", present | _marks(row, layouts[-1])
            previous = piece
    if previous is not None:
        yield from _end(previous)


@dataclass(frozen=True)
class _Piece:
    """The part of a version that lies under one name."""

    key: tuple[Any, ...]
    named: dict[str, str]
    pk: dict[str, Any]
    until: str | None


def _pieces(
    row: Row, names: list[TableName]
) -> Iterator[tuple[str, str | None, TableName]]:
    """Cut a version where its table got another name: since, until, name."""
    since, until = row["_cdc_valid_from_sequence"], row["_cdc_valid_to_sequence"]
    for name in names:
        start = max(since, name.since or "")
        end = min(until or _EVER, name.until or _EVER)
        if start < end:
            yield start, None if end == _EVER else end, name


_EVER: Final = "~"
"""Sorts behind every sequence."""


def _plain(value: Any) -> Any:  # a key value of any type
    return bytes(value) if isinstance(value, bytearray) else value


def _end(piece: _Piece) -> Iterator[tuple[str, dict[str, Any]]]:
    """The deletion that ended a key's last version, if one did."""
    if piece.until is not None:
        line = {**piece.named, "pk": piece.pk, **_moment(piece.until)}
        yield "history", {**line, "op": "D", "row": None}


class Handovers:
    """Names that one table leaves to another at the same moment.

    ``RENAME TABLE orders TO orders_old, orders_new TO orders`` does so. Who reads the
    name sees no row go and come: a key which both tables have is updated, or stays.
    """

    def __init__(self, shapes: Iterable[TableShape]) -> None:
        """Find the names.

        Args:
            shapes: All tables.
        """
        names = [name for shape in shapes for name in shape.names]
        left = {(name.database, name.table, name.until) for name in names}
        taken = {(name.database, name.table, name.since) for name in names}
        # Without commit timestamps no two DDLs of a millisecond can be told apart.
        self._moments = {
            (database, table, _moment(moment)["commitTs"])
            for database, table, moment in left & taken
            if moment is not None and commit_ts_of(moment) is not None
        }
        self._held: dict[str, dict[str, tuple[dict[str, Any], Any]]] = {}

    def holds(self, line: dict[str, Any], before: dict[str, Any] | None) -> bool:
        """Keep a line for `lines` if it is of such a moment.

        Args:
            line: Of the history of a table.
            before: For a deletion, the row that ended.

        Returns:
            Whether it is kept.
        """
        place = (line["database"], line["table"], line["commitTs"])
        if place not in self._moments:
            return False
        key = json.dumps([*place, line["pk"]], sort_keys=True)
        self._held.setdefault(key, {})[line["op"]] = (line, before)
        return True

    def lines(self) -> Iterator[dict[str, Any]]:
        """Return what was kept, as who reads the name sees it."""
        for held in self._held.values():
            if held.keys() != {"D", "I"}:
                yield from (line for line, _ in held.values())
                continue
            (_, before), (line, _) = held["D"], held["I"]
            if line["row"] != before:
                yield {**line, "op": "U"}


def relations_in(spark: SparkSession, schema: str) -> set[str]:
    """Return the names of the tables and views of a schema."""
    tables = spark.sql(f"show tables in `{schema}`").collect()
    views = spark.sql(f"show views in `{schema}`").collect()
    return {row.tableName for row in tables} | {row.viewName for row in views}


def export_tables(
    spark: SparkSession,
    schema: str,
    folder: Path,
    *,
    topics: Sequence[str] | None = None,
) -> None:
    """Write ``current.ndjson`` and ``history.ndjson`` of every source table.

    Args:
        spark: The session.
        schema: Schema of the tables.
        folder: Folder for the two files; made if missing.
        topics: Names of topics that have two files each, in a folder of the name.
    """
    built = relations_in(spark, schema)
    every = source_shapes(spark, schema)
    tables = [
        (shape, f"`{schema}`.`scd2_{name}`")
        for shape, name in zip(every, model_names(every, lambda _: ""), strict=True)
        if f"scd2_{name}" in built
    ]
    if topics is None:
        _export(spark, folder, tables)
    for topic in topics or ():
        mine = [pair for pair in tables if pair[0].topic == topic]
        _export(spark, folder / topic, mine)


def _export(
    spark: SparkSession, folder: Path, tables: Sequence[tuple[TableShape, str]]
) -> None:
    """Write the two files of tables, each with the name of its history."""
    folder.mkdir(parents=True, exist_ok=True)
    handovers = Handovers([shape for shape, _ in tables])
    with (
        (folder / "current.ndjson").open("w", encoding="utf-8") as current,
        (folder / "history.ndjson").open("w", encoding="utf-8") as history,
    ):
        files = {"current": current, "history": history}
        for shape, relation in tables:
            before = None
            for kind, line in export_table(spark, relation, shape):
                if kind == "current" or not handovers.holds(line, before):
                    files[kind].write(json.dumps(line, ensure_ascii=False) + "\n")
                before = line["row"]
        for line in handovers.lines():
            history.write(json.dumps(line, ensure_ascii=False) + "\n")
