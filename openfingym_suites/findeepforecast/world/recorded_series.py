"""A macro series of the real past as it was known at a time: first prints, and when the next figures are expected.

A figure may have been public before the time at which the record shows it. The vintages of the table ``macro`` are
panels of all series, as they stood on certain days: what is new in a panel was published after the day of the panel
before it, on a business day. The vintages of ``gdp`` come a few times a year: what is new in one was published some
time after the end of its period, but not before the fewest days that the table of series assumes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from openfingym_suites.findeepforecast.world.known import Published
from openfingym_suites.findeepforecast.world.periods import month_end, new_york_midnight
from openfingym_suites.findeepforecast.world.recorded_rows import VintageValue
from openfingym_suites.findeepforecast.world.recorded_tables import SeriesLine

AHEAD_DAYS = 130
"""How many days ahead figures are expected. Questions ask at most 92 days ahead."""
LAGS = 6
"""Number of the latest releases of which the longest delay is expected for the next ones."""
OVERDUE_DAYS = 60
"""A series is no longer recorded if its next figure is overdue by more than this many days."""
REBASED = 0.02
"""A vintage that changes the period before its newest one by more than this share is in other prices."""
_CLOSES = {"ecb-fx": (time(17), ZoneInfo("Europe/Berlin")), "ust-par-yields": (time(20), ZoneInfo("America/New_York"))}
"""Time of day since when the vault has a market's figure of the day, and its time zone, by dataset."""


@dataclass(frozen=True)
class ExpectedFigure:
    """A figure that is expected, by what is known."""

    period: date
    """The last day of the period that it is about."""
    public_at: datetime
    """The earliest time at which it may be public, in UTC."""
    at: datetime
    """The time at which the record is expected to have it, in UTC."""


