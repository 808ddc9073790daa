"""The fold of a topic, from JSON to JSON, as the model `table_schemas` calls it."""

import msgspec

from changefold.mysql.ddl import DdlStatement
from changefold.mysql.wire_forms import CANAL, CONNECT, WireForm
from changefold.schemas.defaults import default_as_sent
from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import DdlEvent, TableVersion
from changefold.schemas.observed import DescribedSchema, SeenSchema, SeenVersion
from changefold.schemas.ordering import commit_ts_of

__all__ = ["fold_table_schemas"]

_schema = msgspec.json.Decoder(DescribedSchema).decode


class _Ddl(msgspec.Struct, frozen=True):
    """A row of the model `ddl_events`; Spark leaves out what is null."""

    sequence: str
    database: str
    table: str
    sql: str
    statement: str
    table_schema: str | None = None
    previous_table_schema: str | None = None
    is_ignored: bool = False
    wire_form: WireForm = CANAL
    time_zone: str = "UTC"
    ignores_case: bool = True
    is_of_tidb: bool = True
    committed_ms: int | None = None

    def event(self) -> DdlEvent:
        after, before = self.table_schema, self.previous_table_schema
        described_before = None if before is None else _schema(before)
        rows_tell_columns = (
            self.wire_form == CONNECT and commit_ts_of(self.sequence) is None
        )
        return DdlEvent(
            sequence=self.sequence,
            database=self.database,
            table=self.table,
            sql=self.sql,
            source_database=None
            if described_before is None
            else described_before.database,
            statement=DdlStatement.from_json(self.statement),
            described=None if after is None else _schema(after),
            described_before=described_before,
            is_ignored=self.is_ignored,
            time_zone=self.time_zone,
            ignores_case=self.ignores_case,
            is_of_tidb=self.is_of_tidb,
            committed_ms=self.committed_ms,
            rows_tell_columns=rows_tell_columns,
        )


class _Version(msgspec.Struct, frozen=True):
    """A row of the model `schema_versions` that is described and has changes."""

    table_schema: str
    first_sequence: str


def _with_defaults_as_sent(
    version: TableVersion, form: WireForm, zone: str
) -> TableVersion:
    columns = tuple(
        msgspec.structs.replace(
            column, original_default=default_as_sent(column, form, zone)
        )
        for column in version.columns
    )
    return msgspec.structs.replace(version, columns=columns)


def fold_table_schemas(
    ddl_events: str | None, described: str | None, seen: str | None
) -> str:
    """Fold the DDLs of a topic and what its rows tell.

    Args:
        ddl_events: JSON array of the DDLs; ``None`` for none.
        described: JSON array of the described versions that rows name.
        seen: JSON array of `SeenSchema`.

    Returns:
        JSON array of the versions of all tables, see `TableVersion`; what rows show that are
        older than a column is in the form of the topic's messages.

    Raises:
        msgspec.ValidationError: If a text is not of that form.
    """
    events = msgspec.json.decode(ddl_events or "[]", type=list[_Ddl])
    versions = (
        SeenVersion(version.first_sequence, schema)
        for version in msgspec.json.decode(described or "[]", type=list[_Version])
        if (schema := _schema(version.table_schema)).has_types
    )
    rows = msgspec.json.decode(seen or "[]", type=list[SeenSchema])
    folded = fold_schemas((event.event() for event in events), [*versions, *rows])
    if events:
        # They are of one topic.
        form, zone = events[0].wire_form, events[0].time_zone
        folded = [_with_defaults_as_sent(version, form, zone) for version in folded]
    return msgspec.json.encode(folded).decode()
