import json
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from changefold.mysql.ddl import SqlValue, parse_ddl
from changefold.mysql.types import parse_mysql_type
from changefold.schemas.fold import (
    fold_schema_history,
    fold_schema_history_json,
    fold_schemas,
    fold_schemas_json,
)
from changefold.schemas.model import DdlEvent, ImageChange, TableVersion
from changefold.schemas.observed import SeenSchema

FIXTURES = Path(__file__).parent / "fixtures"
CREATE = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(9))"


def events(*statements: str, table: str = "t") -> list[DdlEvent]:
    """One event per statement, at the sequences 1, 2, ..."""
    return [
        DdlEvent(f"{number:020}", "db", table, sql)
        for number, sql in enumerate(statements, start=1)
    ]


def sequence(number: int) -> str:
    return f"{number:020}"


def fold(*statements: str) -> list[TableVersion]:
    return fold_schemas(events(*statements))


def last(*statements: str) -> TableVersion:
    return fold(*statements)[-1]


def names(version: TableVersion) -> list[str]:
    return [column.name for column in version.columns]


def types(version: TableVersion) -> dict[str, str]:
    return {column.name: column.type for column in version.columns}


# --- Against the truth of TiDB ----------------------------------------------------


def corpus(scenario: str) -> dict[str, Any]:
    text = (FIXTURES / f"ticdc_{scenario}_schemas.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def corpus_events(scenario: str) -> list[DdlEvent]:
    return [
        DdlEvent(ts.zfill(20), database, table, sql)
        for ts, database, table, sql in corpus(scenario)["events"]
    ]


def default_as_shown(default: SqlValue | None, column_type: str) -> str | None:
    """Print a default as `information_schema` of TiDB does."""
    if default is None or default.form == "null":
        return None
    if default.form == "bits":
        return f"b'{default.text}'"
    mysql_type = parse_mysql_type(column_type)
    if mysql_type.base == "binary":
        return default.text.ljust(mysql_type.length or 0, "\0")
    if mysql_type.fraction_digits and "." in default.text:
        whole, _, fraction = default.text.partition(".")
        return f"{whole}.{fraction.ljust(mysql_type.fraction_digits, '0')}"
    return default.text


def shown(version: TableVersion) -> dict[str, Any]:
    extras = {"virtual": "virtual generated", "stored": "stored generated", None: ""}
    return {
        "key_columns": list(version.key_columns),
        "key_kind": version.key_kind,
        "columns": [
            [
                column.name,
                column.type,
                column.nullable,
                default_as_shown(column.default, column.type),
                "auto_increment" if column.auto_increment else extras[column.generated],
            ]
            for column in version.columns
        ],
    }


def expected(table: dict[str, Any]) -> dict[str, Any]:
    return {
        "key_columns": table["key_columns"],
        "key_kind": table["key_kind"],
        "columns": [
            [name, str(parse_mysql_type(column_type)), *rest]
            for name, column_type, *rest in table["columns"]
        ],
    }


@pytest.mark.parametrize("scenario", ["ddl", "types"])
def test_the_last_versions_equal_the_final_schemas_of_tidb(scenario: str) -> None:
    versions = fold_schemas(corpus_events(scenario))
    live = {
        f"{version.database}.{version.table}": shown(version)
        for version in versions
        if version.valid_to_sequence is None and not version.is_dropped
    }
    final = {
        f"{table['database']}.{table['table']}": expected(table)
        for table in corpus(scenario)["final"]
    }
    # TiDB's information_schema leaves the word ZEROFILL out.
    for table in live.values():
        for column in table["columns"]:
            if column[1] == "int(8) unsigned zerofill":
                column[1] = "int unsigned"
    assert live == final


def test_the_statements_with_a_row_effect_are_those_that_changed_rows_in_tidb() -> None:
    changed: dict[str, set[str]] = {}
    for version in fold_schemas(corpus_events("ddl")):
        if version.row_effect == "none" and version.previous_table is None:
            continue
        tables = changed.setdefault(str(int(version.valid_from_sequence or 0)), set())
        tables.add(f"{version.database}.{version.table}")
        if version.previous_table is not None:
            tables.add(f"{version.previous_database}.{version.previous_table}")
    truth = {ts: set(t) for ts, t in corpus("ddl")["changed_by_ddl"].items()}
    # DROP TABLE gone1b, gone2b is two events of TiCDC, but the truth was read once,
    # after the second.
    assert changed.pop("470617749615542273") == {"ddlx.gone1b"}
    truth["470617749621833728"].discard("ddlx.gone1b")
    assert changed == truth


def test_old_rows_show_the_defaults_that_tidb_shows() -> None:
    values = {
        (change.to_name, change.value)
        for version in fold_schemas(corpus_events("ddl"))
        for change in version.image_changes
        if version.table == "evo" and change.kind == "added"
    }
    assert values == {
        ("c2", "2024-01-01 00:00:00.500"),
        ("c3", "3"),
        ("c4", "2"),
        ("c5", "3"),
        ("c6", "ab"),
        ("c7", None),
        ("c8", "0.000"),
        ("c9", "1970"),
        ("g", None),
    }


# --- Identity and order -----------------------------------------------------------


def test_a_resend_acts_once_and_arrival_does_not_order() -> None:
    once = events(CREATE, "ALTER TABLE t ADD c INT", "ALTER TABLE t DROP a")
    assert fold_schemas([*once[::-1], *once]) == fold_schemas(once)


def test_two_statements_at_one_sequence_both_act_in_their_order() -> None:
    create = events(CREATE)
    renames = [
        DdlEvent(sequence(2), "db", "u", "RENAME TABLE t TO u"),
        DdlEvent(sequence(2), "db", "w", "RENAME TABLE u TO w"),
    ]
    versions = fold_schemas([*create, *renames])
    assert [(v.table, v.valid_from_sequence, v.valid_to_sequence) for v in versions] == [
        ("t", sequence(1), sequence(2)),
        ("u", sequence(2), sequence(2)),
        ("w", sequence(2), None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "again",
    [
        ["CREATE TABLE t (id INT PRIMARY KEY, a INT)"],
        ["DROP TABLE t", CREATE + " COMMENT 'x'"],
        [
            "DROP TABLE t",
            "ALTER TABLE t DROP a",
            "DROP TABLE t",
            "ALTER TABLE t DROP b",
        ],
    ],
)
def test_a_commit_told_in_several_ways_makes_no_table_twice(again: list[str]) -> None:
    statements = [CREATE, *again]
    versions = fold_schemas(
        [DdlEvent(sequence(1), "db", "t", sql) for sql in statements]
    )
    identities = [(version.table_uid, version.version) for version in versions]
    assert len(set(identities)) == len(identities)
    assert versions[-1].is_dropped is False


def test_rename_and_truncate_keep_the_table_and_drop_and_create_make_another() -> None:
    versions = fold(
        CREATE,
        "TRUNCATE TABLE t",
        "RENAME TABLE t TO u",
        "DROP TABLE u",
        CREATE,
    )
    first, second = f"db.t@{sequence(1)}", f"db.t@{sequence(5)}"
    assert [(v.table_uid, v.version, v.row_effect) for v in versions] == [
        (first, 1, "none"),
        (first, 2, "close_all"),
        (first, 3, "none"),
        (first, 4, "close_all"),
        (second, 1, "none"),
    ]
    renamed, dropped = versions[2], versions[3]
    assert (renamed.table, renamed.previous_table) == ("u", "t")
    assert [v.is_dropped for v in versions] == [False, False, False, True, False]
    assert dropped.valid_to_sequence is None


def test_a_swap_by_three_renames_exchanges_the_identities() -> None:
    versions = fold(
        "CREATE TABLE a (x INT)",
        "CREATE TABLE b (y INT)",
        "RENAME TABLE a TO tmp, b TO a, tmp TO b",
    )
    now = {v.table: v for v in versions if v.valid_to_sequence is None}
    assert (now["a"].table_uid, names(now["a"])) == (f"db.b@{sequence(2)}", ["y"])
    assert (now["b"].table_uid, names(now["b"])) == (f"db.a@{sequence(1)}", ["x"])


def test_drop_and_add_of_a_column_make_another_and_rename_keeps_it() -> None:
    versions = fold(
        CREATE,
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE t MODIFY c BIGINT",
        "ALTER TABLE t DROP c",
        "ALTER TABLE t ADD c INT",
    )
    ids = [
        {column.name: column.column_id for column in version.columns}
        for version in versions
    ]
    assert ids[0] == {"id": 1, "a": 2, "b": 3}
    assert ids[1] == ids[2] == {"id": 1, "c": 2, "b": 3}
    assert ids[4] == {"id": 1, "b": 3, "c": 4}


def test_drop_and_add_in_one_statement_name_the_columns_before_it() -> None:
    version = last(
        CREATE, "ALTER TABLE t ADD a VARCHAR(3) DEFAULT 'x', DROP a, RENAME COLUMN b TO c"
    )  # fmt: skip
    assert types(version) == {"id": "int", "c": "varchar(9)", "a": "varchar(3)"}
    assert [change.kind for change in version.image_changes] == [
        "dropped",
        "renamed",
        "added",
    ]
    assert version.row_effect == "reshape"


def test_columns_can_swap_names_in_one_statement() -> None:
    version = last(CREATE, "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a")
    assert types(version) == {"id": "int", "b": "int", "a": "varchar(9)"}


@pytest.mark.parametrize(
    ("clause", "order"),
    [
        ("ADD c INT", ["id", "a", "b", "c"]),
        ("ADD c INT FIRST", ["c", "id", "a", "b"]),
        ("ADD c INT AFTER id", ["id", "c", "a", "b"]),
        ("ADD c INT AFTER A, ADD d INT AFTER c", ["id", "a", "c", "d", "b"]),
        ("MODIFY b VARCHAR(9) FIRST", ["b", "id", "a"]),
        ("CHANGE id k INT AFTER a", ["a", "k", "b"]),
        ("MODIFY a BIGINT", ["id", "a", "b"]),
    ],
)
def test_columns_stand_where_mysql_puts_them(clause: str, order: list[str]) -> None:
    assert names(last(CREATE, f"ALTER TABLE t {clause}")) == order


# --- Keys -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("definition", "kind", "columns"),
    [
        ("a INT, b INT, PRIMARY KEY (b, a)", "primary", ("b", "a")),
        ("a INT PRIMARY KEY, b INT NOT NULL UNIQUE", "primary", ("a",)),
        ("a INT, b INT NOT NULL, UNIQUE (a), UNIQUE (b)", "unique", ("b",)),
        ("a INT NOT NULL UNIQUE, b INT NOT NULL, UNIQUE (b)", "unique", ("b",)),
        ("a INT, UNIQUE (a)", None, ()),
        ("a INT NOT NULL, UNIQUE ((a + 1))", None, ()),
        ("a INT NOT NULL, KEY (a)", None, ()),
    ],
)
def test_the_key_is_the_primary_one_else_the_first_unique_without_nulls(
    definition: str, kind: str | None, columns: tuple[str, ...]
) -> None:
    version = last(f"CREATE TABLE t ({definition})")
    assert (version.key_kind, version.key_columns) == (kind, columns)


def test_dropping_a_primary_key_makes_a_unique_index_the_key() -> None:
    versions = fold(
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a), UNIQUE u (b))",
        "ALTER TABLE t DROP PRIMARY KEY",
        "ALTER TABLE t ADD PRIMARY KEY (b)",
        "DROP INDEX u ON t",
    )  # fmt: skip
    assert [(v.key_kind, v.key_columns, v.row_effect) for v in versions] == [
        ("primary", ("a",), "none"),
        ("unique", ("b",), "rekey"),
        ("primary", ("b",), "none"),
        ("primary", ("b",), "none"),
    ]


