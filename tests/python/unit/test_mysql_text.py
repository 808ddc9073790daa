import datetime as dt
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changefold.mysql.text_protocol import float_text, shortest_float32, to_mysql_text
from changefold.mysql.types import parse_mysql_type


def text_of(value: object, column_type: str) -> str | dict[str, str] | None:
    return to_mysql_text(value, parse_mysql_type(column_type))


@pytest.mark.parametrize(
    "column_type", ["int", "decimal(9,2)", "bit(9)", "binary(4)", "json", "year"]
)
def test_null_is_none_in_every_type(column_type: str) -> None:
    assert text_of(None, column_type) is None


@pytest.mark.parametrize(
    ("value", "column_type", "text"),
    [
        (-9223372036854775808, "bigint(20)", "-9223372036854775808"),
        (Decimal("18446744073709551615"), "bigint(20) unsigned", "18446744073709551615"),
        (2, "tinyint(1)", "2"),
        (True, "tinyint(1)", "1"),
        (0, "year(4)", "0000"),
        (2155, "year(4)", "2155"),
    ],
)  # fmt: skip
def test_integers_are_printed_as_numbers(
    value: object, column_type: str, text: str
) -> None:
    assert text_of(value, column_type) == text


def test_zerofill_is_padded_only_on_request_because_tidb_does_not_pad() -> None:
    width_8 = parse_mysql_type("int(8) unsigned zerofill")
    money = parse_mysql_type("decimal(5,2) zerofill")
    assert to_mysql_text(42, width_8) == "42"
    assert to_mysql_text(42, width_8, pad_zerofill=True) == "00000042"
    assert to_mysql_text(123456789, width_8, pad_zerofill=True) == "123456789"
    assert to_mysql_text(Decimal("1.5"), money, pad_zerofill=True) == "001.50"


@pytest.mark.parametrize(
    ("value", "column_type", "text"),
    [
        (Decimal("12.5"), "decimal(10,2)", "12.50"),
        (Decimal("12.500"), "decimal(10,2)", "12.50"),
        (Decimal("1E+3"), "decimal(10,0)", "1000"),
        (Decimal("-0.0001"), "decimal(20,4)", "-0.0001"),
        (Decimal("-0.00"), "decimal(10,2)", "0.00"),
        (Decimal("0E-30"), "decimal(65,30)", "0." + "0" * 30),
        ("9" * 35 + "." + "9" * 30, "decimal(65,30)", "9" * 35 + "." + "9" * 30),
        ("-1.5", "decimal(65,30)", "-1.5" + "0" * 29),
        (3, "decimal(10,2)", "3.00"),
    ],
)
def test_decimals_have_exactly_the_declared_scale(
    value: object, column_type: str, text: str
) -> None:
    assert text_of(value, column_type) == text


def test_digits_that_the_type_cannot_hold_are_shown_and_never_rounded() -> None:
    assert text_of(Decimal("1.239"), "decimal(10,2)") == "1.239"
    moment = dt.datetime(2024, 1, 1, 0, 0, 0, 123456)  # noqa: DTZ001 - DATETIME
    assert text_of(moment, "datetime(3)") == "2024-01-01 00:00:00.123456"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e15, "1e15"),
        (-1e15, "-1e15"),
        (999999999999999.0, "999999999999999"),
        (0.0000001, "0.0000001"),
        (123456789.12345679, "123456789.12345679"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e308"),
    ],
)
def test_doubles_are_printed_as_tidb_prints_them(value: float, text: str) -> None:
    assert text_of(value, "double") == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0.1", "0.1"),
        ("16777216", "16777216"),
        ("3.4e38", "3.4e38"),
        ("3.4028234663852886e38", "3.4028235e38"),
        ("123456.79", "123456.79"),
    ],
)
def test_floats_widened_to_double_get_their_short_text_back(
    text: str, printed: str
) -> None:
    (widened,) = struct.unpack("<f", struct.pack("<f", float(text)))
    assert text_of(widened, "float") == printed


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_can_be_read_back(value: float) -> None:
    assert float(float_text(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_every_float_can_be_read_back(value: float) -> None:
    packed = struct.pack("<f", float(shortest_float32(value)))
    assert struct.unpack("<f", packed) == (value,)
    assert float(float_text(value, single=True)) == float(shortest_float32(value))


def test_times_have_exactly_the_declared_fraction_digits() -> None:
    moment = dt.datetime(2024, 2, 29, 12, 0, 0, 500000)  # noqa: DTZ001 - DATETIME
    whole = moment.replace(microsecond=0)
    assert text_of(moment, "datetime(1)") == "2024-02-29 12:00:00.5"
    assert text_of(moment, "datetime(3)") == "2024-02-29 12:00:00.500"
    assert text_of(whole, "datetime(6)") == "2024-02-29 12:00:00.000000"
    assert text_of(whole, "datetime") == "2024-02-29 12:00:00"


def test_years_before_1000_have_four_digits() -> None:
    early = dt.datetime(1, 2, 3, 4, 5, 6)  # noqa: DTZ001 - DATETIME
    assert text_of(dt.date(999, 12, 31), "date") == "0999-12-31"
    assert text_of(early, "datetime") == "0001-02-03 04:05:06"


def test_a_timestamp_is_printed_in_utc() -> None:
    berlin = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2024, 7, 1, 1, 30, tzinfo=berlin)
    assert text_of(moment, "timestamp(3)") == "2024-06-30 23:30:00.000"


@pytest.mark.parametrize(
    ("value", "column_type"),
    [
        ("0000-00-00 00:00:00", "timestamp"),
        ("2024-06-00", "date"),
        ("-838:59:59", "time"),
        ('{"b": 1, "a": [1.0]}', "json"),
        ("", "enum('a','')"),
        ("a,it's", "set('a','it''s')"),
        ("[1,2.5,-3]", "vector(3)"),
    ],
)
def test_text_stays_as_it_is(value: str, column_type: str) -> None:
    assert text_of(value, column_type) == value


@pytest.mark.parametrize(
    ("value", "column_type", "digits"),
    [
        (b"", "varbinary(20)", ""),
        (b"abc", "blob", "616263"),
        (bytearray(b"\x00\xff"), "varbinary(20)", "00ff"),
        (b"\x01", "binary(4)", "01000000"),
        (0, "bit(1)", "00"),
        (10016, "bit(16)", "2720"),
        (2**33 - 1, "bit(33)", "01ffffffff"),
        (Decimal(2**64 - 1), "bit(64)", "ffffffffffffffff"),
        (b"\x0e", "bit(9)", "000e"),
    ],
)
def test_binary_kinds_are_printed_as_hex(
    value: object, column_type: str, digits: str
) -> None:
    assert text_of(value, column_type) == {"$hex": digits}


@pytest.mark.parametrize(
    ("value", "column_type", "message"),
    [
        ("abc", "blob", r"Expected bytes, got `str` - in a column of type `blob`"),
        (1.5, "decimal(9,2)", "Expected Decimal, int or str, got `float`"),
        (1.5, "int", "got `float` - in a column of type `int`"),
        ("x", "bit(3)", "Expected int, Decimal or bytes, got `str`"),
        (dt.date(2024, 1, 1), "datetime", "got `date`"),
    ],
)
def test_a_value_of_a_foreign_type_is_refused(
    value: object, column_type: str, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        text_of(value, column_type)


def test_a_negative_bit_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Expected a whole number >= 0 .* got -1"):
        text_of(-1, "bit(64)")
