"""A macro series of the record as it was known at a time: first prints, and when the next figures are expected.

The earliest time at which a figure may have been public is not that at which the record shows it. The vintages of the
table ``macro`` are panels of some days: what is new in one was published after the day of the panel before, on a
business day. Those of ``gdp`` come some times a year: what is new in one was published at some time after the end of
its period, from the least number of days on that the table of series assumes.
"""

from __future__ import annotations

import calendar
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from openfingym.suites.findeepforecast.world.known import Published
from openfingym.suites.findeepforecast.world.recorded_rows import VintageValue
from openfingym.suites.findeepforecast.world.recorded_tables import SeriesLine

AHEAD_DAYS = 130
"""Days ahead for which figures are expected."""
LAGS = 6
"""Releases whose latest delay is expected of the next one."""
OVERDUE_DAYS = 60
"""A series whose next figure is overdue by so many days is not recorded any more."""
REBASED = 0.02
"""A vintage in which the period before is changed by more than this share is in other prices."""
_CLOSES = {"ecb-fx": (time(17), ZoneInfo("Europe/Berlin")), "ust-par-yields": (time(20), ZoneInfo("America/New_York"))}
"""After which hour of its day the vault has the figure of a market."""


@dataclass(frozen=True)
class Due:
    """A figure that is expected, from what was known."""

    period: date
    public_at: datetime
    """From when on it may be public."""
    at: datetime
    """When the record is expected to have it."""


class SeriesPrints:
    """A series as it was known at a time.

    Args:
        line: which series.
        vintages: its vintages that were known, in the order in which they became known.
        panels: when the panels of the table ``macro`` were known, as far as they were.
        now: the time.
    """

    def __init__(
        self, line: SeriesLine, vintages: Sequence[VintageValue], panels: Sequence[datetime], now: datetime
    ) -> None:
        self._line = line
        self._panels = panels
        self._now = now
        self._prints: dict[date, list[VintageValue]] = {}
        for one in vintages:
            self._prints.setdefault(_period_end(line, one.day), []).append(one)
        self.periods = sorted(self._prints)
        """The last days of the periods of which there are figures."""

    def history(self, limit: int | None = None) -> list[Published]:
        """First values of all periods, oldest first; the newest ``limit`` of them."""
        return [self._published(period, self._prints[period][0]) for period in self._newest(limit)]

    def first(self, period: date) -> Published | None:
        """The first print of a period; None where there is none, or it is in other prices than the figures before."""
        found = self._prints.get(period)
        return None if not found or self._rebased(period, found[0]) else self._published(period, found[0])

    def latest(self, period: date) -> Published | None:
        """The figure of a period as it stands."""
        found = self._prints.get(period)
        return None if not found else self._published(period, found[-1])

    def due(self) -> Iterator[Due]:
        """The figures that are expected and not there yet, by their periods."""
        if not self.periods:
            return
        if self._line.frequency == "day":
            yield from self._due_days()
            return
        lag = self._lag()
        months = 1 if self._line.frequency == "month" else 3
        period = self.periods[-1]
        while True:
            period = _months_later(period, months)
            due = Due(period, _midnight(period, self._line.earliest_days), _midnight(period, lag + 1))
            if due.public_at > self._now + timedelta(days=AHEAD_DAYS):
                return
            if due.at < self._now - timedelta(days=OVERDUE_DAYS):
                return
            yield due

    def _due_days(self) -> Iterator[Due]:
        last = self.periods[-1]
        if (self._now.date() - last).days > OVERDUE_DAYS:
            return
        for ahead in range(1, AHEAD_DAYS):
            day = last + timedelta(days=ahead)
            if day.weekday() < 5 and day not in _holidays(self._line.table, day.year):
                hour, zone = _CLOSES[self._line.table]
                closed = datetime.combine(day, hour, zone).astimezone(UTC)
                if closed > self._now:
                    yield Due(day, closed, closed)

    def _lag(self) -> int:
        """Days after the end of a period at which the record is expected to have its figure."""
        start = self._prints[self.periods[0]][0].known_at
        seen = [
            ((first.known_at - timedelta(hours=5)).date() - period).days
            for period in self.periods
            for first in self._prints[period][:1]
            if first.known_at > start
        ]
        return max(seen[-LAGS:], default=self._line.latest_days)

    def _newest(self, limit: int | None) -> list[date]:
        return self.periods if limit is None else self.periods[max(0, len(self.periods) - limit) :]

    def _published(self, period: date, one: VintageValue) -> Published:
        return Published(period, one.value, self._public(period, one), f"{self._line.table}: {self._line.key}")

    def _public(self, period: date, one: VintageValue) -> datetime:
        """From when on a figure may have been public."""
        if self._line.table == "gdp":
            return min(one.known_at, _midnight(period, self._line.earliest_days))
        if self._line.table != "macro":
            return one.known_at
        before = max((panel for panel in self._panels if panel < one.known_at), default=None)
        if before is None:
            return min(one.known_at, _midnight(period, self._line.earliest_days))
        # A panel is known from the end of its day on: what was not in it came on a later business day.
        day = (before - timedelta(hours=4)).date()
        return before + timedelta(days=7 - day.weekday() if day.weekday() > 4 else 0)

    def _rebased(self, period: date, first: VintageValue) -> bool:
        if self._line.table != "gdp" or self.periods[0] == period:
            return False
        before = self._prints[self.periods[self.periods.index(period) - 1]]
        then = [one for one in before if one.known_at < first.known_at]
        now = [one for one in before if one.known_at == first.known_at]
        return bool(then and now) and abs(now[-1].value / then[-1].value - 1.0) > REBASED


