"""The same tables on a Spark cluster, whose executors have nothing of this project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from conftest import Pipeline
from messages import change, ddl, watermark
from postgresql import USER, Server, find, postgresql
from standalone_cluster import executor_python, standalone_cluster

from changefold_tools.verify import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT: Final = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not find("initdb") and "CI" not in os.environ,
    reason="There is no PostgreSQL: Debian has it in the package postgresql.",
)

RECORDED: Final = PROJECT / "tests" / "golden" / "ticdc" / "midstream"


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


def of_catalog(server: Server) -> dict[str, str]:
    return {
        "CHANGEFOLD_CATALOG_URI": server.url,
        "DBT_ENV_SECRET_CATALOG_PASSWORD": server.password,
    }


def test_tables_equal_the_source(folder: Path, environment: dict[str, str]) -> None:
    with postgresql() as server:
        # A process of its own: the jars of a target are those of its JVM.
        verified = subprocess.run(  # noqa: S603 # this project's own command
            [
                *(sys.executable, "-m", "changefold_tools.cli"),
                *(
                    "--project-dir",
                    str(PROJECT),
                    "verify",
                    str(RECORDED),
                    "simple_avro",
                ),
                *("--target", "cluster"),
            ],
            env=environment | of_catalog(server),
            capture_output=True,
            text=True,
            check=False,
        )
    assert verified.returncode == 0, verified.stdout[-5000:] + verified.stderr[-5000:]
    for number in range(2):
        executors = folder.glob(f"worker_{number}/app-*/*/stderr")
        assert any(path.stat().st_size for path in executors)


def test_two_builds_at_once_land_every_message_once(
    environment: dict[str, str],
) -> None:
    row = change("INSERT", {"id": "1", "v": "1"}, 150)
    values = [ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY)", 100), row, watermark(200)]
    with postgresql() as server, scratch_project(PROJECT, "cluster") as folder:
        pipeline = Pipeline(folder, {"topic": 1})
        pipeline.land(
            "1",
            "topic",
            [
                {"partition": 0, "offset": offset, "value": value}
                for offset, value in enumerate(values)
            ],
        )
        # Each ends with a test of the balance: a message that landed twice fails it.
        builds = [
            subprocess.Popen(  # noqa: S603 # dbt, in this Python
                [
                    *(sys.executable, "-c", "from dbt.cli.main import cli; cli()"),
                    *("build", "--select", "+balance", "every_event_has_one_place"),
                    *("--indirect-selection", "empty", "--project-dir", str(folder)),
                    *("--target-path", f"target_{number}"),
                ],
                cwd=folder,
                env=os.environ
                | environment
                | of_catalog(server)
                # As in a bucket: no file can be locked.
                | {"CHANGEFOLD_WAREHOUSE": (folder / "warehouse").as_uri()},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for number in range(2)
        ]
        said = [build.communicate()[0] for build in builds]
    assert [build.returncode for build in builds] == [0, 0], said
    assert sum("Another build works on the warehouse" in text for text in said) == 1
    assert all("every_event_has_one_place" in text for text in said)
