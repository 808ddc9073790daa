"""Writes the generated models: what a topic's schemas say, as files of the project."""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from changefold.column_types import TypeSeed
from changefold_tools.render import TableModels, model_names, table_rows
from changefold_tools.session import run_dbt, spark_session
from changefold_tools.shapes import TableShape, shapes_from_versions
from changefold_tools.sources import declared_topics, render_sources

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

LEDGER: Final = "models/generated.json"
"""Hash of each file as it was generated last: tells an edit from an old version."""


@dataclass
class Outcome:
    """What `write_models` did, as paths below the project.

    Attributes:
        written: New, or new text.
        removed: Of a table that now has another name, or is declared no more.
        unchanged: Up to date.
        edited: By a person; with the difference to what would be written.
        orphaned: Edited by a person, and of no table any more.
    """

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    edited: dict[str, str] = field(default_factory=dict)
    orphaned: list[str] = field(default_factory=list)


def source_shapes(spark: SparkSession, schema: str) -> list[TableShape]:
    """Return the shape of every source table that has a schema.

    Args:
        spark: The session.
        schema: Schema of the project's tables.
    """
    versions: dict[str, list[dict[str, Any]]] = {}
    for row in spark.sql(
        f"select * from `{schema}`.table_schemas "  # our own schema
        "order by valid_from_sequence nulls first, schema_version"
    ).collect():
        versions.setdefault(row.kafka_topic, []).append(row.asDict(recursive=True))
    shapes = [
        shape for known in versions.values() for shape in shapes_from_versions(known)
    ]
    return sorted(shapes, key=lambda shape: (shape.topic, shape.database, shape.table))


def render_models(
    shapes: Sequence[TableShape], seed: TypeSeed, project: Path | None = None
) -> dict[str, str]:
    """Return the files of all tables: path below the project -> text.

    Args:
        shapes: Of all tables.
        seed: How types are kept.
        project: Folder whose models keep their names; none, if there are no models yet.
    """
    names = model_names(shapes, lambda name: _present(project, name))
    tables = [
        TableModels(shape, seed, name)
        for shape, name in zip(shapes, names, strict=True)
    ]
    files: dict[str, str] = {}
    for table in tables:
        files |= table.files
    if tables:
        files |= table_rows(tables)
    return {f"models/{path}": text for path, text in files.items()}


def _present(project: Path | None, name: str) -> str:
    """The text of a history model, empty if there is none."""
    if project is None:
        return ""
    found = sorted((project / "models" / "history").glob(f"*/scd2_{name}.sql"))
    return found[0].read_text(encoding="utf-8") if found else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_models(
    files: dict[str, str], project: Path, *, check: bool, are_all: bool = False
) -> Outcome:
    """Write the files that are new or stale; leave what a person has edited.

    Args:
        files: Path below the project -> text.
        project: Folder of the dbt project.
        check: Write nothing, only tell.
        are_all: No other file is generated: what the ledger has besides goes.

    Returns:
        What was written (or would be), and for each edited file the difference.
    """
    ledger_path = project / LEDGER
    ledger: dict[str, str] = (
        json.loads(ledger_path.read_text(encoding="utf-8"))
        if ledger_path.exists()
        else {}
    )
    outcome = Outcome()
    for path, text in files.items():
        target = project / path
        current = target.read_text(encoding="utf-8") if target.exists() else None
        if current == text:
            outcome.unchanged.append(path)
        elif current is not None and ledger.get(path) != _digest(current):
            outcome.edited[path] = "".join(
                difflib.unified_diff(
                    current.splitlines(keepends=True),
                    text.splitlines(keepends=True),
                    f"{path} (yours)",
                    f"{path} (generated)",
                )
            )
            continue
        else:
            outcome.written.append(path)
            if not check:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
        ledger[path] = _digest(text)
    for path in sorted(ledger.keys() - files.keys()) if are_all else ():
        target = project / path
        if not target.exists():
            del ledger[path]
        elif ledger[path] != _digest(target.read_text(encoding="utf-8")):
            outcome.orphaned.append(path)
        else:
            outcome.removed.append(path)
            if not check:
                target.unlink()
                del ledger[path]
    if not check:
        ledger_path.write_text(
            json.dumps(dict(sorted(ledger.items())), indent=1) + "\n", encoding="utf-8"
        )
    return outcome


def update_models(project: Path, schema: str, *, check: bool) -> Outcome:
    """Bring the generated files up to date with the tables of the last dbt run.

    Args:
        project: Folder of the dbt project.
        schema: Schema of the tables.
        check: Write nothing, only tell.
    """
    seed = TypeSeed(project / "seeds")
    files = render_sources(declared_topics(project))
    shapes = source_shapes(spark_session(), schema)
    files |= render_models(shapes, seed, project)
    # Without any table, the topics have not been read: that is no reason to remove.
    return write_models(files, project, check=check, are_all=bool(shapes))


def make_models(project: Path, schema: str, *, check: bool) -> Outcome:
    """Land and read the topics, then bring the generated files up to date.

    Args:
        project: Folder of the dbt project.
        schema: Schema of the tables.
        check: Write nothing, only tell.
    """
    write_models(render_sources(declared_topics(project)), project, check=check)
    run_dbt(["run", "--quiet", "--select", "+table_schemas"], project)
    return update_models(project, schema, check=check)
