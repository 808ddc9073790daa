import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_conditions import evaluate

from changefold.changefeed.event_types import DDL_TYPES
from changefold.changefeed.filter import (
    ChangefeedFilter,
    FilterError,
    UpdateOnlyColumns,
    load_changefeed_filter,
    parse_changefeed_filter,
)
from changefold.changefeed.row_predicates import ColumnOfTable
from changefold.mysql.ddl import parse_ddl
from changefold.mysql.types import parse_mysql_type

DOCUMENTED = """
case-sensitive = true   # sections of no concern here may follow

[filter]
rules = ["shop.*", "!shop.tmp_*"]

[[filter.event-filters]]
matcher = ["shop.orders"]
ignore-event = ["delete", "drop table", "truncate table"]
ignore-sql = ["^drop", "add column"]
ignore-insert-value-expr = "id >= 100"
ignore-update-old-value-expr = "status = 'test'"
ignore-update-new-value-expr = "status = 'test2'"
ignore-delete-value-expr = "amount = 0"

[[filter.event-filters]]
matcher = ["shop.*", "!shop.orders"]
ignore-event = ["all dml"]

[sink]
protocol = "canal-json"
[mounter]
worker-num = 16
"""


def event_filter(matcher: str, *lines: str, rules: str = '"*.*"') -> ChangefeedFilter:
    text = f"[filter]\nrules = [{rules}]\n[[filter.event-filters]]\n"
    return parse_changefeed_filter(
        "\n".join([text, f"matcher = ['{matcher}']", *lines])
    )


# --- Reading ----------------------------------------------------------------------


def test_a_file_without_a_filter_accepts_every_table() -> None:
    for text in ("", "[sink]\nprotocol = 'simple'", "[filter]", "[filter]\nrules = []"):
        changefeed = parse_changefeed_filter(text)
        assert not changefeed.tables.case_sensitive
        assert changefeed.tables.decide("D", "T").rule == "default: *.*"
        assert not changefeed.tables.accepts("mysql", "user")
    # A list of comments only is not an empty list.
    changefeed = parse_changefeed_filter("[filter]\nrules = ['# none']")
    assert changefeed.tables.decide("D", "T").rule == "no rule matches"


def test_the_file_of_the_documentation_is_read() -> None:
    changefeed = parse_changefeed_filter(DOCUMENTED)
    assert changefeed.tables.case_sensitive
    assert changefeed.dml_verdict("shop", "orders", "d") == (
        "event-filters[0].ignore-event: delete"
    )
    assert changefeed.dml_verdict("shop", "orders", "c") is None
    assert changefeed.dml_verdict("shop", "items", "c") == (
        "event-filters[1].ignore-event: all dml"
    )
    assert changefeed.dml_verdict("shop", "tmp_1", "c") == "rules[1]: !shop.tmp_*"
    assert changefeed.dml_verdict("Shop", "orders", "c") == "no rule matches"
    assert changefeed.dml_verdict("mysql", "user", "c") == "system database"
    values = changefeed.value_rules("shop", "orders")
    assert [(v.rule.split(".")[1], v.op, v.image, v.expression, v.line) for v in values] == [
        ("ignore-insert-value-expr", "c", "after", "id >= 100", 11),
        ("ignore-update-old-value-expr", "u", "before", "status = 'test'", 12),
        ("ignore-update-new-value-expr", "u", "after", "status = 'test2'", 13),
        ("ignore-delete-value-expr", "d", "before", "amount = 0", 14),
    ]  # fmt: skip
    assert changefeed.value_rules("shop", "items") == ()


def test_rules_without_case_are_the_default_but_matchers_have_case() -> None:
    text = "ignore-event = ['insert']\nignore-update-only-columns = ['V']"
    changefeed = event_filter("shop.orders", text, rules="'SHOP.*'")
    assert changefeed.tables.accepts("Shop", "Orders")
    assert changefeed.dml_verdict("shop", "orders", "c") is not None
    assert changefeed.dml_verdict("shop", "Orders", "c") is None
    # The newer key follows `case-sensitive` (the code of TiCDC v8.5.8).
    assert len(changefeed.update_only_columns("shop", "Orders")) == 1


