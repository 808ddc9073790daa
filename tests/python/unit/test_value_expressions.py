import re
from collections.abc import Callable

import pytest
import sqlglot
from expression_cases import (
    BY_MYSQL,
    COLUMNS,
    INTEGER_CASES,
    NEVER,
    RENDERED,
    ROWS,
    STUDENT,
    STUDENT_CASES,
    TEXT_CASES,
    TIME_CASES,
    column,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from spark_conditions import evaluate

from changefold.changefeed.row_predicates import ColumnOfTable, render_expression
from changefold.mysql.expressions import parse_expression
from changefold.mysql.types import parse_mysql_type


def rendered(text: str, time_zone: str = "UTC") -> str:
    """Return the condition without the `coalesce` around it."""
    sql = render_expression(text, COLUMNS, time_zone=time_zone)
    found = re.fullmatch(r"coalesce\((.*), false\)", sql, re.S)
    assert found, sql
    return found[1]


@pytest.mark.parametrize(("text", "expected"), RENDERED)
def test_an_expression_becomes_a_condition(text: str, expected: str) -> None:
    assert rendered(text) == expected


def test_an_expression_that_is_null_never_holds() -> None:
    assert render_expression("null", {}) == "false"
    assert render_expression("1 + null", {}) == "false"


def test_instants_compare_in_the_zone_of_the_changefeed() -> None:
    assert rendered("stamp < '2024-01-31 10:00:00'", "Asia/Shanghai") == (
        "convert_timezone('UTC', 'Asia/Shanghai', cast(stamp as timestamp_ntz))"
        " < timestamp_ntz'2024-01-31 10:00:00'"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # what TiCDC refuses as well
        ("nope = 1", "Expected one of the columns"),
        ("id = ", "Expected an expression, got `id = `"),
        ("id = 'x", "Expected an expression"),
        ("id = 1) or (id = 2", "Expected one expression"),
        ("id = 1; id = 2", "Expected an expression"),
        ("id == 1", "it is `=` in MySQL"),
        ("id age", "it is not supported"),
        # what has no certain value
        ("id in (select 1)", "a subquery"),
        ("exists (select 1)", "a subquery"),
        ("count(id) > 1", "an aggregate"),
        ("sum(id) over () > 1", "a window function"),
        ("@x = 1", "a variable"),
        ("@@x = 1", "a variable"),
        ("id = ?", "a parameter"),
        ("rand() > 0.5", "not the same each time"),
        ("uuid() = name", "not the same each time"),
        ("sleep(1)", "not the same each time"),
        ("now() > at", "not the same each time"),
        ("current_timestamp > at", "not the same each time"),
        ("id = 1 -- c", "a comment may hold code"),
        ("id /*! + 1 */ = 1", "a comment may hold code"),
        # what could differ
        ("upper(name) = 'X'", "Spark writes some letters"),
        ("orders.id = 1", "a column is named without its table"),
        ("document->'$.a' = 1", "it may not give the same in Spark"),
        ("binary name = 'x'", "types are not converted here"),
        ("case when id then 1 end", "it may not give the same in Spark"),
        ("amount", "only a condition or an integer is the integer 1"),
        ("1.0", "only a condition or an integer is the integer 1"),
        ("name", "only a condition or an integer is the integer 1"),
        ("flags", "only a condition or an integer is the integer 1"),
        ("name and id", "only numbers and conditions are true or false"),
        ("id = '5x'", "it is no plain number"),
        ("id + '5' = 6", "it is no number"),
        ("tags = 3", "it is no number"),
        ("gender + 1 = 2", "it is no number"),
        ("id between '1' and '2'", "a number between texts"),
        ("year_ = 24", "a year of two digits"),
        ("year_ in (2024, '70')", "a year of two digits"),
        ("amount / 3 > 1", "TiDB cuts the quotient"),
        ("id / age > 1", "TiDB cuts the quotient"),
        ("id div age = 1", "DIV takes an integer, and a literal above 1"),
        ("amount div 2 = 1", "DIV takes an integer"),
        ("id << age", "bits are shifted by a literal"),
        ("amount & 1", "only integers have bits here"),
        ("too_wide > 1", "values of such types do not compare"),
        ("wide * 2 > 1", "decimals of Spark end at 38 digits"),
        ("wide = 1e30 + unsigned_big * unsigned_big", "decimals of Spark end at 38"),
        ("amount = x'41'", "bits compare with integers only"),
        ("name = x'41'", "values of such types do not compare"),
        ("span = '10:00:00'", "values of such types do not compare"),
        ("document = '{}'", "values of such types do not compare"),
        ("padded = 'a'", "values of such types do not compare"),
        ("day_ = 20240131", "values of such types do not compare"),
        ("day_ = '20240131'", "a time is `2024-01-31`"),
        ("day_ = '2024-02-30'", "no calendar has it"),
        ("day_ = '0000-00-00'", "no calendar has it"),
        ("day_ = name", "a time compares with a quoted time only"),
        ("year(name) = 1", "this function takes a date or time"),
        ("'a' = 'A'", "there is no column"),
        ("name = exact", "their collations differ"),
        ("other = 'x'", "collation `gbk_chinese_ci` is not known here"),
        ("status = 'é'", "with ASCII text only"),
        ("status < 'x'", "with ASCII text only"),
        ("status = concat(status, 'x')", "with ASCII text only"),
        ("status like 'x%'", "patterns are for text that compares by bytes"),
        ("status regexp 'x'", "patterns are for text that compares by bytes"),
        ("id like '1%'", "patterns are for text that compares by bytes"),
        ("name like concat(name, '%')", "a pattern is quoted text"),
        (r"name like 'a!b' escape '!'", "read this escape differently"),
        ("name regexp 'a(?=b)'", "RE2 has no look-around"),
        ("name regexp ''", "a pattern is quoted text"),
        ("substring(name, 0) = 'a'", "expected a literal from 1 on"),
        ("substring(name, -2) = 'a'", "expected a literal from 1 on"),
        ("trim(both 'x' from name) = ''", "it may not give the same in Spark"),
        ("coalesce(id, name) = 1", "values of one type are expected"),
        ("if(id, day_, at) is null", "values of one type are expected"),
    ],
)  # fmt: skip
def test_what_might_differ_is_refused_with_a_sentence(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        render_expression(text, COLUMNS)
    assert str(raised.value).startswith("Expected ")
    assert text in str(raised.value)


def test_an_enum_without_known_members_is_refused() -> None:
    columns = {"e": ColumnOfTable(parse_mysql_type("enum", declared=False), "e")}
    with pytest.raises(ValueError, match="values of such types do not compare"):
        render_expression("e = 'x'", columns)


@pytest.mark.parametrize(("text", "age", "gender", "is_ignored"), STUDENT_CASES)
def test_the_example_of_the_documentation(
    text: str, age: int | None, gender: str, is_ignored: bool
) -> None:
    sql = render_expression(text, STUDENT)
    assert evaluate(sql, {"age": age, "gender": gender}) is is_ignored


@pytest.mark.parametrize(("text", "value", "expected"), INTEGER_CASES)
def test_integers_are_those_of_mysql(
    text: str, value: int | None, expected: bool
) -> None:
    sql = render_expression(text, {"a": column("int", "a")})
    assert evaluate(sql, {"a": value}) is expected


@pytest.mark.parametrize(("text", "value", "expected"), TEXT_CASES)
def test_text_is_compared_as_tidb_compares_it(
    text: str, value: str | None, expected: bool
) -> None:
    sql = render_expression(text, {"a": column("varchar(9)", "a")})
    assert evaluate(sql, {"a": value}) is expected


@pytest.mark.parametrize(("text", "expected"), TIME_CASES)
def test_times_and_decimals_are_compared_by_value(text: str, *, expected: bool) -> None:
    assert evaluate(render_expression(text, COLUMNS), ROWS[0]) is expected


def test_each_expression_of_the_table_holds_somewhere_and_not_everywhere() -> None:
    for text, _ in RENDERED:
        if text not in BY_MYSQL:
            sql = render_expression(text, COLUMNS)
            held = [evaluate(sql, row) for row in ROWS]
            assert (True in held) is (text not in NEVER), text
            assert False in held or text == "true", text


# --- Random conditions over integers ----------------------------------------------

Number = int | None
Evaluated = Callable[[dict[str, Number]], Number]


def _lifted(apply: Callable[[int, int], int]) -> Callable[[Number, Number], Number]:
    """Make an operator NULL if a side is."""
    return lambda a, b: None if a is None or b is None else int(apply(a, b))


def _and(a: Number, b: Number) -> Number:
    if 0 in (a, b):
        return 0
    return None if a is None or b is None else 1


def _not(a: Number) -> Number:
    return None if a is None else int(a == 0)


def _or(a: Number, b: Number) -> Number:
    return _not(_and(_not(a), _not(b)))


BINARY: dict[str, Callable[[Number, Number], Number]] = {
    "=": _lifted(lambda a, b: a == b),
    "<>": _lifted(lambda a, b: a != b),
    "<": _lifted(lambda a, b: a < b),
    ">=": _lifted(lambda a, b: a >= b),
    "<=>": lambda a, b: int(a == b),
    "and": _and,
    "&&": _and,
    "or": _or,
    "||": _or,
    "xor": _lifted(lambda a, b: (a == 0) != (b == 0)),
    "+": _lifted(lambda a, b: a + b),
    "-": _lifted(lambda a, b: a - b),
    "*": _lifted(lambda a, b: a * b),
}


@st.composite
def expressions(draw: st.DrawFn, depth: int = 0) -> tuple[str, Evaluated]:
    """Draw an expression in parentheses, and what MySQL says it is."""
    if depth == 3 or draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(["a", "b", "c"]))
        number = draw(st.one_of(st.none(), st.integers(-3, 3)))
        if draw(st.booleans()):
            return name, lambda row: row[name]
        return "null" if number is None else str(number), lambda _row: number
    left, left_value = draw(expressions(depth + 1))
    kind = draw(st.sampled_from([*BINARY, "not", "is null", "between", "in", "if"]))
    if kind == "not":
        return f"(not {left})", lambda row: _not(left_value(row))
    if kind == "is null":
        return f"({left} is null)", lambda row: int(left_value(row) is None)
    right, right_value = draw(expressions(depth + 1))
    if kind in BINARY:
        return (
            f"({left} {kind} {right})",
            lambda row: BINARY[kind](left_value(row), right_value(row)),
        )
    other, other_value = draw(expressions(depth + 1))

    def value(row: dict[str, Number]) -> Number:
        first, second, third = left_value(row), right_value(row), other_value(row)
        if kind == "between":
            return _and(BINARY[">="](first, second), BINARY[">="](third, first))
        if kind == "in":
            return _or(BINARY["="](first, second), BINARY["="](first, third))
        return second if first else third

    forms = {
        "between": f"({left} between {right} and {other})",
        "in": f"({left} in ({right}, {other}))",
        "if": f"if({left}, {right}, {other})",
    }
    return forms[kind], value


@settings(deadline=None)
@given(
    drawn=expressions(),
    row=st.fixed_dictionaries(
        {name: st.one_of(st.none(), st.integers(-3, 3)) for name in "abc"}
    ),
)
def test_a_condition_over_integers_holds_as_in_mysql(
    drawn: tuple[str, Evaluated], row: dict[str, Number]
) -> None:
    text, value = drawn
    columns = {name: column("bigint", name) for name in "abc"}
    try:
        sql = render_expression(text, columns)
    except ValueError as error:
        assert "values of one type" in str(error)  # noqa: PT017 - IF of two NULLs
        return
    assert evaluate(sql, row) is (value(row) == 1)


@settings(deadline=None)
@given(text=st.text("aid ='\"1.%()<>&|!-+/*`\\,\n", max_size=12))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    try:
        parse_expression(text)
        sql = render_expression(text, COLUMNS)
    except ValueError as error:
        assert str(error).startswith("Expected ")  # noqa: PT017 - either is right
    else:
        sqlglot.parse_one(sql, read="spark")
