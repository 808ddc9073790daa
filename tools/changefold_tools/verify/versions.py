"""Compares `row_versions` with the histories of the tables, while both exist.

A history begins a version where a DDL rewrote a row, `row_versions` does not. All other
versions begin and end at the same changes in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from changefold.spark_text import sql_text
from changefold_tools.generate.models import source_shapes
from changefold_tools.generate.render import model_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ComparedVersions:
    """What the comparison of the tables of a project found.

    Attributes:
        bounds: Begins and ends of versions, all tables together.
        differences: Where one of the two has a bound that the other lacks, a sentence each.
        left_out: Tables of which `row_versions` has no row.
    """

    bounds: int
    differences: list[str]
    left_out: list[str]


def compare_row_versions(spark: SparkSession, schema: str) -> ComparedVersions:
    """Compare the bounds of all versions of all tables.

    Args:
        spark: The session.
        schema: Schema of the tables.
    """
    bounds, differences, left_out = 0, list[str](), list[str]()
    shapes = source_shapes(spark, schema)
    known = {
        row.table_uid
        for row in spark.sql(
            f"select distinct table_uid from `{schema}`.row_versions"
        ).collect()
    }
    for shape, name in zip(shapes, model_names(shapes, lambda _: ""), strict=True):
        lives = {version["table_uid"] for version in shape.versions}
        if not lives & known:
            left_out.append(name)
            continue
        rewritten = ", ".join(map(sql_text, ["", *shape.rewritten_at]))
        # Our own schema, and names of our own models.
        ours = spark.sql(f"""
            select bound.*
            from `{schema}`.row_versions
            lateral view explode(array(
                struct('begins' as what, from_sequence as at, op),
                struct('ends' as what, to_sequence as at, null as op)
            )) as bound
            where kafka_topic = {sql_text(shape.topic)}
                and table_uid in ({", ".join(map(sql_text, sorted(lives)))})
                and bound.at is not null
        """)
        histories = spark.sql(f"""
            select bound.*
            from `{schema}`.`scd2_{name}`
            lateral view explode(array(
                struct('begins' as what, _cdc_valid_from_sequence as at, _cdc_op as op),
                struct('ends' as what, _cdc_valid_to_sequence as at, null as op)
            )) as bound
            where bound.at not in ({rewritten})
        """)
        bounds += ours.count()
        for left, right, where in (
            (ours, histories, "row_versions only"),
            (histories, ours, "the history only"),
        ):
            differences += [
                f"{name}: a version {row.what} at {row.at} ({row.op}) in {where}"
                for row in left.exceptAll(right).sort("at", "what").collect()
            ]
    return ComparedVersions(bounds, differences, left_out)
