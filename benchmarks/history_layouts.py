"""Ways to end the versions of a history: what a batch takes, and what a reader pays.

The same made-up history stands in Iceberg in each layout, and the same batches of changes
are brought into it by the statement that the layout needs; the versions must be the same
in the end. Layouts take turns, batch by batch. The statement is the simplest one that ends
a version and begins the next: what a model does for late changes, or equal states, would be
the same in each.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from changefold_tools.session import run_dbt, spark_session, stop_session
from changefold_tools.verify.run import declare_topics, scratch_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT: Final = Path(__file__).parents[1]

_VALUES: Final = """
    cast(hash({seed}, id) % 100000 as bigint) as customer_id,
    element_at(array('new', 'paid', 'sent', 'back'), 1 + cast(pmod(hash({seed}, id), 4) as int))
        as status,
    cast(hash({seed}, id, 1) % 100000 / 100 as decimal(14, 2)) as total,
    'EUR' as currency,
    sha2(cast(xxhash64({seed}, id) as string), 256) as note,
    timestamp_seconds(1700000000 + cast(pmod(hash({seed}, id), 10000000) as bigint))
        as created_at,
    timestamp_seconds(1710000000 + cast({seed} as bigint)) as updated_at,
    cast(pmod(hash({seed}, id), 100) as int) as quantity,
    cast(hash({seed}, id) as double) as weight
"""
"""The columns of a row beside its key."""

_COLUMNS: Final = "id, customer_id, status, total, currency, note, created_at, updated_at, quantity, weight"

_SOURCE: Final = """
select {columns}, begins, cast(null as bigint) as ends from changes where op <> 'd'
union all
select open.id, {nulls}, open.begins, changes.begins as ends
from {table} as open inner join changes on open.id = changes.id
where open.is_current
""".format(
    columns=_COLUMNS,
    nulls=", ".join(["null"] * 9),
    table="{table}",
)
"""New versions, and the ends of those before them, which travel without their values."""

_MERGE: Final = """
merge into {table} as history using ({source}) as versions
on history.id = versions.id and history.begins = versions.begins and history.is_current
when matched then update set history.ends = versions.ends, history.is_current = false
when not matched then insert ({columns}, begins, ends, is_current)
    values ({columns}, begins, null, true)
