import pytest
from hypothesis import given
from hypothesis import strategies as st

from changefold.mysql.conversion import convert_value
from changefold.mysql.text_changes import may_change_text
from changefold.mysql.types import parse_mysql_type


def convert(value: str, from_type: str, to_type: str, **options: bool) -> str | None:
    return convert_value(
        value, parse_mysql_type(from_type), parse_mysql_type(to_type), **options
    )


CONVERSIONS = [
    # numbers
    ("12", "int", "bigint unsigned", "12"),
    ("1", "tinyint(1)", "int", "1"),
    ("12", "int", "decimal(6,2)", "12.00"),
    ("1.005", "decimal(4,3)", "decimal(4,2)", "1.01"),
    ("-1.005", "decimal(4,3)", "decimal(4,2)", "-1.01"),
    ("-0.004", "decimal(4,3)", "decimal(4,2)", "0.00"),
    ("12.50", "decimal(12,2)", "decimal(14,4)", "12.5000"),
    ("9" * 65, "varchar(65)", "decimal(65,0)", "9" * 65),
    ("2.5", "decimal(3,1)", "int", "3"),
    ("-2.5", "decimal(3,1)", "int", "-3"),
    ("2.5", "double", "int", "2"),
    ("18446744073709551615", "bigint unsigned", "decimal(20,0)", "1844674407" + "3709551615"),
    ("0.1", "float", "double", "0.10000000149011612"),
    ("0.1", "float", "varchar(9)", "0.1"),
    ("16777217", "int", "float", "16777216"),
    ("100000000000000000000", "double", "varchar(40)", "100000000000000000000"),
    ("1e3", "varchar(9)", "int", "1000"),
    (" 12.5 ", "text", "int", "13"),
    ("1.25", "double", "double(10,1)", "1.2"),
    ("3", "bit(3)", "int", "3"),
    ("7", "int", "bit(3)", "7"),
    ("1", "varchar(2)", "bit(8)", "49"),
    ("97", "bit(8)", "varchar(2)", "a"),
    ("97", "bit(12)", "varbinary(2)", "\0a"),
    ("2020", "year", "int", "2020"),
    ("0", "year", "varchar(4)", "0000"),
    ("70", "int", "year", "1970"),
    ("0", "int", "year", "0"),
    ("0", "varchar(3)", "year", "2000"),
    ("2021-05-06", "date", "year", "2021"),
    # text and bytes
    ("12", "int", "varchar(10)", "12"),
    ("1.50", "decimal(4,2)", "text", "1.50"),
    ("abc  ", "varchar(9)", "varchar(4)", "abc "),
    ("abc  ", "varchar(9)", "char(9)", "abc"),
    ("é", "varchar(2)", "varbinary(4)", "Ã©"),
    ("Ã©", "varbinary(4)", "varchar(2)", "é"),
    ("ab", "varchar(2)", "binary(4)", "ab\0\0"),
    ("ab\0\0", "binary(4)", "varbinary(4)", "ab\0\0"),
    # ENUM and SET
    ("2", "enum('a','b')", "varchar(3)", "b"),
    ("0", "enum('a','b')", "varchar(3)", ""),
    ("2", "enum('a','b')", "int", "2"),
    ("2", "enum('a','b')", "enum('b','a')", "1"),
    ("2", "enum('u','v')", "enum('u','v','w')", "2"),
    ("0", "enum('a')", "enum('b','a')", "0"),
    ("b", "varchar(3)", "enum('a','b')", "2"),
    ("B", "varchar(3)", "enum('a','b')", "2"),
    ("2", "varchar(3)", "enum('a','b')", "2"),
    ("5", "set('a','b','c')", "varchar(10)", "a,c"),
    ("c,a", "varchar(10)", "set('a','b','c')", "5"),
    ("", "varchar(10)", "set('a','b','c')", "0"),
    ("3", "set('a','b','c')", "set('c','b','a')", "6"),
    ("2", "enum('a','b')", "set('a','b')", "2"),
    # times
    ("2020-12-31 23:59:59.500", "datetime(3)", "datetime", "2021-01-01 00:00:00"),
    ("2020-12-31 23:59:59.499", "datetime(3)", "datetime", "2020-12-31 23:59:59"),
    ("2020-12-31 23:59:59.500", "datetime(3)", "date", "2021-01-01"),
    ("2020-12-31 23:59:59.500", "datetime(3)", "bigint", "20210101000000"),
    ("2020-12-31 23:59:59.5", "datetime(1)", "decimal(20,3)", "20201231235959.500"),
    ("2020-12-31 23:59:59", "datetime", "timestamp(2)", "2020-12-31 23:59:59.00"),
    ("2020-12-31 10:11:12.6", "datetime(1)", "time", "10:11:13"),
    ("0000-00-00 00:00:00", "datetime", "datetime(2)", "0000-00-00 00:00:00.00"),
    ("2020-12-31", "date", "datetime(3)", "2020-12-31 00:00:00.000"),
    ("2020-12-31", "date", "int", "20201231"),
    ("20201231", "int", "date", "2020-12-31"),
    ("2020-1-2 3:4:5.678", "varchar(20)", "datetime(1)", "2020-01-02 03:04:05.7"),
    ("20200102030405", "varchar(20)", "datetime", "2020-01-02 03:04:05"),
    ("70-01-02", "varchar(20)", "date", "1970-01-02"),
    ("2020-01-02", "date", "varchar(20)", "2020-01-02"),
    ("-01:02:03.6", "time(1)", "time", "-01:02:04"),
    ("01:02:03", "time", "time(3)", "01:02:03.000"),
    ("01:02:03", "time", "int", "10203"),
    ("10203", "int", "time", "01:02:03"),
    ("1 01:02:03", "varchar(20)", "time", "25:02:03"),
    # JSON
    ('{"a": 1}', "json", "text", '{"a": 1}'),
    ('{"b":1.50,"a":[true,null,"é"]}', "text", "json", '{"a": [true, null, "é"], "b": 1.5}'),
    ("5", "json", "int", "5"),
    ("5", "int", "json", "5"),
    ("2020-01-02", "date", "json", '"2020-01-02"'),
    ("[1,2]", "vector(2)", "text", "[1,2]"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "from_type", "to_type", "expected"), CONVERSIONS)
