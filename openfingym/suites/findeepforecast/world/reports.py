"""When companies report: dates as they were announced and moved, and when the reports came out."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from openfingym.suites.findeepforecast.world.periods import label, month_end, quarter_end, quarters
from openfingym.suites.findeepforecast.world.roster import Listed
from openfingym.suites.findeepforecast.world.size import WorldSize
from openfingym.suites.finsearch.world.calendars import Hours, sessions
from openfingym.suites.finsearch.world.draws import stream

if TYPE_CHECKING:
    import pandas as pd

MOVED, LATE, EARLY, RESTATED, NEVER = 0.035, 0.006, 0.004, 0.09, 0.007
"""Shares of reports whose date is moved with notice, on the day itself, or that come early without notice; of companies
that restate one of their reports; and of reports of the season that never come."""
ANNUAL_DELAY = 9
"""Days that the report of a fiscal year takes longer."""


@dataclass(frozen=True)
class QuarterlyReport:
    """A report of a quarter.

    Attributes:
        firm: the company that reports.
        quarter: its place among the quarters of the world's books.
        period_end: the last day of the quarter.
        label: such as ``2025 Q3``.
        dates: when it was scheduled for, and since when that was known; the last one counts.
        published: when it came out; None if it never did, or after the end of the world.
        restated: when it was restated; None if it was not.
    """

    firm: Listed
    quarter: int
    period_end: date
    label: str
    dates: tuple[tuple[datetime, datetime], ...]
    published: datetime | None
    restated: datetime | None = None


def world_quarters(size: WorldSize) -> list[tuple[int, int]]:
    """Year and number of the quarters of the books; the first is the state that the first report starts from."""
    return quarters(size.first_day + timedelta(days=150), size.last_day - timedelta(days=31))


def utc_time(day: date, clock: str, zone: str) -> datetime:
    """A local time, in UTC."""
    return datetime.combine(day, time.fromisoformat(clock), ZoneInfo(zone)).astimezone(UTC)


@functools.cache
def _open_days(hours: Hours, first: date, last: date) -> tuple[date, ...]:
    return tuple(sessions(hours, first, last).days.date)


class TradingDays:
    """Days on which an exchange is open.

    Args:
        hours: sessions of the exchange.
        first: the first day that counts.
        last: the last day that counts.
    """

    def __init__(self, hours: Hours, first: date, last: date) -> None:
        self._days = _open_days(hours, first, last)

    def from_on(self, day: date, more: int = 0) -> date:
        """The first open day from a day on, or one that comes so many after it, or before."""
        place = bisect.bisect_left(self._days, day) + more
        return self._days[min(max(place, 0), len(self._days) - 1)]


def make_reports(size: WorldSize, seed: int, firms: Sequence[Listed]) -> list[QuarterlyReport]:
    """The reports of all companies, company by company."""
    every = world_quarters(size)
    asked = [place for place, (year, number) in enumerate(every) if quarter_end(year, number) < size.season][-1]
    days = {code: TradingDays(firm.economy.hours, size.first_day, date(2026, 6, 26)) for code, firm in
            {firm.economy.code: firm for firm in firms}.items()}  # fmt: skip
    found = []
    for firm in firms:
        found += list(_of(firm, size, seed, every, days[firm.economy.code]))
    return _without_some(found, size, seed, asked)


def _of(
    firm: Listed, size: WorldSize, seed: int, every: Sequence[tuple[int, int]], days: TradingDays
) -> Iterator[QuarterlyReport]:
    rng = stream(seed, "reports", firm.symbol)
    low, high = firm.economy.delays
    usual = low + (high - low) * float(rng.uniform())
    clock = firm.economy.report_at[int(rng.integers(len(firm.economy.report_at)))]
    restated = int(rng.integers(3, len(every) - 1)) if rng.uniform() < RESTATED and not firm.financial else -1
    later = int(rng.integers(40, 120))
    for place, (year, number) in enumerate(every[1:], start=1):
        draws = rng.uniform(size=6)
        end = month_end(year, 3 * number + firm.shift)
        annual = end.month == firm.year_end
        delay = usual + (ANNUAL_DELAY if annual else 0) + 4 * draws[0] - 2
        day = days.from_on(end + timedelta(days=round(delay)))
        planned = utc_time(day, clock, firm.economy.zone)
        told = utc_time(day - timedelta(days=45 + int(30 * draws[1])), "09:00", firm.economy.zone)
        dates = tuple(_moved(planned, told, day, clock, firm.economy.zone, days, draws))
        published = dates[-1][0] if dates[-1][0].date() <= size.last_day else None
        if dates[0][1].date() > size.last_day:
            continue
        restatement = published + timedelta(days=later) if published and place == restated else None
        if restatement and restatement.date() > size.last_day:
            restatement = None
        yield QuarterlyReport(
            firm, place, end, label(quarter_end(year, number), "quarter"), dates, published, restatement
        )


def _moved(
    planned: datetime, told: datetime, day: date, clock: str, zone: str, days: TradingDays, draws: np.ndarray
) -> Iterator[tuple[datetime, datetime]]:
    yield planned, told
    step = 1 + int(5 * draws[3])
    if draws[2] < MOVED:
        new = days.from_on(day, step if draws[4] < 0.7 else -min(step, 3))
        notice = utc_time(min(new, day) - timedelta(days=2 + int(9 * draws[5])), "18:00", zone)
        yield utc_time(new, clock, zone), max(notice, told + timedelta(hours=1))
    elif draws[2] < MOVED + LATE:
        yield utc_time(days.from_on(day, min(step, 3)), clock, zone), planned - timedelta(minutes=30)
    elif draws[2] < MOVED + LATE + EARLY:
        early = utc_time(days.from_on(day, -1 - step % 2), clock, zone)
        yield early, early


def _without_some(found: list[QuarterlyReport], size: WorldSize, seed: int, asked: int) -> list[QuarterlyReport]:
    """The reports, of which some of the season never come, nor any later one of their companies."""
    begin, end = (utc_time(size.season + timedelta(weeks=weeks), "00:00", "UTC") for weeks in (1, size.weeks))
    among = [report for report in found if report.quarter == asked and begin <= report.dates[-1][0] < end]
    firms = {report.firm.number for report in found}
    count = min(max(round(NEVER * len(firms)), 1), len(among))
    chosen = stream(seed, "never").choice(len(among), count, replace=False).tolist() if count else []
    silent = {among[place].firm.number for place in chosen}
    return [
        QuarterlyReport(one.firm, one.quarter, one.period_end, one.label, one.dates, None)
        if one.firm.number in silent and one.quarter >= asked
        else one
        for one in found
    ]


def calendar_frame(reports: Sequence[QuarterlyReport]) -> pd.DataFrame:
    """Rows of the table ``report_calendar``."""
    import pandas as pd

    rows = [
        (report.firm.symbol, report.period_end, report.label, scheduled, known)
        for report in reports
        for scheduled, known in report.dates
    ]
    return pd.DataFrame(rows, columns=["symbol", "period_end", "label", "scheduled_at", "known_at"])
