"""A secret of the profile is in nothing that a build leaves or shows.

The build has a table in a catalog that can not be reached, whose error names the URL with
the password.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import yaml
from conftest import PROJECT, Pipeline
from messages import change, ddl, watermark

from changefold_tools.verify.run import scratch_project

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK: Final = "Zq7Marker"
"""Of the secret: no other text has it, so a part of the secret is found too."""

SECRET: Final = MARK + "$1.+x}"
"""Its signs mean something to regular expressions, to log4j and in a URL."""

VARIABLE: Final = "DBT_ENV_SECRET_CATALOG"
TEMPLATE: Final = "{{ env_var('" + VARIABLE + "') }}"

BUILD: Final = """
import os, sys
from pathlib import Path
from dbt.cli.main import dbtRunner

dbt = dbtRunner()
dbt.invoke(["debug", "--connection"])
outcome = dbt.invoke(["--debug", "build", "--select", "+balance", "changes", "unreachable"])
names = {result.node.name: str(result.status) for result in outcome.result}
print("built", names["balance"], names["unreachable"])

from pyspark.sql import SparkSession
spark = SparkSession._instantiatedSession
for row in spark.sql("select * from verify.run_log").collect():
    print("run log", row)
for row in spark.sql("set").collect():
    print("set", row)
print("known to Spark", spark._jsc.hadoopConfiguration().get("a.secret.key")
    == os.environ["DBT_ENV_SECRET_CATALOG"])
logger = spark._jvm.org.slf4j.LoggerFactory.getLogger("changefold.test")
logger.warn("It is " + os.environ["DBT_ENV_SECRET_CATALOG"] + ", whole.")
logger.warn("It is " + spark.conf.get("spark.sql.catalog.other.uri") + ".")
with open("logs/processes.txt", "wb") as file:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            file.write((process / "cmdline").read_bytes() + b"\\n")
        except OSError:
            pass  # it has ended
spark.stop()
"""


@dataclass
class Outcome:
    """What a build with a secret left: its folder, and what it printed."""

    folder: Path
    printed: bytes


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    with scratch_project(PROJECT, "interpreted") as folder:
        pipeline = Pipeline(folder, {"shop": 1})
        messages = [
            ddl("CREATE TABLE `t` (`id` INT PRIMARY KEY,`v` INT)", 100),
            change("INSERT", {"id": "1", "v": "5"}, 200),
            watermark(300),
        ]
        pipeline.land(
            "1",
            "shop",
            [
                {"partition": 0, "offset": offset, "value": value}
                for offset, value in enumerate(messages)
            ],
        )
        _declare_secrets(folder / "profiles.yml")
        (folder / "models" / "unreachable.sql").write_text(
            "select * from other.shop.orders\n"
        )
        done = subprocess.run(  # noqa: S603 - this Python and the text above
            [sys.executable, "-c", BUILD],
            cwd=folder,
            env=os.environ
            | {
                VARIABLE: SECRET,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=True,
        )
        yield Outcome(folder, done.stdout)


def _declare_secrets(path: Path) -> None:
    """Write a profile with secrets in all kinds of settings."""
    profile = yaml.safe_load(path.read_text(encoding="utf-8"))
    target = profile["changefold"]["outputs"]["interpreted"]
    target["catalog_properties"] |= {"credential": f"id:{TEMPLATE}"}
    other = "spark.sql.catalog.other"
    target["spark_config"] |= {
        "spark.hadoop.a.secret.key": TEMPLATE,
        other: "org.apache.iceberg.spark.SparkCatalog",
        f"{other}.type": "jdbc",
        f"{other}.uri": f"jdbc:nothing://nowhere/c?password={TEMPLATE}",
        f"{other}.warehouse": "/nowhere",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": "logs",
        "spark.eventLog.compress": "false",
    }
    path.unlink()  # a link to that of the project
    path.write_text(yaml.safe_dump(profile), encoding="utf-8")


def test_the_build_has_used_the_secret(outcome: Outcome) -> None:
    assert b"built success error" in outcome.printed
    assert b"run log Row" in outcome.printed
    assert b"known to Spark True" in outcome.printed


def test_no_output_and_no_file_has_the_secret(outcome: Outcome) -> None:
    mark = MARK.encode()
    shown = [line for line in outcome.printed.splitlines() if mark in line]
    assert shown == []
    files = [path for path in outcome.folder.rglob("*") if path.is_file()]
    found = [str(path) for path in files if mark in path.read_bytes()]
    assert found == []
    names = {path.name for path in files}
    assert {"dbt.log", "spark.log", "run_results.json", "manifest.json"} <= names
    assert any("local-" in name for name in names), "an event log is expected"


def test_the_error_is_said_with_the_secret_masked(outcome: Outcome) -> None:
    said = (outcome.folder / "target" / "run_results.json").read_text(encoding="utf-8")
    assert "Failed to connect: jdbc:nothing://nowhere/c?password=*****" in said
    log = (outcome.folder / "logs" / "spark.log").read_text(encoding="utf-8")
    assert "It is *****, whole." in log
    assert "It is jdbc:nothing://nowhere/c?password=*****." in log


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="Linux has /proc")
def test_no_command_line_has_the_secret(outcome: Outcome) -> None:
    lines = (outcome.folder / "logs" / "processes.txt").read_bytes().splitlines()
    sparks = [line for line in lines if b"SparkSubmit" in line]
    assert any(bytes(outcome.folder) in line for line in sparks)
    assert not [line for line in lines if MARK.encode() in line]
