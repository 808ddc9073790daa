"""Convert a column value as ALTER TABLE ... MODIFY converts it.

A DDL that changes the type of a column converts the values of all rows, and no row
event says so. `convert_value` does the same to a value in the *wire form* of
Canal-JSON: ENUM as index, SET as bit mask, BIT as unsigned number, bytes as Latin-1
characters, DECIMAL with its declared scale, times with their declared digits, FLOAT
and DOUBLE in shortest plain notation.

Sources: MySQL 8.0 reference manual, 15.1.9 "ALTER TABLE", 13.2.6 "Fractional
Seconds", 13.2.8 "Conversion Between Date and Time Types", 14.24.4 "Rounding
Behavior"; ``Datum.ConvertTo`` of TiDB (pkg/types/datum.go) where the two differ:
FLOAT to text keeps plain notation, FLOAT and DOUBLE round half to even.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import struct
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from changefold.mysql.text_protocol import shortest_float32
from changefold.mysql.types import INTEGER_BITS, TIME_TYPES, MySqlType

if TYPE_CHECKING:
    from collections.abc import Callable

_EXACT: Final = Context(prec=400)
"""Wide enough for a DOUBLE in plain notation and for DECIMAL(65,30)."""


FLOATS: Final = frozenset({"float", "double"})


_NUMBERS: Final = frozenset(INTEGER_BITS) | FLOATS | {"decimal"}


_FLOAT32: Final = struct.Struct("<f")


TEXT_BYTES: Final = {
    "tinytext": 255,
    "text": 65_535,
    "mediumtext": 16_777_215,
    "tinyblob": 255,
    "blob": 65_535,
    "mediumblob": 16_777_215,
}


def convert_value(
    value: str | None,
    from_type: MySqlType,
    to_type: MySqlType,
    *,
    strict: bool = True,
) -> str | None:
    """Return what a column holds after its type was changed.

    Args:
        value: The value in Canal-JSON wire form under `from_type`.
        from_type: Type of the column before.
        to_type: Type of the column after.
        strict: Refuse what MySQL refuses in strict mode, its default. Without it,
            values are cut to what the type can hold, as MySQL does then.

    Returns:
        The value in wire form under `to_type`; ``None`` stays ``None``.

    Raises:
        ValueError: If MySQL would refuse the conversion, or if the result depends
            on something else than the value (TIME to DATETIME takes the day of the
            statement).
    """
    if value is None or from_type == to_type:
        return value
    conversion = _Conversion(value, from_type, to_type, strict=strict)
    try:
        return _convert(conversion)
    except ArithmeticError as error:
        raise conversion.refused("out of range") from error


def _convert(conversion: _Conversion) -> str:
    to_type = conversion.to_type
    target = _TARGETS.get(to_type.base)
    if target is not None:
        return target(conversion)
    if to_type.is_text:
        return _to_text(conversion)
    if to_type.is_binary:
        return _to_binary(conversion)
    if to_type.is_integer:
        return _to_integer(conversion)
    if to_type.base == conversion.from_type.base:
        return conversion.value
    raise conversion.refused("no such conversion")


@dataclass(frozen=True, slots=True)
class _Conversion:
    """One value on its way, read as text, bytes, number or time."""

    value: str
    from_type: MySqlType
    to_type: MySqlType
    strict: bool

    def refused(self, why: str) -> ValueError:
        shown = self.value if len(self.value) <= 60 else self.value[:60] + "..."
        return ValueError(
            f"Expected a `{self.from_type}` that fits `{self.to_type}`,"
            f" got `{shown}`: {why}"
        )

    def cut(self, result: str, why: str) -> str:
        """Return `result` if values may be cut, else refuse."""
        if self.strict:
            raise self.refused(why)
        return result

    def text(self) -> str:
        """Return the value as MySQL prints it."""
        kind = self.from_type
        if kind.base in {"enum", "set"}:
            return ",".join(_member_names(int(self.value), kind))
        if kind.base == "year":
            return self.value.zfill(4)
        if kind.is_binary or kind.base == "bit":
            try:
                return self.bytes().decode("utf-8")
            except UnicodeDecodeError as error:
                raise self.refused("these bytes are not UTF-8") from error
        return self.value  # without ZEROFILL padding, as TiDB has it

    def bytes(self) -> bytes:
        """Return the value as MySQL stores its text."""
        kind = self.from_type
        if kind.is_binary:
            return self.value.encode("latin-1")
        if kind.base == "bit":
            width = ((kind.length or 1) + 7) // 8
            return int(self.value).to_bytes(max(width, 1), "big")
        return self.text().encode("utf-8")

    def number(self) -> Decimal:
        """Return the value as a number, exact."""
        kind = self.from_type
        if kind.base == "float":
            return Decimal(repr(_nearest(self._read(self.value), single=True)))
        if kind.base in _NUMBERS or kind.base in {"bit", "year", "enum", "set"}:
            return self._read(self.value)
        if kind.base == "time":
            return _time_number(self.time())
        if kind.base in TIME_TYPES:
            clock_digits = 6 if kind.base == "date" else 0
            return self.moment().number().scaleb(-clock_digits)
        if kind.base == "json":
            return self._json_number()
        return self._text_number()

    def _json_number(self) -> Decimal:
        if self.value in {"true", "false"}:
            return Decimal(self.value == "true")
        if _NUMBER.fullmatch(self.value):
            return self._read(self.value)
        raise self.refused("this JSON is not a number")

    def _text_number(self) -> Decimal:
        text = self.text().strip(" \t\n\r\f\v")
        match = _NUMBER.match(text)
        if match is None:
            self.cut("0", "this text is not a number")
            return Decimal(0)
        if match.end() < len(text):
            self.cut("0", "this text is not only a number")
        return self._read(match.group())

    def _read(self, text: str) -> Decimal:
        """Return the number that a text is; 0 for one that rounds to it in every type.

        Raises:
            ValueError: If it is none, or none that a type can hold: its digits might
                not fit the memory.
        """
        try:
            number = Decimal(text)
        except InvalidOperation as error:
            raise self.refused("this is not a number") from error
        if not number.is_finite() or number.adjusted() > _EXACT.prec:
            raise self.refused("out of range")
        return number if number.adjusted() > -_EXACT.prec else Decimal(0)

    @property
    def rounding(self) -> str:
        """Floats round half to even, everything else half away from zero."""
        is_float = self.from_type.base in FLOATS
        return ROUND_HALF_EVEN if is_float else ROUND_HALF_UP

    def moment(self) -> _Moment:
        """Return the value as a date with a time of day."""
        kind = self.from_type
        if kind.base == "time":
            raise self.refused("the date is that of the statement")
        if kind.base in _NUMBERS:
            return self._checked(_moment_of_number(self._read(self.value)))
        return self._checked(_moment_of_text(self.text()))

    def _checked(self, moment: _Moment | None) -> _Moment:
        if moment is None or not moment.is_valid():
            self.cut("", "this is not a date")
            return _ZERO
        return moment

    def time(self) -> int:
        """Return the value as signed microseconds."""
        kind = self.from_type
        if kind.base == "date":
            return 0
        if kind.base in {"datetime", "timestamp"}:
            rounded = self.moment().rounded(self.to_type.fraction_digits)
            return rounded.time_of_day()
        if kind.base in _NUMBERS:
            micros = _time_of_number(self._read(self.value))
        else:
            micros = _time_of_text(self.text())
        if micros is None:
            self.cut("", "this is not a time")
            return 0
        return micros


_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def _plain(number: Decimal) -> str:
    """Write a number without exponent and without a negative zero."""
    text = f"{number:f}"
    return text.lstrip("-") if not text.strip("-0.") else text


def _whole(conversion: _Conversion) -> int:
    """Return the value rounded to a whole number."""
    if conversion.from_type.base in {"datetime", "timestamp"}:
        # The time is rounded, so that 59.5 seconds end in the next minute.
        return int(conversion.moment().rounded(0).number())
    if conversion.from_type.base == "time":
        return int(_time_number(_round_micros(conversion.time(), 0)))
    number = conversion.number()
    return int(number.to_integral_value(conversion.rounding, _EXACT))


def _to_integer(conversion: _Conversion) -> str:
    number = _whole(conversion)
    low, high = conversion.to_type.integer_range
    if low <= number <= high:
        return str(number)
    return conversion.cut(str(min(max(number, low), high)), "out of range")


def _to_bit(conversion: _Conversion) -> str:
    kind = conversion.from_type
    if kind.is_text or kind.is_binary or kind.base == "json":
        number = int.from_bytes(conversion.bytes(), "big")
    else:
        number = _whole(conversion)
    high = (1 << (conversion.to_type.length or 1)) - 1
    if 0 <= number <= high:
        return str(number)
    return conversion.cut(str(high), "too many bits")


def _to_year(conversion: _Conversion) -> str:
    kind = conversion.from_type
    if kind.base in {"date", "datetime", "timestamp"}:
        year = conversion.moment().year
    else:
        year = _whole(conversion)
        # Two digits are a year near 2000; the number 0 is the year 0, the text
        # '0' or '00' is 2000 (MySQL manual, 13.2.4).
        is_short_text = kind.is_text and len(conversion.text().strip()) < 4
        if 0 < year < 70 or (year == 0 and is_short_text):
            year += 2000
        elif 70 <= year < 100:
            year += 1900
    if year == 0 or 1901 <= year <= 2155:
        return str(year)
    return conversion.cut("0", "out of range")


def _to_decimal(conversion: _Conversion) -> str:
    to_type = conversion.to_type
    number = conversion.number()
    if to_type.unsigned and number < 0:
        number = Decimal(conversion.cut("0", "negative"))
    if to_type.length is None or to_type.scale is None:
        return _plain(number)
    unit = Decimal(1).scaleb(-to_type.scale)
    # Half away from zero, also for floats, whose shortest digits are rounded.
    rounded = number.quantize(unit, ROUND_HALF_UP, _EXACT)
    limit = Decimal(10) ** (to_type.length - to_type.scale)
    if rounded.copy_abs() >= limit:
        largest = _EXACT.subtract(limit, unit).copy_sign(rounded)
        return conversion.cut(_plain(largest), "out of range")
    return _plain(rounded)


def _to_float(conversion: _Conversion) -> str:
    to_type = conversion.to_type
    number = conversion.number()
    if to_type.unsigned and number < 0:
        number = Decimal(conversion.cut("0", "negative"))
    if to_type.length is not None and to_type.scale is not None:
        unit = Decimal(1).scaleb(-to_type.scale)
        number = number.quantize(unit, ROUND_HALF_EVEN, _EXACT)
        limit = Decimal(10) ** (to_type.length - to_type.scale)
        if number.copy_abs() >= limit:
            largest = _EXACT.subtract(limit, unit).copy_sign(number)
            number = Decimal(conversion.cut(_plain(largest), "out of range"))
    try:
        return plain_float_text(number, single=to_type.base == "float")
    except OverflowError as error:
        raise conversion.refused("out of range") from error


def _nearest(number: Decimal, *, single: bool) -> float:
    nearest = float(number)
    if single:
        (nearest,) = _FLOAT32.unpack(_FLOAT32.pack(nearest))
    return nearest


def plain_float_text(number: Decimal, *, single: bool) -> str:
    """Write a number as TiCDC writes FLOAT and DOUBLE: shortest, no exponent.

    Args:
        number: The number; it is rounded to the nearest FLOAT or DOUBLE.
        single: FLOAT instead of DOUBLE.

    Returns:
        ``1.5``, ``100000000000000000000``.

    Raises:
        OverflowError: If the number is beyond the range of the type.
    """
    nearest = _nearest(number, single=single)
    if nearest in {float("inf"), float("-inf")}:
        raise OverflowError(f"Expected a number within DOUBLE, got {number}")
    shortest = Decimal(shortest_float32(nearest) if single else repr(nearest))
    text = _plain(shortest)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _to_text(conversion: _Conversion) -> str:
    to_type = conversion.to_type
    text = conversion.text()
    if to_type.base == "char":
        text = text.rstrip(" ")  # CHAR loses trailing spaces when it is read
    if to_type.base in {"char", "varchar"}:
        length = to_type.length
        # Spaces beyond the length are cut without an error (manual, 13.3.2).
        if length is not None and len(text.rstrip(" ")) > length:
            return conversion.cut(text[:length], "too long")
        return text if length is None else text[:length]
    limit = TEXT_BYTES.get(to_type.base)
    stored = text.encode("utf-8")
    if limit is not None and len(stored) > limit:
        cut = stored[:limit].decode("utf-8", "ignore")
        return conversion.cut(cut, "too long")
    return text


def _to_binary(conversion: _Conversion) -> str:
    to_type = conversion.to_type
    stored = conversion.bytes()
    limit = TEXT_BYTES.get(to_type.base, to_type.length)
    if limit is not None and len(stored) > limit:
        return conversion.cut(stored[:limit].decode("latin-1"), "too long")
    if to_type.base == "binary":
        stored = stored.ljust(to_type.length or 0, b"\0")
    return stored.decode("latin-1")


def _member_names(number: int, kind: MySqlType) -> tuple[str, ...]:
    """Return the member of an ENUM index, or the members of a SET mask.

    Index 0 stands for an invalid value and has no name.
    """
    if kind.base == "enum":
        return kind.elements[number - 1 : number] if number > 0 else ()
    return tuple(name for bit, name in enumerate(kind.elements) if number >> bit & 1)


def _member_index(name: str, kind: MySqlType) -> int:
    """Return the 1-based index of a member, 0 if there is none of that name."""
    name = name.rstrip(" ")
    if name in kind.elements:
        return kind.elements.index(name) + 1
    folded = [element.casefold() for element in kind.elements]
    return folded.index(name.casefold()) + 1 if name.casefold() in folded else 0


def _to_enum(conversion: _Conversion) -> str:
    kind, to_type = conversion.from_type, conversion.to_type
    if kind.base == "enum" and conversion.value == "0":
        return "0"
    if kind.base in _NUMBERS or kind.base in {"bit", "year"}:
        index = _whole(conversion)
    else:
        text = conversion.text()
        index = _member_index(text, to_type)
        if index == 0 and kind.base != "enum" and text.strip().isdecimal():
            index = int(text)
    if 0 < index <= len(to_type.elements):
        return str(index)
    return conversion.cut("0", "no such member")


def _to_set(conversion: _Conversion) -> str:
    kind, to_type = conversion.from_type, conversion.to_type
    everything = (1 << len(to_type.elements)) - 1
    if kind.base in _NUMBERS or kind.base in {"bit", "year"}:
        mask = _whole(conversion)
        if 0 <= mask <= everything:
            return str(mask)
        return conversion.cut(str(mask & everything), "no such members")
    text = conversion.text()
    indexes = [_member_index(name, to_type) for name in text.split(",")] if text else []
    mask = sum({1 << (index - 1) for index in indexes if index})
    if 0 not in indexes:
        return str(mask)
    if kind.base != "set" and text.strip().isdecimal() and int(text) <= everything:
        return str(int(text))
    return conversion.cut(str(mask), "no such member")


_DATE_TEXT: Final = re.compile(
    r"(\d{4}|\d{2})[^\w\s](\d{1,2})[^\w\s](\d{1,2})"
    r"(?:(?:T|\s+)(\d{1,2})[^\w\s](\d{1,2})(?:[^\w\s](\d{1,2})(?:\.(\d*))?)?)?"
)


_COMPACT_TEXT: Final = re.compile(r"(\d{6}|\d{8}|\d{12}|\d{14})(?:\.(\d*))?")


_TIME_TEXT: Final = re.compile(
    r"(-?)(?:(\d+) )?(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?"
)


_TIME_LIMIT: Final = (838 * 3600 + 59 * 60 + 59) * 1_000_000


_FIRST_TIMESTAMP: Final = (1970, 1, 1, 0, 0, 1)


_LAST_TIMESTAMP: Final = (2038, 1, 19, 3, 14, 7)


def _micros(fraction: str | None) -> int:
    """Return the microseconds of the digits behind the point, rounded."""
    digits = (fraction or "").ljust(7, "0")
    return int(digits[:6]) + (digits[6] >= "5")


@dataclass(frozen=True, slots=True)
class _Moment:
    """A DATETIME, which may be zero in part, as MySQL allows it."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    micros: int = 0

    def is_valid(self) -> bool:
        if self.hour > 23 or self.minute > 59 or self.second > 59:
            return False
        if self == _ZERO:
            return True
        try:
            dt.date(self.year, self.month, self.day)
        except ValueError:
            return False
        return True

    def rounded(self, digits: int) -> _Moment:
        """Round to that many digits of a second, carrying into the date."""
        unit: int = 10 ** (6 - digits)
        micros = (self.micros + unit // 2) // unit * unit
        if micros < 1_000_000:
            return _Moment(*self._parts(), micros)
        if self.year == 0:
            return self
        carried = dt.datetime(*self._parts(), tzinfo=dt.UTC) + dt.timedelta(seconds=1)
        return _Moment(*carried.timetuple()[:6])

    def _parts(self) -> tuple[int, int, int, int, int, int]:
        return self.year, self.month, self.day, self.hour, self.minute, self.second

    def number(self) -> Decimal:
        """Return ``YYYYMMDDHHMMSS.ffffff``, as MySQL reads a time as a number."""
        digits = f"{self.date_digits()}{self.hour:02}{self.minute:02}{self.second:02}"
        return Decimal(f"{digits}.{self.micros:06}")

    def date_digits(self) -> str:
        return f"{self.year:04}{self.month:02}{self.day:02}"

    def time_of_day(self) -> int:
        seconds = self.hour * 3600 + self.minute * 60 + self.second
        return seconds * 1_000_000 + self.micros

    def in_timestamp_range(self) -> bool:
        return self == _ZERO or (_FIRST_TIMESTAMP <= self._parts() <= _LAST_TIMESTAMP)

    def date_text(self) -> str:
        return f"{self.year:04}-{self.month:02}-{self.day:02}"

    def text(self, digits: int) -> str:
        clock = f"{self.hour:02}:{self.minute:02}:{self.second:02}"
        fraction = f".{self.micros:06}"[: digits + 1] if digits else ""
        return f"{self.date_text()} {clock}{fraction}"


_ZERO: Final = _Moment(0, 0, 0)


def _full_year(digits: str) -> int:
    """Two digits are a year from 1970 to 2069 (MySQL manual, 13.2.9)."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year < 70 else 1900)


def _moment_of_text(text: str) -> _Moment | None:
    text = text.strip()
    match = _DATE_TEXT.fullmatch(text)
    if match is not None:
        year, month, day, hour, minute, second, fraction = match.groups()
        clock = (int(hour or 0), int(minute or 0), int(second or 0))
        return _carried(
            _Moment(_full_year(year), int(month), int(day), *clock, _micros(fraction))
        )
    match = _COMPACT_TEXT.fullmatch(text)
    return _moment_of_digits(match[1], match[2]) if match is not None else None


def _moment_of_digits(digits: str, fraction: str | None) -> _Moment:
    year_width = 4 if len(digits) in {8, 14} else 2
    year, rest = digits[:year_width], digits[year_width:].ljust(10, "0")
    parts = [int(rest[start : start + 2]) for start in range(0, 10, 2)]
    month, day, hour, minute, second = parts
    return _carried(
        _Moment(_full_year(year), month, day, hour, minute, second, _micros(fraction))
    )


def _carried(moment: _Moment) -> _Moment:
    """Carry a fraction that was rounded up to a whole second."""
    return moment.rounded(6) if moment.is_valid() else moment


def _moment_of_number(number: Decimal) -> _Moment | None:
    whole, _, fraction = _plain(number).partition(".")
    if whole == "0":
        return _ZERO
    for width in (6, 8, 12, 14):
        if len(whole) <= width and whole.isdecimal():
            if len(whole) < 3:
                return None
            return _moment_of_digits(whole.zfill(width), fraction)
    return None


def _time_of_text(text: str) -> int | None:
    text = text.strip()
    match = _TIME_TEXT.fullmatch(text)
    if match is not None:
        sign, days, hours, minutes, seconds, fraction = match.groups()
        clock = (int(days or 0) * 24 + int(hours), int(minutes), int(seconds or 0))
        return _signed_time(sign, clock, _micros(fraction))
    moment = _moment_of_text(text)
    if moment is not None and moment.is_valid() and not text.isdecimal():
        return moment.time_of_day()
    if _NUMBER.fullmatch(text) and "e" not in text.lower():
        return _time_of_number(Decimal(text))
    return None


def _time_of_number(number: Decimal) -> int | None:
    whole, _, fraction = _plain(number.copy_abs()).partition(".")
    hours, minutes, seconds = int(whole) // 10_000, int(whole) // 100 % 100, int(whole)
    sign = "-" if number < 0 else ""
    return _signed_time(sign, (hours, minutes, seconds % 100), _micros(fraction))


def _signed_time(sign: str, clock: tuple[int, int, int], micros: int) -> int | None:
    hours, minutes, seconds = clock
    if minutes > 59 or seconds > 59:
        return None
    total = (hours * 3600 + minutes * 60 + seconds) * 1_000_000 + micros
    return -total if sign else total


def _round_micros(micros: int, digits: int) -> int:
    unit: int = 10 ** (6 - digits)
    rounded = (abs(micros) + unit // 2) // unit * unit
    return -rounded if micros < 0 else rounded


def _time_parts(micros: int) -> tuple[int, int, int, int]:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    return seconds // 3600, seconds // 60 % 60, seconds % 60, fraction


def _time_number(micros: int) -> Decimal:
    hours, minutes, seconds, fraction = _time_parts(micros)
    number = Decimal(f"{hours}{minutes:02}{seconds:02}.{fraction:06}")
    return -number if micros < 0 else number


def _to_time(conversion: _Conversion) -> str:
    digits = conversion.to_type.fraction_digits
    micros = _round_micros(conversion.time(), digits)
    if abs(micros) > _TIME_LIMIT:
        limit = _time_text(_TIME_LIMIT if micros > 0 else -_TIME_LIMIT, digits)
        return conversion.cut(limit, "out of range")
    return _time_text(micros, digits)


def _time_text(micros: int, digits: int) -> str:
    hours, minutes, seconds, fraction = _time_parts(micros)
    sign = "-" if micros < 0 else ""
    text = f"{sign}{hours:02}:{minutes:02}:{seconds:02}"
    return text + (f".{fraction:06}"[: digits + 1] if digits else "")


def _to_date(conversion: _Conversion) -> str:
    # The time is rounded to whole seconds first (manual, 13.2.8).
    return conversion.moment().rounded(0).date_text()


def _to_datetime(conversion: _Conversion) -> str:
    to_type = conversion.to_type
    moment = conversion.moment().rounded(to_type.fraction_digits)
    if to_type.base == "timestamp" and not moment.in_timestamp_range():
        zero = _ZERO.text(to_type.fraction_digits)
        return conversion.cut(zero, "out of range")
    return moment.text(to_type.fraction_digits)


def _to_json(conversion: _Conversion) -> str:
    kind = conversion.from_type
    if kind.base in _NUMBERS or kind.base in {"bit", "year"}:
        return conversion.value
    if kind.base in {"datetime", "timestamp"}:
        return f'"{conversion.moment().text(6)}"'
    if kind.base == "time":
        return f'"{_time_text(conversion.time(), 6)}"'
    if kind.base in {"date", "enum", "set"}:
        return json.dumps(conversion.text(), ensure_ascii=False)
    if not kind.is_text:
        raise conversion.refused("no such conversion")
    try:
        text = _json_text(json.loads(conversion.text(), parse_float=Decimal))
        # Half of a surrogate pair is no text.
        text.encode()
    except (ValueError, RecursionError) as error:
        raise conversion.refused("this text is not JSON") from error
    return text


def _json_text(document: object) -> str:
    """Write JSON as TiDB does: keys in byte order, a space behind ``,`` and ``:``."""
    if isinstance(document, dict):
        pairs = sorted(document.items(), key=lambda pair: str(pair[0]).encode())
        inside = (f"{_json_text(key)}: {_json_text(item)}" for key, item in pairs)
        return "{" + ", ".join(inside) + "}"
    if isinstance(document, list):
        return "[" + ", ".join(map(_json_text, document)) + "]"
    if isinstance(document, Decimal):
        # A number with a point or an exponent is a DOUBLE inside JSON.
        return plain_float_text(document, single=False)
    return json.dumps(document, ensure_ascii=False)


def _to_vector(conversion: _Conversion) -> str:
    if conversion.from_type.base == "vector" or conversion.from_type.is_text:
        dimensions = conversion.to_type.length
        items = conversion.text().strip().strip("[]")
        count = len(items.split(",")) if items else 0
        if dimensions is not None and count != dimensions:
            raise conversion.refused("other dimensions")
        return conversion.text()
    raise conversion.refused("no such conversion")


_TARGETS: Final[dict[str, Callable[[_Conversion], str]]] = {
    "decimal": _to_decimal,
    "float": _to_float,
    "double": _to_float,
    "bit": _to_bit,
    "year": _to_year,
    "enum": _to_enum,
    "set": _to_set,
    "date": _to_date,
    "datetime": _to_datetime,
    "timestamp": _to_datetime,
    "time": _to_time,
    "json": _to_json,
    "vector": _to_vector,
}
