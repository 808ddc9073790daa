"""Opens the one SparkSession of the process, quietly, with its functions registered."""

from __future__ import annotations

import atexit
import fcntl
import fnmatch
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparksession.errors import explain
from dbt.adapters.sparksession.secrets import hidden_keys, java_pattern, mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from dbt.adapters.sparksession.connections import SparkSessionCredentials

MINIMUM_JAVA: Final = 17
"""Spark 4 runs on Java 17 and later."""

_LOG4J: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""

_LOG4J_SECRETS: Final = """\
appender.file.layout.replace.type = replace
appender.file.layout.replace.regex = ${env:CHANGEFOLD_LOG_SECRETS}
appender.file.layout.replace.replacement = *****
"""
"""The pattern comes by the environment: in this file it would be a secret told."""

_SECONDS_TO_LOAD_AGAIN: Final = 2.0

_lock = threading.Lock()


def java_version(java: str) -> int:
    """Return the major version of a Java program, e.g. 17.

    Args:
        java: Path of the ``java`` executable.

    Raises:
        DbtRuntimeError: If the program can not be run or prints no version.
    """
    release = Path(java).resolve().parent.parent / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    found = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', text)
    if not found:
        shown = subprocess.run(  # noqa: S603  # the user's own Java
            [java, "-version"], capture_output=True, text=True, check=False
        )
        found = re.search(r'version "(?:1\.)?(\d+)', shown.stderr + shown.stdout)
    if not found:
        raise DbtRuntimeError(f"Can not tell the version of Java at {java}.")
    return int(found.group(1))


def check_java() -> None:
    """Stop with a sentence when Java is missing or too old.

    Raises:
        DbtRuntimeError: If there is no Java, or one below `MINIMUM_JAVA`.
    """
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if not java or not Path(java).exists():
        where = f"JAVA_HOME={home} has no bin/java" if home else "no `java` on the PATH"
        raise DbtRuntimeError(
            f"Java is missing: {where}. Spark needs Java {MINIMUM_JAVA} or later. "
            "Install it (Debian: `apt-get install openjdk-17-jre-headless`, macOS: "
            "`brew install openjdk@17`) or set JAVA_HOME."
        )
    version = java_version(java)
    if version < MINIMUM_JAVA:
        raise DbtRuntimeError(
            f"Java {version} at {java} is too old: Spark needs Java {MINIMUM_JAVA} or "
            "later. Install one or point JAVA_HOME to it."
        )