def test_a_primary_key_makes_its_columns_not_null_also_after_modify() -> None:
    version = last(
        "CREATE TABLE t (a INT, PRIMARY KEY (a))", "ALTER TABLE t MODIFY a BIGINT"
    )
    assert not version.columns[0].nullable


# --- What rows look like afterwards -----------------------------------------------


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ("INT DEFAULT 5", "5"),
        ("INT", None),
        ("INT DEFAULT NULL", None),
        ("INT NOT NULL", "0"),
        ("TINYINT(1) NOT NULL DEFAULT TRUE", "1"),
        ("BIGINT UNSIGNED DEFAULT 18446744073709551615", "18446744073709551615"),
        ("DECIMAL(10,3) NOT NULL", "0.000"),
        ("DECIMAL(10,3) DEFAULT 1.5", "1.500"),
        ("DECIMAL(10,1) DEFAULT '1.25'", "1.3"),
        ("DOUBLE DEFAULT 1e20", "100000000000000000000"),
        ("FLOAT DEFAULT 0.1", "0.1"),
        ("BIT(6) NOT NULL DEFAULT b'11'", "3"),
        ("BIT(16) NOT NULL", "0"),
        ("VARCHAR(9) NOT NULL", ""),
        ("VARCHAR(9) DEFAULT _UTF8MB4'é'", "é"),
        ("VARBINARY(9) DEFAULT 'é'", "Ã©"),
        ("VARBINARY(9) DEFAULT x'00ff'", "\0ÿ"),
        ("BINARY(4) DEFAULT 'ab'", "ab\0\0"),
        ("BINARY(4) NOT NULL", "\0\0\0\0"),
        ("BLOB NOT NULL", ""),
        ("ENUM('u','v') NOT NULL", "1"),
        ("ENUM('u','v') DEFAULT 'v'", "2"),
        ("SET('u','v') NOT NULL", "0"),
        ("SET('u','v') DEFAULT 'v,u'", "3"),
        ("YEAR DEFAULT 1970", "1970"),
        ("YEAR NOT NULL", "0"),
        ("DATE NOT NULL", "0000-00-00"),
        ("DATE DEFAULT '2020-1-2'", "2020-01-02"),
        ("DATETIME(3) NOT NULL", "0000-00-00 00:00:00.000"),
        ("TIMESTAMP(3) NULL DEFAULT '2024-01-01 00:00:00.5'", "2024-01-01 00:00:00.500"),
        ("TIME(2) DEFAULT '-1:02:03'", "-01:02:03.00"),
        ("JSON NOT NULL", "null"),
    ],
)  # fmt: skip
def test_rows_before_a_column_show_its_default_in_wire_form(
    definition: str, value: str | None
) -> None:
    version = last(CREATE, f"ALTER TABLE t ADD c {definition}")
    column = version.columns[-1]
    assert (column.original_default, column.original_default_accuracy) == (
        value,
        "exact",
    )
    assert version.image_changes[0].value == value


