"""Statements that MySQL and MariaDB take and that are seldom written.

What they do to tables is read; a statement that names no table asks nothing of anyone;
one that is not understood leaves doubt about the tables that it names, and no others.
"""

import pytest

from changefold.mysql.ddl import (
    Action,
    AddColumn,
    AddKey,
    CreateDatabase,
    CreateTable,
    DdlColumn,
    DdlKey,
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
    RenameTable,
    SqlValue,
    TableComment,
    TableName,
    TruncateTable,
    parse_ddl,
)

T, U = TableName("shop", "t"), TableName("shop", "u")
OTHER = TableName("bar", "t", is_qualified=True)
INT_C = DdlColumn("c", "int")


def actions(sql: str) -> list[Action]:
    statement = parse_ddl(sql, "shop")
    assert statement.understood, statement.reason
    assert statement.tables == ()
    return list(statement.actions)


def column(definition: str) -> DdlColumn:
    (action,) = actions(f"ALTER TABLE t ADD COLUMN {definition}")
    assert isinstance(action, AddColumn)
    return action.column


# ------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ALTER TABLE .`t` ADD c int", [AddColumn(T, INT_C)]),
        ("ALTER TABLE . t DROP COLUMN .c", [DropColumn(T, "c")]),
        ("DROP TABLE .t, .`u`", [DropTable(T), DropTable(U)]),
        ("TRUNCATE .t", [TruncateTable(T)]),
        ("RENAME TABLE .t TO .u", [RenameTable(T, U)]),
        ("RENAME TABLE `bar`.`t` TO .u", [RenameTable(OTHER, U)]),
        ("ALTER TABLE .t RENAME TO .u", [RenameTable(T, U)]),
        ("CREATE TABLE .t LIKE .u", [CreateTable(T, like=U)]),
        ("CREATE TABLE .t (LIKE .u)", [CreateTable(T, like=U)]),
        ("CREATE INDEX i ON .t (c)", [AddKey(T, DdlKey("index", "i", ("c",)))]),
        ("DROP INDEX i ON .t", [DropKey(T, "i")]),
        (
            "ALTER TABLE .t EXCHANGE PARTITION p WITH TABLE .u",
            [PartitionAction(T, "exchange", ("p",), exchange_with=U)],
        ),
        (
            "ALTER TABLE .t ADD FOREIGN KEY (c) REFERENCES .u (id)",
            [NoRowEffect(T, "add foreign key", ForeignKey(("c",), U, ("id",)))],
        ),
    ],
)
def test_a_point_in_front_of_a_name_means_the_default_database(
    sql: str, expected: list[Action]
) -> None:
    assert actions(sql) == expected


def test_names_in_double_quotes_are_names_where_no_text_can_stand() -> None:
    assert actions('ALTER TABLE "bar"."t" ADD "a ""b""" varchar(9) DEFAULT "x"') == [
        AddColumn(OTHER, DdlColumn('a "b"', "varchar(9)", default=text("x")))
    ]


def text(value: str) -> SqlValue:
    return SqlValue("text", value)


# ---------------------------------------------------------------------- MariaDB


@pytest.mark.parametrize("wait", ["NOWAIT", "WAIT 10", "wait 0"])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ALTER TABLE t {} ADD COLUMN c int", [AddColumn(T, INT_C)]),
        ("ALTER TABLE IF EXISTS t {} COMMENT='x'", [TableComment(T, "x")]),
        ("DROP TABLE IF EXISTS t, u {}", [DropTable(T, True), DropTable(U, True)]),
        ("DROP TABLE t {} CASCADE", [DropTable(T)]),
        ("TRUNCATE TABLE t {}", [TruncateTable(T)]),
        ("TRUNCATE t {} REUSE STORAGE", [TruncateTable(T)]),
        ("RENAME TABLE t {} TO u", [RenameTable(T, U)]),
        ("RENAME TABLE IF EXISTS t {} TO u", [RenameTable(T, U)]),
        ("CREATE INDEX i ON t (c) {}", [AddKey(T, DdlKey("index", "i", ("c",)))]),
        ("CREATE UNIQUE INDEX i ON t {} (c)", [AddKey(T, DdlKey("unique", "i", ("c",)))]),
        ("DROP INDEX i ON t {}", [DropKey(T, "i")]),
        ("OPTIMIZE TABLE t {}", [NoEffect("optimize")]),
    ],
)  # fmt: skip
def test_how_long_mariadb_waits_for_a_lock_changes_nothing(
    sql: str, wait: str, expected: list[Action]
) -> None:
    assert actions(sql.format(wait)) == expected


