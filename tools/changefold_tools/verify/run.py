"""Is the pipeline exact? Builds a recorded topic from nothing and compares."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import yaml
from rich.console import Console

from changefold_tools.generate.models import update_models, write_models
from changefold_tools.generate.sources import render_sources
from changefold_tools.session import (
    DbtFailedError,
    run_dbt,
    spark_session,
    stop_session,
)
from changefold_tools.verify import canal as canal_truth
from changefold_tools.verify import debezium as debezium_truth
from changefold_tools.verify import debezium_history
from changefold_tools.verify.compare import compare_final, compare_history, times_of
from changefold_tools.verify.debezium import RecordedMessages
from changefold_tools.verify.debezium_recording import (
    declared_connector,
    tables_without_schema,
)
from changefold_tools.verify.export import export_tables, relations_in
from changefold_tools.verify.handle_key_only import CutDown, CutDownChange
from changefold_tools.verify.late_start import Midstream, PendingChange
from changefold_tools.verify.report import render
from changefold_tools.verify.results import Judgement, is_equal
from changefold_tools.verify.ticdc_debezium import TicdcDebezium, in_mysql_form
from changefold_tools.verify.truth import (
    load_known_differences,
    load_ndjson,
    load_optional,
    load_schemas,
    load_truth,
)
from changefold_tools.verify.versions import (
    ComparedVersions,
    compare_histories,
    compare_row_versions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from changefold_tools.verify.results import Schemas
    from changefold_tools.verify.truth import Truth

PROTOCOLS: Final = {
    "canal_json": "ticdc_canal_json",
    "simple_json": "ticdc_simple",
    "simple_avro": "ticdc_simple_avro",
    "debezium_ticdc": "debezium",
    "messages.schemas_": "debezium",
    # Of the official Canal.
    "messages": "canal_json",
}
"""What the name of a recording begins with, and the protocol that it then holds."""

_SCHEMA: Final = "verify"


@dataclass(frozen=True)
class Recording:
    """A recorded topic and the truth beside it."""

    folder: Path
    variant: str

    @property
    def path(self) -> Path:
        """The file with the messages.

        Raises:
            FileNotFoundError: If there is none of that name.
        """
        for ending in (".ndjson", ".ndjson.gz"):
            path = self.folder / f"{self.variant}{ending}"
            if path.exists():
                return path
        raise FileNotFoundError(
            f"There is no {self.variant}.ndjson or {self.variant}.ndjson.gz in {self.folder}."
        )

    @property
    def protocol(self) -> str:
        """The protocol, by the file's name.

        Raises:
            ValueError: If the name begins like no protocol.
        """
        for start, protocol in PROTOCOLS.items():
            if self.variant.startswith(start):
                return protocol
        raise ValueError(
            f"Can not tell the protocol of `{self.variant}`: expected a name that begins "
            f"with {', '.join(PROTOCOLS)}."
        )

    @property
    def has_other_truth(self) -> bool:
        """Whether the truth beside it is in the form of its source, not of TiDB."""
        is_of_tidb = any(self.folder.glob("schema_final.ndjson*"))
        return self.protocol == "debezium" and not is_of_tidb

    @property
    def is_of_canal(self) -> bool:
        """Whether the official Canal wrote it."""
        return self.variant == "messages"

    @property
    def begins_in_the_middle(self) -> bool:
        """Whether the folder has a truth of what the topic shows."""
        return any(self.folder.glob("expected_final_visible.ndjson*"))

    def lines(self) -> list[str]:
        """The recorded messages, one a line."""
        opener = gzip.open if self.path.suffix == ".gz" else open
        with opener(self.path, "rt", encoding="utf-8") as file:
            return [line for line in file if line.strip()]


def recordings_in(folder: Path) -> list[Recording]:
    """Return the recordings that lie, with a truth beside them, in a folder or below it.

    Raises:
        FileNotFoundError: If there is none.
    """
    found = [
        Recording(path.parent, path.name.split(".ndjson")[0])
        for path in sorted(folder.rglob("*.ndjson*"))
        if path.name.startswith(tuple(PROTOCOLS))
        and any(path.parent.glob("expected_final.ndjson*"))
    ]
    if not found:
        raise FileNotFoundError(
            f"There is no recording in {folder}: expected files such as "
            "canal_json.ndjson beside an expected_final.ndjson."
        )
    return found


class Carrier(Protocol):
    """What brings the messages of a recording to the project."""

    def declare(self, topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return declarations of topics, with the place where their messages come."""

    def send(self, lines: list[str], run: int) -> None:
        """Bring the messages of a run, one a line."""


