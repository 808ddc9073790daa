"""Keys of messages: that of the row's table, however it came."""

import contextlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from changefold.connect.rows import RowShape, undeclared
from changefold.errors import CdcDecodeError
from changefold.json.encode import shorten
from changefold.json.parse import require_value
from changefold.protocols.debezium.declared import Declared
from changefold.protocols.debezium.message import DebeziumMessage, EventKind, to_json
from changefold.protocols.debezium.parts import read_part
from changefold.protocols.debezium.schema import KEY, key_schema

__all__ = [
    "ROUTER_FIELD",
    "WRAPPER",
    "Key",
    "check_wrapper",
    "keep_key",
    "key_of_row",
    "read_key",
    "read_tombstone",
    "take_key",
]

ROUTER_FIELD: Final = "__dbz__physicalTableIdentifier"
"""What the transform `ByLogicalTableRouter` adds to keys; no column of the table."""


class Key(msgspec.Struct, gc=False):
    """A key that was read.

    Attributes:
        texts: Of its columns.
        shape: How it was read; none if it is of the row.
    """

    texts: Mapping[str, str | None]
    shape: RowShape | None = None


def read_tombstone(
    message: DebeziumMessage, key: bytes | None, declared: Declared
) -> EventKind:
    """Read the key of a message without a value.

    Raises:
        CdcDecodeError: If it has none, or one of a compacted topic can not be read.
    """
    try:
        found = read_key(key, undeclared(declared.placeholder), declared)
    except CdcDecodeError:
        if declared.is_compacted:
            raise
        # The delete came before it.
        return "tombstone"
    if found is None:
        raise CdcDecodeError(
            "null_tombstone_key", KEY, "Expected the key of a deleted row, got `null`"
        )
    take_key(message, found)
    return "tombstone"


def keep_key(message: DebeziumMessage, key: bytes | None, declared: Declared) -> None:
    """Take the key of a message to whose meaning it adds nothing, if it can be read."""
    with contextlib.suppress(CdcDecodeError):
        take_key(message, read_key(key, undeclared(declared.placeholder), declared))


def take_key(message: DebeziumMessage, key: Key | None) -> None:
    """Fill in the key of a message, if there is one."""
    if key is not None:
        message.key = to_json(key.texts)
        message.primary_key = _names_text(tuple(key.texts))


@lru_cache(maxsize=4096)
def _names_text(names: tuple[str, ...]) -> str:
    return to_json(names)


def read_key(
    key: bytes | None,
    shape: RowShape,
    declared: Declared,
    connector: str | None = None,
    table: str = "",
) -> Key | None:
    """Read the key of a record.

    Args:
        key: The key.
        shape: Of the row, for a key without a schema.
        declared: What the topic declares.
        connector: As in `connect.values.row_shape`.
        table: Name of the table where its bytes come as texts, else empty.

    Returns:
        The key; none if it has no column, as TiCDC's of a table without one.

    Raises:
        CdcDecodeError: If it can not be read.
    """
    if key is None:
        return None
    try:
        part = read_part(require_value(key), KEY)
    except CdcDecodeError as error:
        path = KEY + error.path.removeprefix(KEY).removeprefix("$")
        raise CdcDecodeError(error.error_class, path, error.message) from None
    if part.payload is None:
        return None
    placeholder = declared.placeholder
    if part.schema is not None:
        types = declared.types if table else None
        of_key = key_schema(part.schema, placeholder, connector, types, table)
        row = of_key.texts(part.payload, part.path)
    else:
        # It has some of the columns.
        of_key = shape.loose(placeholder)
        row = of_key.texts(part.payload, part.path)
        if shape.other is None and row.contradicted:
            # What the schema of the value says, was not declared.
            raise next(iter(row.contradicted.values()))
    row.texts.pop(ROUTER_FIELD, None)
    return Key(row.texts, of_key) if row.texts else None


