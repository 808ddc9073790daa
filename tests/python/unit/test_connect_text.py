"""A typed value becomes the text that the decoder wrote for it."""

from decimal import Decimal

import pytest

from changefold.connect.types import parse_connect_type
from changefold_tools.verify.connect_text import to_connect_text

NOON = "2024-02-29 12:00:00.000500"


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        ("int32", -5, "-5"),
        ("int64", Decimal("7.00"), "7"),
        ("int16", "12", "12"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("float", 0.10000000149011612, "0.1"),
        ("double", 0.1, "0.1"),
        ("double", float("nan"), "NaN"),
        ("float", float("-inf"), "-Infinity"),
        ("Decimal(10,2)", Decimal("-0.50"), "-0.50"),
        ("Decimal(10,2)", Decimal("-0.5000"), "-0.50"),
        ("Decimal(10,0)", Decimal("12.000"), "12"),
        ("Decimal(10,2)", Decimal("0.125"), "0.125"),
        ("Decimal(,2)", "1.20", "1.20"),
        ("Date", "-0043-03-15", "-0043-03-15"),
        ("Date", "+10000-01-01", "10000-01-01"),
        (
            "MicroTimestamp",
            "+10000-12-31 00:00:00.000000",
            "10000-12-31 00:00:00.000000",
        ),
        ("string", "+10000-01-01", "+10000-01-01"),
        ("Timestamp", NOON, "2024-02-29 12:00:00.000500"),
        ("NanoTimestamp", NOON, "2024-02-29 12:00:00.000500000"),
        ("ZonedTimestamp", NOON, "2024-02-29 12:00:00.000500Z"),
        ("bytes", b"\x00\xff", "\x00\xff"),
        ("bytes", bytearray(b"a"), "a"),
        ("Bits(4)", "0101", "0101"),
        ("string", None, None),
    ],
)
def test_a_typed_value_has_the_text_of_its_type(
    type_: str, value: object, text: str | None
) -> None:
    assert to_connect_text(value, parse_connect_type(f"connect.{type_}")) == text


def test_a_value_that_no_column_has_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Expected a value of `connect.int32`, got `s"):
        to_connect_text({1}, parse_connect_type("connect.int32"))
