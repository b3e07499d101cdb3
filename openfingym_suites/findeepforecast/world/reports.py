"""When the simulated companies report: the dates that they announce and move, and the times of the reports."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from openfingym_suites.findeepforecast.world.periods import label, month_end, quarter_end, quarters
from openfingym_suites.findeepforecast.world.roster import Listed
from openfingym_suites.findeepforecast.world.size import LAST_TRADING_DAY, WorldSize
from openfingym_suites.finsearch.world.calendars import Hours, sessions
from openfingym_suites.finsearch.world.draws import stream

if TYPE_CHECKING:
    import pandas as pd

MOVED, LATE, EARLY, RESTATED, NEVER = 0.035, 0.006, 0.004, 0.09, 0.007
"""Shares of the reports whose date is moved with notice or on the day itself, and of those that come early without
notice; the share of the companies that restate a report; and the share of them whose report of the season never comes.
"""
ANNUAL_DELAY = 9
"""Days that the report of a fiscal year's last quarter takes longer than those of the others."""


@dataclass(frozen=True)
class QuarterlyReport:
    """A report of a quarter.

    Attributes:
        firm: the company that reports.
        quarter: place of the quarter among those of the world's books, from 1; 0 has no report.
        period_end: the last day of the quarter.
        label: name of the quarter, such as ``2025 Q3``.
        dates: pairs of the time for which it was scheduled and the time at which that became known, both in UTC; the
            last pair is the one that held.
        published: the time at which it was published, in UTC; None if it never was, or after the end of the world.
        restated: the time at which it was restated, in UTC; None if it was not.
    """

    firm: Listed
    quarter: int
    period_end: date
    label: str
    dates: tuple[tuple[datetime, datetime], ...]
    published: datetime | None
    restated: datetime | None = None


def world_quarters(size: WorldSize) -> list[tuple[int, int]]:
    """Year and number (1 to 4) of the quarters of the books, of which the first one has balances but no report."""
    return quarters(size.first_day + timedelta(days=150), size.last_day - timedelta(days=31))


def utc_time(day: date, clock: str, zone: str) -> datetime:
    """A local time, in UTC.

    Args:
        day: the day.
        clock: time of day, such as ``08:30``.
        zone: name of the time zone, such as ``Asia/Tokyo``.
    """
    return datetime.combine(day, time.fromisoformat(clock), ZoneInfo(zone)).astimezone(UTC)


@functools.cache
def _open_days(hours: Hours, first: date, last: date) -> tuple[date, ...]:
    return tuple(sessions(hours, first, last).days.date)


class TradingDays:
    """The days on which an exchange is open.

    Args:
        hours: the days and hours of the exchange.
        first: the first day that is known.
        last: the last day that is known.
    """

    def __init__(self, hours: Hours, first: date, last: date) -> None:
        self._days = _open_days(hours, first, last)

    def from_on(self, day: date, more: int = 0) -> date:
        """The first trading day from a day on, or one that is some trading days away from it.

        Args:
            day: the day from which on to look.
            more: how many trading days later; below 0, how many earlier.
        """
        # Days before the first or after the last known one become that one.
        place = bisect.bisect_left(self._days, day) + more
        return self._days[min(max(place, 0), len(self._days) - 1)]


def make_reports(size: WorldSize, seed: int, firms: Sequence[Listed]) -> list[QuarterlyReport]:
    """Draw the reports of all companies.

    Args:
        size: the days of the world.
        seed: the number from which every random draw of the world follows.
        firms: the companies.

    Returns:
        The reports, company by company, and of each company by quarter.
    """
    book_quarters = world_quarters(size)
    # The quarter that the season asks about: the last one that ends before it.
    asked = [place for place, (year, number) in enumerate(book_quarters) if quarter_end(year, number) < size.season][-1]
    economies = {firm.economy.code: firm.economy for firm in firms}
    # To the last day that is known of exchanges, since reports after the end of the world are scheduled before it.
    days = {code: TradingDays(economy.hours, size.first_day, LAST_TRADING_DAY) for code, economy in economies.items()}
    reports: list[QuarterlyReport] = []
    for firm in firms:
        reports += _company_reports(firm, size, seed, book_quarters, days[firm.economy.code])
    return _without_silent_companies(reports, size, seed, asked)


