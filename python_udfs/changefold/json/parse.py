"""Parse the JSON of a message strictly.

What the decoders of all JSON protocols need: a text is accepted only if every reader
of it sees the same thing, and what is refused is told with its place, in sentences of
one form.

Duplicate keys need care because parsers keep the last one without a word, while the
raw text of a row still has both, for the next reader to choose from.
"""

import json
import re
from json import JSONDecodeError
from typing import Any, Final, NoReturn

from changefold.errors import CdcDecodeError
from changefold.json.encode import NumberToken, member_path, shorten
from changefold.json.fields import wrong_type

__all__ = [
    "MAX_DEPTH",
    "MAX_MESSAGE_BYTES",
    "check_depth",
    "has_members",
    "require_value",
    "strict_object",
    "strict_tokens",
]

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""Larger messages are refused. Kafka's own limit is 1 MiB unless it is raised, and
Spark's ``from_json`` reads no text beyond 20 million characters."""

MAX_DEPTH: Final = 64
"""Deepest nesting that is parsed. A row lies at 3 at most: message, ``data``, row."""


class _RepeatedKeyError(Exception):
    """An object has a key twice."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedKeyError
    return members


class _Members(dict[str, object]):
    """An object that remembers which key it has twice."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.repeated: str | None = None
        for name, _ in pairs:
            if name in seen:
                self.repeated = name
                break
            seen.add(name)


def _integer(digits: str) -> int:
    # Python refuses more than 4300 digits; 40 are far out of range already.
    return int(digits[:40])


def _constant(name: str) -> NoReturn:
    # `NaN` and `Infinity` are extensions of Python's parser.
    raise CdcDecodeError("not_json", "$", f"Expected JSON, got `{name}`")


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant
)
# Finds where a key comes twice; used only when one does.
_member_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_Members, parse_int=_integer, parse_constant=_constant
)
_token_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=lambda digits: NumberToken(digits) if len(digits) > 40 else int(digits),
    parse_float=NumberToken,
    parse_constant=_constant,
)
_last_token_decoder: Final = json.JSONDecoder(
    parse_int=_token_decoder.parse_int,
    parse_float=NumberToken,
    parse_constant=_constant,
)
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
# A string without an end is one to the end: else each quote in it would be tried anew.
_BRACKET: Final = re.compile(r'"(?:[^"\\]++|\\.?)*+"?|[\[\]{}]', re.DOTALL)
_JSON_SPACE: Final = " \t\n\r"


def require_value(value: bytes | None) -> bytes:
    """Return a message, whatever is in it, if it is there and not too large.

    Args:
        value: The value of the Kafka record.

    Raises:
        CdcDecodeError: If it is null or above `MAX_MESSAGE_BYTES`.
    """
    if value is None:
        raise CdcDecodeError("null_value", "$", "Expected a message, got a null value")
    if len(value) > MAX_MESSAGE_BYTES:
        raise CdcDecodeError(
            "too_large",
            "$",
            f"Expected at most {MAX_MESSAGE_BYTES} bytes, got {len(value)}",
        )
    return value


def strict_object(value: bytes | None, path: str) -> dict[str, Any]:
    """Parse one object: a message, or a piece of one by itself.

    Args:
        value: JSON text; ``None`` for a record without a value.
        path: Where the object lies in the message.

    Raises:
        CdcDecodeError: If it is no JSON object, not UTF-8, has a key twice or half of
            a surrogate pair, or is too large or too deep.
    """
    document = _parse(value, _decoder)
    if not isinstance(document, dict):
        raise wrong_type("object", document, path)
    return document


def strict_tokens(value: bytes | None, *, is_each_once: bool = True) -> Any:
    """Parse one JSON value, its numbers as int or `NumberToken`.

    Args:
        value: JSON text; ``None`` for a record without a value.
        is_each_once: Whether to refuse an object that has a key twice; else the last one
            counts.

    Raises:
        CdcDecodeError: As `strict_object`, but for the value's type.
    """
    return _parse(value, _token_decoder if is_each_once else _last_token_decoder)


def _parse(value: bytes | None, decoder: json.JSONDecoder) -> object:
    """Parse JSON: UTF-8, no duplicate keys, no lone surrogates, not too deep."""
    value = require_value(value)
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(value, error) from None
    if not text.strip(_JSON_SPACE):
        raise CdcDecodeError("not_json", "$", "Expected JSON, got an empty value")
    check_depth(text)
    try:
        document = _load(text, decoder)
    except _RepeatedKeyError:
        document = _load(text, _member_decoder)
        _check_tree(document, "$")
    if _SURROGATE_ESCAPE.search(text) is not None:
        _check_tree(document, "$")
    return document