def test_a_value_converts_as_alter_table_converts_it(
    value: str, from_type: str, to_type: str, expected: str
) -> None:
    assert convert(value, from_type, to_type) == expected


@pytest.mark.parametrize(("value", "from_type", "to_type", "expected"), CONVERSIONS)
def test_a_conversion_that_changes_a_value_was_announced(
    value: str, from_type: str, to_type: str, expected: str
) -> None:
    announced = may_change_text(parse_mysql_type(from_type), parse_mysql_type(to_type))
    assert announced or value == expected


@pytest.mark.parametrize(
    ("value", "from_type", "to_type", "why", "cut"),
    [
        ("300", "int", "tinyint", "out of range", "127"),
        ("-1", "int", "int unsigned", "out of range", "0"),
        ("abc", "varchar(9)", "int", "not a number", "0"),
        ("12abc", "varchar(9)", "int", "not only a number", "12"),
        ("", "varchar(9)", "int", "not a number", "0"),
        ("123.4", "decimal(5,1)", "decimal(3,1)", "out of range", "99.9"),
        ("-1.5", "decimal(5,1)", "decimal(5,1) unsigned", "negative", "0.0"),
        ("abcdef", "varchar(9)", "varchar(3)", "too long", "abc"),
        ("abcdef", "varchar(9)", "varbinary(3)", "too long", "abc"),
        ("x", "varchar(9)", "enum('a')", "no such member", "0"),
        ("a,x", "varchar(9)", "set('a')", "no such member", "1"),
        ("9", "bit(4)", "bit(3)", "too many bits", "7"),
        ("838:59:59.9", "time(1)", "time", "out of range", "838:59:59"),
        ("1969-01-01 00:00:00", "datetime", "timestamp", "range", "0000-00-00 00:00:00"),
        ("2020-02-30", "varchar(20)", "date", "not a date", "0000-00-00"),
        ("noon", "varchar(20)", "time", "not a time", "00:00:00"),
        ("1800", "int", "year", "out of range", "0"),
    ],
)  # fmt: skip
def test_strict_mode_refuses_what_the_other_mode_cuts(
    value: str, from_type: str, to_type: str, why: str, cut: str
) -> None:
    with pytest.raises(ValueError, match=why):
        convert(value, from_type, to_type)
    assert convert(value, from_type, to_type, strict=False) == cut


@pytest.mark.parametrize(
    ("value", "from_type", "to_type", "why"),
    [
        ("01:02:03", "time", "datetime", "the date is that of the statement"),
        ("ÿ", "varbinary(4)", "varchar(2)", "not UTF-8"),
        ("{", "text", "json", "not JSON"),
        ('"x"', "json", "int", "not a number"),
        ("[1,2]", "vector(2)", "vector(3)", "other dimensions"),
        ("x", "varchar(9)", "point", "no such conversion"),
        # Of a damaged message: what no column of the type can have.
        ("12x", "decimal(10,2)", "int", "not a number"),
        ("NaN", "double", "int", "out of range"),
        ("1e999999999", "double", "int", "out of range"),
        ("1e999999999", "double", "time", "out of range"),
        ("-1e999999999", "text", "decimal(10,2)", "out of range"),
        ("1e999", "json", "bigint", "out of range"),
        ("1e39", "float", "double", "out of range"),
        ("99999999999999999999", "bit(8)", "varbinary(9)", "out of range"),
        ("-1", "bit(8)", "blob", "out of range"),
        ("9999-12-31 23:59:59.9", "datetime(1)", "date", "out of range"),
        ("[" * 100_000, "text", "json", "not JSON"),
        ('"\\ud800"', "text", "json", "not JSON"),
    ],
)
def test_what_cannot_be_told_is_refused_in_every_mode(
    value: str, from_type: str, to_type: str, why: str
) -> None:
    for strict in (True, False):
        with pytest.raises(ValueError, match=why):
            convert(value, from_type, to_type, strict=strict)


