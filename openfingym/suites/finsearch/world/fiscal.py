"""Fiscal periods of the simulated companies, and when their reports come out."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from openfingym.suites.finsearch.world.roster import SimulatedCompany

_PUBLISHED = {"us": (time(16, 10), "America/New_York"), "cn": (time(18, 30), "Asia/Shanghai"),
              "hk": (time(19, 0), "Asia/Hong_Kong")}  # fmt: skip


@dataclass(frozen=True)
class Quarter:
    """A fiscal quarter: the fiscal year is named after the year in which it ends."""

    fiscal_year: int
    number: int
    start: date
    end: date


@dataclass(frozen=True)
class FiscalReport:
    """A report: which quarter it is of, what periods it gives, and when it is published."""

    id: str
    form: str
    quarter: int
    """Place of the last quarter in the company's list of them."""
    periods: tuple[tuple[str, int], ...]
    """Periods given: name, and how many quarters up to the last one."""
    standards: tuple[str, ...]
    filed: date
    known_at: datetime


def quarters(company: SimulatedCompany, first: date, last: date) -> list[Quarter]:
    """The fiscal quarters that end within some days, from the beginning of a fiscal year on."""
    found: list[Quarter] = []
    year = first.year - 1
    end_before = _month_end(company, year, company.fiscal_end)
    for fiscal_year in range(year + 1, last.year + 2):
        for number in range(1, 5):
            months = company.fiscal_end + 3 * number - 12
            month, year = (months + 11) % 12 + 1, fiscal_year + (months - 1) // 12
            end = _month_end(company, year, month)
            found.append(Quarter(fiscal_year, number, end_before + timedelta(days=1), end))
            end_before = end
    begin = next(place for place, quarter in enumerate(found) if quarter.number == 1 and quarter.start >= first)
    return [quarter for quarter in found[begin:] if quarter.end < last]


def _month_end(company: SimulatedCompany, year: int, month: int) -> date:
    """Last day of a month; for some companies its last Saturday."""
    last = date(year, month, calendar.monthrange(year, month)[1])
    if company.home == "us" and company.fiscal_end in {1, 9}:
        return last - timedelta(days=(last.weekday() - 5) % 7)
    return last


def reports(company: SimulatedCompany, listed: list[Quarter], last: date) -> list[FiscalReport]:
    """The reports of a company that are out by a day."""
    found = []
    for place, quarter in enumerate(listed):
        if company.home == "hk" and quarter.number in {1, 3}:
            continue
        annual = quarter.number == 4
        days = _delay(company, quarter, annual=annual)
        filed = quarter.end + timedelta(days=days)
        filed += timedelta(days=(7 - filed.weekday()) if filed.weekday() > 4 else 0)
        if filed > last:
            continue
        clock, zone = _PUBLISHED[company.home]
        known_at = datetime.combine(filed, clock, ZoneInfo(zone)).astimezone(UTC)
        form = "annual report" if annual else "interim report" if quarter.number == 2 else "quarterly report"
        if company.home == "us" and not annual:
            form = "quarterly report"
        standards = company.standards if quarter.number in {2, 4} else company.standards[:1]
        name = "FY" if annual else f"Q{quarter.number}"
        report = f"{company.id}-{quarter.fiscal_year}-{name}"
        found.append(FiscalReport(report, form, place, _periods(company, quarter.number), standards, filed, known_at))
    return found


def _delay(company: SimulatedCompany, quarter: Quarter, *, annual: bool) -> int:
    spread = (int(company.id[2:]) * 7 + quarter.number * 3) % 11
    if company.home == "us":
        return (52 if annual else 30) + spread
    if company.home == "hk":
        return (78 if annual else 52) + spread
    return {1: 18, 2: 48, 3: 18, 4: 84}[quarter.number] + spread


def _periods(company: SimulatedCompany, number: int) -> tuple[tuple[str, int], ...]:
    if number == 4:
        return (("FY", 4),)
    if company.home == "us":
        more = {1: (), 2: (("H1", 2),), 3: (("9M", 3),)}[number]
        return ((f"Q{number}", 1), *more)
    return ({1: ("Q1", 1), 2: ("H1", 2), 3: ("9M", 3)}[number],)
