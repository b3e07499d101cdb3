"""Values of the macro series, when they are released, and how they are revised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.findeepforecast.world.periods import label, month_ends
from openfingym.suites.findeepforecast.world.reports import TradingDays, at
from openfingym.suites.findeepforecast.world.size import BY_CODE, WorldSize
from openfingym.suites.findeepforecast.world.statistics import SimulatedStatistic, statistics
from openfingym.suites.finsearch.world.calendars import sessions
from openfingym.suites.finsearch.world.draws import stream

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.suites.findeepforecast.world.books import Floats

MOVED, LATE = 0.05, 0.012
"""Shares of releases that are moved by a day with notice, and on the day itself."""
_BACK = 13
"""Months before the first period, so that changes on a year before have one."""


@dataclass(frozen=True)
class Release:
    """A release of a series.

    Attributes:
        statistic: the series.
        period_end: the last day of its period.
        dates: when it was scheduled for, and since when that was known; the last one counts.
        prints: what was published and when: the first print, then revisions. Empty where it never came.
    """

    statistic: SimulatedStatistic
    period_end: date
    dates: tuple[tuple[datetime, datetime], ...]
    prints: tuple[tuple[float, datetime], ...]


def closed_day(size: WorldSize, seed: int) -> date:
    """A day of the season on which a storm closes Hong Kong's markets, as nobody knew on the day before."""
    days = TradingDays(BY_CODE["HK"].hours, size.first_day, size.last_day)
    place = int(stream(seed, "storm").integers(12, 30))
    return days.from_on(size.season, place)


def make_releases(size: WorldSize, seed: int) -> list[Release]:
    """All releases, series by series."""
    found: list[Release] = []
    for one in statistics():
        found += _daily(one, size, seed) if one.frequency == "day" else _periodic(one, size, seed)
    return found


def _daily(one: SimulatedStatistic, size: WorldSize, seed: int) -> list[Release]:
    hours = BY_CODE[one.home].hours
    table = sessions(hours, size.first_day, size.last_day)
    values = daily_values(one, len(table.days), seed)
    late = timedelta(minutes=int(one.clock))
    storm = closed_day(size, seed) if one.economy == "HK" else None
    begin = datetime.combine(size.first_day, time(0), UTC) - timedelta(days=1)
    found = []
    days, closes = table.days.date, table.close_at.to_pydatetime()
    for day, close, value in zip(days, closes, values.tolist(), strict=True):
        known = close.astimezone(UTC) + late
        told = max(known - timedelta(days=370), begin)
        came = () if day == storm else ((value, known),)
        found.append(Release(one, day, ((known, told),), came))
    return found


def daily_values(one: SimulatedStatistic, count: int, seed: int) -> Floats:
    """Values of a daily series, of as many sessions; those of series that are alike are the same."""
    rng = stream(seed, "macro", one.like or one.id)
    steps = rng.standard_normal(count)
    if one.form == "walk":
        # Markets of the world move together to a part, by days of the exchange with most of them.
        shared = stream(seed, "macro", "world").standard_normal(count) if one.indicator == "Stock Index" else steps
        mixed = 0.6 * shared + 0.8 * steps if one.indicator == "Stock Index" else steps
        return np.round(one.start * np.exp(np.cumsum(one.drift / 250 + one.noise * mixed)), one.decimals)
    if one.form == "fear":
        course = np.zeros(count)
        jumps = (rng.uniform(size=count) < 0.02) * rng.uniform(0.1, 0.5, count)
        for place in range(1, count):
            course[place] = 0.96 * course[place - 1] + one.noise * steps[place] + jumps[place]
        return np.round(one.start * np.exp(course - 0.1), one.decimals)
    still = rng.uniform(size=count) < 0.4
    course = np.zeros(count)
    for place in range(1, count):
        step = 0.0 if still[place] else one.noise * steps[place] - 0.004 * course[place - 1]
        course[place] = course[place - 1] + step
    return np.round(one.start * np.exp(course), one.decimals)