def test_tables_and_columns_may_be_called_wait() -> None:
    assert actions("ALTER TABLE wait ADD COLUMN nowait int") == [
        AddColumn(TableName("shop", "wait"), DdlColumn("nowait", "int"))
    ]


def test_a_statement_behind_its_variables_is_read() -> None:
    assert actions(
        "SET STATEMENT max_statement_time=60, sql_mode=concat(@@sql_mode, ',x') FOR "
        "ALTER TABLE t ADD COLUMN c int"
    ) == [AddColumn(T, INT_C)]
    assert actions("SET STATEMENT = 1") == [NoEffect("set")]


def test_a_database_that_is_replaced_is_dropped_first() -> None:
    assert actions("CREATE OR REPLACE DATABASE d CHARACTER SET utf8mb4") == [
        DropDatabase("d", if_exists=True),
        CreateDatabase("d"),
    ]


@pytest.mark.parametrize(
    ("clause", "what"),
    [
        ("ADD SYSTEM VERSIONING", "add system versioning"),
        ("DROP SYSTEM VERSIONING", "drop system versioning"),
        ("WITH SYSTEM VERSIONING", "with system versioning"),
        ("ADD PERIOD FOR SYSTEM_TIME(a, b)", "add period for"),
        ("ADD PERIOD FOR IF NOT EXISTS p(a, b)", "add period for"),
        ("DROP PERIOD FOR SYSTEM_TIME", "drop period for"),
        ("DROP PERIOD FOR IF EXISTS p", "drop period for"),
        ("ALTER INDEX i IGNORED", "alter index visibility"),
        ("ALTER KEY IF EXISTS i NOT IGNORED", "alter index visibility"),
        ("ADD CONSTRAINT IF NOT EXISTS n CHECK (c > 0)", "add check constraint"),
        ("DROP FOREIGN KEY IF EXISTS t.f", "drop foreign key"),
        ("PAGE_COMPRESSED=1", "page_compressed"),
        ("ENCRYPTED YES", "encrypted"),
        ("TABLESPACE ts1", "tablespace"),
        ("DATA DIRECTORY='/d'", "data directory"),
        ("AFFINITY = 'table'", "option"),
        ("SECONDARY_ENGINE = NULL", "secondary_engine"),
        ("SECONDARY_LOAD", "secondary_load"),
    ],
)
def test_clauses_that_touch_no_current_row_are_read(clause: str, what: str) -> None:
    assert actions(f"ALTER TABLE t {clause}") == [NoRowEffect(T, what)]
    assert actions(f"ALTER TABLE t {clause}, ADD COLUMN c int") == [
        NoRowEffect(T, what),
        AddColumn(T, INT_C),
    ]


def test_a_versioned_table_is_read_with_the_columns_that_the_server_fills_in() -> None:
    (created,) = actions(
        "CREATE TABLE t (id int, c int WITHOUT SYSTEM VERSIONING, "
        "a timestamp(6) GENERATED ALWAYS AS ROW START INVISIBLE, "
        "b timestamp(6) AS ROW END, "
        "PERIOD FOR SYSTEM_TIME (a, b), PRIMARY KEY (id, b)) WITH SYSTEM VERSIONING "
        "PARTITION BY SYSTEM_TIME INTERVAL 1 MONTH "
        "(PARTITION p0 HISTORY, PARTITION pn CURRENT)"
    )

    def filled(name: str, edge: str) -> DdlColumn:
        value = SqlValue("expression", f"ROW {edge}")
        return DdlColumn(name, "timestamp(6)", nullable=False, default=value)

    assert created == CreateTable(
        T,
        (DdlColumn("id", "int"), INT_C, filled("a", "START"), filled("b", "END")),
        (DdlKey("primary", "PRIMARY", ("id", "b")),),
        partitioning=Partitioning(
            "system_time", partitions=(Partition("p0"), Partition("pn"))
        ),
    )


