"""Levels of the simulated indices: of whole markets, and of ten companies whose reviews can be followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.finsearch.world.calendars import HONG_KONG, NEW_YORK, SHANGHAI, ExchangeSessions, Hours, sessions
from openfingym_suites.finsearch.world.draws import stream
from openfingym_suites.finsearch.world.equities import PricedLine, ohlcv
from openfingym_suites.finsearch.world.paths import MarketPaths
from openfingym_suites.finsearch.world.roster import MarketSize

if TYPE_CHECKING:
    from openfingym_suites.finsearch.world.paths import Floats


@dataclass(frozen=True, eq=False)
class Review:
    """A review of an index: its members from a day on."""

    day: date
    announced: date
    members: tuple[str, ...]
    """Symbols of the members, sorted."""


@dataclass(frozen=True, eq=False)
class PricedIndex:
    """An index with its levels."""

    symbol: str
    name: str
    name_zh: str
    hours: Hours
    currency: str
    country: str
    times: ExchangeSessions
    bars: Floats
    """float64[sessions, 5]: open, high, low and close in points; no volume."""
    reviews: tuple[Review, ...] = ()
    """Reviews in order; none for an index whose members are not stated."""


_MARKET_INDICES = (
    ("C500.IDX", "Continental 500 Index", "大陆500指数", NEW_YORK, "USD", "US", "us", 900.0),
    ("SHC.IDX", "Shanghai Composite Simulated Index", "沪市模拟综合指数", SHANGHAI, "CNY", "CN", "cn", 1900.0),
    ("HK60.IDX", "Hong Kong 60 Index", "香港60指数", HONG_KONG, "HKD", "HK", "hk", 15000.0),
)
"""Indices of whole markets: symbol, names, hours, currency, country, region whose path they follow, first level."""
MEMBERS = 10
"""Members of the index whose reviews can be followed."""


def price_indices(size: MarketSize, seed: int, paths: MarketPaths, lines: Sequence[PricedLine]) -> list[PricedIndex]:
    """The indices of three markets, and one whose members and weights can be followed.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
        paths: paths that prices share.
        lines: the shares, of which the last index has members.
    """
    indices = []
    for symbol, name, name_zh, hours, currency, country, region, start in _MARKET_INDICES:
        times = sessions(hours, size.first_day, size.last_day)
        level = start * np.exp(np.cumsum(paths.markets[region]))[paths.at(times.days)]
        indices.append(_index(seed, paths, (symbol, name, name_zh, hours, currency, country), times, level, ()))
    times = sessions(NEW_YORK, size.first_day, size.last_day)
    level, reviews = _ten(times, [line for line in lines if line.company.home == "us"])
    stated = ("TEN.IDX", "Simulated Ten Index", "模拟十强指数", NEW_YORK, "USD", "US")
    indices.append(_index(seed, paths, stated, times, level, tuple(reviews)))
    return indices


def _index(
    seed: int,
    paths: MarketPaths,
    stated: tuple[str, str, str, Hours, str, str],
    times: ExchangeSessions,
    level: Floats,
    reviews: tuple[Review, ...],
) -> PricedIndex:
    """An index with bars around its closing levels."""
    before = np.append(level[:1], level[:-1])
    width = 0.003 * np.sqrt(paths.unrest[paths.at(times.days)])
    bars = ohlcv(stream(seed, "bars", stated[0]), before, level, width, 2, 0.0)
    bars[:, 4] = np.nan
    return PricedIndex(*stated, times, bars, reviews)


def _ten(times: ExchangeSessions, lines: Sequence[PricedLine]) -> tuple[Floats, list[Review]]:
    """The ten largest companies in equal weights, chosen anew on the first session of each July.

    Returns:
        float64[sessions], the closing levels of the index, and its reviews.
    """
    days = [day.date() for day in times.days]
    values = {}
    for line in lines:
        place = {day.date(): number for number, day in enumerate(line.times.days)}
        values[line.line.symbol] = np.array([line.value[place[day]] if day in place else np.nan for day in days])
    shares = {line.line.symbol: line.line.shares for line in lines}
    starts = [0] + [n for n in range(1, len(days)) if days[n].month == 7 and days[n - 1].month == 6]
    level, current, reviews = np.empty(len(days)), 1000.0, []
    for start, end in zip(starts, [*starts[1:], len(days)], strict=True):
        # Chosen and announced eight sessions before.
        seen = max(start - 8, 0)
        known = [symbol for symbol in sorted(values) if np.isfinite(values[symbol][[seen, start]]).all()]
        known.sort(key=lambda symbol: -shares[symbol] * float(np.exp(values[symbol][seen])))
        members = tuple(sorted(known[:MEMBERS]))
        reviews.append(Review(days[start], days[seen], members))
        # Log returns of each member since the review; where a member is gone, its last price stays.
        base = np.stack([values[symbol][start:end] - values[symbol][start] for symbol in members])
        for row in base:
            gone = np.isnan(row)
            row[gone] = row[~gone][-1]
        span = np.exp(base).mean(axis=0)
        level[start:end] = current * span
        # The next review begins at the level that these members have on its day.
        if end < len(days):
            after = np.stack([values[symbol][end] - values[symbol][start] for symbol in members])
            after = np.where(np.isnan(after), base[:, -1], after)
            current *= float(np.exp(after).mean())
    return level, reviews
