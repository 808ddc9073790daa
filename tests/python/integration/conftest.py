"""What the integration tests share: the project, and a scratch copy with messages."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from changefold_tools.session import run_dbt, spark_session
from changefold_tools.verify import declare_topics, scratch_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECT = Path(__file__).parents[3]


class Pipeline:
    """A project of its own, with one topic of recorded messages."""

    def __init__(self, folder: Path, partitions: int, **topic: Any) -> None:
        self.folder = folder
        self.files = folder / "messages"
        self.files.mkdir()
        declared = {
            "name": "topic",
            "protocol": "ticdc_canal_json",
            "files": [str(self.files)],
            "partitions": partitions,
        }
        declare_topics(folder, [{**declared, **topic}])

    def land(self, name: str, records: list[dict[str, Any]]) -> None:
        """Write a file of records: partition, offset, value or value_base64."""
        lines = [
            json.dumps({"topic": "topic", "timestamp": 0, "key": None, **record})
            for record in records
        ]
        (self.files / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def dbt(self, *arguments: str) -> Any:
        """Run a dbt command on it."""
        return run_dbt(list(arguments), self.folder)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query on its tables."""
        return [
            row.asDict(recursive=True) for row in spark_session().sql(sql).collect()
        ]


@pytest.fixture
def make_pipeline() -> Iterator[Callable[..., Pipeline]]:
    """Return a function that makes a pipeline; its folder goes away afterwards."""
    with ExitStack() as stack:

        def make(partitions: int = 1, **topic: Any) -> Pipeline:
            copy = stack.enter_context(scratch_project(PROJECT))
            return Pipeline(copy, partitions, **topic)

        yield make
