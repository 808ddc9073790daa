"""Rows that came without a schema, read by the types that other messages told."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from changefold.connect.mismatch import Convert, MismatchError, as_text
from changefold.connect.types import UNTYPED, parse_connect_type
from changefold.connect.unavailable import UNAVAILABLE
from changefold.connect.values import read_columns
from changefold.errors import CdcDecodeError
from changefold.json.encode import NumberToken
from changefold.json.parse import strict_tokens

__all__ = ["read_untyped"]

_texts: Final = msgspec.json.Decoder(dict[str, str | None]).decode
_encode: Final = msgspec.json.Encoder().encode


def read_untyped(
    image: str, column_types: str, read_as: str, connector: str | None
) -> str:
    """Return a row whose values without a type are read by those of other messages.

    A value that is none of its type is left out, and so is each of a column that other
    messages bring in several types: which of them it is in, nothing tells.

    Args:
        image: The row: JSON object of texts, as `connect.nested.untyped` writes them.
        column_types: JSON object of the types that its message tells.
        read_as: JSON object of the columns that other messages tell of, and their type;
            null for several.
        connector: Name of the connector, see `connect.times.nano_timestamp`.

    Raises:
        ValueError: If one of them is not that.
    """
    told = _texts(column_types)
    types = _texts(read_as)
    row: dict[str, str | None] = {}
    for name, text in _texts(image).items():
        if text is None or name not in types or told.get(name) != UNTYPED:
            row[name] = text
            continue
        found = _read(text, types[name], connector)
        if found is not None:
            row[name] = found
    return _encode(row).decode()


def _read(text: str, type_text: str | None, connector: str | None) -> str | None:
    """Return the text of a value in a type; ``None`` if it is none, or may be two.

    A decimal may come as a number or as base64: ``1250`` is both.
    """
    if type_text is None:
        return None
    convert = _converter(type_text, connector)
    found: set[str] = set()
    for value in _values(text):
        try:
            found.add(as_text(convert(value)))
        except MismatchError:
            continue
    return found.pop() if len(found) == 1 else None


@lru_cache(maxsize=256)
def _converter(type_text: str, connector: str | None) -> Convert:
    types = {"": parse_connect_type(type_text)}
    return read_columns(types, UNAVAILABLE, connector).columns[""].convert


def _values(text: str) -> Iterator[object]:
    """Yield what the message may have had in the place of a text."""
    yield text
    if text[:1] in {"{", "["}:
        try:
            document = strict_tokens(text.encode())
        except CdcDecodeError:
            return
        yield document
        yield _with_numbers(document)
    else:
        value = _value(text)
        if value is not text:
            yield value


def _with_numbers(node: object) -> object:
    """Return a document of texts with the numbers and words that they may have been."""
    if isinstance(node, dict):
        return {name: _with_numbers(item) for name, item in node.items()}
    if isinstance(node, list):
        return [_with_numbers(item) for item in node]
    return _value(node) if type(node) is str else node


def _value(text: str) -> object:
    """Return the number or the word that a text may have been, else the text."""
    if text in _WORDS:
        return _WORDS[text]
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if _INTEGER.fullmatch(text) else NumberToken(text)


_WORDS: Final = {"true": True, "false": False}
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INTEGER: Final = re.compile(r"-?[0-9]{1,4000}")