def test_a_default_of_the_present_time_is_that_of_the_ddl() -> None:
    tso = ((1_704_067_200_123 << 18) | 7).__str__().zfill(20)
    event = DdlEvent(tso, "db", "t", "ALTER TABLE t ADD c DATETIME(2) DEFAULT NOW(2)")
    column = fold_schemas([*events(CREATE), event])[-1].columns[-1]
    assert column.original_default == "2024-01-01 00:00:00.12"
    assert column.original_default_accuracy == "approximate"


@pytest.mark.parametrize(
    "definition",
    [
        "DATETIME DEFAULT NOW()",  # the sequences here are no TSO
        "CHAR(36) DEFAULT (UUID())",
        "INT AS (a + 1) VIRTUAL",
        "INT NOT NULL AUTO_INCREMENT",
        "ENUM('u') DEFAULT 'x'",
    ],
)
def test_a_value_that_is_not_in_the_statement_is_unknown(definition: str) -> None:
    column = last(CREATE, f"ALTER TABLE t ADD c {definition}").columns[-1]
    assert column.original_default is None
    assert column.original_default_accuracy == "unknown"


def test_a_default_set_later_does_not_change_what_old_rows_show() -> None:
    column = last(
        CREATE, "ALTER TABLE t ADD c INT DEFAULT 5", "ALTER TABLE t ALTER c SET DEFAULT 7"
    ).columns[-1]  # fmt: skip
    assert (column.original_default, column.default) == ("5", SqlValue("number", "7"))


