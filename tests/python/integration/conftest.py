"""What the integration tests share: a scratch copy of the project with topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from changefold_tools.session import run_dbt, spark_session
from changefold_tools.verify.run import declare_topics

PROJECT = Path(__file__).parents[3]


class Pipeline:
    """A scratch project with topics of recorded messages.

    Args:
        folder: The project.
        partitions: Topic -> number of its partitions.
        others: Topic -> what else to declare of it.
    """

    def __init__(
        self, folder: Path, partitions: dict[str, int], **others: dict[str, Any]
    ) -> None:
        self.folder = folder
        (folder / "messages").mkdir()
        self._topics = {
            topic: {
                "name": topic,
                "protocol": "ticdc_canal_json",
                "files": ["messages"],
                "partitions": count,
                **others.get(topic, {}),
            }
            for topic, count in partitions.items()
        }
        declare_topics(folder, list(self._topics.values()))

    def declare(self, topic: str, **settings: Any) -> None:
        """Declare more of a topic."""
        self._topics[topic] |= settings
        declare_topics(self.folder, list(self._topics.values()))

    def land(self, name: str, topic: str, records: list[dict[str, Any]]) -> None:
        """Write a file of records: partition, offset, value or value_base64."""
        lines = [
            json.dumps({"topic": topic, "timestamp": 0, "key": None, **record})
            for record in records
        ]
        path = self.folder / "messages" / f"{topic}_{name}.ndjson"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def dbt(self, *arguments: str) -> Any:
        """Run a dbt command on it."""
        return run_dbt(list(arguments), self.folder)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query on its tables."""
        return [
            row.asDict(recursive=True) for row in spark_session().sql(sql).collect()
        ]
