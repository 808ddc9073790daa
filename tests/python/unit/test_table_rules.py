import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_conditions import evaluate

from changefold.changefeed.table_rules import (
    SYSTEM_DATABASES,
    TableRules,
    is_system_database,
    parse_table_rules,
)


def rules(*texts: str, case_sensitive: bool = True, system: bool = False) -> TableRules:
    parsed = [
        rule
        for number, text in enumerate(texts)
        for rule in parse_table_rules(text, f"rules[{number}]")
    ]
    return TableRules(tuple(parsed), case_sensitive, refuses_system=system)


def in_sql(table_rules: TableRules, database: str, table: str | None) -> object:
    sql = table_rules.to_sql("d", None if table is None else "t")
    return evaluate(sql, {"d": database, "t": table})


# The table of the documentation, and the cases of TiDB's own description of the rules.
TABLES: list[tuple[list[str], list[str], list[str]]] = [
    (["*.*"], ["foo.bar", "a.b"], []),
    (["foo.*"], ["foo.bar"], ["foo1.bar", "foo2.bar"]),
    (["*.*", "!foo1.*"], ["foo.bar", "foo2.bar"], ["foo1.bar"]),
    (["*.*", "!foo.bar"], ["foo.bar1", "fff.bar1"], ["foo.bar"]),
    (["foo.bar1"], ["foo.bar1"], ["foo.bar", "fff.bar1"]),
    (
        ["sns.*", "ecom.*", "!sns.log", "!ecom.test"],
        ["ecom.order", "sns.user"],
        ["sns.log", "ecom.test", "other.what"],
    ),
    (
        ["*.*", "!test.season", "school.*", "!school.teacher"],
        ["school.student", "other.x"],
        ["test.season", "school.teacher"],
    ),
    (
        ["db*.*", "!*.cfg*", "*.cfgsample"],
        ["db1.tbl1", "db1.cfgsample", "else.cfgsample"],
        ["db1.cfg1", "irrelevant.table"],
    ),
    (
        ["/^foo/.*", r"!/^foo/./^sbtest-\d/"],
        ["foo.sbtest"],
        ["foo1.sbtest-1", "fff.bar"],
    ),
    (["/^foo/.*"], ["foo1.x"], ["xfoo.x"]),
    (["/t[0-8]/.*"], ["xt1y.x"], ["t9.x"]),
    (["*.*", "!a?b?./f[0-9]/"], ["aaaa.f2", "abbc.fa"], ["abbd.f1"]),
    (["*.*", "!S.D[!a-d]"], ["S.Da", "S.Db", "S.Daa"], ["S.D1"]),
    (["*.*", "!S.D[a-d]"], ["S.D1", "S.Daa"], ["S.Da", "S.Db"]),
    (["[!a-z].[^a-z]"], ["!.z", "!.^", "1.z", "1.^"], ["!.9", "a.z", "1.9"]),
    (["p_123$.45"], ["p_123$.45"], ["p_123.45"]),
    (["schema.C1"], ["schema.C1"], ["schema."]),
    (["# comment", "x.y", "   \t", ""], ["x.y"], ["y.y"]),
    ([" \tx.y\t "], ["x.y"], []),
    (["中文.表名"], ["中文.表名"], ["英文.表名"]),
    (["a.b?"], ["a.b😀", "a.b\n", "a.bb"], ["a.b", "a.b😀😀"]),
    (["a.*x"], ["a.x", "a.\nx", "a.😀x"], ["a.xy"]),
    ([r'"some ""quoted""".`identi``fiers?`'], [], ["some.identi`fiers?"]),
    (["a.`b%_c`"], ["a.b%_c"], ["a.bxxc"]),
    ([r"a.b\%*"], ["a.b%", "a.b%c"], ["a.bc"]),
    ([r"a.b\_*"], ["a.b_c"], ["a.bxc"]),
    ([r"a.\\*"], ["a.\\", "a.\\x"], ["a.x"]),
    ([r"a.[\]x]"], ["a.]", "a.x"], ["a.\\"]),
    (["a.[.x]*"], ["a.xy"], ["a.y"]),
    ([r"/a\/b/.*"], ["a/b.x"], ["ab.x"]),
    (["*.*", "!a.*"], ["b."], ["a."]),
    (["a.?"], [], ["a."]),
    (["!*.*"], [], ["a.b"]),
    ([], [], ["a.b"]),
]


