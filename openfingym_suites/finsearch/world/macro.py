"""Simulated statistics, most of Greater China: levels that are revised, and changes of them as known at release."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from importlib import resources
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import msgspec
import numpy as np

from openfingym_suites.finsearch.world.calendars import NEW_YORK, SHANGHAI, Hours, sessions
from openfingym_suites.finsearch.world.draws import stream
from openfingym_suites.finsearch.world.paths import MarketPaths
from openfingym_suites.finsearch.world.rates import note_yields
from openfingym_suites.finsearch.world.roster import MarketSize

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_ZONES = {
    "CN": "Asia/Shanghai", "HK": "Asia/Hong_Kong", "TW": "Asia/Taipei", "MO": "Asia/Macau", "US": "America/New_York",
    "RU": "Europe/Moscow", "GB": "Europe/London", "DE": "Europe/Berlin",
}  # fmt: skip
"""Time zones of countries."""


@dataclass(frozen=True)
class Statistic:
    """A statistic, and how its figures come about. The statistics are stated in ``statistics.tsv``.

    Attributes:
        id: name of the series.
        name: name of the statistic in English.
        name_zh: name of the statistic in Chinese.
        units: unit of its figures, in words.
        country: code of its country, of two letters.
        topic: name of what the series measures.
        form: ``level`` (grows and is revised), ``rate`` (comes back to a mean and is not revised), ``steps`` (a policy
            rate), ``change`` or ``change month`` (of a level, on the year or on the month), or ``difference``.
        start: first figure.
        drift: growth of a level a year, or the mean that a rate comes back to.
        noise: how large the chance part of a period is: a standard deviation, or the step of a policy rate.
        decimals: how many decimals figures have.
        lag: days from the end of the period to the release.
        hour: time of day of the release, in the country's time zone.
        quarterly: whether its periods are quarters; otherwise they are months.
        revised: error of the first figure, a standard deviation as a share of the level; 0 for figures that stay.
        of: id of the level that a change is of.
        definition: how the statistic is defined, in words.
    """

    id: str
    name: str
    name_zh: str
    units: str
    country: str
    topic: str
    form: str
    start: float
    drift: float
    noise: float
    decimals: int
    lag: int
    hour: str
    quarterly: bool = False
    revised: float = 0.0
    of: str = ""
    definition: str = ""


def _statistics() -> tuple[Statistic, ...]:
    """The statistics of ``statistics.tsv``, in its order."""
    with resources.files(__package__).joinpath("statistics.tsv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return tuple(msgspec.convert(row, Statistic, strict=False) for row in rows)


# The last one, the trade balance, follows from two others.
*_OTHERS, BALANCE = _statistics()
STATISTICS = tuple(_OTHERS)
DAILY = (
    ("CN_CGB10Y", "China: government bond yield, ten years", "中国十年期国债收益率", "%", "CN", 3.3, 4),
    ("CN_CGB1Y", "China: government bond yield, one year", "中国一年期国债收益率", "%", "CN", 2.3, 4),
    ("CN_SHIBOR_ON", "China: interbank offered rate, overnight", "上海银行间同业拆放利率(隔夜)", "%", "CN", 2.0, 3),
    ("HK_HIBOR_3M", "Hong Kong: interbank offered rate, three months", "香港银行同业拆息(三个月)", "%", "HK", 1.9, 5),
    (
        "US_NOTE10Y",
        "United States: yield of the simulated ten-year note",
        "美国十年期模拟国债收益率",
        "%",
        "US",
        3.0,
        2,
    ),
)
"""Series with a figure for each session: id, name in English and Chinese, units, country, mean, and decimals."""
SOURCE = "simulated; no office published it"


@dataclass(frozen=True, slots=True)
class ReleasedFigure:
    """A figure of a statistic as it was released: one vintage of it."""

    series: str
    reference_date: date
    """First day of the period, or the day itself."""
    value: float
    release: str
    """``first``, ``revised`` or ``benchmark``."""
    known_at: datetime


def points(size: MarketSize, seed: int, paths: MarketPaths) -> list[ReleasedFigure]:
    """All figures of all statistics, with their vintages.

    Args:
        size: how large the world is; its days are those of the statistics.
        seed: the number from which every random draw of the world follows.
        paths: paths that prices share, from which one yield follows.
    """
    figures: list[ReleasedFigure] = []
    levels: dict[str, list[ReleasedFigure]] = {}
    # In the order of the file, in which a level comes before its changes.
    for statistic in STATISTICS:
        if statistic.form.startswith("change"):
            figures += _changes(statistic, levels[statistic.of])
        else:
            own = list(_released(size, seed, statistic))
            levels[statistic.id] = own
            figures += own
    balance = list(_balance(levels["CN_EXPORTS"], levels["CN_IMPORTS"]))
    return [*figures, *balance, *_daily(size, seed, paths)]


def _periods(size: MarketSize, *, quarterly: bool) -> list[tuple[date, date]]:
    """The first and the last day of each period, from the year before the first day of the world on, so that changes on
    the year are known from the beginning.
    """
    step = 3 if quarterly else 1
    periods = []
    for year in range(size.first_day.year - 1, size.last_day.year + 1):
        for month in range(1, 13, step):
            after = date(year + (month + step > 12), (month + step - 1) % 12 + 1, 1)
            periods.append((date(year, month, 1), after - timedelta(days=1)))
    return periods


def _known(statistic: Statistic, day: date) -> datetime:
    """The time of a release on a day, in UTC."""
    clock = time.fromisoformat(statistic.hour)
    return datetime.combine(day, clock, ZoneInfo(_ZONES[statistic.country])).astimezone(UTC)


def _released(size: MarketSize, seed: int, statistic: Statistic) -> Iterator[ReleasedFigure]:
    """The figures of a level or a rate, each with its vintages: the first has an error, and later ones less of it."""
    periods = _periods(size, quarterly=statistic.quarterly)
    rng = stream(seed, "statistic", statistic.id)
    final = _path(statistic, rng, len(periods))
    errors = statistic.revised * rng.standard_normal((len(periods), 2))
    benchmark = np.exp(0.003 * rng.standard_normal(size.last_day.year - size.first_day.year + 3))
    for place, ((first, last), value) in enumerate(zip(periods, final.tolist(), strict=True)):
        out = last + timedelta(days=statistic.lag)
        # Adding 0.0 turns a negative zero into a zero.
        figure = round(value * float(np.exp(errors[place, 0])), statistic.decimals) + 0.0
        vintages = [(out, figure, "first")]
        if statistic.revised:
            figure = round(value * float(np.exp(errors[place, 1] / 3)), statistic.decimals)
            # With the next period's figure.
            vintages.append((out + timedelta(days=92 if statistic.quarterly else 31), figure, "revised"))
            # A benchmark revision moves all figures of a year by one factor, in the November after it.
            figure = round(value * float(benchmark[first.year - size.first_day.year + 1]), statistic.decimals)
            vintages.append((date(first.year + 1, 11, 28), figure, "benchmark"))
        # A revision that changes nothing is no vintage.
        for number, (day, shown, release) in enumerate(vintages):
            if day <= size.last_day and (number == 0 or shown != vintages[number - 1][1]):
                yield ReleasedFigure(statistic.id, first, shown, release, _known(statistic, day))


def _path(statistic: Statistic, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """float64[count]: the true figure of each period."""
    shocks = rng.standard_normal(count)
    a_year = 4 if statistic.quarterly else 12
    if statistic.form == "level":
        season = 1 + statistic.noise * rng.standard_normal(a_year)
        steps = np.cumsum(statistic.drift / a_year + 0.5 * statistic.noise * shocks)
        path: NDArray[np.float64] = statistic.start * np.exp(steps) * season[np.arange(count) % a_year]
        return path
    level, path = statistic.start, np.empty(count)
    for place, shock in enumerate(shocks.tolist()):
        # A policy rate is cut now and then, in a period of a large shock, until it is down to its drift.
        if statistic.form == "steps":
            move = -statistic.noise if level > statistic.drift and shock > 1.1 else 0.0
            level = round(level + move, 2)
        else:
            level += 0.08 * (statistic.drift - level) + statistic.noise * shock
        path[place] = level
    return path


def _changes(statistic: Statistic, levels: list[ReleasedFigure]) -> Iterator[ReleasedFigure]:
    """Changes of a level in percent, from its figures as they are known at the release; they are not revised."""
    first = {point.reference_date: point for point in levels if point.release == "first"}
    by_day: dict[date, list[ReleasedFigure]] = {}
    for point in levels:
        by_day.setdefault(point.reference_date, []).append(point)
    for day, point in first.items():
        if statistic.form == "change month":
            before = (day - timedelta(days=1)).replace(day=1)
        else:
            before = day.replace(year=day.year - 1)
        known = [each for each in by_day.get(before, ()) if each.known_at <= point.known_at]
        if known:
            base = max(known, key=lambda each: each.known_at).value
            value = round((point.value / base - 1) * 100, statistic.decimals) + 0.0
            yield ReleasedFigure(statistic.id, day, value, "first", _known(statistic, point.known_at.date()))


def _balance(exports: list[ReleasedFigure], imports: list[ReleasedFigure]) -> Iterator[ReleasedFigure]:
    """Exports less imports: a vintage whenever a figure of either is released."""
    by_period: dict[date, list[tuple[datetime, int, ReleasedFigure]]] = {}
    for side, figures in enumerate((exports, imports)):
        for point in figures:
            by_period.setdefault(point.reference_date, []).append((point.known_at, side, point))
    for day, released in by_period.items():
        latest: dict[int, float] = {}
        for place, (known_at, side, point) in enumerate(sorted(released, key=lambda each: each[:2])):
            latest[side] = point.value
            # Once both sides are known; of figures released at one time, after the last of them.
            later = [each for each in released if each[0] == known_at and each[1] > side]
            if len(latest) == 2 and not later:
                value = round(latest[0] - latest[1], 1) + 0.0
                yield ReleasedFigure(BALANCE.id, day, value, point.release if place > 1 else "first", known_at)


def _daily(size: MarketSize, seed: int, paths: MarketPaths) -> Iterator[ReleasedFigure]:
    """The daily series: rates that come back to a mean, known two hours after the close of their market."""
    notes = note_yields(seed, paths)
    for series, _, _, _, country, mean, decimals in DAILY:
        hours: Hours = NEW_YORK if country == "US" else SHANGHAI
        times = sessions(hours, size.first_day, size.last_day)
        shocks = stream(seed, "daily", series).standard_normal(len(times.days)) * (0.12 if "SHIBOR" in series else 0.03)
        level, values = mean, []
        for shock in shocks.tolist():
            level = max(level + 0.004 * (mean - level) + shock, 0.05)
            values.append(round(level, decimals))
        # The yield of the simulated note is the one from which the prices of its futures follow.
        if series == "US_NOTE10Y":
            values = [round(value, 2) for value in notes[paths.at(times.days)].tolist()]
        known = (times.close_at + timedelta(hours=2)).to_pydatetime()
        for day, value, at in zip(times.days, values, known, strict=True):
            yield ReleasedFigure(series, day.date(), value, "first", at)


def info(figures: list[ReleasedFigure]) -> pd.DataFrame:
    """Rows of ``series_info`` for the simulated series, each known with the first figure of its series."""
    import pandas as pd

    first: dict[str, datetime] = {}
    for point in figures:
        first[point.series] = min(first.get(point.series, point.known_at), point.known_at)
    rows: list[dict[str, object]] = []
    for each in (*STATISTICS, BALANCE):
        frequency = "quarterly" if each.quarterly else "monthly"
        adjustment = "" if each.form in {"rate", "steps"} else "not seasonally adjusted"
        rows.append(_row(each.id, each.name, each.name_zh, each.units, frequency, each.country, each.topic,
                         adjustment, each.definition))  # fmt: skip
    for series, name, name_zh, units, country, _, _ in DAILY:
        rows.append(_row(series, name, name_zh, units, "daily", country, "rates", "", "at the close"))
    return pd.DataFrame([{**row, "known_at": first[str(row["series"])]} for row in rows if row["series"] in first])


def _row(
    series: str, name: str, name_zh: str, units: str, frequency: str, country: str, topic: str, adjustment: str,
    definition: str,
) -> dict[str, object]:  # fmt: skip
    return {
        "series": series, "name": f"{name} (simulated)", "name_zh": f"{name_zh}(模拟)", "units": units,
        "frequency": frequency, "adjustment": adjustment, "country": country, "topic": topic,
        "definition": definition, "source": SOURCE, "held_in": "series", "dataset": "", "channel": series,
        "simulated": True,
    }  # fmt: skip
