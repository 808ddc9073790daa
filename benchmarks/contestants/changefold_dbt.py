"""This project: `dbt run` on a raw table that another tool fills."""

from __future__ import annotations

import shutil
from pathlib import Path

from changefold_tools.generate.models import update_models
from changefold_tools.session import run_dbt, spark_session
from changefold_tools.verify.run import declare_topics, scratch_project
from contest import Paths, contestant

PROJECT = Path(__file__).parents[2]
_SCHEMA = "verify"
_RAW = "landing.kafka_bench"
_MESSAGES = (
    "select topic, partition, offset, timestamp_millis(timestamp) as timestamp, key, value"
    " from parquet.`{path}`"
)


class Changefold:
    """A scratch copy of this project."""

    def start(self, paths: Paths) -> None:
        """Open the session, write the models of the table, and load the seeds.

        As `make models` does once in a project's life, from the topic's first messages.
        """
        self._scratch = scratch_project(PROJECT)
        self.project = self._scratch.__enter__()
        declare_topics(
            self.project,
            [
                {
                    "name": "bench",
                    "protocol": "ticdc_canal_json",
                    "table": _RAW,
                    "partitions": 3,
                }
            ],
        )
        run_dbt(["run-operation", "open_session", "--quiet"], self.project)
        spark = spark_session()
        spark.sql("create schema landing")
        spark.sql(
            f"create table {_RAW} using iceberg partitioned by (partition) tblproperties"
            " ('write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')"
            f" as {_MESSAGES.format(path=paths.first)}"
        )
        self._run("+table_schemas")
        update_models(self.project, _SCHEMA, check=False)
        shutil.rmtree(self.project / "target")
        for row in spark.sql(f"show tables in {_SCHEMA}").collect():
            if row.tableName not in {"mysql_types", "connect_types"}:
                spark.sql(f"drop table {_SCHEMA}.{row.tableName} purge")
        spark.sql(f"delete from {_RAW}")

    def land(self, messages: str) -> None:
        """Fill the raw table."""
        spark_session().sql(f"insert into {_RAW} {_MESSAGES.format(path=messages)}")

    def load(self, paths: Paths) -> None:
        """Build with the whole topic."""
        self._run()

    def batch(self, messages: str) -> None:
        """Build with what is new."""
        self._run()

    def export(self, paths: Paths) -> None:
        """Write the history and the current table."""
        spark = spark_session()
        spark.sql(
            "select * except (valid_from, valid_to, is_current, _cdc_valid_from_sequence,"
            " _cdc_valid_to_sequence, _cdc_op, _cdc_ended_by, _cdc_commit_ts,"
            " _cdc_batch_id,"
            " _cdc_conversion_failures, _cdc_unknown_columns,"
            " _cdc_row_hash, _cdc_version_id),"
            " cast(_cdc_valid_from_sequence as bigint) as from_ts,"
            " cast(_cdc_valid_to_sequence as bigint) as to_ts"
            f" from {_SCHEMA}.scd2_bench__orders"
        ).coalesce(1).write.parquet(paths.history)
        columns = ", ".join(paths.columns)
        spark.sql(f"select {columns} from {_SCHEMA}.cur_bench__orders").coalesce(
            1
        ).write.parquet(paths.current)
        self._scratch.__exit__(None, None, None)

    def _run(self, *selected: str) -> None:
        run_dbt(
            ["run", "--quiet", *(["--select", *selected] if selected else [])],
            self.project,
        )


if __name__ == "__main__":
    contestant(Changefold())