@pytest.mark.parametrize(("texts", "accepted", "refused"), TABLES)
def test_the_last_rule_that_matches_decides(
    texts: list[str], accepted: list[str], refused: list[str]
) -> None:
    table_rules = rules(*texts)
    for expected, names in ((True, accepted), (False, refused)):
        for name in names:
            database, table = name.split(".", maxsplit=1)
            assert table_rules.accepts(database, table) is expected, name
            assert in_sql(table_rules, database, table) is expected, name


def test_quotes_inside_quotes_are_doubled() -> None:
    table_rules = rules('"some ""quoted""".`identi``fiers?`')
    assert table_rules.accepts('some "quoted"', "identi`fiers?")
    assert not table_rules.accepts('some ""quoted""', "identi`fiers?")
    assert not table_rules.accepts('some "quoted"', "identi`fiersx")
    assert rules('".".`.`').accepts(".", ".")


@pytest.mark.parametrize(
    ("texts", "accepted", "refused"),
    [
        (["BAR.*"], ["bar.a", "BAR.a"], []),
        (["*.*", "!a*.A*"], [], ["aB.Ab", "AaB.aab", "acB.Afb"]),
        (
            ["*.*", "!/^FOO/.*", "!*./FoO$/"],
            ["5.5"],
            ["FOO1.a", "foo2.b", "BoO3.cFoO", "Foo4.dfoo"],
        ),
        (['"SOME x".`Y?`'], ["some X.y?"], ["some x.yy"]),
        (["S.ΟΔΟΣ"], ["s.οδοσ", "S.Οδοσ"], ["s.οδος"]),
        (["s.*\u03c3"], ["s.Σ", "s.ς"], ["s.o"]),
        (["s.ti?"], ["s.T\u0130X", "s.tiΣ"], ["s.ti"]),
        (["s.\u0130*"], [], ["s.i", "s.I", "s.\u0130"]),
        (["[A-C].x"], ["b.X"], ["d.x"]),
        (["/[^A-C]/.*"], ["d.x"], ["b.x"]),
    ],
)
def test_without_case_names_and_rules_compare_in_lower_case(
    texts: list[str], accepted: list[str], refused: list[str]
) -> None:
    table_rules = rules(*texts, case_sensitive=False)
    for expected, names in ((True, accepted), (False, refused)):
        for name in names:
            database, table = name.split(".", maxsplit=1)
            assert table_rules.accepts(database, table) is expected, name
            assert in_sql(table_rules, database, table) is expected, name


