"""Writes the built tables as NDJSON with values in MySQL's text form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from changefold.mysql_text import to_mysql_text
from changefold.mysql_types import MySqlType, parse_mysql_type
from changefold_tools.models import schema_versions, shapes_of
from changefold_tools.render import model_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from changefold_tools.shapes import TableShape


@dataclass(frozen=True)
class _Layout:
    """Columns of the source from one moment on: source name, model column, type."""

    since: str
    columns: list[tuple[str, str, MySqlType]]


def _layouts(shape: TableShape, versions: list[dict[str, Any]]) -> list[_Layout]:
    by_id = {
        life.column_id: name for name, lives in shape.columns.items() for life in lives
    }
    if not versions:
        return [
            _Layout(
                "",
                [(name, name, lives[0].type) for name, lives in shape.columns.items()],
            )
        ]
    return [
        _Layout(
            version["valid_from_sequence"] or "",
            [
                (
                    column["name"],
                    by_id[f"{version['table_uid']}/{column['column_id']}"],
                    parse_mysql_type(column["type"]),
                )
                for column in version["columns"]
                if column["generated"] != "virtual"
            ],
        )
        for version in versions
        if version["columns"]
    ]


def _image(row: Row, layout: _Layout) -> dict[str, Any]:
    """The row as MySQL's text protocol shows it."""
    failures = row["_cdc_conversion_failures"] or {}
    image: dict[str, Any] = {}
    for name, column, mysql_type in layout.columns:
        value = row[column]
        if value is None:
            image[name] = failures.get(column)
            continue
        if isinstance(value, bytearray):
            value = bytes(value)
        if mysql_type.base == "timestamp" and isinstance(value, datetime):
            value = value.replace(tzinfo=UTC)
        image[name] = to_mysql_text(value, mysql_type)
    return image


def _sorted_rows(
    spark: SparkSession, relation: str, key_columns: list[str]
) -> Iterator[Row]:
    """Rows of a history table by key and time; instants as UTC wall clocks."""
    table = spark.table(relation)
    quoted = {name: "`" + name.replace("`", "``") + "`" for name in table.columns}
    columns = [
        f"cast({quoted[name]} as timestamp_ntz) as {quoted[name]}"
        if kept == "timestamp"
        else quoted[name]
        for name, kept in table.dtypes
    ]
    keys = [quoted[name] for name in key_columns]
    ordered = table.selectExpr(*columns).sort(*keys, "_cdc_valid_from_sequence")
    return ordered.toLocalIterator()


def _moment(sequence: str) -> dict[str, int | None]:
    """The position of a change: commit timestamp, or only its millisecond."""
    if "." in sequence:
        return {"commitTs": None, "es": int(sequence.split(".", maxsplit=1)[0])}
    return {"commitTs": int(sequence)}


def export_table(
    spark: SparkSession,
    relation: str,
    shape: TableShape,
    versions: list[dict[str, Any]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of one table: ("current" or "history", line).

    Args:
        spark: The session.
        relation: Name of the history table.
        shape: What the table's columns are over time.
        versions: Rows of ``table_schemas`` for it, in order; empty if no DDL was seen.
    """
    layouts = _layouts(shape, versions)
    named = {"database": shape.database, "table": shape.table}
    previous: Row | None = None
    key_before: tuple[Any, ...] | None = None
    pk_before: dict[str, Any] = {}
    for row in _sorted_rows(spark, relation, shape.key_columns):
        key = tuple(_plain(row[name]) for name in shape.key_columns)
        since = row["_cdc_valid_from_sequence"]
        layout = [item for item in layouts if item.since <= since][-1]
        image = _image(row, layout)
        names = {column: name for name, column, _ in layout.columns}
        pk = {names[name]: image[names[name]] for name in shape.key_columns}
        continues = (
            previous is not None
            and key == key_before
            and previous["_cdc_valid_to_sequence"] == since
        )
        if previous is not None and not continues:
            yield from _end(named, pk_before, previous)
        yield (
            "history",
            {
                **named,
                "pk": pk,
                **_moment(since),
                "op": "U" if continues else "I",
                "row": image,
            },
        )
        if row["is_current"]:
            yield "current", {**named, "row": image}
        previous, key_before, pk_before = row, key, pk
    if previous is not None:
        yield from _end(named, pk_before, previous)


def _plain(value: Any) -> Any:  # a key value of any type
    return bytes(value) if isinstance(value, bytearray) else value


def _end(
    named: dict[str, Any], pk: dict[str, Any], row: Row
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The deletion that ended a key's last version, if one did."""
    until = row["_cdc_valid_to_sequence"]
    if until is not None:
        yield "history", {**named, "pk": pk, **_moment(until), "op": "D", "row": None}


def export_tables(spark: SparkSession, schema: str, folder: Path) -> None:
    """Write ``current.ndjson`` and ``history.ndjson`` of every source table.

    Args:
        spark: The session.
        schema: Schema of the tables.
        folder: Folder for the two files; made if missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    versions = schema_versions(spark, schema)
    built = {row.tableName for row in spark.sql(f"show tables in `{schema}`").collect()}
    with (
        (folder / "current.ndjson").open("w", encoding="utf-8") as current,
        (folder / "history.ndjson").open("w", encoding="utf-8") as history,
    ):
        files = {"current": current, "history": history}
        for name, shape in sorted(shapes_of(spark, schema, versions).items()):
            table = f"scd2_{model_name(shape.database, shape.table)}"
            if table not in built:
                continue
            relation = f"`{schema}`.`{table}`"
            for kind, line in export_table(
                spark, relation, shape, versions.get(name, [])
            ):
                files[kind].write(json.dumps(line, ensure_ascii=False) + "\n")
