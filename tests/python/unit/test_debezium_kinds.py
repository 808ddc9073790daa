"""Keys, placeholders and values of Debezium as they come in the field.

Each message is decoded alone and in a batch of its like, which must give the same.
"""

import base64
import json
from typing import Any, Final

import pyarrow as pa
import pytest
from message_rows import as_row

from changefold.connect.unavailable import UNAVAILABLE
from changefold.protocols.debezium import DebeziumMessage, parse_batch, read_debezium

Row = dict[str, Any]

SQLSERVER: Final = {
    "version": "3.5.0.Final",
    "connector": "sqlserver",
    "name": "farm",
    "ts_ms": 1_790_000_000_000,
    "snapshot": "false",
    "db": "farm",
    "schema": "dbo",
    "table": "herds",
    "change_lsn": "00000027:00000758:0003",
    "commit_lsn": "00000027:00000758:0005",
    "event_serial_no": 1,
}
MYSQL: Final = {
    "version": "3.5.0.Final",
    "connector": "mysql",
    "name": "farm",
    "ts_ms": 1_790_000_000_000,
    "snapshot": "false",
    "db": "farm",
    "table": "herds",
    "file": "binlog.000001",
    "pos": 4,
    "row": 0,
}
TABLE: Final = "farm.dbo.herds"


def field(name: str, type_: str, logical: str | None = None, **rest: Any) -> Row:
    named = {} if logical is None else {"name": logical}
    return {"field": name, "type": type_, "optional": True, **named, **rest}


ID: Final = {"field": "id", "type": "int32", "optional": False}


def encode(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def change(
    after: Row | None = None,
    before: Row | None = None,
    fields: list[Row] | None = None,
    source: Row = SQLSERVER,
) -> bytes:
    """A change; with a schema if there are fields."""
    op = "u" if before and after else "c" if after else "d"
    payload: Row = {"before": before, "after": after, "source": source}
    payload |= {"op": op, "ts_ms": 1_790_000_000_001, "transaction": None}
    if fields is None:
        return encode(payload)
    row = {"type": "struct", "fields": fields, "optional": True}
    name = f"io.debezium.connector.{source['connector']}.Source"
    of_source = {"type": "struct", "fields": [], "name": name, "field": "source"}
    parts = [row | {"field": "before"}, row | {"field": "after"}, of_source]
    return encode({"schema": {"type": "struct", "fields": parts}, "payload": payload})


def key(columns: Row, fields: list[Row] | None = None) -> bytes:
    if fields is None:
        return encode(columns)
    return encode({"schema": {"type": "struct", "fields": fields}, "payload": columns})


def decode(
    record_key: bytes | None,
    value: bytes | None,
    types: dict[str, str] | None = None,
    table: str = TABLE,
    **options: Any,
) -> DebeziumMessage:
    declared = None if types is None else json.dumps({table: types})
    chosen = json.dumps(options) if options else None
    message = read_debezium(record_key, value, declared, chosen)
    many = 8
    rows = parse_batch(
        pa.array([record_key] * many, pa.binary()),
        pa.array([value] * many, pa.binary()),
        pa.array([declared] * many, pa.string()),
        pa.array([chosen] * many, pa.string()),
    )
    rows.validate(full=True)
    assert rows.to_pylist() == [as_row(message)] * many
    return message


def row_of(text: str | None) -> Row:
    row: Row = json.loads(str(text))
    return row


# ---------------------------------------------------------------------------- keys


FIELDS: Final = [ID, field("farm", "string"), field("size", "double")]
HERD: Final = {"id": 7, "farm": "north, id=8", "size": 1.5}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (b"Struct{id=7}", ["id"]),
        (b"Struct{farm=north, id=8,id=7}", ["farm", "id"]),
        (b"Struct{size=1.5,id=7}", ["size", "id"]),
    ],
)
@pytest.mark.parametrize("fields", [FIELDS, None])
def test_a_key_of_the_string_converter_names_columns_of_its_row(
    text: bytes, columns: list[str], fields: list[Row] | None
) -> None:
    for value in (change(HERD, fields=fields), change(None, HERD, fields)):
        message = decode(text, value)
        assert (message.event_kind, message.error) == ("row", None)
        assert json.loads(str(message.primary_key)) == columns
        assert row_of(message.key) == {name: str(HERD[name]) for name in columns}


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (b"Struct{id=8}", HERD),
        (b"Struct{other=7}", HERD),
        (b"Struct{}", HERD),
        (b"Struct{id=7,}", HERD),
        (b"7", HERD),
        (b'"seven"', HERD),
        (b"\xff\x00", HERD),
        # Two ways to read it.
        (b"Struct{a=1,b=2}", {"a": 1, "b": 2, "a=1,b": 2}),
    ],
)
def test_what_a_key_does_not_tell_beyond_doubt_is_no_key(text: bytes, row: Row) -> None:
    message = decode(text, change(row))
    assert (message.event_kind, message.key, message.primary_key) == ("row", None, None)
    assert message.error is not None
    assert message.error.path.startswith("$key")


