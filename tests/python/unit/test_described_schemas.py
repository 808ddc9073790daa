"""Tables known by a description: of a DDL's message or of a bootstrap."""

from typing import Any

import msgspec
import pytest

from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import DdlEvent, TableVersion
from changefold.schemas.observed import (
    DescribedColumn,
    DescribedIndex,
    DescribedSchema,
    SeenVersion,
)

ID = DescribedColumn("id", "bigint", length=20, unsigned=True, nullable=False)
PRIMARY = DescribedIndex("PRIMARY", ("id",), unique=True, primary=True)


def _schema(
    version: int, *columns: DescribedColumn, name: str = "t"
) -> DescribedSchema:
    return DescribedSchema("d", name, version, (ID, *columns), (PRIMARY,))


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (DescribedColumn("c", "int", length=11), "int"),
        (DescribedColumn("c", "bigint", unsigned=True), "bigint unsigned"),
        (DescribedColumn("c", "decimal", length=12, decimal=2), "decimal(12,2)"),
        (DescribedColumn("c", "decimal", length=10), "decimal(10,0)"),
        (DescribedColumn("c", "varchar", length=9), "varchar(9)"),
        (DescribedColumn("c", "bit", length=9, unsigned=True), "bit(9)"),
        (DescribedColumn("c", "datetime", length=26, decimal=6), "datetime(6)"),
        (DescribedColumn("c", "enum", elements=("a", "it's")), "enum('a','it''s')"),
    ],
)
def test_the_type_of_a_described_column_is_whole(
    column: DescribedColumn, text: str
) -> None:
    assert str(column.mysql_type) == text


def _rows(sequence: int, version: int, *columns: DescribedColumn) -> SeenVersion:
    """Rows of a version, from a sequence on."""
    return SeenVersion(f"{sequence:020}", _schema(version, *columns))


def _event(sequence: int, sql: str, **told: Any) -> DdlEvent:
    return DdlEvent(f"{sequence:020}", "d", "t", sql, **told)


def _names(versions: list[TableVersion]) -> list[list[str]]:
    return [[column.name for column in version.columns] for version in versions]


def test_a_table_without_a_ddl_is_known_by_the_description_of_its_first_row() -> None:
    (version,) = fold_schemas([], [_rows(5, 1)])
    assert [column.name for column in version.columns] == ["id"]
    assert version.key_columns == ("id",)
    assert version.is_complete
    assert version.valid_from_sequence is None


def test_the_first_ddl_of_a_table_tells_what_it_was_before() -> None:
    before = _schema(1, DescribedColumn("v", "varchar", length=9))
    event = _event(5, "alter table t add column n int", described_before=before)
    after = _rows(9, 2, DescribedColumn("n", "int"))
    assert _names(fold_schemas([event], [after])) == [["id", "v"], ["id", "v", "n"]]


def test_a_table_whose_create_was_not_sent_follows_the_one_of_its_name() -> None:
    dropped = _event(5, "drop table t", described_before=_schema(1))
    code = DescribedColumn("code", "int")
    versions = fold_schemas([dropped], [_rows(2, 1), _rows(8, 7, code)])
    assert _names(versions) == [["id"], ["id"], ["id", "code"]]
    assert [version.valid_from_sequence for version in versions] == [
        None,
        f"{5:020}",
        f"{5:020}",
    ]
    assert len({version.table_uid for version in versions}) == 2
    # Rows of the dropped table bring no other into being.
    of_dropped = fold_schemas([dropped], [_rows(2, 1), _rows(4, 4, code)])
    assert len({version.table_uid for version in of_dropped}) == 1


def test_a_version_that_no_ddl_told_reveals_its_columns_from_its_first_row_on() -> None:
    # The number of a version is lower than the commit timestamp of its DDL, and its
    # rows are above that.
    kind = DescribedColumn("kind", "enum", elements=("a", "b"), nullable=False)
    created = _event(2, "create table t (id bigint unsigned primary key)")
    versions = fold_schemas([created], [_rows(3, 1), _rows(9, 4, kind)])
    assert _names(versions) == [["id"], ["id", "kind"]]
    assert versions[1].valid_from_sequence == f"{8:020}~"
    assert versions[1].ddl is None
    column = versions[1].columns[1]
    assert (column.type, column.nullable) == ("enum('a','b')", False)


