"""The adapter's parts that need no Spark."""

from __future__ import annotations

import tempfile
import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
import yaml
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparksession import session
from dbt.adapters.sparksession.connections import SparkSessionCredentials, literal
from dbt.adapters.sparksession.errors import explain
from dbt.adapters.sparksession.passed_tests import digest_of_code, is_deterministic
from dbt.adapters.sparksession.session import (
    cached_jars,
    check_java,
    check_packages,
    check_warehouse,
    java_version,
    load_catalog,
    one_resolves,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).parents[3]


def _java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch()
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder


def test_a_missing_java_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DbtRuntimeError, match="Java is missing: no `java` on the PATH"):
        check_java()


def test_a_java_home_without_java_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(DbtRuntimeError, match="has no bin/java"):
        check_java()


def test_a_java_below_17_is_too_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "jdk", "11.0.2")))
    with pytest.raises(DbtRuntimeError, match=r"Java 11 at .* is too old"):
        check_java()


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("1.8.0_392", 8)])
def test_the_major_version_of_java_is_read_from_its_release_file(
    tmp_path: Path, version: str, major: int
) -> None:
    home = _java(tmp_path / "jdk", version)
    assert java_version(str(home / "bin" / "java")) == major


def test_a_warehouse_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        DbtRuntimeError, match=r"warehouse folder .* can not be written"
    ):
        check_warehouse(str(tmp_path / "file" / "warehouse"))


def test_jars_come_from_the_cache_only_if_all_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    jars = tmp_path / ".ivy2.5.2" / "jars"
    jars.mkdir(parents=True)
    (jars / "org.one_first-1.0.jar").touch()
    assert cached_jars(["org.one:first:1.0"]) == [str(jars / "org.one_first-1.0.jar")]
    assert cached_jars(["org.one:first:1.0", "org.two:second:2.0"]) is None


def test_of_two_that_resolve_jars_one_waits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    came = threading.Event()

    def second() -> None:
        with one_resolves():
            came.set()

    other = threading.Thread(target=second)
    with one_resolves():
        other.start()
        assert not came.wait(0.2)
    other.join()
    assert came.is_set()


class _Catalog:
    """Of a session; it fails as often as it is told."""

    def __init__(self, failures: int) -> None:
        self.catalog = self  # as in `spark.catalog`
        self.current = "spark_catalog"
        self._failures = failures

    def setCurrentCatalog(self, name: str) -> None:  # noqa: N802 # PySpark's name
        self._failures -= 1
        if self._failures >= 0:
            raise ValueError("relation iceberg_tables already exists")
        self.current = name


def test_a_catalog_that_another_build_makes_is_loaded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "_SECONDS_TO_LOAD_AGAIN", 0)
    spark = _Catalog(failures=1)
    load_catalog(cast("SparkSession", spark), "lake")
    assert spark.current == "lake"
    with pytest.raises(DbtRuntimeError, match="iceberg_tables already exists"):
        load_catalog(cast("SparkSession", _Catalog(failures=2)), "lake")


def test_a_package_that_is_excluded_stops_the_start() -> None:
    excludes = "org.apache.hadoop:*, org.one:fir*"
    check_packages(["org.two:first:1.0"], excludes)
    with pytest.raises(
        DbtRuntimeError, match=r"`org\.one:fir\*` .* `org\.one:first:1\.0`"
    ):
        check_packages(["org.two:first:1.0", "org.one:first:1.0"], excludes)


def test_no_target_of_the_profile_excludes_its_packages() -> None:
    profile = yaml.safe_load((PROJECT / "profiles" / "profiles.yml").read_text())
    for target in profile["changefold"]["outputs"].values():
        check_packages(
            target["packages"], target["spark_config"]["spark.jars.excludes"]
        )


def test_a_locked_catalog_is_explained_in_a_sentence() -> None:
    said = explain(
        "org.sqlite.SQLiteException: [SQLITE_BUSY] The database file is locked"
    )
    assert said.startswith("The catalog file is locked by another process")


def test_an_unknown_failure_loses_its_stack_trace_and_plan() -> None:
    message = (
        "[UNRESOLVED_COLUMN] A column `x` is not there. SQLSTATE: 42703; line 1 pos 7;\n"
        "'Project ['x]\n+- OneRowRelation\n\tat org.apache.spark.Something(File.scala:1)"
    )
    assert explain(message) == (
        "[UNRESOLVED_COLUMN] A column `x` is not there. SQLSTATE: 42703; line 1 pos 7"
    )


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (None, "null"),
        (True, "true"),
        (7, "'7'"),
        ("it's \\ here", "'it\\'s \\\\ here'"),
        ("${env:PATH}", "'$\\{env:PATH}'"),
        (datetime(2026, 1, 2, 3, 4, 5, 6), "'2026-01-02 03:04:05.000006'"),  # noqa: DTZ001  # a seed has no zone
    ],
)
def test_a_value_of_a_seed_is_quoted(value: object, sql: str) -> None:
    assert literal(value) == sql


def test_spark_puts_no_variable_in_the_place_of_a_text() -> None:
    settings = SparkSessionCredentials().session_settings()
    assert settings["spark.sql.variable.substitute"] == "false"


@pytest.mark.parametrize(
    ("master", "daemon"),
    [("local[2]", "changefold.worker_daemon"), ("spark://host:7077", None)],
)
def test_only_workers_of_this_environment_start_with_its_daemon(
    master: str, daemon: str | None
) -> None:
    settings = SparkSessionCredentials(master=master).session_settings()
    assert settings.get("spark.python.daemon.module") == daemon


def test_a_setting_of_the_profile_has_the_last_word() -> None:
    credentials = SparkSessionCredentials(
        spark_config={"spark.sql.session.timeZone": "Europe/Berlin"},
        catalog_properties={"uri": "jdbc:sqlite:{warehouse}/c.db", "class": "Catalog"},
        warehouse="s3://bucket/w",
    )
    settings = credentials.session_settings()
    assert settings["spark.sql.session.timeZone"] == "Europe/Berlin"
    assert settings["spark.sql.catalog.lake"] == "Catalog"
    assert settings["spark.sql.catalog.lake.uri"] == "jdbc:sqlite:s3://bucket/w/c.db"


@pytest.mark.parametrize(
    "sql",
    [
        "select current_timestamp()",
        "select now() as x",
        "select CURRENT_DATE",
        "select unix_timestamp ( )",
        "select rand(), uuid()",
        "select * from t tablesample (1 rows)",
    ],
)
def test_the_clock_and_chance_are_not_deterministic(sql: str) -> None:
    assert not is_deterministic(sql)


@pytest.mark.parametrize(
    "sql", ["select unix_timestamp(at), known, snow, brand from t", "select 1"]
)
def test_other_sql_is_deterministic(sql: str) -> None:
    assert is_deterministic(sql)


def test_the_digest_of_a_package_changes_with_any_of_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "with_functions"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "register.py", "inner/deep.py"):
        (package / name).touch()
    monkeypatch.syspath_prepend(tmp_path)
    before = digest_of_code(["with_functions.register"])
    assert digest_of_code(["with_functions.register"]) == before
    (package / "inner" / "deep.py").write_text("x = 1\n")
    assert digest_of_code(["with_functions.register"]) != before
