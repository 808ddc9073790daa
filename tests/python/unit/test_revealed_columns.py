"""What rows reveal of a table whose CREATE was seen: the DDLs that nobody sent.

Sequences are commit timestamps, unless a test says that they are times.
"""

import msgspec
import pytest
from row_schemas import CREATE, at, names, seen, sequence, time, types

from changefold.schemas.fold import fold_schemas
from changefold.schemas.model import TableVersion
from changefold.schemas.observed import SeenSchema
from changefold.schemas.ordering import just_before
from changefold.schemas.type_matching import (
    agree,
    changes_meaning,
    default_of_row,
    type_of_row,
)


def begins(versions: list[TableVersion]) -> list[str | None]:
    return [version.valid_from_sequence for version in versions]


# --- Columns ----------------------------------------------------------------------


def test_a_column_that_no_ddl_told_is_there_from_its_first_row_on() -> None:
    rows = [seen(2, until=9, a="int"), seen(7, a="int", c="varchar")]
    first, second = fold_schemas([at(1, CREATE)], rows)
    assert (names(first), names(second)) == (["id", "a"], ["id", "a", "c"])
    assert first.valid_to_sequence == second.valid_from_sequence == sequence(6) + "~"
    assert (second.ddl, second.row_effect, second.key_changed) == (None, "none", False)
    # The statement may have had a default.
    (change,) = second.image_changes
    assert (change.kind, change.to_name) == ("added", "c")
    assert (change.value, change.value_accuracy) == (None, "unknown")
    assert second.columns[-1].nullable


def test_a_column_is_revealed_without_commit_timestamps_too() -> None:
    rows = [seen(time(1, 2), a="int"), seen(time(7, 30), a="int", c="int")]
    _, second = fold_schemas([at(time(0, 1), CREATE)], rows)
    assert names(second) == ["id", "a", "c"]
    assert second.valid_from_sequence == time(7, 29) + "~"


def test_rows_that_name_what_ddls_told_make_no_version() -> None:
    ddls = [at(1, CREATE), at(5, "ALTER TABLE t ADD Total DECIMAL(9,2), DROP a")]
    rows = [seen(2, until=5, A="int"), seen(6, until=9, total="decimal")]
    assert fold_schemas(ddls, rows) == fold_schemas(ddls)


def test_a_declared_type_is_not_what_a_row_shows() -> None:
    ddls = [at(1, CREATE), at(5, "ALTER TABLE t MODIFY a BIGINT")]
    row = msgspec.structs.replace(seen(2, until=9, a="bigint"), declared=("a",))
    assert fold_schemas(ddls, [row]) == fold_schemas(ddls)


def test_a_declared_column_that_a_row_has_is_revealed() -> None:
    row = msgspec.structs.replace(seen(2, a="int", c="int"), declared=("c",))
    _, second = fold_schemas([at(1, CREATE)], [row])
    assert names(second) == ["id", "a", "c"]


def test_a_row_at_the_commit_timestamp_of_a_ddl_is_before_it() -> None:
    ddls = [at(1, CREATE), at(5, "ALTER TABLE t ADD d INT")]
    versions = fold_schemas(ddls, [seen(5, a="int", c="int")])
    assert begins(versions) == [sequence(1), sequence(4) + "~", sequence(5)]
    assert names(versions[-1]) == ["id", "a", "c", "d"]


@pytest.mark.parametrize("offset", [3, 8])
@pytest.mark.parametrize(
    "column_types", [{"a": "int"}, {"a": "int", "c": "int"}, {"c": "int"}]
)
def test_a_row_of_the_millisecond_of_a_ddl_may_be_before_it_or_behind(
    offset: int, column_types: dict[str, str]
) -> None:
    ddls = [
        at(time(0, 1), CREATE),
        at(time(4, 5), "ALTER TABLE t ADD c INT"),
        at(time(4, 6), "ALTER TABLE t DROP a"),
    ]
    rows = [seen(time(4, offset), column_types)]
    assert fold_schemas(ddls, rows) == fold_schemas(ddls)


