"""Writes the generated models: what a topic's schemas say, as files of the project."""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from changefold.connect.column_types import TypeSeed, seeds_of
from changefold_tools.generate.render import TableModels, model_names, table_rows
from changefold_tools.generate.sources import (
    declared_topics,
    models_folder,
    project_settings,
    project_vars,
    render_sources,
)
from changefold_tools.generate.table_history import TableShape, shapes_from_versions
from changefold_tools.session import run_dbt, schema_of, spark_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

TYPED_HISTORY_VERSIONS: Final = 1_000_000
"""Default of the var ``typed_history_versions``."""

LEDGER: Final = "generated.json"
"""In the folder of the models: hash of each file as it was generated last. It tells an
edit from an old version."""


@dataclass
class Outcome:
    """What `write_models` did, as paths below the project.

    Attributes:
        written: New, or new text.
        removed: Of a table that now has another name, or is declared no more.
        unchanged: Up to date.
        edited: By a person; with the difference to what would be written.
        orphaned: Edited by a person, and of no table any more.
        large: History that is a view -> its versions, more than the var
            ``typed_history_versions``.
    """

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    edited: dict[str, str] = field(default_factory=dict)
    orphaned: list[str] = field(default_factory=list)
    large: dict[str, int] = field(default_factory=dict)


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
    shapes: Sequence[TableShape],
    seed: TypeSeed,
    folder: Path | None = None,
) -> dict[str, str]:
    """Return the files of all tables: path below the models' folder -> text.

    Args:
        shapes: Of all tables.
        seed: How types are kept.
        folder: That of the models, whose names stay; none, if there are no models yet.
    """
    names = model_names(shapes, lambda name: _present(folder, name))
    tables = [
        TableModels(shape, seed, name)
        for shape, name in zip(shapes, names, strict=True)
    ]
    files: dict[str, str] = {}
    for table in tables:
        files |= table.files
    if tables:
        files |= table_rows(tables)
    return files


def _present(folder: Path | None, name: str) -> str:
    """The text of a history model, empty if there is none."""
    if folder is None:
        return ""
    found = sorted((folder / "history").glob(f"*/scd2_{name}.sql"))
    return found[0].read_text(encoding="utf-8") if found else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_models(
    files: dict[str, str], folder: Path, *, check: bool, are_all: bool = False
) -> Outcome:
    """Write the files that are new or stale; leave what a person has edited.

    Args:
        files: Path below the folder -> text.
        folder: That of the models.
        check: Write nothing, only tell.
        are_all: No other file is generated: what the ledger has besides goes.

    Returns:
        What was written (or would be), and for each edited file the difference.
    """
    ledger_path = folder / LEDGER
    ledger: dict[str, str] = (
        json.loads(ledger_path.read_text(encoding="utf-8"))
        if ledger_path.exists()
        else {}
    )
    outcome = Outcome()
    for path, text in files.items():
        target = folder / path
        shown = f"{folder.name}/{path}"
        current = target.read_text(encoding="utf-8") if target.exists() else None
        if current == text:
            outcome.unchanged.append(shown)
        elif current is not None and ledger.get(path) != _digest(current):
            outcome.edited[shown] = "".join(
                difflib.unified_diff(
                    current.splitlines(keepends=True),
                    text.splitlines(keepends=True),
                    f"{shown} (yours)",
                    f"{shown} (generated)",
                )
            )
            continue
        else:
            outcome.written.append(shown)
            if not check:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
        ledger[path] = _digest(text)
    for path in sorted(ledger.keys() - files.keys()) if are_all else ():
        target = folder / path
        shown = f"{folder.name}/{path}"
        if not target.exists():
            del ledger[path]
        elif ledger[path] != _digest(target.read_text(encoding="utf-8")):
            outcome.orphaned.append(shown)
        else:
            outcome.removed.append(shown)
            if not check:
                target.unlink()
                del ledger[path]
    if not check:
        folder.mkdir(parents=True, exist_ok=True)
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
    seed = TypeSeed(seeds_of(project))
    folder = models_folder(project)
    files = render_sources(declared_topics(project))
    shapes = source_shapes(spark_session(), schema)
    files |= render_models(shapes, seed, folder)
    # Without any table, the topics have not been read: that is no reason to remove.
    return write_models(files, folder, check=check, are_all=bool(shapes))


def check_settings(project: Path) -> None:
    """Check that the project does not build its histories as earlier versions did.

    Args:
        project: Folder of the dbt project.

    Raises:
        ValueError: If it does, with what to write.
    """
    if "cdc_history" in json.dumps(project_settings(project).get("models")):
        raise ValueError(
            "dbt_project.yml builds histories with `cdc_history`, which is gone: they are "
            "views of `row_versions` now. Write `+materialized: view` instead, without "
            "`+tblproperties`; the first `dbt build` behind it folds the whole log once."
        )


def make_models(project: Path, *, check: bool) -> Outcome:
    """Land and read the topics, then bring the generated files up to date.

    Args:
        project: Folder of the dbt project.
        check: Write nothing, only tell.

    Raises:
        DbtFailedError: If the topics could not be read.
        ValueError: If the project builds its histories as earlier versions did.
    """
    check_settings(project)
    sources = render_sources(declared_topics(project))
    write_models(sources, models_folder(project), check=check)
    run_dbt(["run", "--quiet", "--select", "+table_schemas"], project)
    schema = schema_of(project)
    outcome = update_models(project, schema, check=check)
    least = project_vars(project).get("typed_history_versions", TYPED_HISTORY_VERSIONS)
    outcome.large = {
        name: versions
        for name, versions in _versions_of_views(project, schema).items()
        if versions > least
    }
    return outcome


def _versions_of_views(project: Path, schema: str) -> dict[str, int]:
    """Count the versions of each history that is a view; of none, if none is folded yet."""
    spark = spark_session()
    if not spark.catalog.tableExists(f"`{schema}`.row_versions"):
        return {}
    counts = {
        (row.kafka_topic, row.table_uid): row.versions
        for row in spark.sql(
            "select kafka_topic, table_uid, count(*) as versions "
            f"from `{schema}`.row_versions "  # our own schema
            "where is_open or from_sequence < to_sequence group by all"
        ).collect()
    }
    return {
        node.name: sum(
            counts.get((node.config["topic"], life["table_uid"]), 0)
            for life in node.config["lives"]
        )
        for node in run_dbt(["parse", "--quiet"], project).nodes.values()
        if node.config.get("lives") and node.config.materialized == "view"
    }
