"""Types of Kafka Connect: their texts, and what they declare."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changefold.connect import types as connect_types
from changefold.connect.declared import (
    check_types,
    declared_shape,
    read_types,
    table_name,
)
from changefold.connect.types import (
    ConnectType,
    connect_schema,
    connect_type,
    connect_type_text,
    parse_connect_type,
)
from changefold.connect.unavailable import UNAVAILABLE
from changefold.connect.values import read_columns, row_shape
from changefold.json.encode import NumberToken

SEED = Path(__file__).parents[3] / "seeds" / "connect_types.csv"
DATA = "org.apache.kafka.connect.data"
DEBEZIUM = "io.debezium"


def bases() -> list[str]:
    with SEED.open(newline="") as lines:
        return sorted({row["connect_type"] for row in csv.DictReader(lines)})


def schema(type_: str, name: str | None = None, **rest: Any) -> dict[str, Any]:
    return {"type": type_, **({} if name is None else {"name": name}), **rest}


def number(digits: str) -> Any:
    return int(digits) if digits.lstrip("-").isdigit() else NumberToken(digits)


DECIMAL = schema("bytes", f"{DATA}.Decimal", parameters={"scale": "2"})
PRECISION = {"scale": "2", "connect.decimal.precision": "10"}


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (schema("int32"), "connect.int32"),
        (schema("boolean"), "connect.boolean"),
        (DECIMAL, "connect.Decimal(,2)"),
        (DECIMAL | {"parameters": PRECISION}, "connect.Decimal(10,2)"),
        (
            DECIMAL | {"parameters": PRECISION | {"scale": "-2"}},
            "connect.Decimal(10,-2)",
        ),
        (schema("int32", f"{DATA}.Date"), "connect.Date"),
        (schema("int32", f"{DEBEZIUM}.time.Date"), "connect.Date"),
        (schema("int64", f"{DEBEZIUM}.time.MicroTimestamp"), "connect.MicroTimestamp"),
        (
            schema("bytes", f"{DEBEZIUM}.data.Bits", parameters={"length": "12"}),
            "connect.Bits(12)",
        ),
        (schema("string", f"{DEBEZIUM}.data.Json"), "connect.Json"),
        (schema("array", items=schema("int32")), "connect.array<connect.int32>"),
        (
            schema("array", items=schema("array", items=DECIMAL)),
            "connect.array<connect.array<connect.Decimal(,2)>>",
        ),
        (schema("map"), "connect.map"),
        (schema("struct"), "connect.struct"),
        (schema("struct", f"{DEBEZIUM}.data.geometry.Point"), "connect.Point"),
        (
            schema("struct", f"{DEBEZIUM}.data.VariableScaleDecimal"),
            "connect.VariableScaleDecimal",
        ),
        # What the name says is not what its texts are.
        (schema("string", "com.example.Colour"), "connect.string"),
        (schema("string", "com.example.Date"), "connect.string"),
        (schema("int64", f"{DEBEZIUM}.time.NanoDuration"), "connect.int64"),
        (schema("struct", "com.example.Point"), "connect.struct"),
        (schema("string", f"{DEBEZIUM}.data.TiDBVectorFloat32"), "connect.string"),
        # TiCDC says more.
        (schema("int64", tidb_type="bigint unsigned"), "connect.uint64"),
        (schema("string", tidb_type="varbinary"), "connect.bytes"),
        (schema("double", tidb_type="decimal"), "connect.Decimal"),
        (schema("double", tidb_type="double"), "connect.double"),
    ],
)
def test_a_column_has_the_type_that_decides_its_texts(
    column: dict[str, Any], text: str
) -> None:
    optional = column | {"optional": True}
    assert connect_type_text(optional) == text
    assert connect_type_text(optional, "7") == f"{text} DEFAULT 7"


@pytest.mark.parametrize("column", [schema("string"), DECIMAL])
def test_a_column_that_takes_no_null_says_so(column: dict[str, Any]) -> None:
    type_ = connect_type(column)
    for said in ({}, {"optional": False}):
        assert connect_type_text(column | said) == f"{type_} NOT NULL"
        assert connect_type_text(column | said, "7") == f"{type_} NOT NULL DEFAULT 7"


@pytest.mark.parametrize(
    ("text", "is_now"),
    [
        ("connect.ZonedTimestamp DEFAULT 1970-01-01 00:00:00.000000Z", True),
        ("connect.MicroTimestamp NOT NULL DEFAULT 1970-01-01 00:00:00.000000", True),
        ("connect.NanoTimestamp DEFAULT 1970-01-01 00:00:00.000000000", True),
        ("connect.Date DEFAULT 1970-01-01", True),
        ("connect.Date DEFAULT 1970-01-02", False),
        ("connect.Timestamp DEFAULT 1970-01-01 00:00:00.001000", False),
        ("connect.string DEFAULT 1970-01-01", False),
        ("connect.Timestamp", False),
    ],
)
def test_the_epoch_as_default_of_a_moment_stands_for_now(
    text: str, is_now: bool
) -> None:
    assert parse_connect_type(text).default_is_now is is_now


@pytest.mark.parametrize(
    ("text", "may_be"),
    [
        ("connect.int32 NOT NULL DEFAULT 0", True),
        ("connect.double DEFAULT 0.0", True),
        ("connect.string DEFAULT ", True),
        ("connect.boolean DEFAULT false", True),
        ("connect.Json DEFAULT {}", True),
        ("connect.Uuid DEFAULT 00000000-0000-0000-0000-000000000000", True),
        ("connect.MicroTime DEFAULT 00:00:00.000000", True),
        ("connect.ZonedTimestamp DEFAULT 1970-01-01 00:00:00.000000Z", True),
        ("connect.int32 DEFAULT 10", False),
        ("connect.boolean DEFAULT true", False),
        ("connect.string DEFAULT 1970-01-01", False),
        ("connect.int32 NOT NULL", False),
    ],
)
def test_a_default_of_nothing_may_stand_for_a_function(text: str, may_be: bool) -> None:
    assert parse_connect_type(text).default_may_be_of_function is may_be


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (schema("int32", default=7), "connect.int32 DEFAULT 7"),
        (schema("string", default="a DEFAULT b"), "connect.string DEFAULT a DEFAULT b"),
        (schema("string", default=""), "connect.string DEFAULT "),
        (DECIMAL | {"default": "fQ=="}, "connect.Decimal(,2) DEFAULT 1.25"),
        (schema("int32", f"{DATA}.Date", default=0), "connect.Date DEFAULT 1970-01-01"),
        (schema("boolean", default=False), "connect.boolean DEFAULT false"),
        # A zero date of MySQL.
        (
            schema("string", f"{DEBEZIUM}.time.IsoDate", default="0000-00-00"),
            "connect.IsoDate DEFAULT 0000-00-00",
        ),
        (
            schema("array", items=schema("int32", default=1), default=[1]),
            'connect.array<connect.int32> DEFAULT ["1"]',
        ),
    ],
)
def test_a_default_stands_behind_the_type(field: dict[str, Any], text: str) -> None:
    written = json.loads(json.dumps(field | {"optional": True}), parse_int=number)
    shape = row_shape([written | {"field": "a"}], "$", UNAVAILABLE)
    assert json.loads(shape.column_types) == {"a": text}


leaves = st.tuples(
    st.from_regex("[A-Za-z][A-Za-z0-9_]*", fullmatch=True),
    st.none() | st.integers(0, 2**31 - 1),
    st.none() | st.integers(-(2**31), 2**31 - 1),
).map(lambda parts: ConnectType(*parts))
arrays = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda items: ConnectType("array", items=items)),
        st.tuples(inner, inner).map(
            lambda parts: ConnectType("map", parts=(("", parts[0]), ("", parts[1])))
        ),
        st.dictionaries(st.text(min_size=1), inner, min_size=1).map(
            lambda parts: ConnectType("struct", parts=tuple(parts.items()))
        ),
    ),
)


@given(arrays, st.none() | st.text(), st.booleans())
def test_a_type_is_read_back_from_its_text(
    type_: ConnectType, default: str | None, not_null: bool
) -> None:
    type_ = type_._replace(default=default, not_null=not_null)
    assert parse_connect_type(str(type_)) == type_


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "int32",
            "connect.",
            "connect.int32 ",
            "connect.int32()x",
            "Connect.int32",
        ),
        *(
            "connect.Decimal(a,b)",
            "connect.array<int32>",
            "connect.array<connect.int32",
        ),
        "connect." + "array<connect." * 1000 + "int32" + ">" * 1000,
    ],
)
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expected a type such as `connect.int32`"):
        parse_connect_type(text)


EXAMPLES = {
    "Decimal": ["Decimal(10,2)", "Decimal(,2)", "Decimal(,-3)", "Decimal"],
    "Bits": ["Bits(12)"],
    "array": ["array", "array<connect.array<connect.Date>>", "array<connect.map>"],
}


@pytest.mark.parametrize("base", bases())
def test_each_type_of_the_seed_can_be_declared(base: str) -> None:
    for text in EXAMPLES.get(base, [base]):
        type_ = parse_connect_type(f"connect.{text} DEFAULT 1")
        assert type_.base == base
        shape = read_columns({"a": type_}, UNAVAILABLE)
        assert json.loads(shape.column_types) == {"a": str(type_)}
        if base not in {"untyped", "other", "map", "struct", "array"}:
            declared = connect_schema(type_)
            assert connect_type(declared) == type_._replace(default=None)
            field = declared | {"field": "a"}
            assert row_shape([field], "$", UNAVAILABLE).columns.keys() == {"a"}


def test_the_seed_has_each_type_that_a_message_can_have() -> None:
    known = {*connect_types.PHYSICAL, *connect_types.LOGICAL, "untyped"}
    assert known | {"other"} == set(bases())


# --------------------------------------------------------------------- declarations


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("", "The declared types are no JSON: Expected JSON, got an empty value"),
        ("[]", "Expected the declared types as object of tables, got `[]`"),
        ('{"t":1}', "Table `t`: Expected an object of columns and types, got `1`"),
        ('{"t":{"a":1}}', "Column `a` of the table `t`: Expected a text such as"),
        ('{"t":{"a":null}}', "Column `a` of the table `t`: Expected a text such as"),
        ('{"t":{"a":"in"}}', "Column `a` of the table `t`: Expected a type such as"),
        (
            '{"t":{"a":"connect.int32","b":"connect.Dat"}}',
            "Column `b` of the table `t`: Expected a type of Kafka Connect such as",
        ),
        ('{"t":{"a":"connect.int32"},"t":{}}', "The declared types are no JSON: "),
        *(
            (
                f'{{"t":{{"a":"connect.{text}"}}}}',
                "Column `a` of the table `t`: Expected a type of Kafka Connect such as",
            )
            for text in (
                *("int32(5)", "Bits", "Bits(1,2)", "Decimal(10)", "map(1)", "array(1)"),
                *("int32<connect.int32>", "array<connect.Dat>", "untyped(3)"),
            )
        ),
    ],
)
def test_a_declaration_that_is_wrong_is_told_with_its_place(
    declared: str, message: str
) -> None:
    assert str(check_types(declared)).startswith(message)


@pytest.mark.parametrize(
    "declared", [None, "{}", '{"t":{}}', '{"t":{"a":"connect.Date"}}']
)
def test_a_declaration_may_be_empty(declared: str | None) -> None:
    assert check_types(declared) is None


@pytest.mark.parametrize(
    ("mysql_type", "expected"),
    [
        ("tinyint(1)", "int16"),
        ("tinyint unsigned", "int16"),
        ("smallint", "int16"),
        ("smallint unsigned", "int32"),
        ("mediumint unsigned", "int32"),
        ("int", "int32"),
        ("int unsigned", "int64"),
        ("bigint", "int64"),
        ("bigint unsigned", "uint64"),
        ("float unsigned", "float"),
        ("float(8,2)", "double"),
        ("double", "double"),
        ("decimal(14,4)", "Decimal(14,4)"),
        ("bit(1)", "boolean"),
        ("bit(9)", "Bits(9)"),
        ("date", "Date"),
        ("datetime", "Timestamp"),
        ("datetime(3)", "Timestamp"),
        ("datetime(4)", "MicroTimestamp"),
        ("timestamp(6)", "ZonedTimestamp"),
        ("time(3)", "MicroTime"),
        ("year", "Year"),
        ("varchar(20)", "string"),
        ("longtext", "string"),
        ("varbinary(16)", "bytes"),
        ("blob", "bytes"),
        ("enum('a','b')", "Enum"),
        ("set('a','b')", "EnumSet"),
        ("json", "Json"),
        ("vector", "string"),
        ("point", "Point"),
        ("polygon", "Geometry"),
    ],
)
def test_a_type_of_mysql_stands_for_the_one_of_its_messages(
    mysql_type: str, expected: str
) -> None:
    declared = json.dumps({"t": {"a": mysql_type}})
    assert check_types(declared) is None
    assert str(read_types(declared)["t"]["a"]) == f"connect.{expected}"


def test_a_table_without_columns_is_declared() -> None:
    assert declared_shape('{"t":{}}', "t", UNAVAILABLE) is not None
    assert declared_shape('{"t":{}}', "u", UNAVAILABLE) is None


def test_a_table_is_named_by_what_its_messages_have() -> None:
    assert table_name("db", "dbo", "t") == "db.dbo.t"
    assert table_name("db", None, "t") == "db.t"
    assert table_name(None, "public", "t") == "public.t"


@pytest.mark.parametrize("text", ["map", "struct", "array<connect.map>"])
def test_what_is_declared_an_object_is_one(text: str) -> None:
    shape = read_columns({"a": parse_connect_type(f"connect.{text}")}, UNAVAILABLE)
    inner = {"x": number("1.50"), "y": [None, {}, "t"]}
    wrapped = [inner] if text.startswith("array") else inner
    texts = shape.texts({"a": wrapped}, "$").texts
    assert json.loads(str(texts["a"])) == wrapped
    other = shape.texts({"a": "text"}, "$.after")
    assert other.texts == {"a": "text"}
    assert other.contradicted["a"].message.startswith("Expected `")


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("map<connect.string,connect.Date>", {"a": number("0")}, {"a": "1970-01-01"}),
        (
            "map<connect.int32,connect.string>",
            [[number("1"), "a"], [number("2"), None]],
            [["1", "a"], ["2", None]],
        ),
        (
            'struct<day: connect.Date,"o d\\"d": connect.array<connect.Decimal(,1)>>',
            {"day": number("1"), 'o d"d': ["Dw=="]},
            {"day": "1970-01-02", 'o d"d': ["1.5"]},
        ),
        (
            "array<connect.map<connect.string,connect.MicroTime>>",
            [{"t": number("5")}],
            [{"t": "00:00:00.000005"}],
        ),
    ],
)
def test_what_is_within_a_map_or_a_struct_can_be_declared(
    text: str, value: object, expected: object
) -> None:
    declared = json.dumps({"t": {"a": f"connect.{text}"}})
    type_ = read_types(declared)["t"]["a"]
    assert str(type_) == f"connect.{text}"
    assert connect_type(connect_schema(type_)) == type_
    texts = read_columns({"a": type_}, UNAVAILABLE).texts({"a": value}, "$").texts
    assert json.loads(str(texts["a"])) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("map<connect.string>", "map<a: connect.string,b: connect.string>"),
        *("struct<connect.int32>", "struct<a: connect.int32,a: connect.int32>"),
        *("array<connect.int32,connect.int32>", "array<a: connect.int32>"),
        *("struct<>", "map<>", "struct<a: connect.int32", "int32 NULL", "int32>"),
    ],
)
def test_a_type_whose_parts_are_not_those_of_its_kind_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Expected a type such as"):
        parse_connect_type(f"connect.{text}")
