"""Names and texts of a topic that look like code, from the messages to dbt's docs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.generate.models import make_models
from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Rows = list[dict[str, Any]]

DATABASE: Final = "we`ird \"{{ env_var('PATH') }}\" <img src=x onerror=alert(1)>"
TABLE: Final = "${env:PATH}' {% endraw %}{{ 1 / 0 }} {# \n; drop table x -- "
TEXT: Final = "${env:PATH} {{ env_var('PATH') }} {# ' \\ \" `\n\u202e; -- </script>"
KEY: Final = ["change_sequence", "{{ env_var('PATH') }} 'k'", "payload"]
COLUMNS: Final = {
    "change_sequence": "int",
    "{{ env_var('PATH') }} 'k'": "varchar(99)",
    "payload": "int",
    "a.b`c; --": "varchar(99)",
    "{% raw %}\n\u202e": "int",
    "${env:PATH}": "varchar(99)",
    "_cdc_op": "int",
    "image": "enum('{{ 1 / 0 }}','${env:PATH}')",
}
ADDED: Final = "env_var('PATH')"
KEPT: Final = {"${env:PATH}": "env_PATH_0d1d33", "_cdc_op": "source_cdc_op"}
"""Column -> its name in the tables, where that is another one."""

IDS: Final = ["Id", "id", "a b", "a_x20b", "valid_from", "history"]
KEPT_IDS: Final = {
    "id": "id_a56145",
    "a_x20b": "a_x20b_d64970",
    "valid_from": "source_valid_from",
}


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _row(number: int, **more: str | None) -> dict[str, str | None]:
    values = [str(number), TEXT, "1", TEXT, "7", TEXT, "8", "2"]
    return {**dict(zip(COLUMNS, values, strict=True)), **more}


def _ddl(sql: str, commit_ts: int) -> str:
    message = json.loads(ddl(sql, commit_ts, TABLE))
    return json.dumps({**message, "database": DATABASE})


def _change(kind: str, row: dict[str, str | None], at: int, **more: Any) -> str:
    return change(
        kind,
        row,
        at,
        types={name: (COLUMNS | {ADDED: "varchar(99)"})[name] for name in row},
        database=DATABASE,
        table=TABLE,
        **more,
    ).replace('"pkNames": ["id"]', f'"pkNames": {json.dumps(KEY)}')


def _connect(op: str, row: dict[str, int], lsn: int) -> str:
    """Return a change of a table of PostgreSQL, with its schema."""
    columns = {
        "type": "struct",
        "optional": True,
        "fields": [{"type": "int32", "optional": False, "field": name} for name in IDS],
    }
    source = {
        "version": "3.0.0.Final",
        "connector": "postgresql",
        "name": "pg",
        "ts_ms": lsn,
        "snapshot": "false",
        "db": "db",
        "schema": "public",
        "table": "t",
        "sequence": json.dumps([str(lsn), str(lsn)]),
        "txId": lsn,
        "lsn": lsn,
    }
    fields = [{**columns, "field": side} for side in ("before", "after")]
    return json.dumps(
        {
            "schema": {"type": "struct", "fields": fields, "optional": False},
            "payload": {
                "before": row if op == "d" else None,
                "after": None if op == "d" else row,
                "source": source,
                "op": op,
                "ts_ms": lsn,
            },
        }
    )


def _key(row: dict[str, int]) -> str:
    field = {"type": "int32", "optional": False, "field": "Id"}
    schema = {"type": "struct", "fields": [field], "optional": False}
    return json.dumps({"schema": schema, "payload": {"Id": row["Id"]}})


def _ids(number: int) -> dict[str, int]:
    return {name: number * 10 + place for place, name in enumerate(IDS)}


@dataclass
class Outcome:
    """What stood in the tables after the second build, and in the project's files."""

    current: dict[str, Rows]
    history: dict[str, Rows]
    tables: list[str]
    files: dict[str, str]
    failed: list[str]


