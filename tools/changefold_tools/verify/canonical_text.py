"""One text for a value, whether a database printed it or a table of ours holds it.

A database prints ``t``, ``$1,234.50`` or ``{1,NULL}`` where the text of this project
(`connect.values`) is ``true``, ``1234.50`` or ``["1",null]``. Both become one form here,
in which equal values have equal texts, and two values that differ have two:

| Kind | Form |
| --- | --- |
| numbers | ``-12.5``: no zeros that say nothing, no exponent |
| single and double precision | the shortest text of the number of that width |
| dates, times | as ours, the fraction without trailing zeros; instants with a ``Z``, or with their offset |
| bytes | ``0x00ff`` |
| Bits | the number as binary digits, as many as declared |
| Json, hstore | its values, keys sorted |
| array | JSON array of the forms of its elements |
| points | ``POINT(1.5 -2.0)``, with its SRID if it has one |
| intervals, other shapes | `NOT_COMPARED` |
| all else | as it is |

What can not be read in the form of its kind stays as it is, and so equals only itself.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from changefold.connect.types import BYTES_AS_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from changefold.connect.types import ConnectType

__all__ = [
    "NOT_COMPARED",
    "Encoding",
    "Kind",
    "kind_of",
    "oracle_form",
    "our_form",
    "why_not_compared",
]

Encoding = Literal["", "hex", "base64"]

NOT_COMPARED: Final = "(not compared)"
"""Form of a value that the source's own text can not be compared with."""

_NUMBERS: Final = frozenset(
    {"int8", "int16", "int32", "int64", "uint64", "Year"}
    | {"Decimal", "VariableScaleDecimal"}
)
_TIMES: Final = frozenset(
    {"Time", "MicroTime", "NanoTime", "IsoTime", "StructuredTime"}
)
_TIMESTAMPS: Final = frozenset(
    {"Timestamp", "MicroTimestamp", "NanoTimestamp", "IsoTimestamp"}
    | {"StructuredTimestamp"}
)
_INSTANTS: Final = frozenset({"ZonedTimestamp", "StructuredZonedTimestamp"})
_BYTES: Final = frozenset({"bytes"}) | BYTES_AS_TEXT
_SHAPES: Final = frozenset({"Point", "Geometry", "Geography"})
_INTERVALS: Final = frozenset({"MicroDuration", "Interval"})

_UNLIMITED: Final = 2**31 - 1
"""Length of PostgreSQL's `bit varying` without one."""


@dataclass(frozen=True)
class Kind:
    """What the texts of a column mean.

    Attributes:
        base: As of a `ConnectType`.
        length: Number of bits.
        encoding: How bytes are written that came as a text.
        item: Kind of an array's elements.
    """

    base: str
    length: int | None = None
    encoding: Encoding = ""
    item: Kind | None = None


def kind_of(type_: ConnectType) -> Kind:
    """Return the kind of a column of a type."""
    return Kind(
        type_.base,
        type_.length,
        item=None if type_.items is None else kind_of(type_.items),
    )


def oracle_form(text: str, kind: Kind) -> str:
    """Return the form of what a database printed."""
    return _or_as_it_is(partial(_oracle, kind), text)


def our_form(text: str, kind: Kind) -> str:
    """Return the form of a text of this project's own."""
    return _or_as_it_is(partial(_ours, kind), text)


def why_not_compared(text: str, kind: Kind) -> str | None:
    """Return why a value that a database printed is not compared; none if it is."""
    if kind.base in _INTERVALS:
        return "an interval has another form at the source"
    if kind.base in _SHAPES and not _POINT.search(text):
        return "a shape has another form at the source"
    return None


def _or_as_it_is(convert: Callable[[str], str], text: str) -> str:
    try:
        return convert(text)
    except (ValueError, InvalidOperation, LookupError, TypeError, struct.error):
        return text


# ------------------------------------------------------------------------ numbers

_MANY_DIGITS: Final = 5000


def _number(text: str) -> str:
    number = Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > _MANY_DIGITS:
        return text
    plain = f"{number:f}"
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain == "-0" else plain


def _money(text: str) -> str:
    found = re.fullmatch(r"(-?)\$([0-9,]+\.[0-9]{2})", text)
    return _number(found[1] + found[2].replace(",", "") if found else text)


def _single(text: str) -> str:
    with np.errstate(over="ignore"):
        number = np.float32(text)
    return str(number)


def _double(text: str) -> str:
    return repr(float(text))


_BOOLEANS: Final = {"t": "true", "1": "true", "f": "false", "0": "false"}


# -------------------------------------------------------------------------- times


def _short_fraction(text: str) -> str:
    head, point, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return head + point + fraction if fraction else head


