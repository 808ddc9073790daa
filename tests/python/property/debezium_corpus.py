"""Small recordings of Debezium and the truth beside them, written to a folder."""

import gzip
import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]

SQL_SERVER: Row = {
    "connector": "sqlserver",
    "name": "s1",
    "db": "testDB",
    "schema": "dbo",
}
POSTGRESQL: Row = {
    "connector": "postgresql",
    "name": "pg",
    "db": "shop",
    "schema": "shop",
}
MARIADB: Row = {"connector": "mariadb", "name": "my", "db": "shop"}

Fields = dict[str, dict[str, Any]]


def field(type_: str, name: str | None = None, **parameters: str) -> dict[str, Any]:
    """The schema of a column."""
    named = {} if name is None else {"name": name}
    given = {"parameters": parameters} if parameters else {}
    return {"type": type_, "optional": True} | named | given


class Corpus:
    """A folder with one recording."""

    def __init__(self, folder: Path, variant: str = "messages.schemas_true") -> None:
        self.folder = folder
        self.path = folder / f"{variant}.ndjson.gz"
        self._has_schemas = "schemas_true" in variant
        self._records: list[str] = []
        folder.mkdir(exist_ok=True)

    def add(
        self,
        source: Row,
        op: str,
        fields: Fields,
        *,
        key: Row | None,
        **rows: Row | None,
    ) -> None:
        """Add a message, with its row `before` or `after`."""
        payload = {
            "before": None,
            "after": None,
            "source": source | {"ts_ms": 1_795_263_451_694},
            "op": op,
        } | rows
        columns = [schema | {"field": name} for name, schema in fields.items()]
        images = [
            {"type": "struct", "optional": True, "field": part, "fields": columns}
            for part in ("before", "after")
        ]
        parts = [column for column in columns if column["field"] in (key or {})]
        self._records.append(
            json.dumps(
                {
                    "topic": f"{source['name']}.{source['table']}",
                    "partition": 0,
                    "offset": len(self._records),
                    "timestamp": 0,
                    "key": None if key is None else self._text(key, parts),
                    "value": self._text(payload, images),
                    "headers": [],
                }
            )
        )
        with gzip.open(self.path, "wt", encoding="utf-8") as file:
            file.write("\n".join(self._records) + "\n")

    def _text(self, payload: Row, fields: list[Row]) -> str:
        schema = {"type": "struct", "fields": fields}
        wrapped = {"schema": schema, "payload": payload}
        return json.dumps(wrapped if self._has_schemas else payload)

    def write(self, name: str, lines: list[Row]) -> None:
        """Write a file of the truth."""
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.folder / f"{name}.ndjson").write_text(text, encoding="utf-8")