class SeriesPrints:
    """A series as it was known at a time.

    Args:
        line: the series.
        vintages: values of all its vintages that were known, in the order in which they became known.
        panels: the times since when the panels of the table ``macro`` that were known are known, in order.
        now: the time as of which the series is seen, in UTC.
    """

    def __init__(
        self, line: SeriesLine, vintages: Sequence[VintageValue], panels: Sequence[datetime], now: datetime
    ) -> None:
        self._line = line
        self._panels = panels
        self._now = now
        self._prints: dict[date, list[VintageValue]] = {}
        for vintage in vintages:
            self._prints.setdefault(_period_end(line, vintage.day), []).append(vintage)
        self.periods = sorted(self._prints)
        """The last days of the periods of which there are figures, in order."""

    def history(self, limit: int | None = None) -> list[Published]:
        """First values of all periods, oldest first, in whatever prices they are.

        Args:
            limit: how many of the newest periods at most; None for all.
        """
        return [self._published(period, self._prints[period][0]) for period in self._newest(limit)]

    def first(self, period: date) -> Published | None:
        """The first print of a period; None if there is none, or if it is in other prices than earlier figures."""
        prints = self._prints.get(period)
        return None if not prints or self._rebased(period, prints[0]) else self._published(period, prints[0])

    def latest(self, period: date) -> Published | None:
        """The figure of a period as it stands; None if there is none."""
        prints = self._prints.get(period)
        return None if not prints else self._published(period, prints[-1])

    def expected(self) -> Iterator[ExpectedFigure]:
        """The figures that are expected and not recorded yet, in the order of their periods."""
        if not self.periods:
            return
        if self._line.frequency == "day":
            yield from self._expected_days()
            return
        lag = self._lag()
        months = 1 if self._line.frequency == "month" else 3
        period = self.periods[-1]
        while True:
            period = month_end(period.year, period.month + months)
            public_at = new_york_midnight(period + timedelta(days=self._line.earliest_days))
            # The record has a figure from the end of the day on which it is released.
            at = new_york_midnight(period + timedelta(days=lag + 1))
            if public_at > self._now + timedelta(days=AHEAD_DAYS):
                return
            if at < self._now - timedelta(days=OVERDUE_DAYS):
                return
            yield ExpectedFigure(period, public_at, at)

    def _expected_days(self) -> Iterator[ExpectedFigure]:
        """The figures of the days on which the series' market will be open."""
        last = self.periods[-1]
        if (self._now.date() - last).days > OVERDUE_DAYS:
            return
        for ahead in range(1, AHEAD_DAYS):
            day = last + timedelta(days=ahead)
            if day.weekday() < 5 and day not in _holidays(self._line.table, day.year):
                hour, zone = _CLOSES[self._line.table]
                closed = datetime.combine(day, hour, zone).astimezone(UTC)
                if closed > self._now:
                    yield ExpectedFigure(day, closed, closed)

    def _lag(self) -> int:
        """Days after the end of a period at which the record is expected to have its figure."""
        # What is in the first vintage of the record was published before it, nobody knows when.
        start = self._prints[self.periods[0]][0].known_at
        firsts = ((period, self._prints[period][0].known_at) for period in self.periods)
        # A figure is known from the end of its day on, which is the next day in UTC. In winter five hours less are the
        # very beginning of that next day, so that the delay is a day longer: expected too late rather than too early.
        lags = [((known - timedelta(hours=5)).date() - period).days for period, known in firsts if known > start]
        return max(lags[-LAGS:], default=self._line.latest_days)

    def _newest(self, limit: int | None) -> list[date]:
        """The newest periods, as many as a limit allows."""
        return self.periods if limit is None else self.periods[max(0, len(self.periods) - limit) :]

    def _published(self, period: date, vintage: VintageValue) -> Published:
        public_at = self._public_at(period, vintage.known_at)
        return Published(period, vintage.value, public_at, f"{self._line.table}: {self._line.key}")

    def _public_at(self, period: date, known: datetime) -> datetime:
        """The earliest time at which a figure may have been public.

        Args:
            period: the last day of its period.
            known: the time since when the record has it.
        """
        if self._line.table not in {"macro", "gdp"}:
            return known
        earliest = min(known, new_york_midnight(period + timedelta(days=self._line.earliest_days)))
        if self._line.table == "gdp":
            return earliest
        before = max((panel for panel in self._panels if panel < known), default=None)
        if before is None:
            return earliest
        # A panel is known from the end of its day on. What it did not have came on the next day or later, and on no
        # weekend, on which the agencies publish nothing.
        next_day = (before - timedelta(hours=4)).date()
        return before + timedelta(days=7 - next_day.weekday() if next_day.weekday() > 4 else 0)

    def _rebased(self, period: date, first: VintageValue) -> bool:
        """Whether the vintage of a first print has the period before it in other prices than earlier vintages."""
        if self._line.table != "gdp" or self.periods[0] == period:
            return False
        before = self._prints[self.periods[self.periods.index(period) - 1]]
        earlier = [vintage for vintage in before if vintage.known_at < first.known_at]
        same = [vintage for vintage in before if vintage.known_at == first.known_at]
        return bool(earlier and same) and abs(same[-1].value / earlier[-1].value - 1.0) > REBASED


def _period_end(line: SeriesLine, day: date) -> date:
    """The last day of the period of a reference date, which is in the first month of a quarter in the table ``gdp``,
    and in its last month in ``macro``.
    """
    if line.frequency == "day":
        return day
    return month_end(day.year, day.month + (2 if line.table == "gdp" else 0))


@functools.cache
def _holidays(table: str, year: int) -> frozenset[date]:
    """The holidays of a year on which a market has no figure, by rules that are known long before.

    Args:
        table: dataset of the market: ``ecb-fx`` or ``ust-par-yields``.
        year: the year.
    """
    # Loaded here, since it takes a third of a second and only series of days need it.
    from pandas.tseries.holiday import EasterMonday, GoodFriday, USFederalHolidayCalendar

    first, last = date(year, 1, 1), date(year, 12, 31)
    rules: Mapping[str, Sequence[object]] = {"ecb-fx": (GoodFriday, EasterMonday), "ust-par-yields": (GoodFriday,)}
    holidays = {day.date() for rule in rules[table] for day in rule.dates(first, last)}  # type: ignore[attr-defined]
    if table == "ecb-fx":
        return frozenset(holidays | {first, date(year, 5, 1), date(year, 12, 25), date(year, 12, 26)})
    return frozenset(holidays | {day.date() for day in USFederalHolidayCalendar().holidays(first, last)})
