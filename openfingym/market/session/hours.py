"""The regular trading hours of the exchange behind a session, with holidays and half days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.market.ticks import SECOND

if TYPE_CHECKING:
    from pandas import Timestamp

AHEAD = timedelta(days=14)
"""How far ahead the next trading day is looked for: no regular closure is longer."""


def require_hours(calendar: str, at: int, needed_s: float) -> None:
    """Return if an exchange trades now, and goes on long enough.

    Args:
        calendar: code of the exchange, such as ``XNYS``.
        at: the time now, in nanoseconds since the epoch.
        needed_s: seconds that are needed before the close.

    Raises:
        UsageError: it does not trade for that long; the message says when it does next.
    """
    now = datetime.fromtimestamp(at // SECOND, UTC)
    needed, days = timedelta(seconds=needed_s), trading_days(calendar, now)
    span = next(((opens, closes - needed) for opens, closes in days if max(opens, now) <= closes - needed), None)
    if span is None:
        raise UsageError(
            f"a session that needs {_time(needed)} fits in no trading day of {calendar}; expected a shorter duration"
        )
    first, last = span  # when a session can begin at the earliest and at the latest
    if first <= now:
        return
    today = next((closes for opens, closes in days if opens <= now < closes), None)
    why = f"{calendar} is closed" if today is None else f"{calendar} closes at {today:%H:%M} UTC, which is too soon"
    raise UsageError(
        f"a session on the real market cannot begin now, {now:%Y-%m-%d %H:%M} UTC: {why}. It needs {_time(needed)} of "
        f"regular trading, so that it can begin next from {first:%Y-%m-%d %H:%M} to {last:%H:%M} UTC. A simulated "
        "venue is always open."
    )


def trading_days(calendar: str, now: datetime) -> list[tuple[datetime, datetime]]:
    """(open, close) of each trading day from the day of ``now`` on, for :data:`AHEAD`, in UTC.

    Raises:
        UsageError: there is no such calendar.
    """
    from exchange_calendars import get_calendar
    from exchange_calendars.errors import InvalidCalendarName

    first = now.date() - timedelta(days=1)  # an exchange's day may be another one than that of UTC
    try:
        sessions = get_calendar(calendar, start=first.isoformat(), end=(first + AHEAD).isoformat())
    except InvalidCalendarName as error:
        raise UsageError(f"there is no calendar of an exchange {calendar!r}; expected a code such as XNYS") from error

    def moment(stamp: Timestamp) -> datetime:
        return stamp.to_pydatetime().astimezone(UTC)

    days = sessions.schedule[["open", "close"]].itertuples(index=False)
    return [(moment(opens), moment(closes)) for opens, closes in days]


def _time(needed: timedelta) -> str:
    seconds = round(needed.total_seconds())
    return f"{-(-seconds // 60)} minutes" if seconds >= 120 else f"{seconds} seconds"
