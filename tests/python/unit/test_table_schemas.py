"""The fold of a topic as SQL calls it: from JSON to JSON."""

import json
from typing import Any

import msgspec
import pytest

from changefold.mysql.ddl import parse_ddl
from changefold.schemas.udf import fold_table_schemas


def ddl(sequence: int, sql: str, **more: Any) -> dict[str, Any]:
    return {
        "sequence": f"{sequence:020}",
        "database": "d",
        "table": "t",
        "sql": sql,
        "statement": parse_ddl(sql, "d").to_json(),
        **more,
    }


def schema(version: int, *columns: str, type: str = "int") -> str:
    described = [{"name": name, "type": type} for name in columns]
    index = {"name": "PRIMARY", "columns": ["id"], "primary": True}
    return json.dumps(
        {
            "database": "d",
            "table": "t",
            "version": version,
            "columns": described,
            "indexes": [index],
        }
    )


def folded(
    ddls: list[dict[str, Any]] | None = None,
    described: list[dict[str, str]] | None = None,
    seen: list[dict[str, Any]] | None = None,
) -> list[list[str]]:
    """Names of the columns of each version."""
    texts = [
        None if given is None else json.dumps(given)
        for given in (ddls, described, seen)
    ]
    versions = json.loads(fold_table_schemas(*texts))
    return [[column["name"] for column in version["columns"]] for version in versions]


CREATE = ddl(1, "create table t (id int primary key)")


def test_a_topic_without_anything_has_no_tables() -> None:
    assert folded() == []


def test_an_ignored_ddl_tells_types_only() -> None:
    ddls = [CREATE, ddl(3, "alter table t add c enum('x')", is_ignored=True)]
    assert folded(ddls) == [["id"]]
    rows = [
        {
            "database": "d",
            "table": "t",
            "sequence": f"{5:020}",
            "last_sequence": f"{5:020}",
            "column_types": {"id": "int", "c": "enum"},
            "primary_key": ["id"],
            "leaves_out_generated": False,
        }
    ]
    assert folded(ddls, seen=rows) == [["id"], ["id", "c"]]
    assert "enum('x')" in fold_table_schemas(json.dumps(ddls), None, json.dumps(rows))


@pytest.mark.parametrize(
    ("form", "defaults"),
    [
        ("canal", ["2", "2026-01-02 03:04:05", "ÿ", "0000-00-00 00:00:00"]),
        (
            "simple",
            [
                "2",
                '{"location":"Asia/Shanghai","value":"2026-01-02 03:04:05"}',
                "/w==",
                '{"location":"Asia/Shanghai","value":"0000-00-00 00:00:00"}',
            ],
        ),
        (
            "connect",
            ["y", "2026-01-01 19:04:05.000000Z", "ÿ", "0000-00-00 00:00:00.000000Z"],
        ),
    ],
)
def test_a_default_is_what_a_message_would_send(form: str, defaults: list[str]) -> None:
    declared = {"wire_form": form, "time_zone": "Asia/Shanghai"}
    ddls = [
        ddl(1, "CREATE TABLE t (id INT PRIMARY KEY)", **declared),
        ddl(
            2,
            "ALTER TABLE t ADD a ENUM('x', 'y') DEFAULT 'y',"
            " ADD b TIMESTAMP NULL DEFAULT '2026-01-02 03:04:05',"
            " ADD c VARBINARY(3) DEFAULT 0xff, ADD d TIMESTAMP NOT NULL, ADD e INT",
            **declared,
        ),
    ]
    versions = json.loads(fold_table_schemas(json.dumps(ddls), None, None))
    told = [column.get("original_default") for column in versions[-1]["columns"]]
    assert told == [None, *defaults, None]


def test_a_version_is_known_from_its_first_row_on() -> None:
    told = ddl(
        5,
        "alter table t add n int",
        table_schema=schema(4, "id", "n"),
        previous_table_schema=schema(1, "id"),
        is_ignored=False,
    )
    rows = [
        {"table_schema": schema(4, "id", "n"), "first_sequence": f"{7:020}"},
        {"table_schema": schema(8, "id", "n", "c"), "first_sequence": f"{9:020}"},
    ]
    assert folded([told], rows) == [["id"], ["id", "n"], ["id", "n", "c"]]


def test_the_columns_of_a_view_have_no_types_and_make_no_table() -> None:
    view = {"table_schema": schema(1, "id", type="unspecified"), "first_sequence": "1"}
    assert folded(described=[view]) == []


def test_a_text_of_another_form_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        fold_table_schemas('[{"sequence": "1"}]', None, None)
