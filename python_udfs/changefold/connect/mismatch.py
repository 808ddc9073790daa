"""What a value becomes, and the error of one that is not of its type."""

from collections.abc import Callable
from typing import Any, TypeAlias, Union

from changefold.json.encode import json_text

__all__ = ["Convert", "MismatchError", "Node", "as_text"]

Node: TypeAlias = Union[str, list["Node | None"], dict[str, "Node | None"]]  # noqa: UP007  # a type that names itself
"""A value in its text form; of an array, map or struct the texts within."""

Convert = Callable[[Any], Node]


class MismatchError(Exception):
    """A value that is not what its schema says."""

    def __init__(
        self, expected: str, value: object, error_class: str = "schema_mismatch"
    ) -> None:
        super().__init__(expected, value)
        self.expected = expected
        self.value = value
        self.error_class = error_class
        self.place = ""


def as_text(node: Node) -> str:
    """Return a value's text; of what has values within, JSON."""
    return node if isinstance(node, str) else json_text(node)
