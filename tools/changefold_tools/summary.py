"""What a person wants to know after a build, on one screen."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from changefold_tools.generate.escaping import shown
from changefold_tools.session import run_dbt, spark_session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Row, SparkSession
    from rich.console import Console

_BUCKETS = (
    *("applied", "filtered", "duplicates", "beyond_cut", "pending", "quarantined"),
    "control",
)


def _rows(spark: SparkSession, sql: str) -> list[Row]:
    return spark.sql(sql).collect()


def _has_table(spark: SparkSession, schema: str, name: str) -> bool:
    """Tell whether there is a table or a view; Spark's `tableExists` knows no views."""
    from pyspark.errors import AnalysisException

    try:
        return bool(spark.table(f"`{schema}`.{name}").columns)
    except AnalysisException as error:
        if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
            return False
        raise


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )


def _ago(moment: datetime | None) -> str:
    """How long ago an instant was, in the largest unit that fits."""
    if moment is None:
        return "-"
    seconds = (datetime.now(UTC) - moment.replace(tzinfo=UTC)).total_seconds()
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _numbers(values: list[Any]) -> list[str]:
    return [f"{value:,}" for value in values]


def _tables(spark: SparkSession, schema: str) -> Table:
    tables = _table("Tables at the cut")
    tables.add_column("table")
    for name in ("current rows", "versions", "conversion failures"):
        tables.add_column(name, justify="right")
    for row in _rows(
        spark,
        "select source_database, source_table, current_rows, versions, "
        f"conversion_failures from `{schema}`.table_rows order by 1, 2",
    ):
        name = shown(f"{row.source_database}.{row.source_table}")
        tables.add_row(Text(name), *_numbers(list(row)[2:]))
    return tables


def print_summary(project: Path, schema: str, console: Console) -> None:
    """Print the balance, the cut and the tables.

    Args:
        project: Folder of the dbt project.
        schema: Schema of its tables.
        console: Where to print.

    Raises:
        DbtFailedError: If the project does not compile or Spark does not start.
        ValueError: If the project has not been built yet.
    """
    # Any command that connects: it opens the session from the profile.
    run_dbt(["run-operation", "--quiet", "open_session"], project)
    spark = spark_session()
    if not all(
        _has_table(spark, schema, name)
        for name in ("balance", "resolved_cuts", "quarantined_messages")
    ):
        raise ValueError(
            f"The schema `{schema}` has no summary yet: it is that of the last `dbt build`, "
            "and none has come to its end. Run `changefold models`, then `dbt build`."
        )

    events = _table("Events of each topic: where they went")
    events.add_column("topic")
    for name in ("messages", *_BUCKETS):
        events.add_column(name.replace("_", " "), justify="right")
    sums = ", ".join(f"sum({name}) as {name}" for name in _BUCKETS)
    for row in _rows(
        spark,
        f"select kafka_topic, sum(messages_read) as messages, {sums} "  # our own names
        f"from `{schema}`.balance group by kafka_topic order by kafka_topic",
    ):
        events.add_row(row.kafka_topic, *_numbers(list(row)[1:]))
    console.print(events)

    cuts = _table("The cut: tables hold every change before it")
    for name in ("topic", "cut (UTC)", "ago", "behind newest", "partitions"):
        cuts.add_column(name)
    for row in _rows(
        spark,
        "select kafka_topic, cast(cut_at as timestamp_ntz) as cut_at, "
        "cast(newest_watermark_at as timestamp_ntz) as newest_at, "
        f"partitions_seen, partitions from `{schema}`.resolved_cuts order by kafka_topic",
    ):
        behind = "-"
        if row.cut_at and row.newest_at:
            behind = f"{(row.newest_at - row.cut_at).total_seconds():.3f} s"
        cut = (
            row.cut_at.isoformat(sep=" ", timespec="milliseconds")
            if row.cut_at
            else "none"
        )
        seen = f"{row.partitions_seen} of {row.partitions}"
        cuts.add_row(row.kafka_topic, cut, _ago(row.cut_at), behind, seen)
    console.print(cuts)

    if _has_table(spark, schema, "table_rows"):
        console.print(_tables(spark, schema))
    else:
        console.print(
            "There are no tables yet: `changefold models` writes their models."
        )

    quarantined = _rows(
        spark,
        "select error_class, count(*) as messages, min(error_message) as example "
        f"from `{schema}`.quarantined_messages group by error_class order by error_class",
    )
    for row in quarantined:
        console.print(
            f"quarantined: {row.messages} x {row.error_class}, such as: "
            f"{shown(str(row.example))}",
            highlight=False,
            markup=False,
        )
    if _has_table(spark, schema, "disagreements"):
        for row in _rows(
            spark,
            "select source_database, source_table, kind, changes, first_row_key "
            f"from `{schema}`.disagreements order by all",
        ):
            console.print(
                f"disagrees: {shown(f'{row.source_database}.{row.source_table}')}: "
                f"{row.changes:,} x {row.kind}, such as of the row {shown(row.first_row_key)}",
                highlight=False,
                markup=False,
            )
    console.print("Lineage and descriptions: make docs")