"""

_JOINED_IN_PLACE: Final = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled": "false",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.sources.v2.bucketing.allowJoinKeysSubsetOfPartitionKeys.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
"""What Spark and Iceberg need to join buckets without a shuffle."""


@dataclass(frozen=True)
class Layout:
    """A way to keep a history.

    Attributes:
        partitioned_by: Of the table.
        batch: Statements that bring in the view `changes`.
        mode: How Iceberg merges.
        versions: What a reader selects from, as the columns, begins and ends.
        settings: Of the session, for the batch.
        has_ends: Whether the table tells when a version ends.
        is_apart: Whether versions that ended are in a table of their own, `_closed`.
    """

    partitioned_by: str
    batch: tuple[str, ...] = (_MERGE.replace("{source}", _SOURCE),)
    mode: str = "merge-on-read"
    versions: str = "select {columns}, begins, ends from {table}"
    settings: tuple[tuple[str, str], ...] = ()
    has_ends: bool = True
    is_apart: bool = False


_STAGED: Final = (
    "create or replace table {table}_staged using iceberg"
    " partitioned by (bucket(16, id)) as " + _SOURCE,
    _MERGE.replace("{source}", "select * from {table}_staged"),
)

LAYOUTS: Final = {
    "open versions are a partition (ours)": Layout("is_current"),
    "open and closed versions together": Layout(""),
    "open versions are a partition, files written anew": Layout(
        "is_current", mode="copy-on-write"
    ),
    "open versions in 16 buckets of the key": Layout("is_current, bucket(16, id)"),
    "the same, the source staged and joined in place": Layout(
        "is_current, bucket(16, id)",
        _STAGED,
        settings=tuple(_JOINED_IN_PLACE.items()),
    ),
    "the source staged": Layout("is_current", _STAGED),
    "the source brings all values": Layout(
        "is_current",
        (
            """
            merge into {table} as history using (
                select {columns}, begins, cast(null as bigint) as ends, true as is_current
                from changes where op <> 'd'
                union all
                select open.* except (begins, ends, is_current), open.begins,
                    changes.begins as ends, false as is_current
                from {table} as open inner join changes on open.id = changes.id
                where open.is_current
            ) as versions
            on history.id = versions.id and history.begins = versions.begins
                and history.is_current
            when matched then update set *
            when not matched then insert *
            """,
        ),
    ),
    "open versions in a table of their own": Layout(
        "is_current",
        (
            """
            insert into {table}_closed
            select open.* except (begins, ends, is_current), open.begins,
                changes.begins as ends, false as is_current
            from {table} as open inner join changes on open.id = changes.id
            """,
            """
            merge into {table} as open using changes on open.id = changes.id
            when matched and changes.op = 'd' then delete
            when matched then update set {assignments}
            when not matched and changes.op <> 'd' then
                insert ({columns}, begins, ends, is_current)
                values ({columns}, begins, null, true)
            """,
        ),
        versions="select {columns}, begins, ends from {table}"
        " union all select {columns}, begins, ends from {table}_closed",
        is_apart=True,
    ),
    "only appended, a reader finds the ends": Layout(
        "",
        (
            """
            insert into {table}
            select {columns}, begins, if(op = 'd', 0, null) as ends, true as is_current
            from changes
            """,
        ),
        versions="""
            select {columns}, begins, ends from (
                select {columns}, begins, ends = 0 as is_deleted,
                    lead(begins) over (partition by id order by begins) as ends
                from {table}
            ) where is_deleted is not true
        """,
        has_ends=False,
    ),
}


class Found(NamedTuple):
    """What was found of a layout.

    Attributes:
        seconds: Of each batch.
        megabytes: Added by all batches.
        versions: What tells sets of versions apart: their number, a sum of hashes.
        reading: Seconds to read the current rows.
    """

    seconds: list[float]
    megabytes: float
    versions: list[int]
    reading: float


def main() -> int:
    """Print what each layout takes; return 1 if their versions differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=1_800_000, help="half are open")
    parser.add_argument("--changes", type=int, default=19_000, help="of a batch")
    parser.add_argument("--batches", type=int, default=4, help="the first warms up")
    options = parser.parse_args()
    with scratch_project(PROJECT) as project:
        topic = {"name": "none", "protocol": "ticdc_canal_json", "partitions": 1}
        declare_topics(project, [topic | {"table": "landing.none"}])
        run_dbt(["run-operation", "open_session", "--quiet"], project)
        found = _measure(
            spark_session(), options.versions, options.changes, options.batches
        )
        stop_session()
    table = Table(title=f"{options.versions:,} versions, {options.changes:,} changes")
    headings = ("layout", "batch, s", "from - to", "MB written", "current rows read, s")
    for heading in headings:
        table.add_column(heading, justify="right" if table.columns else "left")
    for name, (seconds, megabytes, _, reading) in found.items():
        measured = seconds[1:]
        table.add_row(
            name,
            f"{statistics.median(measured):.2f}",
            f"{min(measured):.2f} - {max(measured):.2f}",
            f"{megabytes / options.batches:.1f}",
            f"{reading:.2f}",
        )
    console = Console(width=130)
    console.print(table)
    first, *_ = found.values()
    different = [name for name, it in found.items() if it.versions != first.versions]
    console.print(
        f"These differ: {different}" if different else "All versions are equal."
    )
    return int(bool(different))


