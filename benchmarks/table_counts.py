"""What a build costs by the number of source tables, each command a process of its own.

One topic with that many small tables: the first build, one with nothing new, batches of the
stream with a few new changes of a single table and with some of each table, and a build of a
single table's models.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table

from changefold_tools.generate.models import make_models
from changefold_tools.session import stop_session
from changefold_tools.verify.run import declare_topics, scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT: Final = Path(__file__).parents[1]
STREAM: Final = ("--exclude", "path:models/history", "path:models/current")
"""What the selector `stream` leaves out, where generated models lie beside the others."""

_TYPES: Final = {"id": "bigint", "name": "varchar(40)", "at": "datetime", "n": "int"}
_START: Final = 1_700_000_000_000 << 18


def messages(tables: range, first: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield messages of tables: their CREATE, if `first` is 0, their changes, a watermark.

    Args:
        tables: Numbers of the tables.
        first: Key of the first row to insert.
        count: Rows to insert into each table.
    """
    clock = _START + (first << 30)
    shared = {"id": 0, "database": "bench", "es": 1, "ts": 2}
    no_row = dict.fromkeys(("pkNames", "sqlType", "mysqlType", "data", "old"))
    columns = ",".join(f"`{name}` {kind}" for name, kind in _TYPES.items())
    for table in tables if first == 0 else ():
        clock += 1
        yield {
            **shared,
            **no_row,
            "table": f"t{table}",
            "isDdl": True,
            "type": "CREATE",
            "sql": f"CREATE TABLE `t{table}` ({columns},PRIMARY KEY (`id`))",
            "_tidb": {"commitTs": clock},
        }
    for key in range(first, first + count):
        for table in tables:
            clock += 1
            row = {"id": f"{key}", "name": f"row {key}", "n": f"{table}"}
            yield {
                **shared,
                "table": f"t{table}",
                "isDdl": False,
                "type": "INSERT",
                "sql": "",
                "pkNames": ["id"],
                "sqlType": {"id": -5, "name": 12, "at": 93, "n": 4},
                "mysqlType": _TYPES,
                "data": [{**row, "at": "2024-05-05 05:05:05"}],
                "old": None,
                "_tidb": {"commitTs": clock},
            }
    yield {
        **shared,
        **no_row,
        "database": "",
        "table": "",
        "isDdl": False,
        "type": "TIDB_WATERMARK",
        "sql": "",
        "_tidb": {"watermarkTs": clock + 1},
    }


def measure(tables: int, rows: int) -> dict[str, float]:
    """Return the seconds of each command on a project of so many tables."""
    with scratch_project(PROJECT) as project:
        topic = project / "messages"
        topic.mkdir()
        declare_topics(
            project,
            [
                {
                    "name": "bench",
                    "protocol": "ticdc_canal_json",
                    "files": [str(topic)],
                    "partitions": 1,
                }
            ],
        )
        offset = _land(topic / "1.ndjson", messages(range(tables), 0, rows), 0)
        begin = time.monotonic()
        make_models(project, check=False)
        stop_session()
        seconds = {"make models": time.monotonic() - begin}
        seconds["first build"] = _dbt(project, "build")
        seconds["nothing new"] = _dbt(project, "build")
        seconds["nothing new, stream"] = _dbt(project, "build", *STREAM)
        offset = _land(topic / "2.ndjson", messages(range(1), rows, 100), offset)
        seconds["one table changed, stream"] = _dbt(project, "build", *STREAM)
        _land(topic / "3.ndjson", messages(range(tables), rows + 100, 20), offset)
        seconds["all tables changed, stream"] = _dbt(project, "build", *STREAM)
        seconds["all of it, behind that"] = _dbt(project, "build")
        seconds["--select of one"] = _dbt(
            project, "build", "--select", "scd2_bench__t1+1"
        )
        return seconds


def _land(path: Path, values: Iterator[dict[str, Any]], offset: int) -> int:
    with path.open("w") as file:
        for value in values:
            record = {
                "topic": "bench",
                "partition": 0,
                "offset": offset,
                "timestamp": 0,
                "key": None,
                "value": json.dumps(value),
            }
            file.write(json.dumps(record) + "\n")
            offset += 1
    return offset


def _dbt(project: Path, *arguments: str) -> float:
    begin = time.monotonic()
    program = "from dbt.cli.main import cli; cli()"
    subprocess.run(  # noqa: S603  # dbt, in this Python
        [sys.executable, "-c", program, *arguments, "--quiet"], cwd=project, check=True
    )
    return time.monotonic() - begin


def main() -> None:
    """Print the seconds of each command, a column per number of tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=[6, 50, 500])
    parser.add_argument(
        "--rows", type=int, default=10, help="of each table in the first build"
    )
    options = parser.parse_args()
    measured = {count: measure(count, options.rows) for count in options.tables}
    shown = Table(title="Seconds of a command, whole process, by the number of tables")
    shown.add_column("command")
    for count in measured:
        shown.add_column(f"{count}", justify="right")
    for name in measured[options.tables[0]]:
        shown.add_row(name, *(f"{seconds[name]:.0f}" for seconds in measured.values()))
    Console().print(shown)


if __name__ == "__main__":
    main()
