"""Timestamps of TiDB (TSO): ``commitTs`` and ``watermarkTs`` of TiCDC.

A TSO is a 64-bit number: milliseconds since 1970 (UTC), then 18 bits that count the
timestamps given out within the millisecond. It is above 2^53, so it must never pass
through a float. Order by the TSO itself: the time alone lacks the counter.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = [
    "LOGICAL_BITS",
    "MAX_TSO",
    "ms_to_tso",
    "tso_logical",
    "tso_physical_ms",
    "tso_to_datetime",
]

LOGICAL_BITS: Final = 18
"""Width of the counter within a millisecond."""

MAX_TSO: Final = 2**63 - 1
"""Largest TSO that a signed 64-bit integer, and so a Spark ``bigint``, can hold."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def tso_physical_ms(tso: int) -> int:
    """Return the time of a TSO in milliseconds since 1970, UTC.

    Args:
        tso: A ``commitTs`` or ``watermarkTs`` as TiCDC writes it.

    Returns:
        The physical part of the timestamp.

    Raises:
        ValueError: If ``tso`` is negative or above 2^63 - 1.
    """
    return _checked(tso) >> LOGICAL_BITS


def tso_logical(tso: int) -> int:
    """Return the counter of a TSO within its millisecond.

    Args:
        tso: A ``commitTs`` or ``watermarkTs`` as TiCDC writes it.

    Returns:
        The logical part of the timestamp, 0 to 262143.

    Raises:
        ValueError: If ``tso`` is negative or above 2^63 - 1.
    """
    return _checked(tso) & ((1 << LOGICAL_BITS) - 1)


def tso_to_datetime(tso: int) -> datetime:
    """Return the wall-clock time of a TiDB timestamp (TSO).

    Args:
        tso: A ``commitTs`` or ``watermarkTs`` as TiCDC writes it.

    Returns:
        The physical part of the timestamp, in UTC, to the millisecond.

    Raises:
        ValueError: If ``tso`` is negative or above 2^63 - 1.
    """
    # Not `fromtimestamp(ms / 1000)`: that goes through a float.
    return _EPOCH + timedelta(milliseconds=tso_physical_ms(tso))


def ms_to_tso(ms: int) -> int:
    """Return the smallest TSO at or after a time.

    Args:
        ms: Milliseconds since 1970, UTC.

    Returns:
        The first timestamp of that millisecond.

    Raises:
        ValueError: If ``ms`` is negative or its TSO is above 2^63 - 1.
    """
    if not 0 <= ms <= MAX_TSO >> LOGICAL_BITS:
        raise ValueError(
            f"Expected milliseconds from 0 to {MAX_TSO >> LOGICAL_BITS}, got {ms}"
        )
    return ms << LOGICAL_BITS


def _checked(tso: int) -> int:
    """Return ``tso`` if it can be one."""
    if tso < 0:
        raise ValueError(f"Expected a TSO >= 0, got {tso}")
    if tso > MAX_TSO:
        raise ValueError(f"Expected a TSO <= {MAX_TSO}, got {tso}")
    return tso
