"""The adapter: dbt-spark's, with few statements per relation and Python in process."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.spark.impl import SCHEMA_NOT_FOUND_MESSAGES, SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparksession import java_rules, kafka, passed_tests, recordings
from dbt.adapters.sparksession.__version__ import version
from dbt.adapters.sparksession.connections import (
    BUILD_LEASE,
    BUILD_LOCK,
    WRITES,
    SparkSessionConnectionManager,
    literal,
)
from dbt.adapters.sparksession.relation import SparkSessionRelation
from dbt.adapters.sparksession.session import open_session

if TYPE_CHECKING:
    from dbt.adapters.base.relation import BaseRelation
    from pyspark.sql import SparkSession


def _is_delta(table: Any) -> bool:  # a Java object
    return "delta" in str(table.getClass().getName())


class SparkSessionAdapter(SparkAdapter):
    """dbt on one SparkSession."""

    Relation = SparkSessionRelation
    ConnectionManager = SparkSessionConnectionManager

    def __init__(self, config: Any, mp_context: Any) -> None:  # dbt's own types
        """Keep the answers of `query_once` for the life of the process."""
        super().__init__(config, mp_context)
        self._properties: dict[tuple[str, bool], tuple[int, dict[str, str]]] = {}
        self._answers: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._digests_asked: dict[str, str] = {}
        self._code: str | None = None

    @property
    def spark(self) -> SparkSession:
        """The session of this process."""
        return open_session(self.config.credentials)

    @classmethod
    def quote(cls, identifier: str) -> str:
        """Return a name as SQL; a backquote in it is doubled."""
        return "`" + identifier.replace("`", "``") + "`"

    def list_relations_without_caching(
        self, schema_relation: BaseRelation
    ) -> list[BaseRelation]:
        """List tables and views with two statements, whatever their number.

        dbt-spark describes each Iceberg table by a statement of its own.
        """
        schema = schema_relation.without_identifier().render()
        file_format = self.config.credentials.file_format
        try:
            views = self._names(f"show views in {schema}")
            tables = self._names(f"show tables in {schema}")
        except DbtRuntimeError as error:
            if any(text in str(error) for text in SCHEMA_NOT_FOUND_MESSAGES):
                return []
            raise
        return [
            self.Relation.create(
                schema=schema_relation.schema,
                identifier=name,
                type=RelationType.View if name in views else RelationType.Table,
                is_iceberg=file_format == "iceberg",
                is_delta=file_format == "delta",
            )
            for name in sorted(views | tables)
        ]

    def _names(self, statement: str) -> set[str]:
        """Names in the answer to ``show tables``/``show views``; not temporary ones."""
        _, table = self.execute(statement, fetch=True)
        return {row[1] for row in table.rows if not row[2]}

    def check_schema_exists(self, database: str, schema: str) -> bool:
        """Tell whether a schema exists."""
        _, table = self.execute("show databases", fetch=True)
        return schema in {row[0] for row in table.rows}

    def _loaded(
        self, relation: BaseRelation, *, is_view: bool
    ) -> Any:  # a Java object, or None
        """The table or view as the catalog has it; None if it is not there."""
        jvm = self.spark._jvm  # one call, not a statement
        if jvm is None:
            raise DbtRuntimeError("The Spark session has no JVM.")
        manager = self.spark._jsparkSession.sessionState().catalogManager()
        catalog = manager.catalog(self.config.credentials.catalog)
        gateway: Any = self.spark.sparkContext._gateway
        # By their whole names: py4j looks for `java`, `java.lang` and so on as classes.
        namespace = gateway.new_array(getattr(jvm, "java.lang.String"), 1)
        namespace[0] = str(relation.schema)
        identifiers = getattr(jvm, "org.apache.spark.sql.connector.catalog.Identifier")
        name = identifiers.of(namespace, str(relation.identifier))
        try:
            with self.connections.exception_handler("load"):
                return catalog.loadView(name) if is_view else catalog.loadTable(name)
        except DbtRuntimeError as error:
            if "NOT_FOUND" in str(error) or "NoSuch" in str(error):
                return None
            raise

    @available
    def table_properties(self, relation: BaseRelation) -> dict[str, str]:
        """Return the properties of a table; empty if there is none of that name.

        `current-snapshot-id`, which is another one after each write, is Iceberg's; a table
        of Delta has its version there.
        """
        return self._kept_properties(relation, is_view=False)

    def _kept_properties(
        self, relation: BaseRelation, *, is_view: bool
    ) -> dict[str, str]:
        """Keep the properties until a statement of this process may have written.

        Models and tests ask for the same few relations again and again.
        """
        name = f"{relation.schema}.{relation.identifier}"
        writes = WRITES.count
        known = self._properties.get((name, is_view))
        if known is not None and known[0] == writes:
            return known[1]
        loaded = self._loaded(relation, is_view=is_view)
        properties = {} if loaded is None else dict(loaded.properties())
        if loaded is not None and _is_delta(loaded):
            version = loaded.initialSnapshot().version()
            properties["current-snapshot-id"] = str(version)
        self._properties[name, is_view] = (writes, properties)
        return properties

    @available
    def table_references(self, relation: BaseRelation) -> dict[str, int] | None:
        """Return the snapshots of an Iceberg table that have a name.

        Returns:
            Name of a branch or a tag -> number of its snapshot. None if there is no table
            of that name, or it has another format.
        """
        table = self._loaded(relation, is_view=False)
        if table is None or "iceberg" not in str(table.getClass().getName()):
            return None
        references = table.table().refs()
        return {name: references[name].snapshotId() for name in references}

    @available
    def view_properties(self, relation: BaseRelation) -> dict[str, str]:
        """Return the properties of a view; empty if there is none of that name."""
        # To Spark's own catalog, which Delta stands on, a view is a table.
        is_view = self.config.credentials.file_format != "delta"
        return self._kept_properties(relation, is_view=is_view)

    @available
    def view_statement(self, relation: BaseRelation) -> str:
        """Return the statement of a view; an empty text if there is none of that name."""
        loaded = self._loaded(relation, is_view=True)
        return "" if loaded is None else str(loaded.query())

    @available
    def literals(self, row: Any) -> list[str]:  # a row of a seed
        """Return the values of a seed's row as SQL literals."""
        return [literal(value) for value in row]

    @available
    def lock_warehouse(
        self, table: BaseRelation, wait_seconds: float, lease_seconds: float
    ) -> str:
        """Keep other builds from the warehouse until this invocation ends.

        A local folder by a lock on a file; see `BuildLock.take`. Any other by a lease in a
        table, which must be there; see `BuildLease.take`.

        Returns:
            Nothing, or who has it.
        """
        if self.has_local_warehouse():
            folder = Path(self.config.credentials.warehouse).resolve()
            return BUILD_LOCK.take(folder, wait_seconds)
        with self.connections.exception_handler("lock_warehouse"):
            return BUILD_LEASE.take(self.spark, str(table), wait_seconds, lease_seconds)

    @available
    def has_local_warehouse(self) -> bool:
        """Tell whether the warehouse is a folder of this machine."""
        return "://" not in self.config.credentials.warehouse

    @available
    def release(self) -> str:
        """Return the version of this distribution, whose functions read the messages."""
        return version

    @available
    def new_files(
        self, topic: str, patterns: list[str], known: Any
    ) -> list[recordings.RecordedFile]:
        """Return the recorded files of a topic that have not landed yet."""
        with self.connections.exception_handler("new_files"):
            return recordings.new_files(
                self.spark, topic, patterns, self.config.project_root, known
            )

    @available
    def read_messages(self, view: str, files: list[recordings.RecordedFile]) -> None:
        """Make a temporary view on the messages in some files."""
        with self.connections.exception_handler("read_messages"):
            recordings.read_messages(self.spark, files).createOrReplaceTempView(view)

    @available
    def kafka_batch(
        self,
        topic: Any,
        known: Any,  # a mapping of `declared_topics`, rows of Kafka's offsets
    ) -> list[kafka.Slice]:
        """Return what the next batch of a topic in Kafka takes from each partition."""
        landed = [
            kafka.Landed(row[0], int(row[1]), row[2] or "", int(row[3]))
            for row in known
        ]
        return self._kafka(topic).plan(landed, topic["max_offsets_per_run"])

    @available
    def read_kafka(self, view: str, topic: Any, slices: list[kafka.Slice]) -> None:
        """Make a temporary view on the messages of a batch; see `kafka_batch`."""
        with self.connections.exception_handler("read_kafka"):
            self._kafka(topic).read(slices).createOrReplaceTempView(view)

    def _kafka(self, topic: Any) -> kafka.Source:
        cluster = topic["kafka"]
        properties = self.config.credentials.kafka.get(cluster, {})
        if not properties.get("bootstrap.servers"):
            raise DbtRuntimeError(
                f"var `topics`: topic `{topic['name']}` is in the Kafka cluster "
                f"`{cluster}`, but `kafka` in profiles.yml does not tell its "
                "`bootstrap.servers`; profiles.yml of this project takes those of `main` "
                "from the environment variable KAFKA_BOOTSTRAP_SERVERS."
            )
        return kafka.Source(
            self.spark, topic["name"], topic["pattern"], cluster, properties
        )

    @available
    def wrong_time_zone(self, zone: str) -> str:
        """Return what is wrong with the name of a time zone, or nothing."""
        return java_rules.wrong_time_zone(self.spark, zone)

    @available
    def wrong_pattern(self, pattern: str) -> str:
        """Return what is wrong with a regular expression, or nothing."""
        return java_rules.wrong_pattern(self.spark, pattern)

    @available
    def query_once(self, sql: str, version: str) -> list[dict[str, Any]]:
        """Return the rows of a query, kept for as long as `version` stays the same.

        Many models of a run ask the same small question (how far is the cut?).
        """
        key = (sql, version)
        if key not in self._answers:
            _, table = self.execute(sql, fetch=True)
            self._answers[key] = [dict(row) for row in table.rows]
        return self._answers[key]

    @available
    def digest_of_functions(self) -> str:
        """Return a text that changes with the code of the registered functions."""
        if self._code is None:
            self._code = passed_tests.digest_of_code(self.config.credentials.functions)
        return self._code

    @available
    def is_deterministic(self, sql: str) -> bool:
        """Tell whether SQL names no function of the clock, of chance or of the plan."""
        return passed_tests.is_deterministic(sql)

    @available
    def test_is_asked(self, unique_id: str, digest: str) -> None:
        """Keep what the outcome of a test depends on, from before it is asked."""
        self._digests_asked[unique_id] = digest

    @available
    def digest_asked(self, unique_id: str) -> str | None:
        """Return what `test_is_asked` was told, or None."""
        return self._digests_asked.get(unique_id)

    @available
    def data_test_passed(self) -> tuple[AdapterResponse, Any]:  # a table of agate
        """Return what dbt takes for the answer to a data test without failures."""
        return passed_tests.data_test_passed()

    @available
    def unit_test_passed(self) -> tuple[AdapterResponse, Any]:  # a table of agate
        """Return what dbt takes for the answer to a unit test without differences."""
        return passed_tests.unit_test_passed()

    @available
    def call_python(self, function: str, *args: Any) -> Any:  # of any function
        """Call a Python function of the project while a model compiles.

        Args:
            function: Its dotted name, in a package of a module that the profile names
                under `functions`.
            args: What it takes after the folder of the project.

        Raises:
            DbtRuntimeError: If there is no such function, or it raised ValueError.
        """
        module, _, name = function.rpartition(".")
        packages = {f.partition(".")[0] for f in self.config.credentials.functions}
        if module.partition(".")[0] not in packages:
            raise DbtRuntimeError(
                f"Expected a function of {', '.join(sorted(packages))}, which the profile"
                f" names under `functions`, got `{function}`."
            )
        call = getattr(importlib.import_module(module), name)
        try:
            return call(Path(self.config.project_root), *args)
        except ValueError as error:
            raise DbtRuntimeError(str(error)) from error

    @available
    def project_vars(self) -> dict[str, Any]:
        """Return the vars of the project that dbt runs in and of the command line.

        Those of its packages, which `var` knows too, are left out.
        """
        return {**self.config.vars.to_dict(), **self.config.cli_vars}

    def submit_python_job(
        self, parsed_model: dict[str, Any], compiled_code: str
    ) -> AdapterResponse:
        """Run a Python model in this process, on the same session."""
        scope: dict[str, Any] = {"spark": self.spark, "__name__": "dbt_python_model"}
        code = compile(compiled_code, parsed_model["original_file_path"], "exec")
        try:
            with self.connections.exception_handler("python"):
                exec(code, scope)  # noqa: S102  # a Python model is code by intent
        finally:
            WRITES.add()
        return AdapterResponse(_message="OK")