def test_a_key_that_can_be_split_in_very_many_ways_is_read_in_one_pass() -> None:
    # Each pair of neighbours is also one column; tried one by one, 500 never end.
    row = {f"a{number}": 1 for number in range(500)}
    pairs = {f"a{number}=1,a{number + 1}": 1 for number in range(0, 500, 2)}
    text = ",".join(f"{name}=1" for name in row)
    for hostile in (f"Struct{{{text},z=9}}", f"Struct{{{text}}}"):
        message = decode(hostile.encode(), change(row | pairs))
        assert (message.event_kind, message.key) == ("row", None)
    message = decode(f"Struct{{{text}}}".encode(), change(row))
    assert json.loads(str(message.primary_key)) == list(row)


@pytest.mark.parametrize("text", [b"7", None, b"Struct{id=other}", b"{}"])
def test_a_declared_key_stands_for_one_that_can_not_be_read(text: bytes | None) -> None:
    for value, fields in ((change(HERD), None), (change(None, HERD, FIELDS), FIELDS)):
        message = decode(text, value, keys={TABLE: ["farm", "id"]})
        assert message.error is None, fields
        assert json.loads(str(message.primary_key)) == ["farm", "id"]
        assert row_of(message.key) == {"farm": "north, id=8", "id": "7"}
    # Not for one that can.
    message = decode(key({"id": 7}), change(HERD), keys={TABLE: ["farm"]})
    assert message.primary_key == '["id"]'


def test_a_table_can_be_declared_to_have_no_key() -> None:
    message = decode(b"7", change(HERD), keys={TABLE: []})
    assert (message.event_kind, message.key, message.error) == ("row", None, None)


def test_a_row_without_its_declared_key_says_so() -> None:
    message = decode(b"7", change({"id": None}), keys={TABLE: ["id"]})
    assert (message.event_kind, message.key) == ("row", None)
    assert message.error is not None
    assert message.error.error_class == "no_declared_key"


@pytest.mark.parametrize(
    "options",
    [
        "[]",
        '{"other": 1}',
        '{"keys": {"t": "id"}}',
        '{"keys": {"t": ["a", "a"]}}',
        '{"keys": {"t": [1]}}',
        '{"placeholder": ""}',
        '{"placeholder": 1}',
        '{"placeholder": "hex:ff"}',
        "no JSON",
    ],
)
def test_wrong_options_are_refused(options: str) -> None:
    with pytest.raises(ValueError, match=r"xpected|JSON"):
        read_debezium(None, None, None, options)


SITE: Final = {"field": "site", "type": "int64", "optional": False}


@pytest.mark.parametrize("with_schema", [True, False])
def test_columns_that_only_the_key_has_are_columns_of_the_row(
    with_schema: bool,
) -> None:
    fields = [ID, field("size", "int32")] if with_schema else None
    of_key = key({"id": 1, "site": 2}, [ID, SITE] if with_schema else None)
    old, new = {"id": 1, "size": None}, {"id": 1, "size": 5}
    message = decode(of_key, change(new, old, fields))
    assert row_of(message.after) == {"id": "1", "size": "5", "site": "2"}
    assert row_of(message.before) == {"id": "1", "size": None, "site": "2"}
    assert json.loads(str(message.primary_key)) == ["id", "site"]
    kind = "connect.int64 NOT NULL" if with_schema else "connect.untyped"
    assert row_of(message.column_types)["site"] == kind
    deleted = decode(of_key, change(None, old, fields))
    assert row_of(deleted.before) == {"id": "1", "size": None, "site": "2"}


