"""Prices of shares, with splits and dividends."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.finsearch.world.calendars import ExchangeSessions, sessions
from openfingym_suites.finsearch.world.draws import stream
from openfingym_suites.finsearch.world.paths import DAYS_A_YEAR, MarketPaths
from openfingym_suites.finsearch.world.roster import MarketSize, ShareLine, SimulatedCompany

if TYPE_CHECKING:
    from openfingym_suites.finsearch.world.paths import Floats

GONE = {"US11": 0.62, "CN13": 0.8}
"""Companies that are taken over, by id, and the share of the world's days after which they are."""
EXPENSIVE = {"us": 320.0, "cn": 85.0, "hk": 90.0}
"""Prices above which shares are split, by region, in the currency of the line."""


@dataclass(frozen=True)
class ShareAction:
    """A split or a dividend of a share."""

    symbol: str
    kind: str
    """``split`` or ``dividend``."""
    announced: date
    ex_date: date
    """First day on which the share trades without the dividend, or in new shares."""
    new_shares: float | None = None
    """New shares for :attr:`old_shares`; of a split alone."""
    old_shares: float | None = None
    amount: float | None = None
    """Amount per share, before tax; of a dividend alone."""
    currency: str | None = None
    """Currency of the amount."""


@dataclass(eq=False)
class PricedLine:
    """Shares on an exchange, with their prices.

    Attributes:
        line: the shares.
        company: the company that issued them.
        times: sessions in which they trade.
        bars: float64[sessions, 5]: open, high, low, close and volume, as traded.
        value: float64[sessions]: log of what one share of the listing would be worth with all splits and dividends
            reinvested.
        actions: splits and dividends, in order of ex-dates.
        delisted: first day without a session; None for shares that still trade.
        delisting_known: day on which the delisting was announced; None for shares that still trade.
    """

    line: ShareLine
    company: SimulatedCompany
    times: ExchangeSessions
    bars: Floats
    value: Floats
    actions: list[ShareAction] = field(default_factory=list)
    delisted: date | None = None
    delisting_known: date | None = None

    def split_factor(self, day: date) -> float:
        """How many shares one share of the listing has become by a day."""
        splits = [each for each in self.actions if each.kind == "split" and each.ex_date <= day]
        return float(np.prod([(each.new_shares or 1) / (each.old_shares or 1) for each in splits])) if splits else 1.0


def price_companies(
    size: MarketSize, seed: int, paths: MarketPaths, every: Sequence[SimulatedCompany]
) -> list[PricedLine]:
    """The shares of all companies, with their prices and actions.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
        paths: paths that prices share.
        every: all companies of the market.
    """
    priced = []
    for company in every:
        rng = stream(seed, "value", company.id)
        region = company.home
        beta = float(rng.uniform(0.6, 1.4))
        volatility = float(rng.uniform(0.011, 0.022))
        # Log returns: the market's by the share's beta, and its own, which are larger in unrest. Growing industries
        # gain more, and half of the variance is taken off, so that it adds nothing to the mean.
        steps = beta * paths.markets[region] + volatility * np.sqrt(paths.unrest) * _fat(rng, len(paths.days))
        steps += (company.industry.growth - 0.07) / DAYS_A_YEAR - volatility**2 / 2
        start = float(rng.uniform(12, 70)) * (1.0 if region == "us" else 0.5)
        value = np.log(start) + np.cumsum(steps)
        # What one line of a company does, the others do on the same day.
        decided: dict[tuple[str, date], tuple[float, float]] = {}
        priced += [_line(size, seed, paths, company, line, value, decided) for line in company.lines]
    return priced


def _fat(rng: np.random.Generator, count: int) -> Floats:
    """Normal numbers of a variance near 1, of which one in 25 is drawn three times as large: fat tails."""
    return rng.standard_normal(count) * np.where(rng.uniform(size=count) < 0.04, 3.0, 0.85)


