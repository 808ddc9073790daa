"""Credentials and connections: every dbt thread shares one SparkSession."""

from __future__ import annotations

import datetime
import decimal
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.contracts.connection import Connection, ConnectionState, Credentials
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparksession.build_lease import BuildLease
from dbt.adapters.sparksession.build_lock import BuildLock
from dbt.adapters.sparksession.errors import explain
from dbt.adapters.sparksession.secrets import check_settings, check_shown, redaction
from dbt.adapters.sparksession.session import open_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

_LOCAL_WORKERS: Final = {
    "spark.python.daemon.module": "changefold.worker_daemon",
    "spark.python.unix.domain.socket.enabled": "true",
}


@dataclass
class SparkSessionCredentials(Credentials):
    """One output of profiles.yml with ``type: sparksession``.

    Attributes:
        schema: Schema (namespace) of the tables.
        master: Spark master URL.
        catalog: Name of the catalog that holds the tables; the session's default.
        catalog_properties: Its properties, as ``spark.sql.catalog.<catalog>.<key>``.
        warehouse: Folder or URL of the tables.
        packages: Maven coordinates of the jars that the catalog needs.
        functions: Python modules with ``register(spark)`` that register functions.
        spark_config: Any further Spark setting.
        kafka: Properties of the consumer of each Kafka cluster, by a name that topics use.
        file_format: Table format of every relation in the catalog.
        log_file: File for what Spark itself logs.
    """

    schema: str = "cdc"
    database: str | None = None  # type: ignore[assignment]  # Spark has no databases
    master: str = "local[*]"
    catalog: str = "lake"
    warehouse: str = "warehouse"
    catalog_properties: dict[str, str] = field(default_factory=dict, repr=False)
    packages: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    spark_config: dict[str, str] = field(default_factory=dict, repr=False)
    kafka: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)
    file_format: str = "iceberg"
    log_file: str = "logs/spark.log"

    def __post_init__(self) -> None:
        """Refuse a database, which Spark does not have, and a secret in plain sight."""
        if self.database not in {None, self.schema}:
            raise DbtRuntimeError("`database`: expected none or the schema on Spark.")
        self.database = None
        check_shown({key: str(getattr(self, key)) for key in self._connection_keys()})
        check_shown({"packages": " ".join(self.packages)})
        for place in ("catalog_properties", "spark_config"):
            settings = getattr(self, place)
            check_settings(place, {key: str(value) for key, value in settings.items()})
        for name, settings in self.kafka.items():
            self.kafka[name] = {key: str(value) for key, value in settings.items()}
            check_settings(f"kafka: {name}", self.kafka[name])

    @property
    def type(self) -> str:
        """Name of the adapter."""
        return "sparksession"

    @property
    def unique_field(self) -> str:
        """What tells two targets apart."""
        return f"{self.master}/{self.catalog}/{self.warehouse}"

    def _connection_keys(self) -> tuple[str, ...]:
        return ("master", "catalog", "warehouse", "schema", "file_format", "log_file")

    @property
    def is_local(self) -> bool:
        """Whether Spark runs inside this process."""
        return self.master.startswith("local")

    def session_settings(self) -> dict[str, str]:
        """Return the settings of the SparkSession; ``spark_config`` has the last word.

        The defaults are those for small runs: no UI, no progress bar, short plans in
        the log of statements, UTC. Spark would put the value of a variable in the place
        of `${env:PATH}` in any statement, also where that is a name or a text of a topic.
        A build generates some 500 classes, and Spark would keep
        100 of them: compiling them anew was a third of each later build in the process.
        Where Spark is local, its workers of Python have this environment: they start with
        `changefold.worker_daemon`, and rows reach them by Unix sockets.
        Pruning of nested columns is off as Spark 4.1 stops
        some plans that alias a column of a struct below `explode` ("Could not find
        _extract_id"); the structs of this project are short. A statement of many relations,
        one behind the other, takes the analyzer more rounds than Spark's limit of 100.
        """
        warehouse = self.warehouse
        if self.is_local and "://" not in warehouse:
            warehouse = str(Path(warehouse).resolve())
        prefix = f"spark.sql.catalog.{self.catalog}"
        settings = {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.defaultCatalog": self.catalog,
            f"{prefix}.warehouse": warehouse,
            **{
                f"{prefix}.{key}" if key != "class" else prefix: str(value).replace(
                    "{warehouse}", warehouse
                )
                for key, value in self.catalog_properties.items()
            },
            "spark.sql.variable.substitute": "false",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.ui.explainMode": "simple",
            "spark.sql.codegen.cache.maxEntries": "1000",
            "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
            "spark.sql.analyzer.maxIterations": "1000",
            **(_LOCAL_WORKERS if self.is_local else {}),
            **{key: str(value) for key, value in self.spark_config.items()},
        }
        return {**settings, "spark.redaction.regex": redaction(settings)}


