"""When a session on a real market may begin: by its exchange's calendar, and a clock that stands still."""

from __future__ import annotations

from datetime import datetime

import pytest

from openfingym.errors import UsageError
from openfingym.market.session.hours import require_hours

HOUR = 3600.0


def at(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp()) * 10**9


@pytest.mark.parametrize(
    "now",
    [
        "2026-11-23 14:30",  # a Monday, at the opening
        "2026-11-23 20:00",  # an hour before the close
        "2026-11-27 17:00",  # an hour before the close of a half day
        "2026-07-02 13:30",  # half past nine in summer
    ],
)
def test_a_session_that_ends_by_the_close_may_begin(now: str) -> None:
    require_hours("XNYS", at(now), HOUR)


@pytest.mark.parametrize(
    ("now", "why", "following"),
    [
        ("2026-11-23 14:29", "is closed", "2026-11-23 14:30 to 20:00"),
        ("2026-11-23 20:01", "closes at 21:00", "2026-11-24 14:30 to 20:00"),
        ("2026-11-23 21:00", "is closed", "2026-11-24 14:30 to 20:00"),
        ("2026-11-26 16:00", "is closed", "2026-11-27 14:30 to 17:00"),  # Thanksgiving, and the half day after it
        ("2026-11-27 17:01", "closes at 18:00", "2026-11-30 14:30 to 20:00"),  # and the weekend
        ("2026-07-02 20:00", "is closed", "2026-07-06 13:30 to 19:00"),  # Independence Day, kept on Friday
    ],
)
def test_otherwise_it_is_said_when_it_can_begin(now: str, why: str, following: str) -> None:
    with pytest.raises(UsageError, match=f"cannot begin now, {now} UTC: XNYS {why}.* next from {following} UTC"):
        require_hours("XNYS", at(now), HOUR)


def test_a_session_longer_than_a_half_day_waits_for_a_whole_one() -> None:
    with pytest.raises(UsageError, match=r"closes at 18:00 UTC, which is too soon.*2026-11-30 14:30 to 16:00"):
        require_hours("XNYS", at("2026-11-27 14:30"), 5 * HOUR)
    with pytest.raises(UsageError, match=r"420 minutes fits in no trading day of XNYS"):
        require_hours("XNYS", at("2026-11-23 14:30"), 7 * HOUR)


def test_a_calendar_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match="no calendar of an exchange 'XNOWHERE'"):
        require_hours("XNOWHERE", at("2026-11-23 14:30"), HOUR)