def test_a_key_over_a_period_is_no_key_of_columns() -> None:
    (created,) = actions(
        "CREATE TABLE t (id int, a date, b date, PERIOD FOR p (a, b), "
        "UNIQUE (id, p WITHOUT OVERLAPS))"
    )
    assert isinstance(created, CreateTable)
    assert [c.name for c in created.columns] == ["id", "a", "b"]
    assert created.keys == (DdlKey("unique", None, ("id",), has_expression=True),)


@pytest.mark.parametrize(
    "attribute",
    [
        "NOT SECONDARY",
        "NOT SECONDARY NULL",
        "WITH SYSTEM VERSIONING",
        "WITHOUT SYSTEM VERSIONING",
        "REF_SYSTEM_ID = 4326",
        "COMPRESSED=zlib",
        "INVISIBLE",
        "ENGINE_ATTRIBUTE='{}'",
        "`engine_option`='x'",
    ],
)
def test_attributes_that_touch_no_value_are_read(attribute: str) -> None:
    assert column(f"c int {attribute}") == INT_C


def test_a_scale_that_is_written_as_a_fraction_is_left_out() -> None:
    assert column("c decimal(19.5)") == DdlColumn("c", "decimal(19,0)")


# ------------------------------------------------- statements that name no table


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLESPACE `ts2` ADD DATAFILE 'ts2.ibd' ENGINE=InnoDB",
        "ALTER TABLESPACE ts2 RENAME TO ts3",
        "DROP TABLESPACE ts3",
        "CREATE UNDO TABLESPACE u1 ADD DATAFILE 'u1.ibu'",
        "ALTER UNDO TABLESPACE u1 SET INACTIVE",
        "DROP UNDO TABLESPACE u1",
        "CREATE LOGFILE GROUP g ADD UNDOFILE 'u.dat' ENGINE NDB",
        "ALTER LOGFILE GROUP g ADD UNDOFILE 'v.dat' ENGINE NDB",
        "DROP LOGFILE GROUP g ENGINE NDB",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')",
        "ALTER SERVER s OPTIONS (USER 'u')",
        "DROP SERVER IF EXISTS s",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO TRUNCATE TABLE t",
        "ALTER DEFINER=`a`@`%` EVENT e DISABLE",
        "DROP EVENT e",
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.c = 1",
        "DROP TRIGGER g",
        "CREATE DEFINER=CURRENT_USER PROCEDURE p() BEGIN DROP TABLE t; END",
        "ALTER FUNCTION f COMMENT 'x'",
        "CREATE USER 'u'@'%' IDENTIFIED BY 'x'",
        "ALTER USER u ACCOUNT LOCK",
        "RENAME USER u TO v",
        "CREATE ROLE r",
        "CREATE OR REPLACE SEQUENCE q START WITH 1",
        "DROP SEQUENCE q",
        "CREATE OR REPLACE PACKAGE BODY k AS END",
        "CREATE RESOURCE GROUP r TYPE = USER",
        "CREATE OR REPLACE SPATIAL REFERENCE SYSTEM 4120 NAME 'x' DEFINITION 'y'",
        "DROP SPATIAL REFERENCE SYSTEM 4120",
        "CREATE LIBRARY l LANGUAGE JAVASCRIPT AS 'x'",
        "ALTER INSTANCE ROTATE INNODB MASTER KEY",
        "INSTALL PLUGIN p SONAME 'p.so'",
        "INSTALL COMPONENT 'file://c'",
        "UNINSTALL PLUGIN p",
        "GRANT SELECT ON shop.t TO u",
        "REVOKE ALL PRIVILEGES ON shop.* FROM u",
        "SET PASSWORD FOR u = 'x'",
        "SET GLOBAL x = 1",
        "ANALYZE TABLE t",
        "CHECK TABLE t",
        "REPAIR NO_WRITE_TO_BINLOG TABLE t QUICK",
        "FLUSH LOCAL TABLES t WITH READ LOCK",
        "XA COMMIT X'61',X'',1",
        "XA ROLLBACK X'61',X'',1",
        "KILL QUERY 5",
        "SIGNAL SQLSTATE '45000'",
        "PURGE BINARY LOGS TO 'x'",
    ],
)
def test_a_statement_without_an_effect_on_tables_asks_nothing(sql: str) -> None:
    (action,) = actions(sql)
    assert isinstance(action, NoEffect)


