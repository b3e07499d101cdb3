"""The quarters, months and days that figures are about, and their names."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, time, timedelta

MONTHS = tuple(calendar.month_name)


def quarters(first: date, last: date) -> list[tuple[int, int]]:
    """Year and number (1 to 4) of the calendar quarters that end from one day to another, both included."""
    numbers = []
    for year in range(first.year, last.year + 1):
        numbers += [(year, number) for number in range(1, 5) if first <= quarter_end(year, number) <= last]
    return numbers


def quarter_end(year: int, number: int) -> date:
    """The last day of a calendar quarter, whose number is 1 to 4."""
    return month_end(year, 3 * number)


def month_end(year: int, month: int) -> date:
    """The last day of a month.

    Args:
        year: the year.
        month: number of the month, from 1; one below 1 or above 12 counts into the years before or after.

    Example:
        >>> month_end(2024, 2), month_end(2025, 14), month_end(2025, 0)
        (datetime.date(2024, 2, 29), datetime.date(2026, 2, 28), datetime.date(2024, 12, 31))
    """
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return date(year, month, calendar.monthrange(year, month)[1])


def month_ends(first: date, last: date) -> list[date]:
    """The last days of all months from that of one day on which end by another day."""
    ends, day = [], month_end(first.year, first.month)
    while day <= last:
        ends.append(day)
        day = month_end(*(day + timedelta(days=1)).timetuple()[:2])
    return ends


def label(day: date, frequency: str) -> str:
    """The name of a period.

    Args:
        day: the last day of the period; of a quarter, the last day of the calendar quarter that it is named after.
        frequency: ``quarter``, ``month`` or ``day``.

    Example:
        >>> label(date(2016, 9, 30), "quarter"), label(date(2016, 10, 31), "month"), label(date(2016, 9, 7), "day")
        ('2016 Q3', 'October 2016', 'September 7, 2016')
    """
    if frequency == "quarter":
        return f"{day.year} Q{(day.month + 2) // 3}"
    return f"{MONTHS[day.month]} {day.year}" if frequency == "month" else f"{MONTHS[day.month]} {day.day}, {day.year}"


def new_york_midnight(day: date) -> datetime:
    """The time at which a day begins in New York, in UTC and by summer time: in winter it is an hour early.

    It bounds the times at which US figures may be known, where an hour early is safe, and an hour late would not be.
    """
    return datetime.combine(day, time(4), UTC)
