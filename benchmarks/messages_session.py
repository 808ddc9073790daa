"""A Spark session with the project's functions and a table of messages in memory."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import topic
from changefold.register import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_with_messages(count: int) -> tuple[SparkSession, int, int]:
    """Return a session with the cached view ``messages``, its rows, and their size.

    Args:
        count: Number of row changes in the topic.
    """
    import pyarrow as pa
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "6g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    values = [value.encode() for _, value in topic.messages(count)]
    table = pa.table({"value": pa.array(values, pa.binary())})
    frame = spark.createDataFrame(table).repartition(4).cache()
    frame.createOrReplaceTempView("messages")
    return spark, frame.count(), sum(map(len, values)) // len(values)