def test_rows_of_the_second_of_a_swap_are_of_either_table() -> None:
    ddls = [
        at(time(0, 1), CREATE),
        at(time(0, 2), "CREATE TABLE u (id INT PRIMARY KEY, b INT)", "u"),
        at(time(5000, 10), "RENAME TABLE t TO tmp", "tmp"),
        at(time(5000, 11), "RENAME TABLE u TO t", "t"),
        at(time(5000, 12), "RENAME TABLE tmp TO u", "u"),
    ]
    rows = [
        seen(time(5000, offset), column_types, table=table)
        for offset in (3, 14)
        for table in ("t", "u")
        for column_types in ({"a": "int"}, {"b": "int"})
    ]
    assert fold_schemas(ddls, rows) == fold_schemas(ddls)


def test_a_column_that_another_ddl_of_its_time_does_not_tell_follows_that_ddl() -> None:
    ddls = [at(time(0, 1), CREATE), at(time(4, 5), "ALTER TABLE t ADD c INT")]
    versions = fold_schemas(ddls, [seen(time(4, 3), a="int", d="int")])
    assert names(versions[-1]) == ["id", "a", "c", "d"]
    assert versions[-1].valid_from_sequence == time(4, 5) + "~"


def test_a_column_is_revealed_of_a_table_that_was_renamed_in_its_millisecond() -> None:
    ddls = [at(time(0, 1), CREATE), at(time(4, 5), "RENAME TABLE t TO u", "u")]
    last = fold_schemas(ddls, [seen(time(4, 3), a="int", d="int")])[-1]
    assert (last.table, names(last)) == ("u", ["id", "a", "d"])


def test_a_column_whose_drop_was_not_sent_stays() -> None:
    rows = [seen(2, a="int"), seen(7)]
    (only,) = fold_schemas([at(1, CREATE)], rows)
    assert names(only) == ["id", "a"]


def test_a_rename_that_was_not_sent_shows_as_a_new_column() -> None:
    rows = [seen(2, a="int"), seen(7, b="int")]
    first, second = fold_schemas([at(1, CREATE)], rows)
    assert names(second) == ["id", "a", "b"]
    assert second.columns[1] == first.columns[1]


def test_a_column_that_comes_back_after_its_drop_is_another() -> None:
    rows = [seen(2, until=9, a="int")]
    versions = fold_schemas([at(1, CREATE), at(5, "ALTER TABLE t DROP a")], rows)
    assert begins(versions) == [sequence(1), sequence(5), sequence(5) + "~"]
    assert names(versions[-1]) == ["id", "a"]
    assert versions[0].columns[1].column_id != versions[-1].columns[1].column_id


def test_what_a_dropped_table_had_is_new_to_the_next_one_of_its_name() -> None:
    ddls = [
        at(1, CREATE),
        at(4, "DROP TABLE t"),
        at(5, "CREATE TABLE t (id INT PRIMARY KEY)"),
    ]
    versions = fold_schemas(ddls, [seen(8, a="int")])
    assert names(versions[-1]) == ["id", "a"]
    assert versions[-1].table_uid == versions[-2].table_uid


def test_a_statement_that_was_not_understood_hides_no_column() -> None:
    ddls = [at(1, CREATE), at(5, "ALTER TABLE t FROBNICATE c")]
    versions = fold_schemas(ddls, [seen(8, a="int", c="int")])
    assert [version.row_effect for version in versions] == ["none", "unknown", "none"]
    assert names(versions[-1]) == ["id", "a", "c"]


