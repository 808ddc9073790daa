"""The schema change topic of Debezium: its statements act on rows and on names."""

from collections.abc import Mapping

import msgspec
import pytest
from row_schemas import at, names, seen, sequence, types

from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import DdlEvent, TableVersion
from changefold.schemas.observed import SeenSchema

FIRST = {"id": "connect.int32", "a": "connect.string"}


def statement(place: int, sql: str, table: str = "t") -> DdlEvent:
    return msgspec.structs.replace(at(place, sql, table), rows_tell_columns=True)


def row(
    place: int,
    columns: Mapping[str, str],
    *,
    until: int | None = None,
    table: str = "t",
) -> SeenSchema:
    told = seen(place, until=until, table=table)
    return msgspec.structs.replace(
        told, column_types=dict(columns), primary_key=("id",), connector="mysql"
    )


def fold(*told: DdlEvent | SeenSchema) -> list[TableVersion]:
    return fold_schemas(
        [each for each in told if isinstance(each, DdlEvent)],
        [each for each in told if isinstance(each, SeenSchema)],
    )


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE t RENAME COLUMN a TO b",
        "ALTER TABLE t CHANGE a b VARCHAR(90) NOT NULL FIRST",
    ],
)
def test_a_renamed_column_is_the_one_of_before(sql: str) -> None:
    versions = fold(
        row(1, FIRST),
        statement(2, sql),
        row(3, {"id": "connect.int32", "b": "connect.string NOT NULL"}),
    )
    assert [c.column_id for c in versions[0].columns] == [
        c.column_id for c in versions[-1].columns
    ]
    assert types(versions[-1]) == {"id": "connect.int32", "b": "connect.string"}
    (renamed,) = (change for v in versions for change in v.image_changes)
    assert (renamed.kind, renamed.from_name, renamed.to_name) == ("renamed", "a", "b")
    assert [v.unknown_columns for v in versions] == [()] * len(versions)


@pytest.mark.parametrize(
    ("definition", "named", "default"),
    [
        ("INT NOT NULL", "connect.int32 NOT NULL", "0"),
        ("DECIMAL(9,2) NOT NULL", "connect.Decimal(9,2) NOT NULL", "0.00"),
        ("VARCHAR(9) NOT NULL", "connect.string NOT NULL", ""),
        ("ENUM('x','y') NOT NULL", "connect.Enum NOT NULL", "unknown"),
        ("INT DEFAULT 7", "connect.int32 DEFAULT 7", "7"),
        ("INT", "connect.int32", None),
        ("INT", "connect.untyped", None),
        ("INT NOT NULL", "connect.untyped", "unknown"),
        ("VARCHAR(36) DEFAULT (uuid())", "connect.string", "unknown"),
        ("BIGINT NOT NULL AUTO_INCREMENT UNIQUE", "connect.int64 NOT NULL", "unknown"),
        ("DATETIME NOT NULL", "connect.Timestamp NOT NULL", "unknown"),
    ],
)
def test_an_added_column_has_what_the_statement_tells(
    definition: str, named: str, default: str | None
) -> None:
    behind = row(3, {**FIRST, "B": named})
    if named == "connect.untyped":
        behind = msgspec.structs.replace(behind, untyped=("B",))
    versions = fold(
        row(1, FIRST), statement(2, f"ALTER TABLE t ADD b {definition}"), behind
    )
    assert names(versions[-1]) == ["id", "a", "B"]
    is_unknown = default == "unknown"
    assert versions[-1].unknown_columns == (("B",) if is_unknown else ())
    told = versions[-1].columns[-1].original_default
    assert told == (None if is_unknown else default)
    (added,) = (change for version in versions for change in version.image_changes)
    assert (added.kind, added.to_name, added.value) == ("added", "B", told)
    assert added.value_accuracy == ("unknown" if is_unknown else None)


def test_a_column_that_is_dropped_and_added_again_is_another() -> None:
    *_, last = fold(
        row(1, FIRST, until=9),
        statement(2, "ALTER TABLE t DROP a"),
        statement(3, "ALTER TABLE t ADD a VARCHAR(9) NOT NULL DEFAULT 'n'"),
    )
    assert types(last) == FIRST
    added = last.columns[-1]
    assert (added.column_id, added.original_default) == (3, "n")


def test_a_column_that_no_row_has_yet_comes_with_the_first_that_has_it() -> None:
    *_, last = fold(row(1, FIRST), statement(2, "ALTER TABLE t ADD b INT NOT NULL"))
    assert types(last) == FIRST


def test_rows_tell_types_and_columns_behind_any_statement() -> None:
    versions = fold(
        row(1, FIRST),
        statement(2, "TRUNCATE TABLE t"),
        row(3, FIRST | {"c": "connect.int32"}),
        statement(4, "ALTER TABLE t MODIFY c BIGINT, ADD INDEX (c)"),
        row(5, FIRST | {"c": "connect.int64"}),
        statement(6, "RENAME TABLE t TO u", table="u"),
        row(7, FIRST | {"c": "connect.int64", "d": "connect.Date"}, table="u"),
    )
    assert {v.table_uid for v in versions} == {versions[0].table_uid}
    assert types(versions[-1]) == FIRST | {
        "c": "connect.int64",
        "d": "connect.Date",
    }
    assert versions[-1].table == "u"


def test_a_table_that_takes_a_name_is_not_the_one_that_had_it() -> None:
    versions = fold(
        row(1, FIRST, until=9),
        row(1, FIRST, table="t_new"),
        statement(3, "RENAME TABLE t TO t_old", table="t_old"),
        statement(3, "RENAME TABLE t_new TO t"),
    )
    last = {version.table: version.table_uid for version in versions}
    assert set(last) == {"t", "t_new", "t_old"}
    assert last["t"] == last["t_new"] != last["t_old"]


def test_a_table_that_is_made_anew_has_no_rows_of_the_one_before() -> None:
    versions = fold(
        row(1, FIRST, until=9),
        statement(2, "DROP TABLE t"),
        statement(3, "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9))"),
    )
    first, dropped, again = versions
    assert (dropped.is_dropped, dropped.row_effect) == (True, "close_all")
    assert again.table_uid != first.table_uid
    assert types(again) == FIRST


def test_a_table_that_is_replaced_ends() -> None:
    versions = fold(
        row(1, FIRST),
        statement(2, "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY)"),
        row(3, {"id": "connect.int32"}),
    )
    assert versions[1].valid_from_sequence == sequence(2)
    assert versions[1].row_effect == "close_all"
    assert names(versions[-1]) == ["id"]


@pytest.mark.parametrize(
    "sql", ["CREATE OR REPLACE TEMPORARY TABLE t (x INT)", "DROP TEMPORARY TABLE t"]
)
def test_a_temporary_table_ends_no_other(sql: str) -> None:
    assert len(fold(row(1, FIRST, until=9), statement(2, sql))) == 1