class Files:
    """Carries messages as recorded files, one for each run.

    Attributes:
        folder: Where they are.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder."""
        self.folder = folder
        folder.mkdir(parents=True)

    def declare(self, topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return declarations of topics that have all files in the folder."""
        return [topic | {"files": [str(self.folder)]} for topic in topics]

    def send(self, lines: list[str], run: int) -> None:
        """Write the messages of a run."""
        path = self.folder / f"part_{run:04d}.ndjson"
        path.write_text("".join(lines), encoding="utf-8")


def declared_by(recording: Recording, lines: list[str]) -> list[dict[str, Any]]:
    """Declare the topics of a recording: names and partitions as they occur in it.

    A ``topic.json`` or ``declare.json`` beside it holds what else is declared, such as
    ``snapshots``.
    """
    more: dict[str, Any] = {}
    for name in ("topic.json", "declare.json"):
        path = recording.folder / name
        if path.exists():
            more |= json.loads(path.read_text())
    return [topic | more for topic in _declared_by_messages(recording, lines)]


def _declared_by_messages(
    recording: Recording, lines: list[str]
) -> list[dict[str, Any]]:
    """Declare the topics of a recording by what its messages and its truth tell."""
    if recording.protocol == "debezium":
        declared = declared_connector(recording.path, lines)
        types = _types_without_schema(recording, lines)
        if types:
            declared["types"] = types
        return [declared]
    partitions: dict[str, int] = {}
    first_offsets: dict[str, int] = {}
    for line in lines:
        record = json.loads(line)
        name = record["topic"]
        partitions[name] = max(partitions.get(name, 1), record["partition"] + 1)
        first = min(first_offsets.get(name, record["offset"]), record["offset"])
        first_offsets[name] = first
    manifest = recording.folder / "manifest.json"
    known = json.loads(manifest.read_text()) if manifest.exists() else {}
    return [
        {
            "name": name,
            "protocol": recording.protocol,
            "partitions": count,
            "time_zone": known.get("timezone", "UTC"),
            # What was sent before the first offset describes some rows, and is gone.
            "pending_holds_cut": first_offsets[name] == 0,
            # The CREATEs that told them came before, too.
            "types": _types_left_out(recording.folder) if first_offsets[name] else {},
        }
        for name, count in sorted(partitions.items())
    ]


def _types_without_schema(
    recording: Recording, lines: list[str]
) -> dict[str, dict[str, str]]:
    """Types of TiDB of the tables whose messages have no schema, as one declares them."""
    told = _types_at_source(recording.folder)
    names = tables_without_schema(json.loads(line) for line in lines)
    return {name: told[name] for name in map(".".join, names) if name in told}


def _types_left_out(folder: Path) -> dict[str, dict[str, str]]:
    """Types that messages name in part, as the source has them: as one declares them.

    Returns:
        As `_types_at_source`.
    """
    return {
        table: {
            column: text
            for column, text in types.items()
            if re.match("(decimal|enum|set|bit|time|datetime|timestamp)\\b", text)
        }
        for table, types in _types_at_source(folder).items()
    }


def _types_at_source(folder: Path) -> dict[str, dict[str, str]]:
    """Types of all columns, as the source has them.

    Returns:
        ``database.table`` under each name that it had -> column -> type.
    """
    types = {
        (line["database"], line["table"]): {
            column["name"]: column["column_type"] for column in line["columns"]
        }
        for line in load_optional(folder, "schema_final")
    }
    for line in reversed(list(load_optional(folder, "ddl_log"))):
        if "preTable" in line:
            known = types.get((line["database"], line["table"]), {})
            types.setdefault((line["preDatabase"], line["preTable"]), known)
    return {f"{database}.{table}": known for (database, table), known in types.items()}


@contextlib.contextmanager
def scratch_project(
    project: Path, target: str = "local", histories: str = "view"
) -> Iterator[Path]:
    """A copy of the project without generated models and topics, with a warehouse.

    Everything lies in a temporary folder that goes away.

    Args:
        project: Folder of the dbt project.
        target: Of its profile; one that reaches the folders of this machine.
        histories: How it keeps histories, ``view`` or ``typed_history``.
    """
    with tempfile.TemporaryDirectory(prefix="changefold-verify-") as name:
        copy = Path(name) / "project"
        copy.mkdir()
        for entry in ("macros", "python_udfs", "seeds", "profiles"):
            os.symlink(project / entry, copy / entry)
        os.symlink(project / "profiles" / "profiles.yml", copy / "profiles.yml")
        # dbt unit tests name the sample topic, which is not there.
        shutil.copytree(
            project / "models",
            copy / "models",
            ignore=shutil.ignore_patterns("_unit_tests.yml"),
        )
        os.symlink(project / "tests", copy / "tests")
        shutil.copy(project / ".dbtignore", copy / ".dbtignore")
        settings_of_dbt = yaml.safe_load((project / "dbt_project.yml").read_text())
        settings_of_dbt["models"]["changefold"]["history"]["+materialized"] = histories
        (copy / "dbt_project.yml").write_text(
            yaml.safe_dump(settings_of_dbt, sort_keys=False)
        )
        settings = {
            "CHANGEFOLD_WAREHOUSE": str(copy / "warehouse"),
            "CHANGEFOLD_SCHEMA": _SCHEMA,
            "CHANGEFOLD_TARGET": target,
        }
        before = {key: os.environ.get(key) for key in settings}
        os.environ.update(settings)
        stop_session()
        try:
            yield copy
        finally:
            stop_session()
            for key, value in before.items():
                if value is None:
                    os.environ.pop(key)
                else:
                    os.environ[key] = value


def declare_topics(project: Path, topics: list[dict[str, Any]]) -> None:
    """Write topics into a scratch project's vars and sources.

    Args:
        project: Folder of the scratch project.
        topics: As in the var ``topics``.
    """
    path = project / "dbt_project.yml"
    settings = yaml.safe_load(path.read_text())
    settings["vars"]["topics"] = topics
    settings["vars"].pop("models_folder", None)
    path.write_text(yaml.safe_dump(settings, sort_keys=False))
    write_models(render_sources(topics), project / "models", check=False)


def build_recording(  # noqa: PLR0913 # each is an option of its own
    recording: Recording,
    project: Path,
    *,
    runs: int,
    export: Path,
    before_run: Callable[[Path], None] | None = None,
    carrier: Carrier | None = None,
    target: str = "local",
    histories: str = "view",
) -> NotApplied:
    """Build a recording in a scratch project and export its tables.

    Args:
        recording: What to land.
        project: Folder of the dbt project.
        runs: Into how many increments the messages are split, in their order.
        export: Folder for ``current.ndjson`` and ``history.ndjson``.
        before_run: Called with the scratch project before each run of dbt.
        carrier: What brings the messages; files by default.
        target: Of the profile.
        histories: As in `scratch_project`.

    Returns:
        What is not in the tables at the end.
    """
    lines = recording.lines()
    with scratch_project(project, target, histories) as copy:
        carrier = carrier or Files(copy / "messages")
        declare_topics(copy, carrier.declare(declared_by(recording, lines)))

        def dbt(*command: str) -> None:
            if before_run is not None:
                before_run(copy)
            run_dbt([*command, "--quiet"], copy)

        for run in range(runs):
            carrier.send(_part(lines, run, runs), run)
            _build_run(copy, dbt, is_first=not run, is_last=run == runs - 1)
        spark = spark_session()
        export_tables(spark, _SCHEMA, export)
        left = _not_applied(spark)
        return NotApplied(
            [each for of_topic in left.values() for each in of_topic.pending],
            [each for of_topic in left.values() for each in of_topic.cut_down],
            [each for of_topic in left.values() for each in of_topic.doubts],
            _compare_with_one_run(copy, runs, histories),
        )


def _part(lines: list[str], run: int, runs: int) -> list[str]:
    """Return the messages of a run."""
    return lines[len(lines) * run // runs : len(lines) * (run + 1) // runs]


def _build_run(
    project: Path, dbt: Callable[..., None], *, is_first: bool, is_last: bool
) -> None:
    """Build what has landed; make the models of tables that are new."""
    command = "build" if is_last else "run"
    # The tables' schemas are all that the first models are made from.
    dbt(*(["run", "--select", "+table_schemas"] if is_first else [command]))
    if update_models(project, _SCHEMA, check=False).written or is_first:
        dbt(command)


@dataclass(frozen=True)
class NotApplied:
    """Changes of a recording that are not in the tables, and tables in doubt.

    Attributes:
        pending: They wait for their schema.
        cut_down: Their rows were too large: the messages hold the key only.
        doubts: What `needs_snapshot` and `disagreements` say of tables, a sentence each.
        compared: What tables of several runs are, beside what one of all makes.
    """

    pending: list[PendingChange]
    cut_down: list[CutDownChange]
    doubts: list[str]
    compared: tuple[ComparedVersions, ...] = ()


def _not_applied(spark: SparkSession) -> dict[str, NotApplied]:
    """Return by the topic what is not in its tables, and what is in doubt of them."""
    found: dict[str, NotApplied] = defaultdict(lambda: NotApplied([], [], []))
    for row in spark.sql(
        "select kafka_topic, source_database, source_table, "
        f"coalesce(after, before) as image from `{_SCHEMA}`.pending_changes "  # our own
        "order by all"
    ).collect():
        found[row.kafka_topic].pending.append(
            PendingChange(row.source_database, row.source_table, json.loads(row.image))
        )
    for row in spark.sql(
        f"select kafka_topic, value from `{_SCHEMA}`.quarantined_messages "  # our own
        "where error_class in ('key_only_message', 'claim_check_message') order by all"
    ).collect():
        change = CutDownChange.from_message(bytes(row.value))
        found[row.kafka_topic].cut_down.append(change)
    if not {"needs_snapshot", "disagreements"} <= relations_in(spark, _SCHEMA):
        # A test before them failed in the first build.
        found[""].doubts.append("What is in doubt is not known: it was not built.")
        return found
    for row in spark.sql(
        f"select * from `{_SCHEMA}`.needs_snapshot "  # our own schema
        "where cleared_sequence is null "
        "order by source_database, source_table, kind, reason"
    ).collect():
        found[row.kafka_topic].doubts.append(
            f"{row.source_database}.{row.source_table} is in doubt ({row.kind}): "
            f"{row.reason}."
        )
    for row in spark.sql(
        f"select * from `{_SCHEMA}`.disagreements order by all"  # our own schema
    ).collect():
        found[row.kafka_topic].doubts.append(
            f"{row.source_database}.{row.source_table} disagrees ({row.kind}): "
            f"{row.changes} changes, the first of {row.first_row_key} at "
            f"{row.first_sequence}{', in doubt' if row.is_in_doubt else ''}."
        )
    return found


def verify(  # noqa: PLR0913 # each is an option of its own
    recording: Recording,
    project: Path,
    *,
    runs: int = 1,
    export: Path | None = None,
    before_run: Callable[[Path], None] | None = None,
    carrier: Carrier | None = None,
    target: str = "local",
    histories: str = "view",
    console: Console | None = None,
) -> bool:
    """Build a recording, compare with the truth beside it, print the result.

    Args:
        recording: Messages with ``expected_final`` and ``expected_history``.
        project: Folder of the dbt project.
        runs: Number of increments.
        export: Folder to keep the exported tables in.
        before_run: As in `build_recording`.
        carrier: As in `build_recording`.
        target: As in `build_recording`.
        histories: As in `scratch_project`.
        console: Where to print.

    Returns:
        Whether every row and column is equal.
    """
    console = console or Console()
    with tempfile.TemporaryDirectory(prefix="changefold-export-") as name:
        folder = export or Path(name)
        left = build_recording(
            recording,
            project,
            runs=runs,
            export=folder,
            before_run=before_run,
            carrier=carrier,
            target=target,
            histories=histories,
        )
        console.print(f"{recording.folder.name} / {recording.variant}, {runs} run(s)")
        return compare_tables(recording, folder, left, console)


def verify_together(  # noqa: PLR0913 # each is an option of its own
    recordings: Sequence[Recording],
    project: Path,
    *,
    runs: int | None = 1,
    export: Path | None = None,
    target: str = "local",
    histories: str = "view",
    console: Console | None = None,
) -> dict[str, bool]:
    """Build recordings as topics of one scratch project, in one Spark, and compare each.

    So many small ones take little more time than one. A `topic.json` (or `declare.json`)
    beside the messages has settings of the topic that they do not tell, a `topics.json`
    the whole declaration.

    Args:
        recordings: Messages with ``expected_final``; each is one topic.
        project: Folder of the dbt project.
        runs: Number of increments; ``None`` for as many as the longest has messages, each
            with one message of every topic.
        export: Folder to keep the exported tables in, a folder for each topic.
        target: As in `build_recording`.
        histories: As in `scratch_project`.
        console: Where to print.

    Returns:
        By the name of the topic, whether every row and column is equal; also ``dbt build``
        if the last run failed, as it does where a test finds what a case is about, and by
        its name what was compared with one run of all.

    Raises:
        DbtFailedError: If a run of dbt but the last one fails.
        ValueError: If a recording has several topics.
    """
    console = console or Console()
    topics = {_topic_name(each, recordings): each for each in recordings}
    equal: dict[str, bool] = {}
    with (
        scratch_project(project, target, histories) as copy,
        tempfile.TemporaryDirectory(prefix="changefold-export-") as folder,
    ):
        lines = {name: each.lines() for name, each in topics.items()}
        files = {name: Files(copy / "messages" / name) for name in topics}
        declared = [
            _declared_as(name, each, lines[name]) for name, each in topics.items()
        ]
        declare_topics(
            copy, [files[topic["name"]].declare([topic])[0] for topic in declared]
        )
        count = runs or max(map(len, lines.values()))
        for run in range(count):
            for name, carrier in files.items():
                each = lines[name][run : run + 1]
                carrier.send(
                    each if runs is None else _part(lines[name], run, count), run
                )
            is_last = run == count - 1
            try:
                _build_run(
                    copy,
                    lambda *command: run_dbt([*command, "--quiet"], copy),
                    is_first=not run,
                    is_last=is_last,
                )
            except DbtFailedError:
                if not is_last:
                    raise
                # What its tests say is printed; the tables are there to be compared.
                equal["dbt build"] = False
        spark = spark_session()
        exported = export or Path(folder)
        export_tables(spark, _SCHEMA, exported, topics=list(topics))
        left = _not_applied(spark)
        for doubt in left[""].doubts:
            console.print(doubt, highlight=False)
        for name, recording in topics.items():
            console.print(f"{name}, {count} run(s)", highlight=False)
            equal[name] = compare_tables(
                recording, exported / name, left[name], console
            )
        for compared in _compare_with_one_run(copy, count, histories):
            _print_compared(compared, console)
            equal[compared.what[0]] = compared.are_equal
    return equal


def _topic_name(recording: Recording, others: Sequence[Recording]) -> str:
    """Return a name for a recording: that of its folder, if there is one such."""
    alike = [each for each in others if each.folder.name == recording.folder.name]
    name = recording.folder.name
    return name if len(alike) == 1 else f"{name}_{recording.variant}"


def _declared_as(name: str, recording: Recording, lines: list[str]) -> dict[str, Any]:
    """Declare a recording as one topic of a name, and give its messages that topic."""
    told = recording.folder / "topics.json"
    if recording.protocol == "debezium":
        declared = declared_by(recording, list(map(_without_broken_json, lines)))
    elif told.exists():
        declared = json.loads(told.read_text(encoding="utf-8"))
    else:
        records = [json.loads(line) for line in lines]
        if len({record["topic"] for record in records}) > 1:
            raise ValueError(
                f"{recording.path} has several topics: verify it by itself, or declare them "
                "in a topics.json beside it."
            )
        lines[:] = [json.dumps(record | {"topic": name}) + "\n" for record in records]
        declared = declared_by(recording, lines)
    for path in ("topic.json", "declare.json"):
        settings = recording.folder / path
        if settings.exists():
            declared[0] |= json.loads(settings.read_text(encoding="utf-8"))
    topic: dict[str, Any] = declared[0] | {"name": name}
    return topic


def _without_broken_json(line: str) -> str:
    """Return a recorded message without a value that is no JSON: it declares nothing."""
    record = json.loads(line)
    try:
        json.loads(record.get("value") or "{}")
    except ValueError:
        return json.dumps(record | {"value": None})
    return line


def compare_tables(
    recording: Recording, folder: Path, left: NotApplied, console: Console
) -> bool:
    """Compare exported tables with the truth beside a recording, print the result.

    Args:
        recording: Messages with ``expected_final`` and ``expected_history``.
        folder: What `export_tables` wrote.
        left: What is not in the tables.
        console: Where to print.

    Returns:
        Whether every row and column is equal.
    """
    built = {
        name: list(load_ndjson(folder / f"{name}.ndjson"))
        for name in ("current", "history")
    }
    if recording.has_other_truth:
        judgement = _judge_debezium(recording, built)
    elif recording.is_of_canal:
        judgement = _judge_canal(recording, built)
    else:
        judgement = _judge(recording, built, left)
    for remark in judgement.remarks:
        console.print(remark, highlight=False, markup=False)
    render(judgement.results, console)
    for doubt in left.doubts:
        console.print(doubt, highlight=False, markup=False)
    for compared in left.compared:
        _print_compared(compared, console)
    return is_equal(judgement.results) and all(
        compared.are_equal for compared in left.compared
    )


def _compare_with_one_run(
    project: Path, runs: int, histories: str
) -> tuple[ComparedVersions, ...]:
    """Compare what several runs left with what one makes."""
    if runs == 1:
        return ()
    spark = spark_session()

    def fold_again() -> None:
        run_dbt(
            ["run", "--full-refresh", "--select", "row_versions", "--quiet"], project
        )

    # What dbt compiled of a model stays when the model goes.
    present = {path.name for path in (project / "models").rglob("scd2_*.sql")}
    shown = {
        path.stem: path.read_text(encoding="utf-8")
        for path in (project / "target" / "compiled").rglob("scd2_*.sql")
        if path.name in present
    }
    return (
        *([compare_histories(spark, _SCHEMA, shown)] if histories != "view" else []),
        compare_row_versions(spark, _SCHEMA, fold_again),
    )


def _print_compared(compared: ComparedVersions, console: Console) -> None:
    """Print how what runs left compares with what one run makes."""
    what, other = compared.what
    for difference in compared.differences:
        console.print(difference, highlight=False, markup=False)
    console.print(
        f"{what}: {compared.versions} versions, {len(compared.differences)} differences "
        f"from {other}",
        highlight=False,
    )


def _judge_debezium(
    recording: Recording, built: dict[str, list[dict[str, Any]]]
) -> Judgement:
    """Compare built tables with a truth as the source of a connector printed it."""
    messages = RecordedMessages(recording.path)
    results = debezium_truth.compare_final(recording.folder, messages, built["current"])
    past = debezium_history.compare_history(
        recording.folder, messages, built["history"]
    )
    remarks = (
        [] if past else ["history: there is no truth to compare the built one with."]
    )
    return Judgement(results + past, remarks)


def _judge_canal(
    recording: Recording, built: dict[str, list[dict[str, Any]]]
) -> Judgement:
    """Compare built tables with the rows of the source that Canal read."""
    return Judgement(
        canal_truth.compare_final(recording.folder, recording.path, built["current"]),
        ["history: there is no truth to compare the built one with."],
    )


def _carried(recording: Recording, truth: Truth, schemas: Schemas) -> TicdcDebezium:
    return TicdcDebezium(
        truth,
        recording.path,
        _types_without_schema(recording, recording.lines()),
        load_optional(recording.folder, "ddl_log"),
        schemas,
    )


def _judge(
    recording: Recording, built: dict[str, list[dict[str, Any]]], left: NotApplied
) -> Judgement:
    """Compare built tables with a truth in MySQL's text form."""
    truth = load_truth(recording.folder)
    schemas = load_schemas(recording.folder)
    known = load_known_differences(recording.folder)
    by = times_of(built["history"])
    carried = None
    without_row = list(left.cut_down)
    if recording.protocol == "debezium":
        carried = _carried(recording, truth, schemas)
        truth = carried.truth
        if recording.begins_in_the_middle:
            built = {
                name: list(in_mysql_form(lines, schemas))
                for name, lines in built.items()
            }
    midstream = None
    if recording.begins_in_the_middle:
        visible = load_truth(recording.folder, visible=True)
        if carried is not None:
            carried = _carried(recording, visible, schemas)
            visible = carried.truth
        midstream = Midstream(visible, truth, built, left.pending, schemas)
        truth = midstream.truth
    if carried is not None:
        without_row += carried.missing
    cut_down = CutDown(truth, built["current"], without_row, schemas)
    truth, built["current"] = cut_down.truth, cut_down.current
    results = compare_final(
        truth.final, built["current"], schemas, known_differences=known
    )
    if truth.history is not None:
        results += compare_history(truth.history, built["history"], schemas, by=by)
    cut_down.add_to(results)
    if midstream is not None:
        midstream.add_to(results)
    if carried is not None:
        carried.add_to(results)
    waiting = Counter(f"{change.database}.{change.table}" for change in left.pending)
    keys_only = Counter(f"{change.database}.{change.table}" for change in left.cut_down)
    remarks = [
        *truth.remarks,
        *(
            f"pending {table}: {count} changes wait for a schema that no message "
            "describes."
            for table, count in waiting.items()
        ),
        *(
            f"quarantined {table}: {count} messages hold the key of a row only."
            for table, count in keys_only.items()
        ),
        *(carried.remarks if carried is not None else []),
    ]
    return Judgement(results, remarks)
