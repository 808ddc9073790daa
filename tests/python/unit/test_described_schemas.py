"""Tables known by a description: of a DDL's message or of a bootstrap."""

import msgspec
import pytest

from changefold.described_schemas import (
    DescribedColumn,
    DescribedIndex,
    DescribedSchema,
)
from changefold.schemas import DdlEvent, fold_schemas

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


def test_a_table_without_a_ddl_is_known_by_its_lowest_description() -> None:
    added = DescribedColumn("n", "int")
    (version,) = fold_schemas([], [_schema(2, added), _schema(1)])
    assert [column.name for column in version.columns] == ["id"]
    assert version.key_columns == ("id",)
    assert version.is_complete
    assert version.valid_from_sequence is None


def test_the_first_ddl_of_a_table_tells_what_it_was_before() -> None:
    before = _schema(1, DescribedColumn("v", "varchar", length=9))
    event = DdlEvent(
        "5", "d", "t", "alter table t add column n int", described_before=before
    )
    first, second = fold_schemas([event], [_schema(2, DescribedColumn("n", "int"))])
    assert [column.name for column in first.columns] == ["id", "v"]
    assert [column.name for column in second.columns] == ["id", "v", "n"]


def test_a_table_whose_create_was_not_sent_follows_the_one_of_its_name() -> None:
    dropped = DdlEvent(
        f"{5:020}", "d", "t", "drop table t", described_before=_schema(1)
    )
    code = DescribedColumn("code", "int")
    versions = fold_schemas([dropped], [_schema(1), _schema(7, code)])
    assert [[column.name for column in version.columns] for version in versions] == [
        ["id"],
        ["id"],
        ["id", "code"],
    ]
    assert [version.valid_from_sequence for version in versions] == [
        None,
        f"{5:020}",
        f"{5:020}",
    ]
    assert len({version.table_uid for version in versions}) == 2
    # What is described of the dropped table alone brings no other into being.
    assert len(fold_schemas([dropped], [_schema(1), _schema(4, code)])) == 2


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
