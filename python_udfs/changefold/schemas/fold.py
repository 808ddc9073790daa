"""Fold DDL events into the versions of every table's schema.

`fold_schemas` reads the statements of a topic in order and keeps, for each table, what
its columns were between two statements, and what each statement did to rows without a
row event: the defaults of new columns, converted values, rows that ended.

Rules and their sources:

- A DDL at sequence D: rows with sequence <= D belong to the schema before it (TiCDC
  sends every row up to D before the DDL).
- The same event again is a resend and acts once; two different statements at one
  sequence both act (TiCDC splits ``RENAME TABLE a TO b, c TO d`` that way).
- A table keeps its identity through RENAME and TRUNCATE; DROP and CREATE make another
  table. A column keeps its identity through RENAME and MODIFY; DROP and ADD make
  another column.
- In one ALTER TABLE, the columns named by DROP, MODIFY, CHANGE and RENAME are those of
  the table before the statement (MySQL 8.0 manual, 15.1.9).
- A topic can begin in the middle. A table whose CREATE was not seen is there from its
  first row or DDL on. Its columns are those of its rows, where the protocol names them;
  rows with other columns make another version, as long as no DDL tells more. Before its
  first row, `TableVersion.is_complete` is false: the columns that no DDL named are not
  listed.
- A changefeed can leave DDLs out. So rows reveal what no DDL told: a column that the
  table does not have, another type, another key. That makes a version from just before
  the first such row on. A column that rows no longer name stays.
- Without commit timestamps nothing orders rows and DDLs of one millisecond (of one
  second, with Canal): what a version of that moment has, no row reveals.
- A DDL that the changefeed ignores changes nothing, but the types that it tells hold for
  the columns that rows reveal later.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from changefold.schemas.event_fold import EventFold
from changefold.schemas.model import DdlEvent, SchemaHistory, TableVersion
from changefold.schemas.observed import SeenSchema, SeenVersion

if TYPE_CHECKING:
    from collections.abc import Iterable


def fold_schemas(
    events: Iterable[DdlEvent],
    seen: Iterable[SeenSchema | SeenVersion] = (),
) -> list[TableVersion]:
    """Fold DDL events into the versions of all tables.

    Args:
        events: The events in order of arrival; they are sorted by sequence here, and
            a resend acts once.
        seen: What rows tell: of a table of which no CREATE came all, of any other what
            no DDL told.

    Returns:
        All versions, in the order of the statements that made them.
    """
    return list(fold_schema_history(events, seen).versions)


def fold_schema_history(
    events: Iterable[DdlEvent],
    seen: Iterable[SeenSchema | SeenVersion] = (),
) -> SchemaHistory:
    """Fold DDL events, and also return the statements that changed no known table.

    Args:
        events: As for `fold_schemas`.
        seen: As for `fold_schemas`.

    Returns:
        Versions and statements that were not applied.
    """
    rows = list(seen)
    fold = EventFold(rows)
    applied: set[tuple[str, str, str, str]] = set()
    for event in sorted(events, key=lambda event: event.sequence):
        identity = (event.sequence, event.sql, event.database, event.table)
        if identity not in applied:
            applied.add(identity)
            fold.apply(event)
    fold.see_rows("~")
    fold.see_last_rows()
    fold.see_rows_that_go_on()
    versions = _without_unsent(fold.versions.found, rows)
    return SchemaHistory(tuple(versions), tuple(fold.not_applied))


def _without_unsent(
    versions: list[TableVersion], rows: list[SeenSchema | SeenVersion]
) -> list[TableVersion]:
    """Mark the virtual columns that no row of their table names."""
    named: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        if isinstance(row, SeenSchema):
            named[row.database, row.table] |= row.column_types.keys()
    sent = {
        (version.table_uid, column.column_id)
        for version in versions
        for column in version.columns
        if column.name in named[version.database, version.table]
    }
    return [
        msgspec.structs.replace(
            version,
            columns=tuple(
                msgspec.structs.replace(
                    column,
                    is_in_rows=column.generated != "virtual"
                    or (version.table_uid, column.column_id) in sent,
                )
                for column in version.columns
            ),
        )
        for version in versions
    ]


def fold_schemas_json(events_json: str) -> str:
    """Do what `fold_schemas` does, from JSON to JSON.

    Args:
        events_json: Array of objects with the fields of `DdlEvent`.

    Returns:
        Array of objects with the fields of `TableVersion`.

    Raises:
        msgspec.ValidationError: If the text is not of that form.
    """
    events = msgspec.json.decode(events_json, type=list[DdlEvent])
    return msgspec.json.encode(fold_schemas(events)).decode()


def fold_schema_history_json(events_json: str) -> str:
    """Do what `fold_schema_history` does, from JSON to JSON.

    Args:
        events_json: Array of objects with the fields of `DdlEvent`.

    Returns:
        One object with the fields of `SchemaHistory`.

    Raises:
        msgspec.ValidationError: If the text is not of that form.
    """
    events = msgspec.json.decode(events_json, type=list[DdlEvent])
    return msgspec.json.encode(fold_schema_history(events)).decode()
