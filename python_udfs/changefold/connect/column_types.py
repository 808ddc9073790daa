"""Types of source columns to Spark types, by the seeds."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from changefold.connect.types import ConnectType
from changefold.mysql.types import MySqlType

__all__ = ["ColumnType", "SourceType", "TypeSeed", "common_type", "seeds_of"]

SourceType: TypeAlias = MySqlType | ConnectType
"""Type of a column at the source, or as Debezium passes it on."""

_INTEGERS: Final = {"int": 10, "bigint": 19}
"""Spark's integer types here, and the decimal digits that hold them."""


@dataclass(frozen=True)
class ColumnType:
    """How a type of a source column is kept.

    Attributes:
        spark_type: Type of the column.
        conversion: Macro that makes it from the message's text.
        members: Names of an ENUM's or SET's members.
        fraction_digits: Digits of a time behind the second.
        form: The stated form, from the seed.
    """

    spark_type: str
    conversion: str
    members: tuple[str, ...] = ()
    fraction_digits: int = 0
    form: str = ""

    def call(
        self, topic: str, kept: str | None = None
    ) -> tuple[str, tuple[str | int | tuple[str, ...], ...]]:
        """Return the macro that converts, and what it takes after the message's text.

        Args:
            topic: Name of the topic, which declares the zone of times.
            kept: Type of the model's column, where that holds other types too.
        """
        kept = kept or self.spark_type
        match self.conversion:
            case "mysql_number" | "mysql_bit" if kept != "string":
                return self.conversion, (kept,)
            case "mysql_enum" | "mysql_set":
                return self.conversion, (self.members,)
            case "mysql_time":
                return self.conversion, (self.fraction_digits,)
            case "mysql_timestamp" if kept == self.spark_type:
                return self.conversion, (topic,)
            case conversion if kept != self.spark_type and conversion != "mysql_bytes":
                return "mysql_text", ()
            case conversion:
                return conversion, ()


def seeds_of(project: Path) -> Path:
    """Return the folder of the seeds: the project's own, or that of the package in it.

    Args:
        project: Folder of a dbt project.

    Raises:
        FileNotFoundError: If it has neither.
    """
    for folder in (project, *sorted(project.glob("*/changefold"))):
        if (folder / "seeds" / "mysql_types.csv").exists():
            return folder / "seeds"
    raise FileNotFoundError(
        f"Expected the package changefold in {project}: run `dbt deps` first."
    )


class TypeSeed:
    """The rows of the seeds, by type and variant."""

    def __init__(self, seeds: Path) -> None:
        """Read ``mysql_types.csv`` and ``connect.types.csv``.

        Args:
            seeds: Folder of the seeds.
        """
        self._rows = _rows(seeds / "mysql_types.csv", "mysql_type")
        self._connect_rows = _rows(seeds / "connect_types.csv", "connect_type")

    def column_type(self, source_type: SourceType) -> ColumnType:
        """Return how a column is kept.

        Raises:
            KeyError: If the seed has no such type.
        """
        if isinstance(source_type, ConnectType):
            return self._connect_type(source_type)
        return self._mysql_type(source_type)

    def _connect_type(self, connect_type: ConnectType) -> ColumnType:
        variant = ""
        spark_type = None
        if connect_type.base == "Decimal":
            length, scale = connect_type.length, connect_type.scale or 0
            if length is None:
                variant = "precision unknown"
            elif length > 38 or not 0 <= scale <= length:
                variant = "over 38 digits"
            else:
                spark_type = f"decimal({length}, {scale})"
        row = self._connect_rows[connect_type.base, variant]
        return ColumnType(
            spark_type=spark_type or row["spark_type"],
            conversion=row["conversion"],
            form=row["form"],
        )

    def _mysql_type(self, mysql_type: MySqlType) -> ColumnType:
        base = mysql_type.base
        variant = "unsigned" if mysql_type.unsigned else ""
        spark_type = None
        if base == "decimal":
            variant = ""
            if mysql_type.scale is None:
                variant = "scale unknown"
            elif (mysql_type.length or 0) > 38:
                variant = "over 38 digits"
            else:
                spark_type = f"decimal({mysql_type.length}, {mysql_type.scale})"
        elif base in {"enum", "set"}:
            variant = "" if mysql_type.elements else "members unknown"
        elif base == "bit":
            variant = "over 63 bits" if (mysql_type.length or 64) > 63 else ""
        elif (base, variant) not in self._rows:
            variant = ""
        row = self._rows[base, variant]
        return ColumnType(
            spark_type=spark_type or row["spark_type"],
            conversion=row["conversion"],
            members=tuple(mysql_type.elements or ()),
            fraction_digits=mysql_type.fraction_digits,
            form=row["form"],
        )


def _rows(path: Path, name: str) -> dict[tuple[str, str], dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return {(row[name], row["variant"]): row for row in csv.DictReader(file)}


def common_type(spark_types: list[str]) -> str:
    """Return the type that holds every value of all the types, exactly.

    A column whose type changed keeps its old versions: the history's type must hold
    both. Where no number or time type does, it is text.
    """
    distinct = list(dict.fromkeys(spark_types))
    if len(distinct) == 1:
        return distinct[0]
    if set(distinct) <= {"float", "double"}:
        return "double"
    digits = [_digits(spark_type) for spark_type in distinct]
    if all(digits):
        whole = max(precision - scale for precision, scale in filter(None, digits))
        scale = max(scale for _, scale in filter(None, digits))
        if scale == 0 and set(distinct) <= set(_INTEGERS):
            return "bigint"
        if whole + scale <= 38:
            return f"decimal({whole + scale}, {scale})"
    return "string"


def _digits(spark_type: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal that holds the type; None for others."""
    if spark_type in _INTEGERS:
        return _INTEGERS[spark_type], 0
    found = re.fullmatch(r"decimal\((\d+), (\d+)\)", spark_type)
    return (int(found[1]), int(found[2])) if found else None