def _key_of_text(
    key: bytes, payload: Mapping[str, object], texts: Mapping[str, str | None]
) -> dict[str, str] | None:
    """Return the columns that a text such as ``Struct{id=7}`` names beyond doubt.

    So `toString` of a struct of Kafka Connect writes a key, in the order of its fields,
    and the string converter sends it. Any of it might be part of a value: what counts is
    that it can be read in one way only, as columns of the row and their values.

    Args:
        key: The key.
        payload: The row, as it came.
        texts: Its texts.
    """
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    if not text.startswith("Struct{") or not text.endswith("}"):
        return None
    whole = text.removeprefix("Struct{").removesuffix("}")
    parts = [
        (f"{name}={form}", name)
        for name in texts
        for form in {texts[name], _java_text(payload.get(name))}
        if form is not None
    ]
    names = _only_way_to_read(whole, parts)
    if names is None:
        return None
    return {name: str(texts[name]) for name in names}


def _java_text(value: object) -> str | None:
    """Return what `toString` of a value writes, where that is told by its JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | str) else None


def _only_way_to_read(whole: str, parts: Iterable[tuple[str, str]]) -> list[str] | None:
    """Return the columns whose parts, joined by commas, are a text.

    Args:
        whole: The text.
        parts: Parts, each with its column and an equals sign after that.

    Returns:
        The columns in order; ``None`` if there are none, or several ways to read it.
    """
    # Parts that stand at one place agree up to their first equals sign.
    by_head: dict[str, dict[str, list[str]]] = {}
    for part, name in parts:
        head = part[: part.index("=") + 1]
        by_head.setdefault(head, {}).setdefault(part, []).append(name)
    end = len(whole) + 1
    ways = {0: 1}
    before: dict[int, tuple[int, str]] = {}
    for start in [0, *(place + 1 for place, sign in enumerate(whole) if sign == ",")]:
        if start not in ways:
            continue
        head = whole[start : whole.find("=", start) + 1]
        candidates = by_head.get(head, {})
        for length in {len(part) for part in candidates}:
            names = candidates.get(whole[start : start + length], [])
            behind = start + length
            if names and (behind == len(whole) or whole[behind] == ","):
                ways[behind + 1] = ways.get(behind + 1, 0) + ways[start] * len(names)
                before[behind + 1] = start, names[0]
    if ways.get(end) != 1:
        return None
    found: list[str] = []
    place = end
    while place:
        place, name = before[place]
        found.insert(0, name)
    return found if len(set(found)) == len(found) else None


WRAPPER: Final = frozenset({"schema", "payload"})


def check_wrapper(key: Key | None, row: object) -> None:
    """Refuse a key that is one in a wrapper: with a schema of null, or no object.

    Where the row has such columns, it is the key.
    """
    names = key.texts.keys() if key is not None else set()
    columns = row.keys() if isinstance(row, dict) else set()
    if names and names <= WRAPPER and not names <= columns:
        found = ", ".join(sorted(names))
        raise CdcDecodeError(
            "schema_mismatch",
            KEY,
            f"Expected columns of a key and their schema, got an object of `{found}`",
        )


def key_of_row(
    texts: Mapping[str, str | None],
    payload: Mapping[str, object],
    key: bytes | None,
    columns: tuple[str, ...] | None,
    error: CdcDecodeError | None,
) -> tuple[Key | None, CdcDecodeError | None]:
    """Return the key that a row has where its message tells none.

    Args:
        texts: Of the row.
        payload: The row as it came.
        key: The message's key.
        columns: Those of the key that was declared; ``None`` if none was.
        error: Why the message's key could not be read.

    Returns:
        The key, none if there is none; and what is wrong.
    """
    if columns is None:
        found = _key_of_text(key, payload, texts) if key else None
        return (None, error) if found is None else (Key(found), None)
    for name in columns:
        if texts.get(name) is None:
            return None, CdcDecodeError(
                "no_declared_key",
                KEY,
                f"Expected a row with `{shorten(name)}` of the declared key",
            )
    if not columns:
        return None, None
    return Key({name: texts[name] for name in columns}), None