def _load(text: str, decoder: json.JSONDecoder) -> object:
    """Parse a text that must be one JSON value and no more."""
    start = len(text) - len(text.lstrip(_JSON_SPACE))
    try:
        document, end = decoder.raw_decode(text, start)
    except JSONDecodeError as error:
        raise _not_json(text, error) from None
    rest = text[end:].lstrip(_JSON_SPACE)
    if rest:
        raise CdcDecodeError(
            "not_json",
            "$",
            f"Expected the end of the message, got `{shorten(rest)}` at character "
            f"{len(text) - len(rest)}",
        )
    loaded: object = document
    return loaded


def check_depth(text: str) -> None:
    """Refuse deep nesting before a recursive parser sees it.

    Args:
        text: A JSON text.

    Raises:
        CdcDecodeError: If it is deeper than `MAX_DEPTH`.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET.finditer(text):
        bracket = match.group()
        if bracket in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise CdcDecodeError(
                    "too_deep",
                    "$",
                    f"Expected at most {MAX_DEPTH} levels of nesting, got more at "
                    f"character {match.start()}",
                )
        elif bracket in "]}":
            depth -= 1


def _check_tree(node: object, path: str) -> None:
    """Find repeated keys and lone surrogates, and where they are."""
    if isinstance(node, str):
        if not _is_unicode(node):
            raise CdcDecodeError(
                "lone_surrogate",
                path,
                "Expected Unicode text, got half of a surrogate pair",
            )
    elif isinstance(node, list):
        for index, child in enumerate(node):
            _check_tree(child, f"{path}[{index}]")
    elif isinstance(node, dict):
        if isinstance(node, _Members) and node.repeated is not None:
            raise CdcDecodeError(
                "duplicate_key",
                member_path(path, node.repeated),
                f"Expected each key once, got `{shorten(node.repeated)}` twice",
            )
        for name, child in node.items():
            _check_tree(name, member_path(path, name))
            _check_tree(child, member_path(path, name))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_utf8(value: bytes, error: UnicodeDecodeError) -> CdcDecodeError:
    if error.reason == "unexpected end of data" and error.end == len(value):
        return CdcDecodeError(
            "truncated_json",
            "$",
            f"Expected more bytes after {len(value)}, got the end within a character",
        )
    return CdcDecodeError(
        "not_utf8",
        "$",
        f"Expected UTF-8, got byte 0x{value[error.start]:02X} at byte {error.start}",
    )


def _not_json(text: str, error: JSONDecodeError) -> CdcDecodeError:
    rest = text[error.pos :].rstrip(_JSON_SPACE)
    if _is_truncated(rest, error.msg):
        return CdcDecodeError(
            "truncated_json",
            "$",
            f"Expected more JSON after {len(text)} characters, got the end",
        )
    if rest.startswith("\ufeff"):
        return CdcDecodeError("not_json", "$", "Expected JSON, got a byte order mark")
    return CdcDecodeError(
        "not_json",
        "$",
        f"Expected JSON, got `{shorten(rest)}` at character {error.pos}",
    )


def _is_truncated(rest: str, reason: str) -> bool:
    """Whether the parser stopped only because the text did."""
    if not rest or reason.startswith("Unterminated string"):
        return True
    if reason.startswith("Invalid \\uXXXX escape"):
        # Python wants a character behind the four digits.
        return re.fullmatch(r"\\?u?[0-9a-fA-F]{0,4}", rest) is not None
    if reason.startswith("Expecting value"):
        return any(word.startswith(rest) for word in ("true", "false", "null", "-"))
    return False


def has_members(value: bytes, count: int) -> bool:
    """Tell whether compact JSON has so many members in all its objects.

    If it has as many as were read, no key came twice, which parsers do not tell. In a
    text each quote has a backslash before it, so a bare one before a colon ends a name.

    Args:
        value: A JSON text that was parsed, without blanks, as producers write it. One
            with a text that begins with a colon seems to have more members, one with a
            backslash that ends a name fewer.
        count: Their number.
    """
    found = value.count(b'":')
    return found == count or found - value.count(b'\\":') == count