def test_the_declared_type_of_a_column_that_only_the_key_has_is_its_type() -> None:
    types = {"id": "connect.int32", "day": "connect.Date"}
    message = decode(key({"id": 1, "day": 1}), change({"id": 1}), types)
    assert row_of(message.after) == {"id": "1", "day": "1970-01-02"}
    assert row_of(message.column_types) == types


def test_a_key_with_all_columns_of_its_row_adds_none() -> None:
    message = decode(key(HERD), change(HERD))
    assert row_of(message.after).keys() == HERD.keys()


def test_what_a_router_adds_to_a_key_is_no_column() -> None:
    router = "__dbz__physicalTableIdentifier"
    fields = [ID, {"field": router, "type": "string", "optional": False}]
    for of_key, value in (
        (key({"id": 7, router: "farm"}, fields), change(HERD, fields=FIELDS)),
        (key({"id": 7, router: "farm"}), change(HERD)),
        (key({"id": 7, router: "farm"}), None),
    ):
        message = decode(of_key, value)
        assert (message.key, message.primary_key) == ('{"id":"7"}', '["id"]')
        assert message.after is None or router not in message.after
    assert decode(key({router: "farm"}), change(HERD)).key is None


def test_the_order_of_the_columns_of_a_key_is_kept() -> None:
    message = decode(key({"size": 1.5, "id": 7}), change(HERD))
    assert message.primary_key == '["size","id"]'


# --------------------------------------------------------------------- placeholders


def unavailable(value: object, column: Row | None, **more: Any) -> str | None:
    """The unavailable columns of a row with such a value of column `a`."""
    fields = None if column is None else [ID, column]
    message = decode(None, change({"id": 1, "a": value}, fields=fields), **more)
    assert message.error is None
    return message.unavailable_columns


CODES: Final = list(UNAVAILABLE.encode())


def unscaled(number: int) -> str:
    size = number.bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


VARIABLE: Final = {
    "type": "struct",
    "optional": True,
    "name": "io.debezium.data.VariableScaleDecimal",
    "fields": [
        {"field": "scale", "type": "int32", "optional": False},
        {"field": "value", "type": "bytes", "optional": False},
    ],
}
DECIMAL: Final = {
    "type": "bytes",
    "optional": True,
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2"},
}


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ({"type": "int16"}, CODES),
        ({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, CODES),
        ({"type": "double"}, [float(code) for code in CODES]),
        ({"type": "float"}, [float(code) for code in CODES]),
        (VARIABLE, [{"scale": 0, "value": unscaled(code)} for code in CODES]),
        (DECIMAL, [unscaled(100 * code) for code in CODES]),
        ({"type": "string"}, [UNAVAILABLE]),
        ({"type": "bytes"}, [base64.b64encode(UNAVAILABLE.encode()).decode()]),
    ],
)
def test_an_unavailable_array_is_known_by_its_elements(
    item: Row, value: list[Any]
) -> None:
    column = field("a", "array", items=item | {"optional": True})
    assert unavailable(value, column) == '["a"]'
    assert unavailable([*value, value[0]], column) is None
    if item is not DECIMAL:
        assert unavailable(value, None) == '["a"]'
    kind = "connect.array<connect.Decimal(,2)>" if item is DECIMAL else "connect.array"
    assert unavailable(value, None, types={"a": kind}) == '["a"]'


OCTETS: Final = "gh?~ü".encode()