@pytest.mark.parametrize(
    ("texts", "accepted", "refused"),
    [
        (["*.*"], ["foo"], []),
        (["foo.*"], ["foo"], ["foo1"]),
        (["*.*", "!foo1.*"], ["foo"], ["foo1"]),
        (["foo.bar1"], ["foo"], ["foo1"]),
        (["*.*", "!foo.bar"], ["foo", "foo1"], []),
        (["/^foo/.*", r"!/^foo/./^sbtest-\d/"], ["foo", "foo2"], ["bar"]),
        (["*.*", "!FOO*.*", "!*.*FoO"], ["foo", "foobar", "bar"], ["FOO", "FOOBAR"]),
        (["*.*", "!foo.**"], ["foo"], []),
        (["schema.C1"], ["schema"], ["other"]),
        (["!foo.*", "foo.bar"], ["foo"], []),
        ([], [], ["foo"]),
    ],
)
def test_a_database_is_refused_only_with_all_its_tables(
    texts: list[str], accepted: list[str], refused: list[str]
) -> None:
    table_rules = rules(*texts)
    for expected, names in ((True, accepted), (False, refused)):
        for name in names:
            assert table_rules.accepts_database(name) is expected, name
            assert in_sql(table_rules, name, None) is expected, name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.b.c", "the end of the rule behind the pattern for tables, got `.c`"),
        ("a%b.c", "no special character, except in quotes or behind `\\`, got `%b.c`"),
        (
            r"a\tb.c",
            "a character behind `\\` that is no letter and no digit, got `tb.c`",
        ),
        ("[].*", "a class of characters such as `[a-d]` or `[!a-d]`, got `[].*`"),
        ("[.*", "a class of characters such as `[a-d]` or `[!a-d]`, got `[.*`"),
        ("[!].*", "a class of characters"),
        (r"[\d\D].*", "a class of characters"),
        ("[z-a].*", "a range of a class goes upwards"),
        ("db", "`.` and a pattern for tables, got the end"),
        ("db.", "a pattern, got the end"),
        (".tbl", "a pattern, got `.tbl`"),
        ("`db`*.*", "`.` and a pattern for tables, got `*.*`"),
        ("/db.*", "a regular expression up to `/`, got `/db.*`"),
        ("//.*", "a regular expression up to `/`"),
        ("`db.*", "a name up to a backquote"),
        ('"db.*', 'a name up to `"`'),
        ("db\\", "a character behind `\\` that is no letter and no digit, got the end"),
        ("db.tbl#x", "no special character, except in quotes or behind `\\`, got `#x`"),
        ("/^t(?!x)/.*", "RE2 has no look-around, at 3"),
        ("/^t[0-9]+sp(?=copy).*/.*", "RE2 has no look-around"),
        ("!", "a pattern, got the end"),
        ("!!a.b", "no special character"),
        ("a b.c", "no special character"),
        ("@file", "a rule, got `@file`: no file may be named here"),
    ],
)
def test_a_rule_that_breaks_the_grammar_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        parse_table_rules(text, "rules[0]")
    assert str(raised.value).startswith("Expected ")


def test_a_decision_names_its_rule() -> None:
    table_rules = rules("shop.*", "# all but", "!shop.tmp_*", system=True)
    assert table_rules.decide("shop", "tmp_1").rule == "rules[2]: !shop.tmp_*"
    assert table_rules.decide("shop", "orders").rule == "rules[0]: shop.*"
    assert table_rules.decide("shop").rule == "rules[0]: shop.*"
    assert table_rules.decide("other", "orders").rule == "no rule matches"
    assert table_rules.decide("MySQL", "user").rule == "system database"


@pytest.mark.parametrize(
    "database",
    [
        *SYSTEM_DATABASES,
        *(name.upper() for name in SYSTEM_DATABASES),
        "\u0130NFORMATION_schema",
    ],
)
def test_system_databases_are_refused_whatever_the_rules_say(database: str) -> None:
    table_rules = rules("*.*", f"{database}.*", system=True)
    assert is_system_database(database)
    assert not table_rules.accepts(database, "t")
    assert not table_rules.accepts_database(database)
    assert in_sql(table_rules, database, "t") is False
    assert in_sql(table_rules, database, None) is False


def test_a_file_of_rules_is_read_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("# first\n\tdb?.tbl?\r\ndb02.tbl02\n", "utf-8")
    texts = ["@1.txt", "!db9.tbl9"]
    parsed = [
        rule
        for number, text in enumerate(texts)
        for rule in parse_table_rules(text, f"rules[{number}]", folder=tmp_path)
    ]
    table_rules = TableRules(tuple(parsed), case_sensitive=True)
    assert table_rules.accepts("db1", "tbl1")
    assert not table_rules.accepts("db01", "tbl01")
    assert table_rules.decide("db02", "tbl02").rule == ("rules[0] 1.txt:3: db02.tbl02")
    assert table_rules.decide("db9", "tbl9").rule == "rules[1]: !db9.tbl9"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# c\n\n@2.txt\n", "no file may be named here, line 3 of `1.txt`"),
        (b"a.b\na.b.c\n", "in rule `a.b.c`, line 2 of `1.txt`"),
        (b"\xff.a\n", "Expected a file of rules, got `1.txt`: it is not UTF-8"),
        (None, "Expected a file of rules, got `1.txt`: No such file or directory"),
    ],
)
def test_a_file_with_an_error_is_an_error(
    content: bytes | None, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "1.txt").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_table_rules("@1.txt", "rules[0]", folder=tmp_path)


