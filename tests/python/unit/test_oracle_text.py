"""A database's text and ours for one value have one form; two values have two."""

import pytest

from changefold.connect.types import parse_connect_type
from changefold_tools.verify.canonical_text import (
    NOT_COMPARED,
    Kind,
    kind_of,
    oracle_form,
    our_form,
    why_not_compared,
)

POINT = (
    "\\u0001\\u0001\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u00f8?"
    "\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000\\u00c0"
)


def kind(type_: str) -> Kind:
    return kind_of(parse_connect_type(f"connect.{type_}"))


@pytest.mark.parametrize(
    ("type_", "printed", "ours"),
    [
        ("int32", "0000000007", "7"),
        ("Year", "2024", "2024"),
        ("Decimal(10,2)", "-12.50", "-12.50"),
        ("Decimal(38,18)", "0E-18", "0.000000000000000000"),
        ("Decimal(,2)", "-$1,234.50", "-1234.50"),
        ("VariableScaleDecimal", "1.0", "1.00"),
        ("float", "57.47761154174805", "57.47761"),
        ("float", "3.4e+38", "3.4e+38"),
        ("double", "1e-300", "1e-300"),
        ("double", "NaN", "NaN"),
        ("boolean", "t", "true"),
        ("boolean", "0", "false"),
        ("Date", "0001-01-01", "0001-01-01"),
        ("Date", "infinity", "infinity"),
        ("MicroTime", "-00:00:01", "-00:00:01.000000"),
        ("NanoTime", "12:00:00.5000001", "12:00:00.500000100"),
        ("ZonedTime", "18:21:01.180757-08", "02:21:01.180757Z"),
        ("ZonedTime", "24:00:00+00", "00:00:00.000000Z"),
        ("Timestamp", "2020-01-01 00:00:00", "2020-01-01 00:00:00.000000"),
        ("ZonedTimestamp", "2020-01-01 00:00:00.5+00", "2020-01-01 00:00:00.500000Z"),
        ("ZonedTimestamp", "2020-01-01 00:00:00.5", "2020-01-01 00:00:00.500000Z"),
        ("ZonedTimestamp", "2020-01-01T00:00:00.5Z", "2020-01-01 00:00:00.500000Z"),
        ("ZonedTimestamp", "-infinity", "-infinity"),
        (
            "ZonedTimestamp",
            "2020-01-01 00:00:00.5000 +11:00",
            "2020-01-01 00:00:00.500000+11:00",
        ),
        (
            "StructuredZonedTimestamp",
            "2020-01-01 00:00:00.5 +00:00",
            "2020-01-01 00:00:00.500000Z",
        ),
        ("StructuredTimestamp", "2020-01-01 00:00:00", "2020-01-01 00:00:00.000000"),
        ("bytes", "\\x00ff", "\x00\xff"),
        ("hex", "0x00ff", "\x00\xff"),
        ("bytes", "0x", ""),
        ("Bits(12)", "000000000101", "000000000101"),
        ("Bits(20)", "101", "00000000000000000101"),
        ("Bits(20)", "", "00000000000000000000"),
        ("Json", '{"a": 2.50, "b": "x"}', '{"b":"x","a":2.5}'),
        ("Json", "1e400", "10e399"),
        ("Json", '"a"=>"1", "q\\"b"=>NULL', '{"q\\"b":null,"a":"1"}'),
        ("Json", "", "{}"),
        ("array<connect.string>", '{a,"b,c","d\\"e",NULL,"NULL",""}', None),
        ("array<connect.Decimal(10,2)>", "{1.50,NULL}", '["1.5",null]'),
        ("array<connect.boolean>", "{t,f}", '["true","false"]'),
        ("array<connect.double>", '["1.50", null]', '["1.5",null]'),
        ("array<connect.ZonedTimestamp>", '{"2024-01-01 00:00:00+00"}', None),
        ("array<connect.array<connect.int32>>", "{{1,2},{}}", '[["1","2"],[]]'),
        ("Point", "(1.5,-2)", f'{{"x":"1.5","y":"-2.0","wkb":"{POINT}","srid":null}}'),
        ("Geometry", "SRID=4326;POINT(1.5 -2)", f'{{"wkb":"{POINT}","srid":"4326"}}'),
        ("string", "a  ", "a  "),
    ],
)
def test_one_value_has_one_form(type_: str, printed: str, ours: str | None) -> None:
    texts = {
        "array<connect.string>": '["a","b,c","d\\"e",null,"NULL",""]',
        "array<connect.ZonedTimestamp>": '["2024-01-01 00:00:00.000000Z"]',
    }
    text = texts[type_] if ours is None else ours
    assert oracle_form(printed, kind(type_)) == our_form(text, kind(type_))


