import pytest

from changefold.changefeed.event_types import (
    ALTER_TABLE_TYPES,
    DDL_TYPES,
    DML_TYPES,
    EVENT_TYPES,
    covering_name,
    event_type_of,
)
from changefold.mysql.ddl import parse_ddl

STATEMENTS = [
    # database
    ("CREATE DATABASE d", "create database"),
    ("CREATE SCHEMA IF NOT EXISTS d", "create database"),
    ("DROP SCHEMA d", "drop database"),
    ("ALTER DATABASE d CHARACTER SET utf8 COLLATE utf8_bin", "modify schema charset and collate"),
    ("ALTER SCHEMA d DEFAULT CHARSET = utf8mb4", "modify schema charset and collate"),
    ("ALTER DATABASE d PLACEMENT POLICY = p", None),
    # table
    ("CREATE TABLE t (a INT)", "create table"),
    ("CREATE TABLE t LIKE u", "create table"),
    ("DROP TABLE t", "drop table"),
    ("DROP TABLE a, b", "drop table"),
    ("TRUNCATE TABLE t", "truncate table"),
    ("RENAME TABLE a TO b", "rename table"),
    ("RENAME TABLE a TO b, c TO d", "rename table"),
    ("ALTER TABLE a RENAME TO b", "rename table"),
    ("RECOVER TABLE t", "recover table"),
    ("FLASHBACK TABLE t TO u", "recover table"),
    ("FLASHBACK DATABASE d", None),
    ("ALTER TABLE t COMMENT = 'x'", "modify table comment"),
    ("ALTER TABLE t DEFAULT CHARSET = utf8mb4", "modify table charset and collate"),
    ("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4", "modify table charset and collate"),
    # view
    ("CREATE OR REPLACE VIEW v AS SELECT 1", "create view"),
    ("DROP VIEW IF EXISTS v", "drop view"),
    # partition
    ("ALTER TABLE t ADD PARTITION (PARTITION p VALUES LESS THAN (9))", "add table partition"),
    ("ALTER TABLE t ADD PARTITION PARTITIONS 4", "reorganize table partition"),
    ("ALTER TABLE t ADD PARTITION (PARTITION p)", "reorganize table partition"),
    ("ALTER TABLE t COALESCE PARTITION 2", "reorganize table partition"),
    ("ALTER TABLE t DROP PARTITION p", "drop table partition"),
    ("ALTER TABLE t TRUNCATE PARTITION p", "truncate table partition"),
    ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", "exchange table partition"),
    ("ALTER TABLE t REORGANIZE PARTITION p INTO (PARTITION q VALUES LESS THAN (9))", "reorganize table partition"),
    ("ALTER TABLE t REORGANIZE PARTITION", "reorganize table partition"),
    ("ALTER TABLE t PARTITION BY HASH (a) PARTITIONS 4", "alter table partitioning"),
    ("ALTER TABLE t REMOVE PARTITIONING", "remove table partitioning"),
    ("ALTER TABLE t PARTITION p ATTRIBUTES = 'x'", None),
    # column
    ("ALTER TABLE t ADD COLUMN a INT", "add column"),
    ("ALTER TABLE t DROP a", "drop column"),
    ("ALTER TABLE t MODIFY a INT", "modify column"),
    ("ALTER TABLE t CHANGE a b INT", "modify column"),
    ("ALTER TABLE t RENAME COLUMN a TO b", "modify column"),
    ("ALTER TABLE t ALTER a SET DEFAULT 1", "set default value"),
    ("ALTER TABLE t ALTER a DROP DEFAULT", "set default value"),
    # index, key
    ("CREATE UNIQUE INDEX i ON t (a)", "create index"),
    ("ALTER TABLE t ADD INDEX i (a)", "create index"),
    ("DROP INDEX i ON t", "drop index"),
    ("ALTER TABLE t DROP INDEX i", "drop index"),
    ("ALTER TABLE t RENAME INDEX i TO j", "rename index"),
    ("ALTER TABLE t ALTER INDEX i INVISIBLE", "alter index visibility"),
    ("ALTER TABLE t ADD PRIMARY KEY (a)", "add primary key"),
    ("ALTER TABLE t DROP PRIMARY KEY", "drop primary key"),
    ("ALTER TABLE t AUTO_INCREMENT = 5", "rebase auto id"),
    ("ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (b)", "add foreign key"),
    ("ALTER TABLE t DROP FOREIGN KEY f", "drop foreign key"),
    # other
    ("ALTER TABLE t TTL = `d` + INTERVAL 1 DAY", "alter ttl info"),
    ("ALTER TABLE t TTL_ENABLE = 'OFF'", "alter ttl info"),
    ("ALTER TABLE t REMOVE TTL", "alter ttl remove"),
    ("ALTER TABLE t ADD a INT, DROP b", "multi schema change"),
    ("ALTER TABLE t ADD a INT, ADD b INT", "multi schema change"),
    ("ALTER TABLE t ADD (a INT, b INT)", "multi schema change"),
    ("ALTER TABLE t ADD a INT, ADD INDEX i (a), COMMENT = 'x'", "multi schema change"),
    ("ALTER TABLE t ADD a INT, ALGORITHM = INSTANT, LOCK = NONE", "add column"),
    ("ALTER TABLE t ADD a INT, ENGINE = InnoDB", "multi schema change"),
    ("ALTER TABLE t ENGINE = InnoDB COMMENT = 'x'", "modify table comment"),
    # outside TiCDC's list
    ("CREATE SEQUENCE s", None),
    ("DROP SEQUENCE s", None),
    ("LOCK TABLES t READ", None),
    ("ALTER TABLE t SET TIFLASH REPLICA 1", None),
    ("ALTER TABLE t SHARD_ROW_ID_BITS = 4", None),
    ("ALTER TABLE t AUTO_RANDOM_BASE = 4", None),
    ("ALTER TABLE t AUTO_ID_CACHE = 4", None),
    ("ALTER TABLE t ADD CHECK (a > 0)", None),
    ("ALTER TABLE t DROP CHECK c", None),
    ("ALTER TABLE t ALTER CHECK c NOT ENFORCED", None),
    ("CREATE USER u", None),
    ("ALTER TABLE t ENGINE = InnoDB", None),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "expected"), STATEMENTS)