@pytest.mark.parametrize(
    "value",
    [
        "gh?~ü",
        OCTETS.hex(),
        base64.b64encode(OCTETS).decode(),
        base64.urlsafe_b64encode(OCTETS).decode(),
    ],
)
@pytest.mark.parametrize("placeholder", ["gh?~ü", f"hex:{OCTETS.hex()}"])
def test_a_placeholder_is_known_in_each_form_of_bytes(
    value: str, placeholder: str
) -> None:
    for column in (field("a", "string"), field("a", "bytes"), None):
        options: Row = {"placeholder": placeholder}
        assert unavailable(value, column, **options) == '["a"]'


@pytest.mark.parametrize("kind", ["hex", "base64", "base64_url_safe", "bytes", "map"])
def test_a_placeholder_of_a_column_of_a_declared_type_is_known(kind: str) -> None:
    value = {"-": "-"} if kind == "map" else "-"
    options: Row = {"placeholder": "-", "types": {"a": f"connect.{kind}"}}
    assert unavailable(value, None, **options) == '["a"]'


def test_a_schema_may_declare_the_placeholder_of_a_column() -> None:
    own = {"__debezium.unavailable.value.placeholder": "same"}
    column = field("a", "string", parameters=own)
    assert unavailable("same", column) == '["a"]'
    assert unavailable(UNAVAILABLE, column) is None
    other = field("a", "string", parameters={"x": "same"})
    assert unavailable("same", other) is None


def test_topics_of_one_batch_may_have_placeholders_of_their_own() -> None:
    value = change({"id": 1, "a": "-"})
    options = [None, '{"placeholder": "-"}'] * 6
    rows = parse_batch(
        pa.nulls(12, pa.binary()),
        pa.array([value] * 12, pa.binary()),
        None,
        pa.array(options, pa.string()),
    ).to_pylist()
    assert [row["unavailable_columns"] for row in rows] == [None, '["a"]'] * 6


def test_a_row_before_leaves_out_what_was_not_available() -> None:
    old = {"id": 1, "a": UNAVAILABLE}
    fields = [ID, field("a", "string")]
    message = decode(None, change({"id": 1, "a": "x"}, old, fields))
    assert (message.before, message.unavailable_columns) == ('{"id":"1"}', None)


# --------------------------------------------------------------------------- values


def text_of(
    value: object,
    column: Row | None,
    source: Row = SQLSERVER,
    types: dict[str, str] | None = None,
    **more: Any,
) -> object:
    fields = None if column is None else [ID, column]
    row = change({"id": 1, "a": value}, fields=fields, source=source)
    message = decode(None, row, types, **more)
    assert message.event_kind == "row"
    return row_of(message.after)["a"]


def nanos(year: int, month: int, day: int, rest: int) -> int:
    """Nanoseconds from 1970 to so many behind the beginning of a day, in 64 bits."""
    from datetime import date

    days = date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    number = days * 86_400 * 10**9 + rest
    return (number + 2**63) % 2**64 - 2**63


NANO: Final = field("a", "int64", "io.debezium.time.NanoTimestamp")


@pytest.mark.parametrize(
    ("day", "rest", "text"),
    [
        ((9999, 12, 31), 86_399_999_999_900, "9999-12-31 23:59:59.999999900"),
        ((1, 1, 1), 0, "0001-01-01 00:00:00.000000000"),
        ((1600, 2, 29), 100, "1600-02-29 00:00:00.000000100"),
        ((2262, 4, 12), 0, "2262-04-12 00:00:00.000000000"),
        ((2300, 6, 1), 1_000, "2300-06-01 00:00:00.000001000"),
        ((2026, 3, 1), 700, "2026-03-01 00:00:00.000000700"),
    ],
)
def test_a_moment_that_wrapped_around_is_put_right_by_the_steps_of_its_source(
    day: tuple[int, int, int], rest: int, text: str
) -> None:
    number = nanos(*day, rest)
    types = {"a": "connect.NanoTimestamp"}
    assert text_of(number, NANO) == text
    assert text_of(number, None, types=types) == text
    whole = number // 1000 * 1000 if rest % 1000 == 0 else None
    if whole == number or rest % 1000 == 0:
        assert text_of(number, NANO, MYSQL) == text


