"""Workers of Python, as the adapter starts them where Spark is local."""

from __future__ import annotations

import pyarrow as pa  # Spark reads the hints at run time
from conftest import PROJECT

from changefold_tools.session import run_dbt, spark_session
from changefold_tools.verify.run import declare_topics, scratch_project


def test_a_worker_reads_no_archive_again_before_each_task() -> None:
    from pyspark.sql.pandas.functions import arrow_udf

    def archives(value: pa.Array) -> pa.Array:  # here, as no worker can import a test
        import sys
        from zipimport import zipimporter

        known = [
            entry
            for entry, importer in sys.path_importer_cache.items()
            if isinstance(importer, zipimporter)
        ]
        return pa.array([known] * len(value), pa.list_(pa.string()))

    with scratch_project(PROJECT) as folder:
        declare_topics(folder, [])
        run_dbt(["run-operation", "--quiet", "open_session"], folder)
        seen = arrow_udf(archives, "array<string>")  # type: ignore[call-overload]  # its stubs do not know that the hints give the kind
        (row,) = spark_session().range(1).select(seen("id")).collect()
    assert row[0] == []
