"""Dates, times and moments as texts."""

import contextlib
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from changefold.connect.mismatch import MismatchError
from changefold.connect.numbers import whole
from changefold.connect.types import STRUCTURED_PARTS

__all__ = [
    "NANO_STEPS",
    "date_text",
    "iso",
    "nano_timestamp",
    "structured",
    "time_text",
    "timestamp",
    "zoned_timestamp",
]

_SECOND: Final = 1_000_000_000
_DAY: Final = 86_400 * _SECOND
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_MAX_ORDINAL: Final = date.max.toordinal()

# PostgreSQL's driver has no infinite dates, but these far ones, which Debezium passes
# through 32 bits. No real date of PostgreSQL comes near.
_INFINITE_DAYS: Final = {
    # In a snapshot, and in the stream.
    -622_191_234: "infinity",
    -625_821_272: "-infinity",
    -2_147_472_692: "infinity",
    -2_147_472_691: "-infinity",
}
_INFINITE_NANOS: Final = {
    9_223_372_036_825_200_000_000: "infinity",
    -9_223_372_036_832_400_000_000: "-infinity",
}


@lru_cache(maxsize=65_536)
def _day_text(days: int) -> str:
    """Return the date so many days after 1970, in the Gregorian calendar."""
    ordinal = days + _EPOCH_ORDINAL
    if 1 <= ordinal <= _MAX_ORDINAL:
        return date.fromordinal(ordinal).isoformat()
    # The calendar repeats every 400 years, which are 146097 days.
    eras, rest = divmod(ordinal - 1, 146_097)
    within = date.fromordinal(rest + 1)
    year = within.year + 400 * eras
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{within.month:02d}-{within.day:02d}"


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970 to a date; ValueError if there is no such date."""
    eras, within = divmod(year - 1, 400)
    ordinal = date(within + 1, month, day).toordinal()
    return ordinal + eras * 146_097 - _EPOCH_ORDINAL


def _clock_text(nanos: int, digits: int) -> str:
    seconds, fraction = divmod(nanos, _SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    part = f"{fraction:09d}"[:digits]
    return f"{hour:02d}:{minute:02d}:{second:02d}.{part}"


def date_text(value: object) -> str:
    """Return the date of a number of days."""
    days = whole(value, "days as `int32`", 32)
    return _INFINITE_DAYS.get(days) or _day_text(days)


def time_text(unit: int, digits: int, bits: int, value: object) -> str:
    """Return the time of day that is so many units, of `unit` nanoseconds each."""
    count = whole(value, f"`int{bits}`", bits)
    sign = "-" if count < 0 else ""
    return sign + _clock_text(abs(count) * unit, digits)


def timestamp(unit: int, digits: int, value: object) -> str:
    """Return the moment so many units after 1970, of `unit` nanoseconds each."""
    return _moment_of_nanos(whole(value, "`int64`") * unit, digits)


def _moment_of_nanos(nanos: int, digits: int) -> str:
    if -_COMMON_NANOS < nanos < _COMMON_NANOS:
        seconds, fraction = divmod(nanos, _SECOND)
        moment = _EPOCH + timedelta(seconds=seconds)
        return f"{moment.isoformat(' ')}.{f'{fraction:09d}'[:digits]}"
    if nanos in _INFINITE_NANOS:
        return _INFINITE_NANOS[nanos]
    days, nanos = divmod(nanos, _DAY)
    return f"{_day_text(days)} {_clock_text(nanos, digits)}"


_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # a wall clock
_COMMON_NANOS: Final = 50_000_000_000 * _SECOND
"""Some 1600 years, all of which Python has."""

NANO_STEPS: Final = {
    "sqlserver": 100,
    "mysql": 1000,
    "mariadb": 1000,
    "vitess": 1000,
    "postgresql": 1000,
}
"""By the connector, of how many nanoseconds the times of its source are multiples."""

_FIRST_NANOS: Final = -62_135_596_800 * _SECOND
_END_NANOS: Final = 253_402_300_800 * _SECOND
"""From 0001-01-01 to the end of 9999, as most databases have it."""


def nano_timestamp(step: int, is_certain: bool, value: object) -> str:
    """Return the moment of a number of nanoseconds that may have wrapped around.

    Debezium before its fix of 2026 (dbz#2075) lets moments before 1677-09-21 and after
    2262-04-11 wrap around at 64 bits. A wrapped number is no multiple of the step, as
    2^64 is none, and its rest tells how often it wrapped.

    Args:
        step: Nanoseconds of which all values of the source are multiples.
        is_certain: Whether the source has years 1 to 9999 only: then the number of wraps
            is certain.
        value: The number.

    Returns:
        The text of the moment; the number as it came, such as ``-17 ns``, which is none,
        where it can not be one of the source.
    """
    count = whole(value, "`int64`")
    if count % step == 0:
        return _moment_of_nanos(count, 9)
    moments = [count + (wraps << 64) for wraps in range(-4, 15)]
    for moment in moments if is_certain else ():
        if moment % step == 0 and _FIRST_NANOS <= moment < _END_NANOS:
            return _moment_of_nanos(moment, 9)
    return f"{count} ns"


_ISO_DATE: Final = r"(?P<year>[+-]?[0-9]{4,9})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_ISO_TIME: Final = (
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
)
_ISO_ZONE: Final = r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2}){0,2})"
_ISO: Final = {
    "date": re.compile(f"{_ISO_DATE}{_ISO_ZONE}?"),
    "time": re.compile(f"{_ISO_TIME}{_ISO_ZONE}?"),
    "timestamp": re.compile(f"{_ISO_DATE}[T ]{_ISO_TIME}{_ISO_ZONE}?"),
    "zoned time": re.compile(f"{_ISO_TIME}{_ISO_ZONE}"),
    "zoned timestamp": re.compile(f"{_ISO_DATE}[T ]{_ISO_TIME}{_ISO_ZONE}"),
}


def iso(kind: str, value: object) -> str:
    """Return what an ISO 8601 text says; what has no zone may be marked with a Z."""
    expected = f"a {kind} in the form of ISO 8601"
    if type(value) is not str:
        raise MismatchError(expected, value)
    match = _ISO[kind].fullmatch(value)
    if match is None:
        if value in {"infinity", "-infinity"}:
            return value
        raise MismatchError(expected, value)
    parts = match.groupdict()
    days = 0
    has_date = "year" in parts
    if has_date:
        try:
            days = _days(int(parts["year"]), int(parts["month"]), int(parts["day"]))
        except ValueError:
            raise MismatchError(expected, value) from None
    if "hour" not in parts:
        return _day_text(days)
    nanos = _clock(parts)
    if nanos < 0:
        raise MismatchError(expected, value)
    if not kind.startswith("zoned"):
        return _moment_text(days if has_date else None, nanos)
    offset = _offset(parts["zone"]) // _SECOND
    return _zoned_text(days if has_date else None, nanos, offset)


_COMMON_ZONED: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z"
)


def zoned_timestamp(value: object) -> str:
    """Do what `iso` does to a zoned timestamp; most are in UTC."""
    if type(value) is str and _COMMON_ZONED.fullmatch(value):
        with contextlib.suppress(ValueError):
            moment = datetime.fromisoformat(value[:-1])
            return moment.isoformat(" ", "microseconds") + "Z"
    return iso("zoned timestamp", value)


def _moment_text(days: int | None, nanos: int) -> str:
    text = _clock_text(nanos, 9 if nanos % 1000 else 6)
    return text if days is None else f"{_day_text(days)} {text}"


def _zoned_text(days: int | None, nanos: int, offset: int) -> str:
    """Return a time or moment of a zone; a moment keeps its offset of whole minutes.

    Args:
        days: From 1970, of the wall clock; none of a time.
        nanos: Of the day.
        offset: Seconds.
    """
    if days is not None and offset and offset % 60 == 0 and nanos < _DAY:
        hours, minutes = divmod(abs(offset) // 60, 60)
        sign = "-" if offset < 0 else "+"
        return f"{_moment_text(days, nanos)}{sign}{hours:02d}:{minutes:02d}"
    shift, nanos = divmod(nanos - offset * _SECOND, _DAY)
    return _moment_text(None if days is None else days + shift, nanos) + "Z"


def _clock(parts: Mapping[str, str | None]) -> int:
    """Return the nanoseconds since midnight; -1 if there is no such time."""
    hour, minute = int(parts["hour"] or 0), int(parts["minute"] or 0)
    second = int(parts["second"] or 0)
    fraction = int((parts["fraction"] or "").ljust(9, "0"))
    nanos = ((hour * 60 + minute) * 60 + second) * _SECOND + fraction
    return nanos if minute < 60 and second < 60 and nanos <= _DAY else -1


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    seconds = (int(digits[:2]) * 60 + int(digits[2:4])) * 60 + int(digits[4:])
    return (-seconds if zone[0] == "-" else seconds) * _SECOND


_INFINITIES: Final = {
    "POSITIVE_INFINITY": "infinity",
    "NEGATIVE_INFINITY": "-infinity",
}
_STRUCTURED_LIMITS: Final = {
    "year": (-999_999_999, 999_999_999),
    "month": (0, 12),
    "day": (0, 31),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 59),
    "nanos": (0, _SECOND - 1),
    "offsetSeconds": (-64_800, 64_800),
}


def structured(kind: str, value: object) -> str:
    """Return what an object of ``time.precision.mode=structured`` says.

    Source: Debezium's `StructuredTemporal` and its kinds.

    Args:
        kind: ``Date``, ``Time``, ``ZonedTime``, ``Timestamp`` or ``ZonedTimestamp``.
        value: The object.

    Returns:
        The text that the kind in ISO 8601 has. A date that is in no calendar, such as a
        zero date, has the digits that came, which no type here can hold.
    """
    expected = f"an object of the parts of a `Structured{kind}`"
    if not isinstance(value, dict):
        raise MismatchError(expected, value)
    special = value.get("specialValue")
    if special is not None:
        if not isinstance(special, str) or special not in _INFINITIES:
            raise MismatchError(expected, value)
        return _INFINITIES[special]
    names = [name for name in STRUCTURED_PARTS[kind] if name in _STRUCTURED_LIMITS]
    parts: dict[str, int] = {}
    for name in names:
        low, high = _STRUCTURED_LIMITS[name]
        part = value.get(name)
        if part is None and name == "offsetSeconds":
            part = 0
        number = whole(part, expected, 32)
        if not low <= number <= high:
            raise MismatchError(expected, value)
        parts[name] = number
    clock = [parts.get(name, 0) for name in ("hour", "minute", "second")]
    seconds = (clock[0] * 60 + clock[1]) * 60 + clock[2]
    nanos = seconds * _SECOND + parts.get("nanos", 0)
    if nanos > _DAY:
        raise MismatchError(expected, value)
    days: int | None = None
    if "year" in parts:
        year, month, day = parts["year"], parts["month"], parts["day"]
        try:
            days = _days(year, month, day)
        except ValueError:
            sign = "-" if year < 0 else ""
            text = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"
            return text if kind == "Date" else f"{text} {_moment_text(None, nanos)}"
        if kind == "Date":
            return _day_text(days)
    if "offsetSeconds" in parts:
        return _zoned_text(days, nanos, parts["offsetSeconds"])
    return _moment_text(days, nanos)
