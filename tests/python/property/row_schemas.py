"""DDLs and what rows tell, as the fold of schemas takes them, of a table `db.t`."""

from collections.abc import Mapping
from typing import Final

from changefold.schemas.model import DdlEvent, TableVersion
from changefold.schemas.observed import SeenSchema

CREATE: Final = "CREATE TABLE t (id INT PRIMARY KEY, a INT)"


def sequence(number: int) -> str:
    """A commit timestamp."""
    return f"{number:020}"


def time(millisecond: int, offset: int) -> str:
    """A sequence without a commit timestamp; of Canal, if it is a whole second."""
    return f"{1767225600000 + millisecond << 18:020}:{offset:019}"


def at(place: int | str, sql: str, table: str = "t") -> DdlEvent:
    """A DDL at a commit timestamp or another sequence."""
    return DdlEvent(_sequence(place), "db", table, sql)


def seen(
    place: int | str,
    columns: Mapping[str, str] | None = None,
    *,
    until: int | str | None = None,
    table: str = "t",
    key: tuple[str, ...] | None = ("id",),
    **column_types: str,
) -> SeenSchema:
    """What rows tell from one place on, up to the last one that does.

    Types of columns come as a mapping or by name.
    """
    last = place if until is None else until
    types = {"id": "int", **(columns or {}), **column_types}
    return SeenSchema("db", table, _sequence(place), _sequence(last), types, key)


def _sequence(place: int | str) -> str:
    return place if isinstance(place, str) else sequence(place)


def names(version: TableVersion) -> list[str]:
    """Names of the columns."""
    return [column.name for column in version.columns]


def types(version: TableVersion) -> dict[str, str]:
    """Types of the columns by name."""
    return {column.name: column.type for column in version.columns}