# ------------------------------------------------------------------------- doubt


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("ALTER TABLE t TURN INTO GOLD", (T,)),
        ("ALTER TABLE bar.t TURN INTO GOLD", (OTHER,)),
        ("ALTER TABLE t IMPORT TABLESPACE", (T,)),
        ("ALTER TABLE t CONVERT PARTITION p TO TABLE u", (T,)),
        ("DROP TABLE t, u OR NOT", (T, U)),
        ("RENAME TABLE t TO u AT ONCE", (T, U)),
        ("CREATE TABLE t AS SELECT * FROM u", (T,)),
        ("CREATE TABLE t (c int REFERENCES u (id) ON TUESDAY)", (T,)),
        ("ALTER TABLE t ADD c int REFERENCES u (id) ON TUESDAY", (T,)),
        ("CREATE TEMPORARY TABLE t AS SELECT * FROM u", ()),
        ("INSERT IGNORE INTO t SELECT * FROM u", (T,)),
        ("INSERT t VALUES (1)", (T,)),
        ("REPLACE INTO bar.t VALUES (1)", (OTHER,)),
        ("UPDATE LOW_PRIORITY t SET c = 1", (T,)),
        ("DELETE QUICK FROM t WHERE c = 1", (T,)),
        ("LOAD DATA INFILE 'x' INTO TABLE t", (T,)),
        ("ALTER TABLE `t` COMMENT 'no end", (T,)),
        ("DROP TABLE IF EXISTS `bar` . t /* 'no end", (OTHER,)),
        ("MAKE IT SO", ()),
        ("CREATE WHATEVER x", ()),
        ("'", ()),
        ("", ()),
    ],
)
def test_what_is_not_understood_names_the_tables_that_are_in_doubt(
    sql: str, tables: tuple[TableName, ...]
) -> None:
    statement = parse_ddl(sql, "shop")
    if not statement.understood:
        assert statement.tables == tables
        assert statement.reason
    else:
        assert not tables


@pytest.mark.parametrize("clause", ["ADD UNIQUE (c)", "MODIFY c int UNIQUE"])
def test_alter_ignore_is_applied_and_leaves_doubt_about_rows(clause: str) -> None:
    statement = parse_ddl(f"ALTER IGNORE TABLE t {clause}", "shop")
    assert statement.understood
    assert statement.tables == (T,)
    assert statement.doubt == (
        "IGNORE removes the rows that a new unique key does not allow"
    )
    (action,) = statement.actions
    assert isinstance(action, AddKey | ModifyColumn)


def test_alter_ignore_without_a_unique_key_leaves_no_doubt() -> None:
    assert actions("ALTER IGNORE TABLE t ADD COLUMN c int") == [AddColumn(T, INT_C)]


