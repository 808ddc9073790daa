"""Kafka Connect's types, as this project writes them: ``connect.Decimal(10,2)``.

The last part of the logical name, or the type itself where it has none: the packages
``org.apache.kafka.connect.data`` and ``io.debezium`` write one text for a name
(`connect_values`), so they need not be told apart.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["PREFIX", "ConnectType", "parse_connect_type"]

PREFIX: Final = "connect."

_TYPE: Final = re.compile(r"connect\.(\w+)(?:\((\d+)?(?:,(-?\d+))?\))?")


class ConnectType(NamedTuple):
    """One column type.

    Attributes:
        base: ``int32``, ``Decimal``, ``MicroTimestamp``.
        length: Digits of a decimal, number of bits.
        scale: Digits of a decimal behind the point.
    """

    base: str
    length: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        """Return the text, which `parse_connect_type` reads back."""
        if self.length is None and self.scale is None:
            return PREFIX + self.base
        length = "" if self.length is None else self.length
        scale = "" if self.scale is None else f",{self.scale}"
        return f"{PREFIX}{self.base}({length}{scale})"


@lru_cache(maxsize=4096)
def parse_connect_type(text: str) -> ConnectType:
    """Read a type.

    Raises:
        ValueError: If the text is not of that form.
    """
    found = _TYPE.fullmatch(text)
    if found is None:
        raise ValueError(f"Expected a type such as `connect.int32`, got `{text}`")
    base, length, scale = found.groups()
    return ConnectType(
        base,
        None if length is None else int(length),
        None if scale is None else int(scale),
    )
