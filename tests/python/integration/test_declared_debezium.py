"""What a Debezium topic declares reaches the tables, and what contradicts it is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline

from changefold_tools.generate.models import update_models
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE: Final = {
    "version": "3.5.0.Final",
    "connector": "sqlserver",
    "name": "farm",
    "ts_ms": 1_790_000_000_000,
    "snapshot": "false",
    "db": "farm",
    "schema": "dbo",
    "event_serial_no": 1,
}
TYPES: Final = {
    "farm.dbo.herds": {
        "id": "connect.int32",
        "tag": "connect.hex",
        "seen": "connect.ZonedTimestamp",
        "places": "connect.map<connect.string,connect.Date>",
        "weight": "connect.double",
    },
}
OLD: Final = {
    "id": 7,
    "tag": "00ff",
    "seen": "2026-03-01T09:30:00.5+11:00",
    "places": {"north": 1},
    "weight": 1.5,
}
NEW: Final = OLD | {
    "tag": "-",
    "seen": "2026-02-28T22:30:00.5Z",
    "places": {"-": "-"},
    "weight": "two",
}


def record(
    offset: int, table: str, before: Any, after: Any, key: str | None
) -> dict[str, Any]:
    """A change without a schema."""
    lsn = f"00000027:00000758:{offset:04d}"
    source = SOURCE | {"table": table, "commit_lsn": lsn, "change_lsn": lsn}
    op = "u" if before and after else "c" if after else "d"
    value = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 5}
    return {"partition": 0, "offset": offset, "value": json.dumps(value), "key": key}


def described(change: dict[str, Any]) -> dict[str, Any]:
    """The change of a barn, with a schema."""
    fields = [
        {"field": "nr", "type": "int32", "optional": False},
        {
            "field": "built",
            "type": "int32",
            "name": "io.debezium.time.Date",
            "optional": True,
        },
    ]
    row = {"type": "struct", "fields": fields, "optional": True}
    schema = {
        "type": "struct",
        "fields": [{**row, "field": "before"}, {**row, "field": "after"}],
    }
    value = {"schema": schema, "payload": json.loads(change["value"])}
    return change | {"value": json.dumps(value)}


@pytest.fixture(scope="module")
def outcome() -> Iterator[dict[str, list[dict[str, Any]]]]:
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(
            folder,
            {"farm": 1},
            farm={
                "protocol": "debezium",
                "types": TYPES,
                "keys": {"farm.dbo.herds": ["id"], "farm.dbo.barns": ["nr"]},
                "placeholder": "-",
                "databases": {"farm.dbo": "farm"},
            },
        )
        signal = json.dumps({"type": "log", "data": {"message": "x"}})
        pipeline.land(
            "first",
            "farm",
            [
                record(0, "herds", None, OLD, "7"),
                record(1, "herds", OLD, NEW, "Struct{other=7}"),
                record(2, "stalls", None, {"nr": 1}, "1"),
                record(3, "stalls", None, {"nr": 2}, "Struct{nr=2}"),
                {"partition": 0, "offset": 4, "value": signal, "key": "farm"},
                described(record(5, "barns", None, {"nr": 1, "built": 19_000}, "1")),
                record(6, "barns", None, {"nr": 2, "built": 19_001}, "2"),
                record(7, "barns", None, {"nr": 3, "built": "soon"}, "3"),
                record(8, "barns", {"nr": 3}, {"nr": 3, "built": "-"}, "3"),
            ],
        )
        pipeline.dbt("run", "--quiet")
        assert update_models(folder, "verify", check=False).written
        pipeline.dbt("run", "--quiet")
        results = pipeline.dbt("test", "--exclude-resource-type", "unit_test")
        warned = [
            {"test": result.node.name, "rows": result.failures}
            for result in results
            if result.status == "warn"
        ]
        yield {
            "warned": warned,
            "herds": pipeline.rows(
                "select * except (weight), "
                "_cdc_conversion_failures as failures from verify.cur_farm__herds"
            ),
            "barns": pipeline.rows(
                "select nr, cast(built as string) as built, _cdc_unknown_columns "
                "from verify.cur_farm__barns order by nr"
            ),
            "versions": pipeline.rows("select valid_from from verify.scd2_farm__herds"),
            "log": pipeline.rows(
                "select kafka_offset, event_kind, error_class, primary_key "
                "from verify.change_log order by kafka_offset"
            ),
            "balance": pipeline.rows("select * from verify.balance"),
        }


def test_what_is_declared_of_keys_bytes_and_placeholders_is_in_the_table(
    outcome: dict[str, list[dict[str, Any]]],
) -> None:
    (herd,) = outcome["herds"]
    assert herd["id"] == 7
    assert bytes(herd["tag"]) == b"\x00\xff"
    assert json.loads(herd["places"]) == {"north": "1970-01-02"}


def test_an_offset_alone_makes_a_version(
    outcome: dict[str, list[dict[str, Any]]],
) -> None:
    assert len(outcome["versions"]) == 2


def test_a_value_that_contradicts_its_declared_type_is_kept_beside_its_column(
    outcome: dict[str, list[dict[str, Any]]],
) -> None:
    (herd,) = outcome["herds"]
    assert herd["failures"] == {"weight": "two"}
    assert [row["error_class"] for row in outcome["log"]] == [
        *(None, "contradicted_type"),
        *("wrong_type", None, None),
        *(None, None, None, None),
    ]
    warned = {found["test"]: found["rows"] for found in outcome["warned"]}
    assert warned["values_are_of_their_declared_types"] == 1


def test_a_key_that_nothing_tells_is_warned_of_and_its_row_is_there(
    outcome: dict[str, list[dict[str, Any]]],
) -> None:
    warned = {found["test"]: found["rows"] for found in outcome["warned"]}
    assert warned["every_key_was_read"] == 1
    keys = [row["primary_key"] for row in outcome["log"]]
    assert keys[:4] == ['["id"]', '["id"]', None, '["nr"]']
    (counted,) = outcome["balance"]
    assert (counted["quarantined"], counted["control"]) == (0, 1)


def test_a_row_without_a_schema_is_read_by_the_types_of_those_with_one(
    outcome: dict[str, list[dict[str, Any]]],
) -> None:
    assert outcome["barns"] == [
        {"nr": 1, "built": "2022-01-08", "_cdc_unknown_columns": None},
        {"nr": 2, "built": "2022-01-09", "_cdc_unknown_columns": None},
        {"nr": 3, "built": None, "_cdc_unknown_columns": ["built"]},
    ]
    warned = {found["test"]: found["rows"] for found in outcome["warned"]}
    assert warned["values_without_a_schema_are_known"] == 1
