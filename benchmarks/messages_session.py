"""A Spark session with the project's functions and tables of messages in memory."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from changefold.register import register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


class Messages(NamedTuple):
    """A cached view of messages with the columns ``key`` and ``value``."""

    view: str
    rows: int
    bytes_each: int


def open_session() -> SparkSession:
    """Return a session with the project's functions."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "6g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        # As the adapter has it.
        .config("spark.python.daemon.module", "changefold.worker_daemon")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def load(
    spark: SparkSession,
    view: str,
    values: Sequence[bytes],
    keys: Sequence[bytes | None] | None = None,
) -> Messages:
    """Put messages into a cached view; those of earlier views leave the cache.

    Args:
        spark: The session.
        view: Name of the view.
        values: The messages.
        keys: Their keys; none by default.
    """
    import pyarrow as pa

    spark.catalog.clearCache()
    table = pa.table(
        {
            "key": pa.nulls(len(values))
            if keys is None
            else pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
        },
        pa.schema({"key": pa.binary(), "value": pa.binary()}),
    )
    frame = spark.createDataFrame(table).repartition(4).cache()
    frame.createOrReplaceTempView(view)
    return Messages(view, frame.count(), sum(map(len, values)) // len(values))