def test_a_moment_that_no_source_can_have_is_none() -> None:
    assert text_of(-17, NANO) == "-17 ns"
    # A step of a microsecond, but years beyond 9999 too.
    postgresql = MYSQL | {
        "connector": "postgresql",
        "schema": "dbo",
        "lsn": 5,
        "txId": 1,
        "sequence": '["4","5"]',
    }
    number = nanos(9999, 1, 1, 0)
    assert text_of(number, NANO, postgresql) == f"{number} ns"


def test_a_moment_of_a_source_without_known_steps_is_as_it_came() -> None:
    oracle = SQLSERVER | {"connector": "oracle", "scn": "5", "commit_scn": "6"}
    assert text_of(17, NANO, oracle) == "1970-01-01 00:00:00.000000017"


def test_a_key_of_a_moment_that_wrapped_around_is_put_right_too() -> None:
    number = nanos(9999, 12, 31, 100)
    of_key = key({"a": number}, [NANO])
    message = decode(of_key, change({"id": 1, "a": number}, fields=[ID, NANO]))
    assert row_of(message.key) == {"a": "9999-12-31 00:00:00.000000100"}


ZONED: Final = field("a", "string", "io.debezium.time.ZonedTimestamp")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-03-01T09:30:00.5+11:00", "2026-03-01 09:30:00.500000+11:00"),
        ("2026-03-01T09:30:00.1234567-03:30", "2026-03-01 09:30:00.123456700-03:30"),
        ("2026-02-28T22:30:00.5Z", "2026-02-28 22:30:00.500000Z"),
        ("2026-02-28T22:30:00.5+00:00", "2026-02-28 22:30:00.500000Z"),
        ("1800-01-01T00:00:00+00:53:28", "1799-12-31 23:06:32.000000Z"),
    ],
)
def test_an_instant_keeps_the_offset_of_its_source(value: str, text: str) -> None:
    assert text_of(value, ZONED) == text
    assert text_of(value, None, types={"a": "connect.ZonedTimestamp"}) == text


def structured(kind: str) -> Row:
    parts = {
        "Date": ["year", "month", "day"],
        "Time": ["hour", "minute", "second", "nanos"],
        "ZonedTime": ["hour", "minute", "second", "nanos", "offsetSeconds"],
    }
    names = parts.get(kind) or parts["Date"] + parts["Time"]
    if kind == "ZonedTimestamp":
        names = [*names, "offsetSeconds"]
    fields = [field(name, "int32") for name in names]
    special = [field("specialValue", "string"), field("precision", "int32")]
    name = f"io.debezium.time.Structured{kind}"
    return field("a", "struct", name, fields=[*fields, *special])


DAY: Final = {"year": 2026, "month": 2, "day": 28}
CLOCK: Final = {"hour": 23, "minute": 5, "second": 9, "nanos": 120_000_000}


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("Date", DAY, "2026-02-28"),
        ("Date", {"year": -43, "month": 3, "day": 15}, "-0043-03-15"),
        ("Date", {"year": 0, "month": 0, "day": 0}, "0000-00-00"),
        ("Date", {"specialValue": "NEGATIVE_INFINITY"}, "-infinity"),
        ("Time", CLOCK, "23:05:09.120000"),
        ("Time", CLOCK | {"nanos": 7}, "23:05:09.000000007"),
        ("ZonedTime", CLOCK | {"offsetSeconds": 7200}, "21:05:09.120000Z"),
        ("Timestamp", DAY | CLOCK, "2026-02-28 23:05:09.120000"),
        (
            "Timestamp",
            {"year": 9999, "month": 12, "day": 31} | CLOCK | {"nanos": 999_999_900},
            "9999-12-31 23:05:09.999999900",
        ),
        ("Timestamp", {"specialValue": "POSITIVE_INFINITY"}, "infinity"),
        (
            "ZonedTimestamp",
            DAY | CLOCK | {"offsetSeconds": -12_600},
            "2026-02-28 23:05:09.120000-03:30",
        ),
        ("ZonedTimestamp", DAY | CLOCK, "2026-02-28 23:05:09.120000Z"),
    ],
)
def test_a_time_in_parts_is_a_time(kind: str, value: Row, text: str) -> None:
    assert text_of(value, structured(kind)) == text
    assert text_of(value, None, types={"a": f"connect.Structured{kind}"}) == text


