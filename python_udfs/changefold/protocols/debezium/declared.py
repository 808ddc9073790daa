"""What a topic declares of its messages."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from changefold.connect.declared import read_options, read_types

__all__ = ["Declared", "read_declared"]


class Declared(NamedTuple):
    """What a topic declares: types, and the fields of `connect.declared.Options`."""

    types: str | None
    placeholder: str
    keys: Mapping[str, tuple[str, ...]]
    is_compacted: bool


@lru_cache(maxsize=64)
def read_declared(types: str | None, options: str | None) -> Declared:
    """Read what a topic declares.

    Args:
        types: The types of the columns of all tables, see `connect.declared`.
        options: See `connect.declared.Options`.

    Raises:
        ValueError: If it is wrong.
    """
    read_types(types)
    return Declared(types, *read_options(options))
