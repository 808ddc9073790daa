"""Compares `row_versions` with itself, and with the histories while both exist.

What the runs of a project folded, one after the other, is what one fold of the whole log
makes. A history begins a version where a DDL rewrote a row, `row_versions` does not; all
other versions begin and end at the same changes in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from changefold.spark_text import sql_text
from changefold_tools.generate.models import source_shapes
from changefold_tools.generate.render import model_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from changefold_tools.generate.table_history import TableShape


@dataclass(frozen=True)
class ComparedVersions:
    """What the comparison of the tables of a project found.

    Attributes:
        bounds: Begins and ends of versions, all tables together.
        differences: Where one of the two has a bound that the other lacks, or a fold of the
            whole log another version, a sentence each.
        left_out: Tables of which `row_versions` has no row, or that have no history.
    """

    bounds: int
    differences: list[str]
    left_out: list[str]


def compare_row_versions(
    spark: SparkSession, schema: str, rebuild: Callable[[], None] | None
) -> ComparedVersions:
    """Compare all versions of all tables, and their bounds with the histories'.

    Args:
        spark: The session.
        schema: Schema of the tables.
        rebuild: Folds the whole log; `None` if one run has done so.
    """
    built = {row.tableName for row in spark.sql(f"show tables in `{schema}`").collect()}
    shapes = source_shapes(spark, schema)
    named = zip(shapes, model_names(shapes, lambda _: ""), strict=True)
    # Our own schema, and names of our own models.
    known = {
        row.table_uid
        for row in spark.sql(
            f"select distinct table_uid from `{schema}`.row_versions"
            " where is_open or from_sequence < to_sequence"
        ).collect()
    }
    bounds, differences, left_out = 0, list[str](), list[str]()
    for histories in _sharing_tables(named):
        lives = {v["table_uid"] for shape, _ in histories for v in shape.versions}
        names = [name for _, name in histories]
        if not lives & known or any(f"scd2_{name}" not in built for name in names):
            left_out += names
            continue
        # The runs of a history join what one commit ended and began without a key.
        is_same = rebuild is None or bool(histories[0][0].key_columns)
        for row in spark.sql(_bounds_of_both(schema, histories, lives)).collect():
            bounds += row.folded
            if row.folded != row.of_history and is_same:
                differences.append(
                    f"{', '.join(names)}: {row.folded} version(s) of row_versions and "
                    f"{row.of_history} of the history {row.what} at {row.at} ({row.op})"
                )
    if rebuild is not None:
        differences += _compare_with_rebuilt(spark, schema, rebuild)
    return ComparedVersions(bounds, differences, left_out)


def _compare_with_rebuilt(
    spark: SparkSession, schema: str, rebuild: Callable[[], None]
) -> list[str]:
    """Return the versions that a fold of the whole log has otherwise, a sentence each."""
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
    return [
        f"{row.table_uid} {row.row_key}: only {name} has the version "
        f"{row.from_sequence} to {row.to_sequence} ({row.op}, {row.ended_by}): {row.image}"
        for name, some, others in (
            ("the runs", of_runs, whole),
            ("one fold of the whole log", whole, of_runs),
        )
        for row in some.exceptAll(others).collect()
    ]


def _sharing_tables(
    named: Iterable[tuple[TableShape, str]],
) -> list[list[tuple[TableShape, str]]]:
    """Bring together the histories of one table, which has one for each key."""
    groups: list[list[tuple[TableShape, str]]] = []
    for shape, name in named:
        lives = {version["table_uid"] for version in shape.versions}
        alike = [
            group
            for group in groups
            if any(
                v["table_uid"] in lives for other, _ in group for v in other.versions
            )
        ]
        groups = [group for group in groups if group not in alike]
        groups.append([*(each for group in alike for each in group), (shape, name)])
    return groups


def _bounds_of_both(
    schema: str, histories: Sequence[tuple[TableShape, str]], lives: Iterable[str]
) -> str:
    """Return a query: what, at, op, and how many versions of each side do so there.

    What a DDL moved begins just behind it in `row_versions`, at it in a history.
    """
    topic = histories[0][0].topic
    rewritten = {"", *(at for shape, _ in histories for at in shape.rewritten_at)}
    of_histories = "".join(
        f"""
            union all
            select false, _cdc_valid_from_sequence, _cdc_valid_to_sequence, _cdc_op
            from `{schema}`.`scd2_{name}`"""
        for _, name in histories
    )
    return f"""
        with
        versions as (
            select true as is_folded, from_sequence as since, to_sequence as until, op
            from `{schema}`.row_versions
            where kafka_topic = {sql_text(topic)}
                and table_uid in ({", ".join(map(sql_text, sorted(lives)))})
                and (is_open or from_sequence < to_sequence){of_histories}
        )
        select
            bound.*,
            count_if(is_folded) as folded,
            count_if(not is_folded) as of_history
        from versions
        lateral view explode(array(
            struct('begin' as what, rtrim('~', since) as at, op),
            struct(
                'end' as what,
                coalesce(rtrim('~', until), 'no time') as at,
                cast(null as string) as op
            )
        )) as bound
        where bound.at not in ({", ".join(map(sql_text, sorted(rewritten)))})
        group by bound
        order by bound.at, bound.what
    """
