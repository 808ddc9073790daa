import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changefold.mysql.ddl import (
    Action,
    AddColumn,
    AddKey,
    ConvertCharset,
    CreateDatabase,
    CreateTable,
    DdlColumn,
    DdlKey,
    DdlStatement,
    DropColumn,
    DropDatabase,
    DropKey,
    DropTable,
    ForeignKey,
    ModifyColumn,
    NoEffect,
    NoRowEffect,
    Partition,
    PartitionAction,
    Partitioning,
    RecoverDatabase,
    RecoverTable,
    RenameColumn,
    RenameKey,
    RenameTable,
    SetDefault,
    SqlValue,
    TableCharset,
    TableComment,
    TableName,
    TruncateTable,
    parse_ddl,
)

FIXTURES = Path(__file__).parent / "fixtures"
T = TableName("db", "t")
INT_A = DdlColumn("a", "int")


def actions(sql: str) -> list[Action]:
    statement = parse_ddl(sql, "db")
    assert statement.understood, statement.reason
    return list(statement.actions)


def column(definition: str) -> DdlColumn:
    (action,) = actions(f"CREATE TABLE t ({definition})")
    assert isinstance(action, CreateTable)
    return action.columns[0]


def number(text: str) -> SqlValue:
    return SqlValue("number", text)


def table(database: str, name: str) -> TableName:
    return TableName(database, name, is_qualified=True)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("a INT", INT_A),
        ("`a` int(11) NOT NULL", DdlColumn("a", "int", nullable=False)),
        ("a INT PRIMARY KEY", DdlColumn("a", "int", nullable=False, is_primary_key=True)),
        ("a INT UNIQUE KEY", DdlColumn("a", "int", is_unique=True)),
        ("a INT KEY", DdlColumn("a", "int", nullable=False, is_primary_key=True)),
        ("a INT DEFAULT NULL", DdlColumn("a", "int", default=SqlValue("null"))),
        ("a INT DEFAULT -.5", DdlColumn("a", "int", default=number("-0.5"))),
        ("a INT DEFAULT (5)", DdlColumn("a", "int", default=number("5"))),
        ("a BOOL DEFAULT TRUE", DdlColumn("a", "tinyint(1)", default=number("1"))),
        ("a BIT(6) DEFAULT b'11'", DdlColumn("a", "bit(6)", default=SqlValue("bits", "11"))),
        ("a INT DEFAULT 0x1F", DdlColumn("a", "int", default=SqlValue("hex", "1F"))),
        (
            r"""a VARCHAR(9) DEFAULT _UTF8MB4'it''s \\ "x"' COLLATE utf8mb4_bin""",
            DdlColumn(
                "a", "varchar(9)", default=SqlValue("text", 'it\'s \\ "x"'),
                collation="utf8mb4_bin",
            ),
        ),
        (
            "a DATETIME(3) DEFAULT NOW(3) ON UPDATE CURRENT_TIMESTAMP(3)",
            DdlColumn(
                "a", "datetime(3)", default=SqlValue("expression", "CURRENT_TIMESTAMP(3)"),
                on_update="CURRENT_TIMESTAMP(3)",
            ),
        ),
        ("a JSON DEFAULT (JSON_ARRAY(1))", DdlColumn("a", "json", default=SqlValue("expression", "JSON_ARRAY(1)"))),
        (
            "a INT GENERATED ALWAYS AS(`b`*(1+2)) VIRTUAL",
            DdlColumn("a", "int", generated="virtual", expression="`b`*(1+2)"),
        ),
        ("a INT AS (b) STORED NOT NULL", DdlColumn("a", "int", nullable=False, generated="stored", expression="b")),
        ("a SERIAL", DdlColumn("a", "bigint unsigned", nullable=False, auto_increment=True, is_unique=True)),
        ("a BIGINT /*T![auto_rand] AUTO_RANDOM(5) */", DdlColumn("a", "bigint", auto_increment=True)),
        ("a CHAR(3) CHARACTER SET binary", DdlColumn("a", "binary(3)", charset="binary")),
        ("a NATIONAL VARCHAR(9)", DdlColumn("a", "varchar(9)", charset="utf8")),
        ("a ENUM('x','it''s') COMMENT 'c, /* no */'", DdlColumn("a", "enum('x','it''s')", comment="c, /* no */")),
        ("a INT REFERENCES o (x) ON DELETE SET NULL CHECK (a > 0) NOT ENFORCED", DdlColumn("a", "int", foreign_key=ForeignKey(("a",), TableName("db", "o"), ("x",), on_delete="set null"))),
        ("`a``b.c` INT", DdlColumn("a`b.c", "int")),
        ("`数据` INT", DdlColumn("数据", "int")),
        ("1a INT", DdlColumn("1a", "int")),
        ("`key` INT", DdlColumn("key", "int")),
    ],
)  # fmt: skip
def test_a_column_definition_is_read(definition: str, expected: DdlColumn) -> None:
    assert column(definition) == expected


