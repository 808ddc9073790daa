"""The truth of a corpus folder: its rows, its schemas, what messages can not carry."""

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from changefold.mysql.types import parse_mysql_type
from changefold_tools.verify.results import KnownDifference, TableName, TableSchema

# A virtual column as TiDB's parser restores it in `ticdcQuery`. No second
# GENERATED may stand between the name and VIRTUAL: that would be another column.
_VIRTUAL_DDL: Final = re.compile(
    r"`((?:[^`]|``)+)` [^`]*?GENERATED ALWAYS AS\((?:(?!GENERATED ALWAYS).)*?"
    r"\) (VIRTUAL|STORED)"
)


@dataclass(frozen=True)
class Truth:
    """The lines of a truth.

    Attributes:
        final: The current lines.
        history: The history lines; `None` where the folder has none.
        remarks: What was read otherwise than it stands there, a sentence each.
    """

    final: list[dict[str, Any]]
    history: list[dict[str, Any]] | None
    remarks: list[str] = field(default_factory=list)


def load_ndjson(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of JSON lines, also when it is compressed.

    Args:
        path: The file; ``.gz`` is added or taken away if only that one is there.

    Yields:
        One object per line.

    Raises:
        FileNotFoundError: If there is neither form of the file.
        ValueError: If a line is not a JSON object.
    """
    found = _either_form(path)
    if found is None:
        raise FileNotFoundError(
            f"Expected the file {path.name} in the folder {path.parent},"
            " got neither it nor its compressed form"
        )
    opener = gzip.open if found.suffix == ".gz" else open
    with opener(found, "rt", encoding="utf-8") as lines:
        for number, text in enumerate(lines, start=1):
            where = f"at line {number} of {found.name}"
            try:
                line = json.loads(text)
            except json.JSONDecodeError as error:
                raise ValueError(f"Expected JSON, got {error} - {where}") from error
            if not isinstance(line, dict):
                raise ValueError(  # noqa: TRY004 - the file is wrong, not a type
                    f"Expected an object, got {text[:80]!r} - {where}"
                )
            yield line


def _either_form(path: Path) -> Path | None:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    packed = plain.with_name(plain.name + ".gz")
    return next((form for form in (path, plain, packed) if form.is_file()), None)


def load_optional(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Read a file of a corpus folder, a line an object; nothing if it is not there."""
    path = folder / f"{name}.ndjson"
    return iter(()) if _either_form(path) is None else load_ndjson(path)


def table_name(line: Mapping[str, Any]) -> TableName:
    """Return the table of a line, of PostgreSQL and SQL Server with its schema."""
    schema = line.get("schema")
    database: str = line["database"]
    return (f"{database}.{schema}" if schema else database), line["table"]


def load_truth(folder: Path, *, visible: bool = False) -> Truth:
    """Read the truth of a corpus folder.

    Args:
        folder: Holds ``expected_final`` and, if there is one, ``expected_history``.
        visible: Take the truth of what the log shows (``expected_final_visible``,
            ``expected_history_visible``) where the folder has one.

    Returns:
        The lines. A history in another form than TiCDC's (without ``commitTs``) is
        no history.
    """

    def pick(name: str) -> Path:
        seen = folder / f"{name}_visible.ndjson"
        return seen if visible and _either_form(seen) else folder / f"{name}.ndjson"

    final = list(load_ndjson(pick("expected_final")))
    path = pick("expected_history")
    history = list(load_ndjson(path)) if _either_form(path) else None
    if history and "commitTs" not in history[0]:
        history = None
    remarks: list[str] = []
    if history is not None:
        remarks = _at_own_ddl(history, list(load_optional(folder, "ddl_log")))
    return Truth(final, history, remarks)


def _at_own_ddl(
    history: list[dict[str, Any]], ddl_log: list[dict[str, Any]]
) -> list[str]:
    """Move the effects of a statement on many tables to each table's own DDL.

    The truth looks at the tables when a statement is done. But ``DROP TABLE a, b`` is
    two DDLs with a commit timestamp each, by the log of the source itself.
    """
    moved: dict[tuple[str, str, int], int] = {}
    together: list[dict[str, Any]] = []
    for event in [*ddl_log, {"table": None}]:
        tables = {other["table"] for other in together}
        if together and (
            event.get("statement") is None
            or event["statement"] != together[-1].get("statement")
            or event["table"] in tables
        ):
            last = together[-1]["commitTs"]
            for other in together[:-1]:
                moved[other["database"], other["table"], last] = other["commitTs"]
            together = []
        together.append(event)
    counts: Counter[str] = Counter()
    for line in history:
        own = moved.get((line["database"], line["table"], line["commitTs"]))
        if own is not None and own != line["commitTs"] and line.get("cause") == "ddl":
            line["commitTs"] = own
            counts[f"{line['database']}.{line['table']}"] += 1
    return [
        f"history {table}: {count} rows are expected at the table's own DDL; the truth "
        "has the last DDL of the statement."
        for table, count in counts.items()
    ]


def load_known_differences(folder: Path) -> list[KnownDifference]:
    """Read ``known_differences`` of a corpus folder; none if it has no such file."""
    return [
        KnownDifference(
            table=line["table"],
            key={
                column: None if value is None else str(value)
                for column, value in line["key"].items()
            },
            column=line["column"],
            oracle=line["oracle"],
            message=line.get("message"),
            reason=line["reason"],
        )
        for line in load_optional(folder, "known_differences")
    ]


def load_schemas(folder: Path) -> dict[TableName, TableSchema]:
    """Collect what a corpus folder tells of keys, types and virtual columns.

    ``schema_final`` tells all three of the tables that exist at the end. A name that
    was given away has the types of the table that it stood for. For others the key is that of the last history entry, else that of the known differences,
    and virtual columns dropped before the end are found in ``ddl_log``.
    """
    keys: dict[TableName, tuple[str, ...]] = {}
    keys_by_table = {
        known.table: tuple(known.key) for known in load_known_differences(folder)
    }
    for line in load_optional(folder, "expected_final"):
        name = table_name(line)
        keys[name] = keys_by_table.get(line["table"], ())
    for line in load_optional(folder, "expected_history"):
        if "pk" in line:
            keys[table_name(line)] = tuple(line["pk"])
    virtual = _virtual_in_ddl(folder)
    schemas = {
        name: TableSchema(keys.get(name, ()), {}, frozenset(virtual[name]))
        for name in keys.keys() | virtual.keys()
    }
    for line in load_optional(folder, "schema_final"):
        name, columns = table_name(line), line["columns"]
        present = {column["name"] for column in columns}
        schemas[name] = TableSchema(
            key_columns=tuple(line["key_columns"] or ()),
            types={
                one["name"]: parse_mysql_type(one["column_type"]) for one in columns
            },
            virtual=frozenset(
                one["name"] for one in columns if one["extra"] == "VIRTUAL GENERATED"
            )
            | (virtual[name] - present),
        )
    for line in reversed(list(load_optional(folder, "ddl_log"))):
        before = str(line.get("preDatabase")), str(line.get("preTable"))
        if line["actionType"] == "rename table" and before in schemas:
            schema = schemas[before]
            types = schema.types or schemas[table_name(line)].types
            schemas[before] = replace(schema, types=types)
    return schemas


def _virtual_in_ddl(folder: Path) -> dict[TableName, set[str]]:
    """Return the columns that were virtual at any time, as far as DDL names them."""
    virtual: dict[TableName, set[str]] = defaultdict(set)
    for line in load_optional(folder, "ddl_log"):
        name = line["database"], line["table"]
        before = str(line.get("preDatabase")), str(line.get("preTable"))
        if before != name:  # a renamed table keeps its columns
            virtual[name] |= virtual.get(before, set())
        virtual[name].update(
            column.replace("``", "`")
            for column, stored in _VIRTUAL_DDL.findall(line["ticdcQuery"])
            if stored == "VIRTUAL"
        )
    return virtual
