"""Quarters, months and days that figures are about, and what people call them."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

MONTHS = tuple(calendar.month_name)


def quarters(first: date, last: date) -> list[tuple[int, int]]:
    """Year and number of the calendar's quarters that end within some days."""
    found = []
    for year in range(first.year, last.year + 1):
        found += [(year, number) for number in range(1, 5) if first <= quarter_end(year, number) <= last]
    return found


def quarter_end(year: int, number: int, shift: int = 0) -> date:
    """The last day of a quarter, so many months later."""
    return month_end(year, 3 * number + shift)


def month_end(year: int, month: int) -> date:
    """The last day of a month; months below 1 and above 12 are those of the years beside."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return date(year, month, calendar.monthrange(year, month)[1])


def month_ends(first: date, last: date) -> list[date]:
    """The last days of the months that end within some days."""
    found, day = [], month_end(first.year, first.month)
    while day <= last:
        found.append(day)
        day = month_end(*(day + timedelta(days=1)).timetuple()[:2])
    return found


def label(day: date, frequency: str) -> str:
    """What a period is called: ``2025 Q3``, ``October 2025``, ``October 31, 2025``.

    Args:
        day: its last day; of a quarter, that of one of the calendar.
        frequency: ``quarter``, ``month`` or ``day``.
    """
    if frequency == "quarter":
        return f"{day.year} Q{(day.month + 2) // 3}"
    return f"{MONTHS[day.month]} {day.year}" if frequency == "month" else f"{MONTHS[day.month]} {day.day}, {day.year}"