# ---------------------------------------------------------------------- defaults


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        ("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"),
        ("current_timestamp()", "CURRENT_TIMESTAMP"),
        ("NOW(3)", "CURRENT_TIMESTAMP(3)"),
        ("LOCALTIME", "CURRENT_TIMESTAMP"),
        ("LOCALTIMESTAMP(6)", "CURRENT_TIMESTAMP(6)"),
        ("(now())", "CURRENT_TIMESTAMP"),
        ("((NOW( 6 )))", "CURRENT_TIMESTAMP(6)"),
        ("(UTC_TIMESTAMP())", "UTC_TIMESTAMP"),
        ("(utc_timestamp(2))", "UTC_TIMESTAMP(2)"),
        ("(curdate())", "CURRENT_DATE"),
        ("(CURRENT_DATE)", "CURRENT_DATE"),
        ("curdate()", "CURRENT_DATE"),
        ("(curtime(3))", "CURRENT_TIME(3)"),
        ("(utc_date())", "UTC_DATE"),
        ("(UTC_TIME())", "UTC_TIME"),
        ("(uuid())", "uuid()"),
        ("uuid()", "uuid()"),
        ("(UUID_TO_BIN(uuid()))", "UUID_TO_BIN(uuid())"),
        ("(now() + INTERVAL 1 DAY)", "now() + INTERVAL 1 DAY"),
        ("(1 + 2)", "1 + 2"),
        ("((1) + (2))", "(1) + (2)"),
        ("(`a` * 2)", "`a` * 2"),
        ("(json_array())", "json_array()"),
        ("NEXT VALUE FOR `bar`.`s`", "NEXT VALUE FOR `bar`.`s`"),
    ],
)
def test_a_default_that_is_an_expression_keeps_its_text_and_clocks_their_name(
    default: str, expected: str
) -> None:
    read = column(f"c varchar(40) NOT NULL DEFAULT {default}")
    assert read.default == SqlValue("expression", expected)


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        ("((5))", SqlValue("number", "5")),
        ("(-1.5)", SqlValue("number", "-1.5")),
        ("('x')", text("x")),
        ("(NULL)", SqlValue("null")),
        ("(TRUE)", SqlValue("number", "1")),
        ("(_utf8mb4'x')", text("x")),
        ("DATE '2024-02-29'", text("2024-02-29")),
        ("TIMESTAMP'2024-02-29 01:02:03.5'", text("2024-02-29 01:02:03.5")),
        ("(TIME '01:02:03')", text("01:02:03")),
        ("(X'4D79')", SqlValue("hex", "4D79")),
        ("(b'101')", SqlValue("bits", "101")),
    ],
)
def test_a_literal_stays_one_in_parentheses_and_with_its_type_in_front(
    default: str, expected: SqlValue
) -> None:
    assert column(f"c varchar(40) DEFAULT {default}").default == expected


def test_what_the_source_fills_in_is_told() -> None:
    assert column("c datetime(3) ON UPDATE LOCALTIME(3)").on_update == (
        "CURRENT_TIMESTAMP(3)"
    )
    assert column("c int AUTO_INCREMENT UNIQUE") == DdlColumn(
        "c", "int", auto_increment=True, is_unique=True
    )
    assert column("c SERIAL") == DdlColumn(
        "c", "bigint unsigned", nullable=False, auto_increment=True, is_unique=True
    )
    assert column("c varchar(9) AS (concat(a, '-', b)) STORED") == DdlColumn(
        "c", "varchar(9)", generated="stored", expression="concat(a, '-', b)"
    )


# ------------------------------------------------------------------ foreign keys


def test_a_foreign_key_of_a_new_table_is_kept_with_what_it_does() -> None:
    (created,) = actions(
        "CREATE TABLE t (id int, a int, b int, KEY k (a), "
        "CONSTRAINT `f` FOREIGN KEY (a, b) REFERENCES bar.`t` (x, y) "
        "MATCH FULL ON DELETE CASCADE ON UPDATE SET NULL, "
        "FOREIGN KEY g (b) REFERENCES u (id) ON UPDATE NO ACTION ON DELETE SET DEFAULT)"
    )
    assert isinstance(created, CreateTable)
    assert created.keys == (DdlKey("index", "k", ("a",)),)
    assert created.foreign_keys == (
        ForeignKey(("a", "b"), OTHER, ("x", "y"), "cascade", "set null", "f"),
        ForeignKey(("b",), U, ("id",), "set default", "no action", "g"),
    )


def test_an_inline_reference_is_kept_and_on_update_of_a_time_is_another_thing() -> None:
    read = column("c timestamp REFERENCES u (at) ON DELETE RESTRICT ON UPDATE NOW()")
    assert read.foreign_key == ForeignKey(("c",), U, ("at",), "restrict")
    assert read.on_update == "CURRENT_TIMESTAMP"
