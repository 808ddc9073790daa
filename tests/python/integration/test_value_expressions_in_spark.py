"""Value expressions hold in Spark for the rows for which they hold in MySQL.

The unit tests evaluate the same tables of cases without Spark.
"""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from conftest import PROJECT
from expression_cases import (
    BY_MYSQL,
    COLUMNS,
    INTEGER_CASES,
    RENDERED,
    ROWS,
    STUDENT,
    STUDENT_CASES,
    TEXT_CASES,
    TIME_CASES,
    TYPES,
    column,
)
from spark_conditions import evaluate

from changefold.changefeed.row_predicates import render_expression
from changefold_tools.session import run_dbt, spark_session
from changefold_tools.verify.run import declare_topics, scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """The adapter's own session: its settings decide what a condition gives."""
    with scratch_project(PROJECT) as folder:
        declare_topics(folder, [])
        run_dbt(["run-operation", "--quiet", "open_session"], folder)
        yield spark_session()


def held(
    spark: SparkSession,
    types: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    conditions: Sequence[str],
) -> list[list[bool]]:
    """Return, for each condition, for which rows it holds; all in one query.

    Args:
        spark: The session.
        types: Column -> type in Spark.
        rows: Values of the columns; those of a `timestamp` in UTC.
        conditions: In Spark SQL.
    """
    values = [
        (number, *(_value(types[name], value) for name, value in row.items()))
        for number, row in enumerate(rows)
    ]
    schema = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    answers = (
        spark.createDataFrame(values, f"number int, {schema}")
        # Or the optimizer computes the rows itself, without generated code.
        .repartition(1)
        .withColumn("record", _record(types))
        .selectExpr("number", *conditions)
        .orderBy("number")
        .collect()
    )
    return [list(answer) for answer in zip(*answers, strict=True)][1:]


def _value(kind: str, value: Any) -> Any:  # of any column
    """A value as Spark takes it from Python."""
    if kind == "timestamp" and value is not None:
        return value.replace(tzinfo=UTC)
    return Decimal(value) if isinstance(value, int) and "decimal" in kind else value


def _record(types: Mapping[str, str]) -> Any:  # a column
    """The columns again, as a struct: some conditions name its fields."""
    from pyspark.sql.functions import struct

    return struct(*(f"`{name}`" for name in types))


def test_every_rendered_expression_holds_for_the_same_rows(spark: SparkSession) -> None:
    texts = [text for text, _ in RENDERED]
    conditions = [render_expression(text, COLUMNS) for text in texts]
    expected = {
        text: [mark == "1" for mark in BY_MYSQL[text]]
        if text in BY_MYSQL
        else [bool(evaluate(condition, row)) for row in ROWS]
        for text, condition in zip(texts, conditions, strict=True)
    }
    assert dict(zip(texts, held(spark, TYPES, ROWS, conditions), strict=True)) == (
        expected
    )


def test_times_and_decimals_are_compared_by_value(spark: SparkSession) -> None:
    conditions = [render_expression(text, COLUMNS) for text, _ in TIME_CASES]
    found = held(spark, TYPES, ROWS[:1], conditions)
    assert found == [[expected] for _, expected in TIME_CASES]


def test_the_example_of_the_documentation(spark: SparkSession) -> None:
    conditions = [render_expression(text, STUDENT) for text, *_ in STUDENT_CASES]
    rows = [{"age": age, "gender": gender} for _, age, gender, _ in STUDENT_CASES]
    found = held(spark, {"age": "int", "gender": "string"}, rows, conditions)
    for position, (*case, expected) in enumerate(STUDENT_CASES):
        assert found[position][position] is expected, case


@pytest.mark.parametrize(
    ("mysql_type", "spark_type", "cases"),
    [("int", "int", INTEGER_CASES), ("varchar(9)", "string", TEXT_CASES)],
)
def test_one_column_is_compared_as_in_tidb(
    spark: SparkSession,
    mysql_type: str,
    spark_type: str,
    cases: list[tuple[str, Any, bool]],
) -> None:
    columns = {"a": column(mysql_type, "a")}
    conditions = [render_expression(text, columns) for text, _, _ in cases]
    rows = [{"a": value} for _, value, _ in cases]
    found = held(spark, {"a": spark_type}, rows, conditions)
    for position, (text, value, expected) in enumerate(cases):
        assert found[position][position] is expected, (text, value)