_CLOCK: Final = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?([+-][0-9:]+|Z)"
)


def _zoned_time(text: str) -> str:
    """Return a time of day in UTC, where the day may be another."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return text
    hour, minute, second = (int(part) for part in found.group(1, 2, 3))
    seconds = hour * 3600 + minute * 60 + second - _offset(found[5])
    minutes, second = divmod(seconds % 86_400, 60)
    clock = f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}.{found[4] or ''}"
    return _short_fraction(clock) + "Z"


def _offset(zone: str) -> int:
    if zone == "Z":
        return 0
    parts = [int(part) for part in zone[1:].split(":")]
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    return -seconds if zone[0] == "-" else seconds


def _instant(text: str) -> str:
    """Return an instant that was printed in UTC, with or without saying so."""
    if "infinity" in text or not text[-1:].isalnum():
        return text
    bare = re.sub(r" ?(Z|\+00(:?00)?)$", "", text).replace("T", " ")
    head, offset = _without_offset(bare)
    return _short_fraction(head.rstrip()) + (offset or "Z")


def _our_instant(text: str) -> str:
    head, offset = _without_offset(text.removesuffix("Z"))
    has_zone = bool(offset) or text.endswith("Z")
    return _short_fraction(head) + (offset or "Z") if has_zone else text


def _without_offset(text: str) -> tuple[str, str]:
    found = re.search(r"[+-][0-9]{2}:[0-9]{2}$", text)
    return (text, "") if found is None else (text[: found.start()], found[0])


# -------------------------------------------------------------------------- bytes


def _oracle_bytes(text: str) -> str:
    if not text.startswith(("\\x", "0x")):
        raise ValueError(f"Expected bytes as hexadecimal digits, got {text[:40]}")
    return "0x" + bytes.fromhex(text[2:]).hex()


def _our_bytes(kind: Kind, text: str) -> str:
    if kind.encoding == "hex":
        return "0x" + bytes.fromhex(text).hex()
    if kind.encoding == "base64":
        return "0x" + base64.b64decode(text, validate=True).hex()
    return "0x" + text.encode("latin-1").hex()


def _padded_bits(kind: Kind, text: str) -> str:
    # How many of PostgreSQL's `bit varying` were zeros at its head, no message says.
    if text.strip("01"):
        raise ValueError(f"Expected binary digits, got {text[:40]}")
    width = 0 if kind.length in {None, _UNLIMITED} else kind.length or 0
    return f"{int(text or '0', 2):b}".rjust(width, "0")


def _our_bits(kind: Kind, text: str) -> str:
    is_of_width = kind.length in {None, _UNLIMITED, len(text)}
    return _padded_bits(kind, text) if is_of_width else text


# --------------------------------------------------------------------------- JSON


class _Number(str):
    """A number of a JSON text, as its digits."""

    __slots__ = ()


def _json(text: str) -> str:
    return _dump(json.loads(text, parse_float=_Number, parse_int=_Number))


def _dump(value: object) -> str:
    if isinstance(value, _Number):
        return _number(value)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_dump(value[key])}" for key in sorted(value)]
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


_PAIR: Final = re.compile(
    r'"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|NULL)(?:, |$)', re.DOTALL
)


def _json_or_hstore(text: str) -> str:
    try:
        return _json(text)
    except ValueError:
        return _dump(_hstore(text))


def _hstore(text: str) -> dict[str, str | None]:
    entries: dict[str, str | None] = {}
    position = 0
    while position < len(text):
        found = _PAIR.match(text, position)
        if found is None:
            raise ValueError(f"Expected an hstore, got {text[:40]}")
        key, value = (
            None if part is None else re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL)
            for part in found.group(1, 2)
        )
        entries[str(key)] = value
        position = found.end()
    return entries


# ------------------------------------------------------------------------- arrays


def _array_form(texts: object, convert: Callable[[str], str]) -> object:
    if isinstance(texts, list):
        return [_array_form(text, convert) for text in texts]
    if isinstance(texts, dict):
        return texts
    return None if texts is None else _or_as_it_is(convert, str(texts))


def _innermost(kind: Kind) -> Kind:
    while kind.base == "array":
        kind = kind.item or Kind("string")
    return kind


def _our_array(kind: Kind, text: str) -> str:
    item = _innermost(kind)
    forms = _array_form(json.loads(text), lambda text: our_form(text, item))
    return json.dumps(forms, ensure_ascii=False)


def _oracle_array(kind: Kind, text: str) -> str:
    if text.startswith("["):
        # One with bounds, `[0:1]={..}`, is no JSON.
        return _our_array(kind, text)
    item = _innermost(kind)
    elements, rest = _read_array(text, 0)
    if rest != len(text):
        raise ValueError(f"Expected an array, got {text[:40]}")
    forms = _array_form(elements, lambda text: oracle_form(text, item))
    return json.dumps(forms, ensure_ascii=False)


_ELEMENT: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)', re.DOTALL)


def _read_array(text: str, start: int) -> tuple[list[Any], int]:
    """Read an array that PostgreSQL printed; return its elements and where it ends."""
    if text[start] != "{":
        raise ValueError(f"Expected an array, got {text[:40]}")
    elements: list[Any] = []
    position = start + 1
    if text[position] == "}":
        return elements, position + 1
    while True:
        element: Any
        if text[position] == "{":
            element, position = _read_array(text, position)
        else:
            found = _ELEMENT.match(text, position)
            if found is None:
                raise ValueError(f"Expected an element of an array, got {text[:40]}")
            quoted, bare = found.group(1, 2)
            element = None if bare == "NULL" else bare
            if quoted is not None:
                element = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
            position = found.end()
        elements.append(element)
        if text[position] == "}":
            return elements, position + 1
        if text[position] != ",":
            raise ValueError(f"Expected a comma in an array, got {text[:40]}")
        position += 1


# ------------------------------------------------------------------------- shapes

_COORDINATE: Final = r"[-+0-9.eE]+"
_POINT: Final = re.compile(
    rf"^(?:SRID=([0-9]+);)?(?:POINT)?\(({_COORDINATE})[ ,]({_COORDINATE})\)$"
)


def _point(x: float, y: float, srid: object) -> str:
    head = f"SRID={srid};" if srid not in {None, "", "0"} else ""
    return f"{head}POINT({x!r} {y!r})"


def _oracle_shape(text: str) -> str:
    found = _POINT.fullmatch(text)
    if found is None:
        return NOT_COMPARED
    return _point(float(found[2]), float(found[3]), found[1])


def _our_shape(text: str) -> str:
    members = json.loads(text)
    wkb = str(members["wkb"]).encode("latin-1")
    order = "<" if wkb[0] == 1 else ">"
    (shape,) = struct.unpack_from(f"{order}I", wkb, 1)
    if shape & 0xFF != 1:
        return NOT_COMPARED
    # EWKB has the SRID between the shape and the numbers.
    start = 9 if shape & 0x20000000 else 5
    x, y = struct.unpack_from(f"{order}2d", wkb, start)
    named = [members.get(axis) for axis in ("x", "y")]
    if named != [None, None] and [float(str(axis)) for axis in named] != [x, y]:
        raise ValueError(f"Expected the point that its WKB is, got {text[:80]}")
    return _point(x, y, members.get("srid"))


# -------------------------------------------------------------------------- kinds

_BOTH: Final[dict[str, Callable[[str], str]]] = {
    **dict.fromkeys(("ZonedTime", "StructuredZonedTime"), _zoned_time),
    **dict.fromkeys(("float", "float32"), _single),
    **dict.fromkeys(("double", "float64"), _double),
    **dict.fromkeys(_TIMES | _TIMESTAMPS, _short_fraction),
    **dict.fromkeys(_INTERVALS, lambda _text: NOT_COMPARED),
}

_ORACLE: Final[dict[str, Callable[[str], str]]] = {
    **_BOTH,
    **dict.fromkeys(_NUMBERS, _money),
    **dict.fromkeys(_SHAPES, _oracle_shape),
    **dict.fromkeys(("Json", "map"), _json_or_hstore),
    "boolean": _BOOLEANS.__getitem__,
    **dict.fromkeys(_INSTANTS, _instant),
    **dict.fromkeys(_BYTES, _oracle_bytes),
}
"""By the base of a kind, what reads a database's text; all others stay."""

_OURS: Final[dict[str, Callable[[str], str]]] = {
    **_BOTH,
    **dict.fromkeys(_NUMBERS, _number),
    **dict.fromkeys(_SHAPES, _our_shape),
    **dict.fromkeys(("Json", "map"), _json),
    **dict.fromkeys(_INSTANTS, _our_instant),
}


def _oracle(kind: Kind, text: str) -> str:
    if kind.base == "Bits":
        return _padded_bits(kind, text)
    if kind.base == "array":
        return _oracle_array(kind, text)
    convert = _ORACLE.get(kind.base)
    return text if convert is None else convert(text)


def _ours(kind: Kind, text: str) -> str:
    if kind.base in _BYTES:
        return _our_bytes(kind, text)
    if kind.base == "Bits":
        return _our_bits(kind, text)
    if kind.base == "array":
        return _our_array(kind, text)
    convert = _OURS.get(kind.base)
    return text if convert is None else convert(text)
