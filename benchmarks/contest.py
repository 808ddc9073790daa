"""This project beside what one would write by hand, on the same messages, rows compared.

Each contestant is a script in `contestants/`, run as a process of its own: a full load of a
seeded topic, then one percent more. They take turns; the figures are medians. Start-up
(sessions, models) is told apart from work; that messages come to where they are read
counts for nobody.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: Final = Path(__file__).parent
CONTESTANTS: Final = {
    "changefold": "changefold_dbt",
    "Spark + Iceberg": "spark_iceberg",
    "DuckDB": "duckdb_sql",
}
"""How a contestant is called, and its script."""

STEPS: Final = ("start", "load", "batch")


@dataclass(frozen=True)
class Paths:
    """Where a contestant finds messages, and where it may write.

    Attributes:
        work: An empty folder.
        first: The first messages of the topic, Parquet.
        load: All messages of the full load.
        batch: Those that come after it.
        history: Where the history has to be in the end: a file or a folder of Parquet,
            with the table's columns, from_ts and to_ts.
    """

    work: Path
    first: str
    load: str
    batch: str
    history: str


class Contestant(Protocol):
    """What takes part."""

    def start(self, paths: Paths) -> None:
        """Get ready."""

    def land(self, messages: str) -> None:
        """Put messages where it reads them, unless that is the file itself."""

    def load(self, paths: Paths) -> None:
        """Build the tables from the full load."""

    def batch(self, paths: Paths) -> None:
        """Bring them up to date."""

    def export(self, paths: Paths) -> None:
        """Write the history."""


def contestant(taking_part: Contestant) -> None:
    """Let one take part, on the folders that the command line names; print seconds."""
    topic, work = map(Path, sys.argv[1:])
    paths = _paths(topic, work)
    seconds = {}
    for name in STEPS:
        if name != "start":
            taking_part.land(getattr(paths, name))
        begin = time.monotonic()
        getattr(taking_part, name)(paths)
        seconds[name] = time.monotonic() - begin
    taking_part.export(paths)
    print(json.dumps(seconds), flush=True)  # noqa: T201 # read by `main`


def _paths(topic: Path, work: Path) -> Paths:
    first, load, batch = (
        str(topic / f"{part}.parquet") for part in ("first", "load", "batch")
    )
    return Paths(work, first, load, batch, str(work / "history.parquet"))


def main() -> int:
    """Let all take part in turns; return 1 if their rows differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=400_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    results: dict[str, list[dict[str, float]]] = {name: [] for name in CONTESTANTS}
    with tempfile.TemporaryDirectory(prefix="changefold-contest-") as folder:
        topic = Path(folder) / "topic"
        topic.mkdir()
        _write_topic(topic, options.messages)
        histories = {}
        for run in range(options.runs):
            for name, script in CONTESTANTS.items():
                work = Path(folder) / f"{script}_{run}"
                work.mkdir()
                results[name].append(_take_part(script, topic, work))
                histories[name] = _rows(str(work / "history.parquet"))
    Console(width=120).print(_table(results, options))
    different = [
        name for name, rows in histories.items() if rows != histories["changefold"]
    ]
    Console().print(
        f"The histories differ: {different}"
        if different
        else "All histories are equal."
    )
    return int(bool(different))


def _write_topic(folder: Path, count: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    import topic

    total = count + count // 100
    offsets = [0] * topic.PARTITIONS
    records: list[dict[str, Any]] = []
    for partition, value in topic.messages(total):
        records.append(
            {
                "topic": "bench",
                "partition": partition,
                "offset": offsets[partition],
                "timestamp": 1_700_000_000_000,
                "key": None,
                "value": value.encode(),
            }
        )
        offsets[partition] += 1
    schema = pa.schema(
        {
            "topic": pa.string(),
            "partition": pa.int32(),
            "offset": pa.int64(),
            "timestamp": pa.int64(),
            "key": pa.binary(),
            "value": pa.binary(),
        }
    )
    cut = len(records) * count // total
    for name, part in (
        ("first", records[:10_000]),
        ("load", records[:cut]),
        ("batch", records[cut:]),
    ):
        table = pa.Table.from_pylist(part, schema=schema)
        pq.write_table(table, folder / f"{name}.parquet")


def _take_part(script: str, topic: Path, work: Path) -> dict[str, float]:
    done = subprocess.run(  # noqa: S603 # a script of this folder
        [sys.executable, str(FOLDER / "contestants" / f"{script}.py"), topic, work],
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(FOLDER), *filter(None, sys.path)])},
        cwd=work,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def _rows(history: str) -> list[tuple[Any, ...]]:
    import duckdb

    pattern = f"{history}/*.parquet" if Path(history).is_dir() else history
    columns = (
        "id, customer_id, status, total, currency, note, created_at::timestamp,"
        " updated_at::timestamp, quantity, weight, from_ts, to_ts"
    )
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        found: list[tuple[Any, ...]] = db.execute(
            f"select {columns} from read_parquet('{pattern}') order by id, from_ts"
        ).fetchall()
    return found


def _table(
    results: dict[str, list[dict[str, float]]], options: argparse.Namespace
) -> Table:
    table = Table(
        title=f"{options.messages:,} changes, then 1 %, {options.runs} run(s), seconds"
    )
    for heading in ("contestant", *STEPS, "load / ours", "batch / ours"):
        table.add_column(heading, justify="right" if table.columns else "left")
    for cells in _lines(results):
        table.add_row(*cells)
    return table


def _lines(results: dict[str, list[dict[str, float]]]) -> Iterator[list[str]]:
    def median(name: str, figure: str) -> float:
        return statistics.median(run[figure] for run in results[name])

    for name, runs in results.items():
        cells = [name]
        for figure in STEPS:
            low, high = min(r[figure] for r in runs), max(r[figure] for r in runs)
            cells.append(f"{median(name, figure):.1f} ({low:.1f} to {high:.1f})")
        cells += [
            f"{median(name, step) / median('changefold', step):.2f}"
            for step in ("load", "batch")
        ]
        yield cells


if __name__ == "__main__":
    raise SystemExit(main())