def test_a_file_is_read_with_those_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "tables.txt").write_text("shop.*\n!shop.tmp_*\n", "utf-8")
    path = tmp_path / "changefeed.toml"
    path.write_text('[filter]\nrules = ["@tables.txt", "x.y"]\n', "utf-8")
    changefeed = load_changefeed_filter(path)
    assert changefeed.dml_verdict("shop", "tmp_1", "c") == (
        "rules[0] tables.txt:2: !shop.tmp_*"
    )
    assert changefeed.dml_verdict("x", "y", "c") is None


def test_a_file_that_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FilterError, match=r"^none\.toml:1: Expected a configuration"):
        load_changefeed_filter(tmp_path / "none.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff")
    with pytest.raises(FilterError, match="it is not UTF-8"):
        load_changefeed_filter(tmp_path / "x.toml")


ERRORS = [
    ("[filter\n", 1, "Expected TOML, got an error"),
    ("a = 1\n\nb = [1,", 3, "Expected TOML, got an error"),
    ("\ncase-sensitive = 'no'\n", 2, "Expected true or false, got `no` - at `case-sensitive`"),
    ("filter = 1", 1, "Expected a section, got `1` - at `filter`"),
    ("[filter]\nrules = 'a.b'", 2, "Expected a list, got `a.b` - at `filter.rules`"),
    ("[filter]\nrules = ['a.b',\n# c\n  7]", 2, "Expected text, got `7` - at `filter.rules[1]`"),
    ("[filter]\nrules = ['a.b',\n# 'c'\n  'x',]", 4, "Expected `.` and a pattern for tables, got the end"),
    ("[filter]\nrule = []", 2, "Expected one of `rules`, `ignore-txn-start-ts`, `event-filters`, got `rule`"),
    ("[filter]\n[filter.do-tables]\nx = 1", 2, "got `do-tables` - at `filter.do-tables`"),
    ("[filter]\n\nignore-txn-start-ts = [447984084414103550]", 3, "Expected none, as no message carries the start ts"),
    ("[filter]\nrules = ['@none.txt']", 2, "no file may be named here"),
    ("[filter]\nevent-filters = [1]", 2, "Expected a table, got `1` - at `filter.event-filters[0]`"),
    ("[[filter.event-filters]]\nignore-event = []", 1, "Expected rules for the tables it is for"),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\nignore = []", 3, "got `ignore` - at `filter.event-filters[0].ignore`"),
    ("[[filter.event-filters]]\nmatcher = ['a.b.c']", 2, "got `.c` - in rule `a.b.c` - at `filter.event-filters[0].matcher[0]`"),
    (
        ("[[filter.event-filters]]\nmatcher = ['a.b']\n\n[[filter.event-filters]]\nmatcher = ['c.d']\n"
        "ignore-event = [\n  'insert',\n  'Update',\n]"),
        8,
        "got `Update` - at `filter.event-filters[1].ignore-event[1]`",
    ),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\nignore-event = ['none']", 3, "Expected one of `all dml`, `all ddl`, `insert`"),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\nignore-sql = ['x', '(y']", 3, "`)` is missing, at 3 - at `filter.event-filters[0].ignore-sql[1]`"),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\nignore-sql = ['\\d(?!x)']", 3, "RE2 has no look-around"),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\nignore-insert-value-expr = 'a ='", 3, "Expected an expression, got `a =`"),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\nignore-delete-value-expr = 'rand() > 1'", 3, "got `RAND()`"),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\nignore-delete-value-expr = ['a']", 3, "Expected text, got `['a']`"),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\nignore-update-only-columns = 'a'", 3, "Expected a list, got `a`"),
    ("[ filter . event-filters ]\nx = 1", 1, "Expected a list"),
    ("[[filter.event-filters]]\nmatcher = ['a.b']\n[[filter.event-filters]]\nignore-sql = ['x']", 3, "Expected rules for the tables it is for"),
    ("[filter]\nrules = ['a.b', 7]\n[[filter.event-filters]]\nmatcher = ['x']", 2, "Expected text, got `7`"),
    ('["filter"]\n"rules" = ["x"]', 2, "Expected `.`"),
    ("filter.rules = ['a.b', 'x']", 1, "Expected `.`"),
    ("a = 1\nfilter = { rules = ['x'] }", 2, "Expected `.`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), ERRORS)
def test_an_error_names_the_line_and_what_was_expected(
    text: str, line: int, message: str
) -> None:
    with pytest.raises(FilterError, match=re.escape(message)) as raised:
        parse_changefeed_filter(text, file="cf.toml")
    assert raised.value.line == line
    assert str(raised.value).startswith(f"cf.toml:{line}: Expected ")


def test_an_expression_that_a_table_refuses_names_its_line() -> None:
    (value,) = event_filter("a.b", "ignore-delete-value-expr = 'x = 1'").value_rules(
        "a", "b"
    )
    with pytest.raises(
        FilterError, match=r"changefeed\.toml:6: Expected one of the col"
    ):
        value.to_sql({})
    columns = {"x": ColumnOfTable(parse_mysql_type("int"), "before.x")}
    assert value.to_sql(columns) == "coalesce(before.x = 1, false)"


# --- Row changes ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ignored", "op", "is_ignored"),
    [
        ("['insert']", "c", True),
        ("['insert']", "u", False),
        ("['update', 'delete']", "u", True),
        ("['update', 'delete']", "d", True),
        ("['all dml']", "c", True),
        ("['all ddl', 'drop table']", "c", False),
        ("[]", "c", False),
    ],
)
def test_row_changes_are_ignored_by_their_type(
    ignored: str, op: str, is_ignored: bool
) -> None:
    changefeed = event_filter("a.b", f"ignore-event = {ignored}")
    assert (changefeed.dml_verdict("a", "b", op) is not None) is is_ignored
    assert changefeed.dml_verdict("a", "c", op) is None


