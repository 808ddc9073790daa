"""Names, texts and places as errors and rows write them."""

import json
from json.encoder import encode_basestring
from typing import Final

__all__ = ["NumberToken", "json_text", "member_path", "shorten", "token_text"]


class NumberToken(str):
    """A number that is no integer, as the message writes it, not as a float has it."""

    __slots__ = ()


def member_path(path: str, name: str) -> str:
    """Return the place of a member of an object, whatever its name."""
    name = shorten(name)
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{json_text(name)}]"


def shorten(text: str) -> str:
    """Return a text as an error may quote it."""
    return text if len(text) <= 60 else text[:57] + "..."


# `json.dumps` makes an encoder for each call.
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_text(value: object) -> str:
    """Return compact JSON, as the producers write it."""
    return _encode(value)


def token_text(value: object) -> str:
    """Return the compact JSON of what `strict_tokens` parsed, numbers untouched."""
    if type(value) is str:
        return encode_basestring(value)
    if isinstance(value, NumberToken):
        return str(value)
    if isinstance(value, dict):
        members = [
            f"{encode_basestring(name)}:{token_text(item)}"
            for name, item in value.items()
        ]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join([token_text(item) for item in value]) + "]"
    return json_text(value)