def _line(
    size: MarketSize,
    seed: int,
    paths: MarketPaths,
    company: SimulatedCompany,
    line: ShareLine,
    value: Floats,
    decided: dict[tuple[str, date], tuple[float, float]],
) -> PricedLine:
    """One line of a company with its prices and actions.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
        paths: paths that prices share.
        company: the company that issued the shares.
        line: its shares on one exchange.
        value: float64[weekdays]: log value of a share of the listing, of the company's first line.
        decided: splits and dividends that lines before this one made, by kind and scheduled ex-date; added to.
    """
    last, known = size.last_day, None
    if company.id in GONE:
        last = size.first_day + timedelta(days=int((size.last_day - size.first_day).days * GONE[company.id]))
        known = last - timedelta(days=60)
    times = sessions(line.hours, max(line.listed, size.first_day), last)
    if line.share_class == "H" and len(company.lines) > 1:
        rng = stream(seed, "premium", line.symbol)
        shocks = 0.006 * rng.standard_normal(len(value))
        # The mainland pays more for the same share, by a premium that comes back to 0.3 in logs.
        premium = np.empty(len(value))
        level = 0.3
        for place, shock in enumerate(shocks.tolist()):
            level += 0.004 * (0.3 - level) + shock
            premium[place] = level
        # From yuan to Hong Kong dollars.
        value = value - premium + np.log(paths.ecb["usd_hkd"] / paths.ecb["usd_cny"])
    value = value[paths.at(times.days)]
    # Bars follow from the actions, and actions from the values: the bars are filled in last.
    priced = PricedLine(line, company, times, np.empty((len(times.days), 5)), value)
    factor = _price_factors(priced, decided, paths)
    priced.bars[:] = _bars(stream(seed, "bars", line.symbol), np.exp(value), factor, paths, times, line.shares)
    if known is not None:
        priced.delisted, priced.delisting_known = last + timedelta(days=1), known
    return priced


def _price_factors(
    priced: PricedLine, decided: dict[tuple[str, date], tuple[float, float]], paths: MarketPaths
) -> Floats:
    """float64[sessions]: what the value of each session is multiplied by to be a price as traded.

    The actions from which the factors follow are added to the line.

    Args:
        priced: the line, without bars and actions so far.
        decided: splits and dividends that other lines of the company made, by kind and scheduled ex-date; added to.
        paths: paths that prices share.
    """
    days = [day.date() for day in priced.times.days]
    whole = np.exp(priced.value)
    factor = np.ones(len(days))
    region, line = priced.company.home, priced.line
    pays = int(priced.company.id[2:]) % 2 == 0 or region != "us"
    for announced, ex_date, kind in _schedule(region, days[0].year, days[-1].year, pays=pays):
        # Both move to the next session; a line of less than 30 sessions, or one that is gone by then, does nothing.
        first, ex = bisect_left(days, announced), bisect_left(days, ex_date)
        if first < 30 or ex >= len(days) or days[first] >= days[ex]:
            continue
        price = float(whole[first] * factor[first])
        key = (kind, ex_date)
        if kind == "split":
            # The first line decides whether there is a split, by its price, and other lines follow.
            if key not in decided and line is not priced.company.lines[0]:
                continue
            new, old = decided.get(key) or _split(region, price)
            if new == old:
                continue
            decided[key] = (new, old)
            factor[ex:] *= old / new
            action = ShareAction(line.symbol, kind, days[first], days[ex], new_shares=new, old_shares=old)
        else:
            amount = decided[key][0] if key in decided else round(max(price * _yield(region), 0.01), 2)
            decided[key] = (amount, 1.0)
            # H shares of a mainland company get its dividend in Hong Kong dollars, at the rate of the announcement.
            if line.currency == "HKD" and priced.company.currency == "CNY" and len(priced.company.lines) > 1:
                place = paths.at(priced.times.days[first : first + 1])[0]
                amount = round(amount * float(paths.ecb["usd_hkd"][place] / paths.ecb["usd_cny"][place]), 4)
            before = float(whole[ex - 1] * factor[ex - 1])
            # A share that has become so cheap meanwhile is paid none.
            if amount >= before / 4:
                continue
            factor[ex:] *= 1.0 - amount / before
            action = ShareAction(line.symbol, kind, days[first], days[ex], amount=amount, currency=line.currency)
        priced.actions.append(action)
    return factor