def test_what_old_rows_show_is_converted_with_the_column() -> None:
    column = last(
        CREATE,
        "ALTER TABLE t ADD c ENUM('u','v') DEFAULT 'v'",
        "ALTER TABLE t MODIFY c VARCHAR(3)",
    ).columns[-1]
    assert column.original_default == "v"


@pytest.mark.parametrize(
    ("clause", "effect"),
    [
        ("MODIFY a BIGINT", "none"),
        ("MODIFY a DECIMAL(10,2)", "reshape"),
        ("MODIFY b TEXT", "none"),
        ("MODIFY b INT", "reshape"),
        ("MODIFY b VARCHAR(9) NOT NULL DEFAULT 'x'", "none"),
        ("CHANGE b c VARCHAR(9)", "reshape"),
        ("ADD INDEX (a)", "none"),
        ("COMMENT 'x'", "none"),
        ("CONVERT TO CHARACTER SET utf8mb4", "none"),
        ("CONVERT TO CHARACTER SET binary", "reshape"),
        ("ALTER a SET DEFAULT 1", "none"),
        ("ADD g INT AS (a) VIRTUAL", "reshape"),
        ("DISCARD TABLESPACE", "unknown"),
        ("DROP nothing", "unknown"),
        ("DROP COLUMN IF EXISTS nothing", "none"),
        ("ADD a INT", "unknown"),
        ("ADD COLUMN IF NOT EXISTS a INT", "none"),
    ],
)
def test_the_row_effect_says_whether_images_change(clause: str, effect: str) -> None:
    version = last(CREATE, f"ALTER TABLE t {clause}")
    assert version.row_effect == effect
    assert version.is_complete == (effect != "unknown")


def test_a_change_of_type_names_both_types() -> None:
    version = last(CREATE, "ALTER TABLE t CHANGE a c DECIMAL(10,2)")
    assert version.image_changes == (
        ImageChange(2, "renamed", "a", "c", "int", "int"),
        ImageChange(2, "retyped", "a", "c", "int", "decimal(10,2)"),
    )


def test_a_table_of_binary_text_takes_binary_columns() -> None:
    version = last(
        "CREATE TABLE t (a INT) CHARSET=binary", "ALTER TABLE t ADD c CHAR(3)"
    )
    assert types(version)["c"] == "binary(3)"


# --- Partitions -------------------------------------------------------------------

PARTITIONED = """CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (
    PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))"""


def test_a_truncated_partition_says_which_rows_it_held() -> None:
    version = last(PARTITIONED, "ALTER TABLE t TRUNCATE PARTITION p1")
    assert version.row_effect == "partition"
    (change,) = version.partition_changes
    (partition,) = change.partitions
    assert (change.operation, partition.name) == ("truncate", "p1")


@pytest.mark.parametrize(
    ("clause", "effect", "partitions"),
    [
        ("DROP PARTITION p0", "partition", ["p1"]),
        ("TRUNCATE PARTITION ALL", "close_all", ["p0", "p1"]),
        ("ADD PARTITION (PARTITION p2 VALUES LESS THAN (300))", "none", ["p0", "p1", "p2"]),
        ("REORGANIZE PARTITION p0 INTO (PARTITION a VALUES LESS THAN (50), PARTITION b VALUES LESS THAN (100))", "none", ["a", "b", "p1"]),
        ("PARTITION BY HASH (id) PARTITIONS 3", "none", ["p0", "p1", "p2"]),
    ],
)  # fmt: skip
def test_partitions_are_kept_up_to_date(
    clause: str, effect: str, partitions: list[str]
) -> None:
    version = last(PARTITIONED, f"ALTER TABLE t {clause}")
    assert version.partitioning is not None
    assert [p.name for p in version.partitioning.partitions] == partitions
    assert version.row_effect == effect


