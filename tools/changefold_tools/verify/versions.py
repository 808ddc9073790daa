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
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from changefold_tools.generate.table_history import TableShape


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
    shapes = source_shapes(spark, schema)
    named = zip(shapes, model_names(shapes, lambda _: ""), strict=True)
    # Our own schema, and names of our own models.
    known = {
        row.table_uid
        for row in spark.sql(
            f"select distinct table_uid from `{schema}`.row_versions"
        ).collect()
    }
    bounds, differences, left_out = 0, list[str](), list[str]()
    for shape, name in named:
        lives = {version["table_uid"] for version in shape.versions}
        if not lives & known:
            left_out.append(name)
            continue
        for row in spark.sql(_bounds_of_both(schema, name, shape, lives)).collect():
            bounds += row.folded
            if row.folded != row.of_history:
                differences.append(
                    f"{name}: {row.folded} version(s) of row_versions and "
                    f"{row.of_history} of the history {row.what} at {row.at} ({row.op})"
                )
    return ComparedVersions(bounds, differences, left_out)


def _bounds_of_both(
    schema: str, name: str, shape: TableShape, lives: Iterable[str]
) -> str:
    """Return a query: what, at, op, and how many versions of each side do so there."""
    rewritten = ", ".join(map(sql_text, ["", *shape.rewritten_at]))
    return f"""
        with
        versions as (
            select true as is_folded, from_sequence as since, to_sequence as until, op
            from `{schema}`.row_versions
            where kafka_topic = {sql_text(shape.topic)}
                and table_uid in ({", ".join(map(sql_text, sorted(lives)))})
                and (is_open or from_sequence < to_sequence)
            union all
            select false, _cdc_valid_from_sequence, _cdc_valid_to_sequence, _cdc_op
            from `{schema}`.`scd2_{name}`
        )
        select
            bound.*,
            count_if(is_folded) as folded,
            count_if(not is_folded) as of_history
        from versions
        lateral view explode(array(
            struct('begin' as what, since as at, op),
            struct('end' as what, until as at, cast(null as string) as op)
        )) as bound
        where bound.at not in ({rewritten})
        group by bound
        order by bound.at, bound.what
    """
