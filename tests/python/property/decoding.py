"""Decoders that raise what is wrong with a message, for tests of one message."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from changefold.errors import CdcDecodeError


class _Decoded(Protocol):
    @property
    def error(self) -> CdcDecodeError | None: ...


_Message = TypeVar("_Message", bound=_Decoded)


def raising(read: Callable[[bytes | None], _Message]) -> Callable[..., _Message]:
    """Return a reader of messages that raises the error of one that it can't read."""

    @wraps(read)
    def decode(value: bytes | None) -> Any:
        message = read(value)
        if message.error is not None:
            raise message.error
        return message

    return decode