def test_an_exchange_concerns_both_tables() -> None:
    versions = fold(
        PARTITIONED,
        "CREATE TABLE x (id INT PRIMARY KEY)",
        "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE x",
    )[-2:]
    assert {v.table: v.row_effect for v in versions} == {
        "t": "partition",
        "x": "partition",
    }
    uids = {v.table: v.table_uid for v in versions}
    changes = {v.table: v.partition_changes[0] for v in versions}
    assert changes["t"].counterpart_uid == uids["x"]
    assert changes["x"].counterpart_uid == uids["t"]
    assert not changes["x"].is_partitioned_side


# --- What is not known ------------------------------------------------------------


def test_a_table_that_was_there_before_is_folded_from_its_first_ddl_on() -> None:
    first, second = fold("ALTER TABLE t ADD c INT DEFAULT 5 AFTER a, DROP d")
    assert (first.valid_from_sequence, first.valid_to_sequence) == (None, sequence(1))
    assert (first.is_complete, second.is_complete) == (False, False)
    assert (second.row_effect, names(second)) == ("reshape", ["c"])
    assert [(c.kind, c.value) for c in second.image_changes] == [
        ("dropped", None),
        ("added", "5"),
    ]


@pytest.mark.parametrize(
    ("sql", "effect"),
    [("TRUNCATE TABLE t", "close_all"), ("DROP TABLE t", "close_all")],
)
def test_rows_of_a_table_never_seen_end_too(sql: str, effect: str) -> None:
    assert last(sql).row_effect == effect


def test_a_ddl_without_effect_on_a_table_never_seen_is_not_applied() -> None:
    history = fold_schema_history(events("CREATE INDEX i ON t (a)"))
    assert history.versions == ()
    assert [(n.row_effect, n.sql) for n in history.not_applied] == [
        ("none", "CREATE INDEX i ON t (a)")
    ]


def test_a_statement_not_understood_flags_its_table_or_is_not_applied() -> None:
    flagged = last(CREATE, "ALTER TABLE t DISCARD TABLESPACE")
    assert flagged.row_effect == "unknown"
    assert "DISCARD TABLESPACE" in str(flagged.reason)
    history = fold_schema_history(events("ALTER TABLE t DISCARD TABLESPACE"))
    assert [n.row_effect for n in history.not_applied] == ["unknown"]


def test_drop_database_ends_its_tables_only() -> None:
    versions = fold_schemas(
        [
            DdlEvent(sequence(1), "d1", "a", "CREATE TABLE a (x INT)"),
            DdlEvent(sequence(2), "d2", "b", "CREATE TABLE b (x INT)"),
            DdlEvent(sequence(3), "d1", "", "DROP DATABASE `d1`"),
        ]
    )
    assert [(v.table, v.is_dropped) for v in versions] == [
        ("a", False),
        ("b", False),
        ("a", True),
    ]


RENAME_ACROSS = "RENAME TABLE `a` TO `d2`.`b`"


def test_a_rename_that_names_no_old_database_takes_the_only_table_of_that_name() -> (
    None
):
    versions = fold_schemas(
        [
            DdlEvent(sequence(1), "d1", "a", "CREATE TABLE a (x INT)"),
            DdlEvent(sequence(2), "d2", "b", RENAME_ACROSS),
        ]
    )
    renamed = versions[-1]
    assert (renamed.previous_database, renamed.previous_table) == ("d1", "a")
    assert (renamed.database, renamed.table) == ("d2", "b")


AMBIGUOUS = [
    DdlEvent(sequence(1), "d1", "a", "CREATE TABLE a (x INT)"),
    DdlEvent(sequence(2), "d2", "a", "CREATE TABLE a (x INT)"),
]


def test_a_rename_that_can_mean_two_tables_is_not_guessed() -> None:
    event = DdlEvent(sequence(3), "d2", "b", RENAME_ACROSS)
    history = fold_schema_history([*AMBIGUOUS, event])
    assert [v.row_effect for v in history.versions[2:]] == ["unknown", "unknown"]
    assert [n.row_effect for n in history.not_applied] == ["unknown"]


def test_a_protocol_that_tells_the_old_database_resolves_the_rename() -> None:
    event = DdlEvent(sequence(3), "d2", "b", RENAME_ACROSS, source_database="d1")
    renamed = fold_schemas([*AMBIGUOUS, event])[-1]
    assert (renamed.previous_database, renamed.database) == ("d1", "d2")


def test_create_like_copies_columns_and_keys_and_no_identity() -> None:
    version = last(
        "CREATE TABLE t (a INT NOT NULL, b INT DEFAULT 5, PRIMARY KEY (b, a))",
        "ALTER TABLE t ADD c INT DEFAULT 1",
        "CREATE TABLE u LIKE t",
    )
    assert names(version) == ["a", "b", "c"]
    assert version.key_columns == ("b", "a")
    assert version.table_uid == f"db.u@{sequence(3)}"
    assert version.columns[-1].original_default_accuracy is None


def test_a_recovered_table_is_flagged_since_its_rows_come_without_events() -> None:
    version = last(CREATE, "DROP TABLE t", "FLASHBACK TABLE t TO u")
    assert (version.table, version.is_dropped) == ("u", False)
    assert version.row_effect == "unknown"
    assert version.table_uid == f"db.t@{sequence(1)}"


