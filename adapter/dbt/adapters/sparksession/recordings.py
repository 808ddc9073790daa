"""Recorded topics: which files are new, and their lines as Kafka records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

_RECORD: Final = (
    "topic string, partition int, offset bigint, timestamp bigint, key string, "
    "key_base64 string, value string, value_base64 string, headers string"
)
"""A line of a recording: the Kafka record as JSON, bytes as text or as base64."""

_PAIRS: Final = "from_json(record.headers, 'array<array<string>>')"
_OBJECTS: Final = (
    "from_json(record.headers, 'array<struct<key: string, value: string>>')"
)
_HEADERS: Final = (
    "if(record.headers like '[[%', "
    f"transform({_PAIRS}, header -> named_struct('key', header[0], "
    "'value', encode(header[1], 'UTF-8'))), "
    f"transform({_OBJECTS}, header -> named_struct('key', header.key, "
    "'value', encode(header.value, 'UTF-8'))))"
)
"""Headers of a record, written as pairs or as objects."""

_ENDINGS: Final = {
    "ndjson": "text",
    "jsonl": "text",
    "json": "text",
    "parquet": "parquet",
}


@dataclass(frozen=True)
class RecordedFile:
    """A file with recorded messages, as it is now."""

    path: str
    length: int
    modified_ms: int

    @property
    def reader(self) -> str:
        """Name of the Spark reader for it, or an empty text if there is none."""
        parts = Path(self.path).name.lower().removesuffix(".gz").split(".")
        return _ENDINGS.get(parts[-1], "")


def list_files(
    spark: SparkSession, topic: str, patterns: Iterable[str], base: str
) -> list[RecordedFile]:
    """Return the files that files, folders and globs stand for, by path.

    Args:
        spark: The session; its Hadoop file systems list, so ``s3a://`` works too.
        topic: Name of the topic, for the error.
        patterns: Paths as given in the var ``topics``.
        base: Folder that relative paths start from.

    Raises:
        DbtRuntimeError: If a path is not there or is of no known kind.
    """
    jvm: Any = spark._jvm  # Hadoop's listing has no Python face
    conf = spark._jsc.hadoopConfiguration()
    found: dict[str, RecordedFile] = {}
    for pattern in patterns:
        full = pattern if "://" in pattern else str(Path(base) / pattern)
        path = jvm.org.apache.hadoop.fs.Path(full)
        system = path.getFileSystem(conf)
        matches = system.globStatus(path)
        if not matches:
            raise DbtRuntimeError(
                f"var `topics`: topic `{topic}`: `files` names `{pattern}`, "
                "but there is no such file or folder."
            )
        for match in matches:
            listing = system.listFiles(match.getPath(), True)
            while listing.hasNext():
                status = listing.next()
                name = status.getPath().getName()
                if name.startswith((".", "_")):
                    continue
                file = RecordedFile(
                    status.getPath().toString(),
                    status.getLen(),
                    status.getModificationTime(),
                )
                if not file.reader:
                    if match.isDirectory():
                        continue
                    raise DbtRuntimeError(
                        f"var `topics`: topic `{topic}`: expected `{pattern}` to end in "
                        ".ndjson, .jsonl, .json or .parquet (or those with .gz)."
                    )
                found[file.path] = file
    return [found[path] for path in sorted(found)]


def new_files(
    spark: SparkSession,
    topic: str,
    patterns: Iterable[str],
    base: str,
    known: Sequence[Sequence[Any]],
) -> list[RecordedFile]:
    """Return the files that have not landed yet, or have changed since.

    Args:
        spark: The session.
        topic: Name of the topic.
        patterns: Paths as given in the var ``topics``.
        base: Folder that relative paths start from.
        known: Rows (path, length, modified_ms) of what has landed.
    """
    landed = {(row[0], int(row[1]), int(row[2])) for row in known}
    return [
        file
        for file in list_files(spark, topic, patterns, base)
        if (file.path, file.length, file.modified_ms) not in landed
    ]


def read_messages(spark: SparkSession, files: Sequence[RecordedFile]) -> DataFrame:
    """Return the records of the files in the columns of a raw table.

    A line that is no record (not JSON, or without partition and offset) fails the
    statement that reads it, with its file: a recording is made by a tool, and one
    that is cut short must not pass for a whole one.
    """
    frames = []
    texts = [file.path for file in files if file.reader == "text"]
    if texts:
        frames.append(_from_lines(spark, texts))
    tables = [file.path for file in files if file.reader == "parquet"]
    if tables:
        frames.append(_from_parquet(spark, tables))
    frame = frames[0]
    for more in frames[1:]:
        frame = frame.unionByName(more)
    return frame


def _from_lines(spark: SparkSession, paths: list[str]) -> DataFrame:
    lines = spark.read.text(paths).selectExpr(
        "value as line", "_metadata.file_path as landed_from"
    )
    records = lines.where("trim(line) <> ''").selectExpr(
        f"from_json(line, '{_RECORD}') as record", "line", "landed_from"
    )
    checked = (
        "if(record.topic is null or record.partition is null or record.offset is null, "
        "raise_error(concat('Not a recorded message (expected a JSON object with topic, "
        "partition and offset) in ', landed_from, ': ', left(line, 80))), record.topic)"
    )
    return records.selectExpr(
        f"{checked} as topic",
        "record.partition as partition",
        "record.offset as offset",
        "timestamp_millis(record.timestamp) as timestamp",
        "coalesce(encode(record.key, 'UTF-8'), unbase64(record.key_base64)) as key",
        "coalesce(encode(record.value, 'UTF-8'), unbase64(record.value_base64)) as value",
        f"{_HEADERS} as headers",
        "landed_from",
    )


def _from_parquet(spark: SparkSession, paths: list[str]) -> DataFrame:
    table = spark.read.parquet(*paths)
    types = dict(table.dtypes)
    lacking = [
        name for name in ("topic", "partition", "offset", "value") if name not in types
    ]
    if lacking:
        raise DbtRuntimeError(
            f"Expected the columns topic, partition, offset, timestamp, key, value in "
            f"{paths[0]}, but it lacks {', '.join(lacking)}."
        )
    timestamp = {
        None: "cast(null as timestamp)",
        "bigint": "timestamp_millis(timestamp)",
    }.get(types.get("timestamp"), "cast(timestamp as timestamp)")
    headers = "array<struct<key: string, value: binary>>"
    return table.selectExpr(
        "topic",
        "cast(partition as int) as partition",
        "cast(offset as bigint) as offset",
        f"{timestamp} as timestamp",
        "cast(key as binary) as key"
        if "key" in types
        else "cast(null as binary) as key",
        "cast(value as binary) as value",
        f"cast({'headers' if 'headers' in types else 'null'} as {headers}) as headers",
        "_metadata.file_path as landed_from",
    )