@pytest.mark.parametrize(
    ("type_", "printed", "ours"),
    [
        ("int32", "7", "8"),
        ("int32", "7", "7x"),
        ("Decimal(10,2)", "1.25", "1.26"),
        ("Decimal(38,0)", "99999999999999999999", "100000000000000000000"),
        ("Decimal(,2)", "NaN", "NAN"),
        ("float", "0.1", "0.10000002"),
        ("double", "0.1", "0.10000000000000002"),
        ("double", "-0", "0.0"),
        ("boolean", "t", "t "),
        ("Date", "2020-01-01", "2020-01-02"),
        ("Timestamp", "2020-01-01 00:00:00", "2020-01-01 00:00:00.000001"),
        ("ZonedTimestamp", "2020-01-01 00:00:00+00", "2020-01-01 00:00:00.000000"),
        ("ZonedTimestamp", "2020-01-01 00:00:00+01", "2020-01-01 00:00:00.000000Z"),
        ("bytes", "\\x00ff", "\x00"),
        ("bytes", "\\x00ff", "\\x00ff"),
        ("Bits(12)", "000000000101", "101"),
        ("Json", '{"a": 1}', '{"a":"1"}'),
        ("Json", '{"a": null}', "{}"),
        ("Json", '"a"=>NULL', '{"a":""}'),
        ("array<connect.string>", "{NULL}", '["NULL"]'),
        ("array<connect.string>", "{a}", '["a","b"]'),
        ("array<connect.int32>", "{{1,2}}", '["1","2"]'),
        ("Point", "(1.5,2)", f'{{"x":"1.5","y":"-2.0","wkb":"{POINT}"}}'),
        ("Point", "(1.5,-2)", f'{{"x":"1.5","y":"2.0","wkb":"{POINT}"}}'),
        ("Point", "(1.5,-2)", f'{{"wkb":"{POINT}","srid":"4326"}}'),
        ("string", "a  ", "a"),
        ("Enum", "d,e", "d\\,e"),
    ],
)
def test_two_values_have_two_forms(type_: str, printed: str, ours: str) -> None:
    assert oracle_form(printed, kind(type_)) != our_form(ours, kind(type_))


def test_bytes_that_came_as_texts_are_read_as_they_were_written() -> None:
    printed = oracle_form("0x00ff", kind("bytes"))
    assert our_form("00ff", Kind("bytes", encoding="hex")) == printed
    assert our_form("AP8=", Kind("bytes", encoding="base64")) == printed


@pytest.mark.parametrize(
    ("type_", "printed", "is_compared"),
    [
        ("MicroDuration", "1 mon", False),
        ("Interval", "00:00:00", False),
        ("Geometry", "SRID=4326;LINESTRING(0 0,1 1)", False),
        ("Geometry", "SRID=4326;POINT(0 0)", True),
        ("string", "1 mon", True),
    ],
)
def test_what_is_not_compared_says_why(
    type_: str, printed: str, is_compared: bool
) -> None:
    assert (why_not_compared(printed, kind(type_)) is None) is is_compared
    is_masked = oracle_form(printed, kind(type_)) == NOT_COMPARED
    assert is_masked is not is_compared