def _measure(
    spark: SparkSession, versions: int, changes: int, batches: int
) -> dict[str, Found]:
    spark.sql("create schema layouts")
    spark.sql("use layouts")
    tables = {name: f"history_{number}" for number, name in enumerate(LAYOUTS)}
    for name, table in tables.items():
        _create(spark, table, LAYOUTS[name], versions)
    taken: dict[str, list[float]] = {name: [] for name in tables}
    for batch in range(batches):
        _make_changes(spark, batch, versions // 2, changes)
        for name, table in tables.items():
            taken[name].append(_bring(spark, table, LAYOUTS[name]))
    return {
        name: Found(
            taken[name],
            _written(spark, table, LAYOUTS[name]),
            *_read(spark, table, LAYOUTS[name]),
        )
        for name, table in tables.items()
    }


def _create(spark: SparkSession, table: str, layout: Layout, versions: int) -> None:
    by = f"partitioned by ({layout.partitioned_by})" if layout.partitioned_by else ""
    modes = ", ".join(
        f"'write.{kind}.mode' = '{layout.mode}'"
        for kind in ("merge", "update", "delete")
    )
    properties = (
        f"tblproperties ({modes}, 'write.distribution-mode' = 'none',"
        " 'write.merge.distribution-mode' = 'hash', 'write.spark.fanout.enabled' = 'true')"
    )
    ends = {1: "2" if layout.has_ends else "null", 2: "null"}
    rows = " union all ".join(
        f"select id, {_VALUES.format(seed=begins)}, {begins}L as begins,"
        f" cast({end} as bigint) as ends, {end == 'null'} as is_current"
        f" from range({versions // 2})"
        for begins, end in ends.items()
    )
    create = (
        f"create table {{}} using iceberg {by} {properties} as select * from ({rows})"
    )
    spark.sql(create.format(table) + (" where is_current" if layout.is_apart else ""))
    if layout.is_apart:
        spark.sql(create.format(f"{table}_closed") + " where not is_current")


def _make_changes(spark: SparkSession, batch: int, keys: int, changes: int) -> None:
    """Change other keys with each batch: a tenth are deleted, a tenth are new."""
    spark.catalog.clearCache()
    first = batch * changes // 10
    spark.sql(
        f"select id, {_VALUES.format(seed=batch + 3)}, {batch + 3}L as begins, op from ("
        f" select pmod(xxhash64({batch}, id), {keys}) as id,"
        "    max(if(xxhash64(id) % 10 = 0, 'd', 'u')) as op"
        f" from range({changes * 9 // 10}) group by 1"
        f" union all select {keys} + id as id, 'c' as op"
        f" from range({first}, {first + changes // 10}))"
    ).repartition(2).createOrReplaceTempView("changes")
    spark.sql("cache table changes")


def _bring(spark: SparkSession, table: str, layout: Layout) -> float:
    for name, value in layout.settings:
        spark.conf.set(name, value)
    begin = time.perf_counter()
    for statement in layout.batch:
        spark.sql(_filled(statement, table))
    seconds = time.perf_counter() - begin
    for name, _ in layout.settings:
        spark.conf.unset(name)
    return seconds


def _filled(statement: str, table: str) -> str:
    assignments = ", ".join(
        f"open.{name.strip()} = changes.{name.strip()}"
        for name in (*_COLUMNS.split(","), "begins")
    )
    return statement.format(table=table, columns=_COLUMNS, assignments=assignments)


def _read(spark: SparkSession, table: str, layout: Layout) -> tuple[list[int], float]:
    """Return what tells sets of versions apart, and seconds to read the current rows."""
    versions = _filled(layout.versions, table)
    hashed = f"xxhash64({_COLUMNS}, begins, coalesce(ends, -1)) % 1000000007"
    [row] = spark.sql(f"select count(*), sum({hashed}) from ({versions})").collect()
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        spark.sql(
            f"select sum(xxhash64({_COLUMNS}) % 1000) from ({versions}) where ends is null"
        ).collect()
        times.append(time.perf_counter() - begin)
    return list(row), statistics.median(times)


def _written(spark: SparkSession, table: str, layout: Layout) -> float:
    """Return the MB of the files that batches added."""
    tables = {table: "parent_id is not null"}
    if layout.is_apart:
        tables[f"{table}_closed"] = "parent_id is not null"
    if layout.batch == _STAGED:
        tables[f"{table}_staged"] = "true"
    added = " union all ".join(
        f"select summary['added-files-size'] as bytes from layouts.{name}.snapshots where {of_batch}"
        for name, of_batch in tables.items()
    )
    [row] = spark.sql(
        f"select sum(cast(bytes as bigint)) / 1e6 from ({added})"
    ).collect()
    return float(row[0])


if __name__ == "__main__":
    raise SystemExit(main())