@pytest.mark.parametrize(
    "value",
    [
        *({}, {"year": 2026}, DAY | {"month": 13}, DAY | {"day": None}),
        {"specialValue": "NOT_A_DATE"},
        "2026-02-28",
    ],
)
def test_parts_that_are_no_time_are_refused_or_as_they_came(value: object) -> None:
    row = change({"id": 1, "a": value}, fields=[ID, structured("Date")])
    assert decode(None, row).event_kind == "invalid"
    message = decode(
        None, change({"id": 1, "a": value}), {"a": "connect.StructuredDate"}
    )
    assert message.error is not None
    assert message.error.error_class == "contradicted_type"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("hex", "00ffe9"),
        ("hex", "00FFE9"),
        ("base64", "AP/p"),
        ("base64_url_safe", "AP_p"),
    ],
)
def test_bytes_that_come_as_a_text_are_bytes_by_declaration(
    kind: str, value: str
) -> None:
    types = {"a": f"connect.{kind}"}
    text = field("a", "string")
    assert text_of(value, text, types=types) == "\x00ÿé"
    assert text_of(value, None, types=types) == "\x00ÿé"
    assert text_of(value, text) == value
    for fields in ([text], None):
        of_row = None if fields is None else [ID, *fields]
        message = decode(
            key({"a": value}, fields),
            change({"id": 1, "a": value}, fields=of_row),
            types,
        )
        assert row_of(message.key) == {"a": "\x00ÿé"}
        assert row_of(message.column_types)["a"] == f"connect.{kind}"


def test_base64_without_its_padding_is_read() -> None:
    types = {"a": "connect.base64_url_safe"}
    assert text_of("_w", None, types=types) == "ÿ"
    assert text_of("_w==", None, types=types) == "ÿ"


def test_a_declared_form_of_bytes_changes_no_other_column() -> None:
    types = {"a": "connect.hex"}
    assert text_of(5, field("a", "int32"), types=types) == "5"
    uuid = field("a", "string", "io.debezium.data.Uuid")
    assert text_of("00ff", uuid, types=types) == "00ff"


# ------------------------------------------------------------------ beside the tables


NOTIFICATION: Final = {
    "id": "5",
    "aggregate_type": "Incremental Snapshot",
    "type": "TABLE_SCAN_COMPLETED",
    "additional_data": {"connector_name": "farm"},
    "timestamp": 1_790_000_000_000,
}


@pytest.mark.parametrize(
    ("value", "kind", "event_type"),
    [
        (NOTIFICATION, "notification", "TABLE_SCAN_COMPLETED"),
        (
            NOTIFICATION | {"additional_data": None},
            "notification",
            "TABLE_SCAN_COMPLETED",
        ),
        ({"type": "log", "data": {"message": "x"}}, "signal", "log"),
        ({"id": "1", "type": "stop-snapshot", "data": None}, "signal", "stop-snapshot"),
    ],
)
def test_what_lies_beside_the_tables_is_of_its_own_kind(
    value: Row, kind: str, event_type: str
) -> None:
    schema = {"type": "struct", "fields": []}
    for document in (value, {"schema": schema, "payload": value}):
        for record_key in (b"farm", None, b'{"id":"5"}'):
            message = decode(record_key, encode(document))
            assert (message.event_kind, message.event_type) == (kind, event_type)
            assert message.error is None


@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "type": "log"},
        {"id": 1, "type": "log", "data": "text"},
        {"type": "cow", "data": {}},
        {"id": 1, "aggregate_type": "a", "type": "b"},
        NOTIFICATION | {"payload": "{}"},
        NOTIFICATION | {"additional_data": "text"},
    ],
)
def test_a_row_without_its_envelope_is_no_signal_and_no_notification(
    value: Row,
) -> None:
    message = decode(None, encode(value))
    assert message.error is not None
    assert message.error.error_class == "no_envelope"
