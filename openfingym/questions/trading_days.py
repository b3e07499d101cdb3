"""Trading days of exchanges: when the session opens and closes in which a moment falls, or that comes next."""

from __future__ import annotations

import functools
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from openfingym.errors import UsageError

AROUND = timedelta(days=20)
"""How far before and after a month its sessions are looked up: no regular closure is longer."""


class TradingDay(NamedTuple):
    """The regular session of an exchange on one day; half days close earlier."""

    day: date
    opens_ns: int
    closes_ns: int


def next_to_close(calendar: str, moment_ns: int, *, after: bool = False) -> TradingDay:
    """The first trading day whose close is at or after a moment.

    Args:
        calendar: code of the exchange, such as ``XNYS``.
        moment_ns: nanoseconds since the epoch.
        after: a close at the moment itself does not count.

    Raises:
        UsageError: there is no such calendar, or it does not reach so far.
    """
    month = datetime.fromtimestamp(moment_ns // 10**9, UTC).date().replace(day=1)
    for found in _around(calendar, month):
        if found.closes_ns > moment_ns or (found.closes_ns == moment_ns and not after):
            return found
    raise UsageError(f"the calendar {calendar} has no trading day after {month}; ask about an earlier time")


def last_to_close(calendar: str, moment_ns: int) -> TradingDay:
    """The last trading day whose close is at or before a moment.

    Raises:
        UsageError: there is no such calendar, or it does not reach so far.
    """
    month = datetime.fromtimestamp(moment_ns // 10**9, UTC).date().replace(day=1)
    past = [found for found in _around(calendar, month) if found.closes_ns <= moment_ns]
    if not past:
        raise UsageError(f"the calendar {calendar} has no trading day before {month}; ask about a later time")
    return past[-1]


def days_to_come(calendar: str, moment_ns: int, count: int) -> tuple[TradingDay, ...]:
    """The next trading days whose sessions have not begun at a moment, in order.

    Raises:
        UsageError: there is no such calendar, or it does not reach so far.
    """
    found: list[TradingDay] = []
    while len(found) < count:
        one = next_to_close(calendar, moment_ns, after=True)
        if found or one.opens_ns > moment_ns:
            found.append(one)
        moment_ns = one.closes_ns
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _around(calendar: str, month: date) -> tuple[TradingDay, ...]:
    from exchange_calendars import get_calendar
    from exchange_calendars.errors import CalendarError, InvalidCalendarName

    try:
        found = get_calendar(calendar, start=(month - AROUND).isoformat(), end=(month + 2 * AROUND).isoformat())
    except InvalidCalendarName as error:
        raise UsageError(f"there is no calendar of an exchange {calendar!r}; expected a code such as XNYS") from error
    except (CalendarError, ValueError) as error:
        raise UsageError(f"the calendar {calendar} does not reach to {month}: {error}") from error
    rows = found.schedule[["open", "close"]].itertuples()
    return tuple(TradingDay(day.date(), opens.value, closes.value) for day, opens, closes in rows)
