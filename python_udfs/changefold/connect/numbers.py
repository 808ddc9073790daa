"""Numbers, words and bytes as texts."""

import binascii
from decimal import Decimal, InvalidOperation
from typing import Final

import numpy as np

from changefold.connect.mismatch import Convert, MismatchError
from changefold.json.encode import NumberToken

__all__ = [
    "ANY_BITS",
    "MAX_BITS",
    "base64_url_bytes",
    "bits",
    "boolean",
    "decimal",
    "decimal_number",
    "double",
    "hex_bytes",
    "integer",
    "plain",
    "plain_bytes",
    "single",
    "unsigned_bigint",
    "variable_decimal",
    "whole",
]

_NOT_FINITE: Final = {
    "NaN": "NaN",
    "Infinity": "Infinity",
    "-Infinity": "-Infinity",
}


def whole(value: object, expected: str, bits: int = 64) -> int:
    """Return an integer of so many bits.

    Args:
        value: The value.
        expected: What it should be, for the error.
        bits: The bits.

    Raises:
        MismatchError: If it is another value.
    """
    if type(value) is int and -(1 << bits - 1) <= value < 1 << bits - 1:
        return value
    raise MismatchError(expected, value)


def integer(bits: int) -> Convert:
    """Return how an integer of so many bits becomes its digits."""
    low, end, expected = -(1 << bits - 1), 1 << bits - 1, f"`int{bits}`"

    def convert(value: object) -> str:
        if type(value) is int and low <= value < end:
            return str(value)
        raise MismatchError(expected, value)

    return convert


def unsigned_bigint(value: object) -> str:
    """Return the digits of a number that TiCDC writes as if it had a sign."""
    return str(whole(value, "`int64`") % (1 << 64))


def boolean(value: object) -> str:
    """Return the word of a bool."""
    if isinstance(value, bool):
        return "true" if value else "false"
    raise MismatchError("`bool`", value)


def plain(value: object) -> str:
    """Return a text as it came."""
    if type(value) is str:
        return value
    raise MismatchError("`str`", value)


def single(value: object) -> str:
    """Return the shortest text of a number of single precision."""
    text = _not_finite(value, "`float`")
    if text is None:
        # The shortest text of a number of this width: that of a double has more digits.
        with np.errstate(over="ignore"):
            number = np.float32(str(value))
        if not np.isfinite(number):
            raise MismatchError("`float`", value)
        text = str(number)
    return text


def double(value: object) -> str:
    """Return the shortest text of a number of double precision."""
    text = _not_finite(value, "`double`")
    if text is None:
        number = float(str(value))
        if number in {float("inf"), float("-inf")}:
            raise MismatchError("`double`", value)
        text = repr(number)
    return text


def _is_number(value: object) -> bool:
    return type(value) is int or isinstance(value, NumberToken)


def _not_finite(value: object, expected: str) -> str | None:
    """Return the text of what is no number; ``None`` for a number."""
    if _is_number(value):
        return None
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise MismatchError(expected, value)


_MAX_DIGITS: Final = 100_000
"""More digits than any database has; PostgreSQL's ``numeric`` has up to 147,455."""

# PostgreSQL's connector writes a negative scale in the 11 bits of the type modifier.
_SCALE_BITS: Final = 11
_MAX_SCALE: Final = 1000


def decimal(scale: int, value: object) -> str:
    """Return the digits of a Decimal, of which so many come after the point."""
    if _is_number(value):
        return decimal_number(value, scale)
    text = _scaled(_unscaled(value), scale)
    # Such values come multiplied by 10 to the power of the wrong scale: right, but with
    # a thousand zeros.
    is_wrapped = scale > _MAX_SCALE
    return text.rstrip("0").rstrip(".") if is_wrapped and "." in text else text


def _unscaled(value: object) -> int:
    found = octets(value)
    if not found:
        raise MismatchError("the bytes of a number in base64", value)
    return int.from_bytes(found, "big", signed=True)


def _scaled(unscaled: int, scale: int) -> str:
    if unscaled.bit_length() > 4 * _MAX_DIGITS or abs(scale) > _MAX_DIGITS:
        raise MismatchError(f"at most {_MAX_DIGITS} digits", "more")
    digits = _digits(abs(unscaled))
    sign = "-" if unscaled < 0 else ""
    if scale <= 0:
        return sign + (digits + "0" * -scale if unscaled else "0")
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def _digits(number: int) -> str:
    # Python refuses to print more than 4300 digits in one go.
    if number.bit_length() < 14_000:
        return str(number)
    head, tail = divmod(number, 10**4000)
    return _digits(head) + str(tail).rjust(4000, "0")


def decimal_number(value: object, scale: int | None = None) -> str:
    """Return a decimal that came as a number, from the converter or from TiCDC."""
    if not _is_number(value):
        raise MismatchError("a number", value)
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise MismatchError("a number", value) from None
    if abs(number.adjusted()) > _MAX_DIGITS or (scale or 0) > _MAX_DIGITS:
        raise MismatchError(f"at most {_MAX_DIGITS} digits", value)
    text = f"{number:f}"
    if scale is None or scale <= 0:
        return text
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(scale, '0')}"


def variable_decimal(value: object) -> str:
    """Return the digits of a decimal that comes with its scale."""
    if not isinstance(value, dict) or value.keys() != {"scale", "value"}:
        raise MismatchError("an object of `scale` and `value`", value)
    scale = whole(value["scale"], "`int32`", 32)
    if _is_number(value["value"]):
        return decimal_number(value["value"], scale)
    return _scaled(_unscaled(value["value"]), scale)


def octets(value: object) -> bytes:
    if type(value) is not str:
        raise MismatchError("base64", value)
    try:
        return binascii.a2b_base64(value, strict_mode=True) if value else b""
    except (binascii.Error, ValueError):
        raise MismatchError("base64", value, "bad_base64") from None


def plain_bytes(value: object) -> str:
    """Return a character for each byte of base64."""
    return octets(value).decode("latin-1")


def hex_bytes(value: object) -> str:
    """Return a character for each byte of hexadecimal digits."""
    if type(value) is not str:
        raise MismatchError("hexadecimal digits", value)
    try:
        return binascii.unhexlify(value).decode("latin-1")
    except (binascii.Error, ValueError):
        raise MismatchError("hexadecimal digits", value) from None


def base64_url_bytes(value: object) -> str:
    """Return a character for each byte of base64 that is safe in addresses."""
    if type(value) is not str:
        raise MismatchError("base64", value)
    # Some encoders leave out the padding.
    padded = value + "=" * (-len(value) % 4) if "=" not in value else value
    return plain_bytes(padded.replace("-", "+").replace("_", "/"))


MAX_BITS: Final = 1_000_000
"""More than anybody's: each value is filled up to the declared length."""

ANY_BITS: Final = 2**31 - 1
"""What PostgreSQL's ``bit varying`` without a length declares."""


def bits(length: int) -> Convert:
    """Return how a value of so many bits becomes its binary digits."""
    width = 0 if length == ANY_BITS else length

    def convert(value: object) -> str:
        number = int.from_bytes(octets(value), "little")
        if number.bit_length() > length:
            raise MismatchError(f"at most {length} bits", value)
        return f"{number:b}".rjust(width, "0")

    return convert