def test_two_kinds_of_rows_reveal_a_column_once() -> None:
    rows = [
        seen(3, a="int", c="int"),
        seen(3, a="int", C="int", d="int"),
        seen(6, a="int", c="int", d="int"),
    ]
    versions = fold_schemas([at(1, CREATE)], rows)
    assert [name.lower() for name in names(versions[-1])] == ["id", "a", "c", "d"]
    assert set(begins(versions)[1:]) <= {sequence(2) + "~", sequence(2) + "~~"}


def test_a_column_of_kafka_connect_is_revealed_with_its_default() -> None:
    rows = [seen(7, c="connect.int32 DEFAULT 7")]
    second = fold_schemas([at(1, CREATE)], rows)[-1]
    assert types(second)["c"] == "connect.int32"
    assert second.columns[-1].original_default == "7"
    (added,) = second.image_changes
    assert (added.kind, added.column_id, added.value) == ("added", 3, "7")


# --- What a DDL does to a column that rows revealed


REVEALED = [seen(3, until=4, a="int", c="int")]


@pytest.mark.parametrize(
    ("clause", "left"),
    [
        ("DROP c", ["id", "a"]),
        ("CHANGE c d BIGINT", ["id", "a", "d"]),
        ("RENAME COLUMN c TO d", ["id", "a", "d"]),
        ("MODIFY c BIGINT FIRST", ["c", "id", "a"]),
        ("ADD COLUMN IF NOT EXISTS c INT", ["id", "a", "c"]),
        ("RENAME COLUMN a TO c, RENAME COLUMN c TO a", ["id", "c", "a"]),
    ],
)
def test_a_ddl_finds_a_column_that_rows_revealed(clause: str, left: list[str]) -> None:
    ddls = [at(1, CREATE), at(5, f"ALTER TABLE t {clause}")]
    last = fold_schemas(ddls, REVEALED)[-1]
    assert names(last) == left
    assert (last.is_complete, last.reason) == (True, None)


@pytest.mark.parametrize("clause", ["ADD c INT DEFAULT 5", "RENAME COLUMN a TO c"])
def test_a_ddl_that_gives_the_name_of_a_revealed_column_ends_that_column(
    clause: str,
) -> None:
    ddls = [at(1, CREATE), at(5, f"ALTER TABLE t {clause}")]
    versions = fold_schemas(ddls, REVEALED)
    ids = [{c.name: c.column_id for c in version.columns} for version in versions]
    assert len(set(names(versions[-1]))) == len(versions[-1].columns)
    assert ids[-1]["c"] != ids[-2]["c"]
    assert "dropped" in {change.kind for change in versions[-1].image_changes}
    assert versions[-1].is_complete


def test_a_rename_to_a_column_that_ddls_told_leaves_the_table_in_doubt() -> None:
    last = fold_schemas([at(1, CREATE), at(5, "ALTER TABLE t CHANGE a id INT")])[-1]
    assert names(last) == ["id"]
    assert last.columns[0].column_id == 2
    assert last.reason == "Column `id` was there when another got its name"


# --- Types ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "named"),
    [
        ("int", "varchar"),
        ("varchar(9)", "text"),
        ("int", "bigint"),
        ("int", "int unsigned"),
        ("decimal(10,2)", "decimal(10,4)"),
        ("decimal(10,2)", "decimal(12,2)"),
        ("enum('a','b')", "enum('b','a')"),
        ("datetime", "timestamp"),
    ],
)
def test_a_type_that_no_ddl_told_holds_from_its_first_row_on(
    known: str, named: str
) -> None:
    assert not agree(known, named)
    ddl = at(1, f"CREATE TABLE t (id INT PRIMARY KEY, a {known})")
    first, second = fold_schemas([ddl], [seen(7, a=named)])
    assert (names(second), types(second)["a"]) == (["id", "a"], named)
    assert second.columns[1].column_id == first.columns[1].column_id
    # The values before are not converted.
    assert second.image_changes == ()


