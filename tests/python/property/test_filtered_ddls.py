"""A changefeed leaves DDLs out, and no column of a row may be lost.

Of each history it is known what the rows have: the columns of their table then.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from histories import (
    DATABASE,
    KEY_COLUMNS,
    LOGICAL_BITS,
    Commit,
    Source,
    Table,
    draw_source,
    seeded,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import DdlEvent, TableVersion
from changefold.schemas.observed import (
    DescribedColumn,
    DescribedIndex,
    DescribedSchema,
    SeenSchema,
    SeenVersion,
)

Row = tuple[str, Table]
"""A row: its sequence, and its table at the time."""


@dataclass
class Stream:
    """What there is to fold of a history.

    Attributes:
        ddls: The DDLs, with what they are.
        rows: The rows that are sent whole, in order.
    """

    ddls: list[tuple[str, DdlEvent]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @property
    def events(self) -> list[DdlEvent]:
        """The DDLs as they are sent."""
        return [event for _, event in self.ddls]

    def without(self, random: Random, share: float) -> list[DdlEvent]:
        """Return the DDLs without some of those on columns."""
        return [
            event
            for type_, event in self.ddls
            if type_ != "ALTER" or random.random() >= share
        ]


def stream_of(source: Source, places: Random | None = None) -> Stream:
    """Return the stream of a history.

    Args:
        source: The history.
        places: Without commit timestamps: where in its partition a row lies. The DDLs
            keep their order, and nothing orders the two.
    """
    stream = Stream()
    for number, commit in enumerate(source.commits):
        for ddl in commit.ddls:
            sequence = _sequence(commit, None if places is None else 1000 * number)
            event = DdlEvent(sequence, DATABASE, ddl.after.name, ddl.ddl.sql)
            stream.ddls.append((ddl.ddl.type, event))
        for change in commit.changes:
            if change.after is not None:
                place = None if places is None else places.randrange(2000 * number)
                table = commit.tables[change.table]
                stream.rows.append((_sequence(commit, place), table))
    return stream


def _sequence(commit: Commit, offset: int | None) -> str:
    if offset is None:
        return f"{commit.commit_ts:020}"
    return f"{commit.commit_ts >> LOGICAL_BITS << LOGICAL_BITS:020}:{offset:019}"


def seen_schemas(rows: Iterable[Row]) -> list[SeenSchema]:
    """Return what rows of Canal-JSON tell: their columns, of some types the base only."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for sequence, table in rows:
        types = json.dumps({column.name: column.base for column in table.columns})
        found[table.name, types].append(sequence)
    return [
        SeenSchema(DATABASE, table, min(at), max(at), json.loads(types), KEY_COLUMNS)
        for (table, types), at in found.items()
    ]


def seen_versions(rows: Iterable[Row]) -> list[SeenVersion]:
    """Return what rows of the Simple protocol tell: a version that is described."""
    found: dict[tuple[str, int], SeenVersion] = {}
    for sequence, table in rows:
        version = SeenVersion(sequence, described(table))
        found.setdefault((table.name, table.version), version)
    return list(found.values())


def described(table: Table) -> DescribedSchema:
    columns = tuple(
        DescribedColumn(
            column.name,
            column.base,
            length=column.parameters[0] if column.parameters else None,
            decimal=column.parameters[-1] if column.parameters else None,
            nullable=column.nullable,
        )
        for column in table.columns
    )
    key = DescribedIndex("PRIMARY", KEY_COLUMNS, unique=True, primary=True)
    return DescribedSchema(DATABASE, table.name, table.version, columns, (key,))


def held(versions: list[TableVersion], table: str, sequence: str) -> TableVersion:
    """Return the version that holds for a row."""
    (version,) = (
        version
        for version in versions
        if version.table == table
        and not version.is_dropped
        and (version.valid_from_sequence or "") < sequence
        and sequence <= (version.valid_to_sequence or "~")
    )
    return version


def assert_sound(versions: list[TableVersion]) -> None:
    """Versions of a table follow each other, and no column is there twice."""
    begins: dict[str, str] = {}
    for version in versions:
        names = [column.name for column in version.columns]
        assert len(set(names)) == len(names)
        assert version.is_dropped or version.key_columns == KEY_COLUMNS
        begin = version.valid_from_sequence or ""
        assert begins.get(version.table_uid, "") <= begin
        begins[version.table_uid] = begin


seeds = st.integers(0, 2**32)


@settings(deadline=None)
@given(seeds)
def test_rows_reveal_nothing_where_every_ddl_is_sent(seed: int) -> None:
    stream = stream_of(draw_source(seeded(seed), histories=4))
    versions = fold_schemas(stream.events)
    assert fold_schemas(stream.events, seen_schemas(stream.rows)) == versions
    assert fold_schemas(stream.events, seen_versions(stream.rows)) == versions


@settings(deadline=None)
@given(seeds)
def test_rows_in_any_order_with_the_ddls_of_their_time_reveal_nothing(
    seed: int,
) -> None:
    stream = stream_of(draw_source(seeded(seed), histories=4), seeded(seed))
    created = fold_schemas(stream.events)
    uids = {version.table_uid for version in created}
    # A row that comes before the CREATE of its table begins one of its own.
    versions = fold_schemas(stream.events, seen_schemas(stream.rows))
    assert [version for version in versions if version.table_uid in uids] == created


@settings(deadline=None)
@given(seeds, st.sampled_from((0.3, 0.7, 1.0)))
def test_the_columns_of_every_row_are_known_whatever_ddls_are_not_sent(
    seed: int, share: float
) -> None:
    stream = stream_of(draw_source(seeded(seed), histories=4))
    events = stream.without(seeded(seed), share)
    seen = seen_schemas(stream.rows)
    versions = fold_schemas(events, seen)
    assert_sound(versions)
    for row in seen:
        for sequence in (row.sequence, row.last_sequence):
            version = held(versions, row.table, sequence)
            assert {
                column.name for column in version.columns
            } >= row.column_types.keys()


@settings(deadline=None)
@given(seeds, st.sampled_from((0.3, 0.7, 1.0)))
def test_the_types_of_every_row_are_known_where_its_version_is_described(
    seed: int, share: float
) -> None:
    stream = stream_of(draw_source(seeded(seed), histories=4))
    versions = fold_schemas(
        stream.without(seeded(seed), share), seen_versions(stream.rows)
    )
    assert_sound(versions)
    for sequence, table in stream.rows:
        known = {c.name: c.type for c in held(versions, table.name, sequence).columns}
        for column in described(table).columns:
            # What is cut off at another length, the rows say themselves.
            if column.type != "varchar":
                assert known[column.name] == str(column.mysql_type)
