"""The forms in which protocols send bytes and instants."""

import pytest

from changefold.mysql.types import parse_mysql_type
from changefold.mysql.wire_forms import (
    CANAL,
    CONNECT,
    SIMPLE,
    from_wire,
    to_wire,
)


@pytest.mark.parametrize(
    ("wire", "kind", "text", "zone"),
    [
        ("AP9h", "varbinary(9)", "\x00ÿa", "UTC"),
        (
            '{"location":"Asia/Shanghai","value":"2024-02-26 13:01:01"}',
            "timestamp",
            "2024-02-26 13:01:01",
            "Asia/Shanghai",
        ),
        ("AP9h", "varchar(9)", "AP9h", "UTC"),
        ("2024-02-26 13:01:01", "datetime", "2024-02-26 13:01:01", "UTC"),
    ],
)
def test_a_value_of_the_simple_protocol_goes_there_and_back(
    wire: str, kind: str, text: str, zone: str
) -> None:
    mysql_type = parse_mysql_type(kind)
    assert from_wire(wire, mysql_type, SIMPLE) == (text, zone)
    assert to_wire(text, mysql_type, SIMPLE, zone) == wire
    assert from_wire(text, mysql_type, CANAL) == (text, "UTC")
    assert to_wire(text, mysql_type, CANAL, zone) == text


@pytest.mark.parametrize(
    ("wire", "kind", "text"),
    [
        (
            "2024-02-26 13:01:01.500000Z",
            "timestamp(3)",
            "2024-02-26 13:01:01.500",
        ),
        ("2024-02-26 13:01:01.000000", "datetime", "2024-02-26 13:01:01"),
        ("-838:59:59.000000", "time", "-838:59:59"),
        ("00000101", "bit(8)", "5"),
        ("b", "enum('a','b')", "2"),
        ("", "enum('a','b')", "0"),
        ("a,c", "set('a','b','c')", "5"),
        ("", "set('a','b','c')", "0"),
        ("\x00ÿa", "varbinary(9)", "\x00ÿa"),
        ("12.50", "decimal(6,2)", "12.50"),
    ],
)
def test_a_value_of_debezium_goes_there_and_back(
    wire: str, kind: str, text: str
) -> None:
    mysql_type = parse_mysql_type(kind)
    assert from_wire(wire, mysql_type, CONNECT) == (text, "UTC")
    assert to_wire(text, mysql_type, CONNECT, "UTC") == wire


@pytest.mark.parametrize(("wire", "text"), [("true", "1"), ("false", "0"), ("1", "1")])
def test_a_single_bit_of_debezium_may_be_a_boolean(wire: str, text: str) -> None:
    assert from_wire(wire, parse_mysql_type("bit(1)"), CONNECT) == (text, "UTC")


@pytest.mark.parametrize(
    ("wire", "kind"),
    [("no base64!", "blob"), ("2024-02-26", "timestamp"), ("[]", "timestamp")],
)
def test_a_value_of_another_form_is_refused(wire: str, kind: str) -> None:
    with pytest.raises(ValueError, match=r"Expected|malformed"):
        from_wire(wire, parse_mysql_type(kind), SIMPLE)


def test_null_stays_null() -> None:
    assert to_wire(None, parse_mysql_type("blob"), SIMPLE, "UTC") is None
