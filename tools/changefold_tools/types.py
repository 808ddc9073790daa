"""MySQL types to Spark types, by the seed ``mysql_types.csv``."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from changefold.mysql_types import MySqlType

_INTEGERS: Final = {"int": 10, "bigint": 19}
"""Spark's integer types here, and the decimal digits that hold them."""


@dataclass(frozen=True)
class ColumnType:
    """How a MySQL type is kept.

    Attributes:
        spark_type: Type of the column.
        conversion: Macro that makes it from the message's text.
        members: Names of an ENUM's or SET's members.
        form: The stated form, from the seed.
    """

    spark_type: str
    conversion: str
    members: tuple[str, ...] = ()
    form: str = ""


class TypeSeed:
    """The rows of the seed, by MySQL type and variant."""

    def __init__(self, path: Path) -> None:
        with path.open(newline="", encoding="utf-8") as file:
            self._rows = {
                (row["mysql_type"], row["variant"]): row for row in csv.DictReader(file)
            }

    def column_type(self, mysql_type: MySqlType) -> ColumnType:
        """Return how a column of a MySQL type is kept.

        Raises:
            KeyError: If the seed has no such type.
        """
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
            form=row["form"],
        )


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
