"""The messages that the tools publish in their own documentation and tests.

`tests/golden/published` has them: those of Debezium's documentation of SQL Server, and those
of tiflow's documents and tests, with a row of Debezium's MySQL connector and the SQL that
wrote it. Each is named in a table here, beside what it is said to mean.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from simple_messages import as_row

from changefold.protocols.canal_json import CanalJsonMessage, read_canal_json
from changefold.protocols.debezium import DebeziumMessage, read_debezium

PUBLISHED: Final = Path(__file__).parents[2] / "golden" / "published"


def lines_of(name: str) -> list[dict[str, Any]]:
    """The samples of a file."""
    return [json.loads(line) for line in (PUBLISHED / name).read_text().splitlines()]


def fields_of(message: DebeziumMessage | CanalJsonMessage) -> dict[str, Any]:
    """The fields that are not null."""
    fields = as_row(message)  # type: ignore[arg-type]  # it asks for the fields only
    return {name: value for name, value in fields.items() if value is not None}


# ------------------------------------------------- Debezium's documentation: SQL Server

JOHN: Final = {"id": "1005", "first_name": "john", "last_name": "doe"}
CUSTOMERS: Final = {
    "connector": "sqlserver",
    "source_name": "server1",
    "source_database": "testDB",
    "source_schema": "dbo",
    "source_table": "customers",
}

SQL_SERVER: Final[dict[tuple[str, int], dict[str, Any]]] = {
    ("_create_ events", 1045): CUSTOMERS
    | {
        "event_kind": "row",
        "op": "c",
        "after": JOHN | {"email": "john.doe@example.org"},
        "commit_lsn": "00000027:00000758:0005",
        "lsn": "00000027:00000758:0003",
        "event_serial_no": 1,
        "source_ts_ms": 1559729468470,
        "is_snapshot": False,
        "is_typed": True,
    },
    ("_update_ events", 1317): CUSTOMERS
    | {
        "event_kind": "row",
        "op": "u",
        "before": JOHN | {"email": "john.doe@example.org"},
        "after": JOHN | {"email": "noreply@example.org"},
        "commit_lsn": "00000027:00000ac0:0007",
        "lsn": "00000027:00000ac0:0002",
        "event_serial_no": 2,
        "source_ts_ms": 1559729995937,
        "ts_ms": 1559729998706,
        "is_snapshot": False,
    },
    ("_delete_ events", 1409): CUSTOMERS
    | {
        "event_kind": "row",
        "op": "d",
        "before": JOHN | {"email": "noreply@example.org"},
        "commit_lsn": "00000027:00000db0:0007",
        "lsn": "00000027:00000db0:0005",
        "event_serial_no": 1,
        "source_ts_ms": 1559730445243,
        "ts_ms": 1559730450205,
        "is_snapshot": False,
    },
    ("Schema change topic", 668): CUSTOMERS
    | {
        "event_kind": "ddl",
        "event_type": "CREATE",
        "commit_lsn": "00000025:00000d98:00a2",
        "is_snapshot": True,
        "ts_ms": 1588252618953,
    },
    ("Schema change topic", 616): {"key": {"databaseName": "inventory"}},
    ("Schema change topic", 822): {"key": {"databaseName": "testDB"}},
    ("Change event keys", 940): {"key": {"id": "1004"}},
}
"""By section and line; a row is an object here."""


@pytest.mark.parametrize(
    ("section", "line"), SQL_SERVER, ids=lambda part: str(part).strip("_")
)
def test_a_sample_of_the_sql_server_documentation_means(
    section: str, line: int
) -> None:
    [sample] = [
        sample
        for sample in lines_of("debezium_documentation.ndjson")
        if (sample["section"], sample["line"]) == (section, line)
    ]
    event = json.dumps(sample["event"]).encode()
    is_key = sample["kind"] == "key"
    found = fields_of(
        read_debezium(event, None) if is_key else read_debezium(None, event)
    )
    for row in ("key", "before", "after"):
        if row in found:
            found[row] = json.loads(found[row])
    expected = SQL_SERVER[section, line]
    assert found.items() >= expected.items()
    # A row that is not there is null.
    assert found.keys() & {"before", "after"} == expected.keys() & {"before", "after"}


def test_the_transaction_of_the_sql_server_documentation_begins_and_ends() -> None:
    messages = [
        read_debezium(None, json.dumps(sample["event"]).encode())
        for sample in lines_of("debezium_documentation.ndjson")
        if sample["kind"] == "transaction"
    ]
    assert [
        (message.event_kind, message.event_type, message.transaction_id, message.ts_ms)
        for message in messages
    ] == [
        ("transaction", "BEGIN", "00000025:00000d08:0025", 1486500577125),
        ("transaction", "END", "00000025:00000d08:0025", 1486500577691),
    ]


def test_no_sample_of_the_sql_server_documentation_is_left_out() -> None:
    assert {
        (sample["section"], sample["line"])
        for sample in lines_of("debezium_documentation.ndjson")
        if sample["kind"] != "transaction"
    } == SQL_SERVER.keys()


def test_the_documented_create_repeats_a_field_and_the_last_one_counts() -> None:
    [sample] = [
        sample
        for sample in lines_of("debezium_documentation.ndjson")
        if sample["section"] == "_create_ events"
    ]
    message = read_debezium(None, sample["text"].encode())
    assert message.error is None
    assert sample["text"].count('"ts_ms"') > 2
    assert message.ts_ms == json.loads(sample["text"])["payload"]["ts_ms"]


# ------------------------------------------------------------------ tiflow's own samples

TABLE1: Final = {
    "connector": "TiCDC",
    "source_name": "test_cluster",
    "source_database": "test",
    "source_table": "table1",
}
CHANGE: Final = TABLE1 | {
    "event_kind": "row",
    "commit_ts": 1,
    "change_sequence": "00000000000000000001",
    "ordered_by": "commit_ts",
    "ts_ms": 1701326309000,
}
UNTYPED: Final = {"is_typed": False, "column_types": '{"tiny":"connect.untyped"}'}
TYPED: Final = {"is_typed": True, "column_types": '{"tiny":"connect.int16"}'}
INSERT: Final = CHANGE | {"op": "c", "after": '{"tiny":"1"}'}
UPDATE: Final = CHANGE | {"op": "u", "before": '{"tiny":"2"}', "after": '{"tiny":"1"}'}
DELETE: Final = CHANGE | {"op": "d", "before": '{"tiny":"2"}'}
DDL: Final = {"event_kind": "ddl", "connector": "TiCDC", "commit_ts": 1}

DEBEZIUM: Final[dict[str, dict[str, Any]]] = {
    "codec_test.go:91": TABLE1
    | DDL
    | {"event_type": "ALTER", "ddl_sql": "RENAME TABLE test.table1 to test.table2"},
    "codec_test.go:428": TABLE1
    | DDL
    | {"event_type": "CREATE", "ddl_sql": "CREATE TABLE test.table1"},
    # Its source names no table, and `databaseName` the database.
    "codec_test.go:503": DDL
    | {
        "source_database": "test",
        "source_table": "",
        "ddl_sql": "DROP TABLE test.table2",
        "table_changes": "[]",
    },
    "codec_test.go:556": {"event_kind": "watermark", "op": "m", "watermark_ts": 3},
    "codec_test.go:751": INSERT | UNTYPED,
    "codec_test.go:809": INSERT | TYPED,
    "codec_test.go:951": UPDATE | UNTYPED,
    "codec_test.go:1012": UPDATE | TYPED,
    # The changefeed sends no value before an update.
    "codec_test.go:1130": CHANGE | UNTYPED | {"op": "u", "after": '{"tiny":"1"}'},
    "codec_test.go:1197": DELETE | UNTYPED,
    "codec_test.go:1257": DELETE | TYPED,
}

KEYS: Final = {
    "codec_test.go:72": '{"databaseName":"test"}',
    "codec_test.go:422": '{"databaseName":"test"}',
    "codec_test.go:787": '{"tiny":"1"}',
    "codec_test.go:1234": '{"tiny":"2"}',
    "datatype.dbz.key.json:1": '{"pk":"1"}',
}

EMPLOYEE: Final = {
    "event_kind": "row",
    "source_database": "test",
    "source_table": "employee",
    "primary_key": '["id"]',
}

CANAL_JSON: Final[dict[str, dict[str, Any]]] = {
    "canal_json_txn_event_decoder_test.go:98": EMPLOYEE
    | {"event_type": "INSERT", "es_ms": 1668067205238},
    "canal_json_txn_event_decoder_test.go:99": EMPLOYEE
    | {"event_type": "UPDATE", "es_ms": 1668067229137},
    "canal_json_txn_event_decoder_test.go:100": EMPLOYEE
    | {"event_type": "DELETE", "es_ms": 1668067230388},
    "2023-07-04-ticdc-pulsar-sink.md:69": {
        "event_kind": "ddl",
        "event_type": "QUERY",
        "source_database": "test",
        "source_table": "",
        "ddl_sql": "drop database if exists test",
        "commit_ts": 163963309467037594,
    },
}

SMITH: Final = {"FirstName": "Bob", "LastName": "Smith", "id": "101"}
HIRED: Final = SMITH | {"HireDate": "2014-06-04", "OfficeLocation": "New York"}
MOVED: Final = SMITH | {"HireDate": "2015-10-08", "OfficeLocation": "Los Angeles"}

IMAGES: Final[dict[str, tuple[Any, Any]]] = {
    "canal_json_txn_event_decoder_test.go:98": (HIRED, None),
    "canal_json_txn_event_decoder_test.go:99": (MOVED, HIRED),
    "canal_json_txn_event_decoder_test.go:100": (MOVED, None),
}
"""The row, and the row before."""

WATERMARK_KEY: Final = "codec_test.go:546"
HAND_MADE: Final = "dml_worker_test.go:109"
REFERENCE: Final = "datatype.dbz.json:1"
SQL: Final = {"datatype.ddl.sql:1", "datatype.dml.sql:1"}


def tiflow() -> dict[str, bytes]:
    """The samples by their file and line."""
    return {
        f"{Path(sample['origin']).name}:{sample['line']}": sample["message"].encode()
        for sample in lines_of("tiflow.ndjson")
    }


@pytest.mark.parametrize("name", DEBEZIUM)
def test_a_debezium_sample_of_tiflow_means(name: str) -> None:
    found = fields_of(read_debezium(None, tiflow()[name]))
    expected = DEBEZIUM[name]
    assert found.items() >= expected.items()
    assert found.keys() & {"before", "after"} == expected.keys() & {"before", "after"}


@pytest.mark.parametrize("name", KEYS)
def test_a_debezium_key_of_tiflow_is_read(name: str) -> None:
    assert read_debezium(tiflow()[name], None).key == KEYS[name]


def test_the_empty_key_of_a_watermark_of_tiflow_belongs_to_its_value() -> None:
    messages = tiflow()
    read = read_debezium(messages[WATERMARK_KEY], messages["codec_test.go:556"])
    assert (read.event_kind, read.watermark_ts, read.key) == ("watermark", 3, None)


@pytest.mark.parametrize("name", CANAL_JSON)
def test_a_canal_json_sample_of_tiflow_means(name: str) -> None:
    message = read_canal_json(tiflow()[name])
    assert fields_of(message).items() >= CANAL_JSON[name].items()
    images = [
        tuple(part and json.loads(part) for part in (image[0], image[1]))
        for image in message.images
    ]
    assert images == ([IMAGES[name]] if name in IMAGES else [])


def test_the_hand_made_canal_json_of_tiflow_is_refused_as_it_has_no_types() -> None:
    error = read_canal_json(tiflow()[HAND_MADE]).error
    assert error is not None
    assert (error.error_class, error.path) == ("missing_field", "$.mysqlType")


def test_no_sample_of_tiflow_is_left_out() -> None:
    named = {*DEBEZIUM, *KEYS, *CANAL_JSON, WATERMARK_KEY, HAND_MADE, REFERENCE, *SQL}
    assert tiflow().keys() == named


INSERTED: Final = {
    "pk": "1",
    "col_d_2023": "2023-11-30",
    "col_d_1000": "1000-01-01",
    "col_d_9999": "9999-12-31",
    "col_d_0000": None,
    "col_dt": "2023-11-30 12:34:56.000000",
    "col_dt_fsp_0": "2023-11-30 12:34:56.000000",
    "col_dt_fsp_1": "2023-11-30 12:34:56.100000",
    "col_dt_fsp_4": "2023-11-30 12:34:56.123500",
    "col_dt_fsp_6": "2023-11-30 12:34:56.123456",
    "col_dt_0000": None,
    "col_t": "12:34:56.000000",
    "col_t_fsp_0": "12:34:56.000000",
    "col_t_fsp_1": "12:34:56.100000",
    "col_t_fsp_4": "12:34:56.123500",
    "col_t_fsp_6": "12:34:56.123456",
    "col_t_neg": "-12:34:56.123456",
    "col_ts": "2023-11-30 12:34:56.000000Z",
    "col_ts_fsp_0": "2023-11-30 12:34:56.000000Z",
    "col_ts_fsp_1": "2023-11-30 12:34:56.100000Z",
    "col_ts_fsp_5": "2023-11-30 12:34:56.123460Z",
    "col_ts_fsp_6": "2023-11-30 12:34:56.123456Z",
    "col_y": "2023",
    "col_bit_1": "true",
    "col_bit_5": "10000",
    "col_bit_6": "010000",
    "col_bit_60": "1".rjust(56, "0") + "0000",
    "col_varchar": "foo",
    "col_char": "foo",
    # `binary.handling.mode=base64`
    "col_varbinary": "Zm9v",
    "col_binary": "Zm9v" + "A" * 130 + "==",
    "col_blob": "Zm9v",
    # `decimal.handling.mode=double`
    "col_decimal": "12345.12345",
    "col_numeric": "12345.12345",
    "col_float": "12345.123",
    "col_double": "12345.12345",
    "col_int": "-2147483648",
    "col_int_unsigned": "4294967295",
    "col_tinyint": "-128",
    "col_tinyint_unsigned": "255",
    "col_smallint": "-32768",
    "col_smallint_unsigned": "65535",
    "col_mediumint": "-8388608",
    "col_mediumint_unsigned": "16777215",
    "col_bigint": "-9223372036854775808",
    # `bigint.unsigned.handling.mode=long`: 2^64 - 1, if its type is declared.
    "col_bigint_unsigned": "-1",
    # What is no member of the type is empty.
    "col_enum": "a",
    "col_enum_invalid": "",
    "col_set": "a,b",
    "col_set_invalid": "",
    "col_json": '["foo"]',
}
"""What the SQL beside the reference inserts, as MySQL stores it, in texts of ours."""


def test_the_reference_row_of_mysql_has_the_values_of_its_sql() -> None:
    messages = tiflow()
    message = read_debezium(messages["datatype.dbz.key.json:1"], messages[REFERENCE])
    assert json.loads(str(message.after)) == INSERTED
    ddl = messages["datatype.ddl.sql:1"].decode()
    assert [line.split()[0] for line in ddl.splitlines()[1:-1] if line] == [*INSERTED]
    assert (message.op, message.key) == ("c", '{"pk":"1"}')
