"""Rate of the parsing functions against native ``from_json`` into typed structs.

Both read the same messages from memory and give typed envelope columns; nothing is
written. They take turns, so that a slow moment of the machine hits both. Spark has no
function that reads the Simple protocol in Avro, so that one is alone.

A topic of one table with regular rows says little of a real one. So each function also
reads the recorded topics of its protocol, repeated: several tables, connectors, types.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

import messages_session
import topic
from changefold_tools.devtools.recorded_topics import read_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from messages_session import Messages

CANAL_JSON_TYPE: Final = (
    "id bigint, database string, table string, pkNames array<string>, isDdl boolean, "
    "type string, es bigint, ts bigint, sql string, sqlType map<string, int>, "
    "mysqlType map<string, string>, data array<struct<id: string, customer_id: string, "
    "status: string, total: string, currency: string, note: string, created_at: string, "
    "updated_at: string, quantity: string, weight: string>>, old array<struct<id: string, "
    "customer_id: string, status: string, total: string, currency: string, note: string, "
    "created_at: string, updated_at: string, quantity: string, weight: string>>, "
    "_tidb struct<commitTs: bigint, watermarkTs: bigint>"
)
"""What a hand-written pipeline would parse the envelope and its row into."""

_SIMPLE_ROW: Final = (
    "struct<created_at: string, currency: string, customer_id: string, id: string, "
    "note: string, quantity: string, status: string, total: string, "
    "updated_at: struct<location: string, value: string>, weight: string>"
)

SIMPLE_TYPE: Final = (
    "version int, database string, table string, tableID bigint, type string, "
    "commitTs bigint, buildTs bigint, schemaVersion bigint, sql string, "
    f"tableSchema string, preTableSchema string, data {_SIMPLE_ROW}, old {_SIMPLE_ROW}"
)
"""The same for the Simple protocol; the schema of a table stays JSON."""


_DEBEZIUM_ROW: Final = (
    "struct<id: bigint, customer_id: bigint, status: string, total: string, "
    "currency: string, note: string, created_at: bigint, updated_at: string, "
    "quantity: int, weight: double>"
)

_DEBEZIUM_SOURCE: Final = (
    "struct<connector: string, name: string, ts_ms: bigint, snapshot: string, "
    "db: string, schema: string, table: string, change_lsn: string, "
    "commit_lsn: string, event_serial_no: bigint>"
)

DEBEZIUM_TYPE: Final = (
    f"before {_DEBEZIUM_ROW}, after {_DEBEZIUM_ROW}, source {_DEBEZIUM_SOURCE}, "
    "op string, ts_ms bigint"
)
"""The same for Debezium; a decimal stays base64."""

DEBEZIUM_KEY_TYPE: Final = "id bigint"


def main() -> None:
    """Print the rates protocol by protocol, and their ratios, run by run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=400_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=CONTESTS, help="one contest instead of all")
    options = parser.parse_args()
    canal = [value for _, value in topic.messages(options.messages)]
    spark = messages_session.open_session()
    for name, contest in CONTESTS.items():
        if options.only in {None, name}:
            contest(spark, canal, options.runs)
            recorded(spark, name, options.messages, options.runs)


def canal_json(spark: SparkSession, canal: list[str], runs: int) -> None:
    """TiCDC's Canal-JSON."""
    values = [value.encode() for value in canal]
    compare(
        spark,
        messages_session.load(spark, "canal_json_messages", values),
        ["parse_ticdc_canal_json(value)", from_json(CANAL_JSON_TYPE)],
        runs,
    )


def simple(spark: SparkSession, canal: list[str], runs: int) -> None:
    """TiCDC's Simple protocol in JSON."""
    values = [topic.simple_json(topic.as_simple(value)) for value in canal]
    compare(
        spark,
        messages_session.load(spark, "simple_messages", values),
        ["parse_ticdc_simple(value)", from_json(SIMPLE_TYPE)],
        runs,
    )


def debezium(spark: SparkSession, canal: list[str], runs: int) -> None:
    """Debezium's messages without and with their schemas, and with declared types."""
    for schemas in (False, True):
        pairs = list(topic.debezium_messages(canal, schemas=schemas))
        keys, values = [key for key, _ in pairs], [value for _, value in pairs]
        view = "debezium_with_schemas" if schemas else "debezium_without_schemas"
        loaded = messages_session.load(spark, view, values, keys)
        key_type, type_ = DEBEZIUM_KEY_TYPE, DEBEZIUM_TYPE
        if schemas:
            key_type, type_ = f"payload struct<{key_type}>", f"payload struct<{type_}>"
        native = f"struct({from_json(key_type, 'key')}, {from_json(type_)})"
        for types in ["null"] if schemas else ["null", f"'{topic.DEBEZIUM_TYPES}'"]:
            compare(
                spark,
                loaded,
                [f"parse_debezium(key, value, {types}, null)", native],
                runs,
            )


