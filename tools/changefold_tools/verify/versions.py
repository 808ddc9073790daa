"""Compares `row_versions` with itself.

What the runs of a project folded, one after the other, is what one fold of the whole log
makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ComparedVersions:
    """What the comparison found.

    Attributes:
        versions: Of all tables together.
        differences: Versions that one of the two folds lacks, a sentence each.
    """

    versions: int
    differences: list[str]


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
    return ComparedVersions(whole.count(), differences)
