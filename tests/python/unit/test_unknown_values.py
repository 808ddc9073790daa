"""What no message tells is unknown: values of rows from before a DDL, names, keys.

Sequences are commit timestamps, or milliseconds and an offset where a test says so.
"""

import msgspec
import pytest
from row_schemas import at, names, seen, time

from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import DdlEvent, TableVersion

CREATE = "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9))"
STATEMENT = 1_795_264_241_535
"""Milliseconds of 2026-11-21 12:30:41.535 in UTC."""


def added(
    definition: str, zone: str = "UTC", millisecond: int = STATEMENT
) -> TableVersion:
    """The version that an ADD COLUMN makes of a table with a row."""
    ddls = [
        at(time(0, 1), CREATE),
        DdlEvent(
            f"{millisecond << 18:020}:{7:019}",
            "db",
            "t",
            f"ALTER TABLE t ADD COLUMN c {definition}",
            time_zone=zone,
        ),
    ]
    return fold_schemas(ddls, [seen(time(1, 2), a="varchar")])[-1]


@pytest.mark.parametrize(
    ("definition", "zone", "shown"),
    [
        ("DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP", "UTC", "2026-11-21 12:30:41"),
        ("TIMESTAMP DEFAULT NOW()", "Asia/Shanghai", "2026-11-21 20:30:41"),
        ("DATETIME DEFAULT LOCALTIME", "+05:30", "2026-11-21 18:00:41"),
        # Cut off, where rounding would give another one.
        ("DATETIME(2) DEFAULT NOW(2)", "UTC", "2026-11-21 12:30:41.53"),
    ],
)
def test_a_default_of_the_clock_is_the_time_of_the_statement_in_the_topics_zone(
    definition: str, zone: str, shown: str
) -> None:
    version = added(definition, zone)
    assert version.columns[-1].original_default == shown
    assert version.unknown_columns == ()


@pytest.mark.parametrize(
    "definition",
    [
        "CHAR(36) NOT NULL DEFAULT (uuid())",
        "INT NOT NULL AUTO_INCREMENT UNIQUE",
        "DOUBLE DEFAULT (rand())",
        # Its message tells milliseconds.
        "TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)",
        "VARCHAR(20) GENERATED ALWAYS AS (concat(a, '-')) STORED",
    ],
)
def test_what_only_the_source_can_fill_in_is_unknown_in_rows_that_were_there(
    definition: str,
) -> None:
    version = added(definition)
    assert version.unknown_columns == ("c",)
    assert version.columns[-1].original_default is None
    assert version.columns[-1].original_default_accuracy == "unknown"


def test_a_fraction_of_a_second_is_unknown_where_canal_tells_seconds() -> None:
    second = STATEMENT - STATEMENT % 1000
    whole = added("DATETIME DEFAULT NOW()", millisecond=second)
    assert whole.columns[-1].original_default == "2026-11-21 12:30:41"
    part = added("DATETIME(3) DEFAULT NOW(3)", millisecond=second)
    assert part.unknown_columns == ("c",)


def test_a_zone_that_nobody_knows_makes_a_default_of_the_clock_unknown() -> None:
    version = added("DATETIME DEFAULT NOW()", "Asia/Shangai")
    assert version.unknown_columns == ("c",)


def test_a_table_without_rows_has_no_unknown_values() -> None:
    ddls = [at(1, CREATE), at(5, "ALTER TABLE t ADD COLUMN c INT DEFAULT (rand())")]
    after = seen(9, a="varchar", c="int")
    assert [v.unknown_columns for v in fold_schemas(ddls, [after])] == [(), ()]
    ddls.insert(1, at(3, "TRUNCATE TABLE t"))
    before = seen(2, a="varchar")
    assert all(not v.unknown_columns for v in fold_schemas(ddls, [before, after]))


def test_a_stored_column_is_unknown_after_its_base_column_was_converted() -> None:
    ddls = [
        at(1, "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9), b INT,"),
    ]
    ddls = [
        at(
            1,
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9), b INT,"
            " s VARCHAR(20) GENERATED ALWAYS AS (concat(a, '-x')) STORED)",
        ),
        at(5, "ALTER TABLE t MODIFY b BIGINT"),
        at(6, "ALTER TABLE t MODIFY a INT"),
        at(
            7,
            "ALTER TABLE t MODIFY"
            " s VARCHAR(20) GENERATED ALWAYS AS (concat(a, '-y')) STORED",
        ),
    ]
    row = seen(2, until=4, a="varchar", b="int", s="varchar")
    versions = fold_schemas(ddls, [row])
    assert [v.unknown_columns for v in versions] == [(), (), ("s",), ("s",)]