@pytest.mark.parametrize(
    ("known", "named"),
    [
        ("decimal(10,2)", "decimal"),
        ("enum('a','b')", "enum"),
        ("set('a')", "set"),
        ("bit(6)", "bit"),
        ("datetime(6)", "datetime"),
        ("varchar(9)", "varchar(20)"),
        ("tinyint(1)", "tinyint"),
        ("BOOLEAN", "tinyint"),
        ("INTEGER", "int(11)"),
        ("double precision", "double"),
        ("float(7,4)", "float"),
        ("json", "longtext"),
        # Old versions of TiCDC leave the word out.
        ("bigint unsigned", "bigint"),
        ("int(8) unsigned zerofill", "int unsigned zerofill"),
        ("int", "connect.string"),
        ("connect.int32", "connect.string"),
    ],
)
def test_a_type_that_may_be_the_one_of_the_ddl_is_left_alone(
    known: str, named: str
) -> None:
    assert agree(known, named)


def test_a_column_that_a_ddl_only_named_has_the_type_of_its_rows() -> None:
    ddls = [at(5, "ALTER TABLE t RENAME COLUMN v TO w")]
    versions = fold_schemas(ddls, [seen(2, a="int"), seen(7, a="int", w="int")])
    assert [types(version).get("w") for version in versions] == [None, "", "int"]


def test_a_type_of_the_millisecond_of_its_change_is_left_alone() -> None:
    ddls = [at(time(0, 1), CREATE), at(time(4, 5), "ALTER TABLE t MODIFY a TEXT")]
    rows = [seen(time(4, 8), a="int"), seen(time(4, 3), a="text")]
    assert fold_schemas(ddls, rows) == fold_schemas(ddls)


# --- Keys -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("create", "row", "key"),
    [
        ("id INT PRIMARY KEY, a INT", seen(7, a="int", key=("a",)), ("a",)),
        ("id INT PRIMARY KEY", seen(7, code="int", key=("code",)), ("code",)),
        ("id INT, a INT", seen(7, a="int", b="int"), ("id",)),
        # No row has a value of the key any more.
        ("u INT NOT NULL UNIQUE", seen(7, w="int", key=None), ()),
        (
            "id INT NOT NULL UNIQUE, u INT PRIMARY KEY",
            seen(7, w="int", key=None),
            ("id",),
        ),
    ],
)
def test_a_key_that_no_ddl_told_is_the_key_from_the_first_row_on(
    create: str, row: SeenSchema, key: tuple[str, ...]
) -> None:
    create_table = at(1, f"CREATE TABLE t ({create})")
    (created,) = fold_schemas([create_table])
    columns = {column.name: column.type for column in created.columns}
    before = SeenSchema("db", "t", sequence(2), sequence(2), columns)
    first, second = fold_schemas([create_table], [before, row])
    assert (second.key_columns, second.key_changed) == (key, True)
    assert second.valid_from_sequence == sequence(6) + "~"
    assert not first.key_changed


def test_a_key_that_the_first_row_of_a_table_names_is_its_key_from_the_beginning() -> (
    None
):
    row = seen(7, a="int", row_id="bigint", key=("row_id",))
    (only,) = fold_schemas([at(1, "CREATE TABLE t (id INT, a INT)")], [row])
    assert only.key_columns == ("row_id",)
    assert (only.valid_from_sequence, only.key_changed) == (sequence(1), False)


@pytest.mark.parametrize(
    ("create", "row"),
    [
        ("id INT PRIMARY KEY", seen(7, key=("ID",))),
        ("id INT PRIMARY KEY", seen(7, key=None)),
        ("id INT, a INT, PRIMARY KEY (a, id)", seen(7, a="int", key=("id", "a"))),
        ("id INT NOT NULL UNIQUE", seen(7, key=None)),
        # TiCDC takes the shortest of several unique indexes.
        (
            "id INT NOT NULL, a INT NOT NULL, UNIQUE (a, id), UNIQUE (id)",
            seen(7, a="int"),
        ),
        ("id INT, v INT AS (id) NOT NULL UNIQUE", seen(7, key=None)),
        ("id INT", seen(7, key=None)),
    ],
)
def test_a_key_that_can_be_the_one_of_the_ddl_is_left_alone(
    create: str, row: SeenSchema
) -> None:
    ddls = [at(1, f"CREATE TABLE t ({create})")]
    assert [v.key_columns for v in fold_schemas(ddls, [row])] == [
        v.key_columns for v in fold_schemas(ddls)
    ]