@pytest.mark.parametrize(
    ("statement", "effects"),
    [
        ("DROP TABLE d2.gone, t", {"db": "unknown", "d2": "unknown"}),
        ("DROP TABLE t, d2.gone", {"db": "close_all"}),
        ("DROP TABLE d2.gone, d2.t", {"d2": "close_all"}),
        ("RENAME TABLE d2.gone TO d2.old, t TO u", {"db": "unknown", "d2": "unknown"}),
        ("RENAME TABLE t TO u, d2.gone TO d2.old", {"db": "none"}),
    ],
)
def test_a_name_without_a_database_behind_one_with_it_may_be_any_table(
    statement: str, effects: dict[str, str]
) -> None:
    versions = fold(
        CREATE,
        "CREATE TABLE d2.t (id INT PRIMARY KEY)",
        "CREATE TABLE d2.gone (id INT)",
        statement,
    )
    told = [v for v in versions if v.ddl == statement and v.table in {"t", "u"}]
    assert {v.database: v.row_effect for v in told} == effects


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TEMPORARY TABLE t (x INT)",
        "CREATE OR REPLACE TEMPORARY TABLE t (x INT)",
        "DROP TEMPORARY TABLE IF EXISTS t",
        "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`",
    ],
)
def test_a_temporary_table_is_not_the_one_whose_name_it_hides(sql: str) -> None:
    assert len(fold(CREATE, sql)) == 1


def test_what_a_statement_before_names_says_nothing_of_the_next_one() -> None:
    version = last(
        CREATE,
        "CREATE TABLE d2.gone (id INT)",
        "DROP TABLE d2.gone",
        "ALTER TABLE t RENAME TO u, ADD c INT",
    )
    assert (version.table, version.row_effect) == ("u", "reshape")


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("DECIMAL(9,2)", "0.00"),
        ("SET('x')", "0"),
        ("TINYBLOB", ""),
        ("GEOMETRY", None),
        ("UUID", None),
        ("INET6", None),
    ],
)
def test_what_not_null_without_a_default_gives_is_known_of_known_types(
    kind: str, default: str | None
) -> None:
    added = last(CREATE, f"ALTER TABLE t ADD c {kind} NOT NULL").columns[-1]
    accuracy = "unknown" if default is None else "exact"
    assert added.original_default == default
    assert added.original_default_accuracy == accuracy


def test_the_tables_of_a_recovered_database_are_flagged() -> None:
    versions = fold(
        CREATE,
        "CREATE TABLE gone (id INT)",
        "DROP TABLE gone",
        "DROP DATABASE db",
        "FLASHBACK DATABASE db TO d2",
        "CREATE TABLE d2.t (x INT)",
    )
    back = [v for v in versions if v.ddl and v.ddl.startswith("FLASHBACK")]
    assert [(v.database, v.table, v.row_effect, v.is_dropped) for v in back] == [
        ("d2", "t", "unknown", False)
    ]
    assert back[0].table_uid == f"db.t@{sequence(1)}"


def test_a_recovered_database_of_which_nothing_is_known_is_told() -> None:
    for statements in (
        ("FLASHBACK DATABASE db",),
        (CREATE, "DROP DATABASE db", "DROP DATABASE db", "FLASHBACK DATABASE db"),
    ):
        history = fold_schema_history(events(*statements))
        assert history.not_applied[-1].row_effect == "unknown"


def test_a_table_created_twice_ends_the_one_whose_drop_was_not_seen() -> None:
    versions = fold(CREATE, "CREATE TABLE t (x INT)")
    assert [(v.row_effect, v.is_dropped) for v in versions] == [
        ("none", False),
        ("close_all", True),
        ("none", False),
    ]
    assert versions[0].table_uid != versions[2].table_uid


def test_names_of_another_case_find_the_table() -> None:
    version = last(CREATE, "ALTER TABLE T ADD c INT", "ALTER TABLE DB.t DROP C")
    assert names(version) == ["id", "a", "b"]


# --- JSON -------------------------------------------------------------------------


def test_folding_crosses_json_with_statements_parsed_before_or_not() -> None:
    given = events(CREATE, "ALTER TABLE t ADD c DECIMAL(6,2) NOT NULL", "DROP VIEW v")
    plain = [
        {"sequence": e.sequence, "database": "db", "table": "t", "sql": e.sql}
        for e in given
    ]
    parsed = [
        {**event, "statement": json.loads(parse_ddl(event["sql"], "db").to_json())}
        for event in plain
    ]
    versions = json.loads(fold_schemas_json(json.dumps(plain)))
    assert json.loads(fold_schemas_json(json.dumps(parsed))) == versions
    assert [v["version"] for v in versions] == [1, 2]
    assert versions[1]["columns"][-1]["original_default"] == "0.00"
    history = json.loads(fold_schema_history_json(json.dumps(plain)))
    assert history["versions"] == versions
    assert [n["sql"] for n in history["not_applied"]] == ["DROP VIEW v"]


