"""Fiscal quarters of the simulated companies, and their reports with the times at which they come out."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from openfingym_suites.finsearch.world.roster import SimulatedCompany

_PUBLISHED = {"us": (time(16, 10), "America/New_York"), "cn": (time(18, 30), "Asia/Shanghai"),
              "hk": (time(19, 0), "Asia/Hong_Kong")}  # fmt: skip
"""Time of day at which reports come out, after the close, and its time zone, by home of the company."""


@dataclass(frozen=True)
class Quarter:
    """A fiscal quarter. A fiscal year is named after the calendar year in which it ends."""

    fiscal_year: int
    number: int
    """1 to 4."""
    start: date
    """First day."""
    end: date
    """Last day."""


@dataclass(frozen=True)
class FiscalReport:
    """A report of a company: its last quarter, the periods that it gives, and when it is published."""

    id: str
    form: str
    """``annual report``, ``interim report``, ``quarterly report`` or ``restatement``."""
    quarter: int
    """Place of its last quarter among the quarters of the company."""
    periods: tuple[tuple[str, int], ...]
    """Periods that it gives: name, and how many quarters up to the last one."""
    standards: tuple[str, ...]
    """Accounting standards under which it gives figures."""
    filed: date
    known_at: datetime
    """Time at which it is published, in UTC."""


def quarters(company: SimulatedCompany, first: date, last: date) -> list[Quarter]:
    """The fiscal quarters of a company between two days, from the beginning of a fiscal year on.

    Args:
        company: the company, whose fiscal year they follow.
        first: first day; the first quarter begins on it or later.
        last: last day; the last quarter ends before it.
    """
    every: list[Quarter] = []
    year = first.year - 1
    end_before = _month_end(company, year, company.fiscal_end)
    for fiscal_year in range(year + 1, last.year + 2):
        for number in range(1, 5):
            # The month in which the quarter ends: 1 is January of the year that names the fiscal year, 0 is before it.
            months = company.fiscal_end + 3 * number - 12
            month, year = (months + 11) % 12 + 1, fiscal_year + (months - 1) // 12
            end = _month_end(company, year, month)
            every.append(Quarter(fiscal_year, number, end_before + timedelta(days=1), end))
            end_before = end
    begin = next(place for place, quarter in enumerate(every) if quarter.number == 1 and quarter.start >= first)
    return [quarter for quarter in every[begin:] if quarter.end < last]


def _month_end(company: SimulatedCompany, year: int, month: int) -> date:
    """The last day of a month, or for companies with years of 52 or 53 weeks its last Saturday."""
    last = date(year, month, calendar.monthrange(year, month)[1])
    if company.home == "us" and company.fiscal_end in {1, 9}:
        return last - timedelta(days=(last.weekday() - 5) % 7)
    return last


def reports(company: SimulatedCompany, listed: list[Quarter], last: date) -> list[FiscalReport]:
    """The reports of a company that are out by a day, in order.

    Args:
        company: the company that reports.
        listed: its fiscal quarters, in order.
        last: last day on which a report may come out.
    """
    out = []
    for place, quarter in enumerate(listed):
        # Hong Kong asks for half years alone.
        if company.home == "hk" and quarter.number in {1, 3}:
            continue
        annual = quarter.number == 4
        days = _delay(company, quarter, annual=annual)
        filed = quarter.end + timedelta(days=days)
        # Reports of a weekend come out on Monday.
        filed += timedelta(days=(7 - filed.weekday()) if filed.weekday() > 4 else 0)
        if filed > last:
            continue
        clock, zone = _PUBLISHED[company.home]
        known_at = datetime.combine(filed, clock, ZoneInfo(zone)).astimezone(UTC)
        form = "annual report" if annual else "interim report" if quarter.number == 2 else "quarterly report"
        if company.home == "us" and not annual:
            form = "quarterly report"
        # The second standard is for annual and interim reports, the first one for all.
        standards = company.standards if quarter.number in {2, 4} else company.standards[:1]
        name = "FY" if annual else f"Q{quarter.number}"
        report = f"{company.id}-{quarter.fiscal_year}-{name}"
        out.append(FiscalReport(report, form, place, _periods(company, quarter.number), standards, filed, known_at))
    return out


def _delay(company: SimulatedCompany, quarter: Quarter, *, annual: bool) -> int:
    """Days from the end of a quarter to its report, spread by company and quarter over eleven days."""
    spread = (int(company.id[2:]) * 7 + quarter.number * 3) % 11
    if company.home == "us":
        return (52 if annual else 30) + spread
    if company.home == "hk":
        return (78 if annual else 52) + spread
    return {1: 18, 2: 48, 3: 18, 4: 84}[quarter.number] + spread


def _periods(company: SimulatedCompany, number: int) -> tuple[tuple[str, int], ...]:
    """Periods that a report gives: in the US the quarter and the year to date, elsewhere the year to date alone."""
    if number == 4:
        return (("FY", 4),)
    if company.home == "us":
        more = {1: (), 2: (("H1", 2),), 3: (("9M", 3),)}[number]
        return ((f"Q{number}", 1), *more)
    return ({1: ("Q1", 1), 2: ("H1", 2), 3: ("9M", 3)}[number],)