def test_the_first_rows_of_a_table_that_is_known_in_part_change_no_key() -> None:
    ddls = [
        at(1, "ALTER TABLE t ADD b INT"),
        at(2, "CREATE TABLE u LIKE t", "u"),
    ]
    last = fold_schemas(ddls, [seen(5, table="u", b="int")])[-1]
    assert (last.key_columns, last.key_changed) == (("id",), False)
    assert names(last) == ["b", "id"]


# --- Sequences --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "before"),
    [
        ("00470617751621206020", "00470617751621206019~"),
        (time(7, 10), time(7, 9) + "~"),
        ("0005.1.0003.0010@1559729468470", "0005.1.0003.001/~@1559729468470"),
    ],
)
def test_a_version_that_rows_make_begins_at_a_time_that_can_be_read(
    place: str, before: str
) -> None:
    assert just_before(place) == before
    assert before < place


def test_rows_that_tell_nothing_reveal_nothing() -> None:
    row = msgspec.structs.replace(seen(7), column_types={}, primary_key=None)
    (only,) = fold_schemas([at(1, "CREATE TABLE t (a INT)")], [row])
    assert names(only) == ["a"]


def test_what_a_row_says_of_null_is_no_other_type() -> None:
    for text in ("connect.int32", "connect.int32 NOT NULL", "connect.int32 DEFAULT 7"):
        assert type_of_row(text) == "connect.int32"


# --- Types that change the meaning of texts -----------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("connect.bytes", "connect.string"),
        ("connect.string", "connect.bytes"),
        ("connect.MicroDuration", "connect.Interval"),
    ],
)
def test_values_from_before_another_meaning_are_unknown(
    before: str, after: str
) -> None:
    rows = [
        seen(2, id="connect.int32", a=before),
        seen(7, id="connect.int64", a=after),
    ]
    rows = [msgspec.structs.replace(row, primary_key=("id",)) for row in rows]
    first, second = fold_schemas([], rows)
    assert (first.image_changes, first.unknown_columns) == ((), ())
    (change,) = second.image_changes
    assert (change.kind, change.from_name, change.to_name) == ("retyped", "a", "a")
    assert (change.from_type, change.to_type) == (before, after)
    assert (change.changes_text, change.value_accuracy) == (True, "unknown")
    assert second.unknown_columns == ("a",)
    assert second.valid_from_sequence == just_before(sequence(7))


@pytest.mark.parametrize(
    "key",
    [("id",), None],
    ids=["in the key", "without a key"],
)
def test_a_row_that_is_told_by_such_a_column_stays(key: tuple[str, ...] | None) -> None:
    rows = [seen(2, id="connect.bytes"), seen(7, id="connect.string")]
    rows = [msgspec.structs.replace(row, primary_key=key) for row in rows]
    _, second = fold_schemas([], rows)
    assert (second.image_changes, second.unknown_columns) == ((), ())