def test_a_statement_has_the_type_of_its_job(sql: str, expected: str | None) -> None:
    statement = parse_ddl(sql, "d")
    assert statement.understood, statement.reason
    assert event_type_of(statement) == expected


def test_every_type_of_ddl_has_a_statement() -> None:
    assert {name for _, name in STATEMENTS} - {None} == set(DDL_TYPES)


def test_a_statement_that_is_not_understood_has_no_type() -> None:
    with pytest.raises(ValueError, match="Expected a statement that is understood"):
        event_type_of(parse_ddl("ALTER TABLE t UNION = (a, b)", "d"))


def test_the_names_are_those_of_ticdc() -> None:
    listed = """
        all dml, all ddl, insert, update, delete, create database, create schema,
        drop database, drop schema, modify schema charset and collate, create table,
        drop table, truncate table, rename table, recover table, modify table comment,
        modify table charset and collate, alter table, create view, drop view,
        add table partition, drop table partition, truncate table partition,
        exchange table partition, reorganize table partition, alter table partitioning,
        remove table partitioning, add column, drop column, modify column,
        set default value, create index, drop index, rename index,
        alter index visibility, add primary key, drop primary key, rebase auto id,
        add foreign key, drop foreign key, alter ttl info, alter ttl remove,
        multi schema change
    """
    assert sorted(EVENT_TYPES) == sorted(name.strip() for name in listed.split(","))
    assert {"insert", "update", "delete"} == set(DML_TYPES)


@pytest.mark.parametrize(
    ("event_type", "names", "expected"),
    [
        ("insert", ["insert"], "insert"),
        ("insert", ["update", "delete"], None),
        ("delete", ["all ddl", "all dml"], "all dml"),
        ("add column", ["all dml", "all ddl"], "all ddl"),
        ("drop index", ["drop table", "alter table"], "alter table"),
        ("create database", ["create schema"], "create schema"),
        ("drop database", ["drop schema"], "drop schema"),
        ("drop database", ["drop database"], "drop database"),
        ("create table", ["alter table"], None),
        ("add column", ["drop column"], None),
        ("multi schema change", ["add column"], None),
        ("multi schema change", ["multi schema change"], "multi schema change"),
    ],
)
def test_a_name_covers_a_type(
    event_type: str, names: list[str], expected: str | None
) -> None:
    assert covering_name(event_type, names) == expected


@pytest.mark.parametrize("event_type", DDL_TYPES)
def test_alter_table_covers_changes_of_a_table_that_stays(event_type: str) -> None:
    not_covered = {
        "create database",
        "drop database",
        "modify schema charset and collate",
        "create table",
        "drop table",
        "truncate table",
        "recover table",
        "create view",
        "drop view",
        "add foreign key",
        "drop foreign key",
    }
    covers = covering_name(event_type, ["alter table"]) is not None
    assert covers is (event_type not in not_covered)
    assert covers is (event_type in ALTER_TABLE_TYPES)
    assert covering_name(event_type, ["all ddl"]) == "all ddl"
    assert covering_name(event_type, ["all dml"]) is None
