"""The same tables on a Spark cluster, whose executors have nothing of this project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from postgresql import USER, find, postgresql
from standalone_cluster import executor_python, standalone_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not find("initdb") and "CI" not in os.environ,
    reason="There is no PostgreSQL: Debian has it in the package postgresql.",
)


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


def test_tables_equal_the_source_though_another_build_comes_meanwhile(
    folder: Path, environment: dict[str, str]
) -> None:
    with postgresql() as server:
        # A process of its own: the jars of a target are those of its JVM.
        verified = subprocess.run(  # noqa: S603 # a script of these tests
            [sys.executable, str(Path(__file__).with_name("rival_build.py"))],
            env=environment
            | {
                "CHANGEFOLD_CATALOG_URI": server.url,
                "DBT_ENV_SECRET_CATALOG_PASSWORD": server.password,
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert verified.returncode == 0, verified.stdout[-15000:] + verified.stderr[-5000:]
    for number in range(2):
        executors = folder.glob(f"worker_{number}/app-*/*/stderr")
        assert any(path.stat().st_size for path in executors)