ALTERS: list[tuple[str, list[Action]]] = [
    ("ADD a INT", [AddColumn(T, INT_A)]),
    ("ADD COLUMN IF NOT EXISTS a INT FIRST", [AddColumn(T, INT_A, first=True, if_not_exists=True)]),
    ("ADD COLUMN `a` INT AFTER `b`", [AddColumn(T, INT_A, after="b")]),
    (
        "ADD (a INT, b INT, KEY k (a))",
        [AddColumn(T, INT_A), AddColumn(T, DdlColumn("b", "int")), AddKey(T, DdlKey("index", "k", ("a",)))],
    ),
    ("DROP a, DROP COLUMN IF EXISTS b", [DropColumn(T, "a"), DropColumn(T, "b", if_exists=True)]),
    ("RENAME COLUMN a TO b", [RenameColumn(T, "a", "b")]),
    ("MODIFY a INT FIRST", [ModifyColumn(T, "a", INT_A, first=True)]),
    ("CHANGE COLUMN b a INT AFTER c", [ModifyColumn(T, "b", INT_A, after="c")]),
    ("ALTER a SET DEFAULT 5", [SetDefault(T, "a", number("5"))]),
    ("ALTER COLUMN a DROP DEFAULT", [SetDefault(T, "a", None)]),
    ("ADD PRIMARY KEY(`b`, `a`) /*T![clustered_index] NONCLUSTERED */", [AddKey(T, DdlKey("primary", "PRIMARY", ("b", "a")))]),
    ("ADD CONSTRAINT s UNIQUE (a)", [AddKey(T, DdlKey("unique", "s", ("a",)))]),
    ("ADD UNIQUE `ub`(`b`)", [AddKey(T, DdlKey("unique", "ub", ("b",)))]),
    ("ADD UNIQUE INDEX u (a(10) DESC, (b+1)) USING BTREE", [AddKey(T, DdlKey("unique", "u", ("a",), has_expression=True))]),
    ("ADD FULLTEXT INDEX f (a) WITH PARSER ngram", [AddKey(T, DdlKey("index", "f", ("a",)))]),
    ("DROP PRIMARY KEY", [DropKey(T, "PRIMARY")]),
    ("DROP INDEX `i`, DROP KEY j, DROP CONSTRAINT c", [DropKey(T, "i"), DropKey(T, "j"), DropKey(T, "c")]),
    ("RENAME INDEX a TO b", [RenameKey(T, "a", "b")]),
    ("RENAME TO d2.u", [RenameTable(T, table("d2", "u"))]),
    ("RENAME AS u", [RenameTable(T, TableName("db", "u"))]),
    ("COMMENT = 'it''s'", [TableComment(T, "it's")]),
    ("CONVERT TO CHARACTER SET UTF8MB4", [ConvertCharset(T, "utf8mb4")]),
    ("DEFAULT CHARSET=latin1 COLLATE=latin1_bin", [TableCharset(T, "latin1", "latin1_bin")]),
    ("AUTO_INCREMENT = 1000", [NoRowEffect(T, "auto_increment")]),
    ("ENGINE=InnoDB COMMENT='x', LOCK=NONE", [NoRowEffect(T, "engine"), TableComment(T, "x"), NoRowEffect(T, "lock")]),
    ("ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES o (b) ON UPDATE CASCADE", [NoRowEffect(T, "add foreign key", ForeignKey(("a",), TableName("db", "o"), ("b",), on_update="cascade", name="f"))]),
    ("ADD CHECK (a > 0)", [NoRowEffect(T, "add check constraint")]),
    ("SET TIFLASH REPLICA 1 LOCATION LABELS 'a', 'b'", [NoRowEffect(T, "set tiflash")]),
    ("TTL = `d` + INTERVAL 1 MONTH", [NoRowEffect(T, "ttl")]),
    ("TRUNCATE PARTITION p0, `p1`", [PartitionAction(T, "truncate", ("p0", "p1"))]),
    ("TRUNCATE PARTITION ALL", [PartitionAction(T, "truncate", all_partitions=True)]),
    ("DROP PARTITION p0", [PartitionAction(T, "drop", ("p0",))]),
    ("EXCHANGE PARTITION p WITH TABLE d.x WITHOUT VALIDATION", [PartitionAction(T, "exchange", ("p",), exchange_with=table("d", "x"))]),
    ("ADD PARTITION (PARTITION p3 VALUES LESS THAN (400))", [PartitionAction(T, "add", partitions=(Partition("p3", (number("400"),)),))]),
    ("ADD PARTITION PARTITIONS 3", [PartitionAction(T, "add", count=3)]),
    (
        "REORGANIZE PARTITION p0 INTO (PARTITION n VALUES LESS THAN MAXVALUE)",
        [PartitionAction(T, "reorganize", ("p0",), partitions=(Partition("n", (SqlValue("maxvalue"),)),))],
    ),
    ("COALESCE PARTITION 2", [PartitionAction(T, "coalesce", count=2)]),
    ("REMOVE PARTITIONING", [PartitionAction(T, "remove")]),
    ("PARTITION BY HASH (a) PARTITIONS 2", [PartitionAction(T, "partition_by", partitioning=Partitioning("hash", "a", ("a",), (Partition("p0"), Partition("p1"))))]),
    ("ANALYZE PARTITION p0", [NoRowEffect(T, "partition upkeep")]),
]  # fmt: skip