# --- Names ------------------------------------------------------------------------


def cased(sql: str, *, ignores_case: bool) -> DdlEvent:
    return msgspec.structs.replace(at(5, sql, "users"), ignores_case=ignores_case)


def test_a_statement_acts_on_a_table_of_another_case_where_names_ignore_it() -> None:
    ddls = [at(1, "CREATE TABLE Users (id INT PRIMARY KEY)", "Users")]
    dropped = cased("DROP TABLE IF EXISTS `users`", ignores_case=True)
    assert fold_schemas([*ddls, dropped])[-1].row_effect == "close_all"


def test_a_statement_only_doubts_a_table_of_another_case_where_names_have_it() -> None:
    ddls = [at(1, "CREATE TABLE Users (id INT PRIMARY KEY)", "Users")]
    dropped = cased("DROP TABLE IF EXISTS `users`", ignores_case=False)
    last = [v for v in fold_schemas([*ddls, dropped]) if v.table == "Users"][-1]
    assert (last.row_effect, last.is_dropped) == ("unknown", False)
    created = cased("CREATE TABLE `users` (id INT PRIMARY KEY)", ignores_case=False)
    tables = {v.table: v for v in fold_schemas([*ddls, created])}
    assert {name: v.row_effect for name, v in tables.items()} == {
        "Users": "none",
        "users": "none",
    }


def test_a_table_never_seen_that_takes_the_name_of_one_with_rows_is_in_doubt() -> None:
    ddls = [
        at(1, "CREATE TABLE orders (id INT PRIMARY KEY)", "orders"),
        at(5, "RENAME TABLE orders TO _orders_del, _orders_gho TO orders", "orders"),
    ]
    row = seen(2, table="orders")
    last = [v for v in fold_schemas(ddls, [row]) if v.table == "orders"][-1]
    assert last.row_effect == "unknown"
    # Without a row, nothing can be missing.
    last = [v for v in fold_schemas(ddls) if v.table == "orders"][-1]
    assert last.row_effect == "none"


# --- Parts of rows, and keys ------------------------------------------------------


def test_a_row_that_leaves_out_columns_re_keys_and_drops_nothing() -> None:
    create = at(1, "CREATE TABLE t (id INT PRIMARY KEY, a INT, memo TEXT)")
    whole = seen(2, a="int", memo="text")
    part = msgspec.structs.replace(seen(7), column_types={"a": "int"}, primary_key=None)
    (only,) = fold_schemas([create], [whole, part])
    assert (only.key_columns, names(only)) == (("id",), ["id", "a", "memo"])
    (only,) = fold_schemas([], [whole, part, seen(8, a="int")])
    assert (only.key_columns, names(only)) == (("id",), ["id", "a", "memo"])


def test_a_row_of_what_has_changed_may_tell_other_columns() -> None:
    part = msgspec.structs.replace(seen(7), column_types={"b": "int"}, primary_key=None)
    first, second = fold_schemas([], [seen(2, a="int"), part])
    assert (first.key_columns, names(first)) == (("id",), ["id", "a"])
    assert (second.key_columns, names(second)) == (("id",), ["id", "a", "b"])
    assert not second.key_changed


def test_a_row_of_kafka_connect_has_all_columns_of_its_schema() -> None:
    whole = seen(2, {"id": "connect.int32", "a": "connect.int32"})
    fewer = seen(7, {"id": "connect.int32"})
    assert names(fold_schemas([], [whole, fewer])[-1]) == ["id"]


def test_a_key_in_another_order_is_the_same_key() -> None:
    ddls = [
        at(1, "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b))"),
        at(5, "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b, a)"),
    ]
    first, second = fold_schemas(ddls)
    assert (second.key_columns, second.key_changed) == (("b", "a"), False)
    rows = [
        seen(2, {"b": "connect.int32"}, key=("id", "b")),
        seen(7, {"b": "connect.int32", "c": "connect.int32"}, key=("b", "id")),
    ]
    assert not any(v.key_changed for v in fold_schemas([], rows))
    assert first.key_columns == ("a", "b")