def test_a_table_that_only_bootstraps_describe_goes_on_with_its_rows() -> None:
    old, new = DescribedColumn("old", "int"), DescribedColumn("new", "int")
    versions = fold_schemas([], [_rows(3, 1, old), _rows(9, 4, new)])
    assert _names(versions) == [["id", "old"], ["id", "old", "new"]]
    assert len({version.table_uid for version in versions}) == 1


def test_a_ddl_tells_only_what_it_does_of_the_table_that_it_describes() -> None:
    hidden, told = DescribedColumn("hidden", "int"), DescribedColumn("told", "int")
    created = _event(2, "create table t (id bigint unsigned primary key)")
    altered = _event(
        9,
        "alter table t add column told int",
        described_before=_schema(5, hidden),
        described=_schema(8, hidden, told),
    )
    versions = fold_schemas([created, altered], [_rows(12, 8, hidden, told)])
    assert _names(versions) == [["id"], ["id", "told"], ["id", "told", "hidden"]]


def test_versions_that_ddls_told_make_no_other() -> None:
    ddls = [
        _event(2, "create table t (id bigint unsigned primary key, a int)"),
        _event(5, "alter table t add column n varchar(9), drop column a"),
    ]
    rows = [
        _rows(3, 1, DescribedColumn("a", "int", length=11)),
        _rows(7, 4, DescribedColumn("n", "varchar", length=9)),
    ]
    assert fold_schemas(ddls, rows) == fold_schemas(ddls)


def test_what_a_version_describes_otherwise_is_taken_from_its_first_row_on() -> None:
    created = _event(2, "create table t (id bigint unsigned primary key, d decimal)")
    row = _rows(7, 4, DescribedColumn("d", "decimal", length=12, decimal=4))
    last = fold_schemas([created], [row])[-1]
    assert last.columns[1].type == "decimal(12,4)"
    key = DescribedIndex("PRIMARY", ("code",), unique=True, primary=True)
    code = DescribedColumn("code", "int", nullable=False)
    rekeyed = DescribedSchema("d", "t", 4, (ID, code), (key,))
    rows = [_rows(5, 3), SeenVersion(f"{7:020}", rekeyed)]
    last = fold_schemas([created], rows)[-1]
    assert (last.key_columns, last.key_changed) == (("code",), True)


def test_a_rename_of_a_table_never_seen_begins_under_the_old_name() -> None:
    event = DdlEvent(
        "5",
        "d2",
        "u",
        "rename table t to d2.u",
        source_database="d",
        described_before=_schema(1),
    )
    first, second = fold_schemas([event])
    assert (first.database, first.table) == ("d", "t")
    assert (second.database, second.table) == ("d2", "u")
    assert second.is_complete


def test_a_view_has_no_types_and_makes_no_table() -> None:
    view = _schema(1, DescribedColumn("v", "unspecified"))
    assert not view.has_types
    event = DdlEvent(
        "5", "d", "t", "alter table t drop column v", described_before=view
    )
    assert not fold_schemas([event])[0].is_complete


def test_the_form_of_a_message_is_read() -> None:
    text = (
        '{"database":"d","table":"t","table_id":9,"version":7,"columns":[{"name":"id",'
        '"type":"bigint","length":20,"decimal":null,"elements":null,"unsigned":true,'
        '"zerofill":null,"charset":"binary","collate":"binary","nullable":false,'
        '"default":null}],"indexes":[{"name":"PRIMARY","unique":true,"primary":true,'
        '"nullable":false,"columns":["id"]}]}'
    )
    schema = msgspec.json.decode(text, type=DescribedSchema)
    assert (schema.version, schema.columns[0].name) == (7, "id")
    assert schema.indexes == (PRIMARY,)