def test_text_of_statements_is_not_asked_for_row_changes() -> None:
    changefeed = event_filter("a.b", "ignore-sql = ['']")
    assert changefeed.dml_verdict("a", "b", "c") is None


def test_an_op_that_ticdc_does_not_send_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expected `c`, `u` or `d` as op, got `r`"):
        parse_changefeed_filter("").dml_verdict("a", "b", "r")


def test_the_first_filter_that_says_ignore_decides() -> None:
    changefeed = parse_changefeed_filter(
        "[[filter.event-filters]]\nmatcher = ['*.*', '!a.b']\nignore-event = ['insert']\n"
        "[[filter.event-filters]]\nmatcher = ['a.*']\nignore-event = ['all dml']\n"
        "[[filter.event-filters]]\nmatcher = ['a.b']\nignore-event = ['insert']\n"
    )
    assert changefeed.dml_verdict("a", "b", "c") == (
        "event-filters[1].ignore-event: all dml"
    )


# --- DDL --------------------------------------------------------------------------


def verdict(changefeed: ChangefeedFilter, sql: str, database: str, table: str) -> str:
    """Return what becomes of a statement that renames nothing."""
    statement = parse_ddl(sql, database)
    return changefeed.ddl_verdict(statement, database, table, sql=sql)[0]


def test_an_ignored_table_is_replicated_and_a_discarded_one_is_not() -> None:
    changefeed = event_filter(
        "test.worker", "ignore-event = ['create table']", rules="'test.*'"
    )
    sql = "CREATE TABLE worker (a INT)"
    assert verdict(changefeed, sql, "test", "worker") == "ignore"
    assert changefeed.dml_verdict("test", "worker", "c") is None
    assert verdict(changefeed, sql, "other", "worker") == "discard"
    assert verdict(changefeed, "DROP TABLE worker", "test", "worker") == "send"


