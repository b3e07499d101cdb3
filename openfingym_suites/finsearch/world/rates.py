"""Exchange rates, commodities and futures: the simulated markets besides shares and indices.

Exchange rates follow the ECB's real reference rates of the day before, and everything within the day is simulated. So
they are of a likely size, and no real rate shows before it was known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.finsearch.world.calendars import (
    CBOT,
    COMEX,
    FIXING,
    HONG_KONG,
    OFFSHORE,
    ONSHORE,
    ExchangeSessions,
    Hours,
    sessions,
)
from openfingym_suites.finsearch.world.draws import stream
from openfingym_suites.finsearch.world.equities import ohlcv
from openfingym_suites.finsearch.world.paths import DAYS_A_YEAR, MarketPaths
from openfingym_suites.finsearch.world.quoting import HALVES, POINTS_AND_32NDS
from openfingym_suites.finsearch.world.roster import MarketSize

if TYPE_CHECKING:
    from openfingym_suites.finsearch.world.paths import Floats

OFFSHORE_SINCE = date(2010, 8, 23)
"""First day of the offshore yuan, as in reality."""
_MONTHS = {"TN": (3, 6, 9, 12), "GD": (2, 4, 6, 8, 10, 12)}
"""Months in which futures expire, by root: ten-year notes and gold."""


@dataclass(frozen=True, eq=False)
class PricedRate:
    """An exchange rate, a commodity or a future, with its prices."""

    symbol: str
    aliases: tuple[str, ...]
    name: str
    name_zh: str
    exchange: str
    hours: Hours
    currency: str
    country: str
    kind: str
    """``fx``, ``fx fixing``, ``commodity`` or ``future``."""
    quote_unit: str
    times: ExchangeSessions
    bars: Floats
    """float64[sessions, 5]: open, high, low, close and volume, which is NaN for all but futures."""
    expires: date | None = None
    """Last day of a future; None for others."""


def price_rates(size: MarketSize, seed: int, paths: MarketPaths) -> list[PricedRate]:
    """All exchange rates, commodities and futures, with their prices.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
        paths: paths that prices share.
    """
    priced = [*_currencies(size, seed, paths)]
    gold = _commodity_path(seed, paths, "gold", 880.0, 0.055, 0.0085)
    silver = _commodity_path(seed, paths, "silver", 11.5, 0.05, 0.016)
    oil = _commodity_path(seed, paths, "oil", 46.0, 0.02, 0.019)
    spot = (
        (
            "XAUUSD-LONDON",
            ("London gold", "XAUUSD", "伦敦金"),
            "London gold, spot",
            "伦敦金现货",
            gold,
            "USD per troy ounce",
        ),
        (
            "XAGUSD-LONDON",
            ("London silver", "伦敦银"),
            "London silver, spot",
            "伦敦银现货",
            silver,
            "USD per troy ounce",
        ),
        ("CRUDE-SPOT", ("crude oil spot", "原油现货"), "Crude oil, spot", "原油现货", oil, "USD per barrel"),
    )
    for symbol, aliases, name, name_zh, path, unit in spot:
        times = sessions(OFFSHORE, size.first_day, size.last_day)
        bars = _bars(seed, symbol, paths, times, path, 0.004, 2, 0.0)
        priced.append(
            PricedRate(symbol, aliases, name, name_zh, "OTC", OFFSHORE, "USD", "", "commodity", unit, times, bars)
        )
    priced += _futures(size, seed, paths, "GD", gold)
    priced += _futures(size, seed, paths, "TN", note_prices(note_yields(seed, paths)))
    return priced


def note_yields(seed: int, paths: MarketPaths) -> Floats:
    """float64[weekdays]: yield of a simulated ten-year note, in percent."""
    shocks = 0.045 * np.sqrt(paths.unrest) * stream(seed, "note yield").standard_normal(len(paths.days))
    level, yields = 3.2, np.empty(len(shocks))
    # It comes back to 3 % very slowly, and stays between 0.5 and 7 %.
    for place, shock in enumerate(shocks.tolist()):
        level += 0.001 * (3.0 - level) + shock
        level = min(max(level, 0.5), 7.0)
        yields[place] = level
    return yields


def note_prices(yields: Floats) -> Floats:
    """float64[weekdays]: price of the note that the futures are on, which pays 6 % a year for seven years.

    Args:
        yields: float64[weekdays]: its yield, in percent.

    Returns:
        Prices in points, which are percent of the face value.
    """
    # Fourteen half-yearly coupons of 3, discounted at half of the yield, and the face value of 100.
    half, periods = yields / 200, 14
    worth = (1 + half) ** -periods
    return 3.0 * (1 - worth) / half + 100 * worth


def _commodity_path(seed: int, paths: MarketPaths, name: str, start: float, drift: float, volatility: float) -> Floats:
    """float64[weekdays]: price of a commodity, a geometric random walk.

    Args:
        seed: the number from which every random draw of the world follows.
        paths: paths that prices share.
        name: name of the commodity.
        start: price before the first day.
        drift: growth a year, in logs.
        volatility: standard deviation of a day's log return in quiet times.
    """
    steps = volatility * np.sqrt(paths.unrest) * stream(seed, "metal", name).standard_normal(len(paths.days))
    path: Floats = start * np.exp(np.cumsum(steps + drift / DAYS_A_YEAR - volatility**2 / 2))
    return path


def _bars(
    seed: int,
    symbol: str,
    paths: MarketPaths,
    times: ExchangeSessions,
    path: Floats,
    width: float,
    decimals: int,
    turnover: float,
) -> Floats:
    """float64[sessions, 5]: bars around a path.

    Args:
        seed: the number from which every random draw of the world follows.
        symbol: symbol of the instrument.
        paths: paths that prices share.
        times: sessions of the instrument.
        path: float64[weekdays]: its closes before they are rounded.
        width: how far prices move within a quiet session, as a share of the price.
        decimals: decimals to which prices are rounded.
        turnover: usual volume of a session; 0 for an instrument without volume.
    """
    places = paths.at(times.days)
    close = path[places]
    before = np.append(close[:1], close[:-1])
    widths = width * np.sqrt(paths.unrest[places])
    bars = ohlcv(stream(seed, "bars", symbol), before, close, widths, decimals, turnover)
    if not turnover:
        bars[:, 4] = np.nan
    return bars


def _currencies(size: MarketSize, seed: int, paths: MarketPaths) -> Iterator[PricedRate]:
    """Spot rates of the yuan and the Hong Kong dollar, and the central parities of the yuan."""
    ecb, days = paths.ecb, paths.days
    onshore = ecb["usd_cny"] * np.exp(0.0006 * stream(seed, "onshore").standard_normal(len(days)))
    # The offshore rate leaves the onshore one, and comes back by 6 % of the gap a day.
    spread, gap = np.empty(len(days)), 0.0
    for place, shock in enumerate(stream(seed, "offshore").standard_normal(len(days)).tolist()):
        gap += -0.06 * gap + 0.0005 * shock
        spread[place] = gap
    offshore = onshore * np.exp(spread)
    # The Hong Kong dollar stays within its band of 7.75 to 7.85 to the US dollar, and so must its rounded extremes.
    pegged = np.clip(ecb["usd_hkd"] * np.exp(0.0002 * stream(seed, "peg").standard_normal(len(days))), 7.7505, 7.8495)
    traded = (
        ("USDCNY-ONSHORE", ("USD/CNY onshore", "在岸人民币"), "USD/CNY, onshore spot", "美元兑在岸人民币", ONSHORE,
         "CNY", onshore, size.first_day, 0.0007),
        ("USDCNH-OFFSHORE", ("USD/CNH", "离岸人民币"), "USD/CNH, offshore spot", "美元兑离岸人民币", OFFSHORE,
         "CNH", offshore, max(OFFSHORE_SINCE, size.first_day), 0.0009),
        ("USDHKD-SPOT", ("USD/HKD spot", "美元兑港元"), "USD/HKD, spot", "美元兑港元即期", HONG_KONG, "HKD",
         pegged, size.first_day, 0.0001),
    )  # fmt: skip
    for symbol, aliases, name, name_zh, hours, currency, path, first, width in traded:
        times = sessions(hours, first, size.last_day)
        bars = _bars(seed, symbol, paths, times, path, width, 4, 0.0)
        unit = f"{currency} per USD"
        yield PricedRate(symbol, aliases, name, name_zh, "OTC", hours, currency, "CN", "fx", unit, times, bars)
    # The fixing of a morning follows the close before, and by a smaller part the dollar of the night.
    before = np.append(onshore[:1], onshore[:-1])
    base = 0.7 * before + 0.3 * ecb["usd_cny"]
    for foreign, units in (("USD", 1), ("EUR", 1), ("HKD", 1), ("JPY", 100), ("GBP", 1)):
        cross = base if foreign == "USD" else base / ecb[f"usd_{foreign.lower()}"] * units
        decimals = 5 if foreign == "HKD" else 4
        noise = np.exp(0.0003 * stream(seed, "fixing", foreign).standard_normal(len(days)))
        times = sessions(FIXING, size.first_day, size.last_day)
        fixed = np.round((cross * noise)[paths.at(times.days)], decimals)
        # There is one price a day.
        bars = np.column_stack([fixed, fixed, fixed, fixed, np.full(len(fixed), np.nan)])
        each = f"{units} {foreign}" if units > 1 else foreign
        yield PricedRate(
            f"{foreign}CNY-FIXING",
            (f"{foreign}/CNY central parity", f"{foreign}/CNY fixing"),
            f"{foreign}/CNY, central parity rate",
            f"{_FIXED_ZH[foreign]}兑人民币中间价",
            "CFETS",
            FIXING,
            "CNY",
            "CN",
            "fx fixing",
            f"CNY per {each}",
            times,
            bars,
        )


_FIXED_ZH = {"USD": "美元", "EUR": "欧元", "HKD": "港元", "JPY": "100日元", "GBP": "英镑"}


def _futures(size: MarketSize, seed: int, paths: MarketPaths, root: str, spot: Floats) -> Iterator[PricedRate]:
    """The contracts of one root, each of which trades for eight months before it expires.

    Args:
        size: how large the world is.
        seed: the number from which every random draw of the world follows.
        paths: paths that prices share.
        root: how their symbols begin: ``TN`` for notes, ``GD`` for gold.
        spot: float64[weekdays]: price of what is delivered.
    """
    notes = root == "TN"
    hours = CBOT if notes else COMEX
    for year in range(size.first_day.year, size.last_day.year + 1):
        for month in _MONTHS[root]:
            expires = date(year, month, 19 if notes else 26)
            first = max(expires - timedelta(days=245), size.first_day)
            last = min(expires, size.last_day)
            # Contracts that would trade for less than 20 days, at either end of the world, are left out.
            if first >= last - timedelta(days=20):
                continue
            times = sessions(hours, first, last)
            left = np.array([(expires - day.date()).days for day in times.days]) / 365
            places = paths.at(times.days)
            # A future costs more than gold by the interest until it expires, and less than a note by its coupons.
            carry = np.exp((-0.01 if notes else 0.025) * left)
            path = spot.copy()
            path[places] = spot[places] * carry
            symbol = f"{root}{year % 100:02d}{month:02d}.FUT"
            bars = _bars(seed, symbol, paths, times, path, 0.0022 if notes else 0.0045, 6 if notes else 1, 90_000)
            # Notes are quoted in halves of a 32nd.
            if notes:
                bars[:, :4] = np.round(bars[:, :4] * HALVES) / HALVES
            name = "Ten-year note future" if notes else "COMEX-style gold future"
            name_zh = "十年期国债期货" if notes else "纽约金期货"
            yield PricedRate(
                symbol,
                (f"{root}{month:02d}{year % 100:02d}",),
                f"{name}, {date(year, month, 1):%B %Y}",
                f"{name_zh} {year}年{month}月合约",
                "XCBT" if notes else "XCEC",
                hours,
                "USD",
                "US",
                "future",
                POINTS_AND_32NDS if notes else "USD per troy ounce",
                times,
                bars,
                expires,
            )