def simple_avro(spark: SparkSession, canal: list[str], runs: int) -> None:
    """TiCDC's Simple protocol in Avro, alone."""
    values = [topic.simple_avro(topic.as_simple(value)) for value in canal]
    compare(
        spark,
        messages_session.load(spark, "simple_avro_messages", values),
        ["parse_ticdc_simple_avro(value)"],
        runs,
    )


GOLDEN: Final = Path(__file__).resolve().parent.parent / "tests" / "golden"

FUNCTIONS: Final = {
    "ticdc_canal_json": "parse_ticdc_canal_json(value)",
    "canal_json": "parse_ticdc_canal_json(value)",
    "ticdc_simple": "parse_ticdc_simple(value)",
    "debezium": "parse_debezium(key, value, null, null)",
    "ticdc_simple_avro": "parse_ticdc_simple_avro(value)",
}
"""Protocol, as in the var ``topics`` -> the function that parses it."""


def recorded(spark: SparkSession, name: str, count: int, runs: int) -> None:
    """Measure a function with the recorded topics of its protocol, repeated.

    Args:
        spark: The session.
        name: Name of a contest.
        count: Number of messages.
        runs: How often it has its turn.
    """
    kinds = Counter(
        (each.protocol, each.is_bare)
        for each in read_topics(GOLDEN)
        if each.protocol.removeprefix("ticdc_") == name
    )
    for protocol, is_bare in sorted(kinds):
        messages = [
            message
            for each in read_topics(GOLDEN)
            if (each.protocol, each.is_bare) == (protocol, is_bare)
            for message in each.messages
            if message.value is not None
        ]
        repeated = list(islice(cycle(messages), count))
        loaded = messages_session.load(
            spark,
            f"recorded_{protocol}{'_without_schemas' if is_bare else ''}",
            [message.value for message in repeated if message.value is not None],
            [message.key for message in repeated],
        )
        compare(spark, loaded, [FUNCTIONS[protocol]], runs)


CONTESTS: Final = {
    "canal_json": canal_json,
    "simple": simple,
    "debezium": debezium,
    "simple_avro": simple_avro,
}
"""Name on the command line -> contest, in the order of all."""


def from_json(type_: str, column: str = "value") -> str:
    """Return the native expression that parses a column into a type."""
    return f"from_json(cast({column} as string), '{type_}')"


def compare(
    spark: SparkSession, messages: Messages, expressions: list[str], runs: int
) -> None:
    """Let expressions parse the same messages in turns, and print how long they take.

    Args:
        spark: The session.
        messages: The messages.
        expressions: Ours and, if there is one, the native one.
        runs: How often each has its turn, after one to warm up.
    """
    times: dict[str, list[float]] = {expression: [] for expression in expressions}
    for run in range(runs + 1):
        for expression, taken in times.items():
            start = time.perf_counter()
            frame = spark.table(messages.view).selectExpr(f"{expression} as message")
            frame.selectExpr("message.*").write.format("noop").mode("overwrite").save()
            if run:
                taken.append(time.perf_counter() - start)
    table = Table(
        title=f"{messages.view}: {messages.rows:,} messages of {messages.bytes_each} "
        f"bytes, {runs} runs, 2 threads"
    )
    for column in ("parser", "median s", "messages a second", "min - max s"):
        table.add_column(column)
    for expression, taken in times.items():
        median = statistics.median(taken)
        table.add_row(
            expression.partition("'")[0].rstrip(" ,")  # without types
            if expression.startswith("parse")
            else "from_json",
            f"{median:.2f}",
            f"{messages.rows / median:,.0f}",
            f"{min(taken):.2f} - {max(taken):.2f}",
        )
    console = Console()
    console.print(table)
    ours, *others = times.values()
    for native in others:
        ratios = [slow / quick for quick, slow in zip(ours, native, strict=True)]
        console.print(
            f"rate of ours / rate of from_json: median {statistics.median(ratios):.2f}, "
            f"{min(ratios):.2f} to {max(ratios):.2f}"
        )


if __name__ == "__main__":
    main()
