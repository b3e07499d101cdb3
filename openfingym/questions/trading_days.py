"""Trading days of exchanges: when the session opens and closes in which a moment falls, or that comes next."""

from __future__ import annotations

import functools
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from openfingym.errors import UsageError

AROUND = timedelta(days=20)
"""How long before a month and after it sessions are looked up: no regular closure is longer."""


class TradingDay(NamedTuple):
    """The regular session of an exchange on one day; half days close earlier."""

    day: date
    """Day of the session, in the exchange's time zone."""
    opens_ns: int
    """Opening time, nanoseconds since the epoch."""
    closes_ns: int
    """Closing time, nanoseconds since the epoch."""


def next_to_close(calendar: str, moment_ns: int, *, after: bool = False) -> TradingDay:
    """The first trading day whose close is at or after a moment.

    Args:
        calendar: code of the exchange, such as ``XNYS``.
        moment_ns: the moment, nanoseconds since the epoch.
        after: whether the close must be after the moment, so that one at the moment itself does not count.

    Raises:
        UsageError: there is no such calendar, or it does not reach so far.
    """
    month = datetime.fromtimestamp(moment_ns // 10**9, UTC).date().replace(day=1)
    for session in _around(calendar, month):
        if session.closes_ns > moment_ns or (session.closes_ns == moment_ns and not after):
            return session
    raise UsageError(f"the calendar {calendar} has no trading day after {month}; ask about an earlier time")


def last_to_close(calendar: str, moment_ns: int) -> TradingDay:
    """The last trading day whose close is at or before a moment.

    Raises:
        UsageError: there is no such calendar, or it does not reach so far.
    """
    month = datetime.fromtimestamp(moment_ns // 10**9, UTC).date().replace(day=1)
    past = [session for session in _around(calendar, month) if session.closes_ns <= moment_ns]
    if not past:
        raise UsageError(f"the calendar {calendar} has no trading day before {month}; ask about a later time")
    return past[-1]


def days_to_come(calendar: str, moment_ns: int, count: int) -> tuple[TradingDay, ...]:
    """The next trading days whose sessions have not begun at a moment, in order.

    Raises:
        UsageError: there is no such calendar, or it does not reach so far.
    """
    days: list[TradingDay] = []
    while len(days) < count:
        session = next_to_close(calendar, moment_ns, after=True)
        # The first may be a session that is open at the moment, which has begun.
        if days or session.opens_ns > moment_ns:
            days.append(session)
        moment_ns = session.closes_ns
    return tuple(days)


@functools.lru_cache(maxsize=64)
def _around(calendar: str, month: date) -> tuple[TradingDay, ...]:
    """The sessions of an exchange in a month and around it; by the month, so that most lookups are in the cache."""
    from exchange_calendars import get_calendar
    from exchange_calendars.errors import CalendarError, InvalidCalendarName

    try:
        # `month` is a first day: twice AROUND after it is past the end of its month.
        exchange = get_calendar(calendar, start=(month - AROUND).isoformat(), end=(month + 2 * AROUND).isoformat())
    except InvalidCalendarName as error:
        raise UsageError(f"there is no calendar of an exchange {calendar!r}; expected a code such as XNYS") from error
    except (CalendarError, ValueError) as error:
        raise UsageError(f"the calendar {calendar} does not reach to {month}: {error}") from error
    rows = exchange.schedule[["open", "close"]].itertuples()
    return tuple(TradingDay(day.date(), opens.value, closes.value) for day, opens, closes in rows)
