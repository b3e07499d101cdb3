"""The macro series of the simulated world: their values, when these are released, and how they are revised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.findeepforecast.world.periods import label, month_ends
from openfingym_suites.findeepforecast.world.reports import TradingDays, utc_time
from openfingym_suites.findeepforecast.world.size import BY_CODE, LAST_TRADING_DAY, WorldSize
from openfingym_suites.findeepforecast.world.statistics import SimulatedStatistic, statistics
from openfingym_suites.finsearch.world.calendars import sessions
from openfingym_suites.finsearch.world.draws import stream

if TYPE_CHECKING:
    import pandas as pd

    from openfingym_suites.findeepforecast.world.books import Floats

MOVED, LATE = 0.05, 0.012
"""Shares of monthly and quarterly releases that are moved by a trading day: with notice, and on the day itself."""
_TRADING_DAYS = 250
"""Trading days of a year, roughly."""


@dataclass(frozen=True)
class Release:
    """A release of a series.

    Attributes:
        statistic: the series.
        period_end: the last day of the period that is released.
        dates: pairs of the time for which it was scheduled and the time at which that became known, both in UTC; the
            last pair is the one that held.
        prints: pairs of a value and the time at which it was published, in UTC: the first print, then revisions. Empty
            if the release never came.
    """

    statistic: SimulatedStatistic
    period_end: date
    dates: tuple[tuple[datetime, datetime], ...]
    prints: tuple[tuple[float, datetime], ...]


def closed_day(size: WorldSize, seed: int) -> date:
    """The day of the season on which a storm closes Hong Kong's markets; nobody knows it on the day before."""
    days = TradingDays(BY_CODE["HK"].hours, size.first_day, size.last_day)
    place = int(stream(seed, "storm").integers(12, 30))
    return days.from_on(size.season, place)


def make_releases(size: WorldSize, seed: int) -> list[Release]:
    """Draw all releases of a world.

    Args:
        size: the days of the world.
        seed: the number from which every random draw of the world follows.

    Returns:
        The releases, series by series, and of each series by period.
    """
    releases: list[Release] = []
    for statistic in statistics():
        make = _daily_releases if statistic.frequency == "day" else _periodic_releases
        releases += make(statistic, size, seed)
    return releases


def _daily_releases(statistic: SimulatedStatistic, size: WorldSize, seed: int) -> list[Release]:
    """The values of a daily series, each known some minutes after the close of its market."""
    hours = BY_CODE[statistic.home].hours
    table = sessions(hours, size.first_day, size.last_day)
    values = daily_values(statistic, len(table.days), seed)
    late = timedelta(minutes=int(statistic.clock))
    storm = closed_day(size, seed) if statistic.economy == "HK" else None
    begin = datetime.combine(size.first_day, time(0), UTC) - timedelta(days=1)
    releases = []
    days, closes = table.days.date, table.close_at.to_pydatetime()
    for day, close, value in zip(days, closes, values.tolist(), strict=True):
        known = close.astimezone(UTC) + late
        # Exchanges announce their trading days about a year ahead, so the storm is in no calendar.
        announced = max(known - timedelta(days=370), begin)
        prints = () if day == storm else ((value, known),)
        releases.append(Release(statistic, day, ((known, announced),), prints))
    return releases


def daily_values(statistic: SimulatedStatistic, count: int, seed: int) -> Floats:
    """Draw the values of a daily series.

    Args:
        statistic: the series; one that is like another (as the euro's rate in France) has the other's random numbers.
        count: how many sessions there are.
        seed: the number from which every random draw of the world follows.

    Returns:
        The values, float64[count], rounded to the decimals of the series.
    """
    rng = stream(seed, "macro", statistic.like or statistic.id)
    steps = rng.standard_normal(count)
    start, noise, decimals = statistic.start, statistic.noise, statistic.decimals
    if statistic.form == "walk":
        if statistic.indicator == "Stock Index":
            # Stock markets move together in part: sessions of the same number share a shock, whatever their exchange.
            # The squares of 0.6 and 0.8 add up to 1, so that the mixture varies as much as each part.
            shared = stream(seed, "macro", "world").standard_normal(count)
            steps = 0.6 * shared + 0.8 * steps
        return np.round(start * np.exp(np.cumsum(statistic.drift / _TRADING_DAYS + noise * steps)), decimals)
    course = np.zeros(count)
    if statistic.form == "fear":
        # Reverts to its mean by 4 % a session, and jumps upwards on one session in fifty.
        jumps = (rng.uniform(size=count) < 0.02) * rng.uniform(0.1, 0.5, count)
        for place in range(1, count):
            course[place] = 0.96 * course[place - 1] + noise * steps[place] + jumps[place]
        return np.round(start * np.exp(course - 0.1), decimals)
    # A rate: on two sessions of five it does not move, else it moves and slowly reverts to its mean.
    still = rng.uniform(size=count) < 0.4
    for place in range(1, count):
        step = 0.0 if still[place] else noise * steps[place] - 0.004 * course[place - 1]
        course[place] = course[place - 1] + step
    return np.round(start * np.exp(course), decimals)