def _company_reports(
    firm: Listed, size: WorldSize, seed: int, book_quarters: Sequence[tuple[int, int]], days: TradingDays
) -> Iterator[QuarterlyReport]:
    """Draw the reports of a company, but for those whose dates are announced after the last day of the world."""
    rng = stream(seed, "reports", firm.symbol)
    low, high = firm.economy.delays
    usual = low + (high - low) * float(rng.uniform())
    clock = firm.economy.report_at[int(rng.integers(len(firm.economy.report_at)))]
    # Banks restate nothing, since their books have no receivables to take back.
    restated = int(rng.integers(3, len(book_quarters) - 1)) if rng.uniform() < RESTATED and not firm.financial else -1
    days_to_restatement = int(rng.integers(40, 120))
    for place, (year, number) in enumerate(book_quarters[1:], start=1):
        # As many numbers for each report, whatever becomes of it, so that what happens to one changes no other.
        draws = rng.uniform(size=6)
        end = month_end(year, 3 * number + firm.shift)
        annual = end.month == firm.year_end
        delay = usual + (ANNUAL_DELAY if annual else 0) + 4 * draws[0] - 2
        day = days.from_on(end + timedelta(days=round(delay)))
        planned = utc_time(day, clock, firm.economy.zone)
        announced = utc_time(day - timedelta(days=45 + int(30 * draws[1])), "09:00", firm.economy.zone)
        dates = tuple(_dates(planned, announced, day, clock, firm.economy.zone, days, draws))
        published = dates[-1][0] if dates[-1][0].date() <= size.last_day else None
        if announced.date() > size.last_day:
            continue
        restatement = published + timedelta(days=days_to_restatement) if published and place == restated else None
        if restatement and restatement.date() > size.last_day:
            restatement = None
        yield QuarterlyReport(
            firm, place, end, label(quarter_end(year, number), "quarter"), dates, published, restatement
        )


def _dates(
    planned: datetime, announced: datetime, day: date, clock: str, zone: str, days: TradingDays, draws: np.ndarray
) -> Iterator[tuple[datetime, datetime]]:
    """The times for which a report is scheduled, one after another, each with the time at which it becomes known.

    Args:
        planned: the time that is announced first, in UTC.
        announced: when that is announced, in UTC.
        day: the planned day, in local time.
        clock: time of day at which the company reports, in local time.
        zone: name of the company's time zone.
        days: the trading days of its exchange.
        draws: the report's random numbers, float64[6], from 0 to 1.
    """
    yield planned, announced
    step = 1 + int(5 * draws[3])
    if draws[2] < MOVED:
        new = days.from_on(day, step if draws[4] < 0.7 else -min(step, 3))
        # Known 2 to 10 days before the earlier of both dates, but not before the first date is announced.
        notice = utc_time(min(new, day) - timedelta(days=2 + int(9 * draws[5])), "18:00", zone)
        yield utc_time(new, clock, zone), max(notice, announced + timedelta(hours=1))
    elif draws[2] < MOVED + LATE:
        yield utc_time(days.from_on(day, min(step, 3)), clock, zone), planned - timedelta(minutes=30)
    elif draws[2] < MOVED + LATE + EARLY:
        # Nobody knows of the date before the report is there.
        early = utc_time(days.from_on(day, -1 - step % 2), clock, zone)
        yield early, early


def _without_silent_companies(
    reports: list[QuarterlyReport], size: WorldSize, seed: int, asked: int
) -> list[QuarterlyReport]:
    """The same reports, but some companies publish neither their report of the season nor any later one.

    Args:
        reports: the reports of all companies.
        size: the days of the season.
        seed: the number from which every random draw of the world follows.
        asked: place of the quarter that the season asks about.
    """
    # Companies that report from the second week of the season until its end, so that the season asks about them.
    begin, end = (utc_time(size.season + timedelta(weeks=weeks), "00:00", "UTC") for weeks in (1, size.weeks))
    candidates = [report for report in reports if report.quarter == asked and begin <= report.dates[-1][0] < end]
    firms = {report.firm.number for report in reports}
    count = min(max(round(NEVER * len(firms)), 1), len(candidates))
    chosen = stream(seed, "never").choice(len(candidates), count, replace=False).tolist() if count else []
    silent = {candidates[place].firm.number for place in chosen}
    return [
        replace(report, published=None, restated=None)
        if report.firm.number in silent and report.quarter >= asked
        else report
        for report in reports
    ]


def calendar_frame(reports: Sequence[QuarterlyReport]) -> pd.DataFrame:
    """Rows of the table ``report_calendar``.

    Args:
        reports: the reports of all companies.
    """
    import pandas as pd

    rows = [
        (report.firm.symbol, report.period_end, report.label, scheduled, known)
        for report in reports
        for scheduled, known in report.dates
    ]
    return pd.DataFrame(rows, columns=["symbol", "period_end", "label", "scheduled_at", "known_at"])
