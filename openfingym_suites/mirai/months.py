"""Months, which test sets and pulls are of: written as ``2024-02``."""

from __future__ import annotations

import calendar
from datetime import date

from openfingym.errors import UsageError


def days_of(month: str) -> tuple[date, date]:
    """The first and the last day of a month.

    Args:
        month: the month, such as ``2024-02``.

    Raises:
        UsageError: the text is not a month.
    """
    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError:
        raise UsageError(f"{month!r} is no month; write it as 2024-02") from None
    return first, first.replace(day=calendar.monthrange(first.year, first.month)[1])


def shifted(month: str, by: int) -> str:
    """The month that is so many months later, or earlier if the number is negative.

    Example:
        >>> shifted("2023-11", 3), shifted("2024-01", -1)
        ('2024-02', '2023-12')
    """
    first, _ = days_of(month)
    year, number = divmod(12 * first.year + first.month - 1 + by, 12)
    return f"{year:04d}-{number + 1:02d}"


def span(first: str, last: str) -> tuple[str, ...]:
    """The months from one to another, both included; none if the last comes first.

    Example:
        >>> span("2023-11", "2024-01")
        ('2023-11', '2023-12', '2024-01')
    """
    (begin, _), (end, _) = days_of(first), days_of(last)
    return tuple(shifted(first, by) for by in range(12 * (end.year - begin.year) + end.month - begin.month + 1))