# --- Tables that were there before the topic began --------------------------------


def seen(
    number: int, table: str = "t", last: int | None = None, **column_types: str
) -> SeenSchema:
    """What rows tell from one sequence on, up to the last one that does."""
    until = sequence(last or number)
    return SeenSchema("db", table, sequence(number), until, column_types, ("id",))


def at(number: int, sql: str, table: str = "t") -> DdlEvent:
    return DdlEvent(sequence(number), "db", table, sql)


def test_a_table_without_its_create_has_the_columns_of_its_first_row() -> None:
    (event,) = events("ALTER TABLE t ADD COLUMN c INT DEFAULT 7")
    event = msgspec.structs.replace(event, sequence=sequence(5))
    rows = [seen(2, id="bigint", e="enum"), seen(9, id="bigint", e="enum", c="int")]
    first, second = fold_schemas([event], seen=rows)
    assert types(first) == {"id": "bigint", "e": "enum"}
    assert types(second) == {"id": "bigint", "e": "enum", "c": "int"}
    assert second.is_complete
    assert second.key_columns == ("id",)


def test_a_table_that_a_ddl_names_first_has_the_columns_of_its_first_row() -> None:
    ddl = [at(4, "ALTER TABLE t ADD COLUMN c INT")]
    versions = fold_schemas(ddl, seen=[seen(5, id="int", c="int")])
    assert [version.is_complete for version in versions] == [False, False, True]
    assert types(versions[-1]) == {"id": "int", "c": "int"}
    assert versions[-1].columns[1].column_id == versions[1].columns[0].column_id


@pytest.mark.parametrize(
    "ddl",
    [
        "RENAME TABLE t TO u",
        "CREATE TABLE u LIKE t",
        "ALTER TABLE t RENAME TO u, ADD COLUMN c INT",
    ],
)
def test_a_name_given_by_a_ddl_to_an_unseen_table_has_the_columns_of_its_rows(
    ddl: str,
) -> None:
    rows = [seen(12, "u", id="int", a="int", c="int")]
    versions = fold_schemas([at(10, ddl, "u")], seen=rows)
    assert types(versions[-1]) == {"id": "int", "a": "int", "c": "int"}
    assert (versions[-1].table, versions[-1].key_columns) == ("u", ("id",))


def test_a_ddl_finds_the_tables_that_only_rows_have_shown() -> None:
    (_, dropped) = fold_schemas(
        [at(10, "DROP DATABASE db", "")], seen=[seen(5, id="int")]
    )
    assert (dropped.is_dropped, dropped.row_effect) == (True, "close_all")
    rows = [seen(5, id="int"), SeenSchema("d2", "u", sequence(12), sequence(12), {})]
    renamed = DdlEvent(sequence(10), "d2", "u", "RENAME TABLE t TO d2.u")
    versions = fold_schemas([renamed], seen=rows)
    assert {version.table_uid for version in versions} == {"db.t@"}


def test_a_new_key_of_a_table_that_only_rows_have_shown_parts_its_history() -> None:
    rows = [
        msgspec.structs.replace(seen(5, id="int"), primary_key=None),
        seen(12, id="int"),
    ]
    by_ddl = fold_schemas([at(10, "ALTER TABLE t ADD PRIMARY KEY (id)")], seen=rows)
    assert [version.key_changed for version in by_ddl] == [False, True]
    by_rows = fold_schemas([], seen=rows)
    assert [version.key_changed for version in by_rows] == [False, True]


@pytest.mark.parametrize(
    ("rows", "is_in_rows"),
    [
        ([], False),
        ([seen(11, id="int", a="int", s="int")], False),
        ([seen(11, id="int", a="int", v="int", s="int")], True),
        ([seen(13, id="int", a="int", s="int", w="int")], True),
        ([seen(13, "u", id="int", v="int")], False),
    ],
)
def test_a_virtual_column_is_in_rows_if_one_of_its_table_names_it(
    rows: list[SeenSchema], *, is_in_rows: bool
) -> None:
    create = at(
        10,
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, v INT AS (a), s INT AS (a) STORED)",
    )
    rename = at(12, "ALTER TABLE t RENAME COLUMN v TO w")
    versions = fold_schemas([create, rename], seen=rows)
    for version in (version for version in versions if version.table == "t"):
        kept = {column.name: column.is_in_rows for column in version.columns}
        virtual = "w" if version.version == 2 else "v"
        assert kept == {"id": True, "a": True, "s": True, virtual: is_in_rows}


def test_rows_that_go_on_under_a_name_that_was_given_away_are_another_table() -> None:
    swap = [
        at(10, "RENAME TABLE t TO tmp", "tmp"),
        at(10, "RENAME TABLE u TO t", "t"),
        at(10, "RENAME TABLE tmp TO u", "u"),
    ]
    rows = [seen(5, last=12, id="int"), seen(12, "u", id="int")]
    last_names = {
        version.table: types(version)
        for version in fold_schemas(swap, seen=rows)
        if version.valid_to_sequence is None
    }
    assert last_names == {"t": {"id": "int"}, "u": {"id": "int"}}