def periodic_values(statistic: SimulatedStatistic, count: int, first_month: int, seed: int) -> tuple[Floats, Floats]:
    """Draw first prints and final values of a monthly or quarterly series.

    Args:
        statistic: the series.
        count: how many periods there are.
        first_month: month with which the first period ends, from 0 for January.
        seed: the number from which every random draw of the world follows.

    Returns:
        The first prints and the final values, each float64[count], rounded to the decimals of the series.
    """
    rng = stream(seed, "macro", statistic.id)
    start, noise, decimals = statistic.start, statistic.noise, statistic.decimals
    a_year = 4 if statistic.frequency == "quarter" else 12
    # A year more at the beginning: changes on a year before need something to compare the first periods with.
    whole = count + a_year
    steps, off = rng.standard_normal(whole), rng.standard_normal(whole)
    # The regular difference of each period of the year; those of a year add up to nothing.
    pattern = rng.standard_normal(a_year)
    pattern -= pattern.mean()
    places = (np.arange(whole) - a_year + (first_month // (12 // a_year))) % a_year
    season = statistic.season * pattern[places]
    course = np.zeros(whole)
    if statistic.form == "rate":
        # In most periods it stays as it is, else it takes a step up or down; the further from its mean, the likelier
        # towards it.
        moves = rng.uniform(size=whole) < 0.45
        for place in range(1, whole):
            step = np.sign(steps[place] - 0.25 * course[place - 1] / noise) if moves[place] else 0.0
            course[place] = course[place - 1] + noise * step
        final = start * (1 + course)
    elif statistic.form == "level":
        for place in range(1, whole):
            course[place] = 0.7 * course[place - 1] + noise * steps[place]
        final = start * (1 + course + season)
    else:
        # The course is that of growth, which is persistent: what rises faster than usual does so for a while.
        for place in range(1, whole):
            course[place] = 0.5 * course[place - 1] + noise * steps[place]
        final = start * np.exp(np.cumsum(statistic.drift / a_year + course) + season)
    first = final * (1 + statistic.revised * off)
    # Changes on a year before are not revised. Adding 0.0 turns -0.0 into 0.0.
    if statistic.form == "yearly":
        final = 100 * (final[a_year:] / final[:-a_year] - 1)
        return np.round(final, decimals) + 0.0, np.round(final, decimals) + 0.0
    return np.round(first[a_year:], decimals) + 0.0, np.round(final[a_year:], decimals) + 0.0


def _periodic_releases(statistic: SimulatedStatistic, size: WorldSize, seed: int) -> list[Release]:
    """The releases of a monthly or quarterly series at its office's hour; revisions come about a month later."""
    place = BY_CODE[statistic.home]
    # To the last day that is known of exchanges, since releases after the end of the world are scheduled before it.
    days = TradingDays(place.hours, size.first_day, LAST_TRADING_DAY)
    months = month_ends(size.first_day, size.last_day)
    ends = [day for day in months if statistic.frequency == "month" or day.month % 3 == 0]
    first, final = periodic_values(statistic, len(ends), ends[0].month - 1, seed)
    rng = stream(seed, "releases", statistic.id)
    end_of_world = datetime.combine(size.last_day, time(23, 59), UTC)
    begin = datetime.combine(size.first_day, time(0), UTC)
    releases = []
    for number, end in enumerate(ends):
        # As many numbers for each release, whatever becomes of it, so that what happens to one changes no other.
        draws = rng.uniform(size=4)
        day = days.from_on(end + timedelta(days=statistic.lag + round(2 * draws[0] - 1)))
        planned = utc_time(day, statistic.clock, place.zone)
        announced = max(planned - timedelta(days=95 + int(25 * draws[1])), begin)
        dates = [(planned, announced)]
        if draws[2] < MOVED:
            new = days.from_on(day, 1 if draws[3] < 0.6 else -1)
            # Known 3 to 8 days before the earlier of both dates.
            notice = utc_time(min(day, new) - timedelta(days=3 + int(6 * draws[3])), "17:00", place.zone)
            dates.append((utc_time(new, statistic.clock, place.zone), notice))
        elif draws[2] < MOVED + LATE:
            new = days.from_on(day, 1)
            dates.append((utc_time(new, statistic.clock, place.zone), planned - timedelta(minutes=20)))
        known = dates[-1][0]
        values = [(float(first[number]), known)]
        later = utc_time(days.from_on(known.date() + timedelta(days=31)), statistic.clock, place.zone)
        if first[number] != final[number]:
            values.append((float(final[number]), later))
        if announced > end_of_world:
            continue
        prints = tuple((value, when) for value, when in values if when <= end_of_world)
        releases.append(Release(statistic, end, tuple(dates), prints))
    return releases


def macro_frames(releases: Sequence[Release], size: WorldSize) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Rows of the tables ``macro_series``, ``release_calendar`` and ``macro``.

    Args:
        releases: all releases of the world.
        size: the days of the world; its series are known before the first one.
    """
    import pandas as pd

    known = datetime.combine(size.first_day, time(0), UTC) - timedelta(days=1)
    names = ("id", "indicator", "economy", "title", "unit", "frequency", "authority")
    series = [{name: getattr(statistic, name) for name in names} | {"known_at": known} for statistic in statistics()]
    calendar = [
        (release.statistic.id, release.period_end, label(release.period_end, release.statistic.frequency), *times)
        for release in releases
        for times in release.dates
    ]
    values = [
        (release.statistic.id, release.period_end, value, when)
        for release in releases
        for value, when in release.prints
    ]
    return (
        pd.DataFrame(series),
        pd.DataFrame(calendar, columns=["id", "period_end", "label", "scheduled_at", "known_at"]),
        pd.DataFrame(values, columns=["id", "period_end", "value", "known_at"]),
    )
