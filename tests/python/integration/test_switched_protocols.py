"""One shop through many protocols: what reads its tables is not edited when it changes.

The first 2,800 messages of the recorded shop, as one changefeed wrote them in each
protocol, up to the same watermark. A team moves from one topic to the next: it declares the new
one, runs `make models` and builds. At last a shop of SQL Server, whose `databases` names
its schema as the others are called.
"""

from __future__ import annotations

import gzip
import json
import shutil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from conftest import PROJECT

from changefold_tools.generate.models import update_models
from changefold_tools.session import DbtFailedError, run_dbt, spark_session
from changefold_tools.verify.run import declare_topics, scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHOP: Final = PROJECT / "tests" / "golden" / "ticdc" / "shop_beginning"
VARIANTS: Final = {
    "ticdc_canal_json": "canal_json_tidb",
    "ticdc_simple": "simple_json",
    "debezium": "debezium_ticdc",
}
"""By the protocol, the file that has the shop in it."""

TYPES: Final = {
    "shop.customers": {
        "created_at": "datetime(6)",
        "balance": "decimal(14,2)",
        "avatar": "varbinary(16)",
    },
    "shop.order_items": {"price": "decimal(12,2)"},
    "shop.orders": {"total": "decimal(14,2)", "ship_by": "date"},
    "shop.payments": {"amount": "decimal(14,2)", "at": "time(3)", "raw": "blob"},
    "shop.products": {"price": "decimal(12,2) unsigned", "flags": "bit(8)"},
}
"""What Debezium's messages without a schema do not tell of the shop's columns."""

SQL_SERVER: Final = (
    PROJECT / "tests" / "golden" / "debezium" / "sqlserver_shop_synthetic"
)

Rows = list[dict[str, Any]]


class Marts(NamedTuple):
    """Rows of the sample's marts."""

    orders: Rows
    status_changes: Rows


class Outcome(NamedTuple):
    """What stood in the tables.

    Attributes:
        marts: The marts, by protocol.
        read_without_types: Columns that a test named when Debezium's messages were read
            without the types, by table.
        of_sql_server: The orders of the shop of SQL Server.
        models: The models of its tables.
    """

    marts: dict[str, Marts]
    read_without_types: dict[str, set[str]]
    of_sql_server: Rows
    models: set[str]


def _rows(table: str, schema: str = "verify") -> Rows:
    texts = spark_session().table(f"{schema}.{table}").toJSON().collect()
    return [json.loads(text) for text in sorted(texts)]


def _messages(file: Path, topic: str, path: Path) -> None:
    """Write a recording as messages of another topic."""
    with gzip.open(file, "rt") as lines, path.open("w") as written:
        for line in lines:
            written.write(json.dumps(json.loads(line) | {"topic": topic}) + "\n")


def _read(project: Path, declared: dict[str, Any], *options: str) -> None:
    """Read a topic instead of the one before, and write the models of its tables."""
    declare_topics(project, [declared])
    run_dbt(["build", "--quiet", "--select", "+table_schemas", *options], project)
    update_models(project, "verify", check=False)


def _read_without_types(project: Path, declared: dict[str, Any]) -> dict[str, set[str]]:
    """Read a topic of Debezium, and return what the test of its types says."""
    with pytest.raises(DbtFailedError):
        _read(project, declared, "--store-failures")
    found: dict[str, set[str]] = {}
    for row in _rows("values_were_read_by_their_types", "verify_dbt_test__audit"):
        table = f"{row['source_database']}.{row['source_table']}"
        found.setdefault(table, set()).add(row["source_column"])
    return found


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    with scratch_project(PROJECT, "interpreted") as folder:
        (folder / "messages").mkdir()
        marts = {}
        for protocol, variant in VARIANTS.items():
            topic = f"shop_by_{protocol}"
            file = folder / "messages" / f"{topic}.ndjson"
            _messages(SHOP / f"{variant}.ndjson.gz", topic, file)
            declared: dict[str, Any] = {
                "name": topic,
                "protocol": protocol,
                "files": [f"messages/{file.name}"],
                "partitions": 3,
            }
            if protocol == "debezium":
                read_without_types = _read_without_types(folder, declared)
                _read(folder, declared | {"types": TYPES}, "--full-refresh")
            else:
                _read(folder, declared)
            written = folder / "models" / "marts"
            if not written.exists():
                shutil.copytree(PROJECT / "sample" / "marts", written)
            run_dbt(["run", "--quiet", "--select", "+marts"], folder)
            marts[protocol] = Marts(
                _rows("fct_orders"), _rows("fct_order_status_changes")
            )
        declared = {
            "name": "server1",
            "protocol": "debezium",
            "pattern": r"server1(\..*)?|__debezium-heartbeat\.server1",
            "files": [str(SQL_SERVER / "messages.ndjson.gz")],
            "partitions": 3,
            "is_gapless": False,
            "databases": {"testDB.dbo": "shop"},
        }
        _read(folder, declared)
        run_dbt(["run", "--quiet", "--select", "+cur_shop__orders"], folder)
        yield Outcome(
            marts,
            read_without_types,
            _rows("cur_shop__orders"),
            {path.stem for path in folder.glob("models/current/*/*.sql")},
        )


def test_the_marts_read_the_same_through_every_protocol(outcome: Outcome) -> None:
    first = outcome.marts["ticdc_canal_json"]
    assert len(first.orders) > 100
    assert any(row["payment_count"] for row in first.orders)
    assert any(not row["is_first"] for row in first.status_changes)
    for marts in outcome.marts.values():
        assert marts.orders == first.orders
        assert marts.status_changes == first.status_changes


def test_columns_that_were_read_without_their_types_are_named(
    outcome: Outcome,
) -> None:
    assert outcome.read_without_types == {
        table: set(types) for table, types in TYPES.items()
    }


def test_databases_call_a_schema_of_sql_server_as_the_others_are_called(
    outcome: Outcome,
) -> None:
    with gzip.open(SQL_SERVER / "expected_final.ndjson.gz", "rt") as lines:
        expected = {
            row["row"]["id"]: row["row"]["status"]
            for row in map(json.loads, lines)
            if row["table"] == "orders"
        }
    found = {str(row["id"]): row["status"] for row in outcome.of_sql_server}
    assert found == expected
    assert found
    assert {"cur_shop__orders", "cur_shop__customers"} <= outcome.models