def check_warehouse(folder: str) -> None:
    """Make the folder of a local warehouse, or say why it can not be written.

    Raises:
        DbtRuntimeError: If the folder can not be made or written.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DbtRuntimeError(
            f"The warehouse folder `{folder}` can not be written: {error.strerror}. "
            "Choose another with `warehouse` in profiles.yml or CHANGEFOLD_WAREHOUSE."
        ) from error


def cached_jars(packages: list[str]) -> list[str] | None:
    """Return the jars of Maven coordinates from Ivy's cache, or None if one lacks.

    Spark resolves ``spark.jars.packages`` at each start, which takes two seconds and
    the network. The coordinates of this project's profile are all the jars that it needs, so
    once they are in the cache the files themselves serve.
    """
    jars = []
    for package in packages:
        group, artifact, version = package.split(":")
        name = f"{group}_{artifact}-{version}.jar"
        found = sorted(Path.home().glob(f".ivy2*/jars/{name}"))
        if not found:
            return None
        jars.append(str(found[-1]))
    return jars


def check_packages(packages: list[str], excludes: str) -> None:
    """Stop if a package would be left out: Spark starts without it and says nothing.

    Args:
        packages: Maven coordinates.
        excludes: The setting ``spark.jars.excludes``, which Ivy applies to these as well.

    Raises:
        DbtRuntimeError: If a pattern matches one of the packages.
    """
    for pattern in filter(None, (text.strip() for text in excludes.split(","))):
        for package in packages:
            if fnmatch.fnmatchcase(package.rpartition(":")[0], pattern):
                raise DbtRuntimeError(
                    f"profiles.yml: `{pattern}` in `spark.jars.excludes` leaves out "
                    f"`{package}`, which `packages` names. Exclude what the packages "
                    "need and Spark has, not the packages themselves."
                )


@contextmanager
def one_resolves() -> Iterator[None]:
    """Keep other processes of this user from Ivy's cache.

    Ivy downloads into the cache itself: of two Sparks that start together one reads what the
    other has half written ("unresolved dependency"), and does not start.
    """
    path = Path(tempfile.gettempdir()) / f"changefold-jars-{os.getuid()}.lock"
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Send this process's error stream to a file while the JVM starts.

    The JVM and the Python workers inherit it for good: what they print goes to the
    log, not between dbt's lines.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _ship_code(spark: SparkSession, modules: list[str]) -> None:
    """Send the packages of the function modules to the executors of a cluster."""
    folder = Path(tempfile.mkdtemp(prefix="changefold-"))
    for name in sorted({module.split(".")[0] for module in modules}):
        origin = importlib.import_module(name).__file__
        if origin is None:
            raise DbtRuntimeError(f"`functions`: `{name}` has no files to ship.")
        package = Path(origin).parent
        archive = folder / f"{name}.zip"
        with zipfile.ZipFile(archive, "w") as zipped:
            for file in sorted(package.rglob("*.*")):
                if file.is_file() and file.suffix != ".pyc":
                    zipped.write(file, file.relative_to(package.parent))
        spark.sparkContext.addPyFile(str(archive))


def _launch(settings: dict[str, str]) -> None:
    """Start the JVM, if there is none; its command line has no secret.

    PySpark would put every setting there. What is left out here reaches the JVM through
    the session's configuration, before the first table is read.
    """
    from pyspark import SparkConf, SparkContext

    hidden = hidden_keys(settings)
    conf = SparkConf(loadDefaults=False)
    conf.setAll([(key, settings[key]) for key in settings if key not in hidden])
    os.environ["CHANGEFOLD_LOG_SECRETS"] = java_pattern()
    try:
        with one_resolves() if "spark.jars.packages" in settings else nullcontext():
            SparkContext._ensure_initialized(conf=conf)
    finally:
        del os.environ["CHANGEFOLD_LOG_SECRETS"]


def load_catalog(spark: SparkSession, catalog: str) -> None:
    """Make it the current catalog, at the second attempt if need be.

    A JDBC catalog makes its own tables when it is loaded for the first time: of two builds
    that come together one fails, and finds them made a moment later.

    Raises:
        DbtRuntimeError: If the second attempt fails as well.
    """
    try:
        spark.catalog.setCurrentCatalog(catalog)
    except Exception:  # noqa: BLE001 # what is no race fails again
        time.sleep(_SECONDS_TO_LOAD_AGAIN)
        try:
            spark.catalog.setCurrentCatalog(catalog)
        except Exception as error:
            raise DbtRuntimeError(explain(str(error))) from error


def _folder_of_sockets() -> str:
    """Make a folder that goes with this process: Spark leaves its sockets behind."""
    folder = tempfile.mkdtemp(prefix="changefold-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _build(credentials: SparkSessionCredentials, log: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    settings = credentials.session_settings()
    if credentials.is_local:
        settings.setdefault("spark.python.unix.domain.socket.dir", _folder_of_sockets())
    jars = cached_jars(credentials.packages) if credentials.is_local else None
    if jars is not None:
        settings["spark.driver.extraClassPath"] = os.pathsep.join(jars)
    elif credentials.packages:
        check_packages(credentials.packages, settings.get("spark.jars.excludes", ""))
        settings["spark.jars.packages"] = ",".join(credentials.packages)
    log4j = log.with_name("log4j2.properties")
    log4j.write_text(
        _LOG4J.format(path=log) + (_LOG4J_SECRETS if java_pattern() else "")
    )
    settings["spark.driver.extraJavaOptions"] = " ".join(
        [
            f"-Dlog4j2.configurationFile={log4j.resolve().as_uri()}",
            settings.get("spark.driver.extraJavaOptions", ""),
        ]
    ).strip()
    _launch(
        {"spark.app.name": "changefold", "spark.master": credentials.master, **settings}
    )
    builder = SparkSession.builder.appName("changefold").master(credentials.master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _python_of_functions(credentials: SparkSessionCredentials) -> str:
    if credentials.is_local:
        return sys.executable
    return credentials.spark_config.get(
        "spark.pyspark.python", os.environ.get("PYSPARK_PYTHON", "python3")
    )


def open_session(credentials: SparkSessionCredentials) -> SparkSession:
    """Return the session of this process; the first call opens it.

    Raises:
        DbtRuntimeError: With a sentence, if Java, a jar or the warehouse is missing.
    """
    from pyspark.sql import SparkSession

    with _lock:
        active = (
            SparkSession.getActiveSession() or SparkSession._instantiatedSession
        )  # the only way to see a session of another thread
        if (
            active is not None and active.sparkContext._jsc is not None
        ):  # None once stopped
            return active
        check_java()
        if credentials.is_local and "://" not in credentials.warehouse:
            check_warehouse(credentials.warehouse)
        # Only from here does pyspark take it: it reads `spark.pyspark.python` in a
        # `spark-submit` alone, and `python3` is whatever the PATH says.
        os.environ["PYSPARK_PYTHON"] = _python_of_functions(credentials)
        log = Path(credentials.log_file)
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _stderr_to(log):
                spark = _build(credentials, log)
        except Exception as error:
            tail = log.read_text(errors="replace")[-20000:]
            if re.search(r"unresolved dependency|UNRESOLVED DEPENDENCIES", tail):
                wanted = ", ".join(credentials.packages)
                raise DbtRuntimeError(
                    f"Spark's jars could not be fetched: {wanted}. The first start "
                    "needs a Maven repository (set one with `spark.jars.repositories` "
                    "or `spark.jars.ivySettings` in profiles.yml); later starts use "
                    f"the cache in ~/.ivy2.5.2. Details: {log}"
                ) from error
            raise DbtRuntimeError(
                f"Spark did not start: {mask(str(error))}. Details: {log}"
            ) from error
        load_catalog(spark, credentials.catalog)
        # `spark.sql` asks for it each time, and py4j then looks through every jar.
        jvm: Any = spark._jvm
        jvm.PythonUtils = jvm.PythonUtils
        if not credentials.is_local:
            _ship_code(spark, credentials.functions)
        for name in credentials.functions:
            importlib.import_module(name).register(spark)
        return spark
