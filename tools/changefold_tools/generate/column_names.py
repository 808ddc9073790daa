"""Names of columns in the generated tables: the source's own, where Spark can have them.

It can not have two that differ by case only, none that the tables need themselves, and
none that a file of an Iceberg table can not tell from another one.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from changefold_tools.generate.escaping import TAG

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION_COLUMNS: Final = {
    "valid_from": "timestamp",
    "valid_to": "timestamp",
    "is_current": "boolean",
    "_cdc_valid_from_sequence": "string",
    "_cdc_valid_to_sequence": "string",
    "_cdc_op": "string",
    "_cdc_ended_by": "string",
    "_cdc_commit_ts": "bigint",
    "_cdc_batch_id": "bigint",
    "_cdc_conversion_failures": "map<string,string>",
    "_cdc_unknown_columns": "array<string>",
    "_cdc_row_hash": "string",
    "_cdc_version_id": "string",
}
"""Columns of a history table beside the source's own, with their types."""

COPY_COLUMN: Final = {"_cdc_copy": "bigint"}
"""Column of a table without a key, beside the source's own."""


def spark_names(names: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return the name that each column of a table has in Spark.

    Args:
        names: Names at the source, each with the sequences from which (empty: from the
            beginning) and to which (``~``: still) a column bears it, in the order in
            which they came. The first of two has the name, so that a new column never
            takes it from one that is there; but from one that is gone it does.
    """
    spans = list(names)
    holders: dict[str, tuple[str, str]] = {}
    for name, begin, end in spans:
        key = _key(name)
        holder = holders.get(key)
        if holder is None or holder[1] <= begin:
            holders[key] = name, end
    taken = {*map(_key, VERSION_COLUMNS | COPY_COLUMN), *holders}
    found = {}
    for name, _, _ in spans:
        if holders[_key(name)][0] == name and _is_possible(name):
            found[name] = name
        elif name not in found:
            found[name] = next(n for n in _others(name) if _key(n) not in taken)
            taken.add(_key(found[name]))
    return found


def _is_possible(name: str) -> bool:
    """Whether a column of a history table can have this name.

    Not an empty one, none of the parts of a map or an array that the table has, none that Spark would
    take for a variable (a view keeps its text for sessions with other settings), and no
    tag, as a search in dbt's docs shows the names as HTML.
    """
    reserved = VERSION_COLUMNS | COPY_COLUMN
    return (
        name.lower() not in reserved
        and not re.match(r"_cdc_(conversion_failures|unknown_columns)\.", name, re.I)
        and "${" not in name
        and not TAG.search(name)
        and name != ""
    )


def _others(name: str) -> Iterable[str]:
    """Names for a column that can not have its own, the best ones first."""
    if name.lower() in VERSION_COLUMNS | COPY_COLUMN:
        yield f"source_{name.lstrip('_')}"
    digest = hashlib.sha256(name.encode()).hexdigest()
    plain = re.sub(r"\W+", "_", name).strip("_") or "column"
    for length in range(6, len(digest)):
        yield f"{plain}_{digest[:length]}"


def _key(name: str) -> str:
    """What is the same for two names that Spark or a Parquet file takes for one.

    Iceberg writes ``a b`` as ``a_x20b`` there, in units of UTF-16.
    """
    units = name.encode("utf-16-be", "surrogatepass")
    text = ""
    for place in range(0, len(units), 2):
        unit = chr(int.from_bytes(units[place : place + 2], "big"))
        if unit == "_" or unit.isalpha() or (place and unit.isdigit()):
            text += unit
        else:
            text += f"_{unit}" if unit.isdigit() else f"_x{ord(unit):X}"
    return text.upper().lower()
