"""DDLs that a changefeed ignores: they change nothing, and tell types."""

import pytest
from row_schemas import CREATE, at, names, seen, sequence, types

from changefold.schemas.fold import fold_schema_history, fold_schemas
from changefold.schemas.model import DdlEvent, SchemaColumn


def ignored(place: int, sql: str, table: str = "t") -> DdlEvent:
    return DdlEvent(sequence(place), "db", table, sql, is_ignored=True)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE t ADD c INT",
        "ALTER TABLE t DROP a",
        "ALTER TABLE t MODIFY a TEXT",
        "ALTER TABLE t DROP PRIMARY KEY",
        "TRUNCATE TABLE t",
        "DROP TABLE t",
        "DROP DATABASE db",
        "RENAME TABLE t TO u",
        "CREATE TABLE u (id INT PRIMARY KEY)",
        "ALTER TABLE t FROBNICATE",
    ],
)
def test_an_ignored_ddl_changes_no_table(sql: str) -> None:
    history = fold_schema_history(
        [at(1, CREATE), ignored(5, sql), at(9, "DROP VIEW v")]
    )
    assert [version.valid_from_sequence for version in history.versions] == [
        sequence(1)
    ]
    assert [ddl.sql for ddl in history.not_applied] == ["DROP VIEW v"]


def test_rows_stay_after_a_drop_that_was_ignored() -> None:
    ddls = [at(1, CREATE), ignored(5, "DROP TABLE t")]
    (only,) = fold_schemas(ddls, [seen(2, until=9, a="int")])
    assert not only.is_dropped


def test_a_rename_that_was_ignored_begins_a_table_of_the_new_name() -> None:
    ddls = [at(1, CREATE), ignored(5, "RENAME TABLE t TO u", "u")]
    versions = fold_schemas(ddls, [seen(2, a="int"), seen(7, table="u", a="int")])
    assert [version.table for version in versions] == ["t", "u"]
    assert all(version.valid_to_sequence is None for version in versions)


def revealed(sql: str, **column_types: str) -> SchemaColumn:
    """The last column of `t` after an ignored statement and a row behind it."""
    ddls = [at(1, CREATE), ignored(5, sql)]
    return fold_schemas(ddls, [seen(7, column_types)])[-1].columns[-1]


@pytest.mark.parametrize(
    ("definition", "named", "kept"),
    [
        ("ENUM('x','y') NOT NULL", "enum", "enum('x','y')"),
        ("SET('x','y')", "set", "set('x','y')"),
        ("DECIMAL(12,4)", "decimal", "decimal(12,4)"),
        ("DATETIME(6)", "datetime", "datetime(6)"),
        ("BIT(9)", "bit", "bit(9)"),
        ("BOOL", "tinyint", "tinyint(1)"),
        ("BIGINT UNSIGNED", "bigint unsigned", "bigint unsigned"),
        ("JSON", "longtext", "json"),
        # What rows tell is of their own time.
        ("DECIMAL(12,4)", "decimal(14,6)", "decimal(14,6)"),
        ("ENUM('x')", "enum('x','y')", "enum('x','y')"),
        # Another column has come in its place since.
        ("ENUM('x')", "varchar", "varchar"),
        ("ENUM('x')", "connect.Enum", "connect.Enum"),
    ],
)
def test_an_ignored_ddl_tells_the_type_of_a_column_that_rows_reveal(
    definition: str, named: str, kept: str
) -> None:
    for sql in (
        f"ALTER TABLE t ADD COLUMN c {definition}",
        f"ALTER TABLE t CHANGE a C {definition}",
    ):
        column = revealed(sql, c=named)
        assert (column.name, column.type) == ("c", kept)


def test_an_ignored_ddl_tells_all_of_a_column_but_the_value_of_rows_before() -> None:
    sql = (
        "ALTER TABLE t ADD c VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_bin"
        " NOT NULL DEFAULT 'x' COMMENT 'told'"
    )
    column = revealed(sql, a="int", c="varchar")
    assert (column.nullable, column.original_default) == (False, None)
    assert (column.charset, column.collation) == ("latin1", "latin1_bin")
    assert column.comment == "told"


def test_the_last_ignored_ddl_of_a_column_tells_its_type() -> None:
    ddls = [
        at(1, CREATE),
        ignored(4, "ALTER TABLE t ADD c ENUM('x')"),
        ignored(5, "ALTER TABLE t MODIFY c ENUM('x','y')"),
        ignored(6, "ALTER TABLE u ADD c ENUM('u')", "u"),
        ignored(9, "ALTER TABLE t MODIFY c ENUM('z')"),
    ]
    last = fold_schemas(ddls, [seen(7, a="int", c="enum")])[-1]
    assert types(last)["c"] == "enum('x','y')"


def test_an_ignored_ddl_tells_the_type_of_a_column_that_it_retyped() -> None:
    sql = "ALTER TABLE t MODIFY a ENUM('x','y')"
    assert revealed(sql, a="enum").type == "enum('x','y')"


def test_a_table_whose_create_was_ignored_begins_with_its_rows() -> None:
    create = "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x') NOT NULL, d DECIMAL(9,3))"
    ddls = [ignored(1, create), at(9, "ALTER TABLE t ADD f INT")]
    rows = [seen(3, e="enum", d="decimal"), seen(10, e="enum", d="decimal", f="int")]
    first, second = fold_schemas(ddls, rows)
    assert types(first) == {"id": "int", "e": "enum('x')", "d": "decimal(9,3)"}
    assert (first.key_columns, first.valid_from_sequence) == (("id",), None)
    assert first.is_complete
    assert not first.columns[1].nullable
    assert types(second) == {**types(first), "f": "int"}


def test_rows_of_such_a_table_go_on_to_tell_its_columns() -> None:
    ddls = [
        ignored(1, "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x'))"),
        ignored(5, "ALTER TABLE t ADD f ENUM('y')"),
    ]
    rows = [seen(3, e="enum"), seen(7, e="enum", f="enum")]
    first, second = fold_schemas(ddls, rows)
    assert types(second) == {**types(first), "f": "enum('y')"}


def test_a_table_that_is_created_anew_has_none_of_the_columns_before() -> None:
    ddls = [
        ignored(1, "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x'))"),
        ignored(5, "CREATE TABLE t (id INT PRIMARY KEY)"),
    ]
    (only,) = fold_schemas(ddls, [seen(7, e="enum")])
    assert names(only) == ["id", "e"]
    assert types(only)["e"] == "enum"