def periodic_values(one: SimulatedStatistic, count: int, first_month: int, seed: int) -> tuple[Floats, Floats]:
    """First prints and final values of a series by month or quarter.

    Args:
        one: the series.
        count: how many periods there are.
        first_month: month, from 0, in which the first one ends.
        seed: the world.
    """
    rng = stream(seed, "macro", one.id)
    a_year = 4 if one.frequency == "quarter" else 12
    whole = count + a_year
    steps, off = rng.standard_normal(whole), rng.standard_normal(whole)
    pattern = rng.standard_normal(a_year)
    pattern -= pattern.mean()
    places = (np.arange(whole) - a_year + (first_month // (12 // a_year))) % a_year
    season = one.season * pattern[places]
    if one.form == "rate":
        course = np.zeros(whole)
        moves = rng.uniform(size=whole) < 0.45
        for place in range(1, whole):
            step = np.sign(steps[place] - 0.25 * course[place - 1] / one.noise) if moves[place] else 0.0
            course[place] = course[place - 1] + one.noise * step
        final = one.start * (1 + course)
    elif one.form == "level":
        course = np.zeros(whole)
        for place in range(1, whole):
            course[place] = 0.7 * course[place - 1] + one.noise * steps[place]
        final = one.start * (1 + course + season)
    else:
        # What rises faster than usual goes on to do so for a while.
        pace = np.zeros(whole)
        for place in range(1, whole):
            pace[place] = 0.5 * pace[place - 1] + one.noise * steps[place]
        final = one.start * np.exp(np.cumsum(one.drift / a_year + pace) + season)
    first = final * (1 + one.revised * off)
    if one.form == "yearly":
        final = 100 * (final[a_year:] / final[:-a_year] - 1)
        return np.round(final, one.decimals) + 0.0, np.round(final, one.decimals) + 0.0
    return np.round(first[a_year:], one.decimals) + 0.0, np.round(final[a_year:], one.decimals) + 0.0


def _periodic(one: SimulatedStatistic, size: WorldSize, seed: int) -> list[Release]:
    place = BY_CODE[one.home]
    days = TradingDays(place.hours, size.first_day, date(2026, 6, 26))
    ends = [day for day in month_ends(size.first_day, size.last_day) if one.frequency == "month" or day.month % 3 == 0]
    first, final = periodic_values(one, len(ends), ends[0].month - 1, seed)
    rng = stream(seed, "releases", one.id)
    end_of_world = datetime.combine(size.last_day, time(23, 59), UTC)
    begin = datetime.combine(size.first_day, time(0), UTC)
    found = []
    for number, end in enumerate(ends):
        draws = rng.uniform(size=4)
        day = days.from_on(end + timedelta(days=one.lag + round(2 * draws[0] - 1)))
        planned = at(day, one.clock, place.zone)
        told = max(planned - timedelta(days=95 + int(25 * draws[1])), begin)
        dates = [(planned, told)]
        if draws[2] < MOVED:
            new = days.from_on(day, 1 if draws[3] < 0.6 else -1)
            notice = at(min(day, new) - timedelta(days=3 + int(6 * draws[3])), "17:00", place.zone)
            dates.append((at(new, one.clock, place.zone), notice))
        elif draws[2] < MOVED + LATE:
            dates.append((at(days.from_on(day, 1), one.clock, place.zone), planned - timedelta(minutes=20)))
        known = dates[-1][0]
        values = [(float(first[number]), known)]
        later = at(days.from_on(known.date() + timedelta(days=31)), one.clock, place.zone)
        if first[number] != final[number]:
            values.append((float(final[number]), later))
        if told > end_of_world:
            continue
        came = tuple((value, when) for value, when in values if when <= end_of_world)
        found.append(Release(one, end, tuple(dates), came))
    return found


def macro_frames(releases: Sequence[Release], size: WorldSize) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Rows of the tables ``macro_series``, ``release_calendar`` and ``macro``."""
    import pandas as pd

    known = datetime.combine(size.first_day, time(0), UTC) - timedelta(days=1)
    names = ("id", "indicator", "economy", "title", "unit", "frequency", "authority")
    series = pd.DataFrame([{name: getattr(one, name) for name in names} | {"known_at": known} for one in statistics()])
    calendar = [
        (one.statistic.id, one.period_end, label(one.period_end, one.statistic.frequency), scheduled, told)
        for one in releases
        for scheduled, told in one.dates
    ]
    values = [(one.statistic.id, one.period_end, value, when) for one in releases for value, when in one.prints]
    return (
        series,
        pd.DataFrame(calendar, columns=["id", "period_end", "label", "scheduled_at", "known_at"]),
        pd.DataFrame(values, columns=["id", "period_end", "value", "known_at"]),
    )