def label(frequency: str, period: date) -> str:
    """A period as people name it.

    Example:
        >>> label("month", date(2016, 10, 31)), label("quarter", date(2016, 9, 30)), label("day", date(2016, 9, 7))
        ('October 2016', '2016 Q3', 'September 7, 2016')
    """
    if frequency == "month":
        return f"{period:%B} {period.year}"
    if frequency == "quarter":
        return f"{period.year} Q{(period.month + 2) // 3}"
    return f"{period:%B} {period.day}, {period.year}"


def _period_end(line: SeriesLine, day: date) -> date:
    """The last day of the period of a reference date: of a quarter it is its first month in ``gdp``, its last one in
    ``macro``.
    """
    if line.frequency == "day":
        return day
    month = day.month + (2 if line.table == "gdp" else 0)
    return date(day.year, month, calendar.monthrange(day.year, month)[1])


def _months_later(day: date, months: int) -> date:
    month = day.month - 1 + months
    year, month = day.year + month // 12, month % 12 + 1
    return date(year, month, calendar.monthrange(year, month)[1])


def _midnight(day: date, days: int) -> datetime:
    """The beginning of a day in New York, or an hour before in winter."""
    return datetime.combine(day + timedelta(days=days), time(4), UTC)


@functools.cache
def _holidays(table: str, year: int) -> frozenset[date]:
    """Weekdays on which a market has no figure, by rules that are known long before."""
    from pandas.tseries.holiday import EasterMonday, GoodFriday, USFederalHolidayCalendar

    first, last = date(year, 1, 1), date(year, 12, 31)
    rules: Mapping[str, Sequence[object]] = {"ecb-fx": (GoodFriday, EasterMonday), "ust-par-yields": (GoodFriday,)}
    found = {day.date() for rule in rules[table] for day in rule.dates(first, last)}  # type: ignore[attr-defined]
    if table == "ecb-fx":
        return frozenset(found | {first, date(year, 5, 1), date(year, 12, 25), date(year, 12, 26)})
    return frozenset(found | {day.date() for day in USFederalHolidayCalendar().holidays(first, last)})
