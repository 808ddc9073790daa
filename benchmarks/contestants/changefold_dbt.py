"""This project: `dbt run` on a topic of recorded files."""

from __future__ import annotations

import shutil
from pathlib import Path

from changefold_tools.models import update_models
from changefold_tools.session import run_dbt, spark_session
from changefold_tools.verify import declare_topics, scratch_project
from contest import Paths, contestant

PROJECT = Path(__file__).parents[2]
_SCHEMA = "verify"


class Changefold:
    """A scratch copy of this project."""

    def start(self, paths: Paths) -> None:
        """Open the session, write the models of the table, and load the seeds.

        As `make models` does once in a project's life, from the topic's first messages.
        """
        self._scratch = scratch_project(PROJECT)
        self._project = self._scratch.__enter__()
        messages = self._project / "messages"
        messages.mkdir()
        topics = [
            {
                "name": "bench",
                "protocol": "ticdc_canal_json",
                "files": [str(messages)],
                "partitions": 3,
            }
        ]
        declare_topics(self._project, topics)
        self._messages = messages
        shutil.copy(paths.first, messages / "first.parquet")
        self._run("+table_schemas")
        update_models(self._project, _SCHEMA, check=False)
        shutil.rmtree(self._project / "target")
        spark = spark_session()
        for row in spark.sql(f"show tables in {_SCHEMA}").collect():
            if row.tableName not in {"mysql_types", "connect_types"}:
                spark.sql(f"drop table {_SCHEMA}.{row.tableName} purge")
        (messages / "first.parquet").unlink()

    def load(self, paths: Paths) -> None:
        """Build with the whole topic."""
        shutil.copy(paths.load, self._messages / "load.parquet")
        self._run()

    def batch(self, paths: Paths) -> None:
        """Build with what is new."""
        shutil.copy(paths.batch, self._messages / "batch.parquet")
        self._run()

    def export(self, paths: Paths) -> None:
        """Write the history."""
        spark_session().sql(
            "select * except (valid_from, valid_to, is_current, _cdc_valid_from_sequence,"
            " _cdc_valid_to_sequence, _cdc_op, _cdc_commit_ts, _cdc_batch_id,"
            " _cdc_conversion_failures, _cdc_row_hash),"
            " cast(_cdc_valid_from_sequence as bigint) as from_ts,"
            " cast(_cdc_valid_to_sequence as bigint) as to_ts"
            f" from {_SCHEMA}.scd2_bench__orders"
        ).coalesce(1).write.parquet(paths.history)
        self._scratch.__exit__(None, None, None)

    def _run(self, *selected: str) -> None:
        run_dbt(
            ["run", "--quiet", *(["--select", *selected] if selected else [])],
            self._project,
        )


if __name__ == "__main__":
    contestant(Changefold())
