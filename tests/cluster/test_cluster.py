"""The same tables on a Spark cluster, whose executors have nothing of this project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from postgresql import USER, postgresql
from standalone_cluster import executor_python, standalone_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT: Final = Path(__file__).parents[2]
BUILDS: Final = {
    "ticdc/shop": ("canal_json_tidb", 2),
    "ticdc/types": ("simple_avro", 1),
}
"""Scenario -> its messages, and into how many increments they are split."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def environment(folder: Path) -> Iterator[dict[str, str]]:
    python = executor_python(folder / "python")
    with standalone_cluster(folder) as master:
        yield os.environ | {
            "CHANGEFOLD_MASTER": master,
            "CHANGEFOLD_EXECUTOR_PYTHON": str(python),
            "CHANGEFOLD_CATALOG_TYPE": "jdbc",
            "CHANGEFOLD_CATALOG_USER": USER,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }


@pytest.mark.parametrize("scenario", BUILDS)
def test_tables_equal_the_source(
    folder: Path, environment: dict[str, str], scenario: str
) -> None:
    variant, runs = BUILDS[scenario]
    corpus = str(PROJECT / "tests" / "golden" / scenario)
    with postgresql() as server:
        # A process of its own: the jars of a target are those of its JVM.
        verified = subprocess.run(  # noqa: S603 # this project's own command
            [
                *(sys.executable, "-m", "changefold_tools.cli"),
                *("--project-dir", str(PROJECT), "verify", corpus, variant),
                *("--runs", str(runs), "--target", "cluster"),
            ],
            env=environment
            | {
                "CHANGEFOLD_CATALOG_URI": server.url,
                "DBT_ENV_SECRET_CATALOG_PASSWORD": server.password,
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert verified.returncode == 0, verified.stdout[-5000:] + verified.stderr[-5000:]
    for number in range(2):
        executors = folder.glob(f"worker_{number}/app-*/*/stderr")
        assert any(path.stat().st_size for path in executors)
