"""Arrays, maps and structs, and values of which no type is known."""

from collections.abc import Mapping

from changefold.connect.mismatch import Convert, MismatchError, Node
from changefold.json.encode import shorten

__all__ = ["array", "map_of", "struct_of", "untyped", "untyped_object"]


def untyped(value: object) -> Node:
    """Return a value of unknown type, not null, as it came: numbers and texts too.

    An array or object is JSON of such texts.
    """
    if type(value) is str:
        return value
    node = _loose_node(value)
    return "" if node is None else node


def untyped_object(value: object) -> Node:
    """Return an object of unknown type as it came."""
    # A map whose keys are no texts is an array of pairs.
    if not isinstance(value, (dict, list)):
        raise MismatchError("`object`", value)
    return untyped(value)


def _loose_node(value: object) -> Node | None:
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return {name: _loose_node(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_loose_node(item) for item in value]
    return str(value)


def array(convert: Convert) -> Convert:
    """Return how an array becomes a list of texts."""

    def convert_all(value: object) -> list[Node | None]:
        if not isinstance(value, list):
            raise MismatchError("`array`", value)
        return [
            _within(convert, item, f"[{index}]") for index, item in enumerate(value)
        ]

    return convert_all


def map_of(key: Convert, convert: Convert) -> Convert:
    """Return how a map becomes an object of texts, or a list of pairs."""

    def convert_all(value: object) -> Node:
        if isinstance(value, dict):
            return {
                name: _within(convert, item, f".{shorten(name)}")
                for name, item in value.items()
            }
        # So does the converter write a map whose keys are no texts.
        if isinstance(value, list) and all(
            isinstance(pair, list) and len(pair) == 2 for pair in value
        ):
            return [
                [
                    _within(key, pair[0], f"[{index}][0]"),
                    _within(convert, pair[1], f"[{index}][1]"),
                ]
                for index, pair in enumerate(value)
            ]
        raise MismatchError("`object`", value)

    return convert_all


def struct_of(parts: Mapping[str, tuple[Convert, bool]]) -> Convert:
    """Return how a struct becomes an object of texts.

    Args:
        parts: By the field, how it is read, and whether it may be null.
    """

    def convert_all(value: object) -> dict[str, Node | None]:
        if not isinstance(value, dict):
            raise MismatchError("`object`", value)
        if not value.keys() <= parts.keys():
            names = ", ".join(f"`{name}`" for name in parts)
            raise MismatchError(f"an object of {shorten(names)}", value)
        for name, (_, optional) in parts.items():
            if value.get(name) is None and not optional:
                raise MismatchError(f"an object with `{shorten(name)}`", value)
        return {
            name: _within(convert, value.get(name), f".{name}")
            for name, (convert, _) in parts.items()
        }

    return convert_all


def _within(convert: Convert, value: object, place: str) -> Node | None:
    if value is None:
        return None
    try:
        return convert(value)
    except MismatchError as error:
        error.place = place + error.place
        raise
