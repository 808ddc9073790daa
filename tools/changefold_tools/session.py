"""dbt in this process, and the Spark session that it opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


class DbtFailedError(RuntimeError):
    """A dbt command did not succeed; dbt has printed which node failed, and why."""


def run_dbt(
    arguments: Sequence[str], project: Path
) -> Any:  # dbt's result has a type for each command
    """Run a dbt command in this process and return its result.

    Args:
        arguments: The command line after ``dbt``.
        project: Folder of the dbt project.

    Raises:
        DbtFailedError: If a node failed or dbt stopped.
    """
    from dbt.cli.main import dbtRunner

    folder = Path.cwd()
    os.chdir(project)
    try:
        outcome = dbtRunner().invoke([*arguments, "--project-dir", str(project)])
    finally:
        os.chdir(folder)
    if not outcome.success:
        raise DbtFailedError(
            f"`dbt {' '.join(arguments)}` did not succeed{_reason(outcome.exception)}"
        )
    return outcome.result


def _reason(exception: BaseException | None) -> str:
    """Why dbt stopped before any node: of some reasons dbt itself prints nothing."""
    if exception is None:
        return "."
    from dbt.adapters.sparksession.secrets import mask

    text = " ".join(mask(str(exception)).split())
    return f": {text or type(exception).__name__}"


def schema_of(project: Path) -> str:
    """Return the schema of the tables, by the project's profile.

    Args:
        project: Folder of a dbt project that is this one, or has it as a package.

    Raises:
        DbtFailedError: If the project can not be parsed.
        ValueError: If it has no model `table_schemas`.
    """
    for node in run_dbt(["parse", "--quiet"], project).nodes.values():
        if node.name == "table_schemas":
            return str(node.schema)
    raise ValueError(
        "The project has no model `table_schemas`: expected the package changefold "
        "(`dbt deps`)."
    )


def stop_session() -> None:
    """Stop the session, if one is open: the next dbt command opens another."""
    from pyspark.sql import SparkSession

    active = SparkSession._instantiatedSession  # opened on another thread
    if active is not None:
        active.stop()


def spark_session() -> SparkSession:
    """Return the session that dbt opened in this process.

    Raises:
        RuntimeError: If no dbt command has run yet.
    """
    from pyspark.sql import SparkSession

    active = SparkSession._instantiatedSession  # opened on another thread
    if active is None:
        raise RuntimeError("No Spark session is open: run a dbt command first.")
    return active