@pytest.mark.parametrize(("clauses", "expected"), ALTERS)
def test_the_clauses_of_alter_table_are_read(
    clauses: str, expected: list[Action]
) -> None:
    assert actions(f"ALTER TABLE t {clauses}") == expected


STATEMENTS: list[tuple[str, list[Action]]] = [
    ("CREATE DATABASE IF NOT EXISTS d", [CreateDatabase("d", if_not_exists=True)]),
    ("DROP SCHEMA d", [DropDatabase("d")]),
    ("CREATE TABLE `liked` LIKE `d`.`comp`", [CreateTable(TableName("db", "liked"), like=table("d", "comp"))]),
    ("CREATE TEMPORARY TABLE t (a INT)", [CreateTable(T, (INT_A,), temporary=True)]),
    ("DROP TABLE IF EXISTS t, `d`.`u`", [DropTable(T, if_exists=True), DropTable(table("d", "u"), if_exists=True)]),
    ("TRUNCATE TABLE t", [TruncateTable(T)]),
    ("TRUNCATE t;", [TruncateTable(T)]),
    ("RENAME TABLE t TO `a.b`.`c`, d.x TO t", [RenameTable(T, table("a.b", "c")), RenameTable(table("d", "x"), T)]),
    ("CREATE UNIQUE INDEX i ON t (a, `b`)", [AddKey(T, DdlKey("unique", "i", ("a", "b")))]),
    ("DROP INDEX `PRIMARY` ON t", [DropKey(T, "PRIMARY")]),
    ("FLASHBACK TABLE t TO u", [RecoverTable(T, TableName("db", "u"))]),
    ("FLASHBACK DATABASE d", [RecoverDatabase("d", "d")]),
    ("FLASHBACK SCHEMA `d` TO `e`", [RecoverDatabase("d", "e")]),
    ("DROP VIEW `ddlx`.`v`", [NoEffect("drop view")]),
    (
        "CREATE OR REPLACE DEFINER = `table`@`%` SQL SECURITY DEFINER VIEW v AS SELECT 1",
        [NoEffect("create view")],
    ),
    ("ALTER USER 'a'@'%' IDENTIFIED BY 'x'", [NoEffect("alter user")]),
    ("CREATE SEQUENCE s", [NoEffect("create sequence")]),
    ("/*!40000 ALTER TABLE `t` DISABLE KEYS */", [NoRowEffect(T, "disable keys")]),
    ("/* by a tool */ alter table t add a int -- please", [AddColumn(T, INT_A)]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "expected"), STATEMENTS)
def test_a_statement_is_read(sql: str, expected: list[Action]) -> None:
    assert actions(sql) == expected


def test_a_create_table_keeps_keys_options_and_partitions() -> None:
    sql = """
        CREATE TABLE `t` (`a` INT, `b` DATE NOT NULL,
        PRIMARY KEY(`b`, `a`) /*T![clustered_index] CLUSTERED */, UNIQUE `u`(`a`),
        CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `o`(`x`), CHECK (`a` > 0))
        ENGINE=InnoDB DEFAULT CHARSET=UTF8MB4 COMMENT='x' /*T! SHARD_ROW_ID_BITS=4 */
        PARTITION BY RANGE COLUMNS(`a`) (
            PARTITION `p0` VALUES LESS THAN (10) COMMENT = 'first',
            PARTITION `p1` VALUES LESS THAN (MAXVALUE))"""
    (action,) = actions(sql)
    assert isinstance(action, CreateTable)
    assert action.keys == (
        DdlKey("primary", "PRIMARY", ("b", "a")),
        DdlKey("unique", "u", ("a",)),
    )
    assert (action.charset, action.comment) == ("utf8mb4", "x")
    assert action.partitioning == Partitioning(
        "range columns",
        columns=("a",),
        partitions=(
            Partition("p0", (number("10"),)),
            Partition("p1", (SqlValue("maxvalue"),)),
        ),
    )