def _schedule(region: str, first: int, last: int, *, pays: bool) -> list[tuple[date, date, str]]:
    """Days on which actions may be announced, their ex-dates, and their kinds, in order of ex-dates.

    Args:
        region: home of the company: us, cn or hk.
        first: first year in which there may be actions.
        last: last year in which there may be actions.
        pays: whether the company pays dividends.
    """
    events = []
    for year in range(first, last + 1):
        events.append((date(year, 5, 6), date(year, 6, 4), "split"))
        if pays and region == "us":
            events += [(date(year, month - 1, 18), date(year, month, 9), "dividend") for month in (3, 6, 9, 12)]
        elif pays:
            events.append((date(year, 5, 22), date(year, 6, 24), "dividend"))
    return sorted(events, key=lambda event: event[1])


def _split(region: str, price: float) -> tuple[float, float]:
    """New shares and old shares of the split that a price calls for; equal for none."""
    if price > EXPENSIVE[region]:
        # The mainland gives bonus shares: 15 or 20 for every 10.
        if region == "cn":
            return (15.0 if price < 110 else 20.0, 10.0)
        ratio = next((each for each in (2, 3, 4, 5, 10, 20) if price / each < 110), 20)
        return (float(ratio), 1.0)
    # A penny stock of the US consolidates its shares.
    return (1.0, 10.0) if region == "us" and price < 2.0 else (1.0, 1.0)


def _yield(region: str) -> float:
    """A dividend as a share of the price: a quarter's in the US, a year's elsewhere."""
    return 0.005 if region == "us" else 0.022


def _bars(
    rng: np.random.Generator,
    whole: Floats,
    factor: Floats,
    paths: MarketPaths,
    times: ExchangeSessions,
    shares: float,
) -> Floats:
    """float64[sessions, 5]: the bars of a share, with prices of two decimals.

    Args:
        rng: source of randomness for what happens within a session.
        whole: float64[sessions]: value of a share of the listing.
        factor: float64[sessions]: what the value is multiplied by to be a price as traded.
        paths: paths that prices share.
        times: sessions of the share.
        shares: shares at the listing, of which 0.4 % are traded in a usual session.
    """
    unrest = paths.unrest[paths.at(times.days)]
    close = whole * factor
    # The close before, in the shares of the day itself: a split is no move.
    before = np.append(whole[:1], whole[:-1]) * factor
    return ohlcv(rng, before, close, 0.006 * np.sqrt(unrest), 2, shares * 0.004 / factor)


def ohlcv(
    rng: np.random.Generator, before: Floats, close: Floats, width: Floats, decimals: int, turnover: Floats | float
) -> Floats:
    """float64[sessions, 5]: open, high, low, close and volume, from closes.

    Args:
        rng: source of randomness for what happens within a session.
        before: float64[sessions]: the close of the session before each, in the same shares.
        close: float64[sessions]: closes before they are rounded.
        width: float64[sessions]: how far prices move within a session, as a share of the price.
        decimals: decimals to which prices are rounded.
        turnover: usual volume of a session; 0 for an instrument without volume.
    """
    draws = rng.standard_normal((len(close), 4))
    tick = 10.0**-decimals  # the least price
    opened = np.maximum(np.round(before * np.exp(width * 0.7 * draws[:, 0]), decimals), tick)
    closed = np.maximum(np.round(close, decimals), tick)
    high = np.round(np.maximum(opened, closed) * np.exp(width * np.abs(draws[:, 1])), decimals)
    low = np.round(np.minimum(opened, closed) * np.exp(-width * np.abs(draws[:, 2])), decimals)
    volume = np.round(turnover * np.exp(0.4 * draws[:, 3]) / 100) * 100
    # Rounding must not leave the open or the close outside of the range.
    high, low = (
        np.maximum(high, np.maximum(opened, closed)),
        np.maximum(np.minimum(low, np.minimum(opened, closed)), tick),
    )
    return np.column_stack([opened, high, low, closed, volume])