_READS: Final = re.compile(
    r"\s*(/\*.*?\*/\s*)?(select|with|show|describe)\b", re.I | re.S
)


class WriteCounter:
    """Counts the statements that may have written, to tell when an answer is stale."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def add(self) -> None:
        """Count a statement that may write."""
        with self._lock:
            self.count += 1


WRITES: Final = WriteCounter()
"""Of this process: all dbt threads share one session."""


BUILD_LOCK: Final = BuildLock()
"""Of this process: it is held from the first hook of a build to its end."""


BUILD_LEASE: Final = BuildLease()
"""The same where the warehouse is no local folder."""


class SparkSessionHandle:
    """What dbt takes for a connection: runs statements on the shared session."""

    def __init__(self, spark: SparkSession, connection: Connection) -> None:
        self.spark = spark
        self._connection = connection
        self._frame: DataFrame | None = None
        self._rows: list[Any] | None = None

    def cursor(self) -> SparkSessionHandle:
        """Return a fresh cursor on the same session."""
        return SparkSessionHandle(self.spark, self._connection)

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run one statement; a query is fetched later, a command runs at once.

        Spark's UI and event log show its jobs under the name of the node.
        """
        if bindings:
            sql = sql % tuple(literal(value) for value in bindings)
        self._rows = None
        self.spark.sparkContext.setJobDescription(str(self._connection.name))
        try:
            # With no arguments at all PySpark makes a Java list of none, which takes as
            # long as a small statement.
            self._frame = self.spark.sql(sql.strip().removesuffix(";"), {})
        finally:
            if not _READS.match(sql):
                WRITES.add()

    @property
    def description(self) -> list[tuple[Any, ...]]:
        """Name and type of each column of the last result."""
        if self._frame is None:
            return []
        return [
            (part.name, part.dataType.simpleString(), None, None, None, None, True)
            for part in self._frame.schema.fields
        ]

    def fetchall(self) -> list[Any]:
        """Return all rows of the last result."""
        if self._rows is None:
            self._rows = [] if self._frame is None else self._frame.collect()
        return self._rows

    def fetchmany(self, limit: int) -> list[Any]:
        """Return the first rows of the last result."""
        return [] if self._frame is None else self._frame.take(limit)

    def fetchone(self) -> Any:  # a row, or None
        """Return the first row of the last result, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def cancel(self) -> None:
        """Stop the Spark jobs that run now (Ctrl-C)."""
        self.spark.sparkContext.cancelAllJobs()

    def rollback(self) -> None:
        """Do nothing: each Spark statement commits by itself."""

    def close(self) -> None:
        """Forget the last result; the session stays for the other threads."""
        self._frame = None
        self._rows = None


def literal(value: Any) -> str:  # any seed value
    """Return a value of a seed as a Spark SQL literal.

    dbt-spark puts the text between quotes as it is, so a quote or a backslash in a
    seed breaks the statement or, worse, changes it.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | decimal.Decimal):
        return f"'{value}'"
    if isinstance(value, datetime.datetime):
        return f"'{value.isoformat(sep=' ')}'"
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return "'" + text.replace("${", "$\\{") + "'"


class SparkSessionConnectionManager(SparkConnectionManager):
    """Opens the session on first use and hands it to every thread."""

    TYPE = "sparksession"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open the connection: the process's one session."""
        if connection.state != ConnectionState.OPEN:
            session = open_session(connection.credentials)
            connection.handle = SparkSessionHandle(session, connection)
            connection.state = ConnectionState.OPEN
        return connection

    def cleanup_all(self) -> None:
        """Close the connections at the end of a command; let the next build in."""
        super().cleanup_all()
        BUILD_LOCK.release()
        BUILD_LEASE.release()

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Turn what Spark throws into one dbt error without a stack trace."""
        try:
            yield
        except DbtRuntimeError:
            raise
        except Exception as error:
            raise DbtRuntimeError(explain(str(error))) from error