def test_a_binary_table_makes_text_columns_binary_unless_they_say_else() -> None:
    (action,) = actions(
        "CREATE TABLE t (a CHAR(3), b TEXT, c TEXT CHARSET latin1) CHARSET=binary"
    )
    assert isinstance(action, CreateTable)
    assert [c.type for c in action.columns] == ["binary(3)", "blob", "text"]


def test_partition_bounds_that_are_expressions_stay_text() -> None:
    (action,) = actions(
        "CREATE TABLE t (a DATE) PARTITION BY RANGE (TO_DAYS(a)) "
        "(PARTITION p VALUES LESS THAN (TO_DAYS('2020-01-01')))"
    )
    assert isinstance(action, CreateTable)
    assert action.partitioning is not None
    (partition,) = action.partitioning.partitions
    assert partition.less_than == (SqlValue("expression", "TO_DAYS('2020-01-01')"),)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("", "Expected a DDL statement, got the end of the statement"),
        ("INSERT INTO t VALUES (1)", "Expected a DDL statement, got `INSERT INTO t"),
        ("CREATE TABLE t AS SELECT 1", "Expected no query"),
        ("CREATE TABLE t (a INT) SELECT 1 AS b", "Expected no query"),
        ("ALTER TABLE t ADD a WEIRD", "Expected a MySQL type, got `weird`"),
        ("ALTER TABLE t ADD a INT SOON", "Expected an attribute of column `a`, got `SOON`"),
        ("ALTER TABLE t ADD a INT,", "Expected a clause of ALTER TABLE, got the end"),
        ("ALTER TABLE t FIRST PARTITION LESS THAN (9)", "Expected a clause of ALTER TABLE"),
        ("ALTER TABLE t DISCARD TABLESPACE", "got `DISCARD TABLESPACE` at 15"),
        ("RECOVER TABLE BY JOB 5", "Expected the name of a table"),
        ("TRUNCATE TABLE a; DROP TABLE b", "Expected the end of the statement, got `; DROP"),
        ("ALTER TABLE t ADD a VARCHAR(9) DEFAULT 'open", "Expected SQL"),
    ],
)  # fmt: skip
def test_what_is_not_understood_says_where_reading_stopped(
    sql: str, reason: str
) -> None:
    statement = parse_ddl(sql, "db")
    assert not statement.understood
    assert statement.actions == ()
    assert reason in str(statement.reason)


@pytest.mark.parametrize(
    "piece", ["\\'", "'\\", '\\"', "`", "/* ", "/*!5 ", "/*T![", "("]
)
def test_what_does_not_end_is_read_once(piece: str) -> None:
    sql = "ALTER TABLE t ADD a INT DEFAULT 1 " + piece * 100_000
    assert not parse_ddl(sql, "db").understood


def corpus_statements() -> list[str]:
    paths = sorted(FIXTURES.glob("ticdc_*_schemas.json"))
    return [event[3] for path in paths for event in json.loads(path.read_text())["events"]]  # fmt: skip


@pytest.mark.parametrize("sql", corpus_statements())
def test_every_statement_of_ticdc_is_understood_and_goes_through_json(sql: str) -> None:
    statement = parse_ddl(sql, "db")
    assert statement.understood, statement.reason
    assert DdlStatement.from_json(statement.to_json()) == statement


@settings(deadline=None)
@given(st.data())
def test_a_damaged_statement_never_raises(data: st.DataObject) -> None:
    sql = data.draw(st.sampled_from(corpus_statements()))
    start = data.draw(st.integers(0, len(sql)))
    end = data.draw(st.integers(start, len(sql)))
    noise = data.draw(st.text("`'\"(),.;/*!T[] -#\\0aé=", max_size=4))
    statement = parse_ddl(sql[:start] + noise + sql[end:], "db")
    assert statement.understood == (statement.reason is None)


@given(st.text("`'\"(),.;/*!T[] -#\\0aéADRENMCLTBK=", max_size=40))
def test_any_text_never_raises(sql: str) -> None:
    assert isinstance(parse_ddl(sql, "db"), DdlStatement)