def test_a_table_made_anew_is_no_table_of_unknown_beginning() -> None:
    ddl = [
        at(1, "CREATE TABLE t (id INT PRIMARY KEY)"),
        at(10, "DROP TABLE t"),
        at(20, "CREATE TABLE t (id INT PRIMARY KEY)"),
    ]
    versions = fold_schemas(ddl, seen=[seen(5, last=25, id="int")])
    assert [version.row_effect for version in versions] == ["none", "close_all", "none"]


def test_a_type_with_a_word_that_is_not_known_is_read_by_its_base() -> None:
    (version,) = fold_schemas([], seen=[seen(5, id="int(11) auto_increment")])
    assert types(version) == {"id": "int"}


def test_rows_with_other_columns_without_a_ddl_make_another_version() -> None:
    rows = [seen(8, id="int", b="text"), seen(3, id="int", a="int")]
    first, second = fold_schemas([], seen=rows)
    assert (types(first), types(second)) == (
        {"id": "int", "a": "int"},
        {"id": "int", "b": "text"},
    )
    assert first.valid_to_sequence == second.valid_from_sequence
    assert sequence(7) < str(second.valid_from_sequence) < sequence(8)
    assert first.columns[0].column_id == second.columns[0].column_id


def test_a_type_that_is_not_known_whole_can_not_be_converted() -> None:
    (event,) = events("ALTER TABLE t MODIFY e VARCHAR(9)")
    event = msgspec.structs.replace(event, sequence=sequence(5))
    version = fold_schemas([event], seen=[seen(2, id="int", e="enum")])[-1]
    assert version.row_effect == "unknown"
    assert "`e`" in str(version.reason)


# --- Rows of Kafka Connect, which name all of a type


def test_a_column_that_rows_name_with_a_default_was_added_with_it() -> None:
    rows = [
        seen(2, last=3, id="connect.int64"),
        seen(5, id="connect.int64", n="connect.int32 DEFAULT 7"),
    ]
    first, second = fold_schemas([], seen=rows)
    assert first.image_changes == ()
    (added,) = second.image_changes
    assert (added.kind, added.to_name, added.value) == ("added", "n", "7")
    assert second.columns[1].type == "connect.int32"
    assert second.columns[1].original_default == "7"


def test_a_default_of_the_first_rows_adds_nothing() -> None:
    (only,) = fold_schemas([], seen=[seen(2, id="connect.int64 DEFAULT 0")])
    assert only.image_changes == ()


def test_a_table_ends_with_the_columns_of_its_last_rows_though_they_are_old() -> None:
    rows = [
        seen(2, last=9, id="connect.int64", method="connect.string"),
        seen(4, last=6, id="connect.int64", pay_method="connect.string"),
    ]
    versions = fold_schemas([], seen=rows)
    assert [names(version) for version in versions] == [
        ["id", "method"],
        ["id", "pay_method"],
        ["id", "method"],
    ]
    assert versions[2].valid_from_sequence == sequence(6) + "~"


def test_a_column_that_only_snapshots_of_postgresql_name_stays() -> None:
    changes = partial(msgspec.structs.replace, leaves_out_generated=True)
    rows = [
        seen(2, last=9, id="connect.int64", a="connect.int32", g="connect.int32"),
        changes(seen(3, id="connect.int64", a="connect.int32")),
        changes(seen(5, last=10, id="connect.int64")),
    ]
    versions = fold_schemas([], seen=rows)
    assert [names(version) for version in versions] == [["id", "a", "g"], ["id", "g"]]


@pytest.mark.parametrize(
    "clause",
    ["MODIFY a VARCHAR(9)", "CHANGE a b INT", "CONVERT TO CHARACTER SET utf8mb4"],
)
def test_a_ddl_may_follow_rows_of_kafka_connect(clause: str) -> None:
    rows = [seen(2, id="connect.int64", a="connect.string")]
    versions = fold_schemas([at(5, f"ALTER TABLE t {clause}")], seen=rows)
    assert [version.valid_from_sequence for version in versions] == [None, sequence(5)]


def test_rows_go_on_to_tell_the_columns_after_a_truncate() -> None:
    rows = [
        seen(2, id="connect.int64"),
        seen(8, id="connect.int64", n="connect.string"),
    ]
    versions = fold_schemas([at(5, "TRUNCATE TABLE t")], seen=rows)
    assert [version.row_effect for version in versions] == ["none", "close_all", "none"]
    assert names(versions[-1]) == ["id", "n"]


def test_a_version_by_rows_begins_before_them_at_their_own_time() -> None:
    position = "00000027:00000758:0005.1.00000027:00000758:0003.00000000000000000001"
    rows = [
        seen(2, id="connect.int64"),
        SeenSchema(
            "db",
            "t",
            f"{position}@1559729468470",
            f"{position}@1559729468470",
            {"id": "connect.int64", "n": "connect.string"},
            ("id",),
        ),
    ]
    since = str(fold_schemas([], seen=rows)[-1].valid_from_sequence)
    assert since < position
    assert since.endswith("~@1559729468470")
