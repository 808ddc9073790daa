"""Rate of the parsing function against native ``from_json`` into typed structs.

Both read the same messages from memory and give typed envelope columns; nothing is
written. They take turns, so that a slow moment of the machine hits both.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

import messages_session

if TYPE_CHECKING:
    from collections.abc import Callable

NATIVE_TYPE = (
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


def main() -> None:
    """Print the rate of both, and their ratio, run by run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=400_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    spark, count, size = messages_session.open_with_messages(options.messages)

    def seconds(expression: str) -> float:
        start = time.perf_counter()
        frame = spark.table("messages").selectExpr(f"{expression} as message")
        frame.selectExpr("message.*").write.format("noop").mode("overwrite").save()
        return time.perf_counter() - start

    contestants: dict[str, Callable[[], float]] = {
        "parse_ticdc_canal_json": lambda: seconds("parse_ticdc_canal_json(value)"),
        "from_json, typed structs": lambda: seconds(
            f"from_json(cast(value as string), '{NATIVE_TYPE}')"
        ),
    }
    for run in contestants.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(options.runs):
        for name, run in contestants.items():
            times[name].append(run())
    ours, native = times.values()
    table = Table(
        title=f"{count:,} messages of {size} bytes, {options.runs} runs, 2 threads"
    )
    for column in ("parser", "median s", "messages a second", "min - max s"):
        table.add_column(column)
    for name, taken in times.items():
        median = statistics.median(taken)
        spread = f"{min(taken):.2f} - {max(taken):.2f}"
        table.add_row(name, f"{median:.2f}", f"{count / median:,.0f}", spread)
    console = Console()
    console.print(table)
    ratios = [slow / quick for quick, slow in zip(ours, native, strict=True)]
    console.print(
        f"rate of ours / rate of from_json: median {statistics.median(ratios):.2f}, "
        f"{min(ratios):.2f} to {max(ratios):.2f}"
    )


if __name__ == "__main__":
    main()
