"""Fold events, one after the other: what each does to the tables that are there."""

from __future__ import annotations

from collections import Counter
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import msgspec

from changefold.mysql.ddl import (
    Action,
    AddColumn,
    AddKey,
    CreateDatabase,
    CreateTable,
    DropColumn,
    DropDatabase,
    DropKey,
    DropTable,
    ModifyColumn,
    NoEffect,
    NoRowEffect,
    PartitionAction,
    RecoverDatabase,
    RecoverTable,
    RenameColumn,
    RenameKey,
    RenameTable,
    SetDefault,
    TableCharset,
    TableComment,
    TableName,
    TruncateTable,
    parse_ddl,
)
from changefold.schemas.column_actions import (
    add_column,
    alter_columns,
    alter_keys,
    doubt_generated,
    drop_displaced,
    fill_table,
    schema_column,
)
from changefold.schemas.ignored_ddls import IgnoredDdls
from changefold.schemas.model import (
    STRENGTH,
    DdlEvent,
    ImageChange,
    NotApplied,
    PartitionChange,
    RowEffect,
    SchemaColumn,
)
from changefold.schemas.observed import DescribedSchema, SeenSchema, SeenVersion
from changefold.schemas.ordering import Evidence, evidence_of, just_before
from changefold.schemas.partition_actions import affected_partitions, partitioning_after
from changefold.schemas.partition_rows import UnknownRowsError, partitioned_columns
from changefold.schemas.row_news import (
    added_column,
    columns_of,
    dropped_columns,
    fill_as_described,
    fill_as_seen,
    is_partial,
    is_same_key,
    lacks_key,
    news_of_row,
    rekey_table,
    reveal_columns,
    row_order,
    without_doubt,
)
from changefold.schemas.rows_tell_columns import (
    told_columns,
    with_told_default,
    without_what_rows_tell,
)
from changefold.schemas.table_state import (
    NotAppliedError,
    TableChange,
    TableKey,
    TableState,
    find_column,
    is_named,
)
from changefold.schemas.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class EventFold:
    """Applies events one after the other."""

    def __init__(self, seen: Iterable[SeenSchema | SeenVersion]) -> None:
        self.versions = Versions()
        self.not_applied: list[NotApplied] = []
        self._rows = sorted(seen, key=row_order, reverse=True)
        self._all_rows = tuple(self._rows)
        self._seen = [row for row in self._rows if isinstance(row, SeenSchema)]
        self._described: dict[tuple[str, str], list[DescribedSchema]] = {}
        for schema in sorted(
            (row.schema for row in self._rows if isinstance(row, SeenVersion)),
            key=lambda schema: schema.version,
        ):
            name = (schema.database, schema.table)
            self._described.setdefault(name, []).append(schema)
        self._evidence = evidence_of(reversed(self._rows))
        self._evidence.reverse()
        self._ignored = IgnoredDdls()
        self._live: dict[tuple[str, str], TableState] = {}
        self._dropped: dict[tuple[str, str], TableState] = {}
        self._told_columns: dict[tuple[str, str, str], SchemaColumn] = {}
        self._dropped_databases: dict[str, list[TableState]] = {}
        # When a name became free, which tells a later unknown table from the old one.
        self._freed: dict[tuple[str, str], str] = {}
        self._changes: dict[str, TableChange] = {}
        self._uids: Counter[str] = Counter()
        self._event = DdlEvent("", "", "", "")
        self._names_first_database = False

    def apply(self, event: DdlEvent) -> None:
        """Apply one event, after the rows before it."""
        self.see_rows(event.sequence)
        self._event = event
        self._changes = {}
        statement = event.statement or parse_ddl(event.sql, event.database)
        if event.rows_tell_columns:
            self._told_columns.update(told_columns(statement, event))
            statement = without_what_rows_tell(statement)
        first = getattr(next(iter(statement.actions), None), "table", None)
        self._names_first_database = first is not None and first.is_qualified
        if event.is_ignored:
            self._ignored.learn(event.database, event.table, statement)
        elif not statement.understood:
            reason = f"Not understood: {statement.reason}"
            self._guarded(partial(self._apply_unknown, reason))
        elif _is_on_whole_tables(statement.actions):
            for action in statement.actions:
                self._guarded(partial(self._apply_whole, action))
        else:
            self._guarded(partial(self._alter, statement.actions))
        for change in self._changes.values():
            self._close_version(change)

    def see_rows_that_go_on(self) -> None:
        """Add the tables of rows that go on under a name which a DDL freed.

        A table that a DDL named first gets the columns of rows that were there before.
        """
        for name in sorted(self._freed.keys() - self._live.keys()):
            if self._row_since(self._freed[name], name) is not None:
                self._unknown_table(TableName(*name))
        for name, table in self._live.items():
            if table.is_complete or not table.follows_rows:
                continue
            last = self.versions.last(table).valid_from_sequence or ""
            row = self._row_since(last, name)
            if row is not None:
                self._fill_by_row(table, row)
                self.versions.add(table, sequence=last + "~", ddl=None)

    def see_rows(self, until: str) -> None:
        """Take up what rows tell of tables, up to a sequence, this included."""
        while self._rows and self._rows[-1].sequence <= until:
            row = self._rows.pop()
            name = (row.database, row.table)
            self._event = DdlEvent(row.sequence, *name, "")
            table = self._live.get(name)
            if table is None and row.sequence > self._freed.get(name, ""):
                table = self._begun_before(name)
                self._fill_by_row(table, row)
                self.versions.add(table, sequence=self._freed.get(name), ddl=None)
            elif table is not None and table.follows_rows:
                self._follow_row(table, row, just_before(row.sequence))
        while self._evidence and self._evidence[-1].end <= until:
            self._reveal(self._evidence.pop())

    def see_last_rows(self) -> None:
        """Let a table end with the columns that its last rows name.

        They may be those of rows long before: a column was renamed and renamed back.
        """
        for name, table in self._live.items():
            freed = self._freed.get(name, "")
            rows = [
                row
                for row in self._seen
                if (row.database, row.table) == name and row.sequence > freed
            ]
            if not table.follows_rows or len(rows) < 2:
                continue
            *_, before, last = sorted(rows, key=lambda row: row.last_sequence)
            begin = self.versions.last(table).valid_from_sequence or ""
            if last.last_sequence > begin:
                since = max(before.last_sequence + "~", begin)
                self._follow_row(table, last, since)

    def _fill_by_row(
        self, table: TableState, row: SeenSchema | SeenVersion
    ) -> tuple[ImageChange, ...]:
        """Give a table the columns and the key that a row tells.

        Returns:
            What that means to the rows before.
        """
        if isinstance(row, SeenVersion):
            fill_as_described(table, row.schema)
            return ()
        columns = [self._refined(row, column) for column in columns_of(row)]
        known = {column.name for column in table.columns}
        is_new = any(column.name not in known for column in columns)
        if is_new and not (known and self._has_rows(table, just_before(row.sequence))):
            columns = without_doubt(columns)
        return fill_as_seen(table, row, columns)

    def _follow_row(
        self, table: TableState, row: SeenSchema | SeenVersion, since: str
    ) -> None:
        """Give a table the columns that a row names, from a sequence on."""
        if is_partial(row, table.columns):
            return
        before = tuple(table.columns), table.key()
        if table.key()[1] and lacks_key(row, table.columns):
            columns, _ = news_of_row(row, [self.versions.last(table)])
            changes = reveal_columns(table, [self._refined(row, c) for c in columns])
        else:
            changes = self._fill_by_row(table, row)
        if not table.key()[1]:
            changes += dropped_columns(before[0], table.columns)
        if (tuple(table.columns), table.key()) != before:
            key_changed = bool(before[0]) and not is_same_key(
                table.key()[1], before[1][1]
            )
            changes = changes if before[0] else ()
            self.versions.add(
                table,
                sequence=since,
                ddl=None,
                key_changed=key_changed,
                image_changes=changes,
                unknown_columns=_unknown(changes),
            )

    def _refined(
        self, row: SeenSchema | SeenVersion, column: SchemaColumn
    ) -> SchemaColumn:
        """Return a column that a row names with what a DDL has told of it."""
        added = self._told_columns.get((row.database, row.table, column.name.lower()))
        if added is not None:
            return with_told_default(column, added)
        told = self._ignored.definition(
            row.database, row.table, column.name, column.type
        )
        if told is None:
            return column
        return msgspec.structs.replace(
            schema_column(told, column.column_id),
            name=column.name,
            original_default=column.original_default,
            original_default_accuracy=column.original_default_accuracy,
        )

    def _reveal(self, evidence: Evidence) -> None:
        """Give a table what its rows name and no DDL has told."""
        row = evidence.row
        table = self._table_of(evidence)
        if table is None or table.follows_rows:
            return
        last = self.versions.last(table)
        columns, is_rekeyed = news_of_row(row, [last])
        if columns or is_rekeyed:
            columns, is_rekeyed = news_of_row(row, self.versions.at(evidence))
        if not columns and not is_rekeyed:
            return
        before = tuple(table.columns), table.key()
        begin, since = last.valid_from_sequence or "", just_before(row.sequence)
        has_rows = self._has_rows(table, since)
        columns = [self._refined(row, column) for column in columns]
        changes = reveal_columns(table, columns if has_rows else without_doubt(columns))
        if is_rekeyed:
            rekey_table(table, row)
        if (tuple(table.columns), table.key()) == before:
            return
        if is_rekeyed and not has_rows:
            # No row had another key: the table had this one from its beginning.
            self.versions.amend(table)
            return
        self.versions.add(
            table,
            sequence=since if since > begin else begin + "~",
            ddl=None,
            key_changed=table.is_complete
            and not is_same_key(table.key()[1], before[1][1]),
            image_changes=changes,
            unknown_columns=_unknown(changes),
        )

    def _has_rows(self, table: TableState, until: str) -> bool:
        """Tell whether a table may have rows that were written up to a sequence."""
        return any(
            (row.database, row.table) in table.names
            and row.sequence <= until
            and (isinstance(row, SeenVersion) or row.last_sequence > table.emptied_at)
            for row in self._all_rows
        )

    def _table_of(self, evidence: Evidence) -> TableState | None:
        """Return the table of a row, which may have another name since its moment."""
        table = self._live.get((evidence.row.database, evidence.row.table))
        if table is not None:
            return table
        uids = {version.table_uid for version in self.versions.at(evidence)}
        return next((t for t in self._live.values() if t.uid in uids), None)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Take a step; write down why if it concerns no known table."""
        try:
            step()
        except NotAppliedError as error:
            event = self._event
            self.not_applied.append(
                NotApplied(
                    sequence=event.sequence,
                    database=event.database,
                    table=event.table,
                    sql=event.sql,
                    row_effect=error.row_effect,
                    reason=str(error),
                )
            )

    def _apply_unknown(self, reason: str) -> None:
        table = self._find(TableName(self._event.database, self._event.table))
        if table is None:
            raise NotAppliedError(reason, "unknown")
        self._change(table).unknown(reason)

    def _apply_whole(self, action: Action) -> None:
        match action:
            case DropDatabase():
                self._drop_database(action)
            case CreateTable():
                self._create(action)
            case DropTable():
                self._drop(action)
            case RenameTable():
                self._rename(self._renamed_table(action), action.target)
            case RecoverDatabase():
                self._recover_database(action)
            case RecoverTable():
                self._recover(action)
            case _:
                raise NotAppliedError("No table is concerned")

    def _alter(self, actions: Sequence[Action]) -> None:
        """Apply the clauses of one ALTER TABLE, all on the table before it."""
        if not actions:
            raise NotAppliedError("The statement does nothing")
        rename = next((a for a in actions if isinstance(a, RenameTable)), None)
        if rename is not None:
            table = self._renamed_table(rename)
        else:
            table = self._altered_table(actions)
        for action in sorted(actions, key=_clause_order):
            if isinstance(action, RenameTable):
                self._rename(table, action.target)
            else:
                self._alter_clause(table, action)
        change = self._change(table)
        drop_displaced(change)
        doubt_generated(change)

    def _altered_table(self, actions: Sequence[Action]) -> TableState:
        """Return the table of ALTER TABLE, one of unknown beginning if need be."""
        action = actions[0]
        if isinstance(
            action, CreateDatabase | DropDatabase | NoEffect | RecoverDatabase
        ):
            raise NotAppliedError("No table is concerned")
        table = self._find(action.table)
        if table is not None:
            return table
        if all(isinstance(action, _WITHOUT_ROWS) for action in actions):
            raise NotAppliedError("The table was never seen, and no row is concerned")
        return self._unknown_table(action.table)

    # Finding tables

    def _find(self, name: TableName) -> TableState | None:
        """Find a live table by its name, as the source compares names."""
        exact = self._live.get((name.database, name.table))
        if exact is not None:
            return exact
        matches = self._of_other_case(name)
        if self._event.ignores_case:
            return matches[0] if len(matches) == 1 else None
        for table in matches:
            self._change(table).unknown(
                f"A statement names `{name.table}`, another table where names differ by"
                " case, and this one where they do not"
            )
        return None

    def _of_other_case(self, name: TableName) -> list[TableState]:
        lowered = (name.database.lower(), name.table.lower())
        return [
            table
            for (database, table_name), table in self._live.items()
            if (database.lower(), table_name.lower()) == lowered
        ]

    def _as_named_by_event(self, name: TableName) -> tuple[str, str]:
        """Prefer the message's spelling, which is that of the table's schema."""
        event = (self._event.database, self._event.table)
        typed = (name.database, name.table)
        if not self._event.ignores_case:
            return typed
        is_same = [part.lower() for part in event] == [part.lower() for part in typed]
        return event if is_same else typed

    def _unknown_table(self, name: TableName) -> TableState:
        """Begin a table that was there before the topic began."""
        table = self._begun_before(self._as_named_by_event(name))
        schema = self._description(table.name)
        row = self._row_since(self._freed.get(table.name, ""), table.name)
        if schema is not None:
            fill_as_described(table, schema)
        elif row is not None:
            self._fill_by_row(table, row)
        self.versions.add(table, sequence=self._freed.get(table.name), ddl=None)
        return table

    def _row_since(self, sequence: str, name: tuple[str, str]) -> SeenSchema | None:
        """Return what rows of a name have told before and go on to tell."""
        return next(
            (
                row
                for row in self._seen
                if (row.database, row.table) == name
                and row.sequence <= sequence < row.last_sequence
            ),
            None,
        )

    def _begun_before(self, name: tuple[str, str]) -> TableState:
        """Return a new live table of that name, of which nothing is known yet."""
        freed = self._freed.get(name)
        uid = ".".join(name) + f"@{'' if freed is None else 'after ' + freed}"
        table = TableState(
            self._own(uid),
            *name,
            is_complete=False,
            has_unknown_beginning=True,
            follows_rows=True,
        )
        self._live[name] = table
        return table

    def _own(self, uid: str) -> str:
        """Return an identity that no other table has.

        One commit creates a table once, but its statement may come again in other
        words, or damaged.
        """
        self._uids[uid] += 1
        return uid if self._uids[uid] == 1 else f"{uid}#{self._uids[uid]}"

    def _description(self, name: tuple[str, str]) -> DescribedSchema | None:
        """Return what is told of a table that was there before its first DDL."""
        before = self._event.described_before
        if (
            before is not None
            and before.has_types
            and (before.database, before.table) == name
        ):
            return before
        freed = self._freed.get(name, "")
        return next(
            (
                schema
                for schema in self._described.get(name, [])
                if f"{schema.version:020}" > freed
            ),
            None,
        )

    def _renamed_table(self, action: RenameTable) -> TableState:
        """Find the table that is renamed.

        The message names the database after the rename. If the text qualifies only
        the new name, the old table is in the session's database, which is in no
        field: it is found if only one known table has that name.
        """
        name, target = action.table, action.target
        if not target.is_qualified:
            self._require_database(name)
        if name.is_qualified or not target.is_qualified:
            return self._find(name) or self._unknown_table(name)
        if self._event.source_database is not None:
            name = TableName(self._event.source_database, name.table)
            return self._find(name) or self._unknown_table(name)
        matches = self._of_any_database(name.table)
        if len(matches) == 1:
            return matches[0]
        reason = (
            f"Expected one known table `{name.table}` that RENAME can mean, as its"
            f" text names no database, got {len(matches)}"
        )
        for table in matches:
            self._change(table).unknown(reason)
        raise NotAppliedError(reason, "unknown")

    def _require_database(self, name: TableName) -> None:
        """Doubt what a name without a database means, where nothing tells its own.

        It is in the session's database. The message has that of the table which the text
        names first, which is another if that name has one (Canal: `LogEventConvert`).
        """
        if name.is_qualified or not self._names_first_database:
            return
        reason = f"No message tells in which database `{name.table}` is"
        for table in self._of_any_database(name.table):
            self._change(table).unknown(reason)
        raise NotAppliedError(reason, "unknown")

    def _of_any_database(self, name: str) -> list[TableState]:
        lowered = name.lower()
        return [t for t in self._live.values() if t.table.lower() == lowered]

    # Versions

    def _change(self, table: TableState) -> TableChange:
        change = self._changes.get(table.uid)
        if change is None:
            change = TableChange(
                table=table,
                key_before=table.key()[1],
                columns_before=tuple(table.columns),
                name_before=table.name,
                may_lose_characters=not self._event.is_of_tidb,
            )
            self._changes[table.uid] = change
        return change

    def _close_version(self, change: TableChange) -> None:
        table = change.table
        # Until its first row comes, a DDL may have named some of its columns only. After
        # a TRUNCATE the rows tell no less than before.
        is_as_before = change.columns_before == tuple(table.columns)
        rows_go_on = is_as_before and change.effects == {"close_all"}
        if not (rows_go_on or self._event.rows_tell_columns):
            table.follows_rows = table.follows_rows and not table.is_complete
        is_first = table.versions == 0
        key_changed = not is_first and not is_same_key(
            table.key()[1], change.key_before
        )
        if key_changed:
            change.effects.add("rekey")
        nothing: RowEffect = "none"
        effect = max({nothing, *change.effects}, key=STRENGTH.index)
        is_renamed = not is_first and table.name != change.name_before
        before = change.name_before if is_renamed else (None, None)
        self.versions.add(
            table,
            sequence=self._event.sequence,
            ddl=self._event.sql,
            row_effect=effect,
            image_changes=tuple(change.images),
            partition_changes=tuple(change.partitions),
            key_changed=key_changed,
            previous_database=before[0],
            previous_table=before[1],
            reason=change.reason,
            unknown_columns=self._unknown_columns(change),
        )
        if "close_all" in change.effects:
            table.emptied_at = self._event.sequence

    def _unknown_columns(self, change: TableChange) -> tuple[str, ...]:
        """Return the columns of which rows from before have no known value."""
        named = _unknown(change.images)
        if not named or not self._has_rows(change.table, self._event.sequence):
            return ()
        return named

    # Whole tables

    def _create(self, action: CreateTable) -> None:
        if action.temporary:
            raise NotAppliedError("A temporary table is not replicated")
        database, name = self._as_named_by_event(action.table)
        present = self._live.get((database, name))
        if present is not None and action.if_not_exists:
            raise NotAppliedError("The table exists")
        if present is not None:
            self._replace_unseen(present, is_known=action.or_replace)
        uid = self._own(f"{database}.{name}@{self._event.sequence}")
        table = TableState(uid, database, name, emptied_at=self._event.sequence)
        change = self._change(table)
        if action.like is None:
            fill_table(table, action)
        else:
            self._copy_schema(action, change)
        self._live[table.name] = table

    def _replace_unseen(self, present: TableState, *, is_known: bool) -> None:
        """End a table in whose place another is created."""
        change = self._change(present)
        change.effects.add("close_all")
        if not is_known:
            change.unknown("The table was created anew, but no DROP was seen")
        self._end(present)

    def _copy_schema(self, action: CreateTable, change: TableChange) -> None:
        """CREATE TABLE LIKE copies columns, indexes and partitions, no rows."""
        table = change.table
        original = None if action.like is None else self._liked(action.like, action)
        described = self._event.described
        if original is None and described is not None and described.has_types:
            fill_as_described(table, described)
            return
        if original is None:
            table.is_complete = False
            table.follows_rows = True
            change.reason = "The table after LIKE was never seen"
            return
        table.is_complete = original.is_complete
        table.columns = [
            msgspec.structs.replace(
                column, original_default=None, original_default_accuracy=None
            )
            for column in original.columns
        ]
        table.keys = [
            TableKey(key.kind, key.name, list(key.column_ids), key.has_expression)
            for key in original.keys
        ]
        table.next_column_id = original.next_column_id
        table.charset = original.charset
        table.collation = original.collation
        table.partitioning = original.partitioning

    def _liked(self, like: TableName, action: CreateTable) -> TableState | None:
        if like.is_qualified or not action.table.is_qualified:
            return self._find(like)
        matches = self._of_any_database(like.table)
        return matches[0] if len(matches) == 1 else None

    def _end(self, table: TableState) -> None:
        table.is_dropped = True
        self._free(table)
        self._dropped[table.name] = table

    def _free(self, table: TableState) -> None:
        if self._live.get(table.name) is table:
            del self._live[table.name]
        self._freed[table.name] = self._event.sequence

    def _drop(self, action: DropTable) -> None:
        if action.temporary:
            raise NotAppliedError("A temporary table is not replicated")
        self._require_database(action.table)
        table = self._find(action.table)
        if table is None:
            name = self._as_named_by_event(action.table)
            if action.if_exists and name in self._freed:
                raise NotAppliedError("There is no such table")
            table = self._unknown_table(action.table)
        self._change(table).effects.add("close_all")
        self._end(table)

    def _drop_database(self, action: DropDatabase) -> None:
        lowered = action.database.lower()
        tables = [t for t in self._live.values() if t.database.lower() == lowered]
        for table in tables:
            self._change(table).effects.add("close_all")
            self._end(table)
        self._dropped_databases[lowered] = tables
        if not tables:
            raise NotAppliedError("No known table is in the database", "close_all")

    def _rename(self, table: TableState, target: TableName) -> None:
        self._change(table)
        database, name = self._as_named_by_event(target)
        self._free(table)
        replaced = self._live.get((database, name))
        if replaced is not None:
            self._replace_unseen(replaced, is_known=False)
        if table.has_unknown_beginning and not self._has_rows(
            table, self._event.sequence
        ):
            self._doubt_replacement(table, (database, name))
        table.database, table.table = database, name
        self._live[table.name] = table

    def _doubt_replacement(self, table: TableState, name: tuple[str, str]) -> None:
        """Doubt a table without a known row that takes the name of one with rows.

        So ends an online schema change whose new table a filter kept out.
        """
        if name in self._freed and any(
            (row.database, row.table) == name and row.sequence <= self._event.sequence
            for row in self._all_rows
        ):
            self._change(table).unknown(
                f"It took the name of `{name[1]}`, which had rows, and no message has"
                " told of its own"
            )

    def _recover_database(self, action: RecoverDatabase) -> None:
        """Bring back the tables that DROP DATABASE ended."""
        tables = self._dropped_databases.pop(action.database.lower(), ())
        if not tables:
            raise NotAppliedError("No known table was in the database", "unknown")
        for table in tables:
            self._dropped.pop(table.name, None)
            self._come_back(table, (action.target, table.table))

    def _recover(self, action: RecoverTable) -> None:
        """Bring back a dropped table."""
        name = self._as_named_by_event(action.table)
        table = self._dropped.pop(name, None)
        if table is None:
            table = self._unknown_table(action.target)
        self._come_back(table, self._as_named_by_event(action.target))

    def _come_back(self, table: TableState, name: tuple[str, str]) -> None:
        """Let a table go on under a name; its rows come back without events."""
        change = self._change(table)
        table.is_dropped = False
        table.database, table.table = name
        self._live[name] = table
        change.effects.add("unknown")
        change.reason = "The rows that DROP or TRUNCATE had ended came back"

    # One clause of ALTER TABLE

    def _alter_clause(self, table: TableState, action: Action) -> None:
        change = self._change(table)
        match action:
            case TruncateTable():
                change.effects.add("close_all")
            case PartitionAction():
                self._partition(change, action)
            case AddColumn() if self._event.rows_tell_columns:
                self._add_as_rows_tell(change, action)
            case AddColumn():
                add_column(change, action, self._event)
            case AddKey() | DropKey() | RenameKey():
                alter_keys(table, action)
            case _:
                alter_columns(change, action)

    def _add_as_rows_tell(self, change: TableChange, action: AddColumn) -> None:
        """Add a column as the rows behind the statement name it, if there are any."""
        table, name, since = change.table, action.column.name, self._event.sequence
        behind = [
            (max(row.sequence, since), row, column)
            for row in self._seen
            if (row.database, row.table) == table.name and row.last_sequence > since
            for column in columns_of(row)
            if is_named(column, name)
        ]
        if not behind or find_column(table.columns, name) is not None:
            return
        _, row, column = min(behind, key=itemgetter(0))
        added = table.add(self._refined(row, column))
        change.add_image(added_column(added))

    def _partition(self, change: TableChange, action: PartitionAction) -> None:
        table = change.table
        if action.operation == "truncate" and action.all_partitions:
            change.effects.add("close_all")
        elif action.operation in {"truncate", "drop", "exchange"}:
            try:
                columns = partitioned_columns(
                    table.partitioning,
                    change.columns_before,
                    table.renamed_ids,
                    compares_bytes=self._event.is_of_tidb,
                )
                moved = PartitionChange(
                    operation=action.operation,  # type: ignore[arg-type] # just tested
                    columns=columns.columns,
                    partitions=affected_partitions(table.partitioning, action, columns),
                )
            except UnknownRowsError as error:
                self._move_unknown_rows(change, action.exchange_with, str(error))
            else:
                if action.exchange_with is not None:
                    moved = self._exchange(change, action.exchange_with, moved)
                change.effects.add("partition")
                change.partitions.append(moved)
        table.partitioning = partitioning_after(table.partitioning, action)

    def _exchange(
        self, change: TableChange, name: TableName, moved: PartitionChange
    ) -> PartitionChange:
        """Note on both tables that they swapped rows."""
        other = self._find(name) or self._unknown_table(name)
        other_change = self._change(other)
        other_change.effects.add("partition")
        other_change.partitions.append(
            msgspec.structs.replace(
                moved, is_partitioned_side=False, counterpart_uid=change.table.uid
            )
        )
        return msgspec.structs.replace(moved, counterpart_uid=other.uid)

    def _move_unknown_rows(
        self, change: TableChange, exchanged_with: TableName | None, reason: str
    ) -> None:
        """Note that rows ended or moved, and that nothing tells which."""
        changes = [change]
        if exchanged_with is not None:
            other = self._find(exchanged_with) or self._unknown_table(exchanged_with)
            changes.append(self._change(other))
        for concerned in changes:
            concerned.effects.add("unknown")
            concerned.reason = f"Which rows it concerns is not known, as {reason}"


_WITHOUT_ROWS: Final = (
    NoRowEffect,
    TableComment,
    TableCharset,
    RenameKey,
    SetDefault,
    AddKey,
    DropKey,
)


_ON_WHOLE_TABLES: Final = (
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropTable,
    NoEffect,
    RecoverDatabase,
    RecoverTable,
)


def _is_on_whole_tables(actions: Sequence[Action]) -> bool:
    """Tell RENAME TABLE a TO b, c TO d from ALTER TABLE a RENAME TO b, ADD ..."""
    return any(isinstance(action, _ON_WHOLE_TABLES) for action in actions) or (
        bool(actions) and all(isinstance(action, RenameTable) for action in actions)
    )


def _clause_order(action: Action) -> int:
    """Order the clauses of one ALTER TABLE as MySQL carries them out.

    DROP frees names that ADD may take; keys name columns as they are afterwards.
    """
    if isinstance(action, DropKey | DropColumn):
        return 0
    if isinstance(action, RenameColumn):
        return 1
    if isinstance(action, ModifyColumn) and not (action.first or action.after):
        return 1
    return 3 if isinstance(action, AddKey) else 2


def _unknown(images: Iterable[ImageChange]) -> tuple[str, ...]:
    """Return the columns of which rows from before have no known value."""
    return tuple(
        dict.fromkeys(
            str(image.to_name)
            for image in images
            if image.value_accuracy == "unknown" and image.generated != "virtual"
        )
    )
