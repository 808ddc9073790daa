"""Compares what the runs of a project left with what one of all makes.

What they folded into `row_versions`, one after the other, is what one fold of the whole log
makes; histories kept as tables are what their statements show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ComparedVersions:
    """What a comparison found.

    Attributes:
        what: Name of what runs left, and of what it was compared with.
        versions: Of all tables together.
        differences: Versions that one of the two lacks, a sentence each.
    """

    what: tuple[str, str]
    versions: int
    differences: list[str]

    @property
    def are_equal(self) -> bool:
        """Whether there are versions, and no differences."""
        return self.versions > 0 and not self.differences


def compare_row_versions(
    spark: SparkSession, schema: str, rebuild: Callable[[], None]
) -> ComparedVersions:
    """Compare what runs have folded with one fold of the whole log, in all columns.

    Args:
        spark: The session.
        schema: Schema of the tables.
        rebuild: Folds the whole log.
    """
    # Of equal rows of one moment no copy has a batch of its own.
    versions = f"""
        select
            * except (folded_batch, ended_batch, batch_id),
            if(row_copy > 0, null, batch_id) as batch_id
        from `{schema}`.row_versions
        where is_open or from_sequence < to_sequence
    """
    # The table is written anew, so what it has now is kept.
    of_runs = spark.sql(versions).localCheckpoint()
    rebuild()
    whole = spark.sql(versions)
    differences = [
        f"{row.table_uid} {row.row_key}: only {name} has the version "
        f"{row.from_sequence} to {row.to_sequence} ({row.op}, {row.ended_by}): {row.image}"
        for name, some, others in (
            ("the runs", of_runs, whole),
            ("one fold of the whole log", whole, of_runs),
        )
        for row in some.exceptAll(others).collect()
    ]
    return ComparedVersions(
        ("row_versions", "one fold of the whole log"), whole.count(), differences
    )


def compare_histories(
    spark: SparkSession, schema: str, statements: dict[str, str]
) -> ComparedVersions:
    """Compare histories kept as tables with what their statements show.

    Args:
        spark: The session.
        schema: Schema of the tables.
        statements: Name of a history -> its statement.
    """
    versions = 0
    differences = []
    for name, statement in statements.items():
        table = spark.table(f"`{schema}`.`{name}`")
        # Spark compares no maps.
        rows, shown = (
            frame.selectExpr(
                "* except (_cdc_conversion_failures)",
                "to_json(_cdc_conversion_failures) as _cdc_conversion_failures",
            )
            for frame in (table, spark.sql(statement))
        )
        versions += table.count()
        differences += [
            f"{name}: only {where} has {row.asDict()}"
            for where, some, others in (
                ("the table", rows, shown),
                ("its statement", shown, rows),
            )
            for row in some.exceptAll(others).collect()
        ]
    return ComparedVersions(
        ("histories kept as tables", "their statements"), versions, differences
    )
