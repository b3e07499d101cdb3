"""Sessions of the simulated market: days and hours of real exchanges, with their holidays and half days.

``calendars.tsv`` has, for each exchange, the weekdays without a session and the sessions that end early;
``scripts/derive_finsearch_calendars.py`` wrote it from the library exchange-calendars.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Hours:
    """The days and hours at which a market is open, in its own time.

    Attributes:
        calendar: MIC of the exchange whose days it keeps; ``weekdays`` for all but Christmas and New Year's Day.
        zone: name of its time zone.
        opens: time of day of the regular opening, such as ``09:30``.
        closes: time of day of the regular close; early closes of the calendar come before it.
    """

    calendar: str
    zone: str
    opens: str
    closes: str


NEW_YORK = Hours("XNYS", "America/New_York", "09:30", "16:00")
SHANGHAI = Hours("XSHG", "Asia/Shanghai", "09:30", "15:00")
HONG_KONG = Hours("XHKG", "Asia/Hong_Kong", "09:30", "16:00")
ONSHORE = Hours("XSHG", "Asia/Shanghai", "09:30", "16:30")
FIXING = Hours("XSHG", "Asia/Shanghai", "09:15", "09:15")
OFFSHORE = Hours("weekdays", "America/New_York", "00:00", "17:00")
LONDON = Hours("XLON", "Europe/London", "08:00", "16:30")
COMEX = Hours("XNYS", "America/New_York", "08:20", "13:30")
CBOT = Hours("XNYS", "America/Chicago", "07:20", "14:00")
_LATER_UNTIL = {"XHKG": ("2011-03-07", "10:00")}
"""Exchanges that opened later once: the first day of today's opening, and the opening before."""


@dataclass(frozen=True, eq=False)
class ExchangeSessions:
    """Sessions of a market, in order.

    Attributes:
        days: the day of each session.
        open_at: the time at which each session opened, in UTC.
        close_at: the time at which each session closed, in UTC.
    """

    days: pd.DatetimeIndex
    open_at: pd.DatetimeIndex
    close_at: pd.DatetimeIndex


@functools.cache
def sessions(hours: Hours, first: date, last: date) -> ExchangeSessions:
    """The sessions of a market from one day to another, both included."""
    import pandas as pd

    weekdays = pd.bdate_range(first, last)
    closed, early = _exceptions(hours.calendar)
    days = weekdays[~weekdays.isin(closed)]
    regular = pd.Timedelta(f"{hours.closes}:00")
    shorter = {day: min(regular, pd.Timedelta(f"{clock}:00")) for day, clock in early.items()}
    closes = pd.Series([shorter.get(day, regular) for day in days], index=days)
    opens = pd.Series(pd.Timedelta(f"{hours.opens}:00"), index=days)
    if hours.calendar in _LATER_UNTIL:
        until, opening = _LATER_UNTIL[hours.calendar]
        opens[days < pd.Timestamp(until)] = pd.Timedelta(f"{opening}:00")
    # Hours are added in local time and then turned into UTC, so that they move with daylight saving.
    open_at, close_at = (
        (days + pd.TimedeltaIndex(each)).tz_localize(hours.zone).tz_convert("UTC") for each in (opens, closes)
    )
    return ExchangeSessions(days, open_at, close_at)


@functools.cache
def _exceptions(calendar: str) -> tuple[pd.DatetimeIndex, pd.Series]:
    """The weekdays on which an exchange has no session, and the time of the close on those that end early."""
    import pandas as pd

    if calendar == "weekdays":
        days = [f"{year}-{day}" for year in range(2008, 2028) for day in ("12-25", "01-01")]
        return pd.DatetimeIndex(days), pd.Series([], index=pd.DatetimeIndex([]), dtype=str)
    with resources.files(__package__).joinpath("calendars.tsv").open() as stream:
        table = pd.read_csv(stream, sep="\t", parse_dates=["day"], keep_default_na=False)
    own = table[table["calendar"] == calendar].set_index("day")["closes"]
    return pd.DatetimeIndex(own[own == ""].index), own[own != ""]
