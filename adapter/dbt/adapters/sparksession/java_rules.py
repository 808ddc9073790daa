"""What Java says of a setting, before a query fails on it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession


def wrong_time_zone(spark: SparkSession, zone: str) -> str:
    """Return what is wrong with the name of a time zone; nothing if Spark knows it.

    Spark takes the ids of ``java.time.ZoneId``, and offsets such as ``+08:00``. No job runs.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    jvm = _jvm(spark)
    try:
        jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(zone)
    except (Py4JJavaError, PySparkException):
        found = near_zone(zone, list(jvm.java.time.ZoneId.getAvailableZoneIds()))
        expected = "expected the name of a zone such as `Europe/Berlin`, or `+08:00`"
        return f"Spark knows no zone `{zone}`" + (
            f". Did you mean `{found}`?" if found else f": {expected}"
        )
    return ""


def near_zone(zone: str, known: Iterable[str]) -> str:
    """Return the zone that a wrong name is near to, or whose last part it is; or nothing.

    Args:
        zone: The wrong name.
        known: All names.
    """
    by_letters = {each.lower(): each for each in sorted(known, reverse=True)}
    by_city = {name.rpartition("/")[2]: each for name, each in by_letters.items()}
    asked = zone.strip().lower().replace(" ", "_")
    for names in (by_letters, by_city):
        found = difflib.get_close_matches(asked, names, 1, 0.8)
        if found:
            return names[found[0]]
    return ""


def wrong_pattern(spark: SparkSession, pattern: str) -> str:
    """Return what is wrong with a regular expression; nothing if Java can read it."""
    from pyspark.errors import IllegalArgumentException

    try:
        _jvm(spark).java.util.regex.Pattern.compile(pattern)
    except IllegalArgumentException as error:
        reason = str(error).splitlines()[0]
        return f"`{pattern}` is no regular expression of Java: {reason}"
    return ""


def _jvm(spark: SparkSession) -> Any:  # names of Java packages
    if spark._jvm is None:
        raise DbtRuntimeError("The Spark session has no JVM.")
    return spark._jvm