@pytest.mark.parametrize(
    ("before", "after", "is_another"),
    [
        ("connect.bytes", "connect.bytes", False),
        ("connect.bytes", "connect.untyped", False),
        ("connect.bytes", "connect.base64_url_safe", False),
        ("connect.Decimal(9,2)", "connect.string", False),
        ("connect.Timestamp", "connect.IsoTimestamp", False),
        ("varbinary(4)", "varchar(4)", False),
        ("connect.bytes", "connect.Decimal(9,2)", True),
        # A wider number, a finer time, another kind of text.
        ("connect.int16", "connect.int64", False),
        ("connect.int64", "connect.int32", False),
        ("connect.int32", "connect.Decimal(12,2)", False),
        ("connect.int32", "connect.double", False),
        ("connect.Decimal(9,2)", "connect.Decimal(12,4)", False),
        ("connect.Decimal(9,2)", "connect.double", False),
        ("connect.Timestamp", "connect.NanoTimestamp", False),
        ("connect.string", "connect.Enum", False),
        ("connect.array<connect.int32>", "connect.array<connect.int64>", False),
        ("connect.int32", "connect.int32 NOT NULL DEFAULT 7", False),
        # The source made other values, or nobody knows whether it did.
        ("connect.Decimal(9,2)", "connect.Decimal(9,1)", True),
        ("connect.Decimal(9,2)", "connect.int64", True),
        ("connect.float", "connect.double", True),
        ("connect.MicroTimestamp", "connect.Timestamp", True),
        ("connect.ZonedTimestamp", "connect.MicroTimestamp", True),
        ("connect.int32", "connect.string", True),
        ("connect.double", "connect.string", True),
        ("connect.string", "connect.int32", True),
        ("connect.array<connect.int32>", "connect.array<connect.string>", True),
    ],
)
def test_types_whose_texts_say_nothing_of_each_other(
    before: str, after: str, is_another: bool
) -> None:
    assert changes_meaning(before, after) == is_another


UNKNOWN = "unknown"


@pytest.mark.parametrize(
    ("connector", "said", "default"),
    [
        ("mysql", "DEFAULT 3", "3"),
        ("mysql", "NOT NULL DEFAULT 0", "0"),
        ("mysql", "NOT NULL", UNKNOWN),
        ("mysql", "", None),
        ("sqlserver", "NOT NULL DEFAULT 3", "3"),
        ("sqlserver", "DEFAULT 3", UNKNOWN),
        ("sqlserver", "NOT NULL", UNKNOWN),
        ("sqlserver", "", None),
        ("postgresql", "DEFAULT 3", "3"),
        ("postgresql", "DEFAULT 0", UNKNOWN),
        ("postgresql", "NOT NULL DEFAULT 0", UNKNOWN),
        ("oracle", "DEFAULT 3", "3"),
        (None, "NOT NULL", UNKNOWN),
    ],
)
def test_what_a_default_is_to_older_rows_is_the_rule_of_the_source(
    connector: str | None, said: str, default: str | None
) -> None:
    text = f"connect.int32 {said}".strip()
    expected = (None, "unknown") if default == UNKNOWN else (default, None)
    assert default_of_row(text, connector) == expected


@pytest.mark.parametrize(
    "said", ["boolean DEFAULT false", "string DEFAULT new", "int32 DEFAULT 1"]
)
def test_a_default_of_postgresql_that_no_function_has_is_known(said: str) -> None:
    text = f"connect.{said}"
    default = said.rsplit(" ", maxsplit=1)[-1]
    assert default_of_row(text, "postgresql") == (default, None)


@pytest.mark.parametrize(
    ("declared", "default"),
    [
        ("connect.untyped", UNKNOWN),
        ("connect.int32", UNKNOWN),
        ("int(11)", UNKNOWN),
        ("connect.int32 DEFAULT 3", "3"),
    ],
)
def test_a_message_without_a_schema_tells_no_default(
    declared: str, default: str
) -> None:
    expected = (None, "unknown") if default == UNKNOWN else (default, None)
    assert default_of_row(declared, "mysql", is_told=False) == expected


def test_a_type_that_no_connector_names_tells_no_default() -> None:
    assert default_of_row("int(11)", None) == (None, "unknown")


