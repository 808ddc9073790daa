"""One build at a time works on a warehouse where no file can be locked."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from conftest import PROJECT

from changefold_tools.session import run_dbt, spark_session
from changefold_tools.verify.run import declare_topics, scratch_project
from dbt.adapters.sparksession.build_lease import BuildLease

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pyspark.sql import SparkSession

TABLE = "`verify`.`build_lease`"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with scratch_project(PROJECT) as folder:
        declare_topics(folder, [])
        run_dbt(["seed", "--quiet"], folder)
        yield spark_session()


@pytest.fixture
def table(spark: SparkSession) -> str:
    spark.sql(
        f"create or replace table {TABLE} (token string, holder string,"
        " expires_at timestamp) using iceberg"
    )
    return TABLE


def test_of_two_that_come_at_once_one_gets_it(spark: SparkSession, table: str) -> None:
    leases = [BuildLease() for _ in range(3)]
    holders: list[str] = []
    threads = [
        threading.Thread(
            target=lambda lease=lease: holders.append(lease.take(spark, table, 0, 60))
        )
        for lease in leases
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(bool, holders)) == [False, True, True]
    assert all("process " in holder for holder in holders if holder)
    assert spark.table(table).count() == 1
    for lease in leases:
        lease.release()


def test_it_is_renewed_while_it_is_held(spark: SparkSession, table: str) -> None:
    first, second = BuildLease(), BuildLease()
    assert first.take(spark, table, 0, 60) == ""
    taken_until = _expires_at(spark, table)
    assert first.take(spark, table, 0, 60) == ""
    # However long a renewal takes on a busy machine, the lease is held meanwhile.
    deadline = time.monotonic() + 120
    while _expires_at(spark, table) == taken_until and time.monotonic() < deadline:
        time.sleep(1)
    assert _expires_at(spark, table) > taken_until
    assert second.take(spark, table, 0, 60).startswith("process ")
    first.release()
    assert second.take(spark, table, 0, 12) == ""
    second.release()


def test_one_that_waits_writes_nothing(spark: SparkSession, table: str) -> None:
    # A renewal that loses against a write is none: the holder would lose its lease.
    first, second = BuildLease(), BuildLease()
    assert first.take(spark, table, 0, 600) == ""
    versions = spark.table(f"{table}.snapshots").count()
    assert second.take(spark, table, 5, 600).startswith("process ")
    assert spark.table(f"{table}.snapshots").count() == versions
    first.release()


def test_that_of_a_killed_build_runs_out(spark: SparkSession, table: str) -> None:
    spark.sql(
        f"insert into {table} values ('0', 'process 1 on it',"
        " current_timestamp() + interval 6 seconds)"
    )
    lease = BuildLease()
    begun = time.monotonic()
    assert lease.take(spark, table, 0, 60) == "process 1 on it"
    assert lease.take(spark, table, 60, 60) == ""
    assert time.monotonic() - begun > 3
    lease.release()


def test_one_that_was_lost_stops_the_jobs(spark: SparkSession, table: str) -> None:
    lease = BuildLease()
    assert lease.take(spark, table, 0, 4) == ""
    spark.sql(f"update {table} set token = 'of another'")
    with pytest.raises(Exception, match="cancelled"):
        spark.range(0, 10**13, 1, 1).selectExpr("sum(sqrt(id))").collect()
    lease.release()
    row = spark.table(table).first()
    assert row is not None
    assert row.token == "of another"  # noqa: S105


def _expires_at(spark: SparkSession, table: str) -> datetime:
    row = spark.table(table).first()
    assert row is not None
    expires_at: datetime = row.expires_at
    return expires_at
