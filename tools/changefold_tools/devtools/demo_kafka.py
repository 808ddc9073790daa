"""Shows the sample shop coming through Kafka: a producer writes while builds go on."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from changefold_tools.devtools.kafka_broker import Broker, BrokerError
from changefold_tools.generate.sources import declared_topics
from changefold_tools.session import run_dbt, spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

_SCHEMA = "cdc"
_PAUSE_SECONDS = 0.5
_HEADER = f"{'build':>5} {'seconds':>8} {'sent':>8} {'landed':>8} {'applied':>8} {'beyond cut':>11}  cut (UTC)"


class _Sender(threading.Thread):
    """Sends records bit by bit, over so many seconds."""

    def __init__(
        self, broker: Broker, records: list[dict[str, Any]], seconds: float
    ) -> None:
        super().__init__(name="producer", daemon=True)
        self._broker = broker
        self._records = records
        self._parts = max(round(seconds / _PAUSE_SECONDS), 1)
        self.sent = 0
        self.failure: BrokerError | None = None

    def run(self) -> None:
        size = -(-len(self._records) // self._parts)
        try:
            while self.sent < len(self._records):
                part = self._records[self.sent : self.sent + size]
                self._broker.send(part)
                self.sent += len(part)
                time.sleep(_PAUSE_SECONDS)
        except BrokerError as error:
            self.failure = error


def run_demo(project: Path, console: Console, seconds: float) -> None:
    """Start a broker, send the sample shop, and build until all of it is in the tables.

    Args:
        project: Folder of the dbt project.
        console: Where a line is printed for each build.
        seconds: How long the producer takes.

    Raises:
        DbtFailedError: If a build failed.
        BrokerError: If Kafka did not start, or refused a record.
        ValueError: If the project declares other topics than the sample's.
    """
    topics = declared_topics(project)
    if len(topics) != 1 or len(topics[0].get("files") or []) != 1:
        raise ValueError(
            "The demo sends the topic that dbt_project.yml declares: expected one, with "
            "one file of recorded messages."
        )
    declared = dict(topics[0])
    [file] = declared.pop("files")
    with gzip.open(project / file, "rt", encoding="utf-8") as lines:
        records = [as_sent(line) for line in lines]
    with tempfile.TemporaryDirectory(prefix="changefold-demo-") as name:
        folder = Path(name)
        (folder / "kafka").mkdir()
        console.print("Starting Apache Kafka on loopback")
        with (
            Broker(folder / "kafka") as broker,
            _environment(
                KAFKA_BOOTSTRAP_SERVERS=broker.servers,
                CHANGEFOLD_WAREHOUSE=str(folder / "warehouse"),
                CHANGEFOLD_SCHEMA=_SCHEMA,
                DBT_TARGET_PATH=str(folder / "target"),
            ),
        ):
            broker.create_topic(declared["name"], declared.pop("partitions"))
            sender = _Sender(broker, records, seconds)
            sender.start()
            topics = [declared | {"kafka": "main"}]
            _build_until_sent(project, topics, sender, console)


def as_sent(line: str) -> dict[str, Any]:
    """Return a recorded message as a producer sends it: key and value as bytes.

    Args:
        line: A record of a recording, as JSON.
    """
    record: dict[str, Any] = json.loads(line)
    for name in ("key", "value"):
        if record[name] is not None:
            record[name] = record[name].encode()
    return record


@contextmanager
def _environment(**settings: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _build_until_sent(
    project: Path, topics: list[dict[str, Any]], sender: _Sender, console: Console
) -> None:
    command = ["build", "--quiet", "--exclude-resource-type", "unit_test"]
    console.print(_HEADER, highlight=False)
    build = 0
    while True:
        is_last = not sender.is_alive()
        if sender.failure is not None:
            raise sender.failure
        build += 1
        begun = time.monotonic()
        run_dbt([*command, "--vars", json.dumps({"topics": topics})], project)
        row = (
            spark_session()
            .sql(
                "select sum(messages_read) as landed, sum(applied) as applied, "
                "sum(beyond_cut) as beyond, (select date_format(max(cut_at), "
                f"'yyyy-MM-dd HH:mm:ss.SSS') from {_SCHEMA}.resolved_cuts) as cut "
                f"from {_SCHEMA}.balance"
            )
            .collect()[0]
        )
        console.print(
            f"{build:5} {time.monotonic() - begun:8.1f} {sender.sent:8,} {row.landed or 0:8,}"
            f" {row.applied or 0:8,} {row.beyond or 0:11,}  {row.cut or 'none'}",
            highlight=False,
        )
        if is_last:
            return