@pytest.mark.parametrize(
    ("lines", "matcher", "sql", "table", "expected"),
    [
        # the examples of section 7.2
        ("ignore-sql = ['MODIFY COLUMN', 'DROP COLUMN', '^DROP DATABASE']", "*.t1", "ALTER TABLE t1 DROP COLUMN age", "t1", "ignore"),
        ("ignore-sql = ['MODIFY COLUMN', 'DROP COLUMN', '^DROP DATABASE']", "*.t1", "DROP DATABASE test", "", "ignore"),
        ("ignore-sql = ['MODIFY COLUMN', 'DROP COLUMN', '^DROP DATABASE']", "*.t1", "Drop Index i1 on test3.t1", "t1", "send"),
        ("ignore-event = ['alter table', 'drop table']", "test.*", "drop index i on t1", "t1", "ignore"),
        ("ignore-event = ['alter table', 'drop table']", "test.*", "drop table t1", "t1", "ignore"),
        ("ignore-event = ['alter table', 'drop table']", "test.*", "create table t2(age int)", "t2", "send"),
        # found anywhere, in any case, unless anchored
        ("ignore-sql = ['add column']", "test.*", "ALTER TABLE t ADD COLUMN a INT", "t", "ignore"),
        ("ignore-sql = ['^add column']", "test.*", "ALTER TABLE t ADD COLUMN a INT", "t", "send"),
        ("ignore-sql = ['(drop', 'truncate)\\s']", "test.*", "TRUNCATE TABLE t", "t", "ignore"),
        ("ignore-event = ['all ddl']", "test.*", "DROP VIEW v", "v", "ignore"),
        ("ignore-event = ['all dml']", "test.*", "DROP VIEW v", "v", "send"),
        ("ignore-event = ['create schema']", "test.*", "CREATE DATABASE test", "", "ignore"),
        ("ignore-event = ['create database']", "test.t", "CREATE DATABASE test", "", "ignore"),
        ("ignore-event = ['create database']", "other.*", "CREATE DATABASE test", "", "send"),
        ("ignore-event = ['add column']", "test.*", "ALTER TABLE t ADD a INT, ADD b INT", "t", "send"),
        ("ignore-event = ['add column']", "test.*", "ALTER TABLE t SHARD_ROW_ID_BITS = 4", "t", "discard"),
        ("ignore-event = ['all ddl']", "test.*", "CREATE SEQUENCE s", "s", "discard"),
    ],
)  # fmt: skip
def test_statements_are_ignored_by_type_or_text(
    lines: str, matcher: str, sql: str, table: str, expected: str
) -> None:
    changefeed = event_filter(matcher, lines)
    assert verdict(changefeed, sql, "test", table) == expected


def test_a_verdict_names_its_rule() -> None:
    lines = "ignore-event = ['drop table']\nignore-sql = ['^create', '^alter']"
    changefeed = event_filter("a.*", lines, rules="'a.*', '!a.x'")

    def rule(event_type: str | None, table: str, sql: str = "") -> tuple[str, str]:
        return changefeed.ddl_verdict(event_type, "a", table, sql=sql)

    assert rule("drop table", "t") == (
        "ignore",
        "event-filters[0].ignore-event: drop table",
    )
    assert rule("create table", "t", "CREATE TABLE t") == (
        "ignore",
        "event-filters[0].ignore-sql: ^create|^alter",
    )
    assert rule("truncate table", "t", "TRUNCATE t") == ("send", "rules[0]: a.*")
    assert rule("truncate table", "x") == ("discard", "rules[1]: !a.x")
    assert rule("create database", "") == ("send", "rules[0]: a.*")
    assert rule(None, "t") == ("discard", "no DDL that TiCDC replicates")


def test_ddl_of_a_database_follows_the_rules_for_databases() -> None:
    changefeed = parse_changefeed_filter("[filter]\nrules = ['schema.C1', '!no.*']")
    for event_type in ("create database", "drop database"):
        assert changefeed.ddl_verdict(event_type, "schema")[0] == "send"
        assert changefeed.ddl_verdict(event_type, "no")[0] == "discard"
        assert changefeed.ddl_verdict(event_type, "sys") == (
            "discard",
            "system database",
        )
    assert changefeed.ddl_verdict("create table", "schema", "c1")[0] == "send"
    assert changefeed.ddl_verdict("create table", "schema", "")[0] == "discard"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("shop.a", "shop.b", ("send", "rules[0]: shop.*")),
        ("shop.a", "other.a", ("send", "rules[0]: shop.*")),
        ("other.a", "other.b", ("discard", "no rule matches")),
        ("other.a", "shop.a", ("stop", "renamed into the rules, rules[0]: shop.*")),
        ("shop.t1", "shop.t2", ("ignore", "event-filters[0].ignore-event: all ddl")),
        ("shop.t2", "shop.t1", ("send", "rules[0]: shop.*")),
        ("shop.t1", "other.t1", ("ignore", "event-filters[0].ignore-event: all ddl")),
    ],
)
def test_a_rename_is_judged_by_the_old_name(
    old: str, new: str, expected: tuple[str, str]
) -> None:
    changefeed = event_filter("*.t1", "ignore-event = ['all ddl']", rules="'shop.*'")
    old_database, old_table = old.split(".")
    found = changefeed.ddl_verdict(
        parse_ddl(f"RENAME TABLE {old} TO {new}", "d"),
        *new.split("."),
        old=(old_database, old_table),
    )
    assert found == expected