def test_sql_is_one_case_with_the_last_rule_first() -> None:
    table_rules = rules(
        "shop.*", "!shop.tmp_*", r"/^a\.b$/.it\'s", system=True, case_sensitive=False
    )
    system, *lines = table_rules.to_sql("source_database", "source_table").split("\n")[
        1:
    ]
    assert system.startswith(
        "    when lower(translate(source_database, 'İ', 'i')) in ("
    )
    assert lines == [
        ("    when lower(translate(source_database, 'İΣ', 'i\u03c3')) rlike '^a\\\\.b\\\\z' "
        "and lower(translate(source_table, 'İ', 'i')) = 'it\\'s' then true"),
        ("    when lower(source_database) = 'shop' "
        "and lower(source_table) like 'tmp\\\\_%' then false"),
        "    when lower(source_database) = 'shop' then true",
        "    else false",
        "end",
    ]  # fmt: skip


def test_sql_is_as_short_as_the_rules_allow() -> None:
    assert rules("*.*").to_sql("d", "t") == "true"
    assert rules().to_sql("d", "t") == "false"
    assert rules("a.b", "*.*").to_sql("d", "t") == "true"
    assert rules("!a.b").to_sql("d", "t") == "false"
    assert rules("a.b", "!c.d").to_sql("d") == "\n".join(
        ["case", "    when d = 'a' then true", "    else false", "end"]
    )


LETTERS = "aAsSiIkK_$1\u0130\u017f\u212aΣ\u03c3ς\u0307é表😀"
NAMES = st.text(st.sampled_from(LETTERS + ".\n'\"\\`${}#*?[]!%\u2028"), max_size=5)
PLAIN = st.text(st.sampled_from(LETTERS), min_size=1, max_size=3)
PIECES = st.lists(st.sampled_from(["*", "?", "a", "[!s]", "[i-s]", r"\.", "\u03c3"]))
REGEXES = st.sampled_from(["^a", "s$", r"\bi", "[^k]", "a.", "(?i)S|é", r"\W", "^.?$"])


@st.composite
def patterns(draw: st.DrawFn, name: str) -> str:
    wildcard = draw(PLAIN) + "".join(draw(PIECES))
    quoted = draw(st.sampled_from([name, name.lower(), name + "x"])).replace("`", "``")
    regex = f"/{draw(REGEXES)}/"
    return draw(st.sampled_from(["*", wildcard, f"`{quoted or 'x'}`", regex]))


@settings(deadline=None)
@given(data=st.data(), database=NAMES, table=NAMES, case_sensitive=st.booleans())
def test_sql_decides_as_the_rules_do(
    data: st.DataObject, database: str, table: str, case_sensitive: bool
) -> None:
    rule = st.builds(
        "{}{}.{}".format,
        st.sampled_from(["", "!"]),
        patterns(database),
        patterns(table),
    )
    texts = data.draw(st.lists(rule, max_size=4))
    table_rules = rules(*texts, case_sensitive=case_sensitive, system=True)
    for name in (database, database.upper()):
        expected = table_rules.accepts(name, table)
        assert in_sql(table_rules, name, table) is expected
        assert in_sql(table_rules, name, None) is table_rules.accepts_database(name)


@settings(deadline=None)
@given(name=NAMES.filter(bool))
def test_a_quoted_name_matches_itself_alone(name: str) -> None:
    quoted = name.replace("`", "``")
    table_rules = rules(f"`{quoted}`.*")
    assert table_rules.accepts(name, "t")
    assert not table_rules.accepts(name + "x", "t")
    assert in_sql(table_rules, name, "t") is True
