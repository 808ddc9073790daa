"""Spark and Iceberg, as one would write it by hand: a log, a history, a current table.

Of late changes, DDLs, other types, quarantine and replays it knows nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contest import Paths, contestant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TYPES = {
    "varchar": "string",
    "char": "string",
    "datetime": "timestamp",
    "decimal": "decimal(14,2)",
}
_MESSAGE = (
    "type string, data array<struct<{texts}>>,"
    " _tidb struct<commitTs: bigint, watermarkTs: bigint>"
)

_APPEND = """
insert into log
select partition, offset, message.type, message._tidb.commitTs, message._tidb.watermarkTs,
    if(message.data is null, null, struct({typed}))
from (select *, from_json(cast(value as string), '{message}') as message from parquet.`{path}`)
"""

_NEW = """
select row.*, type, commit_ts from (
    select *, row_number() over (partition by row.id, commit_ts order by offset) as copy
    from log
    where row is not null and commit_ts >= {before} and commit_ts < {cut}
)
where copy = 1
"""

_MERGE_HISTORY = """
merge into history using (
    select * except (type) from (
        select * except (commit_ts), commit_ts as from_ts, lead(commit_ts) over (
            partition by id order by commit_ts
        ) as to_ts
        from (
            select * from new
            union all
            select history.* except (from_ts, to_ts), 'OPEN' as type, from_ts as commit_ts
            from history
            left semi join new on history.id = new.id
            where to_ts is null
        )
    )
    where type <> 'DELETE'
) as versions
on history.id = versions.id and history.from_ts = versions.from_ts
when matched then update set history.to_ts = versions.to_ts
when not matched then insert *
"""

_MERGE_CURRENT = """
merge into current using (
    select * except (copy) from (
        select *, row_number() over (partition by id order by commit_ts desc) as copy
        from new
    )
    where copy = 1
) as last
on current.id = last.id
when matched and last.type = 'DELETE' then delete
when matched then update set *
when not matched and last.type <> 'DELETE' then insert *
"""


class SparkIceberg:
    """Three Iceberg tables."""

    spark: SparkSession

    def start(self, paths: Paths) -> None:
        """Open the session."""
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        jars = [
            str(next(iter(Path.home().glob(f".ivy2*/jars/{name}"))))
            for name in ("org.apache.iceberg_iceberg-spark-runtime-4.1*.jar",)
        ]
        self.spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.extraClassPath", os.pathsep.join(jars))
            .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
            .config("spark.driver.memory", "2g")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "4")
            .config(
                "spark.sql.extensions",
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            )
            .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
            .config("spark.sql.catalog.lake.type", "hadoop")
            .config("spark.sql.catalog.lake.warehouse", str(paths.work / "lake"))
            .config("spark.sql.defaultCatalog", "lake")
            .getOrCreate()
        )
        self.spark.sql("create namespace if not exists contest")
        self.spark.sql("use contest")

    def land(self, messages: str) -> None:
        """Nothing: it reads the file."""

    def load(self, paths: Paths) -> None:
        """Read the whole topic."""
        properties = "tblproperties ('write.merge.mode' = 'merge-on-read')"
        types = {name: _TYPES.get(kind, kind) for name, kind in paths.columns.items()}
        columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
        fields = ", ".join(f"{name}: {kind}" for name, kind in types.items())
        texts = ", ".join(f"{name}: string" for name in types)
        self._message = _MESSAGE.format(texts=texts)
        self._typed = ", ".join(
            f"cast(message.data[0].{name} as {kind}) as {name}"
            for name, kind in types.items()
        )
        self.spark.sql(
            "create table log (partition int, offset bigint, type string, commit_ts bigint,"
            f" watermark_ts bigint, row struct<{fields}>)"
            " using iceberg"
        )
        self.spark.sql(
            f"create table history ({columns}, from_ts bigint, to_ts bigint)"
            f" using iceberg {properties}"
        )
        self.spark.sql(
            f"create table current ({columns}, type string, commit_ts bigint)"
            f" using iceberg {properties}"
        )
        self._apply(paths.load, 0)

    def batch(self, messages: str) -> None:
        """Read what is new, and merge it."""
        self._apply(messages, self._cut())

    def export(self, paths: Paths) -> None:
        """Write the history and the current table."""
        self.spark.table("history").coalesce(1).write.parquet(paths.history)
        current = self.spark.table("current").drop("type", "commit_ts")
        current.coalesce(1).write.parquet(paths.current)

    def _apply(self, parquet: str, before: int) -> None:
        self.spark.sql(
            _APPEND.format(typed=self._typed, message=self._message, path=parquet)
        )
        new = self.spark.sql(_NEW.format(before=before, cut=self._cut()))
        new.createOrReplaceTempView("new")
        self.spark.sql(_MERGE_HISTORY)
        self.spark.sql(_MERGE_CURRENT)

    def _cut(self) -> int:
        rows = self.spark.sql(
            "select max(watermark_ts) as watermark_ts from log group by partition"
        ).collect()
        return min(int(row.watermark_ts) for row in rows)


if __name__ == "__main__":
    contestant(SparkIceberg())
