"""This project beside what one would write by hand, on the same messages, rows compared.

Each contestant is a script in `contestants/`, run as a process of its own: a full load of a
seeded topic, then one percent more, then as many messages whatever the size. In the end
the rows of its history and of its current table have to be those of the others. They take
turns; the figures are medians. Start-up (sessions, models) is told apart from work; that
messages come to where they are read counts for nobody.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER: Final = Path(__file__).parent
CONTESTANTS: Final = {
    "changefold": "changefold_dbt",
    "Spark + Iceberg": "spark_iceberg",
    "DuckDB": "duckdb_sql",
}
"""How a contestant is called, and its script."""

FIGURES: Final = {
    "start": ".1f",
    "load": ".1f",
    "batch": ".1f",
    "last": ".1f",
    "peak memory, MB": ",.0f",
    "written, MB": ",.0f",
}
"""What is measured of each contestant, steps in seconds, and how it is shown."""

RESULTS: Final = ("history", "current")
"""Tables whose rows are compared."""

_FIRST: Final = 10_000
"""Messages that a contestant sees before the full load."""

_LAST: Final = 2_000
"""Messages of the last step."""

_CHUNK: Final = 50_000
"""Messages written at once."""

Given = TypeVar("Given")
Taken = dict[str, list[dict[str, float]]]
"""Contestant -> its figures, run by run."""


@dataclass(frozen=True)
class Paths:
    """Where a contestant finds messages, and where it may write.

    Attributes:
        work: An empty folder.
        first: The first messages of the topic, Parquet.
        load: All messages of the full load.
        batch: Those that come after it, one percent of them.
        last: Those after that, as many for each size.
        history: Where the history has to be in the end: a file or a folder of Parquet,
            with the table's columns, from_ts and to_ts.
        current: The same for the current table, with the table's columns.
        columns: The table's columns, with their MySQL types.
    """

    work: Path
    first: str
    load: str
    batch: str
    last: str
    history: str
    current: str
    columns: dict[str, str]


class Contestant(Protocol):
    """What takes part."""

    def start(self, paths: Paths) -> None:
        """Get ready."""

    def land(self, messages: str) -> None:
        """Put messages where it reads them, unless that is the file itself."""

    def load(self, paths: Paths) -> None:
        """Build the tables from the full load."""

    def batch(self, messages: str) -> None:
        """Bring them up to date."""

    def export(self, paths: Paths) -> None:
        """Write the history and the current table."""


def contestant(taking_part: Contestant) -> None:
    """Let one take part, on the folders that the command line names; print seconds."""
    topic, work = map(Path, sys.argv[1:])
    paths = paths_of(topic, work)
    seconds = {"start": _timed(taking_part.start, paths)}
    taking_part.land(paths.load)
    seconds["load"] = _timed(taking_part.load, paths)
    for name, messages in {"batch": paths.batch, "last": paths.last}.items():
        taking_part.land(messages)
        seconds[name] = _timed(taking_part.batch, messages)
    taking_part.export(paths)
    print(json.dumps(seconds), flush=True)  # noqa: T201 # read by `main`


def _timed(step: Callable[[Given], None], given: Given) -> float:
    begin = time.monotonic()
    step(given)
    return time.monotonic() - begin


def paths_of(topic: Path, work: Path) -> Paths:
    """Return where the parts of a topic are, and where to write."""
    first, load, batch, last = (
        str(topic / f"{part}.parquet") for part in ("first", "load", "batch", "last")
    )
    columns = json.loads((topic / "columns.json").read_text())
    history, current = (str(work / f"{name}.parquet") for name in RESULTS)
    return Paths(work, first, load, batch, last, history, current, columns)


def main() -> int:
    """Let all take part in turns; return 1 if their rows differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[400_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--more-columns", type=int, default=0, help="beside the table's ten"
    )
    parser.add_argument(
        "--write", type=Path, help="a document with places for these tables"
    )
    options = parser.parse_args()
    results: dict[int, Taken] = {
        count: {name: [] for name in CONTESTANTS} for count in options.messages
    }
    different = set()
    with tempfile.TemporaryDirectory(prefix="changefold-contest-") as folder:
        for count in options.messages:
            topic = Path(folder) / f"{count}"
            topic.mkdir()
            write_topic(topic, count, options.more_columns)
        for _ in range(options.runs):
            for count, taken in results.items():
                with tempfile.TemporaryDirectory(dir=folder) as run:
                    different |= _take_turns(
                        Path(folder) / f"{count}", Path(run), taken
                    )
    console = Console(width=200)
    for count, taken in results.items():
        name = f"contest: {count:,} messages, {options.more_columns + 10} columns"
        table = _table(taken)
        console.print(f"{name}, {options.runs} run(s), seconds", table, sep="\n\n")
        if options.write and not _put(options.write, name, table):
            console.print(f"{options.write} has no place `{name}`: not written there.")
    for line in _growth(results):
        console.print(line)
    console.print(
        f"These differ: {sorted(different)}"
        if different
        else "All histories and current tables are equal."
    )
    return int(bool(different))


def _take_turns(topic: Path, folder: Path, taken: Taken) -> set[str]:
    """Let each take part once; return what of them has not the rows of the first."""
    first = folder / next(iter(CONTESTANTS.values()))
    different = set()
    for name, script in CONTESTANTS.items():
        work = folder / script
        work.mkdir()
        taken[name].append(_take_part(script, topic, work))
        different |= {
            f"{result} of {name}"
            for result in RESULTS
            if _different_rows(first / result, work / result)
        }
    return different