def test_a_number_of_very_many_decimals_is_zero() -> None:
    for to_type in ("decimal(10,2)", "int", "float", "time"):
        zero = convert("0", "int", to_type)
        assert convert("1e-999999999", "double", to_type) == zero


def test_null_stays_null() -> None:
    from_type, to_type = parse_mysql_type("varchar(9)"), parse_mysql_type("int")
    assert convert_value(None, from_type, to_type) is None


@pytest.mark.parametrize(
    ("from_type", "to_type", "changes"),
    [
        ("int", "bigint", False),
        ("int", "varchar(30)", False),
        ("varchar(30)", "int", True),
        ("varchar(40)", "varchar(200)", False),
        ("varchar(200)", "text", False),
        ("text", "varchar(200)", True),
        ("varchar(9)", "char(9)", True),
        ("char(9)", "varchar(9)", False),
        ("varchar(9)", "varbinary(40)", True),
        ("decimal(12,2)", "decimal(14,2)", False),
        ("decimal(12,2)", "decimal(14,4)", True),
        ("decimal(12,0)", "bigint", False),
        ("float", "double", True),
        ("int", "double", False),
        ("bigint", "double", True),
        ("enum('u','v')", "enum('u','v','w')", False),
        ("enum('u','v')", "enum('v','u')", True),
        ("enum('u','v')", "varchar(3)", True),
        ("datetime", "datetime(3)", True),
        ("datetime(3)", "timestamp(3)", False),
        ("date", "datetime", True),
        ("binary(3)", "binary(4)", True),
        ("bigint", "bigint unsigned", False),
        ("int(5) unsigned zerofill", "int", False),
    ],
)
def test_a_change_of_type_is_known_to_keep_the_text_or_not(
    from_type: str, to_type: str, changes: bool
) -> None:
    announced = may_change_text(parse_mysql_type(from_type), parse_mysql_type(to_type))
    assert announced is changes


WIRE_VALUES = {
    "tinyint": st.integers(-128, 127).map(str),
    "int unsigned": st.integers(0, 2**32 - 1).map(str),
    "bigint": st.integers(-(2**63), 2**63 - 1).map(str),
    "bigint unsigned": st.integers(0, 2**64 - 1).map(str),
    "decimal(20,0)": st.integers(-(10**19), 10**19).map(str),
    "decimal(20,4)": st.decimals(
        -(10**15), 10**15, places=4, allow_nan=False
    ).map(lambda number: f"{number:.4f}".replace("-0.0000", "0.0000")),
    "bit(9)": st.integers(0, 511).map(str),
    "enum('a','b','c')": st.integers(1, 3).map(str),
    "set('a','b','c')": st.integers(0, 7).map(str),
    "year": st.integers(1901, 2155).map(str),
    "varchar(8)": st.text("aé😀 0", max_size=8),
    "char(8)": st.text("aé0 ", max_size=8).map(lambda text: text.rstrip(" ")),
    "text": st.text("aé0", max_size=20),
    "varbinary(8)": st.binary(max_size=8).map(lambda data: data.decode("latin-1")),
    "binary(4)": st.binary(min_size=4, max_size=4).map(lambda d: d.decode("latin-1")),
    "date": st.dates().map(str),
    "datetime(3)": st.datetimes().map(lambda t: t.isoformat(" ", "milliseconds")),
    "json": st.sampled_from(["1", "[1, 2]", '{"a": null}', '"é"']),
}  # fmt: skip


@given(st.data())
def test_a_type_change_said_to_keep_the_text_keeps_it_or_is_refused(
    data: st.DataObject,
) -> None:
    from_type = data.draw(st.sampled_from(list(WIRE_VALUES)))
    to_type = data.draw(
        st.sampled_from([*WIRE_VALUES, "double", "float", "time", "mediumtext"])
    )
    value = data.draw(WIRE_VALUES[from_type])
    if may_change_text(parse_mysql_type(from_type), parse_mysql_type(to_type)):
        return
    try:
        converted = convert(value, from_type, to_type)
    except ValueError:
        return
    assert converted == value


@given(st.data())
def test_a_conversion_gives_a_value_or_a_sentence_never_another_error(
    data: st.DataObject,
) -> None:
    from_type = data.draw(st.sampled_from(list(WIRE_VALUES)))
    to_type = data.draw(st.sampled_from([*WIRE_VALUES, "double", "float", "time(2)"]))
    value = data.draw(WIRE_VALUES[from_type])
    for strict in (True, False):
        try:
            assert convert(value, from_type, to_type, strict=strict) is not None
        except ValueError as error:
            assert "Expected a" in str(error)  # noqa: PT017 # both ends are right


@pytest.mark.parametrize(
    ("from_type", "to_type", "changes"),
    [
        ("varchar", "text", False),
        ("char", "varchar(1020)", False),
        ("varbinary", "blob", False),
        ("varchar", "tinytext", True),
        ("varchar", "varchar(10)", True),
    ],
)
def test_a_type_without_its_length_is_as_long_as_it_can_be(
    from_type: str, to_type: str, *, changes: bool
) -> None:
    types = parse_mysql_type(from_type), parse_mysql_type(to_type)
    assert may_change_text(*types) is changes
