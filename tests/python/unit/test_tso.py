from datetime import UTC, datetime

import pytest

from changefold.tso import (
    MAX_TSO,
    ms_to_tso,
    tso_logical,
    tso_physical_ms,
    tso_to_datetime,
)

# Glossary of the specification, rule G2.
CHECK_VALUES = [
    (429918007904436226, 1640007049196, 2, "2021-12-20T13:30:49.196+00:00"),
    (447987408682614795, 1708936342936, 11, "2024-02-26T08:32:22.936+00:00"),
    (447984084414103554, 1708923661858, 2, "2024-02-26T05:01:01.858+00:00"),
    (447984124732375041, 1708923815660, 1, "2024-02-26T05:03:35.660+00:00"),
]


@pytest.mark.parametrize(("tso", "ms", "logical", "time"), CHECK_VALUES)
def test_a_tso_is_milliseconds_and_a_counter(
    tso: int, ms: int, logical: int, time: str
) -> None:
    assert tso_physical_ms(tso) == ms
    assert tso_logical(tso) == logical
    assert tso_to_datetime(tso) == datetime.fromisoformat(time)
    assert tso_to_datetime(tso).tzinfo is UTC


def test_no_millisecond_is_lost_to_a_float() -> None:
    assert tso_to_datetime((999_999_999_999_999 % 10**13) << 18).microsecond == 999000
    assert tso_to_datetime(MAX_TSO) == datetime(
        3084, 12, 12, 12, 41, 28, 831000, tzinfo=UTC
    )


def test_the_smallest_tso_of_a_millisecond_has_no_counter() -> None:
    assert ms_to_tso(1640007049196) == 429918007904436224
    assert tso_physical_ms(ms_to_tso(1640007049196) - 1) == 1640007049195


@pytest.mark.parametrize("function", [tso_physical_ms, tso_logical, tso_to_datetime])
def test_what_cannot_be_a_tso_is_refused(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match=r"^Expected a TSO >= 0, got -1$"):
        function(-1)
    with pytest.raises(ValueError, match=r"^Expected a TSO <= 9223372036854775807"):
        function(MAX_TSO + 1)


@pytest.mark.parametrize("ms", [-1, 2**45])
def test_a_time_without_a_tso_is_refused(ms: int) -> None:
    with pytest.raises(ValueError, match=f"got {ms}$"):
        ms_to_tso(ms)