def test_a_ddl_that_can_not_be_judged_is_an_error() -> None:
    changefeed = parse_changefeed_filter("")
    with pytest.raises(ValueError, match="Expected the names before a rename in `old`"):
        changefeed.ddl_verdict("rename table", "a", "b")
    with pytest.raises(ValueError, match="Expected an event type of DDL, got `insert`"):
        changefeed.ddl_verdict("insert", "a", "b")
    with pytest.raises(ValueError, match="Expected a statement that is understood"):
        changefeed.ddl_verdict(parse_ddl("what", "d"), "a", "b")


@pytest.mark.parametrize("event_type", DDL_TYPES)
def test_every_type_is_sent_unless_a_rule_says_otherwise(event_type: str) -> None:
    for lines, expected in (("", "send"), ("ignore-event = ['all ddl']", "ignore")):
        changefeed = event_filter("*.*", lines)
        found = changefeed.ddl_verdict(event_type, "a", "b", old=("a", "c"))
        assert found[0] == expected


# --- Updates of some columns only -------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "columns", "keys", "is_ignored"),
    [
        (["version"], ["version"], ["id"], True),
        (["version", "name"], ["version"], ["id"], False),
        (["version", "name"], ["version", "name", "none"], ["id"], True),
        (["version", "id"], ["version", "id"], ["id"], False),
        (["version"], ["VERSION"], ["id"], True),
        (["version"], ["none"], ["id"], False),
        ([], ["version"], ["id"], True),
        ([], ["none"], ["id"], False),
    ],
)
def test_an_update_of_these_columns_only_is_ignored(
    changed: list[str], columns: list[str], keys: list[str], is_ignored: bool
) -> None:
    before = {"id": "1", "name": None, "version": "1"}
    after = before | dict.fromkeys(changed, "2")
    rule = UpdateOnlyColumns("r", tuple(columns), case_sensitive=False)
    sql = rule.to_sql(
        {name: f"before_{name}" for name in before},
        {name: f"after_{name}" for name in before},
        frozenset(keys),
    )
    row = {f"before_{name}": value for name, value in before.items()}
    row |= {f"after_{name}": value for name, value in after.items()}
    assert evaluate(sql, row) is is_ignored


def test_names_of_columns_have_case_if_the_changefeed_says_so() -> None:
    text = "case-sensitive = true\n[[filter.event-filters]]\nmatcher = ['a.b']\n"
    changefeed = parse_changefeed_filter(text + "ignore-update-only-columns = ['V']")
    (rule,) = changefeed.update_only_columns("a", "b")
    assert rule.rule == "event-filters[0].ignore-update-only-columns"
    assert rule.to_sql({"v": "x"}, {"v": "y"}) == "false"
    assert rule.to_sql({"V": "x"}, {"V": "y"}) == "true"
    assert rule.to_sql({"V": "x", "w": "p"}, {"V": "y", "w": "q"}) == "p <=> q"
    assert changefeed.update_only_columns("a", "c") == ()


# --- Any file ---------------------------------------------------------------------


@settings(deadline=None)
@given(
    before=st.lists(st.sampled_from(["", "# rules = ['x']", "[sink]\nrules = ['a']"])),
    rules=st.lists(
        st.sampled_from(["'a.b'", '"c.d"', "'''e.f'''", '"""g.h"""']), min_size=1
    ),
    breaks=st.lists(st.sampled_from(["", "\n", "\n# 'x'\n", "\r\n"]), min_size=1),
)
def test_an_error_in_a_list_is_found_at_its_line(
    before: list[str], rules: list[str], breaks: list[str]
) -> None:
    head = [text for number, text in enumerate(before) if text not in before[:number]]
    text = "\n".join([*head, "[filter]", "rules = ["])
    for number, rule in enumerate(rules):
        text += breaks[number % len(breaks)] + rule + ","
    text += "\n"
    line = text.count("\n") + 1
    with pytest.raises(FilterError) as raised:
        parse_changefeed_filter(text + "'wrong']")
    assert raised.value.line == line
    assert f"filter.rules[{len(rules)}]" in raised.value.message