def write_topic(folder: Path, count: int, more_columns: int) -> None:
    """Write the messages of a topic, in the parts that contestants get."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import topic

    types = {name: kind for name, (kind, _) in topic.columns(more_columns).items()}
    (folder / "columns.json").write_text(json.dumps(types))
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
    whole = folder / "whole.parquet"
    sent = topic.messages(count + count // 100 + _LAST, more=more_columns)
    with pq.ParquetWriter(whole, schema) as writer:
        for records in _chunks(sent):
            writer.write_table(pa.Table.from_pylist(records, schema=schema))
    file = pq.ParquetFile(whole)
    rows = file.metadata.num_rows
    bounds = {"load": (rows - _LAST) * 100 // 101, "batch": rows - _LAST, "last": rows}
    writers = {
        name: pq.ParquetWriter(folder / f"{name}.parquet", schema) for name in bounds
    }
    first_row = 0
    for number in range(file.num_row_groups):
        table = file.read_row_group(number)
        if not number:
            pq.write_table(table.slice(0, _FIRST), folder / "first.parquet")
        begin = 0
        for name, bound in bounds.items():
            end = min(max(bound - first_row, begin), table.num_rows)
            if begin < end:
                writers[name].write_table(table.slice(begin, end - begin))
            begin = end
        first_row += table.num_rows
    for writer in writers.values():
        writer.close()
    whole.unlink()


def _chunks(messages: Iterator[tuple[int, str]]) -> Iterator[list[dict[str, Any]]]:
    import topic

    offsets = [0] * topic.PARTITIONS
    records: list[dict[str, Any]] = []
    for partition, value in messages:
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
        if len(records) == _CHUNK:
            yield records
            records = []
    yield records


def _take_part(script: str, topic: Path, work: Path) -> dict[str, float]:
    from process_needs import ProcessNeeds

    process = subprocess.Popen(  # noqa: S603 # a script of this folder
        [sys.executable, str(FOLDER / "contestants" / f"{script}.py"), topic, work],
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(FOLDER), *filter(None, sys.path)])},
        cwd=work,
        stdout=subprocess.PIPE,
        text=True,
    )
    with ProcessNeeds(process.pid) as needs:
        said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{script} ended with {process.returncode}.")
    seconds: dict[str, float] = json.loads(said.splitlines()[-1])
    return seconds | {
        "peak memory, MB": needs.peak_of_all,
        "written, MB": needs.written,
    }


def _different_rows(result: Path, other: Path) -> int:
    import duckdb

    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        for name, stem in {"a": result, "b": other}.items():
            path = stem.with_suffix(".parquet")
            pattern = f"{path}/*.parquet" if path.is_dir() else path
            described = db.sql(f"describe select * from read_parquet('{pattern}')")
            columns = [
                f"{column}::timestamp as {column}" if "TIME" in kind else column
                for column, kind, *_ in described.fetchall()
            ]
            db.execute(
                f"create view {name} as select {', '.join(sorted(columns))}"
                f" from read_parquet('{pattern}')"
            )
        [found] = db.sql(
            "select count(*) from ((from a except all from b)"
            " union all (from b except all from a))"
        ).fetchall()
    count: int = found[0]
    return count


def _median(runs: list[dict[str, float]], figure: str) -> float:
    return statistics.median(run[figure] for run in runs)


def _table(taken: Taken) -> Table:
    table = Table(box=box.MARKDOWN)
    for heading in ("contestant", *FIGURES, "our load / its", "our batch / its"):
        table.add_column(heading, justify="right" if table.columns else "left")
    ours = next(iter(taken.values()))
    for name, runs in taken.items():
        cells = [name]
        for figure, shown in FIGURES.items():
            low, high = min(r[figure] for r in runs), max(r[figure] for r in runs)
            median = f"{_median(runs, figure):{shown}}"
            span = f" ({low:{shown}} to {high:{shown}})" if len(runs) > 1 else ""
            cells.append(f"{median}{span}")
        cells += [
            f"{_median(ours, step) / _median(runs, step):.2f}"
            for step in ("load", "batch")
        ]
        table.add_row(*cells)
    return table


def _put(document: Path, name: str, table: Table) -> bool:
    """Put a table into a document; return whether that has a place of its name."""
    drawn = io.StringIO()
    Console(file=drawn, width=200).print(table)
    compact = re.sub(" +", " ", re.sub("-+", " --- ", drawn.getvalue()))
    lines = "\n".join(line.strip() for line in compact.strip().splitlines())
    text = document.read_text(encoding="utf-8")
    place = re.compile(
        f"(?<=<!-- {re.escape(name)} -->\n).*?(?=<!-- end -->)", re.DOTALL
    )
    text, places = place.subn(lambda _: f"{lines}\n", text, count=1)
    document.write_text(text, encoding="utf-8")
    return bool(places)


def _growth(results: dict[int, Taken]) -> Iterator[str]:
    """Yield what each step takes of the largest size against the smallest."""
    small, large = min(results), max(results)
    if small == large:
        return
    for name in CONTESTANTS:
        ratios = [
            f"{step} {_median(results[large][name], step) / _median(results[small][name], step):.2f}"
            for step in ("load", "batch", "last")
        ]
        yield f"{name}, {large:,} against {small:,}: {', '.join(ratios)}"


if __name__ == "__main__":
    raise SystemExit(main())
