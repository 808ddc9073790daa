"""The versions of tables, as a fold of DDL events finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from changefold.schemas.model import TableVersion

if TYPE_CHECKING:
    from changefold.schemas.model import ImageChange, PartitionChange, RowEffect
    from changefold.schemas.ordering import Evidence
    from changefold.schemas.table_state import TableState


class Versions:
    """The versions of all tables.

    Attributes:
        found: In the order of the statements that made them.
    """

    def __init__(self) -> None:
        """Begin without one."""
        self.found: list[TableVersion] = []

    def add(  # noqa: PLR0913 # one argument per field of the result
        self,
        table: TableState,
        *,
        sequence: str | None,
        ddl: str | None,
        row_effect: RowEffect = "none",
        image_changes: tuple[ImageChange, ...] = (),
        partition_changes: tuple[PartitionChange, ...] = (),
        key_changed: bool = False,
        previous_database: str | None = None,
        previous_table: str | None = None,
        reason: str | None = None,
        unknown_columns: tuple[str, ...] = (),
    ) -> None:
        """Add a version of a table as it is now; it ends the one before."""
        table.names.add(table.name)
        if table.last_index is not None:
            last = self.found[table.last_index]
            self.found[table.last_index] = msgspec.structs.replace(
                last, valid_to_sequence=sequence
            )
        table.versions += 1
        table.last_index = len(self.found)
        key_kind, key_ids = table.key()
        self.found.append(
            TableVersion(
                table_uid=table.uid,
                database=table.database,
                table=table.table,
                version=table.versions,
                valid_from_sequence=sequence,
                valid_to_sequence=None,
                is_dropped=table.is_dropped,
                is_complete=table.is_complete,
                columns=tuple(table.columns),
                key_columns=tuple(table.column(key_id).name for key_id in key_ids),
                key_kind=key_kind,
                unique_columns=table.unique_columns(),
                ddl=ddl,
                row_effect=row_effect,
                image_changes=image_changes,
                partition_changes=partition_changes,
                key_changed=key_changed,
                previous_database=previous_database,
                previous_table=previous_table,
                partitioning=table.partitioning,
                reason=reason,
                unknown_columns=unknown_columns,
            )
        )

    def amend(self, table: TableState) -> None:
        """Give the last version of a table the columns and the key that it has now."""
        index = table.last_index or 0
        key_kind, key_ids = table.key()
        self.found[index] = msgspec.structs.replace(
            self.found[index],
            columns=tuple(table.columns),
            key_columns=tuple(table.column(key_id).name for key_id in key_ids),
            key_kind=key_kind,
            unique_columns=table.unique_columns(),
        )

    def at(self, evidence: Evidence) -> list[TableVersion]:
        """Return the versions of a row's name that held at some time of its moment."""
        row = evidence.row
        return [
            version
            for version in self.found
            if (version.database, version.table) == (row.database, row.table)
            and not version.is_dropped
            and (version.valid_from_sequence or "") <= evidence.end
            and (version.valid_to_sequence or "~") >= evidence.begin
        ]

    def last(self, table: TableState) -> TableVersion:
        """Return the last version of a table that has one."""
        return self.found[table.last_index or 0]