@pytest.mark.parametrize(
    ("told", "connector", "unknown"),
    [
        ("untyped", "mysql", ("a",)),
        ("declared", "mysql", ("a",)),
        ("declared", None, ()),
    ],
)
def test_columns_that_rows_without_a_schema_bring_are_unknown_before(
    told: str, connector: str | None, unknown: tuple[str, ...]
) -> None:
    rows = keyed(
        seen(2, id="connect.untyped"),
        seen(7, id="connect.untyped", a="connect.untyped"),
    )
    rows = [
        msgspec.structs.replace(
            row, connector=connector, **{told: tuple(row.column_types)}
        )
        for row in rows
    ]
    *_, last = fold_schemas([], rows)
    assert last.unknown_columns == unknown


@pytest.mark.parametrize("said", ["NOT NULL", "NOT NULL DEFAULT 0"])
def test_what_rows_have_in_their_key_is_in_each_message(said: str) -> None:
    rows = [
        seen(2, id="connect.int32"),
        msgspec.structs.replace(
            seen(7, id="connect.int32", part=f"connect.int32 {said}"),
            primary_key=("id", "part"),
            connector="postgresql",
        ),
    ]
    *_, last = fold_schemas([], rows)
    assert last.unknown_columns == ()


def keyed(*rows: SeenSchema) -> list[SeenSchema]:
    return [msgspec.structs.replace(row, primary_key=("id",)) for row in rows]


def test_a_column_that_comes_where_another_goes_may_be_that_one() -> None:
    *_, last = fold_schemas(
        [],
        keyed(
            seen(2, id="connect.int32", a="connect.int16"),
            seen(
                7,
                id="connect.int32",
                b="connect.int16",
                c="connect.int32 DEFAULT 3",
                d="connect.string DEFAULT new",
            ),
        ),
    )
    assert last.unknown_columns == ("b", "c")
    assert [
        (change.kind, change.to_name, change.value, change.value_accuracy)
        for change in last.image_changes
    ] == [
        ("added", "b", None, "unknown"),
        ("added", "c", None, "unknown"),
        ("added", "d", "new", None),
    ]
    defaults = [column.original_default for column in last.columns]
    assert defaults == [None, None, None, "new"]


def test_a_column_that_comes_alone_is_a_new_one() -> None:
    *_, last = fold_schemas(
        [],
        keyed(
            seen(2, id="connect.int32", a="connect.string"),
            seen(7, id="connect.int32", a="connect.string", b="connect.string"),
        ),
    )
    assert (last.unknown_columns, last.image_changes) == ((), ())


def test_a_renamed_column_of_the_key_is_not_unknown() -> None:
    rows = [
        msgspec.structs.replace(
            seen(place), column_types={name: "connect.int32"}, primary_key=(name,)
        )
        for place, name in ((2, "id"), (7, "uid"))
    ]
    *_, last = fold_schemas([], rows)
    assert (last.unknown_columns, last.key_columns) == ((), ("uid",))


@pytest.mark.parametrize("key", [("id",), None], ids=["with a key", "without one"])
def test_rows_from_before_a_default_of_the_time_are_unknown(
    key: tuple[str, ...] | None,
) -> None:
    default = "connect.ZonedTimestamp NOT NULL DEFAULT 1970-01-01 00:00:00Z"
    rows = [
        seen(2, id="connect.int32"),
        seen(7, id="connect.int32", made_at=default, rank="connect.int32 DEFAULT 3"),
    ]
    rows = [msgspec.structs.replace(row, primary_key=key) for row in rows]
    first, second = fold_schemas([], rows)
    assert first.unknown_columns == ()
    assert second.unknown_columns == ("made_at",)
    assert [
        (change.kind, change.to_name, change.value, change.value_accuracy)
        for change in second.image_changes
    ] == [("added", "made_at", None, "unknown"), ("added", "rank", "3", None)]
    made_at = second.columns[1]
    assert (made_at.original_default, made_at.original_default_accuracy) == (
        None,
        "unknown",
    )