def _records(values: list[str], first: int = 0) -> Rows:
    return [
        {"partition": 0, "offset": first + place, "value": value}
        for place, value in enumerate(values)
    ]


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for place in ("models/history", "models/current", "target")
        for path in (folder / place).rglob("*")
        if path.is_file() and path.suffix in {".sql", ".yml", ".json"}
    }


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    columns = ",".join(
        f"{_quoted(name)} {kind} COMMENT {_literal(TEXT)}"
        for name, kind in COLUMNS.items()
    )
    key = ",".join(map(_quoted, KEY))
    table = f"{_quoted(DATABASE)}.{_quoted(TABLE)}"
    create = f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({key}))"
    add = (
        f"ALTER TABLE {table} ADD COLUMN {_quoted(ADDED)} VARCHAR(99) NOT NULL "
        f"DEFAULT {_literal(TEXT)} COMMENT {_literal(TEXT)}"
    )
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(
            folder,
            {"mysql": 1, "pg": 1},
            pg={"protocol": "debezium", "pattern": r"pg\..*"},
        )
        pipeline.land(
            "1",
            "mysql",
            _records(
                [
                    _ddl(create, 100),
                    _change("INSERT", _row(1), 150),
                    _change("INSERT", _row(2), 150),
                    _ddl(add, 200),
                    change("INSERT", {"id": "1"}, 210, table="orders"),
                    change("INSERT", {"id": "2"}, 210, table="Orders"),
                    watermark(300),
                ]
            ),
        )
        pipeline.land(
            "1",
            "pg.public.t",
            [
                {"partition": 0, "offset": n, "key": _key(_ids(n)), "value": value}
                for n in (1, 2)
                for value in [_connect("c", _ids(n), n)]
            ],
        )
        make_models(folder, check=False)
        failed = []
        for part in (1, 2):
            results = pipeline.dbt("build", "--quiet")
            failed += [
                r.node.name for r in results if r.status not in {"success", "pass"}
            ]
            if part == 1:
                changed = _row(1, **{ADDED: "new", "payload": "1"})
                pipeline.land(
                    "2",
                    "mysql",
                    _records(
                        [
                            _change("UPDATE", changed, 350, old={ADDED: TEXT}),
                            _change("DELETE", _row(2, **{ADDED: TEXT}), 350),
                            watermark(400),
                        ],
                        first=7,
                    ),
                )
                pipeline.land(
                    "2",
                    "pg.public.t",
                    [
                        {
                            "partition": 0,
                            "offset": 3,
                            "key": _key(_ids(1)),
                            "value": _connect("u", {**_ids(1), "id": 5}, 3),
                        },
                        {
                            "partition": 0,
                            "offset": 4,
                            "key": _key(_ids(2)),
                            "value": _connect("d", _ids(2), 4),
                        },
                    ],
                )
        pipeline.dbt("docs", "generate", "--quiet")
        tables = sorted(
            row["tableName"] for row in pipeline.rows("show tables in verify")
        )
        views = sorted(row["viewName"] for row in pipeline.rows("show views in verify"))
        yield Outcome(
            current={
                v: pipeline.rows(f"select * from verify.{v}")
                for v in views
                if v.startswith("cur_")
            },
            history={
                v: pipeline.rows(
                    f"select * from verify.{v} order by _cdc_valid_from_sequence"
                )
                for v in views
                if v.startswith("scd2_")
            },
            tables=tables,
            files=_files(folder),
            failed=failed,
        )


def _kept(row: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in row.items()}


def _typed(number: int, **more: Any) -> dict[str, Any]:
    """Return a row as the tables have it."""
    numbers = [name for name, kind in COLUMNS.items() if kind == "int"]
    row: dict[str, Any] = {**_row(number), "image": "${env:PATH}"}
    row |= {name: int(row[name]) for name in numbers}
    return {**_kept(row, KEPT), **more}


def _own(rows: Rows, columns: int) -> Rows:
    """The source's columns of rows; they stand first."""
    return [dict(list(row.items())[:columns]) for row in rows]


def test_a_hostile_table_equals_its_source(outcome: Outcome) -> None:
    assert outcome.failed == []
    (rows,) = (rows for name, rows in outcome.current.items() if "ird" in name)
    assert _own(rows, 9) == [_typed(1, **{ADDED: "new"})]
    (versions,) = (rows for name, rows in outcome.history.items() if "ird" in name)
    seen = [
        (
            _own([row], 9)[0],
            int(row["_cdc_valid_from_sequence"]),
            int(row["_cdc_valid_to_sequence"] or 0),
        )
        for row in versions
    ]
    before, since = {ADDED: None}, {ADDED: TEXT}
    assert sorted(seen, key=lambda line: (line[1], line[0]["change_sequence"])) == [
        (_typed(1, **before), 150, 200),
        (_typed(2, **before), 150, 200),
        (_typed(1, **since), 200, 350),
        (_typed(2, **since), 200, 350),
        (_typed(1, **{ADDED: "new"}), 350, 0),
    ]


def test_tables_and_columns_that_differ_by_case_stay_apart(outcome: Outcome) -> None:
    assert _own(outcome.current["cur_db__orders"], 1) == [{"id": 1}]
    (other,) = (n for n in outcome.current if n.startswith("cur_db__orders_"))
    assert _own(outcome.current[other], 1) == [{"id": 2}]
    (name,) = (n for n in outcome.current if n.startswith("cur_db_public"))
    changed = _kept({**_ids(1), "id": 5}, KEPT_IDS)
    assert _own(outcome.current[name], 6) == [changed]
    assert _own(outcome.history[name.replace("cur_", "scd2_")], 6) == [
        _kept(_ids(1), KEPT_IDS),
        _kept(_ids(2), KEPT_IDS),
        changed,
    ]


def test_no_text_of_a_topic_is_run_or_leaves_its_place(outcome: Outcome) -> None:
    value = os.environ["PATH"]
    assert not [path for path, text in outcome.files.items() if value in text]
    assert not [name for name in outcome.tables if name == "x"]
    sql = [text for path, text in outcome.files.items() if path.endswith(".sql")]
    assert not [text for text in sql if "${" in text]
    manifest = json.loads(outcome.files["target/manifest.json"])
    (described,) = (
        node["columns"][ADDED]["description"]
        for node in manifest["nodes"].values()
        if node["name"].startswith("scd2_we_ird")
    )
    assert TEXT.replace("<", "&lt;") in described
